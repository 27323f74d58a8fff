"""A server and a host of the version before it: `golden/host-0.1.0.zip` holds that host as it was released."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.kit.hosts import LIMIT_S, is_alive, wait_gone
from tests.kit.server import until
from tests.kit.workbench import environment, quick, temporary_places

from fourhands import __version__
from fourhands.app import App
from fourhands.host.client import HostClient
from fourhands.host.paths import WorkspaceDirs
from fourhands.workbench.terminals.terminals import Terminals

pytestmark = pytest.mark.timeout(90)

OLDER = Path(__file__).parents[2] / "golden" / "host-0.1.0.zip"


@pytest.fixture
def places() -> Iterator[WorkspaceDirs]:
    with temporary_places() as places:
        places.prepare()
        yield places


@pytest.fixture
def older(places: WorkspaceDirs) -> Iterator["subprocess.Popen[bytes]"]:
    """A real host of the older version."""
    ready, theirs = os.pipe()
    words = ["--workspace", places.workspace, "--runtime", places.runtime, "--state", places.state]
    host = subprocess.Popen(
        [sys.executable, "-P", "-m", "fourhands.host.process", *words, "--linger", "600", "--ready", str(theirs)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(OLDER)},
        cwd="/",
        pass_fds=[theirs],
        start_new_session=True,
    )
    os.close(theirs)
    with open(ready) as file:
        assert file.read() == "ready"
    try:
        yield host
    finally:
        host.kill()
        host.wait()


def open_terminals(places: WorkspaceDirs) -> Terminals:
    return Terminals(places.workspace, quick(), places=places, env=environment(places), keep=True)


async def test_an_older_host_in_which_nothing_runs_is_renewed_at_once(
    places: WorkspaceDirs, older: "subprocess.Popen[bytes]"
) -> None:
    async with App(places.workspace, quick(), places=places, env=environment(places)) as app:
        await until(lambda: app.terminals.host_pid != older.pid)  # nothing ran in it
        assert await asyncio.to_thread(older.wait, LIMIT_S) == 0
        assert (await app.terminals.host()).version == __version__
        await app.terminals.stop()


async def test_programs_of_an_older_host_are_not_ended_for_the_sake_of_a_newer_one(
    places: WorkspaceDirs, older: "subprocess.Popen[bytes]"
) -> None:
    async with open_terminals(places) as before:
        shell = await before.create(shell="bash", title="shell")
        assert (await shell.run("X=kept; echo one", timeout_s=LIMIT_S)).output == "one\n"
        left = await before.create(argv=["sh", "-c", "trap '' HUP; sleep 300 & echo left $!"])
        await left.wait(exit=True, deadline_s=LIMIT_S)
    async with App(places.workspace, quick(), places=places, env=environment(places)) as app:
        terminals = app.terminals
        seen = await terminals.host()
        assert (terminals.host_pid, seen.state, seen.problem) == (older.pid, "running", "")
        assert "renewed when no program runs in its terminals (1 now)" in seen.note
        shell = terminals.get("shell")
        assert (await shell.run("echo $X", timeout_s=LIMIT_S)).output == "kept\n"
        made = await terminals.create(argv=["sh", "-c", "exit 3"])
        await made.wait(exit=True, deadline_s=LIMIT_S)
        assert (await made.probe(), await made.members()) == ({"running": False}, [])
        assert not await terminals.renew()  # the shell
        await shell.close()
        assert not await terminals.renew()  # what an exited one left
        assert terminals.host_pid == older.pid
        child = int(terminals.get(left.id).lines()[-1].split()[1])
        assert is_alive(child)
        await terminals.get(left.id).kill()
        assert not is_alive(child)
        await made.close()
        await until(lambda: terminals.host_pid != older.pid)
        assert await asyncio.to_thread(older.wait, LIMIT_S) == 0
        assert [one.id for one in terminals.list()] == [left.id]
        ended = terminals.get(left.id).exit
        assert ended is not None
        assert (ended.code, ended.lost) == (0, False)
        assert not terminals.outdated
        fresh = await terminals.create(argv=["sh", "-c", "echo new"])
        await fresh.wait(exit=True, deadline_s=LIMIT_S)
        assert fresh.lines() == ["new"]
        await terminals.stop()


async def test_an_older_host_that_is_killed_is_followed_by_one_that_ends_what_it_left(
    places: WorkspaceDirs, older: "subprocess.Popen[bytes]"
) -> None:
    async with open_terminals(places) as terminals:
        job = await terminals.create(argv=["sh", "-c", "trap '' HUP; echo ready; while :; do sleep 1; done"])
        await job.wait(pattern="ready", position=0, deadline_s=LIMIT_S)
        older.kill()
        await job.wait(exit=True, deadline_s=LIMIT_S)
        assert job.exit is not None
        assert job.exit.lost
        assert await asyncio.to_thread(wait_gone, job.pid)
        await terminals.stop()


async def test_no_second_host_is_started_beside_an_older_one(
    places: WorkspaceDirs, older: "subprocess.Popen[bytes]"
) -> None:
    words = ["--workspace", places.workspace, "--runtime", places.runtime, "--state", places.state]
    second = await asyncio.create_subprocess_exec(sys.executable, "-m", "fourhands.host.main", *words)
    async with asyncio.timeout(LIMIT_S):
        assert await second.wait() == 0  # use that one
    async with open_terminals(places) as terminals:
        assert terminals.host_pid == older.pid
    assert await HostClient.end(places)
    assert await asyncio.to_thread(older.wait, LIMIT_S) == 0
