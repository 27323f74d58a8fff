"""Replacement of a workspace's file: versions, and a new content that is there wholly or not at all.

A version is a digest of the content, not a time: times tick too slowly to tell two quick saves apart, differ after
a checkout that changed nothing, and undo asks if the content is still what was written. Comparing and replacing are
one step for everything in this process. A program outside can still slip into the few microseconds between the two:
POSIX has no rename that compares.
"""

import hashlib
import os
import secrets
import stat
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Final, Protocol

from msgspec import Struct

from fourhands.core.errors import Conflict, Denied
from fourhands.safety.paths.errors import shown
from fourhands.safety.paths.walk import PathSystem, PathWalk

ABSENT: Final = "absent"
"""The version of a file that is not there: expect it in order to create and never to replace."""

CHUNK = 1 << 20
"""Bytes that are read at once."""

REPLACING = threading.Lock()
"""Held while a version is compared and the name is given to the new content.

One for the process: a person's and an agent's view of one directory are two objects.
"""


class FileSystem(PathSystem, Protocol):
    """The calls to the operating system that reading and replacing files make."""

    def access(self, path: str, mode: int, *, dir_fd: int | None = None, effective_ids: bool = False) -> bool:
        """Return True if this process may use a file so; see `os.access`."""
        ...

    def fchmod(self, fd: int, mode: int) -> None:
        """Change a file's mode; see `os.fchmod`."""
        ...

    def fchown(self, fd: int, uid: int, gid: int) -> None:
        """Change a file's owner; see `os.fchown`."""
        ...

    def pread(self, fd: int, length: int, offset: int, /) -> bytes:
        """Read from a position; see `os.pread`."""
        ...

    def rename(self, src: str, dst: str, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None) -> None:
        """Rename a file; see `os.rename`."""
        ...

    def scandir(self, path: int) -> AbstractContextManager[Iterator[os.DirEntry[Any]]]:
        """List a directory; see `os.scandir`."""
        ...

    def unlink(self, path: str, *, dir_fd: int | None = None) -> None:
        """Remove a file; see `os.unlink`."""
        ...


class Written(Struct, frozen=True, kw_only=True, rename="camel"):
    """The outcome of a write: the resolved path, the new version, if the file is new, and the bytes it kept."""

    path: str
    version: str
    created: bool
    kept: int = 0


def version_of(data: bytes) -> str:
    """Return the version of some content: equal for equal content, and for nothing else."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def current_version(place: PathWalk) -> str:
    """Return the version of what has the name now, which may be newer than the walk's own status."""
    try:
        place.look_again()
        fd = place.open_file()
    except FileNotFoundError:
        return ABSENT
    digest = hashlib.blake2b(digest_size=16)
    try:
        while piece := os.read(fd, CHUNK):
            digest.update(piece)
    finally:
        os.close(fd)
    return digest.hexdigest()


def changed(path: str, current: str, expected: str) -> Conflict:
    """Return the error for a file that has another version than expected."""
    what = "is gone" if current == ABSENT else "exists already" if expected == ABSENT else "has changed"
    return Conflict(
        f"file {shown(path)} {what}: version {current}, expected {expected}",
        hint="read it again, and write what fits the content it has now",
        path=path,
        version=current,
        expected=expected,
    )


def check_version(place: PathWalk, expected: str | None) -> None:
    """Raise `Conflict` unless the file still has the expected version; None expects nothing."""
    if expected is None:
        return
    current = current_version(place)
    if current != expected:
        raise changed(place.given, current, expected)


def replace_content(
    place: PathWalk, data: bytes, expected: str | None, keep: int | None, system: FileSystem = os
) -> Written:
    """Replace a file by its first `keep` bytes (None: all) with `data` behind them, or create it."""
    status = place.status
    if status is not None or not place.name:
        place.check_regular()
        if not system.access(place.name, os.W_OK, dir_fd=place.fd, effective_ids=True):
            raise Denied(f"file {shown(place.given)} is read-only", hint="its mode forbids writing", path=place.given)
    temporary = f".fourhands-{secrets.token_hex(8)}.tmp"
    # A new file gets what the umask leaves. What replaces an old one is closed until it has the old one's mode.
    mode = 0o666 if status is None else 0o600
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode, dir_fd=place.fd)
    try:
        try:
            if status is not None:
                keep_owner_and_mode(fd, status, system)
            kept, old, digest = 0, expected, hashlib.blake2b(digest_size=16)
            if keep != 0:
                kept, old = (0, ABSENT) if status is None else _copy(place, fd, keep, digest)
            digest.update(data)
            _write_all(fd, data)
            system.fsync(fd)
        finally:
            os.close(fd)
        with REPLACING:
            check_version(place, expected)
            if old != expected:  # what was copied must still be there
                check_version(place, old)
            system.rename(temporary, place.name, src_dir_fd=place.fd, dst_dir_fd=place.fd)
    except BaseException:
        with suppress(OSError):
            system.unlink(temporary, dir_fd=place.fd)
        raise
    place.sync_directory()
    return Written(path=place.path, version=digest.hexdigest(), created=status is None, kept=kept)


def _copy(place: PathWalk, into: int, most: int | None, digest: "hashlib.blake2b") -> tuple[int, str]:
    """Copy the first bytes of a file (None: all); return how many they were, and the version of the whole file."""
    whole, kept = hashlib.blake2b(digest_size=16), 0
    with opened(place) as fd:
        while piece := os.read(fd, CHUNK):
            whole.update(piece)
            part = piece if most is None else piece[: max(most - kept, 0)]
            digest.update(part)
            _write_all(into, part)
            kept += len(part)
    return kept, whole.hexdigest()


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


@contextmanager
def opened(place: PathWalk) -> Iterator[int]:
    """Open the file that a walk has reached, for the length of the block."""
    fd = place.open_file()
    try:
        yield fd
    finally:
        os.close(fd)


def keep_owner_and_mode(fd: int, status: os.stat_result, system: FileSystem = os) -> None:
    """Set a new file's owner, as far as that is possible, and mode to those of the one that it replaces."""
    mine = os.fstat(fd)
    if (mine.st_uid, mine.st_gid) != (status.st_uid, status.st_gid):
        try:
            system.fchown(fd, status.st_uid, status.st_gid)
        except PermissionError:
            with suppress(PermissionError):  # the group alone may still be ours to give
                system.fchown(fd, -1, status.st_gid)
    # Without set-uid and set-gid, as the kernel takes them away when a file is written.
    system.fchmod(fd, stat.S_IMODE(status.st_mode) & 0o1777)
