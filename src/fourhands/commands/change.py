"""Commands on files that agents changed and the person has not reviewed: list, keep, revert.

Nothing is stored for this but in the journal: it has what each file held before, and keeping or reverting is a call in
the same journal. What counts for a file is what it held before the first write after the person last settled it. Who
keeps one hunk moves that on: the kept hunk counts as held before, and the call brings the text to compare with.
What programs changed is known from the checkpoints around each turn, and listed beside.
"""

import asyncio
import difflib
from typing import Annotated, Literal

from msgspec import Meta, Struct

from fourhands.commands.base import Args, From0, Nothing
from fourhands.commands.file_undo import tell_editor
from fourhands.commands.shell_changes import LOOKED_AT as LATEST
from fourhands.commands.shell_changes import ShellChange, shell_changes
from fourhands.commands.turn import go
from fourhands.core.call import Call, JournalEntry
from fourhands.core.effects import Effects
from fourhands.core.errors import BadArgument, Conflict, FourhandsError, NotFound
from fourhands.core.registry import Contribution
from fourhands.providers.egress.network_log import HostTraffic
from fourhands.workbench.checkpoints.self_running import runs_by_itself
from fourhands.workbench.checkpoints.store import Difference
from fourhands.workbench.checkpoints.tree import LINK
from fourhands.workbench.files.encoding import FileText, decoded, encoded
from fourhands.workbench.files.replacement import ABSENT, version_of
from fourhands.workbench.files.workspace import Workspace
from fourhands.workbench.turns import Turn
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.change")

WRITING = ("openspace.file.write", "openspace.file.edit", "openspace.tool.write", "openspace.tool.edit")
"""The commands by which an agent writes a file."""

LOOKED_AT = 1000
"""The number of latest writes that are searched."""

LARGEST = 200_000
"""Bytes of a file whose text is still sent."""


class Hunk(Struct, frozen=True, kw_only=True, rename="camel"):
    """Lines that were exchanged: where they begin in each text, from 0, and how many there are in each.

    Lines are what is between two line feeds, so that the end of the last line counts too.
    """

    before_start: int
    before_lines: int
    after_start: int
    after_lines: int


class FileChange(Struct, frozen=True, kw_only=True, rename="camel"):
    """A file that agents changed; the texts are absent where it did not exist, is binary or too large to show.

    `by` says whether a command of theirs wrote it or a program in a shell, `note` what is not in the texts: another
    mode, a link. `runsByItself`: programs of yours obey it as soon as you open or enter the workspace.
    """

    path: str
    session: str
    agent: str
    version: str
    before: str | None
    after: str | None
    added: int
    removed: int
    shown: bool
    hunks: tuple[Hunk, ...] = ()
    by: Literal["command", "shell"] = "command"
    turn: str = ""
    note: str = ""
    runs_by_itself: bool = False


class ChangeList(Struct, frozen=True, kw_only=True, rename="camel"):
    """All of them by path; and turns: theirs, those that spoke to hosts, those without checkpoints.

    Each turn has the hosts that its programs spoke to, with the bytes sent and received.
    """

    changes: tuple[FileChange, ...]
    turns: tuple[Turn, ...] = ()
    unavailable: str = ""


@commands.add("list", label="List agent changes", actors=("person",), read_only=True)
async def list_changes(bench: Workbench, call: Call) -> ChangeList:
    """List the files that agents changed and you have neither kept nor reverted, with both texts.

    Files that programs changed are known where a turn has checkpoints before and after it.
    """
    files = bench.files(call.actor)
    found = []
    settled = await _settled(bench)
    written = await _open(bench, settled)
    for path, (entry, before) in written.items():
        change = await asyncio.to_thread(_compare, files, path, entry, before)
        if change is not None:
            found.append(change)
    for path, shell in (await shell_changes(bench, settled, LARGEST)).items():
        if path not in written:
            found.append(await asyncio.to_thread(_compare_shell, files, shell))
    wanted = {change.turn for change in found}
    known = bench.turns.list()
    wanted |= {turn.id for turn in known[-LATEST:] if turn.status == "open" and any(map(_to_review, turn.hosts))}
    turns = [turn for turn in known if turn.id in wanted or (turn.finished is None)]
    last = [turn for turn in known[-1:] if turn.missing and turn not in turns]
    return ChangeList(
        changes=tuple(sorted(found, key=lambda change: change.path)),
        turns=(*turns, *last),
        unavailable=bench.turns.store.unavailable,
    )


def _to_review(host: HostTraffic) -> bool:
    """Return True for a host that a person may want to know of even where no file changed; not an agent's own model."""
    return host.connections > 0 and host.by != "agent"


