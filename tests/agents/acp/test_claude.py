"""A real Claude Code by its ACP adapter, as another user, offline against a scripted model: terminals, files, modes.

One journey, because the start is what costs: each step depends only on the agent being there.
"""

import asyncio
import dataclasses
import itertools
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.kit import own_models
from tests.kit.model import Answer, Request, Tool
from tests.kit.npm_agents import claude
from tests.kit.real_agents import Journey, on_stage

from fourhands.agents.acp.catalogue import recipes
from fourhands.core.ids import short_id

MINUTE_MS = 60_000
TOOLS: dict[str, tuple[str, dict[str, object]]] = {
    "exit code": ("mcp__acp__Bash", {"command": "echo hi; exit 3", "timeout": MINUTE_MS}),
    "own timeout": ("mcp__acp__Bash", {"command": "echo begun; sleep 1000", "timeout": 3000}),
    "background": (
        "mcp__acp__Bash",
        {"command": "echo up; sleep 1000", "timeout": MINUTE_MS, "run_in_background": True},
    ),
    "refused": ("mcp__acp__Bash", {"command": "rm -rf precious", "timeout": MINUTE_MS}),
    "our tool": ("mcp__fourhands__terminal_list", {}),
    "our safe line": ("mcp__fourhands__bash", {"command": "ls"}),
    "our unknown line": ("mcp__fourhands__bash", {"command": "./frob"}),
    "our dangerous line": ("mcp__fourhands__bash", {"command": "rm -rf gone"}),
    "read": ("mcp__acp__Read", {"file_path": "{root}/notes.txt"}),
    "write": ("mcp__acp__Write", {"file_path": "{root}/new/made.txt", "content": "made by claude\n"}),
}


class Script:
    """Calls the tool that the person's last message names, and keeps what came of it."""

    def __init__(self) -> None:
        self.root = ""
        self.results: list[str] = []
        self._ids = itertools.count(1)

    def __call__(self, request: Request) -> Answer:
        return dataclasses.replace(self._answer(request), id=str(next(self._ids)))  # it knows messages by their ids

    def _answer(self, request: Request) -> Answer:
        content: Any = request.body["messages"][-1]["content"]
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        results = [block for block in blocks if block["type"] == "tool_result"]
        if not request.body.get("tools"):
            return Answer("A title")
        # Behind a refusal its turn ends: what came of it is then told with the next message.
        said = next((block["text"] for block in blocks if block.get("text") in TOOLS), "")
        if not said and results:
            self.results.append(json.dumps(results[-1]["content"]))
            block = '%%OS{"cmd":"openspace.file.list","args":{}}%%' if "code 3" in self.results[-1] else ""
            return Answer(f"Done. {block}")
        if not said:
            return Answer("Seen.")
        name, given = TOOLS[said]
        args = {
            key: value.replace("{root}", self.root) if isinstance(value, str) else value for key, value in given.items()
        }
        return Answer("Now.", tools=[Tool(name, args, id=f"call_{said}".replace(" ", "_"))])


def terminal(journey: Journey, title: str) -> Any:
    (found,) = [one for one in journey.bench.terminals.list() if one.title.startswith(title)]
    return found


def choice(event: Any) -> Any:
    return "deny" if "precious" in str(event.data["shown"]) else "once"


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("provider", ["local", "bubblewrap", "landlock"])
async def test_a_real_claude_works_in_our_terminals_and_files(provider: str) -> None:
    program, script = claude(), Script()
    async with on_stage(
        recipes()["claude"], [program], script, own_models.claude, choose=choice, nobody=True, provider=provider
    ) as journey:
        script.root = str(journey.root)
        assert journey.bench.describe_session(journey.session).rung == {"local": "none"}.get(provider, provider)
        pid = _agent(journey)
        if os.geteuid() == 0 and provider == "local":
            assert os.stat(f"/proc/{pid}").st_uid == 65534
        await _exit_codes(journey, script)
        await _refusal(journey, script)
        await _files(journey, script)
        await _our_server(journey, script)
        await _mode(journey)
        await _own_timeout(journey, script)
        await _background(journey, script)
        assert "%%" not in journey.said
    assert not Path(f"/proc/{pid}/exe").exists()  # though it does not leave when its input ends


