"""Background work with a parent: started in a block, ended with it, its failures logged and not passed on.

`asyncio.TaskGroup` is for work whose failure must end the whole: it cancels the block and wraps what the block raises.
Here it is the other way round: one terminal's or one client's trouble must never reach the others, and an exception
that leaves the block leaves it as it is.
"""

import asyncio
import logging
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self

log = logging.getLogger(__name__)


class Tasks:
    """`async with Tasks() as tasks`: leaving the block cancels what still runs and waits for it."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        interrupted: asyncio.CancelledError | None = None
        try:
            await asyncio.sleep(0)  # cancelled before its first step, a task would never reach its own `finally`
        except asyncio.CancelledError as error:
            interrupted = error
        self._closed = True
        for task in self._tasks:
            task.cancel()
        while self._tasks:
            try:
                await asyncio.wait(self._tasks)
            except asyncio.CancelledError as error:  # it counts when all have ended: what they hold must not outlive us
                interrupted = error
        if interrupted is not None:
            raise interrupted

    def start(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        """Begin some work; `name` is what a failure is logged under."""
        if self._closed:
            work.close()
            raise RuntimeError(f"{name} was started after the end")
        task = asyncio.create_task(work, name=name)  # noqa: TID251 - the one place: this block is its parent
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    async def idle(self) -> None:
        """Return when nothing runs."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _done(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("%s failed", task.get_name(), exc_info=error)

    def __len__(self) -> int:
        return len(self._tasks)
