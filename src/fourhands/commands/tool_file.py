"""Tools of agents for files: read, write, edit, search, and show one to the person.

They are thin: the work is that of the commands of files and editors, so that versions, undo, review, redaction and
refusals are the same. What is short here are the arguments and what a model reads of the results.
"""

import asyncio
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from fourhands.commands import tool_words
from fourhands.commands.base import Args, From1, owner_of
from fourhands.commands.cropping import MOST_LINES, excerpt
from fourhands.commands.editor import open_at
from fourhands.commands.file import MOST_EDITS, EditFile, WriteFile, edit_file, plain_path, write_file
from fourhands.commands.file_reading import ReadFile, read_content
from fourhands.commands.file_redaction import search_for
from fourhands.commands.skill import READ_AS, skill_text
from fourhands.core.call import Call
from fourhands.core.effects import Effects
from fourhands.core.errors import BadArgument
from fourhands.core.registry import Contribution
from fourhands.safety.paths.errors import FileTooLarge
from fourhands.workbench.files.edit import Replaced, TextEdit
from fourhands.workbench.files.search import FileMatch
from fourhands.workbench.layout.editors import Range
from fourhands.workbench.records.outputs import SHORT
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.tool", scope="write")

MOST_FOUND = 50
"""Lines of one search, unless the call names another number; and names, which are at most 20 of them."""

_NAMES = 20
_NEAR = 5
_LONGEST_MATCH = 200


