"""One terminal's output as a sparse file: the file offset is the position, the file size is the head.

The host appends, any number of readers `pread`. The kept window is derived, never stored: everything from
`floor(size, capacity)` on. Older pages are given back to the disk with a punched hole, and where the file system
cannot do that, the window moves to a new sparse file with the same offsets. What must stay true:

- a position never changes its meaning, also after eviction;
- a reader gets the bytes that were written or is told of a gap: zeros of a hole never pass for output, so each
  read looks at the floor again after its `pread`;
- holes only ever grow from the start of the file, so the first byte read decides for the whole read.
"""

import contextlib
import errno
import os
from dataclasses import dataclass, field

from fourhands.host.system import KERNEL, System

GRAIN = 64 * 1024
"""Holes begin and end on multiples of this."""

CAPACITY = 8 * 1024 * 1024
"""Bytes kept of each terminal unless a setting says otherwise."""

BUDGET = 512 * 1024 * 1024
"""Bytes of all logs together, before each of them gets less than its capacity."""

PUNCH_EVERY = 1024 * 1024
"""Bytes written between two punches: a punch costs 0.2 ms."""

LEAST = 2 * GRAIN
"""Bytes that a log always keeps, however full the disk is."""


def floor(size: int, capacity: int) -> int:
    """Return the first position that is kept of a log with this many bytes."""
    return max(0, size - capacity) // GRAIN * GRAIN


class LogWriter:
    """The host's end of a log, which keeps the window within its capacity."""

    def __init__(self, path: str, capacity: int = CAPACITY, *, can_punch: bool = True, system: System = KERNEL) -> None:
        self.path = path
        self._system = system
        self.capacity = max(capacity, LEAST)
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self.head = os.fstat(self.fd).st_size
        self.base = _data_from(self.fd, 0, self.head) // GRAIN * GRAIN  # everything below is a hole
        self.fault: OSError | None = None
        self._can_punch = can_punch
        self._next_punch = self.head + PUNCH_EVERY

    def append(self, data: memoryview) -> int:
        """Write at the head; returns the number of bytes written, fewer on a fault, which is then in `fault`."""
        done = 0
        while done < len(data):
            try:
                wrote = self._system.pwrite(self.fd, data[done:], self.head)
            except OSError as error:
                # Whatever it is (full, over quota, too large, broken), it concerns this log and not the host.
                self.fault = error
                break
            self.head += wrote
            done += wrote
        if self.head >= self._next_punch:
            self.trim(self.capacity)
        return done

    @property
    def kept(self) -> int:
        """Number of bytes of the file that are not holes."""
        return self.head - self.base

    def trim(self, capacity: int) -> int:
        """Free what lies more than `capacity` behind the head; returns the number of bytes freed."""
        # Moving copies the whole window, so it waits until there is as much to give up as to keep.
        self._next_punch = self.head + (PUNCH_EVERY if self._can_punch else max(PUNCH_EVERY, self.capacity))
        target = floor(self.head, max(capacity, LEAST))
        freed = target - self.base
        if freed <= 0:
            return 0
        try:
            if self._can_punch:
                try:
                    self._system.punch(self.fd, self.base, freed)
                except OSError as error:
                    if error.errno not in (errno.EOPNOTSUPP, errno.ENOSYS):
                        raise
                    self._can_punch = False
            if not self._can_punch:
                self._move(target)
        except OSError as error:
            self.fault = error
            return 0
        self.base = target
        return freed

    def _move(self, target: int) -> None:
        """Copy the window to a new sparse file at the same offsets and put it in the old one's place."""
        path = self.path + ".new"
        fresh = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.ftruncate(fresh, self.head)
            position = target
            while position < self.head and (piece := os.pread(self.fd, 16 * GRAIN, position)):
                position += os.pwrite(fresh, piece, position)
            os.rename(path, self.path)
        except OSError:
            os.close(fresh)
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise
        os.close(self.fd)
        self.fd = fresh

    def close(self) -> None:
        """Close the file; it stays on disk."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes of a log from `start` on; `start` is later than what was asked for when that is gone.

    `more`: there was more behind it when it was read. If not, whatever comes brings a wake-up with it.
    """

    start: int
    data: bytes
    more: bool = field(default=False, compare=False)

    @property
    def end(self) -> int:
        """Position behind the last byte."""
        return self.start + len(self.data)


class LogReader:
    """A reader's end of a log: any position, at any time, also while the host writes and evicts."""

    def __init__(self, path: str, capacity: int = CAPACITY) -> None:
        self.path = path
        self.capacity = max(capacity, LEAST)
        self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    @property
    def head(self) -> int:
        """Position behind the newest byte."""
        status = os.fstat(self.fd)
        if status.st_nlink == 0:  # the window moved to a new file, or the log was deleted
            self._reopen()
            status = os.fstat(self.fd)
        return status.st_size

    @property
    def floor(self) -> int:
        """Oldest position that can be read."""
        head = self.head
        derived = floor(head, self.capacity)
        return max(derived, _data_from(self.fd, derived, head))

    def read(self, position: int, limit: int = GRAIN) -> Chunk:
        """Return up to `limit` bytes from `position` on, or from the floor if that has passed it.

        An empty chunk means the head is reached. A chunk that starts later than `position` tells of a gap.
        """
        if position < 0:
            raise ValueError(f"no position {position}: positions begin at 0")
        while True:
            data = os.pread(self.fd, limit, position) if limit > 0 else b""
            head = self.head
            if position >= head:
                return Chunk(position, b"")
            lowest = floor(head, self.capacity)
            # Evicted pages read as zeros. Close to the head nothing is ever evicted, so the common
            # case needs no further look at the file.
            if position < head - LEAST:
                lowest = max(lowest, _data_from(self.fd, position, head))
            if position >= lowest:
                if data or limit <= 0:
                    return Chunk(position, data, position + len(data) < head)
                continue  # it grew between the two looks
            position = lowest

    def _reopen(self) -> None:
        try:
            fresh = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return  # deleted: what this descriptor holds is still true
        os.close(self.fd)
        self.fd = fresh

    def close(self) -> None:
        """Close the descriptor."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _data_from(fd: int, position: int, head: int) -> int:
    """Return the first position at or behind `position` that is not in a hole."""
    try:
        return os.lseek(fd, position, os.SEEK_DATA)
    except OSError as error:
        if error.errno == errno.ENXIO:  # nothing but hole behind it
            return head
        return position  # a file system that does not tell has no holes
