"""A thread with a loop of its own: what waits is interrupted, told of the end, and never left waiting."""

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import AsyncIterator, Iterator

import pytest

from fourhands.core.errors import Conflict, Unavailable
from fourhands.core.loop_thread import LoopThread


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C as in a program: a worker of the test run ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


class Held:
    """What the thread holds open; it says what happened to it."""

    def __init__(self, *, hangs: bool = False, fails: bool = False) -> None:
        self.hangs, self.fails = hangs, fails
        self.said: list[str] = []

    @contextlib.asynccontextmanager
    async def manager(self) -> AsyncIterator[str]:
        self.said.append("entered")
        try:
            if self.hangs:
                asyncio.get_running_loop().call_soon(interrupt)
                await asyncio.Event().wait()
            yield "value"
        finally:
            self.said.append("left")
            if self.fails:
                raise ValueError("it cannot be left")

    async def hang(self) -> None:
        asyncio.get_running_loop().call_soon(interrupt)
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            self.said.append("cancelled")


def test_an_interruption_cancels_the_wait_and_waits_for_its_end_and_the_next_call_works() -> None:
    held = Held()
    thread = LoopThread(held.manager(), "thing")
    assert thread.open() == "value"
    with interruptible(), pytest.raises(KeyboardInterrupt):
        thread.wait(held.hang)
    assert held.said == ["entered", "cancelled"]
    assert thread.read(lambda: threading.current_thread().name) == "fourhands thing"
    thread.close()
    thread.close()
    assert held.said == ["entered", "cancelled", "left"]


def test_an_interruption_while_it_opens_leaves_no_thread() -> None:
    held = Held(hangs=True)
    thread = LoopThread(held.manager(), "thing")
    with interruptible(), pytest.raises(KeyboardInterrupt):
        thread.open()
    assert held.said == ["entered", "left"]
    assert "fourhands thing" not in {one.name for one in threading.enumerate()}
    with pytest.raises(Conflict, match="opened before"):
        thread.open()


def test_the_error_of_leaving_is_the_closers() -> None:
    thread = LoopThread(Held(fails=True).manager(), "thing")
    thread.open()
    with pytest.raises(ValueError, match="cannot be left"):
        thread.close()
    with pytest.raises(Unavailable, match="this thing is closed"):
        thread.read(lambda: None)


def test_who_waits_while_it_is_closed_is_told() -> None:
    thread = LoopThread(Held().manager(), "thing")
    thread.open()
    waits, told = threading.Event(), list[BaseException]()

    async def forever() -> None:
        waits.set()
        await asyncio.Event().wait()

    def wait() -> None:
        try:
            thread.wait(forever)
        except Unavailable as error:
            told.append(error)

    other = threading.Thread(target=wait)
    other.start()
    assert waits.wait(10)
    thread.close()
    other.join(10)
    assert [str(error) for error in told] == ["this thing is closed (make a new one)"]


def test_what_would_wait_for_itself_is_refused() -> None:
    thread = LoopThread(Held().manager(), "thing")
    thread.open()

    async def nothing() -> None: ...

    for inside in (lambda: thread.wait(nothing, "run()"), thread.close):
        with pytest.raises(Conflict, match="waits, and was called by the thread"):
            thread.read(inside)
    assert thread.read(lambda: thread.read(lambda: 6)) == 6
    thread.close()


def test_a_thread_that_was_not_opened_says_so() -> None:
    thread = LoopThread(Held().manager(), "thing")
    with pytest.raises(Unavailable, match="this thing is not open"):
        thread.read(lambda: None)
    thread.close()
