"""`fourhands stop`: the end of server, host, terminals and agents' sessions.

A server that is only told to stop leaves everything to the next one; this is the way to end it.
"""

import asyncio
import contextlib
import os
import signal

import click

from fourhands.core.errors import TimedOut
from fourhands.host.client import HostClient
from fourhands.host.paths import WorkspaceDirs
from fourhands.surfaces.cli.base import json_option, run_async, show, workspace_option
from fourhands.surfaces.discovery import find_server, held
from fourhands.workbench.sessions import end_all

SERVER_S = 15.0
HOST_S = 60.0


@click.command()
@workspace_option
@json_option
@run_async
async def stop(workspace: str, as_json: bool) -> None:
    """End the server, the host, all terminals and all agents' sessions of the workspace."""
    places = WorkspaceDirs.of(workspace)
    ended = [
        # Where version 0.1.0 has its lock, too.
        *(["server"] if await _stop_server(places.state) or await _stop_server(places.runtime) else []),
        *(["host and terminals"] if await _stop_host(places) else []),
    ]
    end_all(places.state)
    if as_json:
        show({"ended": ended}, as_json=True)
    else:
        click.echo(f"Ended: {', '.join(ended)}." if ended else "Nothing was running.")


async def _stop_server(directory: str) -> bool:
    address = find_server(directory)
    if address is None:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(address.pid, signal.SIGTERM)
    try:
        async with asyncio.timeout(SERVER_S):
            while held(directory):  # noqa: ASYNC110 - another process's end is told by its lock only
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise TimedOut(f"the server (process {address.pid}) does not end", hint=f"kill -9 {address.pid}") from None
    return True


async def _stop_host(places: WorkspaceDirs) -> bool:
    try:
        async with asyncio.timeout(HOST_S):
            return await HostClient.end(places)
    except TimeoutError:
        raise TimedOut(
            f"the host of {places.workspace} does not end", hint=f"look into {places.state}/host.log"
        ) from None
