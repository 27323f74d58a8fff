"""Time that passes when a test says so: limits are tried out without waiting, and a slow machine cannot reach them."""

import asyncio


def let_pass(seconds: float) -> None:
    """Let everything that waits on the running loop's clock be due so much sooner, from now on."""
    loop = asyncio.get_running_loop()
    before = loop.time
    loop.time = lambda: before() + seconds  # type: ignore[method-assign]  # the loop ends with its test
