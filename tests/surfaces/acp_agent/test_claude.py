"""A real Claude Code behind `fourhands acp --agent claude`, in its sandbox, and the official SDK's client before it."""

import dataclasses
import itertools
import os
from pathlib import Path
from typing import Any

import pytest
from tests.kit.editor import open_editor
from tests.kit.model import Answer, Model, Request, Tool
from tests.kit.npm_agents import claude
from tests.kit.server import Served, serve_app

from fourhands.app.launching import agent_source, launching
from fourhands.providers.egress.hosts import THIS_MACHINE
from fourhands.settings import AgentSettings, Settings
from fourhands.surfaces.acp_agent.connection import AgentSource

MINUTE_MS = 60_000


class Script:
    """Calls the tool that the person's last message names."""

    def __init__(self) -> None:
        self.root = ""
        self._ids = itertools.count(1)

    def __call__(self, request: Request) -> Answer:
        return dataclasses.replace(self._answer(request), id=str(next(self._ids)))

    def _answer(self, request: Request) -> Answer:
        content: Any = request.body["messages"][-1]["content"]
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        texts = " ".join(str(block.get("text", "")) for block in blocks)
        if not request.body.get("tools"):
            return Answer("A title")
        if any(block["type"] == "tool_result" for block in blocks):
            return Answer("Done.")
        if "run it" in texts:
            args: dict[str, object] = {"command": "echo from claude; exit 3", "timeout": MINUTE_MS}
            return Answer("I run it.", tools=[Tool("mcp__acp__Bash", args, id="call_run")])
        if "read it" in texts:
            return Answer(
                "I read.", tools=[Tool("mcp__acp__Read", {"file_path": f"{self.root}/a.txt"}, id="call_read")]
            )
        return Answer("Seen.")


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_real_claude_serves_an_editor_in_the_workbench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Terminals, unsaved text of the editor, modes, an image, a load: what an editor needs, end to end."""
    program, script = Path(claude()), Script()
    (tmp_path / program.name).symlink_to(program)  # alone: its successor, beside it, would be taken
    async with Model(script) as model:
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        for name, value in (
            ("ANTHROPIC_BASE_URL", model.url),
            ("ANTHROPIC_API_KEY", "fake"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("NO_PROXY", "127.0.0.1"),
        ):
            monkeypatch.setenv(name, value)
        host = f"{THIS_MACHINE}:{model.url.rpartition(':')[2]}"
        named = AgentSettings(provider="bubblewrap", allowed_hosts=(host,))
        async with serve_app(Settings(agents={"claude": named})) as served:
            monkeypatch.setenv("HOME", served.app.terminals.env["HOME"])
            with launching(served.app, served.running):
                source = agent_source(served.app, served.running)
                await _edit(source, served, model, script)


async def _edit(source: AgentSource, served: Served, model: Model, script: Script) -> None:
    root = Path(served.app.bench.root)
    script.root = str(root)
    (root / "a.txt").write_text("saved\n")
    async with open_editor(source, "claude") as editor:
        await editor.begin()
        answer = await editor.connection.new_session(cwd=str(root), mcp_servers=[])
        session = answer.session_id
        served.app.gate.consent.grant(session)
        assert answer.modes is not None
        assert "plan" in [one.id for one in answer.modes.available_modes]
        await editor.connection.set_session_mode(session_id=session, mode_id="acceptEdits")
        assert await editor.prompt(session, "run it") == "end_turn"
        (ran,) = [one for one in served.app.terminals.list() if "from claude" in one.title]
        assert ran.exit is not None
        assert ran.exit.code == 3
        contents = [
            part for one in editor.updates for part in getattr(one, "content", None) or () if hasattr(part, "type")
        ]
        assert any("from claude" in part.content.text for part in contents if part.type == "content")
        editor.buffers[str(root / "a.txt")] = "typed in the editor\n"
        assert await editor.prompt(session, "read it") == "end_turn"
        assert "typed in the editor" in str(model.requests[-1].body["messages"])
        assert "Done." in editor.text()
    async with open_editor(source, "claude") as editor:
        await editor.begin()
        await editor.connection.load_session(cwd=str(root), session_id=session, mcp_servers=[])
        assert "run it" in editor.text("user_message_chunk")
        assert "I run it." in editor.text()
        assert await editor.prompt(session, "hello") == "end_turn"
        await editor.connection.close_session(session_id=session)
