"""Source 001, FR-3.7 to FR-3.11: manifest, instructions, the whole way of a block, state, results."""

import asyncio
import json
import os
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import msgspec
from tests.kit.model import Answer, Model
from tests.kit.program import MAIN
from tests.kit.server import until
from tests.sources.contract import Document
from tests.sources.doors import Doors, Result, like
from tests.sources.source_001.commands import TWENTY, counting_panes
from tests.sources.source_001.looks import editor, highlights, manifest, tidy
from tests.sources.source_001.stories import HIGHLIGHT, OPEN, OPEN_MISSING

PART = Document(
    "001",
    "Hub",
    ids=(
        *("FR-3.7.1", "FR-3.7.2", "FR-3.7.3", "FR-3.7.4", "FR-3.7.5", "FR-3.7 format"),
        *("AC-3.7.1", "AC-3.7.2", "AC-3.7.3", "AC-3.7.4"),
        *("FR-3.8.1", "FR-3.8.2", "FR-3.8.3", "FR-3.8.4", "FR-3.8.5"),
        *("AC-3.8.1", "AC-3.8.2", "AC-3.8.3", "AC-3.8.4", "AC-3.8.5"),
        *("FR-3.9.1", "FR-3.9.2", "FR-3.9.3", "AC-3.9.1", "AC-3.9.2", "AC-3.9.3", "AC-3.9.4", "AC-3.9.5"),
        *("FR-3.10.1", "FR-3.10.2", "FR-3.10.3", "FR-3.10.4", "AC-3.10.1", "AC-3.10.2", "AC-3.10.3", "AC-3.10.4"),
        *("FR-3.11.1", "FR-3.11.2", "FR-3.11.3", "FR-3.11.4", "FR-3.11.5"),
        *("AC-3.11.1", "AC-3.11.2", "AC-3.11.3", "AC-3.11.4", "AC-3.11.5"),
    ),
)

ROOT = Path(__file__).parents[3]

ANNOUNCED: Result = {
    "version": "1.0.0",
    "commands": [
        {
            "id": "openspace.greeting.say",
            "name": "Say a greeting",
            "description": "Greet somebody.",
            "category": "greeting",
            "arguments_schema": {"type": "object", "properties": {"whom": {"type": "string"}}, "required": ["whom"]},
            "handler": "GreetingContribution",
        },
        {"id": "openspace.greeting.wave", "name": "Wave", "description": "Wave a hand."},
    ],
    "lastUpdated": "2026-02-17T10:00:00.000Z",
}


def posted(command: str, session: str = "theirs", **result: object) -> Result:
    """A result as the document has it."""
    return {
        "sessionId": session,
        "commandId": command,
        "result": result,
        "timestamp": "2026-02-17T10:00:00.000Z",
    }


async def instructions(doors: Doors, session: str = "") -> str:
    """What a model is told."""
    return await doors.get("/openspace/instructions" + (f"?sessionId={session}" if session else ""))


def section(text: str, heading: str) -> str:
    """One part of the instructions."""
    return text.split(f"## {heading}\n")[1].split("\n## ")[0]


# -- the manifest ------------------------------------------------------------------------------------------------------


@PART.works(
    "FR-3.7.1, AC-3.7.1, AC-3.7.3",
    "id.startsWith('openspace.')",
    "GET /openspace/manifest: every command of the registry, the twenty among them, each with its argument schema.",
)
async def every_command(doors: Doors) -> None:
    known = {one["id"]: one for one in (await manifest(doors))["commands"]}
    assert set(TWENTY) <= set(known)
    assert {command.id for command in doors.app.registry} == set(known)
    assert all(id.startswith("openspace.") for id in known)
    assert all(one["arguments_schema"]["type"] == "object" for one in known.values())


