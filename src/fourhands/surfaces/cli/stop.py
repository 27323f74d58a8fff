"""`fourhands stop`: the end of server, host and terminals."""

import asyncio
import contextlib
import os
import signal

import click

from fourhands.core.errors import TimedOut
from fourhands.host.link import Link
from fourhands.host.places import Places
from fourhands.surfaces.address import find_server, held
from fourhands.surfaces.cli.base import json_option, run_async, show, workspace_option

SERVER_S = 15.0
HOST_S = 10.0


@click.command(short_help="End the server, the host and all terminals.")
@workspace_option
@json_option
@run_async
async def stop(workspace: str, as_json: bool) -> None:
    """End the server, the host and all terminals of the workspace."""
    places = Places.of(workspace)
    ended = [
        *(["server"] if await _stop_server(places) else []),
        *(["host and terminals"] if await _stop_host(places) else []),
    ]
    if as_json:
        show({"ended": ended}, as_json=True)
    else:
        click.echo(f"Ended: {', '.join(ended)}." if ended else "Nothing was running.")


async def _stop_server(places: Places) -> bool:
    address = find_server(places.runtime)
    if address is None:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(address.pid, signal.SIGTERM)
    try:
        async with asyncio.timeout(SERVER_S):
            while held(places.runtime):  # noqa: ASYNC110 - another process's end is told by its lock only
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise TimedOut(f"the server (process {address.pid}) does not end", hint=f"kill -9 {address.pid}") from None
    return True


async def _stop_host(places: Places) -> bool:
    try:
        async with asyncio.timeout(HOST_S):
            return await Link.end(places)
    except TimeoutError:
        raise TimedOut(
            f"the host of {places.workspace} does not end", hint=f"look into {places.state}/host.log"
        ) from None
