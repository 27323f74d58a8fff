"""`fourhands mcp` where nothing runs yet: a workbench without a page of its own accord, for one MCP client.

It has all its doors, so that `fourhands open` shows it to the person and further clients join it; it ends with the
client that started it. Standard output is the client's: nothing may be printed there.
"""

import asyncio
import logging
import signal
import sys

from fourhands.app.wiring import App
from fourhands.host.places import Places
from fourhands.surfaces.address import claimed
from fourhands.surfaces.mcp.pipe import serve_stdio
from fourhands.surfaces.server import serving


async def start_headless(directory: str) -> None:
    """Serve a directory's workbench until standard input is closed."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(message)s", stream=sys.stderr)
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    places = Places.of(directory)
    places.prepare()
    with claimed(places.runtime, places.workspace):
        async with App(directory, places=places) as app, serving(app.bench, app.tasks) as server:
            await serve_stdio(app.bench, app.tasks, server.hub)
