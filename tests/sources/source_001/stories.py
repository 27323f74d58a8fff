"""Source 001, its user stories: what an agent writes into its answer, and what the person then sees."""

from tests.sources.contract import Document
from tests.sources.doors import Doors, like
from tests.sources.source_001.looks import SOURCE, editor, highlights, panes

PART = Document(
    "001",
    "User stories",
    ids=(
        *("US-3.1", "US AC-3.1.1", "US AC-3.1.2", "US AC-3.1.3", "US AC-3.1.4"),
        *("US-3.2", "US AC-3.2.1", "US AC-3.2.2", "US AC-3.2.3", "US AC-3.2.4"),
        *("US-3.3", "US AC-3.3.1", "US AC-3.3.2", "US AC-3.3.3", "US AC-3.3.4", "US AC-3.3.5"),
        *("US-3.4", "US AC-3.4.1", "US AC-3.4.2", "US AC-3.4.3", "US AC-3.4.4"),
        *("US-3.5", "US AC-3.5.1", "US AC-3.5.2", "US AC-3.5.3", "US AC-3.5.4"),
        *("US-3.6", "US AC-3.6.1", "US AC-3.6.2", "US AC-3.6.3", "US AC-3.6.4"),
    ),
)

OPEN = '%%OS{"cmd":"openspace.editor.open","args":{"path":"src/index.ts","line":42}}%%'
OPEN_MISSING = '%%OS{"cmd":"openspace.editor.open","args":{"path":"missing.ts"}}%%'
HIGHLIGHT = (
    '%%OS{"cmd":"openspace.editor.highlight","args":{"path":"src/index.ts",'
    '"ranges":[{"startLine":42,"endLine":50}],"highlightId":"fix-1"}}%%'
)
CREATE = '%%OS{"cmd":"openspace.terminal.create","args":{"title":"test-runner"}}%%'
SEND = '%%OS{"cmd":"openspace.terminal.send","args":{"terminalId":"test-runner","text":"npm test\\n"}}%%'
SPLIT = (
    '%%OS{"cmd":"openspace.pane.open","args":{"type":"editor","contentId":"src/auth.ts","splitDirection":"vertical"}}%%'
)
LIST = '%%OS{"cmd":"openspace.pane.list","args":{}}%%'
CREATE_DECK = (
    '%%OS{"cmd":"openspace.presentation.create","args":{"deckPath":"arch.deck.md","title":"Architecture Overview"}}%%'
)
OPEN_DECK = '%%OS{"cmd":"openspace.presentation.open","args":{"deckPath":"arch.deck.md"}}%%'


@PART.works("US-3.1, US AC-3.1.1, US AC-3.1.3", OPEN, "Block: the file is open in an editor that shows line 42.")
async def open_at_a_line(doors: Doors) -> None:
    doors.write("src/index.ts", SOURCE)
    said = await doors.says(f"Look here. {OPEN}")
    assert [one.success for one in said.results] == [True]
    like(await editor(doors, "src/index.ts"), {"path": "src/index.ts", "line": 42})


@PART.works("US AC-3.1.2, NFR-3.5.1", f"It is here: {OPEN} You see?", "Chat: the person reads `It is here:  You see?`.")
async def clean_text(doors: Doors) -> None:
    doors.write("src/index.ts", SOURCE)
    assert (await doors.says(f"It is here: {OPEN} You see?")).visible == "It is here:  You see?"


@PART.works(
    "US AC-3.1.4",
    OPEN_MISSING,
    "Block: nothing opens, the text goes on, and the agent's next message has the failure with its reason.",
)
async def open_what_is_not_there(doors: Doors) -> None:
    said = await doors.says(f"Now {OPEN_MISSING} done.")
    assert said.visible == "Now  done."
    assert [one.success for one in said.results] == [False]
    assert "openspace.editor.open" in said.told
    assert "missing.ts" in said.told
    assert "FAILED" in said.told


