"""Commands on files: confined to the workspace, with versions, so that no unseen change is overwritten."""

import asyncio
from typing import Annotated

from msgspec import Meta, Struct

from fourhands.commands.base import Args, From0, From1, Nothing
from fourhands.commands.file_reading import FileContent, ReadFile, note_seen, read_content, read_piece
from fourhands.commands.file_redaction import refuse_placeholders, search_for
from fourhands.commands.file_undo import cut, swap, tell_editor
from fourhands.core.call import Call
from fourhands.core.effects import Effects
from fourhands.core.errors import BadArgument, NotFound
from fourhands.core.registry import Contribution
from fourhands.safety.paths.errors import FileTooLarge
from fourhands.workbench.files.edit import Applied, Replaced, TextEdit, apply
from fourhands.workbench.files.encoding import begins_as, decoded, encoded
from fourhands.workbench.files.excerpt import PIECE_BYTES
from fourhands.workbench.files.replacement import ABSENT, Written, changed, version_of
from fourhands.workbench.files.search import FileSearchResult
from fourhands.workbench.files.workspace import DirectoryEntry, Workspace
from fourhands.workbench.layout.undo import InvertStep
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.file", scope="write")

IN_PIECES = (
    'a large file is written in pieces: openspace.file.write with "append": true, or changed by openspace.file.edit'
)
"""The hint for a message that is too large."""

MOST_EDITS = 100
"""Edits in one call."""


class ReadAny(ReadFile, frozen=True, kw_only=True):
    """Arguments of `openspace.file.read`."""

    binary: Annotated[bool, Meta(description="Take a file that is no text, too: its content is base64.")] = False
    offset: Annotated[From0 | None, Meta(description="First byte, from 0, of a piece of a large file.")] = None
    limit: Annotated[
        From1 | None, Meta(description=f"Bytes of that piece; default {PIECE_BYTES}. `next` is the next offset.")
    ] = None


@commands.add(
    "read",
    label="Read file",
    read_only=True,
    uri="fourhands://file/{+path}{?startLine,endLine,offset,limit}",
    example={"path": "README.md"},
)
async def read_file(bench: Workbench, args: ReadAny, call: Call) -> FileContent:
    """Return the text of a file, or a part of it: some lines, or some bytes with offset and limit.

    A part may be of a file that is too large to be read at once.
    """
    if args.offset is None and args.limit is None:
        return await read_content(bench, args, call, binary=args.binary)
    if args.start_line is not None or args.end_line is not None:
        raise BadArgument("a piece is given by lines or by bytes, not by both", hint="leave out offset and limit")
    return await read_piece(bench, call, args.path, offset=args.offset or 0, limit=args.limit, binary=args.binary)


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


@commands.add("write", label="Write file", undoable=True, example={"path": "notes.txt", "content": "hello\n"})
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
    """Return a file's path in its one spelling, and the version it must have: as given, or as the agent read it."""
    path = await asyncio.to_thread(plain_path, bench.files(call.actor), given)
    session = bench.session(call)
    return path, session.seen.get(path) if expected is None and session is not None else expected


def plain_path(files: Workspace, path: str) -> str:
    """Return a file's path in its one spelling; of one that is not there, as it was given."""
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
    """Replace a file's content, make that undoable, and emit the event."""
    files = bench.files(call.actor)
    refuse_placeholders(call, given, before, content)
    if call.session is not None:
        await effects.before(path, before)

    def told(written: Written) -> None:
        undo = swap(bench, written.path, before, content, written.version)
        _tell(bench, call, effects, f"{did} {written.path}", written, undo)

    return await bench.writes.do(lambda: files.write(given, content, expected_version=expected), told)


def _tell(bench: Workbench, call: Call, effects: Effects, did: str, written: Written, undo: InvertStep) -> None:
    note_seen(bench, call, written.path, written.version)
    if call.session is not None:
        effects.undo(did, undo)
        bench.writes.left[written.path] = written.version
    tell_editor(bench, written.path, written.version)


async def _append(
    bench: Workbench, args: WriteFile, call: Call, effects: Effects, path: str, expected: str | None
) -> FileWritten:
    """Append text to a file, in its own encoding."""
    files = bench.files(call.actor)
    encoding = await asyncio.to_thread(_encoding, files, args.path)
    data = encoded(args.content, encoding, marked=False)
    version = await asyncio.to_thread(files.version, args.path)
    if call.session is not None and bench.writes.left.get(path) != version:
        # Behind an agent's own write nothing is kept: what counts is what was there before the first of them.
        await effects.before(path, await asyncio.to_thread(files.held, args.path))

    def told(written: Written) -> None:
        undo = cut(bench, data, written)
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
    label="Edit file",
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
    """Apply the edits to the file as it is, if that is as expected; return the result, both contents, the version."""
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


class DirectoryListing(Struct, frozen=True, kw_only=True, rename="camel"):
    """A directory's entries."""

    files: tuple[DirectoryEntry, ...]


@commands.add("list", label="List directory", read_only=True, example={"path": "src"})
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

    Files that .gitignore names are left out.
    """
    files = bench.files(call.actor)
    found = await asyncio.to_thread(files.search, query, include_pattern, exclude_pattern)
    return await asyncio.to_thread(search_for, bench, call, query, found)


@commands.add("remove", label="Delete file", actors=("person",), destructive=True)
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
