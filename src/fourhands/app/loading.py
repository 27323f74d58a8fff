"""The start of a server of a workspace: while its modules are loaded, the host gets ready on another processor.

Both take longer than all the rest of a start. No module of the server is imported here.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from fourhands.core.collecting import kept
from fourhands.core.errors import FourhandsError
from fourhands.host import lifecycle, owner
from fourhands.host.paths import DirsError, WorkspaceDirs
from fourhands.settings import load
from fourhands.settings.hosting import host_options


@contextlib.asynccontextmanager
async def loading(directory: str) -> AsyncIterator[None]:
    """Import what serves this directory in this block; at its end the host listens, too.

    A host that cannot be started is for the server to report: it finds that none is there.
    """
    host = _begin(directory)
    try:
        with kept():
            yield
    finally:
        if host is not None:
            with contextlib.suppress(FourhandsError):
                await asyncio.to_thread(host.wait)


def _begin(directory: str) -> lifecycle.HostStart | None:
    try:
        places = WorkspaceDirs.of(directory)
        if owner.held(places):
            return None
        return lifecycle.begin(places, host_options(load(places.workspace).terminal))
    except (FourhandsError, DirsError, OSError):
        return None
