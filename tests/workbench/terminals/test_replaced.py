"""A host that dies, stops or is swept out of sight: each time the real thing is killed, stopped or deleted."""

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.kit.hosts import LIMIT_S, carriers, cut, is_alive, links, listed, wait_gone
from tests.kit.server import until
from tests.kit.workbench import environment, quick, temporary_places

from fourhands.app import App
from fourhands.core.tasks import Tasks
from fourhands.host import owner
from fourhands.host.client import ClientTimings, HostClient, HostSilent
from fourhands.host.paths import WorkspaceDirs
from fourhands.workbench.terminals.handle import Exited
from fourhands.workbench.terminals.host_terminals import HostTimings
from fourhands.workbench.terminals.terminal import Terminal
from fourhands.workbench.terminals.terminals import Terminals

pytestmark = pytest.mark.timeout(60)

# Hides from a hang-up, and has a child that nothing but its environment ties to the terminal.
STUBBORN = "trap '' HUP TERM; (setsid sleep 300 </dev/null >/dev/null 2>&1 &); echo ready; while :; do sleep 1; done"


@pytest.fixture
def places() -> Iterator[WorkspaceDirs]:
    with temporary_places() as places:
        yield places


@contextlib.asynccontextmanager
async def joined(places: WorkspaceDirs, *, stop: bool = True, answer_s: float = LIMIT_S) -> AsyncIterator[Terminals]:
    timings = HostTimings(client=ClientTimings(answer_s=answer_s))
    async with Terminals(
        places.workspace, quick(), places=places, env=environment(places), keep=True, timings=timings
    ) as terminals:
        yield terminals
        if stop:
            await terminals.stop()


async def ready(terminals: Terminals, script: str = "echo ready; exec sleep 300", title: str = "job") -> Terminal:
    terminal = await terminals.create(argv=["sh", "-c", script], title=title)
    await terminal.wait(pattern="ready", position=0, deadline_s=40)
    return terminal


async def test_a_host_whose_runtime_directory_was_removed_is_found_again(places: WorkspaceDirs) -> None:
    async with joined(places, stop=False) as before:
        job = await ready(before)
        host = before.host_pid
        shutil.rmtree(places.runtime)
        # Who is connected notices nothing.
        assert (await before.create(argv=["true"])).pid
    async with joined(places) as after:
        assert after.host_pid == host
        assert after.get("job").exit is None
        await after.get("job").type("typed\n")
        await after.get("job").wait(pattern="typed", position=0, deadline_s=40)
    assert wait_gone(job.pid)


async def test_a_host_whose_runtime_directory_cannot_be_made_again_listens_elsewhere(places: WorkspaceDirs) -> None:
    async with joined(places, stop=False) as before:
        await ready(before)
        host = before.host_pid
        shutil.rmtree(places.runtime)
        Path(places.runtime).touch()  # nothing can be made there, as when logind has taken /run/user/UID away
    assert await asyncio.to_thread(owner.call, places, 40)
    moved = owner.living(places)
    assert moved is not None
    assert (moved.pid, moved.socket != places.socket) == (host, True)
    Path(places.runtime).unlink()
    async with joined(places) as after:
        assert after.host_pid == host
        assert after.get("job").exit is None
    await until(lambda: not os.path.exists(moved.socket))


async def test_stop_ends_by_the_record_what_it_cannot_reach(places: WorkspaceDirs) -> None:
    async with joined(places, stop=False) as before:
        job = await ready(before, STUBBORN)
        host = before.host_pid
    os.kill(host, signal.SIGSTOP)  # not even a signal makes it listen
    shutil.rmtree(places.runtime)
    assert await HostClient.end(places)
    assert (is_alive(host), is_alive(job.pid), carriers({job.id})) == (False, False, [])
    assert not await HostClient.end(places)


async def test_stop_ends_what_a_host_that_was_killed_has_left(places: WorkspaceDirs) -> None:
    async with joined(places, stop=False) as before:
        job = await ready(before, STUBBORN)
        host = before.host_pid
    os.kill(host, signal.SIGKILL)
    assert await asyncio.to_thread(wait_gone, host)
    assert is_alive(job.pid)
    assert await HostClient.end(places)
    assert (is_alive(job.pid), carriers({job.id})) == (False, [])
    assert not await HostClient.end(places)


async def test_a_host_that_is_killed_is_replaced_and_what_it_left_is_ended(places: WorkspaceDirs) -> None:
    async with joined(places) as terminals, Tasks() as tasks:
        told: list[list[Terminal]] = []
        terminals.on_lost = told.append
        jobs = [await ready(terminals, STUBBORN, "stubborn"), await ready(terminals, title="plain")]
        done = await terminals.create(argv=["sh", "-c", "exit 4"])
        await done.wait(exit=True, deadline_s=40)
        waiting = tasks.start(jobs[1].wait(pattern="never", deadline_s=50), "a wait")
        host = terminals.host_pid
        os.kill(host, signal.SIGKILL)
        # Whoever asks while there is none waits for the next.
        after = await terminals.create(argv=["sh", "-c", "echo works; exec sleep 300"])
        await after.wait(pattern="works", position=0, deadline_s=40)
        async with asyncio.timeout(40):
            assert (await waiting).reason == "exit"
            await until(lambda: told)
        assert terminals.host_pid != host
        assert told == [jobs]
        for job in jobs:
            assert job.exit is not None
            assert job.exit.lost
            assert job.lines() == ["ready"]
            with pytest.raises(Exited, match="its host is gone"):
                await job.type("x")
            assert (is_alive(job.pid), carriers({job.id})) == (False, [])
        assert done.exit is not None
        assert (done.exit.code, done.exit.lost) == (4, False)
        await jobs[0].kill()
        await jobs[0].close()
        await until(lambda: jobs[0] not in terminals.list())
        assert {one.id for one in terminals.list()} == {jobs[1].id, done.id, after.id}


