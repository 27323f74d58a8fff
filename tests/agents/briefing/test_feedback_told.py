"""A model that uses only blocks can finish a task that needs what it read: the whole way, with a real shell."""

import asyncio
from pathlib import Path

import pytest
from tests.kit.workbench import environment

from fourhands.agents.blocks.interceptor import Interceptor
from fourhands.agents.briefing.feedback import turn_message
from fourhands.agents.briefing.hub import Hub
from fourhands.app import CONTRIBUTIONS, App
from fourhands.commands import help as help_module
from fourhands.commands.help import block
from fourhands.core.call import Call
from fourhands.host.paths import WorkspaceDirs
from fourhands.settings import Settings


@pytest.fixture
async def app(tmp_path_factory):
    root = tmp_path_factory.mktemp("w")
    work = root / "work"
    work.mkdir()
    (work / "src.py").write_text("".join(f"line_{number} = {number}\n" for number in range(1, 101)))
    parts = CONTRIBUTIONS if help_module.commands in CONTRIBUTIONS else (*CONTRIBUTIONS, help_module.commands)
    places = WorkspaceDirs(str(work), str(root / "r"), str(root / "s"))
    (root / "home").mkdir()
    async with App(work, Settings(), places=places, env=environment(places), contributions=parts) as made:
        yield made
        await asyncio.gather(*(terminal.close() for terminal in made.terminals.list()))


async def test_an_agent_acts_looks_and_corrects_itself(app: App):
    hub = Hub(app.bench, app.registry)
    session = app.bench.begin_session("Ada", "test")
    app.gate.consent.grant(session.id)

    async def answer(text: str) -> str:
        interceptor = Interceptor()
        commands = [*interceptor.feed(text).commands, *interceptor.close().commands]
        calls = [
            Call(command=found["cmd"], args=found["args"], actor=session.actor, origin="block") for found in commands
        ]
        await asyncio.gather(*(app.gate.run(call) for call in calls))
        message = turn_message(session, app.registry, app.bench)
        assert message is not None
        return message.text

    seen = await answer(
        "I open it.\n"
        + block("openspace.editor.open", {"path": "scr.py", "line": 42})
        + block("openspace.terminal.create", {"title": "runner"})
        + block("openspace.file.read", {"path": "src.py", "startLine": 41, "endLine": 42})
    )
    assert seen.index("#1 openspace.editor.open") < seen.index("#2 openspace.terminal.create")
    assert "→ FAILED: " in seen
    assert "line_41 = 41\nline_42 = 42" in seen
    text = hub.instructions(session.id)
    assert "- openspace.editor.open → FAILED: " in text
    assert "- runner: " in text
    assert str(Path(app.bench.root)) not in text

    seen = await answer(
        block("openspace.editor.open", {"path": "src.py", "line": 42})
        + block("openspace.agent.help", {"command": "openspace.terminal.wait"})
        + block("openspace.terminal.wait", {"terminalId": "runner", "quietSeconds": 0.1, "deadlineSeconds": 40})
        + block("openspace.terminal.read_output", {"terminalId": "runner"})
    )
    assert "FAILED" not in seen
    assert "#### openspace.terminal.wait" in seen
    text = hub.instructions(session.id)
    assert "- src.py, line 42" in text
    assert session.positions, "what it has read is remembered"
    await hub.close()
