"""A real Claude Code by the successor of its ACP adapter, offline against a scripted model.

It runs its shells and edits its files itself. One conversation, because the start is what costs: questions, our tools,
modes and options, a process that dies, past chats.
"""

import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from tests.kit import own_models
from tests.kit.model import Answer, Request, Tool
from tests.kit.npm_agents import claude_agent
from tests.kit.real_agents import Journey, on_stage

from fourhands.agents.acp.catalogue import recipes

TOOLS: dict[str, tuple[str, dict[str, object]]] = {
    "dangerous line": ("Bash", {"command": "rm -rf precious; echo hi; exit 3"}),
    "our tool": ("mcp__fourhands__bash", {"command": "echo by ours"}),
    "write": ("Write", {"file_path": "{root}/made.txt", "content": "made by claude\n"}),
}


class Script:
    """Calls the tool that the person's last message names, and keeps what came of it."""

    def __init__(self) -> None:
        self.root = ""
        self.results: list[str] = []
        self.asked: list[dict[str, Any]] = []
        self._ids = itertools.count(1)

    def __call__(self, request: Request) -> Answer:
        return dataclasses.replace(self._answer(request), id=str(next(self._ids)))

    def _answer(self, request: Request) -> Answer:
        if not request.body.get("tools"):
            return Answer("A title")
        self.asked.append(request.body)
        blocks = newest(request.body)
        results = [block for block in blocks if block["type"] == "tool_result"]
        if results:
            self.results.append(json.dumps(results[-1]["content"]))
            return Answer("Done.")
        said = next((one for one in TOOLS if any(block.get("text") == one for block in blocks)), "")
        if not said:
            return Answer("Seen.")
        name, given = TOOLS[said]
        args = {key: str(value).replace("{root}", self.root) for key, value in given.items()}
        return Answer("Now.", tools=[Tool(name, args, id=f"call_{said}".replace(" ", "_"))])


def newest(body: dict[str, Any]) -> list[dict[str, Any]]:
    """All that was said behind the last answer: it may put notes of its own behind the person's message."""
    found: list[dict[str, Any]] = []
    for message in reversed(body["messages"]):
        if message["role"] == "assistant":
            break
        content = message["content"]
        found += content if isinstance(content, list) else [{"type": "text", "text": content}]
    return found


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("provider", ["local", "bubblewrap", "landlock"])
async def test_a_real_claude_agent_asks_here_and_goes_on_with_its_chats(provider: str) -> None:
    program, script = claude_agent(), Script()
    async with on_stage(recipes()["claude"], [program], script, own_models.claude, provider=provider) as journey:
        script.root = str(journey.root)
        assert journey.bench.describe_session(journey.session).rung == {"local": "none"}.get(provider, provider)
        assert journey.session.title == "Claude Agent"
        await _questions(journey, script)
        if provider == "bubblewrap":
            await _choices(journey, script)
            await _chats(journey, script)


async def _questions(journey: Journey, script: Script) -> None:
    (journey.root / "precious").mkdir()
    await journey.turn("dangerous line")
    assert "code 3" in script.results[-1]
    assert not (journey.root / "precious").exists()
    assert journey.asked() == ["rm -rf precious; echo hi; exit 3"]
    await journey.turn("our tool")
    assert "by ours" in script.results[-1]
    (ran,) = await journey.app.journal.query(command="openspace.tool.bash")
    assert (ran.call.origin, ran.call.session) == ("mcp", journey.session.id)
    assert len(journey.asked()) == 1
    await journey.turn("write")
    assert (journey.root / "made.txt").read_text() == "made by claude\n"
    diffs = [block for data in journey.of("agent.step") for block in data.get("content", ())]
    assert any(block.get("type") == "diff" and block["newText"] == "made by claude\n" for block in diffs)


async def _call(journey: Journey, command: str, **args: object) -> Any:
    result = await journey.app.call(f"openspace.agent.{command}", {"sessionId": journey.session.id, **args})
    assert result.success, result.error
    return result.data


async def _choices(journey: Journey, script: Script) -> None:
    """What the person has chosen holds, also for the process that is started when this one has died."""
    await _call(journey, "set_mode", mode="plan")
    await _call(journey, "set_option", option="model", value="sonnet")
    chat = journey.agent.acp.id
    await journey.agent.runtime.stop()
    await journey.turn("hello again")
    assert journey.agent.acp.id == chat
    assert "dangerous line" in json.dumps(script.asked[-1]["messages"])  # it remembers
    assert "sonnet" in script.asked[-1]["model"]
    described = await _call(journey, "describe")
    assert described["mode"] == "plan"
    assert {one["id"]: one["value"] for one in described["options"]}["model"] == "sonnet"


async def _chats(journey: Journey, script: Script) -> None:
    """A new chat, the list, an older one again with its messages, and one that is deleted."""
    first = journey.agent.acp.id
    await _call(journey, "reset")
    await journey.turn("a new chat")
    assert "dangerous line" not in json.dumps(script.asked[-1]["messages"])
    assert "sonnet" in script.asked[-1]["model"]  # settings stay
    second = journey.agent.acp.id
    assert {first, second} <= {one["id"] for one in (await _call(journey, "list_chats"))["chats"]}
    count = len(journey.events)
    await _call(journey, "load_chat", chat=first)
    shown = journey.events[count:]
    assert [event.data["text"] for event in shown if event.kind == "agent.asked"][:3] == list(TOOLS)
    assert "Now.Done." in "".join(str(event.data["text"]) for event in shown if event.kind == "agent.said")
    await journey.turn("and now?")
    assert "dangerous line" in json.dumps(script.asked[-1]["messages"])
    assert Path(journey.root / "made.txt").exists()  # nothing ran again
