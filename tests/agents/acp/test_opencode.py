"""A real OpenCode as an ACP agent, offline against a scripted model: permissions, edits, our own tools, blocks.

Its mode, which is an option, a picture, and an older chat.
"""

import json
from typing import Any

import pytest
from tests.kit import own_models
from tests.kit.model import Answer, Request, Tool
from tests.kit.npm_agents import opencode
from tests.kit.real_agents import PICTURE, PNG, Journey, on_stage

from fourhands.agents.acp.catalogue import recipes

LINE = "echo made by hand > made.txt; cat made.txt"


class Script:
    """Runs a line in its own shell, edits a file, calls a tool of ours; keeps what came of each."""

    def __init__(self) -> None:
        self.root = ""
        self.results: dict[str, str] = {}
        self.asked: list[list[dict[str, Any]]] = []

    def __call__(self, request: Request) -> Answer:
        if not request.body.get("tools"):
            return Answer("A title")
        self.asked.append(request.body["messages"])
        for message in request.body["messages"]:
            if message["role"] == "tool":
                self.results[message["tool_call_id"]] = json.dumps(message["content"])
        path = f"{self.root}/notes.txt"
        steps = [
            Tool("bash", {"command": LINE, "description": "d"}, id="bash"),
            Tool("read", {"filePath": path}, id="read"),
            Tool("edit", {"filePath": path, "oldString": "one", "newString": "two"}, id="edit"),
            Tool("fourhands_search", {"query": "made"}, id="ours"),
        ]
        left = [step for step in steps if step.id not in self.results]
        if left:
            return Answer("Now. ", tools=left[:1])
        if "openspace.file.list" in json.dumps(request.body["messages"][-1]):
            return Answer("Seen.")
        return Answer(["All ", 'done. %%OS{"cmd":"openspace.file', '.list","args":{}}%%'])


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("provider", ["local", "bubblewrap"])
async def test_a_real_opencode_asks_before_it_runs_and_edits_and_its_blocks_are_taken_out(provider: str) -> None:
    program, script = opencode(), Script()
    async with on_stage(
        recipes()["opencode"], [program, "acp"], script, own_models.opencode, provider=provider
    ) as journey:
        script.root = str(journey.root)
        assert journey.bench.describe_session(journey.session).rung == {"local": "none"}.get(provider, provider)
        (journey.root / "notes.txt").write_text("one\n")
        await journey.turn("please go")
        assert (journey.root / "made.txt").read_text() == "made by hand\n"
        assert (journey.root / "notes.txt").read_text() == "two\n"
        asked = journey.asked()
        assert (asked[0] == LINE, len(asked)) == ((True, 2) if provider == "local" else (False, 1))  # and the edit
        entries = await journey.app.journal.query(command="session/request_permission")
        assert {entry.verdict.choice for entry in entries} == {"once", "once" if provider == "local" else "unasked"}
        assert ("openspace.file.write", "acp") in [
            (one.call.command, one.call.origin) for one in await journey.app.journal.query()
        ]
        # By our own MCP server, in the same session.
        assert "made.txt" in script.results["ours"]
        calls = [one.call for one in await journey.app.journal.query() if one.call.origin == "mcp"]
        assert [(call.command, call.session) for call in calls] == [("openspace.tool.search", journey.session.id)]
        assert "%%" not in journey.said
        assert "All done." in journey.said
        assert [result.command_id for result in journey.session.results][-1] == "openspace.file.list"
        assert journey.of("agent.step")[-1]["status"] == "completed"
        if provider == "bubblewrap":
            await _chats(journey, script)


async def _chats(journey: Journey, script: Script) -> None:
    first = journey.agent.acp.id
    await journey.command("reset")
    await journey.command("set_option", option="mode", value="plan")
    await journey.turn("what is this?", PICTURE)
    parts = [part for one in script.asked[-1] if isinstance(one["content"], list) for part in one["content"]]
    (image,) = [part for part in parts if part["type"] == "image_url"]
    assert image["image_url"]["url"] == f"data:image/png;base64,{PNG}"
    assert "please go" not in json.dumps(script.asked[-1])
    assert first in {one["id"] for one in (await journey.command("list_chats"))["chats"]}
    count = len(journey.events)
    await journey.command("load_chat", chat=first)
    shown = [event.data["text"] for event in journey.events[count:] if event.kind == "agent.asked"]
    assert "please go" in shown
    await journey.turn("and now?")
    assert "please go" in json.dumps(script.asked[-1])
    described = await journey.command("describe")
    assert {one["id"]: one["value"] for one in described["options"]}["mode"] == "plan"  # what was chosen holds
