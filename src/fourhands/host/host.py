"""The host: a small process that owns the PTYs and their children, and outlives the server.

One thread, one poll loop, the standard library only; it never looks at what passes through. For each terminal it
reads in bursts and appends each burst to the log with one write. Then it sets a byte on every client's board and,
if that client watches the terminal and has no wake-up outstanding, wakes it. The order matters: log, dirty byte,
pending byte, wake-up; the reader undoes them in the opposite order and only then reads, or a wake-up would be lost.

While one terminal floods, the quiet ones that become ready are served in between its reads: a neighbour's
keystroke must not wait for 64 KiB of somebody's build log.
"""

import argparse
import contextlib
import ctypes
import errno
import fcntl
import heapq
import itertools
import os
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable

from fourhands.host import archive, owner, pty
from fourhands.host import recovery as left
from fourhands.host.connection import IN, new_poll
from fourhands.host.handlers import RequestHandlers
from fourhands.host.hosted import TURN_S, HostedTerminal, note
from fourhands.host.log import GRAIN, LEAST, PUNCH_EVERY
from fourhands.host.paths import DirsError, WorkspaceDirs
from fourhands.host.protocol import BOARD_SLOTS
from fourhands.host.reaper import Reaper

HOT = 2048
"""A terminal whose last burst had this many bytes is flooding; the others are quiet."""

READS_BETWEEN = 3
"""After so many reads of a hot terminal the quiet ones get their turn."""

DRAIN_S = 0.05
"""How long output is awaited after the exit of a main process whose children still hold the terminal."""

RESTING = 256
"""How many freed places on the boards wait before the oldest is used again."""

ARRIVING_S = 10.0
"""How much longer a new host lingers for its first visitor: whoever started it is on their way."""

LEAVING_S = 8.0
"""How long a host that is on its way out may take, before a new one gives up waiting for its lock."""

BUDGET = 512 * 1024 * 1024
"""Bytes of all logs together, before each of them gets less than its capacity."""


