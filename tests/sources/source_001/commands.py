"""Source 001, FR-3.1 to FR-3.5: the twenty commands, each with the arguments and results of its row."""

import os

from msgspec import Struct
from tests.kit.server import until
from tests.sources.contract import Document
from tests.sources.doors import Doors, like
from tests.sources.source_001.looks import (
    SOURCE,
    editor,
    geometry,
    highlights,
    manifest,
    panes,
    terminal,
    tidy,
    two_panes,
)

from fourhands.core.registry import Contribution
from fourhands.workbench.workbench import Workbench

PANE = ("open", "close", "focus", "list", "resize")
EDITOR = ("open", "scroll_to", "highlight", "clear_highlight", "read_file", "close")
TERMINAL = ("create", "send", "read_output", "list", "close")
FILE = ("read", "write", "list", "search")
GROUPS = {"pane": PANE, "editor": EDITOR, "terminal": TERMINAL, "file": FILE}
TWENTY = [f"openspace.{noun}.{verb}" for noun, verbs in GROUPS.items() for verb in verbs]

PART = Document(
    "001",
    "Commands",
    ids=(
        *("FR-3.1.1", "FR-3.1.2", "FR-3.1.3", "FR-3.1.4", "FR-3.1.5", "FR-3.1.6"),
        *("FR AC-3.1.1", "FR AC-3.1.2", "FR AC-3.1.3", "FR AC-3.1.4"),
        *(f"FR-3.2 {verb}" for verb in PANE),
        *("FR AC-3.2.1", "FR AC-3.2.2", "FR AC-3.2.3", "FR AC-3.2.4"),
        *(f"FR-3.3 {verb}" for verb in EDITOR),
        *("FR-3.3 Range", "FR AC-3.3.1", "FR AC-3.3.2", "FR AC-3.3.3", "FR AC-3.3.4", "FR AC-3.3.5"),
        *(f"FR-3.4 {verb}" for verb in TERMINAL),
        *("FR-3.4 ring", "FR AC-3.4.1", "FR AC-3.4.2", "FR AC-3.4.3", "FR AC-3.4.4"),
        *(f"FR-3.5 {verb}" for verb in FILE),
        *("SC-3.5.1", "SC-3.5.2", "SC-3.5.3", "FR AC-3.5.1", "FR AC-3.5.2", "FR AC-3.5.3", "FR AC-3.5.4"),
    ),
)


class Count(Struct, frozen=True):
    """What the command of a plugin answers."""

    count: int


def counting_panes() -> Contribution:
    """What a plugin brings: one function."""
    made = Contribution("openspace.demo")

    @made.add("count_panes", read_only=True)
    async def count_panes(bench: Workbench) -> Count:
        """Count the panes."""
        return Count(len(bench.state.panes()))

    return made


@PART.works(
    "FR-3.1.1, FR-3.2 open",
    'openspace.pane.open { type: "editor"|"terminal", contentId, splitDirection?: "horizontal"|"vertical" }',
    "HTTP: `{success, paneId}`. vertical puts the new pane to the right, horizontal below, none makes a tab. What is "
    "open already moves to the new pane, a terminal too.",
)
async def open_a_pane(doors: Doors) -> None:
    await tidy(doors)
    opened = await doors.agent("openspace.pane.open", {"type": "editor", "contentId": "src/index.ts"})
    like(opened, {"success": True, "paneId": str})
    below = {"type": "editor", "contentId": "src/auth.ts", "splitDirection": "horizontal"}
    like(await doors.agent("openspace.pane.open", below), {"success": True, "paneId": str})
    assert (await geometry(doors, "src/auth.ts"))["y"] == 50
    for title in ("one", "two"):
        await doors.agent("openspace.terminal.create", {"title": title})
    aside = {"type": "terminal", "contentId": "two", "splitDirection": "vertical"}
    like(await doors.agent("openspace.pane.open", aside), {"success": True, "paneId": str})
    placed = {one["title"]: one["geometry"] for one in await panes(doors) if one["type"] == "terminal"}
    assert placed["two"]["x"] == placed["one"]["x"] + placed["one"]["width"]
    assert placed["two"]["y"] == placed["one"]["y"]


