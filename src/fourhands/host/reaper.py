"""The end of a terminal's processes: polite signals, then SIGKILL, and looks at `/proc` until none is left.

A look reads all of `/proc`, so terminals that are ended at the same time share one, and looking never takes more than
half of the host's time.
"""

import math
import os
import signal
from collections import deque
from collections.abc import Callable, Mapping
from typing import Protocol

from fourhands.host import processes
from fourhands.host.hosted import TURN_S, EndingState, HostedProgram, HostedTerminal
from fourhands.host.paths import WorkspaceDirs
from fourhands.host.system import KERNEL, System

GRACE_S = 1.0
"""Seconds from the polite signals to SIGKILL."""

START_UP_S = 12.0
"""The same for a shell in its start-up files: whatever is killed there leaves locks and halves of files behind."""

TIDY_S = 3.0
"""Seconds that the children of such a shell are left alone after the hang-up that came with the shell's end."""

LEAVE_S = 0.5
"""Seconds that programs with a handler of their own are alone with SIGTERM, of the time that all have."""

_MARKS_WITHIN = 4 * 1024 * 1024
"""Bytes of its output in which a shell's first prompt is looked for."""

GIVE_UP_S = 5.0
"""Seconds after which a process that does not even die of SIGKILL is reported as left."""

_STEP_S = 0.25
"""Seconds that count at most between two looks: while the host stood still, so may the programs have."""

POLITE = [signal.SIGHUP, signal.SIGCONT, signal.SIGTERM]
"""An interactive bash or zsh ignores TERM alone, and a stopped process hears nothing before CONT."""


Hosted = HostedTerminal | HostedProgram
"""A thing that can be ended."""


class ReaperHost(Protocol):
    """The host, as the reaper uses it."""

    @property
    def places(self) -> WorkspaceDirs:
        """Directories of the workspace."""
        ...

    @property
    def terminals(self) -> Mapping[str, HostedTerminal]:
        """All terminals by id."""
        ...

    def later(self, delay_s: float, action: Callable[[], None]) -> None:
        """Call `action` after `delay_s`."""
        ...

    def finish(self, terminal: HostedTerminal, *, whole: bool = True) -> None:
        """Report the exit of a terminal's main process."""
        ...


