"""The difference that a rehearsal made: what it wrote beside the workspace, compared with the workspace itself.

The upper directory of an overlay has what was written. A character device with the number 0:0 stands for what was
deleted, and a directory that is marked as opaque hides all that is below it. Nothing in it is trusted: names are bytes,
no link is followed, and what is no file, link or directory is named but never taken over.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, NoReturn

from fourhands.workbench.checkpoints.tree import OTHER, Entry, look, parent

Kind = Literal["created", "changed", "deleted"]

_OPAQUE = ("user.overlay.opaque", "trusted.overlay.opaque")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_GIT = b".git"


@dataclass(frozen=True, slots=True)
class DifferenceLimits:
    """The most that is compared; a larger difference is counted, and can only be discarded or run for real."""

    entries: int = 100_000
    bytes: int = 1 << 30
    file_bytes: int = 64 << 20
    depth: int = 200


@dataclass(frozen=True, slots=True)
class PathChange:
    """A path that a rehearsal left in another state; `clash` says why that cannot be written to the workspace."""

    path: bytes
    old: Entry | None
    new: Entry | None
    old_size: int = 0
    new_size: int = 0
    clash: str = ""

    @property
    def kind(self) -> Kind:
        """The kind of change."""
        return "created" if self.old is None else "deleted" if self.new is None else "changed"


@dataclass(slots=True)
class TreeDifference:
    """All that a rehearsal changed in the workspace; `too_much` says why it was not read to its end."""

    changes: list[PathChange] = field(default_factory=list)
    made: list[bytes] = field(default_factory=list)
    """Directories that are new."""
    gone: list[bytes] = field(default_factory=list)
    """Directories that are no longer there."""
    git: list[bytes] = field(default_factory=list)
    """Paths inside of git's own directories, which are not compared."""
    too_much: str = ""

    @property
    def empty(self) -> bool:
        """True if the workspace would stay as it is."""
        return not (self.changes or self.made or self.gone or self.git or self.too_much)


class _TooMuch(Exception):
    pass


def read_difference(
    root: str,
    upper: str,
    began: float,
    limits: DifferenceLimits = DifferenceLimits(),  # noqa: B008 - it is frozen
) -> TreeDifference:
    """Return what differs between a workspace and an overlay of it whose programs have all ended. Blocking.

    A file of the workspace that was changed since `began` cannot be told from what the rehearsal saw: it is a clash.
    """
    reader = _Reader(root, upper, began, limits)
    with suppress(_TooMuch):
        reader.read(b"", masked=False)
    return reader.found