@PART.to_come(
    "FR-3.1.1, FR-3.2 open",
    'openspace.pane.open { type: "presentation" }',
    until_then="Refused with `unsupported`: types that open now are editor and terminal.",
)
async def open_a_presentation(doors: Doors) -> None:
    doors.write("arch.deck.md", "# Architecture\n")
    await doors.person("openspace.pane.open", {"type": "presentation", "contentId": "arch.deck.md"})


@PART.to_come(
    "FR-3.1.1, FR-3.2 open",
    'openspace.pane.open { type: "whiteboard" }',
    until_then="Refused with `unsupported`: types that open now are editor and terminal.",
)
async def open_a_whiteboard(doors: Doors) -> None:
    doors.write("board.whiteboard.json", "{}")
    await doors.person("openspace.pane.open", {"type": "whiteboard", "contentId": "board.whiteboard.json"})


@PART.works(
    "FR-3.1.2, FR-3.2 close",
    "openspace.pane.close { paneId }",
    "HTTP: `{success}`; the pane is gone. A pane that does not exist is an error, `not-found`, that lists those that "
    "do.",
)
async def close_a_pane(doors: Doors) -> None:
    left, right = await two_panes(doors)
    like(await doors.agent("openspace.pane.close", {"paneId": right}), {"success": True})
    assert [one["id"] for one in await panes(doors)] == [left]
    refused = await doors.refusal("openspace.pane.close", {"paneId": right}, agent=True)
    assert refused["code"] == "not-found"
    assert left in refused["hint"]


@PART.works(
    "FR-3.1.3, FR-3.2 focus",
    "openspace.pane.focus { paneId }",
    "HTTP: `{success}`; it is the active pane. The keyboard follows unless the person typed in the last 5 seconds.",
)
async def focus_a_pane(doors: Doors) -> None:
    left, right = await two_panes(doors)
    for pane in (left, right):
        like(await doors.agent("openspace.pane.focus", {"paneId": pane}), {"success": True})
        assert (await doors.person("openspace.pane.list"))["activePane"] == pane


@PART.works(
    "FR-3.1.4, FR-3.2 list, FR AC-3.1.2, FR AC-3.2.2",
    "openspace.pane.list {}",
    "HTTP: `{panes}`, each with id, type, content, title, tabs, activeTab and geometry `{x, y, width, height}` in "
    "percent.",
)
async def list_the_panes(doors: Doors) -> None:
    left, right = await two_panes(doors)
    listed = await doors.agent("openspace.pane.list", {})
    tab = {"id": str, "type": "editor", "content": str, "title": str}
    like(listed["panes"], [{"id": str, "type": "editor", "content": str, "tabs": [tab], "activeTab": str}])
    places = {one["id"]: one["geometry"] for one in listed["panes"]}
    assert places == {
        left: {"x": 0, "y": 0, "width": 50, "height": 100},
        right: {"x": 50, "y": 0, "width": 50, "height": 100},
    }


@PART.works(
    "FR-3.1.5, FR-3.2 resize",
    "openspace.pane.resize { paneId, width?, height? }",
    "HTTP: `{success}`; width and height are percent of the workbench, the neighbours give way.",
)
async def resize_a_pane(doors: Doors) -> None:
    left, _ = await two_panes(doors)
    like(await doors.agent("openspace.pane.resize", {"paneId": left, "width": 30}), {"success": True})
    assert (await geometry(doors, "src/index.ts"))["width"] == 30
    assert (await geometry(doors, "src/auth.ts"))["width"] == 70
    await doors.agent("openspace.terminal.create", {"title": "below"})
    like(await doors.agent("openspace.pane.resize", {"paneId": "below", "height": 20}), {"success": True})
    assert next(one for one in await panes(doors) if one["type"] == "terminal")["geometry"]["height"] == 20


@PART.works(
    "FR-3.1.6, FR AC-3.1.3",
    "onPaneLayoutChanged: Event<PaneStateSnapshot>",
    "WebSocket `/ws`: opening, resizing, focusing and closing a pane are told one by one as they happen, and the whole "
    "of it as `workbench.published` with `{panes, activePane, timestamp}`.",
)
async def layout_events(doors: Doors) -> None:
    await tidy(doors)
    async with doors.served.caller() as socket:
        opened = await doors.agent("openspace.pane.open", {"type": "editor", "contentId": "src/index.ts"})
        await doors.agent(
            "openspace.pane.open", {"type": "editor", "contentId": "src/auth.ts", "splitDirection": "vertical"}
        )
        await doors.agent("openspace.pane.focus", {"paneId": opened["paneId"]})
        await doors.agent("openspace.pane.resize", {"paneId": opened["paneId"], "width": 40})
        await doors.agent("openspace.pane.close", {"paneId": opened["paneId"]})
        for kind in ("pane.focused", "pane.resized", "pane.closed"):
            assert (await socket.event(kind))["revision"] > 0
        published = await socket.event("workbench.published")
    like(published["data"], {"panes": list, "timestamp": str})


