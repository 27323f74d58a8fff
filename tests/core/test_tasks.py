"""Background work ends with its block, and reaches its own end even if it never had a moment to begin."""

import asyncio

import pytest

from fourhands.core.tasks import Tasks


async def test_work_that_had_no_moment_to_begin_still_cleans_up():
    steps = []

    async def work():
        steps.append("begun")
        try:
            await asyncio.Event().wait()
        finally:
            steps.append("ended")

    async with Tasks() as tasks:
        tasks.start(work(), "work")
    assert steps == ["begun", "ended"]


async def test_a_failure_is_logged_and_reaches_nobody(caplog):
    async def fail():
        raise ValueError("trouble of its own")

    async with Tasks() as tasks:
        tasks.start(fail(), "the failing one")
        await tasks.idle()
    assert "the failing one failed" in caplog.text


async def test_what_leaves_the_block_leaves_it_as_it_is_and_nothing_starts_after_it():
    tasks = Tasks()

    async def block():
        async with tasks:
            tasks.start(asyncio.Event().wait(), "for ever")
            raise KeyError("mine")

    with pytest.raises(KeyError):
        await block()
    assert len(tasks) == 0
    with pytest.raises(RuntimeError, match="too late was started after the end"):
        tasks.start(asyncio.sleep(0), "too late")


async def test_leaving_the_block_is_not_left_halfway():
    steps, ending, rest = [], asyncio.Event(), asyncio.Event()

    async def work():
        try:
            await asyncio.Event().wait()
        finally:
            ending.set()
            await rest.wait()
            steps.append("ended")

    async def block():
        async with Tasks() as tasks:
            tasks.start(work(), "work")
        steps.append("not reached")

    async with Tasks() as outer:
        leaving = outer.start(block(), "the block")
        await ending.wait()
        leaving.cancel()
        await asyncio.sleep(0)
        assert not leaving.done()
        rest.set()
        await asyncio.wait([leaving])
        assert leaving.cancelled()
    assert steps == ["ended"]
