import asyncio

import pytest

from fourhands.core.call import Actor, Call
from fourhands.core.errors import Conflict, LimitReached
from fourhands.core.queue import QueueLimits, SessionQueue, SessionStopped

LIMITS = QueueLimits(per_answer=2, depth=3)
GAP_S = 1000.0  # more than passes by itself


def call(origin: str = "block", answer_id: str | None = None) -> Call:
    return Call(command="openspace.a.b", actor=Actor.agent("s1"), origin=origin, answer_id=answer_id)  # type: ignore[arg-type]


async def test_the_depth_counts_blocks_and_others_together():
    lane = SessionQueue("s1")
    first = lane.enter(call(), LIMITS)
    lane.enter(call("mcp"), LIMITS)
    lane.enter(call("http"), LIMITS)
    with pytest.raises(LimitReached, match="3 commands are waiting"):
        lane.enter(call("mcp"), LIMITS)
    lane.leave(first)
    lane.enter(call("mcp"), LIMITS)
    assert len(lane) == 3


async def test_commands_are_counted_per_answer_and_a_refused_one_does_not_count():
    lane = SessionQueue("s1")
    for _ in range(2):
        lane.leave(lane.enter(call(answer_id="r1"), LIMITS))
    with pytest.raises(LimitReached, match="more than 2 commands in one answer"):
        lane.enter(call(answer_id="r1"), LIMITS)
    tickets = [
        lane.enter(call(answer_id="r2"), LIMITS),
        lane.enter(call("mcp"), LIMITS),
        lane.enter(call("mcp"), LIMITS),
    ]
    with pytest.raises(LimitReached, match="waiting"):
        lane.enter(call(answer_id="r2"), LIMITS)
    lane.leave(tickets[0])
    lane.enter(call(answer_id="r2"), LIMITS)


async def test_old_answers_are_forgotten():
    lane = SessionQueue("s1")
    for number in range(200):
        lane.leave(lane.enter(call(answer_id=f"r{number}"), LIMITS))
    assert len(lane._answers) == 64


async def test_an_answer_that_goes_on_is_not_forgotten_for_newer_ones():
    lane = SessionQueue("s1")
    for answer in ("long", *(f"r{number}" for number in range(63)), "long", "one more"):
        lane.leave(lane.enter(call(answer_id=answer), LIMITS))
    with pytest.raises(LimitReached, match="in one answer"):
        lane.enter(call(answer_id="long"), LIMITS)


async def test_a_gap_follows_each_block_and_none_comes_before_the_first():
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    lane = SessionQueue("s1", sleep)
    for expected in (0, 1, 2):
        ticket = lane.enter(call(), LIMITS)
        await lane.turn(ticket, GAP_S)
        assert len(slept) == expected
        lane.leave(ticket)
    assert all(0 < round(gap, 6) <= GAP_S for gap in slept)
    other = lane.enter(call("mcp"), LIMITS)
    await lane.turn(other, GAP_S)
    assert len(slept) == 2


async def test_no_gap_is_waited_for_when_it_has_passed():
    async def sleep(seconds: float) -> None:
        raise AssertionError("not needed")

    lane = SessionQueue("s1", sleep)
    for _ in range(2):
        ticket = lane.enter(call(), LIMITS)
        await lane.turn(ticket, 0.0)
        lane.leave(ticket)


async def test_a_stop_ends_the_scope_once_and_the_task_lives_on():
    lane = SessionQueue("s1")
    ticket = lane.enter(call(), LIMITS)
    cleaned: list[bool] = []

    async def work() -> None:
        async with ticket.scope():
            try:
                assert lane.stop("enough") == 1
                assert lane.stop("again") == 1
                await asyncio.Event().wait()
            finally:
                cleaned.append(True)

    with pytest.raises(SessionStopped, match="enough"):
        await work()
    assert cleaned
    lane.stop("after the end")
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0)


async def test_a_handlers_own_timeout_is_not_a_stop():
    lane = SessionQueue("s1")
    ticket = lane.enter(call(), LIMITS)
    with pytest.raises(TimeoutError):
        async with ticket.scope():
            raise TimeoutError("its own")


async def test_a_closed_lane_takes_nothing():
    lane = SessionQueue("s1")
    lane.closed = True
    with pytest.raises(Conflict, match="s1 has ended"):
        lane.enter(call(), LIMITS)
