"""Timers and throttling, with a clock that tests can replace."""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """Handle of a scheduled callback."""

    def cancel(self) -> None:
        """Drop the callback if it has not run yet."""


Later = Callable[[float, Callable[[], None]], Timer]
"""Schedules a callback after a delay in seconds."""


def call_later(delay_s: float, action: Callable[[], None]) -> Timer:
    """Schedule a callback on the running event loop."""
    return asyncio.get_running_loop().call_later(delay_s, action)


class Throttle:
    """Runs an action at most once per interval; the last request is never lost, only late."""

    def __init__(
        self,
        action: Callable[[], None],
        interval_s: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        later: Later = call_later,
    ) -> None:
        self._action = action
        self._interval_s = interval_s
        self._clock = clock
        self._later = later
        self._last = float("-inf")
        self._timer: Timer | None = None

    def request(self) -> None:
        """Run the action now, or when the interval has passed."""
        if self._timer is not None:
            return
        wait_s = self._last + self._interval_s - self._clock()
        if wait_s <= 0:
            self._run()
        else:
            self._timer = self._later(wait_s, self._run)

    def flush(self) -> None:
        """Run a delayed action at once."""
        if self._timer is not None:
            self._timer.cancel()
            self._run()

    def cancel(self) -> None:
        """Drop a delayed action."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _run(self) -> None:
        self._timer = None
        self._last = self._clock()
        self._action()
