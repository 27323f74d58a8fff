"""Terminals' output on its way from the PTYs to the logs and the boards.

Each terminal is read in bursts, and each burst is appended to its log with one write; then every client's board is
told (`board.py` has the order, which is a contract). While one terminal floods, the quiet ones that become ready are
served between its reads: a keystroke must not wait for 64 KiB of a neighbour's build log.
"""

import errno
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fourhands.host import pty
from fourhands.host.connection import IN
from fourhands.host.hosted import HostedTerminal, note
from fourhands.host.log import GRAIN, LEAST, PUNCH_EVERY

if TYPE_CHECKING:
    from fourhands.host.host import Host

HOT = 2048
"""Bytes in the last burst from which on a terminal counts as flooding; the others are quiet."""

READS_BETWEEN = 3
"""Reads of a flooding terminal after which the quiet ones get their turn."""


class OutputReader:
    """Reads the terminals of a host and stores what they print."""

    def __init__(self, host: "Host", poll: Any, later: Callable[[float, Callable[[], None]], None]) -> None:
        self._host = host
        self._poll = poll
        self._later = later
        self._by_fd: dict[int, HostedTerminal] = {}
        self._buffer = memoryview(bytearray(GRAIN))
        self._small = memoryview(bytearray(4 * HOT))

    def terminal(self, fd: int) -> HostedTerminal | None:
        """Return the polled terminal that has this descriptor."""
        return self._by_fd.get(fd)

    def poll(self, terminal: HostedTerminal) -> None:
        """Begin or continue to read a terminal."""
        if not terminal.polled and terminal.master >= 0:
            self._poll.register(terminal.master, IN)
            self._by_fd[terminal.master] = terminal
            terminal.polled = True

    def unpoll(self, terminal: HostedTerminal) -> None:
        """Read a terminal no more, for now or for good."""
        if terminal.polled:
            self._poll.unregister(terminal.master)
            del self._by_fd[terminal.master]
            terminal.polled = False

    def take(self, terminal: HostedTerminal) -> None:
        """Store what a terminal has printed so far, without waiting for its turn."""
        if terminal.polled and terminal.log is not None:
            self.read_burst(terminal)

    def read_quiet(self, terminal: HostedTerminal) -> None:
        """Read once, as for the echo of a keystroke; a terminal that gives much is flooding from now on."""
        buffer = self._small
        try:
            got = os.readv(terminal.master, [buffer])
        except BlockingIOError:
            return
        except OSError as error:
            self._hung_up(terminal, error)
            return
        if got == 0:
            self._hung_up(terminal, None)
            return
        self._store(terminal, buffer[:got])
        terminal.hot = got >= HOT

    def read_burst(self, terminal: HostedTerminal) -> None:
        """Read a flooding terminal until there is no more or the buffer is full, then write once."""
        buffer, filled, reads = self._buffer, 0, 0
        ended: tuple[OSError | None] | None = None
        while filled < GRAIN:
            try:
                got = os.readv(terminal.master, [buffer[filled:]])
            except BlockingIOError:
                break
            except OSError as error:
                ended = (error,)
                break
            if got == 0:
                ended = (None,)
                break
            filled += got
            reads += 1
            if reads % READS_BETWEEN == 0:
                for fd, _ in self._poll.poll(0, 16):
                    other = self._by_fd.get(fd)
                    # Never this one: what it has printed since would be stored before what is in the buffer.
                    if other is not None and other is not terminal and not other.hot:
                        self.read_quiet(other)
        if filled:
            self._store(terminal, buffer[:filled])
        terminal.hot = filled >= HOT
        if ended is not None:
            self._hung_up(terminal, ended[0])

    def _store(self, terminal: HostedTerminal, data: memoryview) -> None:
        """Append to the log and wake the clients that watch it."""
        log = terminal.log
        assert log is not None
        took = log.append(data)
        if took < len(data):
            took += self._make_room(terminal, data[took:])
            if took < len(data):
                self._pause(terminal, bytes(data[took:]))
        elif log.head >= terminal.look_at:
            terminal.look_at = log.head + PUNCH_EVERY // 4
            self._keep_budget()
        self._wake(terminal)

    def _wake(self, terminal: HostedTerminal) -> None:
        for client in self._host.requests.clients.values():
            client.board.wake(terminal.slot)

    def _keep_budget(self) -> None:
        logs = [t.log for t in self._host.terminals.values() if t.log is not None]
        if sum(log.kept for log in logs) > self._host.budget:
            share = max(LEAST, self._host.budget // len(logs))
            for log in logs:
                if log.kept > share + GRAIN:
                    log.trim(share)

    def _make_room(self, terminal: HostedTerminal, data: memoryview) -> int:
        """Free old output on a full disk, this terminal's first, then the largest logs'; returns the bytes stored."""
        assert terminal.log is not None
        took = 0
        others = [t.log for t in self._host.terminals.values() if t.log is not None and t is not terminal]
        for log in [terminal.log, *sorted(others, key=lambda log: -log.kept)]:
            while took < len(data) and log.trim(log.kept // 2):
                took += terminal.log.append(data[took:])
        return took

    def _pause(self, terminal: HostedTerminal, rest: bytes) -> None:
        """Stop reading a terminal whose log has no room, so that its program waits until there is some."""
        if not terminal.pending:
            fault = terminal.log.fault if terminal.log is not None else None
            full = fault is None or fault.errno in (errno.ENOSPC, errno.EDQUOT)
            reason = "the disk is full" if full else f"cannot write its log: {fault}"
            self._host.requests.tell({"event": "paused", "terminal": terminal.id, "reason": reason})
            self.unpoll(terminal)
        terminal.pending = rest
        self._later(0.2, lambda: self._resume(terminal))

    def _resume(self, terminal: HostedTerminal) -> None:
        if terminal.log is None or not terminal.pending:
            return
        data = memoryview(terminal.pending)
        took = terminal.log.append(data)
        if took < len(data):
            took += self._make_room(terminal, data[took:])
        if took:
            self._wake(terminal)
        if took < len(data):
            self._pause(terminal, bytes(data[took:]))
            return
        terminal.pending = b""
        self._host.requests.tell({"event": "resumed", "terminal": terminal.id})
        if not terminal.eof:
            self.poll(terminal)
        if terminal.reaped is not None:
            self.drain(terminal)

    def drain(self, terminal: HostedTerminal) -> None:
        """Store what a main process has left in the terminal, then report its exit: children may keep it open."""
        for _ in range(4):  # the kernel holds less than this; what flows on comes from another process
            if not terminal.polled or terminal.log is None:
                break
            before = terminal.log.head
            self.read_burst(terminal)
            if terminal.log is None or terminal.log.head == before:
                break
        self._host.finish(terminal)

    def _hung_up(self, terminal: HostedTerminal, error: OSError | None) -> None:
        """Handle a terminal that no process has open: the end, unless the main process lives and opens it again."""
        if error is not None and not pty.is_hangup(error):
            note(f"{terminal.id}: reading failed: {error}")
        self.unpoll(terminal)
        if terminal.reaped is None:
            self._later(0.1, lambda: self._look_again(terminal))
            return
        terminal.eof = True
        self._host.finish(terminal)

    def _look_again(self, terminal: HostedTerminal) -> None:
        if terminal.exit is None and terminal.master >= 0 and not terminal.pending:
            self.poll(terminal)
