"""The loop of the tests: its clock, and its end when a test takes too long."""

import asyncio
import os
import signal

import pytest
from tests.kit.clock import Loop, let_pass


async def test_time_that_is_let_pass_is_due_in_order_and_what_is_cancelled_is_not() -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, Loop)
    began = loop.time()
    heard: list[str] = []
    loop.call_later(500, heard.append, "late")
    loop.call_later(200, heard.append, "soon")
    loop.call_at(loop.time() + 100, heard.append, "never").cancel()
    loop.call_later(5000, heard.append, "much later")
    let_pass(300)
    await asyncio.sleep(0.02)
    assert (heard, loop.time() - began >= 300) == (["soon"], True)
    let_pass(300)
    await asyncio.sleep(0.02)
    assert heard == ["soon", "late"]


def test_a_test_that_takes_too_long_is_failed_by_its_signal() -> None:
    def fail(*_: object) -> None:
        pytest.fail("too long")

    before = signal.signal(signal.SIGUSR1, fail)
    loop = Loop()
    try:
        loop.call_soon(os.kill, os.getpid(), signal.SIGUSR1)
        with pytest.raises(pytest.fail.Exception, match="too long"):
            loop.run_until_complete(asyncio.Event().wait())
        with pytest.raises(ZeroDivisionError):
            loop.run_until_complete(asyncio.wait_for(_divide(), 10))
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
    finally:
        signal.signal(signal.SIGUSR1, before)
        loop.close()


async def _divide() -> float:
    return 1 / 0
