"""Time that passes when a test says so: limits are tried out without waiting, and a slow machine cannot reach them."""

import asyncio
import time
from collections.abc import Callable
from contextvars import Context
from typing import Any
from weakref import WeakKeyDictionary

import pytest
import uvloop

_ahead: WeakKeyDictionary[asyncio.AbstractEventLoop, float] = WeakKeyDictionary()


class _Timer:
    """A call that is due at a time, and sooner when time is made to pass."""

    def __init__(
        self, loop: "Loop", when: float, call: Callable[..., object], args: Any, context: Context | None
    ) -> None:
        self._loop, self._when, self._call, self._args, self._context = loop, when, call, args, context
        self._handle: asyncio.Handle | None = None
        self._cancelled = False

    def begin(self) -> None:
        """Count from now."""
        if self._handle is not None:
            self._handle.cancel()
        left = max(0.0, self._when - self._loop.time())
        self._handle = uvloop.Loop.call_later(self._loop, left, self._due, context=self._context)
        self._loop.timers.add(self)

    def _due(self) -> None:
        self._loop.timers.discard(self)
        self._call(*self._args)

    def cancel(self) -> None:
        """It is not wanted any more."""
        self._cancelled = True
        self._loop.timers.discard(self)
        if self._handle is not None:
            self._handle.cancel()

    def cancelled(self) -> bool:
        """Whether that was said."""
        return self._cancelled

    def when(self) -> float:
        """When it is due."""
        return self._when


class Loop(uvloop.Loop):
    """The server's loop, whose clock can be put forward."""

    def __init__(self) -> None:
        super().__init__()
        self.ahead = 0.0
        self.timers: set[_Timer] = set()
        self._failure: BaseException | None = None

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """A test that takes too long is failed by a signal; uvloop would only report that, and go on for ever."""
        error = context.get("exception")
        if isinstance(error, pytest.fail.Exception):
            self._failure = error
            self.stop()
        else:
            super().call_exception_handler(context)

    def run_until_complete(self, future: Any) -> Any:
        """Run until this is done, or the test has failed."""
        try:
            return super().run_until_complete(future)
        except RuntimeError:
            if self._failure is None:
                raise
        error, self._failure = self._failure, None
        raise error

    def time(self) -> float:
        """Its time."""
        return super().time() + self.ahead

    def call_later(  # type: ignore[override]  # of the handle it has what anybody uses
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> _Timer:
        """Call something after a while."""
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> _Timer:
        """Call something at a time."""
        timer = _Timer(self, when, callback, args, context)
        timer.begin()
        return timer


def let_pass(seconds: float) -> None:
    """Let everything that waits on the running loop's clock be due so much sooner, from now on; any number of times."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, Loop):
        loop.ahead += seconds
        for timer in list(loop.timers):
            timer.begin()
        return
    ahead = _ahead[loop] = _ahead.get(loop, 0.0) + seconds
    loop.time = lambda: time.monotonic() + ahead  # type: ignore[method-assign]  # the loop ends with its test
