"""A workbench without a page inside of another program, in a thread of its own: one for each directory.

A `Toolset` starts it where none runs, and further ones of the same program share it. It has all its doors, so that
`fourhands open` shows it to the person, and ends with the last of those that use it.
"""

import contextlib
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass

from fourhands.app.wiring import App
from fourhands.core.loop_thread import LoopThread
from fourhands.host.paths import WorkspaceDirs
from fourhands.settings import Settings
from fourhands.surfaces import acp
from fourhands.surfaces.discovery import only_server
from fourhands.surfaces.server import Running, serving


@contextlib.asynccontextmanager
async def _running(places: WorkspaceDirs, settings: Settings | None) -> AsyncIterator[Running]:
    places.prepare()
    with only_server(places):
        async with (
            App(places.workspace, settings, places=places) as app,
            serving(app.bench, app.tasks) as server,
            acp.joinable(app.bench, app.tasks, places.runtime, places.state),
        ):
            yield server


@dataclass(slots=True)
class _Shared:
    thread: LoopThread[Running]
    running: Running
    users: int = 0


_lock = threading.Lock()
_shared: dict[str, _Shared] = {}


class InProcess:
    """One use of the workbench that runs in this process; `close` it."""

    def __init__(self, key: str, shared: _Shared) -> None:
        self._key = key
        self._shared: _Shared | None = shared
        self.url = shared.running.address.url
        self.own = shared.running.own
        shared.users += 1

    def close(self) -> None:
        """Use it no longer; the last one ends the workbench."""
        with _lock:
            shared, self._shared = self._shared, None
            if shared is None:
                return
            shared.users -= 1
            if shared.users == 0:
                del _shared[self._key]
                shared.thread.close()


def join(places: WorkspaceDirs) -> InProcess | None:
    """Return a use of the workbench that runs in this process; None if none does."""
    with _lock:
        shared = _shared.get(places.state)
        return InProcess(places.state, shared) if shared is not None else None


def start(places: WorkspaceDirs, settings: Settings | None = None) -> InProcess:
    """Start a workbench in this process, or use the one that runs here.

    Raises `Unavailable` where another process has just started one.
    """
    with _lock:
        shared = _shared.get(places.state)
        if shared is None:
            thread = LoopThread(_running(places, settings), "workbench")
            shared = _shared[places.state] = _Shared(thread, thread.open())
        return InProcess(places.state, shared)
