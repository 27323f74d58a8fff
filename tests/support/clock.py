"""Time that passes when a test says so: limits are tried out without waiting, and a slow machine cannot reach them."""

import asyncio
import time
from weakref import WeakKeyDictionary

_ahead: WeakKeyDictionary[asyncio.AbstractEventLoop, float] = WeakKeyDictionary()


def let_pass(seconds: float) -> None:
    """Let everything that waits on the running loop's clock be due so much sooner, from now on; any number of times."""
    loop = asyncio.get_running_loop()
    ahead = _ahead[loop] = _ahead.get(loop, 0.0) + seconds
    loop.time = lambda: time.monotonic() + ahead  # type: ignore[method-assign]  # the loop ends with its test