@PART.works(
    "FR-3.7.2, FR-3.7.3, FR-3.7 format",
    "{ version, commands: [{ id, name, label, description, category?, arguments_schema?, handler? }], lastUpdated }",
    "GET /openspace/manifest: these members, arguments_schema in snake case, lastUpdated in ISO 8601; name and label "
    "are the same text.",
)
async def manifest_format(doors: Doors) -> None:
    read = await manifest(doors)
    entry = {"id": str, "name": str, "label": str, "description": str, "category": str, "handler": str}
    like(read, {"version": str, "commands": [entry], "lastUpdated": str})
    assert datetime.fromisoformat(read["lastUpdated"]).tzinfo is not None
    assert all(one["name"] == one["label"] for one in read["commands"])


@PART.works(
    "FR-3.7.4",
    "POST /openspace/manifest",
    "HTTP: `{success: true}`. The commands are in the manifest, with all that the page needs filled in, in the palette "
    "and in the instructions; a command of ours is not replaced.",
)
async def announce(doors: Doors) -> None:
    ours = {"id": "openspace.pane.list", "name": "Another", "description": "Not ours."}
    body = {**ANNOUNCED, "commands": [*ANNOUNCED["commands"], ours]}
    like(await doors.post("/openspace/manifest", body), {"success": True})
    known = {one["id"]: one for one in (await manifest(doors))["commands"]}
    for given in ANNOUNCED["commands"]:
        like(known[given["id"]], {**given, "label": given["name"], "actors": list, "arguments_schema": dict})
        assert "person" in known[given["id"]]["actors"]
        assert given["id"] in await instructions(doors)
    assert known["openspace.pane.list"]["label"] == "List panes"


@PART.works(
    "FR-3.7.4",
    "an announced command is called; POST /openspace/command-results answers",
    "Block, HTTP or palette: the call is told as `command.requested` on `/ws` and waits; the result that is posted for "
    "its session and command, as FR-3.11.2 has it, is its answer.",
)
async def call_what_was_announced(doors: Doors) -> None:
    await doors.post("/openspace/manifest", ANNOUNCED)
    async with doors.served.caller() as outside:
        calling = asyncio.gather(doors.agent("openspace.greeting.say", {"whom": "Ada"}))
        asked = (await outside.event("command.requested"))["data"]
        like(asked, {"commandId": "openspace.greeting.say", "args": {"whom": "Ada"}})
        answer = posted("openspace.greeting.say", asked["sessionId"], success=True, output="Hello Ada", executionTime=7)
        await doors.post("/openspace/command-results", answer)
        [answered] = await calling
        like(answered, {"success": True, "output": "Hello Ada"})
    refused = await doors.refusal("openspace.greeting.say", {})
    assert "whom" in refused["error"]


@PART.works(
    "FR-3.7.5, FR-3.8.5, AC-3.7.2, AC-3.8.4, R-3.7, Success 4, Exit 5",
    "a new extension loads",
    "One function in a Contribution: `manifest.changed` is told, and manifest, HTTP and instructions have it at once, "
    "with no restart; they lose it when it goes.",
)
async def extension(doors: Doors) -> None:
    before = (await manifest(doors))["version"]
    with doors.hearing("manifest.changed") as heard:
        dispose = doors.app.registry.include(counting_panes())
    try:
        assert heard
        assert (await manifest(doors))["version"] != before
        assert "openspace.demo.count_panes" in await instructions(doors)
        like(await doors.agent("openspace.demo.count_panes", {}), {"success": True, "count": int})
    finally:
        dispose()
    assert "openspace.demo.count_panes" not in await instructions(doors)


@PART.to_come(
    "AC-3.7.4",
    "openspace.presentation.*, openspace.whiteboard.*",
    until_then="The manifest has no such command of ours.",
)
async def later_commands(doors: Doors) -> None:
    known = [one["id"] for one in (await manifest(doors))["commands"]]
    for noun in ("presentation", "whiteboard"):
        assert f"openspace.{noun}.create" in known


# -- the instructions --------------------------------------------------------------------------------------------------


