"""Commands on editors: opening, revealing, highlighting, and the person's unsaved text."""

import asyncio
from typing import Annotated

from msgspec import Meta, Struct

from fourhands.commands.base import Args, From1, Nothing, owner_of, record_step
from fourhands.commands.file_reading import FileContent, ReadFile, read_content
from fourhands.core.call import Call
from fourhands.core.effects import Effects
from fourhands.core.errors import BadArgument, Conflict, FourhandsError
from fourhands.core.registry import Contribution
from fourhands.workbench.layout.editors import Editor, Highlight, Range
from fourhands.workbench.layout.panes import panes
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.editor", scope="arrange")

Path = Annotated[str, Meta(description="Path of a file in the workspace.")]
LineNumber = Annotated[int, Meta(ge=1, description="Line, from 1.")]


class OpenEditor(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.editor.open`."""

    path: Path
    line: Annotated[From1 | None, Meta(description="Line to scroll to, from 1.")] = None
    column: Annotated[From1 | None, Meta(description="Column, from 1.")] = None
    highlight: Annotated[bool, Meta(description="Mark the line too, until it is cleared.")] = False


class EditorOpened(Struct, frozen=True, kw_only=True, rename="camel"):
    """The editor and the pane that shows it."""

    editor_id: str
    pane_id: str
    highlight_id: str | None = None


@commands.add("open", label="Open file", undoable=True, example={"path": "src/index.ts", "line": 42})
async def open_editor(bench: Workbench, args: OpenEditor, call: Call, effects: Effects) -> EditorOpened:
    """Open a file in an editor that both of you see, and scroll to a line."""
    line = args.line or 1
    marked = Range(start_line=line, end_line=line) if args.highlight else None
    _, opened = await open_at(bench, call, effects, args.path, line=args.line, column=args.column, marked=marked)
    return opened


async def open_at(
    bench: Workbench,
    call: Call,
    effects: Effects,
    given: str,
    *,
    line: int | None,
    column: int | None = None,
    marked: Range | None = None,
    mark_id: str | None = None,
) -> tuple[str, EditorOpened]:
    """Open a file at a line and mark some lines of it, both or neither; return its path in its one spelling, too."""
    files = bench.files(call.actor)
    path = await asyncio.to_thread(lambda: files.stat(given).path)
    version = await asyncio.to_thread(files.version, path)
    beside, above = _placement(bench)
    step = bench.state.open_editor(
        path,
        owner=owner_of(call),
        line=line,
        column=column,
        version=version,
        beside=beside,
        above=above,
    )
    mark = None
    if marked is not None:
        try:
            mark = bench.state.highlight(path, [marked], owner=owner_of(call), highlight_id=mark_id)
        except FourhandsError:
            bench.state.undo(step)
            raise
    record_step(bench, effects, f"opened {path}" + (f":{line}" if line else ""), step)
    if mark is not None and marked is not None:
        record_step(bench, effects, f"highlighted {path}:{marked.start_line}", mark)
    editor = bench.state.editor(path)
    opened = EditorOpened(editor_id=editor.id, pane_id=step.pane_id or "", highlight_id=mark.id if mark else None)
    return path, opened


def _placement(bench: Workbench) -> tuple[str | None, bool]:
    """Return where a new editor goes: beside other editors, else above all, so that it covers no running terminal."""
    all_panes = list(panes(bench.state.layout.root))
    active = bench.state.layout.active_pane
    with_editors = [pane for pane in all_panes if any(tab.type == "editor" for tab in pane.tabs)]
    if any(pane.id == active for pane in with_editors):
        return None, False
    if with_editors:
        return with_editors[0].id, False
    return None, bool(all_panes)


@commands.add("scroll_to", label="Scroll to line", undoable=True, example={"path": "src/index.ts", "line": 42})
async def scroll_to(
    bench: Workbench,
    effects: Effects,
    *,
    path: Path,
    line: LineNumber,
) -> Nothing:
    """Scroll an open editor so that a line is in the middle."""
    record_step(bench, effects, f"scrolled {path} to {line}", bench.state.reveal(path, line))
    return Nothing()


class SetHighlight(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.editor.highlight`."""

    path: Path
    ranges: Annotated[tuple[Range, ...], Meta(description="Lines to mark, both ends included.")]
    highlight_id: Annotated[str | None, Meta(description="A name of your own; the same name replaces.")] = None
    color: Annotated[str | None, Meta(description="A CSS colour name or a hex value like #ffcc00.")] = None
    label: Annotated[str | None, Meta(description="A few words shown behind the first line.")] = None


class Highlighted(Struct, frozen=True, kw_only=True, rename="camel"):
    """The name under which it can be cleared."""

    highlight_id: str


@commands.add(
    "highlight",
    label="Highlight lines",
    undoable=True,
    example={"path": "src/index.ts", "ranges": [{"startLine": 42, "endLine": 50}], "highlightId": "fix-1"},
)
async def highlight(bench: Workbench, args: SetHighlight, call: Call, effects: Effects) -> Highlighted:
    """Mark lines of a file with a coloured band until it is cleared or the person presses Escape."""
    path = await asyncio.to_thread(lambda: bench.files(call.actor).stat(args.path).path)
    step = bench.state.highlight(
        path,
        args.ranges,
        owner=owner_of(call),
        highlight_id=args.highlight_id,
        color=args.color,
        label=args.label,
    )
    first = args.ranges[0]
    record_step(bench, effects, f"highlighted {path}:{first.start_line}–{first.end_line}", step)
    return Highlighted(highlight_id=step.id)


@commands.add("clear_highlight", label="Clear highlight", undoable=True, example={"highlightId": "fix-1"})
async def clear_highlight(
    bench: Workbench,
    effects: Effects,
    *,
    highlight_id: Annotated[str, Meta(description="The name of a highlight.")],
) -> Nothing:
    """Remove a highlight."""
    step = bench.state.clear_highlight(highlight_id)
    record_step(bench, effects, f"cleared highlight {highlight_id}", step)
    return Nothing()


@commands.add("clear_highlights", label="Clear all highlights", undoable=True, key="Escape", example={"mine": True})
async def clear_highlights(
    bench: Workbench,
    call: Call,
    effects: Effects,
    *,
    mine: Annotated[bool, Meta(description="Only your own; what the Escape key does first.")] = False,
) -> Nothing:
    """Remove all highlights, or your own only."""
    owner = owner_of(call) if mine else call.session
    record_step(bench, effects, "cleared highlights", bench.state.clear_highlights(owner))
    return Nothing()


@commands.add("escape", label="Escape", actors=("person",))
async def escape(bench: Workbench, call: Call) -> Nothing:
    """Clear your own highlights or, if there are none, all of them."""
    bench.state.escape(owner_of(call))
    return Nothing()


class HighlightList(Struct, frozen=True, kw_only=True, rename="camel"):
    """The open editors and their highlights."""

    editors: tuple[Editor, ...]
    highlights: tuple[Highlight, ...]


@commands.add("list", label="List editors and highlights", read_only=True, example={})
async def list_editors(bench: Workbench) -> HighlightList:
    """List the open editors with line and column, and all highlights."""
    return HighlightList(editors=bench.state.editors(), highlights=bench.state.highlights())


@commands.add("read_file", label="Read file", read_only=True, example={"path": "src/index.ts"})
async def read_file(bench: Workbench, args: ReadFile, call: Call) -> FileContent:
    """Return the text of a file as it is on disk."""
    return await read_content(bench, args, call)


class EditorRef(Args, frozen=True, kw_only=True):
    """An editor."""

    path: Annotated[str, Meta(description="Path or id of an open editor.")]


@commands.add("close", label="Close editor", undoable=True, example={"path": "src/index.ts"})
async def close_editor(bench: Workbench, args: EditorRef, effects: Effects) -> Nothing:
    """Close an editor. Unsaved text of the person is never discarded."""
    record_step(bench, effects, f"closed {args.path}", bench.state.close_editor(args.path))
    return Nothing()


@commands.add("set_draft", label="Store unsaved text", actors=("person",))
async def set_draft(
    bench: Workbench,
    *,
    path: Path,
    text: str,
    base_version: str | None = None,
) -> Nothing:
    """Keep what you typed and have not saved, so that another browser or a restart finds it."""
    bench.state.set_draft(path, text, base_version)
    return Nothing()


@commands.add("discard", label="Discard unsaved text", actors=("person",))
async def discard(bench: Workbench, args: EditorRef, call: Call) -> Nothing:
    """Discard what was typed and not saved."""
    editor = bench.state.editor(args.path)
    version = await asyncio.to_thread(bench.files(call.actor).version, editor.path)
    bench.state.saved(editor.path, version)
    return Nothing()


class SaveEditor(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.editor.save`."""

    path: Path
    text: Annotated[str | None, Meta(description="The text; default: what is held as unsaved.")] = None
    expected_version: Annotated[str | None, Meta(description="The version it started from; 'any' overwrites.")] = None
    encoding: str = "utf-8"


class EditorSaved(Struct, frozen=True, kw_only=True, rename="camel"):
    """The version of the file now."""

    version: str


@commands.add("save", label="Save file", actors=("person",), key="Ctrl S")
async def save(bench: Workbench, args: SaveEditor, call: Call) -> EditorSaved:
    """Write an editor's text to its file; refused, with its version, if the file changed meanwhile."""
    editor = bench.state.editor(args.path)
    draft = bench.state.draft(editor.path)
    if args.text is None and draft is None:
        raise BadArgument(f"{editor.path} has no unsaved text", hint="nothing to save")
    text = args.text if args.text is not None else draft.text if draft else ""
    expected = args.expected_version or (draft.base_version if draft else editor.version)
    files = bench.files(call.actor)
    wanted = None if expected == "any" else expected
    try:
        written = await bench.writes.do(
            lambda: files.write_text(editor.path, text, encoding=args.encoding, expected_version=wanted),
            lambda written: _saved(bench, editor.path, written.version),
        )
    except Conflict:
        if args.text is not None:
            bench.state.set_draft(editor.path, args.text, wanted)
        raise
    return EditorSaved(version=written.version)


def _saved(bench: Workbench, path: str, version: str) -> None:
    if any(editor.path == path for editor in bench.state.editors()):  # it may have been closed meanwhile
        bench.state.saved(path, version)
