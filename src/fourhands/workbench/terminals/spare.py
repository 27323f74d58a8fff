"""The spare shell: started ahead of time, so that the next terminal need not wait for a shell to start.

There is at most one, like the shell that was asked for last. Its mark names a file that its owner holds locked: others
on the same host tell by it a shell that is still wanted from an orphan, whatever became of the owner.
"""

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Awaitable, Callable
from typing import Any

from fourhands.core.errors import FourhandsError
from fourhands.core.ids import ulid
from fourhands.host import owner
from fourhands.workbench.terminals.terminal import Terminal
from fourhands.workbench.terminals.timings import SpareTimings

StartShell = Callable[[dict[str, Any]], Awaitable[Terminal]]
"""Starts a shell with these facts."""


class Spare:
    """The place of one spare shell; `open` it before use."""

    def __init__(self, directory: str, timings: SpareTimings) -> None:
        self._directory = directory
        self._timings = timings
        self.terminal: Terminal | None = None
        self.leaving: set[Terminal] = set()  # replaced by another, but they may still be starting
        self._key: object = None
        self._mark = ""
        self._lock = -1

    def open(self) -> None:
        """Claim the shells that are started from now on; where no file can be made, none is started."""
        self._mark = ulid()
        with contextlib.suppress(OSError):
            self._lock = os.open(_claim(self._directory, self._mark), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)

    def close(self) -> None:
        """Release the claim; a shell that is here stays at its host, as after a crash."""
        self.terminal = None
        self.leaving.clear()
        if self._lock >= 0:
            with contextlib.suppress(OSError):
                os.unlink(_claim(self._directory, self._mark))
            os.close(self._lock)
            self._lock = -1

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
        if self._lock < 0 or (old is not None and self._key == key):
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


def is_orphan(directory: str, mark: object) -> bool:
    """Return True if no owner is left that would use a spare shell with this mark."""
    if not isinstance(mark, str) or not mark.isalnum():
        return True
    claim = _claim(directory, mark)
    if owner.locked(claim):
        return False
    with contextlib.suppress(OSError):
        os.unlink(claim)  # of an owner that was killed
    return True


def _claim(directory: str, mark: str) -> str:
    return f"{directory}/spare-{mark}.lock"
