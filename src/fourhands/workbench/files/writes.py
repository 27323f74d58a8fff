"""The workbench's own writes to files: each goes to its end, and none is taken for one from outside."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

WriteOutcome = TypeVar("WriteOutcome")


class Writes:
    """Held (`with bench.writes:`) from before a file is written until its editor knows the new version."""

    def __init__(self) -> None:
        self.left: dict[str, str] = {}
        """By path: the version an agent's write left, whose file's earlier content the journal has for its reader."""
        self._begun = 0
        self._open = 0

    def __enter__(self) -> None:
        self._begun += 1
        self._open += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open -= 1

    async def do(self, write: Callable[[], WriteOutcome], told: Callable[[WriteOutcome], None]) -> WriteOutcome:
        """Write in a thread, then tell of it: both, also when the caller is cancelled meanwhile, who hears of it after.

        A thread cannot be stopped; what it has written without a report could not be undone.
        """
        with self:
            work = asyncio.get_running_loop().run_in_executor(None, write)
            cancelled: asyncio.CancelledError | None = None
            while not work.done():
                try:
                    await asyncio.wait([work])
                except asyncio.CancelledError as error:
                    cancelled = error
            if cancelled is None or work.exception() is None:
                told(work.result())
        if cancelled is not None:
            raise cancelled
        return work.result()

    def since(self) -> int | None:
        """Return a mark of this moment, which stays the same until the next write; None during a write."""
        return None if self._open else self._begun
