"""The tree on disk, entry by entry, as git names it: read and replaced without following any link and without a race.

Paths are bytes, as the file system has them. Every step is made from an open directory; what takes the place of an
entry is exchanged with it in one step of the kernel and looked at afterwards, and goes back if it was not what was
expected.
"""

import ctypes
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from fourhands.core.errors import Conflict
from fourhands.workbench.checkpoints.git import blob_name

LINK, FILE, PROGRAM = "120000", "100644", "100755"

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NOREPLACE, _EXCHANGE = 1, 2
_CHUNK = 1 << 20
_UNFINISHED = 0o200  # the mode of what is being prepared: no file of a person has it


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry at a path: git's mode, and the name of the content."""

    mode: str
    name: str


OTHER = Entry("other", "")
"""A directory, pipe, socket or device, or what cannot be read: never what was expected."""


class EntryChanged(Conflict):
    """An entry that is not what was expected."""


def temporary_name(name: bytes) -> bytes:
    """Return the name under which what replaces an entry is prepared: the same each time, so that none is left."""
    return b".fourhands-%b.tmp" % hashlib.blake2b(name, digest_size=8).hexdigest().encode()


@contextmanager
def parent(root: str, path: bytes, *, make: bool = False) -> Iterator[tuple[int, bytes]]:
    """Open the directory of a path, step by step from the root, and give its descriptor and the last name."""
    *above, last = path.split(b"/")
    if any(part in (b"", b".", b"..") for part in (*above, last)):
        raise EntryChanged(f"{os.fsdecode(path)!r} is no path inside the workspace")
    fd = os.open(root, _DIRECTORY)
    try:
        for part in above:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=fd)
            inner = os.open(part, _DIRECTORY, dir_fd=fd)
            os.close(fd)
            fd = inner
        yield fd, last
    finally:
        os.close(fd)


def look(root: str, path: bytes) -> Entry | None:
    """Return what is at a path now; None: nothing."""
    try:
        with parent(root, path) as (fd, last):
            return entry_at(fd, last)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            return None  # a file or a link is where the directory was
        return OTHER


def entry_at(fd: int, name: bytes) -> Entry | None:
    """Return what an entry of an open directory is."""
    try:
        status = os.stat(name, dir_fd=fd, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            return Entry(LINK, blob_name(os.readlink(name, dir_fd=fd)))
        if not stat.S_ISREG(status.st_mode):
            return OTHER
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
    except FileNotFoundError:
        return None
    except OSError:
        return OTHER
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            return OTHER
        digest = hashlib.sha1(b"blob %d\0" % status.st_size, usedforsecurity=False)
        size = 0
        while piece := os.read(file, _CHUNK):
            digest.update(piece)
            size += len(piece)
        if size != status.st_size:
            return OTHER  # it is being written
        return Entry(PROGRAM if status.st_mode & 0o100 else FILE, digest.hexdigest())
    except OSError:
        return OTHER
    finally:
        os.close(file)


def exchange(root: str, path: bytes, expected: Entry | None, wanted: Entry | None, content: bytes) -> None:
    """Put `wanted` (with this content) where `expected` is. Raises `EntryChanged` if something else is there."""
    try:
        with parent(root, path, make=wanted is not None) as (fd, last):
            spare = temporary_name(last)
            _clear(fd, spare, {expected, wanted})
            if wanted is not None:
                _prepare(fd, last, spare, wanted, content)
            try:
                _swap(fd, last, spare, expected, wanted)
            except BaseException:
                with suppress(OSError):
                    if entry_at(fd, spare) == wanted:
                        os.unlink(spare, dir_fd=fd)
                raise
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP, errno.ENOENT, errno.EISDIR):
            raise _changed(path, "its directory is another one by now") from error
        raise _changed(path, error.strerror or "it cannot be written") from error


def remove_empty(root: str, path: bytes) -> None:
    """Remove a directory if nothing is in it."""
    with suppress(OSError, EntryChanged), parent(root, path) as (fd, last):
        os.rmdir(last, dir_fd=fd)


def _swap(fd: int, last: bytes, spare: bytes, expected: Entry | None, wanted: Entry | None) -> None:
    if entry_at(fd, last) != expected:
        raise _changed(last, "it was changed since")
    if expected is None:
        _rename(fd, spare, last, _NOREPLACE)
        return
    if wanted is None:
        _rename(fd, last, spare, _NOREPLACE)
    else:
        _rename(fd, spare, last, _EXCHANGE)
    # Now `spare` has what was there: the very thing, and not what it was a moment ago.
    if entry_at(fd, spare) != expected:
        _rename(fd, spare, last, _NOREPLACE if wanted is None else _EXCHANGE)
        raise _changed(last, "it was changed at this moment")
    os.unlink(spare, dir_fd=fd)


def _prepare(fd: int, last: bytes, spare: bytes, wanted: Entry, content: bytes) -> None:
    if wanted.mode == LINK:
        os.symlink(content, spare, dir_fd=fd)
        return
    file = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, _UNFINISHED, dir_fd=fd)
    try:
        mode = 0o666 & ~_UMASK
        with suppress(FileNotFoundError):
            there = os.stat(last, dir_fd=fd, follow_symlinks=False)
            if stat.S_ISREG(there.st_mode):
                mode = stat.S_IMODE(there.st_mode) & 0o777
        mode = mode | (mode & 0o444) >> 2 if wanted.mode == PROGRAM else mode & ~0o111
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(file, rest) :]
        os.fchmod(file, mode)
        os.fsync(file)
    finally:
        os.close(file)


def _clear(fd: int, spare: bytes, known: set[Entry | None]) -> None:
    """Remove what an undo that was killed has left under the name; content that is known nowhere else is kept."""
    try:
        status = os.stat(spare, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return
    if stat.S_IMODE(status.st_mode) == _UNFINISHED or entry_at(fd, spare) in known:
        os.unlink(spare, dir_fd=fd)
        return
    os.rename(spare, spare.removesuffix(b".tmp") + b".kept", src_dir_fd=fd, dst_dir_fd=fd)


_UMASK = os.umask(0)
os.umask(_UMASK)
_LIBC = ctypes.CDLL(None, use_errno=True)


def _rename(fd: int, old: bytes, new: bytes, how: int) -> None:
    call = getattr(_LIBC, "renameat2", None)
    if call is not None:
        if call(fd, old, fd, new, how) == 0:
            return
        code = ctypes.get_errno()
        if code not in (errno.EINVAL, errno.ENOSYS):
            raise OSError(code, os.strerror(code))
    # A file system that cannot exchange: the look just before must do.
    if how == _NOREPLACE:
        os.link(old, new, src_dir_fd=fd, dst_dir_fd=fd, follow_symlinks=False)
        os.unlink(old, dir_fd=fd)
        return
    aside = temporary_name(old + b"~")
    os.rename(new, aside, src_dir_fd=fd, dst_dir_fd=fd)
    os.rename(old, new, src_dir_fd=fd, dst_dir_fd=fd)
    os.rename(aside, old, src_dir_fd=fd, dst_dir_fd=fd)


def _changed(path: bytes, why: str) -> EntryChanged:
    return EntryChanged(f"{os.fsdecode(path)!r}: {why}", hint="compare the versions, and merge them by hand")
