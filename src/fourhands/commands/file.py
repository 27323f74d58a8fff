"""Commands on files: confined to the workspace, with versions, so that nobody overwrites what they have not seen."""

import asyncio
import base64
from typing import Annotated

from msgspec import Meta, Struct

from fourhands.commands.base import Args, From0, From1, Nothing
from fourhands.core.call import Actor, Call
from fourhands.core.effects import Effects
from fourhands.core.errors import BadArgument, Conflict, NotFound
from fourhands.core.registry import Contribution
from fourhands.safety.paths.errors import FileTooLarge
from fourhands.workbench.events import FileChanged
from fourhands.workbench.files.diff import unified
from fourhands.workbench.files.edit import Applied, Replaced, TextEdit, apply
from fourhands.workbench.files.encoding import begins_as, decoded, encoded
from fourhands.workbench.files.excerpt import PIECE_BYTES
from fourhands.workbench.files.replacement import ABSENT, Written, changed, version_of
from fourhands.workbench.files.search import FileSearchResult
from fourhands.workbench.files.workspace import DirectoryEntry, Workspace
from fourhands.workbench.layout.undo import InvertStep
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.file", scope="write")

BLOB_LIMIT = 1024 * 1024
"""Bytes of a binary file that are given out at once."""

IN_PIECES = (
    'a large file is written in pieces: openspace.file.write with "append": true, or changed by openspace.file.edit'
)
"""What to do where a message is too large."""

MOST_EDITS = 100
"""Edits in one call."""


class ReadFile(Args, frozen=True, kw_only=True):
    """Arguments of the reading commands."""

    path: Annotated[str, Meta(description="Path of a file in the workspace.")]
    start_line: Annotated[From1 | None, Meta(description="First line, from 1; default: the beginning.")] = None
    end_line: Annotated[From1 | None, Meta(description="Last line; default: the end.")] = None


class FileContent(Struct, frozen=True, kw_only=True, rename="camel"):
    """A file's text, or a part of it, and the version of the whole; encoding base64 means: the bytes of no text.

    Of a part that was asked for in bytes, `offset` is where it begins, `next` where the next one does (null: that was
    the end), and `lines` is 0: nobody has counted them.
    """

    content: str
    version: str
    lines: int
    encoding: str = "utf-8"
    offset: int | None = None
    next: int | None = None
    size: int | None = None


class ReadAny(ReadFile, frozen=True, kw_only=True):
    """Arguments of `openspace.file.read`."""

    binary: Annotated[bool, Meta(description="Take a file that is no text, too: its content is base64.")] = False
    offset: Annotated[From0 | None, Meta(description="First byte, from 0, of a piece of a large file.")] = None
    limit: Annotated[
        From1 | None, Meta(description=f"Bytes of that piece; default {PIECE_BYTES}. `next` is the next offset.")
    ] = None


async def read_content(bench: Workbench, args: ReadFile, call: Call, *, binary: bool = False) -> FileContent:
    """Read a file for `file.read` and `editor.read_file`; `binary` takes one that is no text, too."""
    files = bench.files(call.actor)
    some = args.start_line is not None or args.end_line is not None
    try:
        read = await asyncio.to_thread(files.read_text, args.path)
    except FileTooLarge:
        if not some:
            raise
        piece = await asyncio.to_thread(files.read_lines, args.path, args.start_line or 1, args.end_line)
        _see(bench, call, piece.path, piece.version)
        return FileContent(content=piece.text or "", version=piece.version, lines=piece.lines, encoding=piece.encoding)
    if read.binary:
        if not binary or read.size > BLOB_LIMIT:
            raise _no_text(args.path, read.size, most=binary)
        data = await asyncio.to_thread(files.read, args.path, limit=BLOB_LIMIT)
        return FileContent(content=base64.b64encode(data).decode(), version=read.version, lines=0, encoding="base64")
    _see(bench, call, read.path, read.version)
    lines = read.text.split("\n")
    text = read.text
    if some:
        text = "\n".join(lines[(args.start_line or 1) - 1 : args.end_line])
    total = len(lines) - (not lines[-1])
    return FileContent(content=text, version=read.version, lines=total, encoding=read.encoding)


