"""An event loop in a thread of its own, for programs that wait for each call: scripts and notebooks.

The thread enters an async context manager, runs what any other thread asks for, and leaves the manager again, all in
one task. A waiting thread sleeps on a lock, which Ctrl-C interrupts: then the work is cancelled, and the interruption
goes on when it has ended, so that nothing is left half done behind the caller's back.
"""

import asyncio
import atexit
import contextlib
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar

from fourhands.core.errors import Conflict, Unavailable
from fourhands.core.tasks import Tasks

_T = TypeVar("_T")
_R = TypeVar("_R")

_Outcome = tuple[_R | None, BaseException | None]


class LoopThread(Generic[_T]):
    """A thread that holds a manager open; `name` is what the errors call it, such as `Terminals object`."""

    def __init__(self, manager: AbstractAsyncContextManager[_T], name: str) -> None:
        self._manager = manager
        self._name = name
        self._thread: threading.Thread | None = None
        self._opened: Future[_T] = Future()
        self._ended: Future[None] = Future()
        self._lock = threading.Lock()
        self._waiting: set[Future[Any]] = set()
        self._closed = False
        self._process = 0
        self._loop: asyncio.AbstractEventLoop
        self._main: asyncio.Task[None] | None = None
        self._leave: asyncio.Event
        self._tasks: Tasks

    # -- life ------------------------------------------------------------------------------------------------------

    def open(self) -> _T:
        """Start the thread and enter the manager."""
        with self._lock:
            if self._thread is not None:
                raise Conflict(f"this {self._name} was opened before", hint="make a new one")
            # A daemon: one that was never closed must not keep the program from ending. It is closed at the exit.
            self._thread = threading.Thread(target=self._run, name=f"fourhands {self._name}", daemon=True)
            self._process = os.getpid()
            self._loop = asyncio.new_event_loop()
        try:
            self._thread.start()
            error = self._opened.exception()
        except BaseException:
            self._give_up()
            raise
        if error is not None:
            self._thread.join()
            try:
                raise error
            finally:
                del error  # a frame that holds its own traceback is freed late
        atexit.register(self.close)
        return self._opened.result()

    def close(self) -> None:
        """Leave the manager and end the thread; whoever waits meanwhile is told. A second time does nothing."""
        if threading.current_thread() is self._thread:
            raise self._inside("close()")
        with self._lock:
            closed, self._closed = self._closed, True
        atexit.unregister(self.close)
        if closed or self._thread is None or os.getpid() != self._process:
            return
        self._soon(self._leave.set)
        try:
            error = self._ended.exception()
        except BaseException:
            self._give_up()
            raise
        self._thread.join()
        if error is not None:
            try:
                raise error
            finally:
                del error

    def _give_up(self) -> None:
        """Cancel the manager's own work after an interruption, and wait until it has ended."""
        self._closed = True

        def cancel() -> None:
            if self._main is not None:
                self._main.cancel()

        self._soon(cancel)
        assert self._thread is not None
        self._thread.join()

    def _soon(self, action: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has just been closed: there is nothing left to do
            self._loop.call_soon_threadsafe(action)

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._hold())
        except BaseException as error:  # noqa: BLE001 - it is the opener's or the closer's
            self._fail(error)
        else:
            self._ended.set_result(None)
        finally:
            with self._lock:
                self._closed = True
                left, self._waiting = self._waiting, set()
            for future in left:
                future.set_result((None, self._gone()))

    def _fail(self, error: BaseException) -> None:
        if not self._opened.done():
            self._opened.set_exception(error)
        self._ended.set_exception(error)

    async def _hold(self) -> None:
        self._main, self._leave = asyncio.current_task(), asyncio.Event()
        if self._closed:  # given up before the first step
            raise asyncio.CancelledError
        async with self._manager as value, Tasks() as self._tasks:
            self._opened.set_result(value)
            await self._leave.wait()

    # -- work ------------------------------------------------------------------------------------------------------

    def wait(self, work: Callable[[], Coroutine[Any, Any, _R]], what: str = "this") -> _R:
        """Run a coroutine in the thread and return its result, or raise its error; Ctrl-C cancels it."""
        self._check()
        if threading.current_thread() is self._thread:
            raise self._inside(what)
        begun: list[asyncio.Task[_Outcome[_R]]] = []
        future: Future[_Outcome[_R]] = Future()

        def begin() -> None:
            try:
                task = self._tasks.start(_outcome(work), what)
            except RuntimeError:
                self._settle(future, None, self._gone())
                return
            begun.append(task)
            task.add_done_callback(end)

        def end(task: "asyncio.Task[_Outcome[_R]]") -> None:
            self._settle(future, *((None, self._gone()) if task.cancelled() else task.result()))

        def cancel() -> None:
            for task in begun:
                task.cancel()

        try:
            self._ask(future, begin)
            result, error = future.result()
        except BaseException:
            if future in self._waiting or future.done():
                self._soon(cancel)
                future.result()
            raise
        if error is not None:
            try:
                raise error
            finally:
                del error
        return result  # type: ignore[return-value]  # without an error it is the coroutine's own

    def read(self, work: Callable[[], _R]) -> _R:
        """Call a function that waits for nothing in the thread, and return its result."""
        self._check()
        if threading.current_thread() is self._thread:
            return work()
        future: Future[_Outcome[_R]] = Future()

        def run() -> None:
            try:
                self._settle(future, work(), None)
            except BaseException as error:  # noqa: BLE001 - it is the caller's
                self._settle(future, None, _without_first(error))

        self._ask(future, run)
        result, error = future.result()
        if error is not None:
            try:
                raise error
            finally:
                del error
        return result  # type: ignore[return-value]  # without an error it is the function's own

    def _ask(self, future: "Future[Any]", action: Callable[[], None]) -> None:
        with self._lock:
            if self._closed:
                raise self._gone()
            self._waiting.add(future)
        self._soon(action)

    def _settle(self, future: "Future[_Outcome[_R]]", result: _R | None, error: BaseException | None) -> None:
        with self._lock:
            if future not in self._waiting:
                return
            self._waiting.remove(future)
        future.set_result((result, error))

    def _check(self) -> None:
        if not self._opened.done():
            raise Unavailable(f"this {self._name} is not open", hint="use it in a `with` block, or call open()")
        if os.getpid() != self._process:
            raise Unavailable(
                f"this {self._name} belongs to process {self._process}; this one was forked off it",
                hint="make a new one here",
            )
        if self._closed:
            raise self._gone()

    def _gone(self) -> Unavailable:
        return Unavailable(f"this {self._name} is closed", hint="make a new one")

    def _inside(self, what: str) -> Conflict:
        return Conflict(
            f"{what} waits, and was called by the thread that would have to do the work meanwhile",
            hint="a callback may read, and must not wait: hand the news to another thread, by a queue.Queue",
        )


async def _outcome(work: Callable[[], Coroutine[Any, Any, _R]]) -> "_Outcome[_R]":
    try:
        return await work(), None
    except Exception as error:  # noqa: BLE001 - it is the caller's
        return None, _without_first(error)


def _without_first(error: BaseException) -> BaseException:
    """Return the error without the line of this file in its traceback."""
    trace = error.__traceback__
    return error.with_traceback(trace.tb_next if trace is not None else None)