@PART.works(
    "US-3.2, US AC-3.2.1, US AC-3.2.2",
    HIGHLIGHT,
    "Block: lines 42 to 50 of the file are marked under this id, in the agent's own colour.",
)
async def highlight(doors: Doors) -> None:
    doors.write("src/index.ts", SOURCE)
    said = await doors.says(HIGHLIGHT)
    assert [one.data for one in said.results] == [{"highlightId": "fix-1"}]
    marked = (await highlights(doors))["fix-1"]
    like(marked, {"path": "src/index.ts", "owner": said.session})
    like(marked["ranges"], [{"startLine": 42, "endLine": 50}])


@PART.works(
    "US AC-3.2.3",
    "Escape",
    "Page: a mark outlives the agent's turns; it goes by openspace.editor.clear_highlight or by the Escape key, which "
    "calls openspace.editor.escape.",
)
async def highlights_stay_until_escape(doors: Doors) -> None:
    doors.write("src/index.ts", SOURCE)
    await doors.says(HIGHLIGHT)
    await doors.says("Some more talk.")
    assert "fix-1" in await highlights(doors)
    await doors.person("openspace.editor.escape")
    assert await highlights(doors) == {}
    await doors.says(HIGHLIGHT)
    await doors.person("openspace.editor.clear_highlight", {"highlightId": "fix-1"})
    assert await highlights(doors) == {}


@PART.works(
    "US AC-3.2.4", '"highlightId":"fix-1" … "highlightId":"fix-2"', "Block: both marks are there, each by its id."
)
async def two_highlights(doors: Doors) -> None:
    doors.write("src/index.ts", SOURCE)
    await doors.says(HIGHLIGHT + HIGHLIGHT.replace("fix-1", "fix-2"))
    assert {"fix-1", "fix-2"} <= set(await highlights(doors))
    await doors.person("openspace.editor.clear_highlight", {"highlightId": "fix-1"})
    assert "fix-2" in await highlights(doors)


@PART.works(
    "US-3.3, US AC-3.3.1, US AC-3.3.2",
    CREATE,
    "Block: a terminal of this title is open in a pane below the editors.",
)
async def create_a_terminal(doors: Doors) -> None:
    doors.write("src/index.ts", SOURCE)
    await doors.person("openspace.editor.open", {"path": "src/index.ts"})
    said = await doors.says(CREATE)
    assert [one.success for one in said.results] == [True]
    shown = {one["type"]: one for one in await panes(doors)}
    assert shown["terminal"]["title"] == "test-runner"
    assert shown["terminal"]["geometry"]["y"] > shown["editor"]["geometry"]["y"]


@PART.works(
    "US AC-3.3.3, US AC-3.3.4, US AC-3.3.5",
    SEND,
    "Block: the title stands for the id, also in the answer that created it and when an earlier terminal has the same "
    "title. The program runs once the person has agreed, and openspace.terminal.read_output reads what it printed.",
)
async def run_a_command(doors: Doors) -> None:
    doors.write("package.json", '{"scripts": {"test": "echo all is $((6 * 7))"}}')
    wait = '%%OS{"cmd":"openspace.terminal.wait","args":{"terminalId":"test-runner","pattern":"all is 42"}}%%'
    read = '%%OS{"cmd":"openspace.terminal.read_output","args":{"terminalId":"test-runner"}}%%'
    said = await doors.says(CREATE, SEND, wait, read)
    assert [one.success for one in said.results] == [True] * 4
    assert "all is 42" in said.data(3)["output"]
    assert "all is 42" in said.told


@PART.to_come("US-3.4, US AC-3.4.1", CREATE_DECK, until_then="The block fails: there is no such command yet.")
async def create_a_deck(doors: Doors) -> None:
    assert [one.success for one in (await doors.says(CREATE_DECK)).results] == [True]


