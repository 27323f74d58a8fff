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
from tests.kit.real_agents import PICTURE, PNG, Journey, on_stage

from fourhands.agents.acp.catalogue import recipes

TOOLS: dict[str, tuple[str, dict[str, object]]] = {
    "dangerous line": ("Bash", {"command": "rm -rf precious; echo hi; exit 3"}),
    "our tool": ("mcp__fourhands__bash", {"command": "echo by ours"}),
    "write": ("Write", {"file_path": "{root}/made.txt", "content": "made by claude\n"}),
}
QUESTION = {
    "question": "Which way?",
    "header": "Way",
    "multiSelect": False,
    "options": [{"label": "Left", "description": "shorter"}, {"label": "Right", "description": "safer"}],
}
MORE: dict[str, tuple[str, dict[str, object]]] = {
    "ask": ("AskUserQuestion", {"questions": [QUESTION]}),
    "further": ("Read", {"file_path": "{library}/lib.txt"}),
}


class Script:
    """Calls the tool that the person's last message names, and keeps what came of it."""

    def __init__(self) -> None:
        self.root = self.library = ""
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
        known = TOOLS | MORE
        said = next((one for one in known if any(block.get("text") == one for block in blocks)), "")
        if not said:
            return Answer("Seen.")
        name, given = known[said]
        places = {"{root}": self.root, "{library}": self.library}
        args = {key: replaced(value, places) for key, value in given.items()}
        return Answer("Now.", tools=[Tool(name, args, id=f"call_{said}".replace(" ", "_"))])


def replaced(value: object, places: dict[str, str]) -> object:
    for place, path in places.items():
        value = value.replace(place, path) if isinstance(value, str) else value
    return value


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
async def test_a_real_claude_agent_asks_here_and_goes_on_with_its_chats(provider: str, tmp_path: Path) -> None:
    program, script = claude_agent(), Script()
    (tmp_path / "lib.txt").write_text("read from the library\n")
    further = (str(tmp_path),)
    async with on_stage(
        recipes()["claude"], [program], script, own_models.claude, provider=provider, directories=further
    ) as journey:
        script.root, script.library = str(journey.root), str(tmp_path)
        assert journey.bench.describe_session(journey.session).rung == {"local": "none"}.get(provider, provider)
        assert journey.session.title == "Claude Agent"
        await _questions(journey, script)
        await _further(journey, script)
        if provider == "bubblewrap":
            await _picture_and_form(journey, script)
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


async def _further(journey: Journey, script: Script) -> None:
    """A directory of its settings, which it may read without a question: it was named to it."""
    before = len(journey.asked())
    await journey.turn("further")
    assert "read from the library" in script.results[-1]
    assert len(journey.asked()) == before


async def _picture_and_form(journey: Journey, script: Script) -> None:
    await journey.turn("what is this?", PICTURE)
    (image,) = [block for block in newest(script.asked[-1]) if block["type"] == "image"]
    assert image["source"] == {"type": "base64", "media_type": "image/png", "data": PNG}
    journey.filled = {"question_0": "Right", "question_0_custom": "but slowly"}
    await journey.turn("ask")
    (form,) = [data for data in journey.of("question.asked") if data["kind"] == "form"]
    assert form["text"] == "Which way?"
    assert [(one["name"], one["kind"]) for one in form["fields"]] == [
        ("question_0", "choice"),
        ("question_0_custom", "text"),
    ]
    assert [one["description"] for one in form["fields"][0]["choices"]] == ["shorter", "safer"]
    assert "Right" in script.results[-1]
    assert "but slowly" in script.results[-1]


async def _choices(journey: Journey, script: Script) -> None:
    """What the person has chosen holds, also for the process that is started when this one has died."""
    await journey.command("set_mode", mode="plan")
    await journey.command("set_option", option="model", value="sonnet")
    chat = journey.agent.acp.id
    await journey.agent.runtime.stop()
    await journey.turn("hello again")
    assert journey.agent.acp.id == chat
    assert "dangerous line" in json.dumps(script.asked[-1]["messages"])  # it remembers
    assert "sonnet" in script.asked[-1]["model"]
    described = await journey.command("describe")
    assert described["mode"] == "plan"
    assert {one["id"]: one["value"] for one in described["options"]}["model"] == "sonnet"


async def _chats(journey: Journey, script: Script) -> None:
    """A new chat, the list, an older one again with its messages, and one that is deleted."""
    first = journey.agent.acp.id
    await journey.command("reset")
    await journey.turn("a new chat")
    assert "dangerous line" not in json.dumps(script.asked[-1]["messages"])
    assert "sonnet" in script.asked[-1]["model"]  # settings stay
    second = journey.agent.acp.id
    assert {first, second} <= {one["id"] for one in (await journey.command("list_chats"))["chats"]}
    count = len(journey.events)
    await journey.command("load_chat", chat=first)
    shown = journey.events[count:]
    assert [event.data["text"] for event in shown if event.kind == "agent.asked"][:3] == list(TOOLS)
    assert "Now.Done." in "".join(str(event.data["text"]) for event in shown if event.kind == "agent.said")
    await journey.turn("and now?")
    assert "dangerous line" in json.dumps(script.asked[-1]["messages"])
    await journey.command("delete_chat", chat=second)
    assert second not in {one["id"] for one in (await journey.command("list_chats"))["chats"]}
    assert Path(journey.root / "made.txt").exists()  # nothing ran again