class ReadLines(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.tool.read`."""

    path: Annotated[str, Meta(description="File in the workspace, output:N or skill:NAME/PATH.")]
    first: Annotated[From1, Meta(description="First line.")] = msgspec.field(default=1, name="from")
    column: Annotated[From1, Meta(description="Where to begin in it; for very long lines.")] = 1
    limit: Annotated[int, Meta(ge=1, le=100_000, description="Most lines.")] = MOST_LINES


class LinesRead(Struct, frozen=True, kw_only=True, rename="camel"):
    """Some lines of a text: which, of how many, and where the next ones begin (null: there are none).

    `cut` is how many of them are shown in part only; `ended` is false if the last line of all has no line end.
    """

    content: str
    first: int = msgspec.field(name="from")
    last: int = msgspec.field(name="to")
    lines: int
    next: int | None
    cut: int
    ended: bool
    version: str
    encoding: str


@commands.add(
    "read",
    label="Read lines",
    read_only=True,
    example={"path": "src/app.py", "from": 200, "limit": 100},
    core=True,
    text=tool_words.read,
)
async def read(bench: Workbench, args: ReadLines, call: Call) -> LinesRead:
    """Read lines of a text file, or of an output that was cropped."""
    if args.path.startswith((SHORT, READ_AS)):
        version, encoding = "", "utf-8"
        if args.path.startswith(SHORT):
            text = bench.outputs.get(args.path, call.session)
        else:
            text, encoding = await skill_text(bench, call, args.path)
        lines = text.split("\n")
        total, ended = len(lines) - (not lines[-1]), not lines[-1]
        found = lines[args.first - 1 : args.first - 1 + args.limit]
    else:
        # One line more than is wanted says whether the last one has an end.
        wanted = ReadFile(path=args.path, start_line=args.first, end_line=args.first + args.limit)
        try:
            got = await read_content(bench, wanted, call)
        except FileTooLarge as error:
            error.hint = "let bash take what you need of it, by head, cut, grep or sed"
            raise
        found = got.content.split("\n")
        total, version, encoding = got.lines, got.version, got.encoding
        ended = args.first + len(found) - 1 > total
        found = found[: args.limit]
    if args.first > max(total, 1):
        raise BadArgument(f"{args.path!r} has {total} lines, none from {args.first} on", path=args.path)
    found = found[: max(total - args.first + 1, 0)]
    seen = await asyncio.to_thread(excerpt, found, args.first, args.column)
    last = seen.last if found else 0
    return LinesRead(
        content=seen.text + ("\n" if found else ""),
        first=args.first if found else 0,
        last=last,
        lines=total,
        next=last + 1 if last < total else None,
        cut=seen.cut,
        ended=ended or not total,
        version=version,
        encoding=encoding,
    )


class WriteText(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.tool.write`."""

    path: Annotated[str, Meta(description="File in the workspace; missing directories are created.")]
    content: Annotated[str, Meta(description="The whole new text.")]


class TextWritten(Struct, frozen=True, kw_only=True, rename="camel"):
    """The file's new version, and how many lines it has."""

    path: str
    version: str
    created: bool
    lines: int


@commands.add(
    "write",
    label="Write a file",
    undoable=True,
    example={"path": "notes.txt", "content": "hello\n"},
    core=True,
    text=tool_words.wrote,
)
async def write(bench: Workbench, args: WriteText, call: Call, effects: Effects) -> TextWritten:
    """Create a file, or replace its whole text. Refused if it has changed since you read it."""
    path = await asyncio.to_thread(plain_path, bench.files(call.actor), args.path)
    done = await write_file(bench, WriteFile(path=args.path, content=args.content), call, effects)
    return TextWritten(path=path, version=done.version, created=done.created, lines=len(args.content.splitlines()))


class EditText(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.tool.edit`."""

    path: Annotated[str, Meta(description="File in the workspace.")]
    edits: Annotated[
        tuple[TextEdit, ...],
        Meta(min_length=1, max_length=MOST_EDITS, description="In this order, all of them or none."),
    ]


class TextEdited(Struct, frozen=True, kw_only=True, rename="camel"):
    """The file's new version, how many places were changed, and what each edit did."""

    path: str
    version: str
    created: bool
    replaced: int
    edits: tuple[Replaced, ...]


@commands.add(
    "edit",
    label="Edit a file",
    undoable=True,
    example={"path": "src/app.py", "edits": [{"old": "limit = 10", "new": "limit = 20"}]},
    core=True,
    text=tool_words.edited,
)
async def edit(bench: Workbench, args: EditText, call: Call, effects: Effects) -> TextEdited:
    """Replace exact pieces of a file's text. Refused if it has changed since you read it."""
    path = await asyncio.to_thread(plain_path, bench.files(call.actor), args.path)
    done = await edit_file(bench, EditFile(path=args.path, edits=args.edits), call, effects)
    return TextEdited(path=path, version=done.version, created=done.created, replaced=done.replaced, edits=done.edits)


class SearchFiles(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.tool.search`."""

    query: Annotated[str, Meta(description="Text in a line, or part of a name.")]
    path: Annotated[str, Meta(description="Directory to look in.")] = "."
    include: Annotated[str | None, Meta(description="Only files like this, e.g. src/**/*.py")] = None
    regex: bool = False
    limit: Annotated[int, Meta(ge=1, le=500, description="Most lines.")] = MOST_FOUND


class FoundFiles(Struct, frozen=True, kw_only=True, rename="camel"):
    """Lines that match, and names: the first of each, with how many there are.

    `near` says that no name has the query, and that these are only like it; `reason` tells what cut the search short.
    """

    matches: list[FileMatch]
    names: list[str]
    lines: int
    files: int
    named: int
    near: bool
    truncated: bool
    reason: str = ""


@commands.add(
    "search",
    label="Search text and names",
    read_only=True,
    example={"query": "limit", "include": "*.py"},
    core=True,
    text=tool_words.found,
)
async def search(bench: Workbench, args: SearchFiles, call: Call) -> FoundFiles:
    """Find lines and file names. Files that .gitignore names are left out."""
    files = bench.files(call.actor)
    result = await asyncio.to_thread(lambda: files.search(args.query, args.include, path=args.path, regex=args.regex))
    result = await asyncio.to_thread(search_for, bench, call, args.query, result)
    with_text = list(dict.fromkeys(match.path for match in result.matches))
    others = [path for path in result.results if path not in set(with_text)]
    names = [path for path in others if _is_named(path, args.query)]
    # Names are found by likeness too: that is noise where there is something exact.
    near = not names and not with_text and bool(others)
    named = others[:_NEAR] if near else names
    shown = result.matches[: args.limit]
    return FoundFiles(
        matches=[msgspec.structs.replace(one, text=_around(one.text, args.query)) for one in shown],
        names=named[:_NAMES],
        lines=len(result.matches),
        files=len(with_text),
        named=len(named),
        near=near,
        truncated=result.truncated,
        reason=result.reason,
    )


def _is_named(path: str, query: str) -> bool:
    """Return True if a path has the query in it, or was found by a pattern; an empty query is in all."""
    return query.lower() in path.lower() or any(sign in query for sign in "*?[")


def _around(line: str, query: str) -> str:
    """Return a line as it is, or of a long one the part around what was looked for."""
    at = line.lower().find(query.lower())
    if len(line) <= _LONGEST_MATCH or at < 0:
        return line
    start = max(0, min(at - _LONGEST_MATCH // 4, len(line) - _LONGEST_MATCH))
    end = start + _LONGEST_MATCH
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


class ShowFile(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.tool.show`."""

    path: Annotated[str, Meta(description="File in the workspace.")]
    line: Annotated[From1 | None, Meta(description="Line to scroll to.")] = None
    end_line: Annotated[From1 | None, Meta(description="Last line, of several.")] = None
    highlight: Annotated[bool, Meta(description="Mark them.")] = False


class FileShown(Struct, frozen=True, kw_only=True, rename="camel"):
    """The editor and the pane that show it, and the name of the highlight."""

    path: str
    line: int | None
    end_line: int | None
    editor_id: str
    pane_id: str
    highlight_id: str | None = None


@commands.add(
    "show",
    label="Show a file",
    scope="arrange",
    undoable=True,
    example={"path": "src/app.py", "line": 12, "endLine": 20, "highlight": True},
    core=True,
    text=tool_words.shown,
)
async def show(bench: Workbench, args: ShowFile, call: Call, effects: Effects) -> FileShown:
    """Open a file for the person, scroll to a line, mark lines. Marking others of the same file moves the mark."""
    if args.line is None and (args.highlight or args.end_line is not None):
        raise BadArgument("highlight and endLine need a line", hint='such as "line": 12')
    if args.line is not None and args.end_line is not None and args.end_line < args.line:
        raise BadArgument(f"endLine {args.end_line} is before line {args.line}", hint="give the first line as line")
    marked = None
    if args.highlight and args.line is not None:
        marked = Range(start_line=args.line, end_line=args.end_line or args.line)
    mark_id = f"{owner_of(call)} {args.path}"[:200]
    path, opened = await open_at(bench, call, effects, args.path, line=args.line, marked=marked, mark_id=mark_id)
    return FileShown(
        path=path,
        line=args.line,
        end_line=args.end_line,
        editor_id=opened.editor_id,
        pane_id=opened.pane_id,
        highlight_id=opened.highlight_id,
    )