class Host:
    """The poll loop and everything it owns."""

    def __init__(
        self,
        places: WorkspaceDirs,
        *,
        linger_s: float = 10.0,
        budget: int = BUDGET,
        keep: archive.Retention = archive.KEEP,
    ) -> None:
        self.places = places
        self.keep = keep
        self.linger_s = linger_s
        self.budget = budget
        self.terminals: dict[str, HostedTerminal] = {}
        self._by_fd: dict[int, HostedTerminal] = {}
        self.by_pid: dict[int, HostedTerminal] = {}
        self._free: deque[int] = deque()
        self._slots = 0
        self.poll = new_poll()
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._buffer = memoryview(bytearray(GRAIN))
        self._small = memoryview(bytearray(4 * HOT))
        self.stopping = False
        self._faults = 0
        self._alone_since = time.monotonic() + ARRIVING_S
        self.descriptor_limit = pty.raise_descriptor_limit()
        self.requests: RequestHandlers
        self.endings = Reaper(self)
        self.shelf = archive.LogArchive(places, *keep)
        self._signals, self._signal_in = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK) if hasattr(os, "pipe2") else os.pipe()

    # -- life ----------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Take the workspace's lock and listen; raises BlockingIOError when another host has it and answers."""
        self.places.prepare()
        self._take(self.places.lock)
        if not os.path.samefile(self.places.runtime, self.places.state):
            self._take(self.places.older_lock)
        self.requests = RequestHandlers(self)
        self.requests.listen()
        _become_subreaper()
        os.set_blocking(self._signal_in, False)
        signal.set_wakeup_fd(self._signal_in, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: None)  # `_attend` hears of it, between two events
        signal.signal(signal.SIGHUP, lambda *_: None)  # and of this: somebody does not find the socket
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.poll.register(self._signals, IN)
        self._recover()
        self.shelf.open()

    def _take(self, path: str) -> None:
        """Hold a lock until this process ends. A host that leaves has it still while it no longer answers."""
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        deadline = time.monotonic() + LEAVING_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if any(map(owner.answers, owner.sockets(self.places))) or time.monotonic() > deadline:
                    os.close(lock)
                    raise
                time.sleep(0.005)

    def _recover(self) -> None:
        """Terminals of a host before this one: exited, or lost with it. Their logs can still be read.

        We hold the lock, so that host is dead. What it has left is ended before anything is called lost.
        """
        if stuck := left.end(left.unfinished(self.places)):
            note(f"processes of a host that died cannot be ended: {stuck}")
        for record in archive.read(self.places):
            if record.get("closed"):
                continue
            record.setdefault("meta", {})
            if record.get("exit") and archive.is_old(self.places, record, self.keep.days):
                record["closed"] = time.time()  # lost or exited long ago, and nobody came for it
                self._write(record)
                continue
            if not record.get("exit"):
                record["exit"] = {
                    "code": None,
                    "signal": None,
                    "lost": True,
                    "position": _size(self.places.log(record["id"])),
                }
                self._write(record)
            try:
                self.terminals[record["id"]] = HostedTerminal(record, self.slot())
            except ValueError as error:  # the boards are full
                note(f"{record['id']}: {error}")
                return

    def serve(self) -> None:
        """Run until stopped, or until nobody has used the host for a while."""
        while True:
            try:
                if not self._turn():
                    return
            except Exception:  # noqa: BLE001 - a mistake of ours must not take everybody's terminals with it
                self._faults += 1
                if self._faults <= 100:  # the log of a host that limps for weeks stays small
                    note(traceback.format_exc())
                time.sleep(0.01)  # what fails again and again must not take the whole processor

    def _turn(self) -> bool:
        """Do what is due, wait for what comes, serve it; False when it is time to leave."""
        timeout = self._due()
        if self.stopping and not any(t.ending for t in self.terminals.values()):
            return False
        if not self.requests.clients and not any(t.running or t.ending for t in self.terminals.values()):
            left = self._alone_since + self.linger_s - time.monotonic()
            if left <= 0:
                return False
            timeout = left if timeout is None else min(left, timeout)
        else:
            self._alone_since = time.monotonic()
        hot = []
        for fd, mask in self.poll.poll(timeout):
            terminal = self._by_fd.get(fd)
            if terminal is None:
                self._attend(fd, mask)
            elif terminal.hot:
                hot.append(terminal)
            else:
                self._read_quiet(terminal)
        for terminal in hot:
            if terminal.polled:
                self._read_burst(terminal)
        return True

    def close(self) -> None:
        """Leave nothing behind but the logs."""
        self.requests.close()
        self.poll.close()
        for fd in (self._signals, self._signal_in):
            os.close(fd)

    def seen(self) -> None:
        """Somebody was here just now: the time to linger begins anew."""
        self._alone_since = time.monotonic()

    def _due(self) -> float | None:
        """Run what is due and return the time until the next timer."""
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            heapq.heappop(self._timers)[2]()
        return max(0.0, self._timers[0][0] - now) if self._timers else None

    def later(self, delay_s: float, action: Callable[[], None]) -> None:
        """Do something after a while."""
        heapq.heappush(self._timers, (time.monotonic() + delay_s, next(self._order), action))

    def _attend(self, fd: int, mask: int) -> None:
        if fd == self._signals:
            numbers = b""
            with contextlib.suppress(BlockingIOError):
                numbers = os.read(self._signals, 4096)
            self._reap()
            if signal.SIGTERM in numbers:
                self.stop()
            elif signal.SIGHUP in numbers:
                self.requests.listen()
        else:
            self.requests.attend(fd, mask)

    # -- output --------------------------------------------------------------------------------------------------

    def take(self, terminal: HostedTerminal) -> None:
        """Store what a terminal has printed so far, without waiting for its turn."""
        if terminal.polled and terminal.log is not None:
            self._read_burst(terminal)

    def _read_quiet(self, terminal: HostedTerminal) -> None:
        """The keystroke's way: one read; a second one only when the first was large."""
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

    def _read_burst(self, terminal: HostedTerminal) -> None:
        """A flood's way: read until there is no more or the buffer is full, then write once."""
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
                for fd, _ in self.poll.poll(0, 16):
                    other = self._by_fd.get(fd)
                    # Never this one: what it has printed since would be stored before what is in the buffer.
                    if other is not None and other is not terminal and not other.hot:
                        self._read_quiet(other)
        if filled:
            self._store(terminal, buffer[:filled])
        terminal.hot = filled >= HOT
        if ended is not None:
            self._hung_up(terminal, ended[0])

    def _store(self, terminal: HostedTerminal, data: memoryview) -> None:
        """Append to the log and tell who wants to know."""
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
        for client in self.requests.clients.values():
            client.wake(terminal.slot)

    def _keep_budget(self) -> None:
        logs = [t.log for t in self.terminals.values() if t.log is not None]
        if sum(log.kept for log in logs) > self.budget:
            share = max(LEAST, self.budget // len(logs))
            for log in logs:
                if log.kept > share + GRAIN:
                    log.trim(share)

    def _make_room(self, terminal: HostedTerminal, data: memoryview) -> int:
        """The disk is full: give up old output, this terminal's first, then the largest logs'."""
        assert terminal.log is not None
        took = 0
        logs = [terminal.log, *(t.log for t in self.terminals.values() if t.log is not None and t is not terminal)]
        logs[1:] = sorted(logs[1:], key=lambda log: -log.kept)
        for log in logs:
            while took < len(data) and log.trim(log.kept // 2):
                took += terminal.log.append(data[took:])
        return took

    def _pause(self, terminal: HostedTerminal, rest: bytes) -> None:
        """Nothing helped: stop reading this terminal, so that its program waits, until there is room."""
        if not terminal.pending:
            fault = terminal.log.fault if terminal.log is not None else None
            full = fault is None or fault.errno in (errno.ENOSPC, errno.EDQUOT)
            reason = "the disk is full" if full else f"its log cannot be written: {fault}"
            self.requests.tell({"event": "paused", "terminal": terminal.id, "reason": reason})
            self._unpoll(terminal)
        terminal.pending = rest
        self.later(0.2, lambda: self._resume(terminal))

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
        self.requests.tell({"event": "resumed", "terminal": terminal.id})
        if not terminal.eof:
            self.repoll(terminal)
        if terminal.reaped is not None:
            self._drain(terminal)

    def repoll(self, terminal: HostedTerminal) -> None:
        """Begin or go on to read a terminal."""
        if not terminal.polled and terminal.master >= 0:
            self.poll.register(terminal.master, IN)
            self._by_fd[terminal.master] = terminal
            terminal.polled = True

    def _unpoll(self, terminal: HostedTerminal) -> None:
        if terminal.polled:
            self.poll.unregister(terminal.master)
            del self._by_fd[terminal.master]
            terminal.polled = False

    def _hung_up(self, terminal: HostedTerminal, error: OSError | None) -> None:
        """Nobody has the terminal open: the end, unless the main process lives and opens it again."""
        if error is not None and not pty.is_hangup(error):
            note(f"{terminal.id}: reading failed: {error}")
        self._unpoll(terminal)
        if terminal.reaped is None:
            self.later(0.1, lambda: self._look_again(terminal))
            return
        terminal.eof = True
        self.finish(terminal)

    def _look_again(self, terminal: HostedTerminal) -> None:
        if terminal.exit is None and terminal.master >= 0 and not terminal.pending:
            self.repoll(terminal)

    # -- exit ----------------------------------------------------------------------------------------------------

    def _reap(self) -> None:
        began = time.monotonic()
        while time.monotonic() - began < TURN_S:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            terminal = self.by_pid.pop(pid, None)
            if terminal is None:
                continue  # an orphan that came to us
            terminal.reaped = status
            if not terminal.polled and not terminal.pending:
                self.repoll(terminal)
            if terminal.polled:
                self._read_burst(terminal)
            if terminal.exit is None:
                self.later(DRAIN_S, lambda t=terminal: self._drain(t))  # type: ignore[misc]
        self.later(0.0, self._reap)

    def _drain(self, terminal: HostedTerminal) -> None:
        """Store what a main process has left in the terminal, then report its exit: children may keep it open."""
        for _ in range(4):  # the kernel holds less than this; what flows on comes from somebody else
            if not terminal.polled or terminal.log is None:
                break
            before = terminal.log.head
            self._read_burst(terminal)
            if terminal.log is None or terminal.log.head == before:
                break
        self.finish(terminal)

    def finish(self, terminal: HostedTerminal, *, whole: bool = True) -> None:
        """Report the exit, once; `whole` means not before all output is in the log."""
        if terminal.exit is not None or terminal.reaped is None or terminal.log is None:
            return
        if whole and terminal.pending:
            return  # the disk is full: the exit comes after the output
        code = os.waitstatus_to_exitcode(terminal.reaped)
        terminal.exit = {
            "code": code if code >= 0 else None,
            "signal": _signal_name(-code) if code < 0 else None,
            "position": terminal.log.head,
            "time": time.time(),
        }
        terminal.record["exit"] = terminal.exit
        self.record(terminal)
        self.requests.tell({"event": "exited", "terminal": terminal.id, "exit": terminal.exit})
        self.endings.step(terminal)

    def record(self, terminal: HostedTerminal) -> None:
        """Store what is known of a terminal."""
        self._write(terminal.record)

    def _write(self, record: archive.Record) -> None:
        try:
            archive.write(self.places, record)
        except OSError as error:
            note(f"{record['id']}: its record could not be written: {error}")

    def forget(self, terminal: HostedTerminal) -> None:
        """Drop a terminal that has ended: its log stays on disk for a while, its slot is free again."""
        if self.terminals.pop(terminal.id, None) is None:
            return
        self._unpoll(terminal)
        self.by_pid.pop(terminal.pid, None)
        if terminal.master >= 0:
            os.close(terminal.master)
            terminal.master = -1
        if terminal.log is not None:
            terminal.log.close()
            terminal.log = None
        for client in self.requests.clients.values():
            client.clear(terminal.slot)
        self.free(terminal.slot)
        terminal.record["closed"] = time.time()
        self.record(terminal)
        self.requests.tell({"event": "closed", "terminal": terminal.id})
        self.shelf.put(terminal.id, terminal.record["closed"])

    def stop(self) -> None:
        """End all terminals, also what exited ones have left behind, then leave."""
        self.stopping = True
        self.requests.tell({"event": "stopping"})  # who is here need not look for what became of us
        self.requests.refuse()  # who comes now is for the host after us
        for terminal in list(self.terminals.values()):
            self.endings.end(terminal, lambda _: None)

    def free(self, slot: int) -> None:
        """Give a place on the boards back."""
        self._free.append(slot)

    def slot(self) -> int:
        """A free place on the boards."""
        # A number rests for a while, or a client that is slow to forget one terminal would unwatch the next.
        if len(self._free) > RESTING or (self._free and self._slots == BOARD_SLOTS):
            return self._free.popleft()
        if self._slots == BOARD_SLOTS:
            raise ValueError(f"a host has at most {BOARD_SLOTS} terminals")
        self._slots += 1
        return self._slots - 1


def _signal_name(number: int) -> str:
    """SIGKILL and the like; real-time signals have no names of their own."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN+{number - signal.SIGRTMIN}"


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _become_subreaper() -> None:
    """Orphans of our children come to us instead of to init, so that none is lost from sight."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def main(arguments: list[str] | None = None) -> int:
    """Run a host; one line on the descriptor given by `--ready` says that it listens or why it cannot."""
    parser = argparse.ArgumentParser(prog="fourhands-host", description=__doc__)
    parser.add_argument("--workspace", required=True)
    parser.add_argument("--runtime", required=True)
    parser.add_argument("--state", required=True)
    parser.add_argument("--linger", type=float, default=10.0)
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("--keep-days", type=float, default=archive.KEEP_DAYS)
    parser.add_argument("--keep-bytes", type=int, default=archive.KEEP_BYTES)
    parser.add_argument("--ready", type=int, help="a descriptor that gets one word when the host listens")
    parser.add_argument("--detach", action="store_true", help="leave the starting process")
    options = parser.parse_args(arguments)
    if options.detach and os.fork():
        os._exit(0)  # whoever started us waits for this one only
    places = WorkspaceDirs(options.workspace, options.runtime, options.state)
    keep = archive.Retention(options.keep_days, options.keep_bytes)
    host = Host(places, linger_s=options.linger, budget=options.budget, keep=keep)
    answer, code = "ready", 0
    try:
        host.open()
    except BlockingIOError:
        code = 3  # another host was faster: use that one
    except (OSError, DirsError) as error:
        answer, code = str(error), 1
    if options.ready is not None:
        os.write(options.ready, answer.encode())
        os.close(options.ready)
    if code == 0:
        try:
            host.serve()
        finally:
            host.close()
    return 0 if code == 3 else code


if __name__ == "__main__":
    sys.exit(main())