async def test_a_host_that_dies_again_and_again_is_replaced_each_time(places: WorkspaceDirs) -> None:
    async with joined(places) as terminals:
        for _ in range(3):
            job = await ready(terminals)
            os.kill(terminals.host_pid, signal.SIGKILL)
            await job.wait(exit=True, deadline_s=40)
        assert len(terminals.list()) == 3


async def test_a_link_that_is_cut_is_joined_again_and_nothing_is_lost(places: WorkspaceDirs) -> None:
    async with joined(places) as terminals, Tasks() as tasks:
        job = await ready(terminals, "echo ready; read x; echo got $x; exec sleep 300")
        before, host = links(places).keys(), terminals.host_pid
        waiting = tasks.start(job.wait(pattern="got there", position=0, deadline_s=50), "a wait")
        await asyncio.sleep(0)
        cut(places)
        await until(lambda: links(places) and before.isdisjoint(links(places)))
        await job.type("there\n")
        async with asyncio.timeout(40):
            assert (await waiting).reason == "pattern"
        assert (terminals.host_pid, job.exit) == (host, None)


async def test_a_host_that_is_stopped_costs_a_clear_error_and_goes_on(places: WorkspaceDirs) -> None:
    async with joined(places) as terminals, contextlib.AsyncExitStack() as stack:
        patient = await ready(terminals)
        impatient = await stack.enter_async_context(joined(places, stop=False, answer_s=1.0))
        job, host = impatient.get(patient.id), impatient.host_pid
        assert (await impatient.host()).state == "running"
        os.kill(host, signal.SIGSTOP)
        try:
            async with asyncio.timeout(40):
                for ask in (
                    impatient.create(argv=["sh", "-c", f"echo $$ > {places.workspace}/started; exec sleep 300"]),
                    job.kill(),
                    job.probe(),
                ):
                    with pytest.raises(HostSilent, match="it is stopped") as caught:
                        await ask
                    assert caught.value.hint == f"resume it: kill -CONT {host}"
            seen = await impatient.host()
            assert (seen.state, seen.pid) == ("silent", host)
        finally:
            os.kill(host, signal.SIGCONT)
        # What was asked for in vain was not done behind anybody's back; what was to end has ended.
        made = await terminals.create(argv=["sh", "-c", "exit 3"])
        await made.wait(exit=True, deadline_s=40)
        await until(lambda: job.exit is not None and patient.exit is not None)
        assert {one.id for one in terminals.list()} == {job.id, made.id}
        assert {one.id for one in impatient.list()} == {job.id}
        async with asyncio.timeout(40):
            while len(await listed(places)) > 2:
                pass
        assert (await terminals.host()).state == "running"


@pytest.mark.parametrize("how", ["missing", "a directory", "no record"])
async def test_a_terminal_whose_log_is_gone_concerns_no_other(places: WorkspaceDirs, how: str) -> None:
    async with joined(places, stop=False) as before:
        bad, good = await ready(before, title="bad"), await ready(before, title="good")
    path = places.log(bad.id)
    os.unlink(path)
    if how == "a directory":
        os.mkdir(path)
    if how == "no record":
        os.unlink(places.record(bad.id))
    async with App(places.workspace, quick(), places=places, env=environment(places)) as app:
        after = app.terminals
        assert after.get("good").lines() == ["ready"]
        shown = after.get("bad")
        assert (shown.exit, shown.lines()) == (None, [])
        assert "cannot be read" in app.bench.describe(shown).fault
        assert app.bench.describe(after.get("good")).fault == ""
        assert (await app.call("openspace.terminal.list")).success
        await shown.close()
        await until(lambda: [one.id for one in after.list()] == [good.id])
        assert not is_alive(bad.pid)
        await after.stop()


async def test_a_spare_shell_that_was_lost_with_its_host_is_nobodys_terminal(places: WorkspaceDirs) -> None:
    settings = quick(spare_shell=True)
    async with Terminals(places.workspace, settings, places=places, env=environment(places), keep=True) as terminals:
        one = await terminals.create(shell="bash")
        await terminals.settled()
        spare = terminals.spare
        assert spare is not None
        os.kill(terminals.host_pid, signal.SIGKILL)
        await one.wait(exit=True, deadline_s=40)
        again = await terminals.create(shell="bash")
        assert again.pid != spare.pid
        await terminals.settled()
        assert {terminal.id for terminal in terminals.list()} == {one.id, again.id}
        there = {record["id"] for record in await listed(places)}
        assert spare.id not in there
        await terminals.stop()
