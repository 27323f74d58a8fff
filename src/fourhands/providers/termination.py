"""Ending processes that carry a mark, wherever in the process tree of this machine they are.

A container's processes are not descendants of the host that started the engine's client, and yet they are processes of
this machine and of this user. Unlike an `exec`, this needs no room for one more process inside.
"""

import asyncio
import signal

from fourhands.host import processes

GRACE_S = 1.0
"""From the polite signals to SIGKILL."""

GIVE_UP_S = 6.0

# An interactive bash or zsh ignores TERM alone, and a stopped process hears nothing before CONT.
_POLITE = (signal.SIGHUP, signal.SIGCONT, signal.SIGTERM)


def carriers(mark: str) -> list[processes.Process]:
    """The processes that have this mark in their environment, and all that stems from them."""
    table = processes.Table(processes.scan(), 1)
    found = table.descendants(processes.TagIndex().carriers(table, mark))
    return [table.processes[pid] for pid in found]


async def end_carriers(mark: str) -> bool:
    """End all carriers of a mark, politely, then firmly; True when none is left."""
    loop = asyncio.get_running_loop()
    began, asked = loop.time(), False
    while found := carriers(mark):
        waited = loop.time() - began
        if waited >= GIVE_UP_S:
            return False
        numbers = (signal.SIGKILL,) if waited >= GRACE_S else () if asked else _POLITE
        for process in found:
            for number in numbers:
                processes.send_signal(process, number)
        asked = True
        await asyncio.sleep(0.02)
    return True