@PART.to_come("US AC-3.4.2", "arch.deck.md", until_then="No file is created.")
async def a_deck_is_a_file(doors: Doors) -> None:
    await doors.says(CREATE_DECK)
    assert "Architecture Overview" in (await doors.person("openspace.file.read", {"path": "arch.deck.md"}))["content"]


@PART.to_come("US AC-3.4.3", OPEN_DECK, until_then="The block fails: there is no such command yet.")
async def open_a_deck(doors: Doors) -> None:
    doors.write("arch.deck.md", "# Architecture Overview\n")
    assert [one.success for one in (await doors.says(OPEN_DECK)).results] == [True]


@PART.to_come(
    "US AC-3.4.4",
    'openspace.pane.open {"type":"presentation","contentId":"arch.deck.md"}',
    until_then="Refused: presentation panes come later; editor and terminal open now.",
)
async def show_a_deck(doors: Doors) -> None:
    doors.write("arch.deck.md", "# Architecture Overview\n")
    await doors.agent("openspace.pane.open", {"type": "presentation", "contentId": "arch.deck.md"})


@PART.works(
    "US-3.5, US AC-3.5.1, US AC-3.5.2",
    SPLIT,
    "Block: a new pane to the right shows the file, also when it was open as a tab before.",
)
async def split(doors: Doors) -> None:
    doors.write("src/index.ts", SOURCE)
    doors.write("src/auth.ts", SOURCE)
    await doors.person("openspace.editor.open", {"path": "src/index.ts"})
    for _ in range(2):
        said = await doors.says(SPLIT)
        assert [one.success for one in said.results] == [True]
        shown = {tab["content"]: one["geometry"] for one in await panes(doors) for tab in one["tabs"]}
        assert shown["src/auth.ts"]["x"] == shown["src/index.ts"]["x"] + shown["src/index.ts"]["width"]
        assert shown["src/auth.ts"]["y"] == shown["src/index.ts"]["y"]
        await doors.person("openspace.editor.close", {"path": "src/auth.ts"})
        await doors.person("openspace.pane.open", {"type": "editor", "contentId": "src/auth.ts"})


@PART.works(
    "US AC-3.5.3, US AC-3.5.4",
    LIST,
    "Block: the agent's next message has every pane with its id and its place in percent.",
)
async def list_panes(doors: Doors) -> None:
    doors.write("src/index.ts", SOURCE)
    await doors.person("openspace.editor.open", {"path": "src/index.ts"})
    said = await doors.says(LIST)
    like([*said.data()["panes"]], [{"id": str, "geometry": {"x": float, "y": float, "width": float, "height": float}}])
    assert (await panes(doors))[0]["id"] in said.told


@PART.works(
    "US-3.6, US AC-3.6.1, US AC-3.6.2, US AC-3.6.4",
    OPEN_MISSING,
    "Block: it fails, and the agent gets the reason in its next turn by itself, so that it can say so or try again.",
)
async def fail_and_be_told(doors: Doors) -> None:
    said = await doors.says(OPEN_MISSING)
    assert [one.success for one in said.results] == [False]
    assert said.results[0].error
    assert said.results[0].error.split(" (")[0] in said.told


@PART.differs(
    "US AC-3.6.3",
    "Recent: openspace.editor.open → FAILED: file not found",
    because="Two forms are in the document; the one of FR-3.11.4, under a heading and with the time, was taken. The "
    "reason names the file.",
    answer="`## Recent Command Results` and `- openspace.editor.open → FAILED: no file or directory 'missing.ts' … "
    "(5ms)` in GET /openspace/instructions?sessionId=….",
)
async def a_failure_is_in_the_instructions(doors: Doors) -> None:
    said = await doors.says(OPEN_MISSING)
    text = await doors.get(f"/openspace/instructions?sessionId={said.session}")
    recent = text.split("## Recent Command Results")[1]
    assert "- openspace.editor.open → FAILED: " in recent
    assert "'missing.ts'" in recent
