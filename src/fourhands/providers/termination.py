"""The end of processes that this program started: polite signals, SIGKILL after a grace period, then a wait until gone.

All processes are looked up anew for each rung, since those that were asked may have forked meanwhile. The host has a
ladder of its own (`host.reaper`): it has no event loop, and shells need more consideration.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Iterable, Sequence

from fourhands.core.child import Child
from fourhands.host import processes
from fourhands.host.processes import Process

GRACE_S = 1.0
"""Seconds between the polite signals and SIGKILL."""

GIVE_UP_S = 5.0
"""Seconds after SIGKILL until a process that does not even die of that is reported as left."""

LOOK_S = 0.02
"""Seconds between two looks at processes whose exit cannot be awaited."""

POLITE = (signal.SIGTERM, signal.SIGCONT)
"""Signals for a program on pipes. A stopped process receives nothing before SIGCONT."""

_Key = tuple[int, int]  # process id and start time: the next process of that id is another one

POLITE_TO_SHELLS = (signal.SIGHUP, signal.SIGCONT, signal.SIGTERM)
"""Signals for programs on a terminal: an interactive bash or zsh ignores SIGTERM alone."""


async def terminate(
    find: Callable[[], Sequence[Process]],
    grace_s: float,
    *,
    leader: Child | None = None,
    polite: Iterable[signal.Signals] = POLITE,
    give_up_s: float = GIVE_UP_S,
) -> list[int]:
    """End all processes that `find` returns; returns the ids of those that could not be ended.

    Each process gets the polite signals once; what is there after `grace_s` is killed, again and again, until nothing
    is found and `leader`, a child that leads its own session, is reaped. When cancelled, kills at once and raises.
    """
    loop = asyncio.get_running_loop()
    began, empty_looks, polite = loop.time(), 0, tuple(polite)
    known: dict[_Key, Process] = {}
    try:
        while True:
            found, waited = _living(find(), known), loop.time() - began
            fresh = [process for key, process in found.items() if key not in known]
            known |= found
            if found or (leader is not None and not leader.ended.done()):
                empty_looks = 0
            elif empty_looks or len(known) <= 1:
                if not processes.HAVE_PROC:
                    _send((), leader, (signal.SIGKILL,))  # what the leader left cannot be seen there
                return []
            else:  # a look is not an instant: a process that forks and exits without end can slip through one
                empty_looks += 1
            if waited >= grace_s + give_up_s:
                return [process.pid for process in found.values()]
            if waited >= grace_s:
                _send(found.values(), leader, (signal.SIGKILL,))
            else:
                _send(fresh, leader, polite)
            if leader is not None and not leader.ended.done():
                left_s = grace_s - waited
                await asyncio.wait([leader.ended], timeout=left_s if left_s > 0 else LOOK_S)
            else:
                await asyncio.sleep(LOOK_S)
    except asyncio.CancelledError:
        _send(_living(find(), known).values(), leader, (signal.SIGKILL,))
        raise


def _living(found: Iterable[Process], known: dict[_Key, Process]) -> dict[_Key, Process]:
    """Return these processes and the known ones that still live: a child is found no more when its parent is gone."""
    living = {(process.pid, process.started): process for process in found}
    for key, process in known.items():
        now = processes.look(process.pid) if key not in living else None
        if now is not None and now.started == process.started and now.state not in "ZX":
            living[key] = now
    return living


def _send(found: Iterable[Process], leader: Child | None, numbers: Iterable[signal.Signals]) -> None:
    if leader is not None and not processes.HAVE_PROC:
        for number in numbers:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(leader.pid, number)
    for process in found:
        processes.send_signals(process, numbers)


def session_of(leader: Child) -> list[Process]:
    """Return the processes of the session that a child leads, and their descendants."""
    table = processes.Table(processes.scan(), 1)
    if leader.ended.done() and leader.pid in table.processes:
        return []  # another process has its number by now, which it could not if the session still had a member
    members = [pid for pid, process in table.processes.items() if process.session == leader.pid]
    return [table.processes[pid] for pid in table.descendants(members)]


def carriers(mark: str) -> list[Process]:
    """Return the processes that have this mark in their environment, wherever they are, and their descendants.

    A container's processes do not descend from the host that started the engine's client, and yet they are processes
    of this machine and of this user. Unlike an `exec`, this needs no room for one more process inside.
    """
    table = processes.Table(processes.scan(), 1)
    found = table.descendants(processes.TagIndex().carriers(table, mark))
    return [table.processes[pid] for pid in found]


async def end_carriers(mark: str) -> bool:
    """End all carriers of a mark; returns True when none is left."""
    return not await terminate(lambda: carriers(mark), GRACE_S, polite=POLITE_TO_SHELLS)
