"""The end of a connector's block: the process of its agent is gone then, whatever it does about it."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.kit.acp_stage import FAKE, open_stage
from tests.kit.briefing import no_briefing
from tests.kit.workbench import open_app

from fourhands.agents.acp.connector import AcpAgent
from fourhands.agents.acp.recipe import Recipe
from fourhands.agents.connectors.launcher import LaunchContext, Launcher
from fourhands.app import App
from fourhands.app.connectors import register_all
from fourhands.core.errors import FourhandsError, Unavailable

pytestmark = pytest.mark.timeout(60)  # each starts a host and an agent

# Says where it listens, and then does what it is told by its name: leave at SIGTERM, or never.
OPENCODE = """#!/bin/sh
echo $$ > "$0.pid"
case $0 in *stubborn) trap "" TERM;; esac
echo opencode server listening on http://127.0.0.1:9
while :; do sleep 300 & wait; done
"""


def is_there(pid: int) -> bool:
    """Whether there is a process of this number, be it one that only waits to be reaped."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def pid_of(agent: AcpAgent) -> int:
    assert agent.runtime.process is not None
    return agent.runtime.process.pid


@pytest.mark.parametrize("how", ["at rest", "stopped", "deaf"])
async def test_an_acp_agent_is_gone_with_its_block(how: str) -> None:
    async with open_stage(deaf=how == "deaf") as stage:
        await stage.agent.ready()
        pid = pid_of(stage.agent)
        if how == "stopped":
            os.kill(pid, signal.SIGSTOP)  # it does not see the end of its input
        await stage.agent.__aexit__(None, None, None)
        assert not is_there(pid)
        assert stage.of("agent.exited")


async def test_one_that_is_in_a_turn_is_gone_with_its_block() -> None:
    async with open_stage(stubborn=True) as stage:
        await stage.prompt(["say", "begun"], ["hang"])
        await stage.until("agent.said", text="begun")
        pid = pid_of(stage.agent)
        await stage.agent.__aexit__(None, None, None)
        assert not is_there(pid)
        assert [data["stopReason"] for data in stage.of("agent.finished")] == ["cancelled"]
        assert stage.agent.session.id not in stage.bench.prompters


async def test_leaving_the_block_is_not_left_halfway() -> None:
    """The server may stop while a session that ended a moment ago is still seen out."""
    async with open_stage(deaf=True) as stage:
        await stage.agent.ready()
        pid = pid_of(stage.agent)
        leaving = stage.app.tasks.start(stage.agent.__aexit__(None, None, None), "leaving")
        for _ in range(2):
            await asyncio.sleep(0)
            leaving.cancel()
        await asyncio.wait([leaving])
        assert leaving.cancelled()
        assert not is_there(pid)


class Running:
    """A workbench that starts agents by name."""

    def __init__(self, app: App) -> None:
        self.app = app
        env = {**app.terminals.env, "FAKE_LOG": f"{app.places.state}/log"}
        context = LaunchContext(briefing=no_briefing, issue_token=lambda session: "", url="http://127.0.0.1:1", env=env)
        self.launcher = Launcher(app.bench, app.tasks, context)
        register_all(self.launcher)
        self.kinds: list[str] = []
        app.events.published.subscribe(lambda event: self.kinds.append(event.kind))

    async def acp(self) -> tuple[str, int]:
        """The session and the process of a running ACP agent."""
        session = await self.launcher.start(f"acp {sys.executable} {FAKE}")
        agent = self.launcher.connectors[session.id]
        assert isinstance(agent, AcpAgent)
        await agent.ready()
        return session.id, pid_of(agent)


@pytest.fixture
async def running() -> AsyncIterator[Running]:
    async with open_app() as app:
        yield Running(app)


async def test_the_end_of_a_session_is_the_end_of_its_process(running: Running) -> None:
    session, pid = await running.acp()
    os.kill(pid, signal.SIGSTOP)
    assert (await running.app.call("openspace.agent.end", {"sessionId": session})).success
    assert not is_there(pid)
    assert running.launcher.connectors == {}
    assert "agent.exited" not in running.kinds, "an end that was wanted is no news"
    assert not running.app.bench.controls


async def test_the_end_of_the_server_is_the_end_of_its_agents() -> None:
    async with open_app() as app:
        running = Running(app)
        _, first = await running.acp()
        _, second = await running.acp()
        os.kill(second, signal.SIGSTOP)
    assert not is_there(first)
    assert not is_there(second)


@pytest.mark.parametrize("name", ["polite", "stubborn"])
async def test_an_opencode_that_was_never_ready_is_gone_when_its_start_has_failed(
    running: Running, name: str, tmp_path: Path
) -> None:
    program = tmp_path / name
    program.write_text(OPENCODE)
    program.chmod(0o700)
    session = running.app.bench.begin_session("robo", "opencode")
    agent: Any = running.launcher.kinds["opencode"](running.launcher, session, "opencode")
    agent.command = (str(program),)
    async with agent:
        starting = running.app.tasks.start(agent.open(), "its start")
        pid_file = Path(f"{program}.pid")
        while not (pid_file.exists() and pid_file.read_text().strip()):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.01)
        pid = int(pid_file.read_text())
        assert is_there(pid)
    assert not is_there(pid)
    await asyncio.wait([starting])
    assert isinstance(starting.exception(), Unavailable)


async def test_a_session_that_ends_while_its_agent_starts_leaves_nothing(running: Running) -> None:
    started: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    class Slow(AcpAgent):
        async def open(self) -> None:
            await self.ready()
            started.set_result(pid_of(self))
            await asyncio.Event().wait()

    running.launcher.kinds["slow"] = lambda launcher, session, spec: Slow(
        launcher.bench, session, Recipe(name="fake"), [sys.executable, FAKE], env=launcher.wiring.env
    )
    starting = running.app.tasks.start(running.launcher.start("slow"), "the start")
    pid = await started
    (session,) = running.launcher.connectors
    await running.app.bench.end_session(session)
    assert not is_there(pid)
    await asyncio.wait([starting])
    assert isinstance(starting.exception(), FourhandsError)
    assert len(running.app.bench.sessions) == 0
