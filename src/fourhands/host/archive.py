"""Terminals on disk that are closed or whose host is gone: records, and logs until they expire.

A record is a small JSON file beside the log. A terminal is closed when its record says so; its log is then kept for a
while, the oldest going first.
"""

import contextlib
import errno
import json
import os
import time
from collections import deque
from typing import Any, NamedTuple

from fourhands.host.paths import WorkspaceDirs

KEEP_DAYS = 7.0
KEEP_BYTES = 1024 * 1024 * 1024

PAGE = 4096


class Retention(NamedTuple):
    """Days and bytes that are kept of closed terminals."""

    days: float = KEEP_DAYS
    bytes: int = KEEP_BYTES


KEEP = Retention()


Record = dict[str, Any]


def write(places: WorkspaceDirs, record: Record) -> None:
    """Store a record in place of the one before it.

    One write into the same page, padded to the old length: a host that is killed leaves the old text or the new one. A
    rename over the old file would have ext4 write it out at once, 0.8 ms for each of 500 terminals that close.
    """
    path = places.record(record["id"])
    text = json.dumps(record).encode()
    if len(text) > PAGE:
        _replace(path, text)
        return
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        size = os.fstat(fd).st_size
        if size > PAGE:
            _replace(path, text)
        elif os.pwrite(fd, text.ljust(size), 0) < len(text):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
    finally:
        os.close(fd)


def _replace(path: str, text: bytes) -> None:
    fresh = path + ".new"
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with open(fd, "wb") as file:
        file.write(text)
    os.rename(fresh, path)


def read(places: WorkspaceDirs) -> list[Record]:
    """Return every record that can be read, oldest first."""
    found = []
    for name in sorted(os.listdir(places.state)):
        terminal = name.removesuffix(".json")
        if not name.startswith("term_") or terminal == name:
            continue
        with contextlib.suppress(OSError, ValueError, RecursionError):
            with open(f"{places.state}/{name}") as file:
                record = json.load(file)
            if isinstance(record, dict) and record.get("id") == terminal:
                found.append(record)
    return found


def is_old(places: WorkspaceDirs, record: Record, keep_days: float = KEEP_DAYS) -> bool:
    """Return True if a record was last written before the time that things are kept."""
    try:
        return os.stat(places.record(record["id"])).st_mtime < time.time() - keep_days * 86400
    except OSError:
        return False


class LogArchive:
    """The closed terminals whose logs are still kept, oldest first. Records are read once, when it opens."""

    def __init__(self, places: WorkspaceDirs, keep_days: float = KEEP_DAYS, keep_bytes: int = KEEP_BYTES) -> None:
        self._places = places
        self._keep_s = keep_days * 86400
        self._keep_bytes = keep_bytes
        self._closed: deque[tuple[float, str, int]] = deque()
        self._total = 0

    def open(self) -> list[str]:
        """Find what is there and drop what is too old or too much; returns the ids that went."""
        records = read(self._places)
        closed = [(_when(record["closed"]), record["id"]) for record in records if record.get("closed")]
        self._sweep({record["id"] for record in records})
        for when, terminal in sorted(closed):
            self._put(terminal, when)
        return self.prune()

    def put(self, terminal: str, closed: float) -> list[str]:
        """Take in a terminal that was closed just now; returns the ids that had to go."""
        self._put(terminal, closed)
        return self.prune()

    def prune(self) -> list[str]:
        """Delete logs that are too old or, the oldest first, too much; returns their ids."""
        gone = []
        oldest = time.time() - self._keep_s
        while self._closed and (self._closed[0][0] < oldest or self._total > self._keep_bytes):
            _, terminal, size = self._closed.popleft()
            self._total -= size
            for path in (self._places.log(terminal), self._places.record(terminal)):
                _remove(path)
            gone.append(terminal)
        return gone

    def _put(self, terminal: str, closed: float) -> None:
        size = _size(self._places.log(terminal))
        self._closed.append((closed, terminal, size))
        self._total += size

    def _sweep(self, known: set[str]) -> None:
        """Delete what a crash has left half done: half-written files, and old logs that no record speaks of."""
        for name in os.listdir(self._places.state):
            path = f"{self._places.state}/{name}"
            if name.startswith("term_") and name.endswith(".new"):
                _remove(path)
            elif name.startswith("term_") and name.endswith(".log") and name.removesuffix(".log") not in known:
                with contextlib.suppress(OSError):
                    if os.stat(path).st_mtime < time.time() - self._keep_s:
                        _remove(path)


def _when(closed: object) -> float:
    return float(closed) if isinstance(closed, int | float) and closed == closed else 0.0


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):  # it costs room, never the host
        os.unlink(path)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_blocks * 512
    except OSError:
        return 0