class SettleChange(Args, frozen=True, kw_only=True):
    """A file that agents changed, or one hunk of it."""

    path: Annotated[str, Meta(description="Path of a file in the workspace.")]
    version: Annotated[str | None, Meta(description="The version you looked at; refused if it is another by now.")] = (
        None
    )
    hunk: Annotated[
        From0 | None,
        Meta(description="Only this hunk of the list, from 0; needs the version. Default: all."),
    ] = None


@commands.add("keep", label="Keep agent changes", actors=("person",), hand=True)
async def keep(bench: Workbench, args: SettleChange, call: Call, effects: Effects) -> Nothing:
    """Accept what agents wrote to a file, or one hunk of it; it leaves the list."""
    before, shell = await _find(bench, args.path)
    bench.writes.left.pop(args.path, None)
    if args.hunk is not None:
        _no_hunk(shell)
        old, new, hunk = await asyncio.to_thread(_pick, bench.files(call.actor), args, before)
        kept = _exchange(old, new, hunk.before_start, hunk.before_lines, hunk.after_start, hunk.after_lines)
        await effects.before(args.path, kept)
    return Nothing()


@commands.add("revert", label="Revert agent changes", actors=("person",))
async def revert(bench: Workbench, args: SettleChange, call: Call) -> Nothing:
    """Restore a file, or one hunk of it, to its content before agents wrote to it; a file that they made is deleted."""
    before, shell = await _find(bench, args.path)
    bench.writes.left.pop(args.path, None)
    files = bench.files(call.actor)
    if shell is not None:
        _no_hunk(shell if args.hunk is not None else None)
        await _take_back(bench, files, args, shell)
        return Nothing()

    def exchange() -> str:
        version = args.version or files.version(args.path)
        wanted = before
        if args.hunk is not None:
            old, new, hunk = _pick(files, args, before)
            wanted = _exchange(new, old, hunk.after_start, hunk.after_lines, hunk.before_start, hunk.before_lines)
        if wanted is None:
            files.remove(args.path, expected_version=version)
            return ABSENT
        return files.write(args.path, wanted, expected_version=version).version

    await bench.writes.do(exchange, lambda version: tell_editor(bench, args.path, version))
    return Nothing()


def _no_hunk(shell: ShellChange | None) -> None:
    if shell is not None:
        raise BadArgument(f"{shell.path!r} was changed by a program: it has no hunks", hint="leave the hunk out")


async def _take_back(bench: Workbench, files: Workspace, args: SettleChange, shell: ShellChange) -> None:
    """Put back what a program changed: the very entry that was looked at, or a conflict."""
    if args.version is not None and (now := await asyncio.to_thread(_version, files, shell)) != args.version:
        raise Conflict(
            f"file {args.path!r} has changed: version {now}, expected {args.version}", hint="list the changes again"
        )
    done = await go(bench, Difference({shell.raw: (shell.now, shell.before)}))
    for conflict in done.conflicts:
        raise Conflict(f"{conflict.path} was not put back: {conflict.reason}", hint="list the changes again")


def _version(files: Workspace, shell: ShellChange) -> str:
    """Return the version of a file, or of what else is there, such as a link."""
    if shell.now is None or shell.now.mode not in ("100644", "100755"):
        return ABSENT if shell.now is None else f"{shell.now.mode} {shell.now.name}"
    return files.version(shell.path) if shell.path.encode() == shell.raw else shell.now.name


def _pick(files: Workspace, args: SettleChange, before: bytes | None) -> tuple[FileText, FileText, Hunk]:
    """Return both texts, and the hunk that is meant."""
    if args.version is None:
        raise BadArgument("a hunk needs the version it was seen in", hint="openspace.change.list gives both")
    if before is None:
        raise BadArgument(f"{args.path!r} is new: it has one hunk", hint="leave the hunk out to keep or revert it")
    new = files.read_text(args.path)
    if new.version != args.version:
        raise Conflict(
            f"file {args.path!r} has changed: version {new.version}, expected {args.version}",
            hint="list the changes again",
            version=new.version,
        )
    old = decoded(before, path=args.path, version="")
    hunks = _hunks(old.text, new.text)
    if old.binary or new.binary or args.hunk is None or args.hunk >= len(hunks):
        raise NotFound.of("hunk", str(args.hunk), map(str, range(len(hunks))))
    return old, new, hunks[args.hunk]


def _exchange(into: FileText, out_of: FileText, start: int, count: int, other: int, others: int) -> bytes:
    """Return a text with some of its lines exchanged for those of the other."""
    lines = into.text.split("\n")
    lines[start : start + count] = out_of.text.split("\n")[other : other + others]
    return encoded("\n".join(lines), into.encoding)


def _hunks(old: str, new: str) -> tuple[Hunk, ...]:
    matcher = difflib.SequenceMatcher(None, old.split("\n"), new.split("\n"))
    return tuple(
        Hunk(before_start=i, before_lines=i2 - i, after_start=j, after_lines=j2 - j)
        for tag, i, i2, j, j2 in matcher.get_opcodes()
        if tag != "equal"
    )


