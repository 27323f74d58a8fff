"""The spare shell: started before anybody asks, so that whoever does need not wait for a shell to start.

There is at most one, like the shell that was asked for last. It has a mark by which others on the same host tell one
that is still wanted from an orphan.
"""

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable
from typing import Any

from fourhands.core.errors import FourhandsError
from fourhands.core.ids import ulid
from fourhands.host import processes
from fourhands.workbench.terminals.terminal import Terminal
from fourhands.workbench.terminals.timings import SpareTimings

StartShell = Callable[[dict[str, Any]], Awaitable[Terminal]]
"""Starts a shell with these facts."""

_wanted: set[str] = set()


class Spare:
    """The place of one spare shell; `open` it before use."""

    def __init__(self, timings: SpareTimings) -> None:
        self._timings = timings
        self.terminal: Terminal | None = None
        self.leaving: set[Terminal] = set()  # nobody wants these any more, but they may still be starting
        self._key: object = None
        self._mark = ""

    def open(self) -> None:
        """From now on its shells are somebody's."""
        self._mark = new_mark()

    def close(self) -> None:
        """Nobody wants its shells any more; the one that is here goes on, as after a crash."""
        self.terminal = None
        self.leaving.clear()
        drop(self._mark)

    def all(self) -> list[Terminal]:
        """Return the shell, and those that were here and are not ended yet."""
        return [*self.leaving, *([self.terminal] if self.terminal is not None else [])]

    def take(self, key: object) -> Terminal | None:
        """Return the shell, if it is the very one that is wanted: of an equal key, and alive."""
        terminal = self.terminal
        if terminal is None or key is None or self._key != key or terminal.exited:
            return None
        self.terminal = None
        return terminal

    def discard(self) -> Terminal | None:
        """Forget the shell: its host is gone."""
        terminal, self.terminal = self.terminal, None
        return terminal

    async def fill(self, key: object, start: StartShell, facts: dict[str, Any]) -> None:
        """Have a shell of this key, instead of any other."""
        await asyncio.sleep(self._timings.refill_s)
        old = self.terminal
        if old is not None and self._key == key:
            return
        self.terminal = None
        with contextlib.suppress(FourhandsError, OSError):  # without a spare the next create is slower, no more
            fresh = await start({**facts, "spare": self._mark})
            self.terminal, self._key = fresh, key
            await fresh.wait_for_prompt(self._timings.prompt_s)
        if old is not None:
            self.leaving.add(old)
            with contextlib.suppress(FourhandsError, OSError):
                await old.wait_for_prompt(self._timings.finish_s)
                await old.close()
            self.leaving.discard(old)


def new_mark() -> str:
    """Return a mark for the spare shells of one user of a host, in this process; good until `drop`."""
    mark = f"{os.getpid()}:{_started(os.getpid())}:{ulid()}"
    _wanted.add(mark)
    return mark


def drop(mark: str) -> None:
    """Nobody here wants the spare shells of this mark any more."""
    _wanted.discard(mark)


def is_orphan(mark: object) -> bool:
    """Return True if no server is left that would use a spare shell with this mark."""
    match str(mark).split(":"):
        case [pid, started, _] if pid.isdecimal():
            if int(pid) == os.getpid() and started == str(_started(os.getpid())):
                return mark not in _wanted
            return str(_started(int(pid))) != started
    return True


def _started(pid: int) -> int | None:
    """When a process began, in a form that its number's next bearer does not share; None where it is gone."""
    if processes.HAVE_PROC:
        process = processes.look(pid)
        return process.started if process is not None and process.state not in "ZX" else None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass  # somebody else's, but alive
    return 0
