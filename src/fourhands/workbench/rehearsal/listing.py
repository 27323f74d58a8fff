"""The list of what a rehearsal would change, as people read it: directories that go or come as a whole are one row."""

import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec import Struct

from fourhands.safety.paths.policy import plain
from fourhands.workbench.checkpoints.git import blob_name
from fourhands.workbench.checkpoints.repository import read_file
from fourhands.workbench.checkpoints.self_running import runs_by_itself
from fourhands.workbench.checkpoints.tree import LINK, OTHER, Entry
from fourhands.workbench.files.diff import LARGEST, unified
from fourhands.workbench.rehearsal.difference import Kind, PathChange, TreeDifference

ROWS = 300
DIFFS = 300_000
"""Characters of all diffs together."""

_WHOLE = 20  # new files in a new directory from which on it is one row


class RehearsedChange(Struct, frozen=True, kw_only=True, rename="camel"):
    """A path that would change. Of a directory, `files` and `bytes` count what is below it; `conflict` says why not."""

    path: str
    kind: Kind
    directory: bool = False
    files: int = 1
    bytes: int = 0
    note: str = ""
    runs_by_itself: bool = False
    conflict: str = ""
    diff: str = ""


@dataclass(frozen=True, slots=True)
class RehearsalListing:
    """The rows, how many more there are, and the files of each kind."""

    rows: tuple[RehearsedChange, ...] = ()
    left_out: int = 0
    counts: dict[str, int] = field(default_factory=dict)


def listing(root: str, upper: str, found: TreeDifference) -> RehearsalListing:
    """Return what people are shown of a difference. Blocking: it reads the files that it compares."""
    counts: dict[str, int] = defaultdict(int)
    below: dict[bytes, list[PathChange]] = defaultdict(list)
    gone, made = _outermost(found.gone), _outermost(found.made)
    alone: list[PathChange] = []
    for change in found.changes:
        counts[change.kind] += 1
        places = gone if change.kind == "deleted" else made if change.kind == "created" else frozenset[bytes]()
        above = next((place for place in _above(change.path) if place in places), None)
        if above is None:
            alone.append(change)
        else:
            below[above].append(change)
    rows: list[tuple[bytes, RehearsedChange | PathChange]] = []
    for place in sorted({*gone, *made}):
        inside = below.pop(place, [])
        if place in made and 0 < len(inside) <= _WHOLE:
            alone += inside
        else:
            rows.append((place, _directory(place, "deleted" if place in gone else "created", inside)))
    rows += [(change.path, change) for change in alone]
    rows.sort(key=lambda row: row[0])
    room = DIFFS
    shown: list[RehearsedChange] = []
    for _, row in rows[:ROWS]:
        if isinstance(row, PathChange):
            row = _row(root, upper, row, with_diff=room > 0)
            room -= len(row.diff)
        shown.append(row)
    return RehearsalListing(tuple(shown), len(rows) - len(shown), dict(counts))


def shown_path(path: bytes) -> str:
    """Return a path as people read it: nothing in it is hidden."""
    text = plain(os.fsdecode(path))
    return "".join(sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in text)


def _row(root: str, upper: str, change: PathChange, *, with_diff: bool) -> RehearsedChange:
    path = shown_path(change.path)
    note = ""
    modes = [entry.mode for entry in (change.old, change.new) if entry is not None]
    if OTHER in (change.old, change.new):
        note = "no file"
    elif LINK in modes:
        note = "link"
    elif change.old is not None and change.new is not None and change.old.name == change.new.name:
        note = "mode"
    return RehearsedChange(
        path=path,
        kind=change.kind,
        bytes=change.old_size if change.new is None else change.new_size,
        note=note,
        runs_by_itself=change.new is not None and runs_by_itself(path),
        conflict=change.clash,
        diff="" if note or not with_diff else _diff(root, upper, change, path),
    )


def _directory(place: bytes, kind: Kind, inside: list[PathChange]) -> RehearsedChange:
    path = shown_path(place)
    names = (path, *(shown_path(change.path) for change in inside))
    return RehearsedChange(
        path=path,
        kind=kind,
        directory=True,
        files=len(inside),
        bytes=sum(change.old_size if kind == "deleted" else change.new_size for change in inside),
        runs_by_itself=kind == "created" and any(map(runs_by_itself, names)),
        conflict=next((change.clash for change in inside if change.clash), ""),
    )


def _diff(root: str, upper: str, change: PathChange, path: str) -> str:
    old, new = _content(root, change.path, change.old), _content(upper, change.path, change.new)
    if (old is None) != (change.old is None) or (new is None) != (change.new is None):
        return ""
    return unified(path, old, new)


def _content(root: str, path: bytes, entry: Entry | None) -> bytes | None:
    if entry is None:
        return None
    content = read_file(root, os.fsdecode(path), LARGEST)
    return content if content is not None and blob_name(content) == entry.name else None


def _outermost(paths: Iterable[bytes]) -> frozenset[bytes]:
    """Return the directories that do not lie below another one of them."""
    found: set[bytes] = set()
    for path in sorted(paths):
        if not any(above in found for above in _above(path)):
            found.add(path)
    return frozenset(found)


def _above(path: bytes) -> list[bytes]:
    """Return the directories above a path, the outermost first."""
    parts = path.split(b"/")
    return [b"/".join(parts[:count]) for count in range(1, len(parts))]
