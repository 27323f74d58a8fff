"""The host: a small process that owns the PTYs and their children, and outlives the server.

One thread, one poll loop, the standard library only; it never looks at what passes through. Output goes by way of
`output.py` to the logs and the boards, requests by way of `handlers.py`, the end of processes by way of `reaper.py`.
"""

import contextlib
import ctypes
import fcntl
import heapq
import itertools
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable

from fourhands.host import archive, owner, pty, recovery
from fourhands.host.board import BoardSlots
from fourhands.host.cells import HostCells
from fourhands.host.connection import IN, new_poll
from fourhands.host.handlers import RequestHandlers
from fourhands.host.hosted import TURN_S, HostedTerminal, note
from fourhands.host.log import BUDGET
from fourhands.host.output import OutputReader
from fourhands.host.paths import WorkspaceDirs
from fourhands.host.reaper import Reaper
from fourhands.host.system import KERNEL, System

DRAIN_S = 0.05
"""Seconds that output is awaited after the exit of a main process whose children still hold the terminal."""

ARRIVING_S = 10.0
"""Seconds that a new host lingers longer for its first client: the one that started it is on its way."""

LEAVING_S = 8.0
"""Seconds that a host on its way out may take, before a new one gives up waiting for its lock."""


class Host:
    """The poll loop and everything it owns."""

    def __init__(
        self,
        places: WorkspaceDirs,
        *,
        linger_s: float = 10.0,
        budget: int = BUDGET,
        keep: archive.Retention = archive.KEEP,
        system: System = KERNEL,
    ) -> None:
        self.places = places
        self.keep = keep
        self.linger_s = linger_s
        self.budget = budget
        self.system = system
        self.terminals: dict[str, HostedTerminal] = {}
        self.by_pid: dict[int, HostedTerminal] = {}
        self.slots = BoardSlots()
        self.poll = new_poll()
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self.stopping = False
        self._faults = 0
        self._alone_since = time.monotonic() + ARRIVING_S
        self.descriptor_limit = pty.raise_descriptor_limit()
        self.requests: RequestHandlers
        self.output = OutputReader(self, self.poll, self.later)
        self.cells = HostCells(self)
        self.reaper = Reaper(self, system, self.cells.spawners)
        self.archive = archive.LogArchive(places, *keep)
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
        signal.signal(signal.SIGTERM, lambda *_: None)  # `_attend` reads it from the pipe, between two events
        signal.signal(signal.SIGHUP, lambda *_: None)  # and this: a client does not find the socket
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.poll.register(self._signals, IN)
        self._recover()
        self.archive.open()

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
        """End what a host before this one has left, and list its terminals: exited, or lost with it.

        This host holds the lock, so that one is dead. Its processes are ended before anything is called lost.
        """
        if stuck := recovery.end(recovery.unfinished(self.places)):
            note(f"cannot end the processes of a host that died: {stuck}")
        for record in recovery.listed(self.places, self.keep.days, self._write):
            try:
                self.terminals[record["id"]] = HostedTerminal(record, self.slots.take())
            except ValueError as error:  # the boards are full
                note(f"{record['id']}: {error}")
                return

    def serve(self) -> None:
        """Run until stopped, or until the host has been unused for a while."""
        while True:
            try:
                if not self.step():
                    return
            except Exception:  # noqa: BLE001 - a mistake of ours must not end the terminals
                self._faults += 1
                if self._faults <= 100:  # the log of a host that limps for weeks stays small
                    note(traceback.format_exc())
                time.sleep(0.01)  # what fails again and again must not take the whole processor

    def step(self) -> bool:
        """Run what is due, poll once and serve what is ready; returns False when it is time to leave."""
        timeout = self._due()
        if self.stopping and not self.reaper.busy:
            return False
        if not self.requests.clients and not (self.reaper.busy or any(t.running for t in self.terminals.values())):
            left = self._alone_since + self.linger_s - time.monotonic()
            if left <= 0:
                return False
            timeout = left if timeout is None else min(left, timeout)
        else:
            self._alone_since = time.monotonic()
        hot = []
        for fd, mask in self.poll.poll(timeout):
            terminal = self.output.terminal(fd)
            if terminal is None:
                self._attend(fd, mask)
            elif terminal.hot:
                hot.append(terminal)
            else:
                self.output.read_quiet(terminal)
        for terminal in hot:
            if terminal.polled:
                self.output.read_burst(terminal)
        return True

    def close(self) -> None:
        """Leave nothing behind but the logs."""
        self.cells.close()
        self.requests.close()
        self.poll.close()
        for fd in (self._signals, self._signal_in):
            os.close(fd)

    def seen(self) -> None:
        """Take note of a client: the time to linger begins anew."""
        self._alone_since = time.monotonic()

    def _due(self) -> float | None:
        """Run what is due and return the time until the next timer."""
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            heapq.heappop(self._timers)[2]()
        return max(0.0, self._timers[0][0] - now) if self._timers else None

    def later(self, delay_s: float, action: Callable[[], None]) -> None:
        """Call `action` after `delay_s`."""
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
        elif not self.cells.attend(fd, mask):
            self.requests.attend(fd, mask)

    # -- terminals -----------------------------------------------------------------------------------------------

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
            if terminal is not None:
                self.reaped(terminal, status)
            else:  # the builder of a sandbox, or an orphan that came to this process
                self.cells.reaped(pid)
        self.later(0.0, self._reap)

    def reaped(self, terminal: HostedTerminal, status: int) -> None:
        """Take the exit status of a terminal's main process; the exit is reported when its output is stored."""
        terminal.reaped = status
        if not terminal.polled and not terminal.pending:
            self.output.poll(terminal)
        self.output.take(terminal)
        if terminal.exit is None:
            self.later(DRAIN_S, lambda: self.output.drain(terminal))

    def finish(self, terminal: HostedTerminal, *, whole: bool = True) -> None:
        """Report the exit, once; `whole` means not before all output is in the log."""
        if terminal.exit is not None or terminal.reaped is None or terminal.log is None:
            return
        if whole and terminal.pending:
            return  # the disk is full: the exit comes after the output
        code = os.waitstatus_to_exitcode(terminal.reaped)
        terminal.exit = {
            "code": code if code >= 0 and not terminal.lost else None,
            "signal": _signal_name(-code) if code < 0 else None,
            "position": terminal.log.head,
            "time": time.time(),
        }
        if terminal.lost:
            terminal.exit |= {"lost": True, "reason": terminal.lost}
        terminal.record["exit"] = terminal.exit
        self.record(terminal)
        self.requests.tell({"event": "exited", "terminal": terminal.id, "exit": terminal.exit})
        self.reaper.step(terminal)

    def record(self, terminal: HostedTerminal) -> None:
        """Store what is known of a terminal."""
        self._write(terminal.record)

    def _write(self, record: archive.Record) -> None:
        try:
            archive.write(self.places, record)
        except OSError as error:
            note(f"{record['id']}: cannot write its record: {error}")

    def forget(self, terminal: HostedTerminal) -> None:
        """Drop a terminal that has ended: its log stays on disk for a while, its slot is free again."""
        if self.terminals.pop(terminal.id, None) is None:
            return
        self.output.unpoll(terminal)
        self.by_pid.pop(terminal.pid, None)
        if terminal.master >= 0:
            os.close(terminal.master)
            terminal.master = -1
        if terminal.log is not None:
            terminal.log.close()
            terminal.log = None
        for client in self.requests.clients.values():
            client.board.clear(terminal.slot)
        self.slots.free(terminal.slot)
        terminal.record["closed"] = time.time()
        self.record(terminal)
        self.requests.tell({"event": "closed", "terminal": terminal.id})
        self.archive.put(terminal.id, terminal.record["closed"])

    def stop(self) -> None:
        """End all terminals, also what exited ones have left behind, then leave."""
        self.stopping = True
        self.requests.tell({"event": "stopping"})  # clients need not find out what became of this host
        self.requests.refuse()  # later clients are for the next host
        for terminal in list(self.terminals.values()):
            self.reaper.end(terminal, lambda _: None)


def _signal_name(number: int) -> str:
    """Return SIGKILL and the like; real-time signals have no names of their own."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN+{number - signal.SIGRTMIN}"


def _become_subreaper() -> None:
    """Have orphans of our children come to this process instead of to init, so that none is lost from sight."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