@PART.differs(
    "FR-3.8.1",
    "# System Instructions: Theia OpenSpace IDE Control",
    because="The product has another name.",
    answer="`# System Instructions: Fourhands workbench`, what blocks are and that the person does not see them; the "
    "other headings are as in the document.",
)
async def headings(doors: Doors) -> None:
    text = await instructions(doors)
    assert text.startswith("# System Instructions: Fourhands workbench\n")
    found = [line for line in text.splitlines() if line.startswith("## ")]
    assert found[:3] == ["## Available Commands", "## Current IDE State", "## Examples"]
    assert "%%OS{" in text.split("## Available Commands")[0]
    assert "does not\nsee the blocks" in text


@PART.works(
    "AC-3.8.1",
    "GET /openspace/instructions",
    "HTTP: text/markdown, for the token's session or `?sessionId=`. Reading changes nothing.",
)
async def read_instructions(doors: Doors) -> None:
    async with doors.served.client(verify=False) as client:
        answer = await client.get("/openspace/instructions")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/markdown")
    assert await instructions(doors) == answer.text


@PART.works(
    "FR-3.8.2, AC-3.8.2, Success 3, Exit 4",
    "command ID, description, argument schema (human-readable), example usage",
    "Instructions: every command that an agent may use, with each argument in words and a block as an example. When "
    "there are too many for the budget, those used least have one line with their arguments; openspace.agent.help has "
    "the rest.",
)
async def inventory(doors: Doors) -> None:
    listed = section(await instructions(doors), "Available Commands")
    for command in doors.app.registry:
        if "agent" in command.actors:
            assert command.id in listed, command.id
    explained = (await doors.agent("openspace.agent.help", {"command": "openspace.editor.highlight"}))["text"]
    assert "#### openspace.editor.highlight" in explained
    assert "- path (text, required): Path of a file in the workspace." in explained
    assert "Example: %%OS{" in explained
    assert listed.count("\n#### openspace.") > 20


@PART.works(
    "FR-3.8.3, AC-3.8.3",
    "open editors, active file, chat status, terminals, active pane",
    "Instructions: under `## Current IDE State`, in these words: Open editors, Panes, Terminals, Chat.",
)
async def current_state(doors: Doors) -> None:
    await tidy(doors)
    said = await doors.says(OPEN)
    await doors.person("openspace.terminal.create", {"title": "builds"})
    await doors.person("openspace.pane.focus", {"paneId": "src/index.ts"})
    state = section(await instructions(doors, said.session), "Current IDE State")
    assert "Open editors:\n- src/index.ts, line 42, active" in state
    assert "editor src/index.ts (active pane" in state
    assert "Terminals:\n- builds:" in state
    assert "Chat: idle" in state


@PART.works(
    "FR-3.8.4",
    "opening a file at a line; creating a terminal and running a command",
    "Instructions: both are worked examples under `## Examples`, as blocks that could be copied.",
)
async def examples(doors: Doors) -> None:
    text = section(await instructions(doors), "Examples")
    assert '%%OS{"cmd":"openspace.editor.open","args":{"path":"src/auth.ts","line":42}}%%' in text
    assert '%%OS{"cmd":"openspace.terminal.create","args":{"title":"test-runner"}}%%' in text
    assert '"text":"npm test\\n"' in text


@PART.to_come(
    "FR-3.8.4",
    "creating a presentation and navigating slides",
    until_then="The third example is a search; there are no presentations.",
)
async def deck_example(doors: Doors) -> None:
    assert '"cmd":"openspace.presentation.' in section(await instructions(doors), "Examples")


@PART.works(
    "AC-3.8.5, NFR-3.5.3",
    "tested with an LLM",
    "`fourhands instructions --try ENDPOINT#MODEL`, with a model and a key of your own: twenty small tasks with these "
    "instructions before them, how many of its answers had the right blocks, and a report in a file. Here a scripted "
    "model that knows one block gets the task right that wants this one.",
)
async def tried_with_a_model(doors: Doors) -> None:
    report = doors.root / "try.json"
    async with Model(default=Answer('%%OS{"cmd":"openspace.pane.list","args":{}}%%')) as model:
        program = await asyncio.create_subprocess_exec(
            *(*MAIN, "instructions", "--try", f"{model.url}/v1#fake", "--output", str(report), "--json"),
            env={**os.environ, **doors.served.env, "FOURHANDS_MODEL_KEY": "none"},
            stdout=asyncio.subprocess.PIPE,
        )
        await program.communicate()
    assert len(model.requests) >= 20
    assert all(request.says("## Available Commands") for request in model.requests)
    told = json.loads(report.read_text())
    like(told, {"model": "fake", "total": 20, "right": int, "tasks": list})
    assert 1 <= told["right"] < 20