async def _exit_codes(journey: Journey, script: Script) -> None:
    await journey.turn("exit code")
    assert "code 3" in script.results[-1]
    assert "hi" in script.results[-1]
    ran = terminal(journey, "echo hi; exit 3")
    assert ran.exit.code == 3
    assert ran.owner == journey.session.id
    assert journey.asked() == []  # the agent's own request is answered: the line would run unasked by every door
    shown = [block for data in journey.of("agent.step") for block in data.get("content", ())]
    assert {"type": "terminal", "terminalId": ran.id} in shown
    # Its block was taken out and run, and it was told.
    assert [result.command_id for result in journey.session.results][-1] == "openspace.file.list"


async def _refusal(journey: Journey, script: Script) -> None:
    (journey.root / "precious").mkdir()
    await journey.turn("refused")
    assert (journey.root / "precious").exists()
    entries = await journey.app.journal.query(command="session/request_permission")
    assert [entry.verdict.choice for entry in entries] == ["unasked", "deny"]


async def _files(journey: Journey, script: Script) -> None:
    (journey.root / "notes.txt").write_text("saved\n")
    assert (await journey.app.call("openspace.editor.open", {"path": "notes.txt"})).success
    journey.bench.state.set_draft("notes.txt", "typed and not saved\n", None)
    await journey.turn("read")
    assert "typed and not saved" in script.results[-1]
    await journey.turn("write")
    assert (journey.root / "new" / "made.txt").read_text() == "made by claude\n"
    assert (await journey.app.call("openspace.workbench.undo", {})).success
    assert not (journey.root / "new" / "made.txt").exists()


async def _our_server(journey: Journey, script: Script) -> None:
    await journey.turn("our tool")
    assert short_id(terminal(journey, "echo hi").id) in script.results[-1]
    (entry,) = await journey.app.journal.query(command="openspace.tool.terminal_list")
    assert (entry.call.origin, entry.call.session) == ("mcp", journey.session.id)
    # One question for one action, by whichever doors it comes.
    sandbox = journey.session.state.provider != "local"
    for line, questions in (("safe", 0), ("unknown", 0 if sandbox else 1), ("dangerous", 1)):
        before = len(journey.asked())
        await journey.turn(f"our {line} line")
        assert len(journey.asked()) - before == questions, line
    (journal,) = await journey.app.journal.query(command="openspace.tool.bash", limit=1)
    assert journal.result is not None
    assert (journal.result.success, journal.verdict.choice, journal.call.origin) == (True, "once", "mcp")


async def _mode(journey: Journey) -> None:
    args: dict[str, object] = {"sessionId": journey.session.id, "mode": "acceptEdits"}
    assert (await journey.app.call("openspace.agent.set_mode", args)).success
    described = await journey.app.call("openspace.agent.describe", {"sessionId": journey.session.id})
    assert described.data["mode"] == "acceptEdits"


async def _own_timeout(journey: Journey, script: Script) -> None:
    """It reads the output and releases, without a kill, while its wait is still open."""
    await journey.turn("own timeout")
    assert "begun" in script.results[-1]
    ran = terminal(journey, "echo begun")
    await ran.wait(exit=True, deadline_s=30)
    assert ran.exit is not None
    assert ran.exit.signal
    assert ran.lines()[0] == "begun"  # still on screen


async def _background(journey: Journey, script: Script) -> None:
    await journey.turn("background")
    ran = terminal(journey, "echo up")
    assert ran.exit is None  # the turn is over, the program is not
    ended: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    ran.on_exit(ended.set_result)
    sent = await journey.app.call("openspace.terminal.send", {"terminalId": ran.id, "text": "typed by hand\n"})
    assert sent.success
    await journey.agent.runtime.stop()
    async with asyncio.timeout(30):
        assert (await ended).signal


def _agent(journey: Journey) -> int:
    process = journey.agent.runtime.process
    assert process is not None
    return process.pid