@PART.works(
    "FR AC-3.1.1",
    "all pane operations",
    "Each of the five pane commands has an item here that calls it and looks at the panes afterwards.",
)
async def pane_operations_are_played(doors: Doors) -> None:
    named = [item.says for item in PART.items if item.state == "works"]
    assert [verb for verb in PANE if not any(f"openspace.pane.{verb}" in says for says in named)] == []


@PART.differs(
    "FR AC-3.1.4, FR AC-3.2.4",
    "CommandContribution, Theia DI",
    because="There is no Theia. Commands are functions in a Contribution that a registry includes; panes and all else "
    "are given to each function as its first parameter.",
    answer="the same from a plugin: a Contribution of one function is in the manifest and callable at once, and lists "
    "the panes.",
)
async def contribution(doors: Doors) -> None:
    await two_panes(doors)
    dispose = doors.app.registry.include(counting_panes())
    try:
        like(await doors.agent("openspace.demo.count_panes", {}), {"success": True, "count": 2})
        assert "openspace.demo.count_panes" in await doors.get("/openspace/manifest")
    finally:
        dispose()


@PART.works(
    "FR AC-3.2.1, Success 1, Exit 1",
    "command palette",
    "The page's palette lists what GET /openspace/manifest has for the person: all twenty are there, with a label, and "
    "the same HTTP call that the palette makes runs them.",
)
async def palette(doors: Doors) -> None:
    known = {one["id"]: one for one in (await manifest(doors))["commands"]}
    for id in TWENTY:
        like(known[id], {"label": str, "description": str})
        assert "person" in known[id]["actors"]
    like(await doors.person("openspace.pane.list", {}), {"success": True, "panes": list})


@PART.works(
    "FR AC-3.2.3, NFR-3.4.3",
    "argument schemas",
    "Manifest: every command has `arguments_schema`, JSON Schema with the names, types and required arguments of its "
    "row.",
)
async def schemas(doors: Doors) -> None:
    known = {one["id"]: one["arguments_schema"] for one in (await manifest(doors))["commands"]}
    like(known["openspace.pane.resize"], {"type": "object", "required": ["paneId"]})
    assert {"paneId", "width", "height"} <= set(known["openspace.pane.resize"]["properties"])
    for id in TWENTY:
        assert known[id]["type"] == "object", id


@PART.works(
    "FR-3.3 open, FR AC-3.3.1",
    "openspace.editor.open { path, line?, column?, highlight? }",
    "HTTP: `{success, editorId}`; the editor shows line and column. With highlight the line is marked too.",
)
async def open_an_editor(doors: Doors) -> None:
    await tidy(doors)
    opened = await doors.agent(
        "openspace.editor.open", {"path": "src/index.ts", "line": 42, "column": 3, "highlight": True}
    )
    like(opened, {"success": True, "editorId": str})
    like(await editor(doors, "src/index.ts"), {"id": opened["editorId"], "line": 42, "column": 3})
    like((await highlights(doors))[opened["highlightId"]]["ranges"], [{"startLine": 42, "endLine": 42}])


@PART.works(
    "FR-3.3 scroll_to",
    "openspace.editor.scroll_to { path, line }",
    "HTTP: `{success}`; the line is in the middle of the editor.",
)
async def scroll_to(doors: Doors) -> None:
    await tidy(doors)
    await doors.agent("openspace.editor.open", {"path": "src/index.ts"})
    like(await doors.agent("openspace.editor.scroll_to", {"path": "src/index.ts", "line": 17}), {"success": True})
    assert (await editor(doors, "src/index.ts"))["line"] == 17


