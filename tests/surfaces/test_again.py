"""The program started again, or ended before it has begun."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.kit.program import Home, Server, new_home

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120), pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[Server]:
    async with new_home() as home, Server(home) as found:
        yield found


async def agents(home: Home) -> list[str]:
    listed = await home.call("agent.list")
    return [agent["connector"] for agent in listed["agents"]]


async def test_a_second_start_shows_the_one_that_runs(server: Server) -> None:
    code, out, err = await server.home.run("--no-open")
    assert (code, err) == (0, "")
    assert f"Already running, as process {server.process.pid}" in out
    assert f"{server.home.address.url}/#code=" in out
    code, out, _ = await server.home.run("--no-open", "--json")
    assert (code, json.loads(out)["pid"]) == (0, server.process.pid)


async def test_an_agent_that_is_asked_for_joins_the_one_that_runs(server: Server) -> None:
    before = await agents(server.home)
    code, out, _ = await server.home.run(".", "--agent", "tour", "--no-open")
    assert (code, "Already running" in out) == (0, True)
    assert await agents(server.home) == [*before, "tour"]
    code, _, err = await server.home.run(".", "--agent", "no-such-agent-at-all", "--no-open")
    assert (code, "no-such-agent-at-all" in err) == (1, True)


async def test_the_page_and_the_terminal_name_the_program_as_it_is_typed(server: Server) -> None:
    told = (await server.home.call("workbench.snapshot"))["program"]
    done = await asyncio.to_thread(
        subprocess.run, f"{told} --version", shell=True, cwd=server.home.work, env=server.home.env, capture_output=True
    )
    assert done.stdout.startswith(b"fourhands")


LOADING = """
import os, signal, sys
class Loading:
    def find_spec(self, name, path=None, target=None):
        if name == "fourhands.surfaces.cli.main":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Loading())
sys.argv = ["fourhands", "--version"]
from fourhands.__main__ import main
main()
"""


async def test_ctrl_c_while_it_is_loaded_ends_it_without_a_word(tmp_path: Path) -> None:
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", LOADING], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


async def test_ctrl_c_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    done = await asyncio.to_thread(
        subprocess.run,
        ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", sys.executable, "-c", LOADING],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