# -- the whole way -----------------------------------------------------------------------------------------------------


@PART.works(
    "FR-3.9.1, AC-3.9.1, AC-3.9.3, TC-3.1.1, Success 7, Exit 8",
    "onAgentCommand → SyncService → CommandRegistry",
    "A model's stream, then the same registry and the same checks as a person's call: `call.started` and "
    "`call.finished` tell of it with origin `block` and the agent's session, and the editor is open.",
)
async def whole_way(doors: Doors) -> None:
    await tidy(doors)
    with doors.hearing("call.started", "call.finished") as heard:
        said = await doors.says(f"Look: {OPEN}")
    mine = [event for event in heard if event.data["session"] == said.session]
    assert [(event.kind, event.data["command"], event.data["origin"]) for event in mine] == [
        ("call.started", "openspace.editor.open", "block"),
        ("call.finished", "openspace.editor.open", "block"),
    ]
    like(await editor(doors, "src/index.ts"), {"line": 42})


@PART.works(
    "FR-3.9.2, AC-3.9.4",
    "open at line 42, highlight 42-50, create a terminal, send, read",
    "One answer of a model with all of them as blocks: each is done, in order.",
)
async def scenarios(doors: Doors) -> None:
    await tidy(doors)
    blocks = [
        '%%OS{"cmd":"openspace.terminal.create","args":{"title":"scenario"}}%%',
        '%%OS{"cmd":"openspace.terminal.send","args":{"terminalId":"scenario","text":"echo hello\\n"}}%%',
        '%%OS{"cmd":"openspace.terminal.wait","args":{"terminalId":"scenario","finished":true}}%%',
        '%%OS{"cmd":"openspace.terminal.read_output","args":{"terminalId":"scenario"}}%%',
    ]
    said = await doors.says(OPEN, HIGHLIGHT, *blocks)
    assert [one.success for one in said.results] == [True] * 6
    like(await editor(doors, "src/index.ts"), {"line": 42})
    assert "fix-1" in await highlights(doors)
    assert "hello" in said.data(5)["output"]


@PART.to_come(
    "FR-3.9.2", "create presentation", until_then="The block fails: there is no openspace.presentation.create."
)
async def create_presentation(doors: Doors) -> None:
    block = '%%OS{"cmd":"openspace.presentation.create","args":{"deckPath":"e2e.deck.md","title":"E2E"}}%%'
    assert [one.success for one in (await doors.says(block)).results] == [True]


@PART.to_come(
    "FR-3.9.2",
    "navigate presentation slides",
    until_then="The block fails: there is no openspace.presentation.navigate.",
)
async def navigate_presentation(doors: Doors) -> None:
    block = '%%OS{"cmd":"openspace.presentation.navigate","args":{"deckPath":"e2e.deck.md","slide":2}}%%'
    assert [one.success for one in (await doors.says(block)).results] == [True]


@PART.works(
    "FR-3.9.3, AC-3.9.2",
    "clean text, state changed, results logged",
    "Chat, openspace.editor.list, and the journal, which has the call with its result and whose it was.",
)
async def verification(doors: Doors) -> None:
    await tidy(doors)
    said = await doors.says(f"See {OPEN} there.")
    assert said.visible == "See  there."
    like(await editor(doors, "src/index.ts"), {"line": 42})
    [entry] = [
        one
        for one in await doors.app.bench.journal.query(command="openspace.editor.open", limit=10)
        if one.call.session == said.session
    ]
    assert entry.result is not None
    assert entry.result.success