@PART.works(
    "FR-3.3 highlight, FR-3.3 Range, FR AC-3.3.2",
    "openspace.editor.highlight { path, ranges: [{ startLine, endLine, startColumn?, endColumn? }], highlightId?, "
    "color? }",
    'HTTP: `{success, highlightId}`; lines 42 to 50 are green with `color: "green"`. Without an id one is made up. A '
    "colour is a CSS name or a hex value, nothing else.",
)
async def highlight_ranges(doors: Doors) -> None:
    await tidy(doors)
    ranges = [{"startLine": 42, "endLine": 50}, {"startLine": 52, "endLine": 52, "startColumn": 3, "endColumn": 9}]
    args = {"path": "src/index.ts", "ranges": ranges, "highlightId": "h1", "color": "green"}
    like(await doors.agent("openspace.editor.highlight", args), {"success": True, "highlightId": "h1"})
    marked = (await highlights(doors))["h1"]
    assert marked["color"] == "green"
    like(marked["ranges"][0], ranges[0])
    like(marked["ranges"][1], ranges[1])
    made = await doors.agent("openspace.editor.highlight", {"path": "src/index.ts", "ranges": ranges[:1]})
    like(made, {"success": True, "highlightId": str})
    refused = await doors.refusal("openspace.editor.highlight", args | {"color": "url(x)"}, agent=True)
    assert refused["code"] == "bad-argument"


@PART.works(
    "FR-3.3 clear_highlight, FR AC-3.3.3",
    "openspace.editor.clear_highlight { highlightId }",
    "HTTP: `{success}`; this mark is gone, others stay.",
)
async def clear_a_highlight(doors: Doors) -> None:
    await tidy(doors)
    for id in ("keep", "clear"):
        args = {"path": "src/index.ts", "ranges": [{"startLine": 1, "endLine": 2}], "highlightId": id}
        await doors.agent("openspace.editor.highlight", args)
    like(await doors.agent("openspace.editor.clear_highlight", {"highlightId": "clear"}), {"success": True})
    left = await highlights(doors)
    assert "keep" in left
    assert "clear" not in left


@PART.works(
    "FR AC-3.3.4",
    "highlight ids",
    "openspace.editor.list has every highlight with its id and whose it is; when the agent's session ends, its own go.",
)
async def highlights_are_tracked(doors: Doors) -> None:
    await tidy(doors)
    block = (
        '%%OS{"cmd":"openspace.editor.highlight","args":{"path":"src/index.ts",'
        '"ranges":[{"startLine":1,"endLine":1}],"highlightId":"tracked"}}%%'
    )
    said = await doors.says(block)
    assert (await highlights(doors))["tracked"]["owner"] == said.session
    await doors.person("openspace.agent.end", {"sessionId": said.session})
    assert "tracked" not in await highlights(doors)


@PART.works(
    "FR AC-3.3.5",
    "navigation history",
    "openspace.workbench.undo takes an agent's last step back: after two places in a file, the editor shows the first.",
)
async def navigation_history(doors: Doors) -> None:
    await tidy(doors)
    for line in (5, 42):
        await doors.agent("openspace.editor.open", {"path": "src/index.ts", "line": line})
    await doors.person("openspace.workbench.undo")
    assert (await editor(doors, "src/index.ts"))["line"] == 5


@PART.works(
    "FR-3.3 read_file", "openspace.editor.read_file { path }", "HTTP: `{success, content}`, the text as it is on disk."
)
async def read_a_file_for_an_editor(doors: Doors) -> None:
    doors.write("src/index.ts", SOURCE)
    read = await doors.agent("openspace.editor.read_file", {"path": "src/index.ts"})
    like(read, {"success": True, "content": SOURCE})


@PART.works("FR-3.3 close", "openspace.editor.close { path }", "HTTP: `{success}`; the editor is gone.")
async def close_an_editor(doors: Doors) -> None:
    await tidy(doors)
    await doors.agent("openspace.editor.open", {"path": "src/index.ts"})
    like(await doors.agent("openspace.editor.close", {"path": "src/index.ts"}), {"success": True})
    assert (await doors.person("openspace.editor.list"))["editors"] == []


@PART.works(
    "FR-3.4 create, FR AC-3.4.1",
    "openspace.terminal.create { title?, cwd?, shellPath? }",
    "HTTP: `{success, terminalId}`; a shell of this path in this directory, under this title. All three may be left "
    "out.",
)
async def create_a_terminal(doors: Doors) -> None:
    await tidy(doors)
    like(await doors.agent("openspace.terminal.create", {}), {"success": True, "terminalId": str})
    args = {"title": "made", "cwd": "src", "shellPath": "/bin/bash"}
    made = await doors.agent("openspace.terminal.create", args)
    like(made, {"success": True, "terminalId": str})
    like(await terminal(doors, made["terminalId"]), {"title": "made", "cwd": "src"})


