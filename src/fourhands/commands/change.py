"""Commands on what agents wrote and the person has not looked through yet: list it, keep it, take it back.

Nothing is stored for this: the journal has what each file held before, and keeping or reverting is a call in the same
journal. What counts for a file is what it held before the first write after the person last settled it.
"""

import asyncio
import difflib
from typing import Annotated

from msgspec import Meta, Struct

from fourhands.commands.base import Args, Nothing
from fourhands.commands.file import tell_editor
from fourhands.core.call import Call, Entry
from fourhands.core.errors import NotFound
from fourhands.core.registry import Contribution
from fourhands.workbench.file import ABSENT, Workspace
from fourhands.workbench.file_text import decoded
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.change")

LOOKED_AT = 1000
"""How many of the last writes are looked through."""

LARGEST = 200_000
"""Bytes of a file whose text is still sent."""


class FileChange(Struct, frozen=True, kw_only=True, rename="camel"):
    """A file that agents changed; the texts are absent where it did not exist, is binary or too large to show."""

    path: str
    session: str
    agent: str
    version: str
    before: str | None
    after: str | None
    added: int
    removed: int
    shown: bool


class Changes(Struct, frozen=True, kw_only=True, rename="camel"):
    """All of them, in the order of their paths."""

    changes: tuple[FileChange, ...]


@commands.add("list", label="List what agents changed", actors=("person",), read_only=True)
async def list_changes(bench: Workbench, call: Call) -> Changes:
    """List the files that agents wrote and you have neither kept nor reverted, with both texts."""
    files = bench.files(call.actor)
    found = []
    for path, (entry, before) in sorted((await _open(bench)).items()):
        change = await asyncio.to_thread(_compare, files, path, entry, before)
        if change is not None:
            found.append(change)
    return Changes(changes=tuple(found))


class Settle(Args, frozen=True, kw_only=True):
    """A file that agents changed."""

    path: Annotated[str, Meta(description="Path of a file in the workspace.")]
    version: Annotated[str | None, Meta(description="The version you looked at; refused if it is another by now.")] = (
        None
    )


@commands.add("keep", label="Keep what agents changed", actors=("person",))
async def keep(bench: Workbench, args: Settle) -> Nothing:
    """Accept what agents wrote to a file; it leaves the list."""
    await _find(bench, args.path)
    return Nothing()


@commands.add("revert", label="Revert what agents changed", actors=("person",))
async def revert(bench: Workbench, args: Settle, call: Call) -> Nothing:
    """Give a file back what it held before agents wrote to it; a file that they made is deleted."""
    before = await _find(bench, args.path)
    files = bench.files(call.actor)

    def exchange() -> str:
        version = args.version or files.version(args.path)
        if before is None:
            files.remove(args.path, expected_version=version)
            return ABSENT
        return files.write(args.path, before, expected_version=version).version

    tell_editor(bench, args.path, await asyncio.to_thread(exchange))
    return Nothing()


async def _find(bench: Workbench, path: str) -> bytes | None:
    there = await _open(bench)
    if path not in there:
        raise NotFound.of("change", path, there)
    return there[path][1]


async def _open(bench: Workbench) -> dict[str, tuple[Entry, bytes | None]]:
    """By path: the first write that was not settled since, and what the file held before it."""
    settled: dict[str, float] = {}
    for entry in await bench.journal.query(command="openspace.change.", limit=LOOKED_AT):
        if entry.result is not None and entry.result.success and not entry.call.command.endswith(".list"):
            settled[str(entry.call.args.get("path"))] = entry.finished or entry.asked
    first: dict[str, tuple[Entry, bytes | None]] = {}
    for entry in await bench.journal.query(command="openspace.file.write", limit=LOOKED_AT):
        if entry.call.actor.kind != "agent" or entry.result is None or not entry.result.success:
            continue
        for path, content in (await bench.journal.before(entry.call.id)).items():
            if path not in first and entry.asked > settled.get(path, 0.0):
                first[path] = (entry, content)
    return first


def _compare(files: Workspace, path: str, entry: Entry, before: bytes | None) -> FileChange | None:
    try:
        after: bytes | None = files.read(path)
        version = files.version(path)
    except NotFound:
        after, version = None, ABSENT
    if after == before:
        return None
    old, new = _text(before, path), _text(after, path)
    shown = (before is None or old is not None) and (after is None or new is not None)
    added = removed = 0
    if shown:
        for line in difflib.unified_diff((old or "").splitlines(), (new or "").splitlines(), n=0, lineterm=""):
            added += line.startswith("+") and not line.startswith("+++")
            removed += line.startswith("-") and not line.startswith("---")
    return FileChange(
        path=path,
        session=entry.call.actor.id,
        agent=entry.call.actor.name,
        version=version,
        before=old if shown else None,
        after=new if shown else None,
        added=added,
        removed=removed,
        shown=shown,
    )


def _text(data: bytes | None, path: str) -> str | None:
    if data is None or len(data) > LARGEST:
        return None
    read = decoded(data, path=path, version="")
    return None if read.binary else read.text
