"""A circuit breaker: when something fails again and again, it is left alone for a while instead of being asked on.

Closed, it lets everything through. `failures` in a row, none of them older than `window_s`, open it for `rest_s`; then
one request may try, and what comes of that one decides. Others are refused meanwhile.
"""

import time
from collections import deque
from collections.abc import Callable

from fourhands.core.errors import Unavailable

FAILURES = 5
WINDOW_S = 60.0
REST_S = 15.0


class Resting(Unavailable):
    """The breaker is open; `wait_s` says for how long still."""

    def __init__(self, name: str, wait_s: float, why: str) -> None:
        super().__init__(
            f"{name} failed again and again, the last time with: {why}",
            hint=f"it is tried again in {max(1, round(wait_s))} s",
        )
        self.wait_s = wait_s


class BreakerTrial:
    """One request that was let through; its caller reports the outcome, once, or abandons it."""

    def __init__(self, breaker: "Breaker", probe: bool) -> None:
        self._breaker: Breaker | None = breaker
        self._probe = probe

    def succeeded(self) -> None:
        """Report that the server answered."""
        if self._breaker is not None:
            self._breaker.close()
            self._breaker = None

    def failed(self, why: str) -> None:
        """Report that it did not answer, or answered with an error of its own."""
        if self._breaker is not None:
            self._breaker.count_failure(why, self._probe)
            self._breaker = None

    def abandoned(self) -> None:
        """End it without an outcome, so that another one may try. Harmless after an outcome."""
        if self._breaker is not None:
            if self._probe:
                self._breaker.admit_another()
            self._breaker = None


class Breaker:
    """The breaker of one server."""

    def __init__(
        self,
        name: str,
        *,
        failures: int = FAILURES,
        window_s: float = WINDOW_S,
        rest_s: float = REST_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._window_s = window_s
        self._rest_s = rest_s
        self._now = now
        self._failures: deque[float] = deque(maxlen=failures)
        self._why = ""
        self._opened: float | None = None
        self._probing = False

    @property
    def open(self) -> bool:
        """True while requests are refused, but for one that tries."""
        return self._opened is not None

    def admit(self) -> BreakerTrial:
        """Let a request through, or raise `Resting`."""
        if self._opened is None:
            return BreakerTrial(self, probe=False)
        rest = self._opened + self._rest_s - self._now()
        if rest > 0 or self._probing:
            raise Resting(self._name, max(rest, 1.0), self._why)
        self._probing = True
        return BreakerTrial(self, probe=True)

    def close(self) -> None:
        """Let everything through again, after an answer."""
        self._failures.clear()
        self._opened = None
        self._probing = False

    def admit_another(self) -> None:
        """Let another request try, after one that tried and has no outcome."""
        self._probing = False

    def count_failure(self, why: str, probe: bool) -> None:
        """Open the breaker if that was one failure too many, or the failure of the request that tried."""
        now = self._now()
        self._why = why
        self._failures.append(now)
        if probe:
            self._opened, self._probing = now, False
        elif self._opened is None:
            full = len(self._failures) == self._failures.maxlen
            if full and now - self._failures[0] <= self._window_s:
                self._opened = now