async def _read_piece(bench: Workbench, args: ReadAny, call: Call) -> FileContent:
    """Some bytes of a file, however large it is."""
    if args.start_line is not None or args.end_line is not None:
        raise BadArgument("a piece is given by lines or by bytes, not by both", hint="leave out offset and limit")
    most = BLOB_LIMIT if args.binary else PIECE_BYTES
    piece = await asyncio.to_thread(bench.files(call.actor).read_piece, args.path, args.offset or 0, args.limit or most)
    if piece.text is None and not args.binary:
        raise _no_text(args.path, piece.size, most=False)
    if piece.text is not None:
        _see(bench, call, piece.path, piece.version)
    return FileContent(
        content=base64.b64encode(piece.data).decode() if piece.text is None else piece.text,
        version=piece.version,
        lines=0,
        encoding="base64" if piece.text is None else piece.encoding,
        offset=piece.offset,
        next=piece.end if piece.end < piece.size else None,
        size=piece.size,
    )


def _see(bench: Workbench, call: Call, path: str, version: str) -> None:
    """Remember what an agent has read: it may replace that, and nothing that came after."""
    session = bench.session(call)
    if session is not None:
        session.seen[path] = version


def _no_text(path: str, size: int, *, most: bool) -> BadArgument:
    if most:
        return BadArgument(
            f"{path!r} is a binary file of {size} bytes, and at most {BLOB_LIMIT} are given at once",
            hint=f"openspace.file.read gives it in pieces: offset 0, limit {BLOB_LIMIT}, then from `next` on",
        )
    return BadArgument(
        f"{path!r} is a binary file of {size} bytes",
        hint="use a program in a terminal to look into it, such as file or xxd; openspace.file.read takes binary: true",
    )


@commands.add(
    "read",
    label="Read a file",
    read_only=True,
    uri="fourhands://file/{+path}{?startLine,endLine,offset,limit}",
    example={"path": "README.md"},
)
async def read_file(bench: Workbench, args: ReadAny, call: Call) -> FileContent:
    """Return the text of a file, or a part of it: some lines, or some bytes with offset and limit.

    A part may be of a file that is too large to be read at once.
    """
    if args.offset is not None or args.limit is not None:
        return await _read_piece(bench, args, call)
    return await read_content(bench, args, call, binary=args.binary)


