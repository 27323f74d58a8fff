"""Going from one checkpoint to another on disk: each path is put back only where it is still as the first one had it.

Anything else is a conflict: it stays as it is, and is reported with its three versions. Going twice does no harm, so an
undo that was interrupted is simply done again. What differs already as wanted counts as done.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from fourhands.workbench.checkpoints.git import Budget, blob_name
from fourhands.workbench.checkpoints.repository import (
    RepositoryState,
    give_back,
    key_of,
    listed,
    read_file,
    read_refs,
    without_packed,
)
from fourhands.workbench.checkpoints.store import CheckpointStore, Difference
from fourhands.workbench.checkpoints.tree import FILE, OTHER, Entry, EntryChanged, exchange, look, remove_empty

_SECONDS = 120.0
_ALL = 256 << 20


@dataclass(frozen=True, slots=True)
class Clash:
    """A path that was not put back: what it was to become, what it was expected to be, and what it is."""

    path: bytes
    wanted: Entry | None
    expected: Entry | None
    reason: str


@dataclass(slots=True)
class Restored:
    """The outcome: what was put back, and what was not."""

    done: list[bytes] = field(default_factory=list)
    refs: list[str] = field(default_factory=list)
    clashes: list[Clash] = field(default_factory=list)
    ref_clashes: list[str] = field(default_factory=list)


def restore(
    store: CheckpointStore,
    way: Difference,
    *,
    only: Callable[[bytes], bool] | None = None,
    preview: bool = False,
) -> Restored:
    """Go the way: from the first of each pair to the second. With `preview` nothing is written."""
    budget = Budget(_SECONDS)
    outcome = Restored()
    with store.locked(budget):
        entries = {path: pair for path, pair in way.entries.items() if only is None or only(path)}
        _Writer(store, budget, outcome, preview).go(entries, way)
        if only is None:
            for below, (old, new) in sorted(way.states.items()):
                _Repository(store, below, budget, outcome, preview).go(old, new)
    return outcome


class _Writer:
    def __init__(self, store: CheckpointStore, budget: Budget, outcome: Restored, preview: bool) -> None:
        self._store = store
        self._root = store.workspace
        self._budget = budget
        self._outcome = outcome
        self._preview = preview

    def go(self, entries: dict[bytes, tuple[Entry | None, Entry | None]], way: Difference) -> None:
        """Delete first, so that a directory can become a file, then write."""
        ready: dict[bytes, tuple[Entry | None, Entry | None]] = {}
        for path, (old, new) in entries.items():
            now = look(self._root, path)
            if now == new:
                self._outcome.done.append(path)
            elif now == old or (old is None and now == OTHER):  # a directory may be gone when its files are
                ready[path] = (old, new)
            else:
                self._clash(path, old, new, _why(now))
        emptied = set[bytes]()
        for path in sorted((path for path, (_, new) in ready.items() if new is None), reverse=True):
            old, _ = ready.pop(path)
            if self._put(path, old, None, b""):
                emptied |= set(_above(path))
        if not self._preview:
            kept = {above for path, (old, new) in way.entries.items() if new is not None for above in _above(path)}
            for directory in sorted(emptied - kept, reverse=True):
                remove_empty(self._root, directory)
        self._write(ready)

    def _write(self, ready: dict[bytes, tuple[Entry | None, Entry | None]]) -> None:
        paths = sorted(ready)
        for start in range(0, len(paths), 100):
            part = paths[start : start + 100]
            names = [entry.name for path in part if (entry := ready[path][1]) is not None]
            contents = self._store.git.contents(names, self._budget, most=_ALL)
            for path in part:
                old, new = ready[path]
                assert new is not None
                content = contents.get(new.name)
                if content is None:
                    self._clash(path, old, new, "its content from before is damaged or too large")
                else:
                    self._put(path, old, new, content)

    def _put(self, path: bytes, old: Entry | None, new: Entry | None, content: bytes) -> bool:
        if not self._preview:
            try:
                exchange(self._root, path, old, new, content)
            except EntryChanged as error:
                self._clash(path, old, new, error.message.partition(": ")[2])
                return False
        self._outcome.done.append(path)
        return True

    def _clash(self, path: bytes, old: Entry | None, new: Entry | None, reason: str) -> None:
        self._outcome.clashes.append(Clash(path, new, old, reason))


class _Repository:
    """The refs, HEAD, index and objects of one repository; its other files are entries like those of the tree."""

    def __init__(self, store: CheckpointStore, below: str, budget: Budget, outcome: Restored, preview: bool) -> None:
        self._store = store
        self._root = store.workspace
        self._below = below
        self._base = f"{below}/.git".lstrip("/")
        self._budget = budget
        self._outcome = outcome
        self._preview = preview

    def go(self, old: RepositoryState | None, new: RepositoryState | None) -> None:
        """Put back what is still as it was; a repository that was not there before stays, with what is in it."""
        if new is None:
            if old is not None and look(self._root, os.fsencode(f"{self._base}/HEAD")) is not None:
                self._outcome.ref_clashes.append(f"{self._base}: a new repository, not removed")
            return
        if not self._preview:
            give_back(self._store.git, self._root, self._below, key_of(self._below), self._budget)
            if old is None or look(self._root, os.fsencode(f"{self._base}/HEAD")) is None:
                self._logs(new)
        self._refs(old.refs if old else {}, new.refs)
        self._line("HEAD", old.head if old else "", new.head)
        self._index(old, new)

    def _refs(self, old: dict[str, str], new: dict[str, str]) -> None:
        now = read_refs(self._root, self._base)
        for name in sorted(old.keys() | new.keys()):
            was, wanted, there = old.get(name, ""), new.get(name, ""), now.get(name, "")
            if was == wanted or there == wanted:
                continue
            if there != was:
                self._outcome.ref_clashes.append(f"{self._shown(name)}: it was moved since")
            elif wanted:
                self._line(name, was if self._loose(name) else None, wanted)
            else:
                self._delete(name, was)

    def _loose(self, name: str) -> bool:
        return look(self._root, os.fsencode(f"{self._base}/{name}")) is not None

    def _delete(self, name: str, was: str) -> None:
        if self._loose(name):
            self._line(name, was, None)
        packed = read_file(self._root, f"{self._base}/packed-refs", 64 << 20)
        if packed is not None and f" {name}\n".encode() in packed:
            shorter = without_packed(packed.decode("utf-8", "surrogateescape"), name).encode("utf-8", "surrogateescape")
            self._exchange("packed-refs", Entry(FILE, blob_name(packed)), shorter)

    def _line(self, name: str, was: str | None, wanted: str | None) -> None:
        """Write a file of one line, where it still has the line that it had."""
        there = read_file(self._root, f"{self._base}/{name}")
        text = None if there is None else there.decode("utf-8", "surrogateescape").strip("\n")
        if text == wanted:
            return
        if (text or "") != (was or ""):
            self._outcome.ref_clashes.append(f"{self._shown(name)}: it was moved since")
            return
        content = None if wanted is None else f"{wanted}\n".encode("utf-8", "surrogateescape")
        if self._exchange(name, None if there is None else Entry(FILE, blob_name(there)), content):
            self._outcome.refs.append(self._shown(name))

    def _index(self, old: RepositoryState | None, new: RepositoryState) -> None:
        there = read_file(self._root, f"{self._base}/index", 64 << 20)
        now = listed(self._store.git, there, self._budget)
        if now == new.index or not new.index_file:
            return
        if now != (old.index if old else ""):
            self._outcome.ref_clashes.append(f"{self._shown('index')}: other files were staged since")
            return
        content = self._store.git.contents([new.index_file], self._budget).get(new.index_file)
        if content is None:
            self._outcome.ref_clashes.append(f"{self._shown('index')}: its content from before is damaged")
        elif self._exchange("index", None if there is None else Entry(FILE, blob_name(there)), content):
            self._outcome.refs.append(self._shown("index"))

    def _logs(self, new: RepositoryState) -> None:
        contents = self._store.git.contents(list(new.logs.values()), self._budget)
        for name, blob in new.logs.items():
            path = os.fsencode(f"{self._base}/{name}")
            if blob in contents and look(self._root, path) is None:
                with suppress(EntryChanged):
                    exchange(self._root, path, None, Entry(FILE, blob), contents[blob])

    def _exchange(self, name: str, expected: Entry | None, content: bytes | None) -> bool:
        lock = look(self._root, os.fsencode(f"{self._base}/{name}.lock"))
        if lock is not None:
            self._outcome.ref_clashes.append(f"{self._shown(name)}: git is at work there ({name}.lock exists)")
            return False
        if self._preview:
            return True
        wanted = None if content is None else Entry(FILE, blob_name(content))
        try:
            exchange(self._root, os.fsencode(f"{self._base}/{name}"), expected, wanted, content or b"")
        except EntryChanged as error:
            self._outcome.ref_clashes.append(f"{self._shown(name)}: {error.message}")
            return False
        return True

    def _shown(self, name: str) -> str:
        return f"{self._below}: {name}" if self._below else name


def _why(now: Entry | None) -> str:
    if now is None:
        return "it was deleted since"
    return "something else is there, or it cannot be read" if now == OTHER else "it was changed since"


def _above(path: bytes) -> list[bytes]:
    parts = path.split(b"/")
    return [b"/".join(parts[:count]) for count in range(1, len(parts))]