@PART.works(
    "AC-3.9.5",
    "automated, runs in CI",
    "`.ci/run` is `make test`, which runs this file and, in a real browser, `tests/journeys`, where an agent's blocks "
    "move the page.",
)
async def in_ci(doors: Doors) -> None:
    assert "make test" in (ROOT / ".ci/run").read_text()
    makefile = (ROOT / "Makefile").read_text()
    assert "-m 'not soak and not browser'" in makefile
    assert "-m browser" in makefile
    assert any("openspace.editor.open" in path.read_text() for path in (ROOT / "tests/journeys").glob("test_*.py"))


# -- state -------------------------------------------------------------------------------------------------------------


@PART.works(
    "FR-3.10.1",
    "PaneStateSnapshot { panes: PaneInfo[], activePane?: string, timestamp: string }",
    "WebSocket `/ws`: `workbench.published` has these members after a change; timestamp in ISO 8601.",
)
async def snapshot(doors: Doors) -> None:
    await tidy(doors)
    with doors.hearing("workbench.published") as heard:
        await doors.agent("openspace.editor.open", {"path": "src/index.ts"})
        await until(lambda: heard and heard[-1].data["panes"])
    data = msgspec.to_builtins(heard[-1].data)
    like(data, {"panes": [{"id": str, "type": "editor", "geometry": dict}], "activePane": str, "timestamp": str})
    assert datetime.fromisoformat(data["timestamp"]).tzinfo is not None


@PART.works(
    "FR-3.10.2, FR-3.10.3",
    'POST /openspace/state {"panes":[…],"activePane":"p1","timestamp":"2026-02-17T10:00:00.000Z"}',
    "HTTP: `{success: true}`; the instructions name these panes beside our own. A timestamp in milliseconds is as "
    "good.",
)
async def post_state(doors: Doors) -> None:
    panes = [{"id": "p1", "type": "editor", "title": "outside.ts", "geometry": {"x": 0, "y": 0}}]
    for timestamp in ("2026-02-17T10:00:00.000Z", 1771322400000):
        body = {"panes": panes, "activePane": "p1", "timestamp": timestamp}
        like(await doors.post("/openspace/state", body), {"success": True})
    assert "- editor outside.ts (active)" in await instructions(doors)
    await doors.post("/openspace/state", {"panes": [], "timestamp": "2026-02-17T10:00:01.000Z"})
    assert "outside.ts" not in await instructions(doors)


@PART.works(
    "FR-3.10.4, AC-3.10.4",
    "max 1 per second",
    "WebSocket `/ws`: ten changes at once are two `workbench.published`, one at once and one a second later with the "
    "last state.",
)
async def throttled(doors: Doors) -> None:
    await tidy(doors)
    with doors.hearing("workbench.published") as heard:
        for number in range(10):
            await doors.person("openspace.editor.open", {"path": "src/index.ts", "line": number + 1})
        await doors.person("openspace.editor.open", {"path": "src/auth.ts"})
        await until(lambda: heard and "src/auth.ts" in str(heard[-1].data))
    times = [event.time for event in heard]
    assert all(later - earlier > 0.9 for earlier, later in pairwise(times))


@PART.works(
    "AC-3.10.1, AC-3.10.2, Success 5, Exit 6",
    "open a file, close it",
    "Instructions: the file is under `## Current IDE State` at once, and gone at once.",
)
async def state_follows_files(doors: Doors) -> None:
    await tidy(doors)
    await doors.person("openspace.editor.open", {"path": "src/auth.ts"})
    assert "- src/auth.ts, line 1" in section(await instructions(doors), "Current IDE State")
    await doors.person("openspace.editor.close", {"path": "src/auth.ts"})
    assert "src/auth.ts" not in section(await instructions(doors), "Current IDE State")


