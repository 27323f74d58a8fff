import asyncio

import pytest

from fourhands.core.call import Actor, Call
from fourhands.core.errors import Conflict, LimitReached
from fourhands.core.queue import ANSWERS, QueueLimits, SessionQueue, SessionStopped

LIMITS = QueueLimits(per_answer=2, depth=3)
GAP_S = 1000.0  # more than passes by itself


def call(origin: str = "block", answer_id: str | None = None) -> Call:
    return Call(command="openspace.a.b", actor=Actor.agent("s1"), origin=origin, answer_id=answer_id)  # type: ignore[arg-type]


async def test_the_depth_counts_blocks_and_others_together():
    queue = SessionQueue("s1")
    first = queue.enter(call(), LIMITS)
    queue.enter(call("mcp"), LIMITS)
    queue.enter(call("http"), LIMITS)
    with pytest.raises(LimitReached, match="queue full: 3 commands pending"):
        queue.enter(call("mcp"), LIMITS)
    queue.leave(first)
    queue.enter(call("mcp"), LIMITS)
    assert len(queue) == 3


async def test_commands_are_counted_per_answer_and_a_refused_one_does_not_count():
    queue = SessionQueue("s1")
    for _ in range(2):
        queue.leave(queue.enter(call(answer_id="r1"), LIMITS))
    with pytest.raises(LimitReached, match="more than 2 commands in one answer"):
        queue.enter(call(answer_id="r1"), LIMITS)
    slots = [
        queue.enter(call(answer_id="r2"), LIMITS),
        queue.enter(call("mcp"), LIMITS),
        queue.enter(call("mcp"), LIMITS),
    ]
    with pytest.raises(LimitReached, match="pending"):
        queue.enter(call(answer_id="r2"), LIMITS)
    queue.leave(slots[0])
    queue.enter(call(answer_id="r2"), LIMITS)


async def test_old_answers_are_forgotten():
    queue = SessionQueue("s1")
    for answer in ("first", "second", *(f"r{number}" for number in range(ANSWERS - 1))):
        for _ in range(LIMITS.per_answer):
            queue.leave(queue.enter(call(answer_id=answer), LIMITS))
    with pytest.raises(LimitReached, match="in one answer"):
        queue.enter(call(answer_id="second"), LIMITS)
    queue.enter(call(answer_id="first"), LIMITS)


async def test_an_answer_that_goes_on_is_not_forgotten_for_newer_ones():
    queue = SessionQueue("s1")
    for answer in ("long", *(f"r{number}" for number in range(63)), "long", "one more"):
        queue.leave(queue.enter(call(answer_id=answer), LIMITS))
    with pytest.raises(LimitReached, match="in one answer"):
        queue.enter(call(answer_id="long"), LIMITS)


async def test_a_gap_follows_each_block_and_none_comes_before_the_first():
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    queue = SessionQueue("s1", sleep)
    for expected in (0, 1, 2):
        slot = queue.enter(call(), LIMITS)
        await queue.turn(slot, GAP_S)
        assert len(slept) == expected
        queue.leave(slot)
    assert all(0 < round(gap, 6) <= GAP_S for gap in slept)
    other = queue.enter(call("mcp"), LIMITS)
    await queue.turn(other, GAP_S)
    assert len(slept) == 2


async def test_no_gap_is_waited_for_when_it_has_passed():
    async def sleep(seconds: float) -> None:
        raise AssertionError("not needed")

    queue = SessionQueue("s1", sleep)
    for _ in range(2):
        slot = queue.enter(call(), LIMITS)
        await queue.turn(slot, 0.0)
        queue.leave(slot)


async def test_a_stop_ends_the_scope_once_and_the_task_lives_on():
    queue = SessionQueue("s1")
    slot = queue.enter(call(), LIMITS)
    cleaned: list[bool] = []

    async def work() -> None:
        async with slot.scope():
            try:
                assert queue.stop("enough") == 1
                assert queue.stop("again") == 1
                await asyncio.Event().wait()
            finally:
                cleaned.append(True)

    with pytest.raises(SessionStopped, match="enough"):
        await work()
    assert cleaned
    queue.stop("after the end")
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0)


async def test_a_handlers_own_timeout_is_not_a_stop():
    queue = SessionQueue("s1")
    slot = queue.enter(call(), LIMITS)
    with pytest.raises(TimeoutError):
        async with slot.scope():
            raise TimeoutError("its own")


async def test_a_closed_lane_takes_nothing():
    queue = SessionQueue("s1")
    queue.closed = True
    with pytest.raises(Conflict, match="s1 has ended"):
        queue.enter(call(), LIMITS)
