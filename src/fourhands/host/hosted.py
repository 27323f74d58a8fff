"""A terminal as the host sees it: a PTY, its main process, its log, and the state of its end."""

import contextlib
import os
import stat
import time
from collections.abc import Callable
from typing import Any

from fourhands.host.archive import Record
from fourhands.host.log import LogWriter

TURN_S = 0.01
"""Seconds that one kind of work may keep the host, before the others get a turn."""

NOTES_LARGEST = 1024 * 1024
"""Bytes of the host's own log; then it is cut to its last quarter."""


class HostedTerminal:
    """A PTY, its main process and its log."""

    __slots__ = (
        "cell",
        "ending",
        "eof",
        "exit",
        "hot",
        "id",
        "log",
        "look_at",
        "lost",
        "master",
        "pending",
        "pid",
        "polled",
        "reaped",
        "record",
        "slot",
        "tty",
        "tty_path",
    )

    def __init__(self, record: Record, slot: int) -> None:
        self.record = record
        self.id: str = record["id"]
        self.slot = slot
        self.cell: str = record.get("cell", "")
        self.lost = ""  # why the way in which it ended is not known
        self.pid = 0
        self.master = -1
        self.tty = 0
        self.tty_path = ""
        self.log: LogWriter | None = None
        self.look_at = 0  # the head at which the budget is looked at next
        self.hot = False
        self.polled = False
        self.eof = True
        self.pending = b""
        self.reaped: int | None = None
        self.exit: dict[str, Any] | None = record.get("exit")
        self.ending: EndingState | None = None

    @property
    def running(self) -> bool:
        """True while its main process lives, as far as has been reported."""
        return self.pid > 0 and self.exit is None

    def described(self) -> dict[str, Any]:
        """Return it as clients see it."""
        return {
            **self.record,
            "argv": _clipped(self.record.get("argv")),
            "slot": self.slot,
            "pid": self.pid,
            "tty": self.tty_path,
            "exit": self.exit,
            "paused": bool(self.pending),
        }


class HostedProgram:
    """A program on pipes in a cell, which belongs to the client that asked for it; the reaper ends it as a terminal."""

    __slots__ = ("abandoned", "cell", "client", "ending", "id", "pid", "reaped", "record", "tty")

    def __init__(self, name: str, client: object, cell: str) -> None:
        self.id = name
        self.client = client
        self.cell = cell
        self.pid = 0
        self.tty = 0
        self.abandoned = False
        self.reaped: int | None = None
        self.ending: EndingState | None = None
        self.record: Record = {}

    @property
    def running(self) -> bool:
        """True while it lives."""
        return self.pid > 0 and self.reaped is None


class EndingState:
    """A terminal's way out: polite signals, then SIGKILL, until no process is left."""

    __slots__ = ("again", "asked", "crowd", "grace", "leaving", "quiet", "seen", "tidies", "waited", "waiters")

    def __init__(self) -> None:
        self.seen = 0.0  # when it was looked at last
        self.waited = 0.0  # seconds since the polite signals
        self.asked = False  # the polite signals were sent
        self.grace = 0.0  # seconds until SIGKILL
        self.leaving: frozenset[tuple[int, int]] = (
            frozenset()
        )  # those that handle SIGTERM, which are asked before the others
        self.tidies = False  # only its shell was asked: what its start-up files had begun ends in its own way
        self.again = 0.2  # when the main process is hung up on once more
        self.crowd = False  # there was more than the main process
        self.quiet = 0  # looks in a row that found no process
        self.waiters: list[Callable[[list[int]], None]] = []


def note(text: str) -> None:
    """Write a line to the host's own log, which keeps its last lines."""
    with contextlib.suppress(OSError):  # a full disk must not end the host
        os.write(2, f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}\n".encode("utf-8", "replace"))
        found = os.fstat(2)
        if found.st_size > NOTES_LARGEST and stat.S_ISREG(found.st_mode):
            last = os.pread(2, NOTES_LARGEST // 4, found.st_size - NOTES_LARGEST // 4)
            os.ftruncate(2, 0)
            os.write(2, b"(cut)\n" + last.partition(b"\n")[2])


def _clipped(argv: object) -> list[str]:
    """Return arguments as far as a list of terminals needs them; the record on disk has them whole."""
    left, shown = 4096, []
    for word in argv if isinstance(argv, list) else []:
        if left <= 0:
            break
        shown.append(str(word)[:left])
        left -= len(str(word)) + 1
    return shown