@PART.works("AC-3.10.3", "create terminal", "Instructions: it is under `Terminals:` by its title, with what it does.")
async def state_follows_terminals(doors: Doors) -> None:
    await tidy(doors)
    await doors.person("openspace.terminal.create", {"title": "fresh"})
    assert "Terminals:\n- fresh:" in section(await instructions(doors), "Current IDE State")


# -- results -----------------------------------------------------------------------------------------------------------


@PART.works(
    "FR-3.11.1, AC-3.11.1",
    "CommandResult { success, output?, error?, data?, executionTime? }",
    "Every block of an agent leaves one with its session; executionTime is in milliseconds, of the command alone.",
)
async def captured(doors: Doors) -> None:
    await tidy(doors)
    said = await doors.says(OPEN + OPEN_MISSING)
    done, failed = [msgspec.to_builtins(one) for one in said.results]
    like(done, {"commandId": "openspace.editor.open", "success": True, "data": dict, "executionTime": float})
    like(failed, {"commandId": "openspace.editor.open", "success": False, "error": str, "executionTime": float})


@PART.works(
    "FR-3.11.2, FR-3.11.4, AC-3.11.2",
    "POST /openspace/command-results { sessionId, commandId, result, timestamp }",
    "HTTP: `{success: true}`. The failure is in the next GET /openspace/instructions of that session, as "
    "`- openspace.editor.open → FAILED: file not found (5ms)` under `## Recent Command Results`. timestamp may be a "
    "text or milliseconds.",
)
async def post_results(doors: Doors) -> None:
    failed = posted("openspace.editor.open", "r1", success=False, error="file not found", executionTime=5)
    for body in (failed, {**failed, "timestamp": 1771322400000}):
        like(await doors.post("/openspace/command-results", body), {"success": True})
    recent = section(await instructions(doors, "r1"), "Recent Command Results")
    assert recent.count("- openspace.editor.open → FAILED: file not found (5ms)") == 2


@PART.works(
    "FR-3.11.5",
    "→ SUCCESS (42ms), → FAILED: file not found (5ms), → SUCCESS (12ms)",
    "Instructions: of the document's three only the failure is named; a success is when it took more than 500 ms.",
)
async def noise(doors: Doors) -> None:
    for command, result in (
        ("openspace.editor.open", {"success": True, "executionTime": 42}),
        ("openspace.editor.open", {"success": False, "error": "file not found", "executionTime": 5}),
        ("openspace.terminal.send", {"success": True, "executionTime": 12}),
        ("openspace.file.search", {"success": True, "executionTime": 501}),
    ):
        await doors.post("/openspace/command-results", posted(command, "r2", **result))
    recent = section(await instructions(doors, "r2"), "Recent Command Results")
    assert [line for line in recent.splitlines() if line.startswith("- ")] == [
        "- openspace.editor.open → FAILED: file not found (5ms)",
        "- openspace.file.search → SUCCESS (501ms)",
    ]


@PART.works(
    "FR-3.11.3, AC-3.11.4",
    "last 20 results per session",
    "Of 30 posted results the last 20 are kept; sessions do not see each other's.",
)
async def results_ring(doors: Doors) -> None:
    for number in range(30):
        failed = posted("openspace.file.read", "r3", success=False, error=f"reason {number}")
        await doors.post("/openspace/command-results", failed)
    recent = section(await instructions(doors, "r3"), "Recent Command Results")
    assert recent.count("→ FAILED") == 20
    assert "reason 10 " in recent
    assert "reason 9 " not in recent


@PART.works(
    "AC-3.11.3, AC-3.11.5, Success 6, Exit 7",
    "a failure, then a better try",
    "The failure reaches the model by itself, with a hint that lists what is there; its next answer opens a file that "
    "is.",
)
async def feedback(doors: Doors) -> None:
    await tidy(doors)
    wrong = OPEN.replace("src/index.ts", "src/idex.ts")
    said = await doors.says(wrong, then=[f"Sorry, that was a slip. {OPEN}"])
    assert [one.success for one in said.results] == [False, True]
    assert "index.ts" in said.told.split("\n\n")[1]
    assert said.visible == "Sorry, that was a slip. "
