"""The start of a server of a workspace: while its modules are loaded, the host gets ready on another processor.

Both take longer than all the rest of a start. No module of the server is imported here.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

from fourhands.core.collecting import kept
from fourhands.core.errors import FourhandsError
from fourhands.host import lifecycle, owner
from fourhands.host.paths import WorkspaceDirs
from fourhands.settings import Settings, load
from fourhands.settings.hosting import host_options


def begin_log(verbose: int = 0) -> None:
    """Log to stderr: warnings, with 1 what happens, with 2 each call and each block.

    The last is for our own code only: libraries would write down headers, and tokens with them.
    """
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="%(levelname)s %(message)s")
    if verbose > 1:
        logging.getLogger("fourhands").setLevel(logging.DEBUG)


@contextlib.asynccontextmanager
async def loading(directory: str, verbose: int = 0) -> AsyncIterator[Settings | None]:
    """Import what serves this directory in this block, and return its settings; at its end the host listens, too.

    What is wrong with settings (None) or host is for the server to report, if there has to be one: it meets the same.
    """
    begin_log(verbose)
    places = WorkspaceDirs.of(directory)
    settings: Settings | None = None
    host: lifecycle.HostStart | None = None
    with contextlib.suppress(FourhandsError):
        settings = load(places.workspace)
        if not owner.held(places):
            host = lifecycle.begin(places, host_options(settings.terminal))
    try:
        with kept():
            yield settings
    finally:
        if host is not None:
            with contextlib.suppress(FourhandsError):
                await asyncio.to_thread(host.wait)