class WriteFile(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.file.write`."""

    path: Annotated[str, Meta(description="Path of a file in the workspace; missing directories are created.")]
    content: Annotated[str, Meta(description="The whole new text.")]
    expected_version: Annotated[
        str | None, Meta(description="Refuse unless the file has this version; 'absent': unless it is new.")
    ] = None
    append: Annotated[
        bool, Meta(description="Put the text behind what is there: a large file is written in several calls.")
    ] = False


class FileWritten(Struct, frozen=True, kw_only=True, rename="camel"):
    """The file's new version."""

    version: str
    created: bool


@commands.add("write", label="Write a file", undoable=True, example={"path": "notes.txt", "content": "hello\n"})
async def write_file(bench: Workbench, args: WriteFile, call: Call, effects: Effects) -> FileWritten:
    """Replace a file's text, or create it: wholly or not at all. With append, add to its end.

    Refused if the file has changed since you read it: read it again first. To change a part, use openspace.file.edit.
    """
    path, expected = await _expected(bench, args.path, args.expected_version, call)
    if args.append:
        return await _append(bench, args, call, effects, path, expected)
    before = await asyncio.to_thread(bench.files(call.actor).held, args.path)
    written = await _replace(bench, call, effects, "wrote", args.path, path, before, args.content.encode(), expected)
    return FileWritten(version=written.version, created=written.created)


async def _expected(bench: Workbench, given: str, expected: str | None, call: Call) -> tuple[str, str | None]:
    """A file's path in the one spelling, and the version it must have: the one given, else the one the agent read."""
    path = await asyncio.to_thread(_plain_path, bench.files(call.actor), given)
    session = bench.session(call)
    return path, session.seen.get(path) if expected is None and session is not None else expected


def _plain_path(files: Workspace, path: str) -> str:
    try:
        return files.stat(path).path
    except NotFound:
        return path


async def _replace(
    bench: Workbench,
    call: Call,
    effects: Effects,
    did: str,
    given: str,
    path: str,
    before: bytes | None,
    content: bytes,
    expected: str | None,
) -> Written:
    """Replace a file's content so that it can be undone, and tell of it."""
    files = bench.files(call.actor)
    if call.actor.kind == "agent":
        await effects.before(path, before)

    def told(written: Written) -> None:
        undo = _swap(bench, written.path, before, content, written.version)
        _tell(bench, call, effects, f"{did} {written.path}", written, undo)

    return await bench.writes.do(lambda: files.write(given, content, expected_version=expected), told)


def _tell(bench: Workbench, call: Call, effects: Effects, did: str, written: Written, undo: InvertStep) -> None:
    _see(bench, call, written.path, written.version)
    if call.actor.kind == "agent":
        effects.undo(did, undo)
        bench.writes.left[written.path] = written.version
    tell_editor(bench, written.path, written.version)


async def _append(
    bench: Workbench, args: WriteFile, call: Call, effects: Effects, path: str, expected: str | None
) -> FileWritten:
    """Put text behind what a file has, in its own encoding."""
    files = bench.files(call.actor)
    encoding = await asyncio.to_thread(_encoding, files, args.path)
    data = encoded(args.content, encoding, marked=False)
    version = await asyncio.to_thread(files.version, args.path)
    if call.actor.kind == "agent" and bench.writes.left.get(path) != version:
        # Behind an agent's own write nothing is kept: what counts is what was there before the first of them.
        await effects.before(path, await asyncio.to_thread(files.held, args.path))

    def told(written: Written) -> None:
        undo = _cut(bench, data, written)
        _tell(bench, call, effects, f"added to {written.path}", written, undo)

    written = await bench.writes.do(
        lambda: files.splice(args.path, data, expected_version=version if expected is None else expected), told
    )
    return FileWritten(version=written.version, created=written.created)


def _encoding(files: Workspace, path: str) -> str:
    try:
        _, encoding = begins_as(files.read(path, limit=8192))
    except NotFound:
        return "utf-8"
    if encoding == "binary":
        raise BadArgument(f"{path!r} is a binary file: text cannot be added to it", hint="write it anew, or elsewhere")
    return encoding


class EditFile(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.file.edit`."""

    path: Annotated[str, Meta(description="Path of a file in the workspace.")]
    edits: Annotated[
        tuple[TextEdit, ...],
        Meta(
            min_length=1,
            max_length=MOST_EDITS,
            description="Made in this order, each on what the earlier ones have left; all of them or none.",
        ),
    ]
    expected_version: Annotated[str | None, Meta(description="Refuse unless the file has this version.")] = None


class FileEdited(Struct, frozen=True, kw_only=True, rename="camel"):
    """The file's new version, how many places were changed, and what each edit did."""

    version: str
    created: bool
    replaced: int
    edits: tuple[Replaced, ...]


@commands.add(
    "edit",
    label="Edit a file",
    undoable=True,
    example={"path": "src/app.py", "edits": [{"old": "limit = 10", "new": "limit = 20"}]},
)
async def edit_file(bench: Workbench, args: EditFile, call: Call, effects: Effects) -> FileEdited:
    """Replace exact pieces of a file's text and leave the rest as it is: all of the edits or none.

    Each old text must be found exactly once, or set all. Refused if the file has changed since you read it.
    """
    files = bench.files(call.actor)
    path, expected = await _expected(bench, args.path, args.expected_version, call)
    applied, before, content, version = await asyncio.to_thread(_edited, files, args, expected)
    written = await _replace(bench, call, effects, "edited", args.path, path, before, content, version)
    return FileEdited(
        version=written.version,
        created=written.created,
        replaced=sum(one.count for one in applied.replaced),
        edits=applied.replaced,
    )


def _edited(files: Workspace, args: EditFile, expected: str | None) -> tuple[Applied, bytes | None, bytes, str]:
    """The edits made on what the file has now, if that is what was expected: the result, both contents, the version."""
    before = files.held(args.path)
    if before is None and (args.edits[0].old or expected not in (None, ABSENT)):
        files.read(args.path, limit=0)  # says that there is none, and what there is
    version = ABSENT if before is None else version_of(before)
    if expected is not None and version != expected:
        raise changed(args.path, version, expected)
    most = files.settings.read_limit_bytes
    if before is not None and len(before) > most:
        raise FileTooLarge(
            f"file {args.path!r} has {len(before)} bytes; at most {most} are edited",
            hint="let a program in a terminal edit it, such as sed or patch",
            path=args.path,
        )
    now = decoded(before or b"", path=args.path, version=version)
    if now.binary:
        raise BadArgument(f"{args.path!r} is a binary file: it cannot be edited as text", hint="write it anew")
    applied = apply(args.path, now.text, args.edits, most=most)
    return applied, before, encoded(applied.text, now.encoding), version


def tell_editor(bench: Workbench, path: str, version: str | None) -> None:
    """Say that a file has another version now, to its editor and to everybody."""
    if any(editor.path == path for editor in bench.state.editors()):
        bench.state.set_version(path, version)
    bench.events.emit(FileChanged(path=path, version=version))


def _swap(bench: Workbench, path: str, other: bytes | None, mine: bytes | None, version: str) -> InvertStep:
    """The inverse of a write; called again it is the redo. Refused when somebody has changed the file since."""
    files = bench.files(Actor.person())

    async def swap() -> None:
        def exchange() -> str:
            try:
                if other is None:
                    files.remove(path, expected_version=version)
                    return ABSENT
                return files.write(path, other, expected_version=version).version
            except (Conflict, NotFound) as error:
                raise _changed_since(files, path, mine) from error

        def told(now: str) -> None:
            nonlocal other, mine, version
            version, other, mine = now, mine, other
            tell_editor(bench, path, version)

        await bench.writes.do(exchange, told)

    return swap


def _cut(bench: Workbench, data: bytes, written: Written) -> InvertStep:
    """The inverse of adding `data`; called again it adds it once more. Only the added text is kept for this."""
    files = bench.files(Actor.person())
    path, there, added = written.path, written.version, True

    async def turn() -> None:
        def exchange() -> str:
            try:
                if added and written.created:
                    files.remove(path, expected_version=there)
                    return ABSENT
                return files.splice(path, b"" if added else data, keep=written.kept, expected_version=there).version
            except (Conflict, NotFound) as error:
                hint = "take the added text away by hand, or revert the whole file"
                raise Conflict(f"{path} has been changed since", hint=hint, path=path) from error

        def told(now: str) -> None:
            nonlocal there, added
            there, added = now, not added
            tell_editor(bench, path, now)

        await bench.writes.do(exchange, told)

    return turn


def _changed_since(files: Workspace, path: str, mine: bytes | None) -> Conflict:
    """The refusal to overwrite what came later, with what would be lost."""
    now = files.held(path)
    return Conflict(
        f"{path} has been {'deleted' if now is None else 'changed'} since",
        hint="the diff shows what would be lost: take the action back by hand, or revert the whole file",
        path=path,
        diff=unified(path, mine, now),
    )


class DirectoryListing(Struct, frozen=True, kw_only=True, rename="camel"):
    """A directory's entries."""

    files: tuple[DirectoryEntry, ...]


@commands.add("list", label="List a directory", read_only=True, example={"path": "src"})
async def list_files(
    bench: Workbench,
    call: Call,
    *,
    path: Annotated[str, Meta(description="A directory in the workspace; '.' is its root.")] = ".",
) -> DirectoryListing:
    """List a directory: names, kinds, sizes."""
    return DirectoryListing(files=tuple(await asyncio.to_thread(bench.files(call.actor).list, path)))


@commands.add("search", label="Search files", read_only=True, example={"query": "limit", "includePattern": "*.py"})
async def search(
    bench: Workbench,
    call: Call,
    *,
    query: Annotated[str, Meta(description="Part of a file's name, or text to find in files.")],
    include_pattern: Annotated[str | None, Meta(description="Only files like this, e.g. src/**/*.py")] = None,
    exclude_pattern: Annotated[str | None, Meta(description="Not files like this.")] = None,
) -> FileSearchResult:
    """Find files by name and by text: paths first by name, then by content, and the matching lines.

    What .gitignore names is left out.
    """
    files = bench.files(call.actor)
    return await asyncio.to_thread(files.search, query, include_pattern, exclude_pattern)


@commands.add("remove", label="Delete a file", actors=("person",), destructive=True)
async def remove(
    bench: Workbench,
    call: Call,
    *,
    path: str,
    expected_version: str | None = None,
) -> Nothing:
    """Delete a file."""
    files = bench.files(call.actor)
    await bench.writes.do(
        lambda: files.remove(path, expected_version=expected_version),
        lambda _: tell_editor(bench, path, ABSENT),
    )
    return Nothing()