class Reaper:
    """The terminals of a host that are on their way out."""

    def __init__(
        self, host: ReaperHost, system: System = KERNEL, sandboxes: Callable[[], list[int]] = list[int]
    ) -> None:
        """`sandboxes` returns the processes from which all stems that is in a sandbox."""
        self._host = host
        self._sandboxes = sandboxes
        self._system = system
        self._marks = processes.TagIndex()
        self._table: processes.Table | None = None
        self._looked = 0.0
        self._cost_s = 0.0
        self._ending: dict[str, Hosted] = {}
        self._waiting: set[str] = set()
        self._due: float | None = None
        self._round: deque[tuple[Hosted, bool]] = deque()

    @property
    def busy(self) -> bool:
        """True while something is being ended."""
        return bool(self._ending)

    def end(self, terminal: Hosted, done: Callable[[list[int]], None]) -> None:
        """End all processes of a terminal and call `done` with those that could not be ended."""
        if terminal.ending is not None:
            terminal.ending.waiters.append(done)
            return
        terminal.ending = EndingState()
        self._ending[terminal.id] = terminal
        terminal.ending.waiters.append(done)
        self.step(terminal)

    def step(self, terminal: Hosted) -> None:
        """Look at a terminal as soon as the next look is due: at once, unless looking takes too much time already."""
        if terminal.ending is not None:
            self._waiting.add(terminal.id)
            self._look_in(0.0)

    def members(self, terminal: HostedTerminal) -> list[processes.Process]:
        """Return the processes of a terminal, looked up anew."""
        return self._members(self._look(), terminal)

    def has_processes(self) -> bool:
        """Return True if any terminal has processes, also such as an exited one left behind."""
        table = self._look()
        return any(t.running or self._members(table, t) for t in self._host.terminals.values())

    def _look(self) -> processes.Table:
        began = self._system.monotonic()
        self._table = processes.Table(self._system.scan(), os.getpid(), self._sandboxes())
        self._looked = self._system.monotonic()
        self._cost_s = self._looked - began
        return self._table

    def _members(self, table: processes.Table, terminal: Hosted) -> list[processes.Process]:
        if terminal.pid <= 0:
            return []
        return table.members(
            main=terminal.pid,
            tty=0 if terminal.cell else terminal.tty,  # a sandbox numbers its terminals anew
            terminal=terminal.id,
            alive=terminal.reaped is None,
            marks=self._marks,
        )

    def _look_in(self, delay_s: float) -> None:
        at = max(self._system.monotonic() + delay_s, self._looked + self._cost_s)
        if self._due is None or at < self._due:
            self._due = at
            self._host.later(at - self._system.monotonic(), lambda: self._look_around(at))

    def _look_around(self, planned: float) -> None:
        """Take one look, for all terminals that wait for it."""
        if self._due != planned:
            return  # an earlier look has been here
        self._due = None
        if self._round:
            return  # the last look is still being worked through; the next one follows
        waiting, self._waiting = self._waiting, set()
        terminals = [t for t in map(self._ending.get, waiting) if t is not None and t.ending is not None]
        if terminals:
            table = self._look()
            self._round.extend((t, t.reaped is None) for t in terminals)
            self._go_on(table)

    def _go_on(self, table: processes.Table) -> None:
        """Bring the terminals of this round a step further, for one turn of the host."""
        began = self._system.monotonic()
        while self._round:
            if self._system.monotonic() - began > TURN_S:
                self._host.later(0.0, lambda: self._go_on(table))
                return
            terminal, alive = self._round.popleft()
            if (terminal.reaped is None) == alive:  # otherwise this look is too old for it
                self._advance(terminal, self._members(table, terminal))
        again = list(self._ending.values())
        if again:
            self._waiting.update(t.id for t in again)
            young = any(t.ending.waited < 0.1 for t in again if t.ending is not None)
            # The exit of a main process brings us here at once, so looking around need not be frequent.
            self._look_in(0.01 if young else 0.05)

    def _advance(self, terminal: Hosted, found: list[processes.Process]) -> None:
        """Signal the processes found, or declare a terminal ended."""
        ending = terminal.ending
        if ending is None:
            return
        now = self._system.monotonic()
        if not ending.asked:
            ending.asked, ending.seen = True, now  # the grace counts from here
            starting = self._starts(terminal)
            ending.grace = START_UP_S if starting else GRACE_S
            # A server that shuts down on TERM would die of the HUP beside it, or of that of its shell.
            leaving = [] if starting else [p for p in found if processes.takes_leave(p)]
            ending.leaving = frozenset((p.pid, p.started) for p in leaving)
            if leaving:
                self._signal(terminal, leaving, POLITE[1:])
            elif starting:
                # Its end hangs up on whatever it had started, once: a script that takes its lock away then is left
                # to it, where a second signal would hit the very `rm`.
                ending.tidies = True
                self._signal(terminal, [p for p in found if p.pid == terminal.pid], POLITE[:-1])
            else:
                self._signal(terminal, found, POLITE)
        ending.waited += min(now - ending.seen, _STEP_S)
        ending.seen, waited = now, ending.waited
        if ending.leaving:
            if waited < LEAVE_S and any((p.pid, p.started) in ending.leaving for p in found):
                return
            ending.leaving, ending.again = frozenset(), waited + ending.again
            self._signal(terminal, found, POLITE)
        if waited >= ending.again:
            # A bash that is hung up on between its prompt and its next read notes the signal and then waits for a
            # key all the same: one in a hundred, until something wakes it.
            if ending.tidies and not terminal.running:
                if waited >= TIDY_S:
                    self._signal(terminal, found, [signal.SIGHUP])
            elif ending.grace == START_UP_S and not self._starts(terminal):
                # A sandbox that is being set up lets no signal through: its shell has heard of nothing, and is ready.
                ending.grace = waited + GRACE_S
                self._signal(terminal, found, POLITE)
            else:
                self._signal(terminal, [p for p in found if p.pid == terminal.pid], [signal.SIGHUP])
            ending.again = waited + 1.0 if waited + 1.0 < ending.grace else math.inf
        group = _leaderless(terminal)
        give_up = ending.grace + GIVE_UP_S - GRACE_S
        if waited < give_up and (found or terminal.running or group):
            ending.quiet = 0
            ending.crowd = ending.crowd or any(p.pid != terminal.pid for p in found)
            if waited >= ending.grace:  # each time anew: a process may have forked meanwhile
                self._kill_groups(found)
                if group:
                    self._system.killpg(terminal.pid, signal.SIGKILL)
                self._signal(terminal, found, [signal.SIGKILL])
            if not found and terminal.reaped is not None and isinstance(terminal, HostedTerminal):
                self._host.finish(terminal, whole=False)
            return
        ending.quiet += 1
        if ending.crowd and ending.quiet < 2 and waited < give_up:
            return  # a look is not an instant: a process that forks and exits all the time may slip through one
        terminal.ending = None
        self._ending.pop(terminal.id, None)
        for done in ending.waiters:
            done([p.pid for p in found])

    def _starts(self, terminal: Hosted) -> bool:
        """Return True if its shell has not come to its first prompt, which brings its first mark."""
        nonce = terminal.record.get("meta", {}).get("nonce")
        if not nonce or not terminal.running:
            return False
        try:
            with open(self._host.places.log(terminal.id), "rb") as log:
                return os.fstat(log.fileno()).st_size < _MARKS_WITHIN and f";fh={nonce}".encode() not in log.read()
        except OSError:
            return False

    def _kill_groups(self, found: list[processes.Process]) -> None:
        """Kill whole process groups at once: a process that forks and exits between two looks is hit all the same.

        A group lies within one session, and the session of a member was made by a member: it all belongs here.
        """
        for group in {p.group for p in found} - {os.getpgrp(), 0}:
            self._system.killpg(group, signal.SIGKILL)

    def _signal(self, terminal: Hosted, found: list[processes.Process], numbers: list[signal.Signals]) -> None:
        if not processes.HAVE_PROC:
            for number in numbers:
                self._system.killpg(terminal.pid, number)
            return
        for process in found:
            self._system.send_signals(process, numbers)


def _leaderless(terminal: Hosted) -> bool:
    """Return True if the main process's group has members, although that process is gone and no look shows them.

    A process that forks and exits without end can slip through every look at `/proc`, but not out of the group. If
    a process has the number now, it is a stranger: the kernel does not reuse a number while a group still has it.
    """
    if terminal.pid <= 0 or terminal.reaped is None or processes.look(terminal.pid) is not None:
        return False
    try:
        os.killpg(terminal.pid, 0)
    except OSError:
        return False
    return True