class _Reader:
    def __init__(self, root: str, upper: str, began: float, limits: DifferenceLimits) -> None:
        self.found = TreeDifference()
        self._root = root
        self._upper = upper
        self._began = began
        self._limits = limits
        self._entries = 0
        self._bytes = 0

    def read(self, path: bytes, *, masked: bool) -> None:
        """Read one directory of the upper tree; `masked`: it hides what the workspace has below it."""
        seen = set[bytes]()
        for name, status in self._written_in(path):
            inner = _join(path, name)
            seen.add(name)
            self._count(inner)
            if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
                self._deleted(inner)
            elif stat.S_ISDIR(status.st_mode):
                self._directory(inner, masked=masked)
            else:
                self._written(inner, status)
        if masked:
            for name, _ in _entries(self._root, path):
                if name not in seen:
                    self._deleted(_join(path, name))

    def _written_in(self, path: bytes) -> list[tuple[bytes, os.stat_result]]:
        """Return the entries of an upper directory; a program may have closed it, and no program is left."""
        try:
            return list(_entries(self._upper, path, strict=True))
        except PermissionError:
            with suppress(OSError), parent(self._upper, path) as (fd, last):
                os.chmod(last, 0o700, dir_fd=fd)
        try:
            return list(_entries(self._upper, path, strict=True))
        except OSError as error:
            self._stop(f"what it wrote cannot be read: {error.strerror}")

    def _directory(self, path: bytes, *, masked: bool) -> None:
        there = _status(self._root, path)
        if there is None or not stat.S_ISDIR(there.st_mode):
            if there is not None:
                self._change(path, None, None, there)  # a file made way for it
            if not _in_git(path):
                self.found.made.append(path)
            self.read(path, masked=True)
        else:
            self.read(path, masked=masked or _opaque(self._upper, path))

    def _written(self, path: bytes, status: os.stat_result) -> None:
        there = _status(self._root, path)
        if there is not None and stat.S_ISDIR(there.st_mode):
            self._deleted(path)
            there = None
        self._change(path, look(self._upper, path) if self._readable(path, status) else OTHER, status, there)

    def _deleted(self, path: bytes) -> None:
        there = _status(self._root, path)
        if there is None:
            return  # someone else has deleted it too
        if not stat.S_ISDIR(there.st_mode):
            self._change(path, None, None, there)
            return
        self._count(path)
        if not _in_git(path):
            self.found.gone.append(path)
        for name, _ in _entries(self._root, path):
            self._deleted(_join(path, name))

    def _change(
        self, path: bytes, new: Entry | None, status: os.stat_result | None, there: os.stat_result | None
    ) -> None:
        """Take note of a path that may differ; what differs only in its times is the same."""
        self._count(path)
        if _in_git(path):
            self.found.git.append(path)
            return
        old: Entry | None = None
        clash = ""
        if there is not None:
            old = look(self._root, path) if self._readable(path, there) else OTHER
            if there.st_ctime >= self._began:
                clash = "it was changed while the rehearsal ran"
            elif old is None:
                return
            elif old == OTHER:
                clash = _why_not(there, self._limits)
        if new == old and new != OTHER:
            return
        if new == OTHER and status is not None:
            clash = clash or _why_not(status, self._limits)
        self.found.changes.append(PathChange(path, old, new, _size(there), _size(status), clash))

    def _readable(self, path: bytes, status: os.stat_result) -> bool:
        if stat.S_ISREG(status.st_mode):
            self._bytes += status.st_size
            if self._bytes > self._limits.bytes:
                self._stop(f"it would change more than {self._limits.bytes >> 20} MB")
            return status.st_size <= self._limits.file_bytes
        return stat.S_ISLNK(status.st_mode)

    def _count(self, path: bytes) -> None:
        self._entries += 1
        if path.count(b"/") > self._limits.depth:
            self._stop(f"it has directories deeper than {self._limits.depth}")
        if self._entries > self._limits.entries:
            self._stop(f"it would change more than {self._limits.entries} files")

    def _stop(self, why: str) -> NoReturn:
        self.found.too_much = why
        raise _TooMuch


def usage(places: list[str], most: int) -> tuple[int, int]:
    """Return the bytes and the entries below directories, counted until there are more than `most` entries. Blocking.

    No link is followed, and what programs remove meanwhile does not count.
    """
    total = count = 0
    todo = list(places)
    while todo and count <= most:
        with suppress(OSError), os.scandir(todo.pop()) as entries:
            for entry in entries:
                count += 1
                with suppress(OSError):
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
    return total, count


def _entries(root: str, path: bytes, *, strict: bool = False) -> Iterator[tuple[bytes, os.stat_result]]:
    """Return the entries of a directory, by name; unless `strict`, none where it is not there or cannot be read."""
    try:
        with parent(root, path + b"/.x" if path else b".x") as (fd, _):
            names = sorted(map(os.fsencode, os.listdir(fd)))
            found = []
            for name in names:
                with suppress(FileNotFoundError):
                    found.append((name, os.stat(name, dir_fd=fd, follow_symlinks=False)))
    except OSError:
        if strict:
            raise
        return
    yield from found


def _status(root: str, path: bytes) -> os.stat_result | None:
    try:
        with parent(root, path) as (fd, last):
            return os.stat(last, dir_fd=fd, follow_symlinks=False)
    except OSError:
        return None


def _opaque(upper: str, path: bytes) -> bool:
    try:
        with parent(upper, path) as (fd, last):
            inner = os.open(last, _DIRECTORY, dir_fd=fd)
    except OSError:
        return False
    try:
        for name in _OPAQUE:
            with suppress(OSError):
                if os.getxattr(inner, name).startswith(b"y"):
                    return True
        return False
    finally:
        os.close(inner)


def _in_git(path: bytes) -> bool:
    return _GIT in path.split(b"/")


def _join(path: bytes, name: bytes) -> bytes:
    return path + b"/" + name if path else name


def _size(status: os.stat_result | None) -> int:
    return status.st_size if status is not None and stat.S_ISREG(status.st_mode) else 0


def _why_not(status: os.stat_result, limits: DifferenceLimits) -> str:
    if not stat.S_ISREG(status.st_mode):
        return "it is no file, link or directory"
    if status.st_size > limits.file_bytes:
        return f"it is larger than {limits.file_bytes >> 20} MB"
    return "it cannot be read"
