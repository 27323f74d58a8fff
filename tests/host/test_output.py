"""Output on its way to the log: in its order, once, also over a disk that is full for a while."""

import errno
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fourhands.host.handlers import RequestHandlers
from fourhands.host.host import Host
from fourhands.host.hosted import HostedTerminal
from fourhands.host.log import LogWriter
from fourhands.host.paths import WorkspaceDirs
from fourhands.host.system import Kernel


class Disk(Kernel):
    """A disk that takes so many bytes more, and then none."""

    def __init__(self) -> None:
        super().__init__()
        self.room = 1 << 40
        self.error = errno.ENOSPC

    def pwrite(self, fd: int, data: memoryview, position: int) -> int:
        taken = min(self.room, len(data))
        if not taken:
            raise OSError(self.error, os.strerror(self.error))
        self.room -= taken
        return super().pwrite(fd, data[:taken], position)


class Told(RequestHandlers):
    """Requests of nobody, and the events that all would get."""

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self.events: list[dict[str, Any]] = []

    def tell(self, event: dict[str, Any], *, but: object = None) -> None:
        self.events.append(event)


class Stage:
    """A host that does one poll at a time, with one terminal whose program is the test."""

    def __init__(self, root: Path) -> None:
        places = WorkspaceDirs(str(root), f"{root}/r/w", f"{root}/s/w")
        places.prepare()
        self.disk = Disk()
        self.host = Host(places, system=self.disk)
        self.host.requests = self.told = Told(self.host)
        ours, self.program = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        self.terminal = HostedTerminal({"id": "term_x"}, 0)
        self.terminal.master = ours.detach()
        self.terminal.pid, self.terminal.eof = os.getpid(), False
        self.terminal.log = LogWriter(places.log("term_x"), system=self.disk)
        self.host.terminals["term_x"] = self.terminal
        self.host.output.poll(self.terminal)

    def prints(self, text: bytes) -> None:
        self.program.send(text)

    def until(self, kind: str) -> dict[str, Any]:
        """Do one poll after the other until an event is there."""
        deadline = time.monotonic() + 40
        while time.monotonic() < deadline:
            for event in self.told.events:
                if event["event"] == kind:
                    return event
            self.host.step()
        raise AssertionError(f"no {kind} in {self.told.events}")

    @property
    def kinds(self) -> list[str]:
        return [event["event"] for event in self.told.events]

    @property
    def stored(self) -> bytes:
        return Path(self.host.places.log("term_x")).read_bytes()

    def close(self) -> None:
        self.host.forget(self.terminal)
        self.host.close()
        self.program.close()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.close()


def test_output_is_stored_once_after_a_full_disk(stage: Stage) -> None:
    stage.disk.room = 5
    stage.prints(b"0123456789")
    assert stage.until("paused") == {"event": "paused", "terminal": "term_x", "reason": "the disk is full"}
    assert stage.stored == b"01234"
    assert not stage.terminal.polled  # so its program waits
    stage.prints(b"abc")
    stage.disk.room = 3  # a little, which is not enough
    deadline = time.monotonic() + 40
    while stage.stored != b"01234567" and time.monotonic() < deadline:
        stage.host.step()
    assert stage.kinds == ["paused"]
    stage.disk.room = 1 << 20
    stage.until("resumed")
    while stage.stored == b"0123456789" and time.monotonic() < deadline:
        stage.host.step()
    assert stage.stored == b"0123456789abc"
    assert stage.kinds == ["paused", "resumed"]


@pytest.mark.parametrize("polled", [True, False])
def test_the_exit_is_told_after_the_output_that_waits_for_room(stage: Stage, polled: bool) -> None:
    stage.disk.room = 0
    stage.prints(b"first")
    stage.until("paused")
    stage.prints(b" last words")
    if not polled:
        stage.program.close()
    stage.host.reaped(stage.terminal, 3 << 8)
    for _ in range(3):
        stage.host.step()
    assert stage.kinds == ["paused"]
    stage.disk.room = 1 << 20
    exited = stage.until("exited")
    assert stage.kinds == ["paused", "resumed", "exited"]
    assert stage.stored == b"first last words"
    assert (exited["exit"]["code"], exited["exit"]["position"]) == (3, 16)


def test_the_exit_is_told_after_what_is_still_in_the_terminal(stage: Stage) -> None:
    stage.prints(b"unread")
    stage.host.reaped(stage.terminal, 0)
    assert stage.stored == b"unread"
    assert stage.until("exited")["exit"]["position"] == 6


def test_an_exit_is_told_once(stage: Stage) -> None:
    stage.host.reaped(stage.terminal, 0)
    stage.until("exited")
    stage.host.finish(stage.terminal)
    stage.host.output.drain(stage.terminal)
    assert stage.kinds == ["exited"]


def test_a_disk_that_is_broken_is_not_called_full(stage: Stage) -> None:
    stage.disk.room, stage.disk.error = 0, errno.EIO
    stage.prints(b"x")
    assert stage.until("paused")["reason"] == "cannot write its log: [Errno 5] Input/output error"


def test_nothing_is_read_while_output_waits_for_room(stage: Stage) -> None:
    """What was read then would be stored before what was printed before it."""
    stage.disk.room = 0
    stage.prints(b"first ")
    stage.until("paused")
    stage.disk.room = 1 << 20
    stage.prints(b"second")
    stage.host.output.take(stage.terminal)  # as a probe does
    assert stage.stored == b""
    stage.until("resumed")
    stage.host.output.take(stage.terminal)
    assert stage.stored == b"first second"