@PART.works(
    "FR-3.4 send, FR-3.4 read_output, FR AC-3.4.2",
    "openspace.terminal.send { terminalId, text }, openspace.terminal.read_output { terminalId, lines? }",
    "HTTP: `{success}` and `{success, output}`: after `echo hello` and a newline, `hello` is a line of the output.",
)
async def send_and_read(doors: Doors) -> None:
    await tidy(doors)
    id = (await doors.agent("openspace.terminal.create", {"title": "echoes"}))["terminalId"]
    like(await doors.agent("openspace.terminal.send", {"terminalId": id, "text": "echo hello\n"}), {"success": True})
    await doors.agent("openspace.terminal.wait", {"terminalId": id, "finished": True})
    read = await doors.agent("openspace.terminal.read_output", {"terminalId": id, "lines": 20})
    like(read, {"success": True, "output": [str]})
    assert "hello" in read["output"]


@PART.works(
    "FR-3.4 ring, FR AC-3.4.3, R-3.4",
    "10,000 lines per terminal, default 100",
    "HTTP: of 12,000 lines read_output gives the last 100, with `lines: 10000` or more the last 10,000. What a "
    "terminal keeps is bounded in bytes too.",
)
async def ring(doors: Doors) -> None:
    await tidy(doors)
    id = (await doors.person("openspace.terminal.create", {"title": "long"}))["terminalId"]
    await doors.person("openspace.terminal.send", {"terminalId": id, "text": "seq 12000; echo the end\n"})
    await doors.person("openspace.terminal.wait", {"terminalId": id, "pattern": "^the end$"})
    for asked, given in (({}, 100), ({"lines": 10000}, 10000), ({"lines": 20000}, 10000)):
        read = await doors.agent("openspace.terminal.read_output", {"terminalId": id, **asked})
        assert len(read["output"]) == given
        assert "12000" in read["output"]


@PART.works(
    "FR-3.4 list, FR AC-3.4.4",
    "openspace.terminal.list {}",
    "HTTP: `{terminals}`, each with id, title, status, cwd. An id is `term_` and a ULID, the same from creation to the "
    "end, and the title is taken for it everywhere.",
)
async def list_the_terminals(doors: Doors) -> None:
    await tidy(doors)
    made = await doors.agent("openspace.terminal.create", {"title": "stable"})
    for _ in range(2):
        listed = await doors.agent("openspace.terminal.list", {})
        like(listed["terminals"], [{"id": str, "title": str, "status": "running", "cwd": str}])
        assert [one["id"] for one in listed["terminals"]] == [made["terminalId"]]
    for name in (made["terminalId"], "stable"):
        like(await doors.agent("openspace.terminal.read_output", {"terminalId": name}), {"success": True})


@PART.works(
    "FR-3.4 close",
    "openspace.terminal.close { terminalId }",
    "HTTP: `{success}`; what ran in it has ended, it is gone.",
)
async def close_a_terminal(doors: Doors) -> None:
    await tidy(doors)
    id = (await doors.agent("openspace.terminal.create", {"title": "closing"}))["terminalId"]
    pid = (await terminal(doors, id))["pid"]
    like(await doors.agent("openspace.terminal.close", {"terminalId": id}), {"success": True})
    assert (await doors.person("openspace.terminal.list"))["terminals"] == []
    await until(lambda: not os.path.exists(f"/proc/{pid}"))


@PART.works("FR-3.5 read", "openspace.file.read { path }", "HTTP: `{success, content}`.")
async def read_a_file(doors: Doors) -> None:
    doors.write("src/index.ts", SOURCE)
    like(await doors.agent("openspace.file.read", {"path": "src/index.ts"}), {"success": True, "content": SOURCE})


@PART.works(
    "FR-3.5 write, FR AC-3.5.1",
    "openspace.file.write { path, content }",
    "HTTP: `{success}`; the file has this text, missing directories are made. An absolute path inside is as good.",
)
async def write_a_file(doors: Doors) -> None:
    for path in ("new/written.txt", str(doors.root / "new/absolute.txt")):
        like(await doors.agent("openspace.file.write", {"path": path, "content": "text\n"}), {"success": True})
        assert (doors.root / path).read_text() == "text\n"


