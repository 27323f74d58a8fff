"""Commands on files: confined to the workspace, with versions, so that nobody overwrites what they have not seen."""

import asyncio
import base64
from typing import Annotated

from msgspec import Meta, Struct

from fourhands.commands.base import Args, From1, Nothing
from fourhands.core.call import Actor, Call
from fourhands.core.effects import Effects
from fourhands.core.errors import BadArgument, Conflict, NotFound
from fourhands.core.registry import Contribution
from fourhands.workbench.file import ABSENT, Entry, Workspace, Written
from fourhands.workbench.file_diff import unified
from fourhands.workbench.file_search import Found
from fourhands.workbench.undo import Turn
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.file", scope="write")

BLOB_LIMIT = 1024 * 1024
"""Bytes of a binary file that are given out; more is for programs in a terminal."""


class ReadFile(Args, frozen=True, kw_only=True):
    """Arguments of the reading commands."""

    path: Annotated[str, Meta(description="Path of a file in the workspace.")]
    start_line: Annotated[From1 | None, Meta(description="First line, from 1; default: the beginning.")] = None
    end_line: Annotated[From1 | None, Meta(description="Last line; default: the end.")] = None


class Content(Struct, frozen=True, kw_only=True, rename="camel"):
    """A file's text, or a part of it, and the version of the whole; encoding base64 means: the bytes of no text."""

    content: str
    version: str
    lines: int
    encoding: str = "utf-8"


class ReadAny(ReadFile, frozen=True, kw_only=True):
    """Arguments of `openspace.file.read`."""

    binary: Annotated[bool, Meta(description="Take a file that is no text, too: its content is base64.")] = False


async def read_content(bench: Workbench, args: ReadFile, call: Call, *, binary: bool = False) -> Content:
    """Read a file for `file.read` and `editor.read_file`; `binary` takes one that is no text, too."""
    read = await asyncio.to_thread(bench.files(call.actor).read_text, args.path)
    if read.binary:
        if not binary or read.size > BLOB_LIMIT:
            most = f", and at most {BLOB_LIMIT} are given" if binary else ""
            raise BadArgument(
                f"{args.path!r} is a binary file of {read.size} bytes{most}",
                hint="use a program in a terminal to look into it, such as file or xxd",
            )
        data = await asyncio.to_thread(bench.files(call.actor).read, args.path, limit=BLOB_LIMIT)
        return Content(content=base64.b64encode(data).decode(), version=read.version, lines=0, encoding="base64")
    session = bench.session(call)
    if session is not None:
        session.seen[read.path] = read.version
    lines = read.text.split("\n")
    text = read.text
    if args.start_line is not None or args.end_line is not None:
        text = "\n".join(lines[(args.start_line or 1) - 1 : args.end_line])
    total = len(lines) - (not lines[-1])
    return Content(content=text, version=read.version, lines=total, encoding=read.encoding)


@commands.add(
    "read", label="Read a file", read_only=True, uri="fourhands://file/{+path}", example={"path": "README.md"}
)
async def read_file(bench: Workbench, args: ReadAny, call: Call) -> Content:
    """Return the text of a file, or some lines of it."""
    return await read_content(bench, args, call, binary=args.binary)


class Write(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.file.write`."""

    path: Annotated[str, Meta(description="Path of a file in the workspace; missing directories are created.")]
    content: Annotated[str, Meta(description="The whole new text.")]
    expected_version: Annotated[
        str | None, Meta(description="Refuse unless the file has this version; 'absent': unless it is new.")
    ] = None


class Wrote(Struct, frozen=True, kw_only=True, rename="camel"):
    """The file's new version."""

    version: str
    created: bool


@commands.add("write", label="Write a file", undoable=True, example={"path": "notes.txt", "content": "hello\n"})
async def write_file(bench: Workbench, args: Write, call: Call, effects: Effects) -> Wrote:
    """Replace a file's text, or create it: wholly or not at all.

    Refused if the file has changed since you read it: read it again first.
    """
    files = bench.files(call.actor)
    session = bench.session(call)
    before, path = await asyncio.to_thread(_before, files, args.path)
    expected = args.expected_version
    if expected is None and session is not None:
        expected = session.seen.get(path)
    if call.actor.kind == "agent":
        await effects.before(path, before)
    content = args.content.encode()

    def told(written: Written) -> None:
        if session is not None:
            session.seen[written.path] = written.version
        if call.actor.kind == "agent":
            effects.undo(f"wrote {written.path}", _swap(bench, written.path, before, content, written.version))
        tell_editor(bench, written.path, written.version)

    written = await bench.writes.do(lambda: files.write(args.path, content, expected_version=expected), told)
    return Wrote(version=written.version, created=written.created)


def _before(files: Workspace, path: str) -> tuple[bytes | None, str]:
    try:
        return files.read(path), files.stat(path).path
    except NotFound:
        return None, path


def tell_editor(bench: Workbench, path: str, version: str | None) -> None:
    """Say that a file has another version now, to its editor and to everybody."""
    if any(editor.path == path for editor in bench.state.editors()):
        bench.state.set_version(path, version)
    bench.events.emit("file.changed", {"path": path, "version": version})


def _swap(bench: Workbench, path: str, other: bytes | None, mine: bytes | None, version: str) -> Turn:
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


def _changed_since(files: Workspace, path: str, mine: bytes | None) -> Conflict:
    """The refusal to overwrite what came later, with what would be lost."""
    now, _ = _before(files, path)
    return Conflict(
        f"{path} has been {'deleted' if now is None else 'changed'} since",
        hint="the diff shows what would be lost: take the action back by hand, or revert the whole file",
        path=path,
        diff=unified(path, mine, now),
    )


class List(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.file.list`."""

    path: Annotated[str, Meta(description="A directory in the workspace; '.' is its root.")] = "."


class Listed(Struct, frozen=True, kw_only=True, rename="camel"):
    """A directory's entries."""

    files: tuple[Entry, ...]


@commands.add("list", label="List a directory", read_only=True, example={"path": "src"})
async def list_files(bench: Workbench, args: List, call: Call) -> Listed:
    """List a directory: names, kinds, sizes."""
    return Listed(files=tuple(await asyncio.to_thread(bench.files(call.actor).list, args.path)))


class Search(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.file.search`."""

    query: Annotated[str, Meta(description="Part of a file's name, or text to find in files.")]
    include_pattern: Annotated[str | None, Meta(description="Only files like this, e.g. src/**/*.py")] = None
    exclude_pattern: Annotated[str | None, Meta(description="Not files like this.")] = None


@commands.add("search", label="Search files", read_only=True, example={"query": "limit", "includePattern": "*.py"})
async def search(bench: Workbench, args: Search, call: Call) -> Found:
    """Find files by name and by text: paths first by name, then by content, and the matching lines.

    What .gitignore names is left out.
    """
    files = bench.files(call.actor)
    return await asyncio.to_thread(files.search, args.query, args.include_pattern, args.exclude_pattern)


class Remove(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.file.remove`."""

    path: str
    expected_version: str | None = None


@commands.add("remove", label="Delete a file", actors=("person",), destructive=True)
async def remove(bench: Workbench, args: Remove, call: Call) -> Nothing:
    """Delete a file."""
    files = bench.files(call.actor)
    await bench.writes.do(
        lambda: files.remove(args.path, expected_version=args.expected_version),
        lambda _: tell_editor(bench, args.path, ABSENT),
    )
    return Nothing()