async def _find(bench: Workbench, path: str) -> tuple[bytes | None, ShellChange | None]:
    """Return what a file held before agents wrote it, or what a program changed of it."""
    settled = await _settled(bench)
    there = await _open(bench, settled)
    if path in there:
        return there[path][1], None
    shell = await shell_changes(bench, settled, LARGEST)
    if path not in shell:
        raise NotFound.of("change", path, [*there, *shell])
    return None, shell[path]


async def _settled(bench: Workbench) -> dict[str, float]:
    """Return by path when the person last kept or took back all of it."""
    settled: dict[str, float] = {}
    for command in ("openspace.change.revert", "openspace.change.keep"):
        for entry in await bench.journal.query(command=command, limit=LOOKED_AT):
            if entry.result is None or not entry.result.success or entry.call.args.get("hunk") is not None:
                continue
            path, when = str(entry.call.args.get("path")), entry.finished or entry.asked
            settled[path] = max(when, settled.get(path, 0.0))
    return settled


async def _open(bench: Workbench, settled: dict[str, float]) -> dict[str, tuple[JournalEntry, bytes | None]]:
    """Return by path the first write not settled since, and the content before it, with hunks that were kept."""
    partly: dict[str, JournalEntry] = {}
    for entry in await bench.journal.query(command="openspace.change.keep", limit=LOOKED_AT):
        if entry.result is not None and entry.result.success and entry.call.args.get("hunk") is not None:
            partly[str(entry.call.args.get("path"))] = entry
    first: dict[str, tuple[JournalEntry, bytes | None]] = {}
    writes = [entry for command in WRITING for entry in await bench.journal.query(command=command, limit=LOOKED_AT)]
    for entry in sorted(writes, key=lambda entry: entry.asked):
        if entry.call.session is None or entry.result is None or not entry.result.success:
            continue
        for path, content in (await bench.journal.before(entry.call.id)).items():
            if path not in first and entry.asked > settled.get(path, 0.0):
                first[path] = (entry, content)
    for path in first.keys() & partly.keys():
        if partly[path].asked > settled.get(path, 0.0):
            first[path] = (first[path][0], (await bench.journal.before(partly[path].call.id))[path])
    return first


def _compare(files: Workspace, path: str, entry: JournalEntry, before: bytes | None) -> FileChange | None:
    version = files.version(path)
    if version == (ABSENT if before is None else version_of(before)):
        return None
    try:
        after: bytes | None = files.read(path, limit=LARGEST + 1)
    except NotFound:
        after, version = None, ABSENT
    old, new = _text(before, path), _text(after, path)
    shown = (before is None or old is not None) and (after is None or new is not None)
    hunks = _hunks(old or "", new or "") if shown else ()
    return FileChange(
        path=path,
        session=entry.call.actor.id,
        agent=entry.call.actor.name,
        version=version,
        before=old if shown else None,
        after=new if shown else None,
        added=sum(hunk.after_lines for hunk in hunks),
        removed=sum(hunk.before_lines for hunk in hunks),
        shown=shown,
        hunks=hunks,
        turn=entry.turn,
        runs_by_itself=runs_by_itself(path),
    )


def _compare_shell(files: Workspace, shell: ShellChange) -> FileChange:
    path, before, now = shell.path, shell.before, shell.now
    after: bytes | None = None
    note = ""
    plain_now = now is not None and now.mode in ("100644", "100755")
    if plain_now and path.encode() == shell.raw:
        try:
            after = files.read(path, limit=LARGEST + 1)
        except FourhandsError:
            plain_now = False
    if before is not None and now is not None and before.mode != now.mode:
        note = "link" if LINK in (before.mode, now.mode) else "mode"
    elif LINK in (before.mode if before else "", now.mode if now else ""):
        note = "link"
    old, new = _text(shell.content, path), _text(after, path)
    shown = note != "link" and (before is None or old is not None) and (now is None or new is not None)
    hunks = _hunks(old or "", new or "") if shown else ()
    return FileChange(
        path=path,
        session=shell.turn.session,
        agent=shell.turn.agent,
        version=_version(files, shell),
        before=old if shown else None,
        after=new if shown else None,
        added=sum(hunk.after_lines for hunk in hunks),
        removed=sum(hunk.before_lines for hunk in hunks),
        shown=shown,
        hunks=hunks,
        by="shell",
        turn=shell.turn.id,
        note=note,
        runs_by_itself=runs_by_itself(path),
    )


def _text(data: bytes | None, path: str) -> str | None:
    if data is None or len(data) > LARGEST:
        return None
    read = decoded(data, path=path, version="")
    return None if read.binary else read.text