@PART.works(
    "FR-3.5 list",
    "openspace.file.list { path }",
    "HTTP: `{success, files}`, each with name, path, kind, size and modified.",
)
async def list_files(doors: Doors) -> None:
    doors.write("listed/a.txt", "a")
    listed = await doors.agent("openspace.file.list", {"path": "listed"})
    like(listed, {"success": True, "files": list})
    like(listed["files"], [{"name": "a.txt", "path": "listed/a.txt", "kind": "file", "size": 1}])


@PART.works(
    "FR-3.5 search, FR AC-3.5.3",
    "openspace.file.search { query, includePattern?, excludePattern? }",
    "HTTP: `{success, results}`, paths: files of that name first, then files with that text. `matches` has the lines.",
)
async def search_files(doors: Doors) -> None:
    doors.write("found/validateToken.ts", "nothing\n")
    doors.write("found/auth.ts", "function validateToken() {}\n")
    doors.write("found/auth.md", "about validateToken\n")
    found = await doors.agent(
        "openspace.file.search", {"query": "validateToken", "includePattern": "found/**", "excludePattern": "*.md"}
    )
    like(found, {"success": True, "results": ["found/validateToken.ts", "found/auth.ts"]})


@PART.differs(
    "SC-3.5.1, FR AC-3.5.2, NFR-3.1.2, R-3.3",
    "reject paths containing `..` or absolute paths outside workspace",
    because="What counts is where a path leads, step by step: `src/../a.txt` stays inside and is fine, `../a.txt` is "
    "not, nor one that leaves on its way and comes back.",
    answer="`outside-workspace` for what leaves the workspace, read or write, and the file for what does not.",
)
async def confinement(doors: Doors) -> None:
    doors.write("a.txt", "inside\n")
    (doors.root / "src").mkdir(exist_ok=True)
    home = doors.root.name
    for path in ("../a.txt", "src/../../a.txt", f"../{home}/a.txt", "/etc/passwd"):
        for command, more in (("read", {}), ("write", {"content": "x"}), ("list", {})):
            refused = await doors.refusal(f"openspace.file.{command}", {"path": path, **more}, agent=True)
            assert refused["code"] == "outside-workspace"
            assert "inside the workspace" in refused["hint"]
    like(await doors.agent("openspace.file.read", {"path": "src/../a.txt"}), {"content": "inside\n"})


@PART.works(
    "SC-3.5.2, NFR-3.1.2",
    "openspace.file.write into .git/, node_modules/",
    "HTTP: `denied-path` for an agent, at any depth and in any spelling; the hint says what to do instead. A person "
    "may.",
)
async def critical_files(doors: Doors) -> None:
    for path in (".git/config", "deep/.git/hooks/pre-commit", ".GIT/config", "node_modules/x/index.js"):
        refused = await doors.refusal("openspace.file.write", {"path": path, "content": "x"}, agent=True)
        assert refused["code"] == "denied-path"
        assert refused["hint"]
        assert not (doors.root / path).exists()


@PART.works("SC-3.5.3", ".gitignore", "HTTP: openspace.file.search does not find what .gitignore names.")
async def search_honours_gitignore(doors: Doors) -> None:
    doors.write(".gitignore", "ignored/\n")
    doors.write("ignored/needle.txt", "needleword\n")
    doors.write("kept/needle.txt", "needleword\n")
    found = await doors.agent("openspace.file.search", {"query": "needleword"})
    assert found["results"] == ["kept/needle.txt"]


@PART.works(
    "FR AC-3.5.4",
    "atomic writes",
    "HTTP: who has the old file open goes on reading the old text to its end; nothing is left beside the new one.",
)
async def writes_are_atomic(doors: Doors) -> None:
    doors.write("atomic/a.txt", "old " * 1000)
    with (doors.root / "atomic/a.txt").open() as old:
        half = old.read(500)
        await doors.agent("openspace.file.write", {"path": "atomic/a.txt", "content": "new " * 1000})
        assert half + old.read() == "old " * 1000
    assert (doors.root / "atomic/a.txt").read_text() == "new " * 1000
    assert os.listdir(doors.root / "atomic") == ["a.txt"]
