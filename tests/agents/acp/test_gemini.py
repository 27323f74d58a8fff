"""A real Gemini CLI by ACP, offline against a scripted model: reads, and writes of files that are not there yet.

A mode, a picture, and a process that is started again.
"""

import json
from typing import Any

import pytest
from tests.kit import own_models
from tests.kit.model import Answer, Request, Tool
from tests.kit.npm_agents import gemini
from tests.kit.real_agents import PICTURE, PNG, Journey, on_stage

from fourhands.agents.acp.catalogue import recipes


class Script:
    """Edits a file, writes a new one, calls a tool of ours; keeps what came of each."""

    def __init__(self) -> None:
        self.root = ""
        self.results: dict[str, str] = {}
        self.tools: set[str] = set()
        self.asked: list[Any] = []

    def __call__(self, request: Request) -> Answer:
        self.asked.append(request.body["contents"])
        parts = request.body["contents"][-1]["parts"]
        self.tools |= {one["name"] for tool in request.body.get("tools", ()) for one in tool["functionDeclarations"]}
        for part in parts:
            if "functionResponse" in part:
                self.results[part["functionResponse"]["name"]] = json.dumps(part["functionResponse"]["response"])
        steps = [
            Tool(
                "replace",
                {"file_path": f"{self.root}/notes.txt", "instruction": "i", "old_string": "one", "new_string": "two"},
            ),
            Tool("write_file", {"file_path": f"{self.root}/new/made.txt", "content": "made by gemini\n"}),
            Tool("mcp_fourhands_read", {"path": "new/made.txt"}),
            Tool("mcp_fourhands_bash", {"command": "rm -rf gone"}),
        ]
        left = [step for step in steps if step.name not in self.results]
        return (
            Answer("Now. ", tools=left[:1])
            if left
            else Answer('All done. %%OS{"cmd":"openspace.pane.list","args":{}}%%')
        )


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("provider", ["local", "bubblewrap", "landlock"])
async def test_a_real_gemini_reads_edits_and_writes_a_new_file(provider: str) -> None:
    program, script = gemini(), Script()
    async with on_stage(
        recipes()["gemini"], [program, "--acp"], script, own_models.gemini, provider=provider
    ) as journey:
        script.root = str(journey.root)
        assert journey.bench.describe_session(journey.session).rung == {"local": "none"}.get(provider, provider)
        (journey.root / "notes.txt").write_text("one\n")
        await journey.turn("please go")
        assert (journey.root / "notes.txt").read_text() == "two\n"
        done = {(one.call.command, one.call.origin) for one in await journey.app.journal.query()}
        assert {("openspace.file.read", "acp"), ("openspace.file.write", "acp")} <= done
        assert "Error" not in script.results["write_file"]
        assert (journey.root / "new" / "made.txt").read_text() == "made by gemini\n"
        assert any("new/made.txt" in str(shown) for shown in journey.asked())
        # By our own MCP server, in the same session.
        assert "mcp_fourhands_terminal_start" in script.tools
        assert "made by gemini" in script.results["mcp_fourhands_read"]
        calls = [one.call for one in await journey.app.journal.query() if one.call.origin == "mcp"]
        assert {call.command for call in calls} == {"openspace.tool.read", "openspace.tool.bash"}
        assert {call.session for call in calls} == {journey.session.id}
        # Asked about once, though Gemini asks before the gate does.
        assert journey.asked().count("rm -rf gone") == 1
        assert "%%" not in journey.said
        assert "All done." in journey.said
        diffs = [block for data in journey.of("agent.step") for block in data.get("content", ())]
        assert any(block.get("type") == "diff" and block["newText"] == "made by gemini\n" for block in diffs)
        if provider == "bubblewrap":
            await _starts_again(journey, script)


async def _starts_again(journey: Journey, script: Script) -> None:
    """A mode that holds, a picture, and no attempt to load what it would write over."""
    await journey.command("set_mode", mode="autoEdit")
    chat = journey.agent.acp.id
    (kept,) = [path for path in journey.root.parent.rglob("session-*.jsonl") if "please go" in path.read_text()]
    before = kept.read_text()
    await journey.agent.runtime.stop()
    await journey.turn("what is this?", PICTURE)
    assert journey.agent.acp.id != chat
    assert kept.read_text() == before
    assert (await journey.command("describe"))["mode"] == "autoEdit"
    parts = [part for content in script.asked[-1] for part in content["parts"]]
    assert [part["inlineData"] for part in parts if "inlineData" in part] == [{"mimeType": "image/png", "data": PNG}]
