"""`fourhands mcp`: MCP on standard input and output, for programs that start their servers themselves.

Joins the workbench that runs for the directory, by a WebSocket that carries MCP's messages unchanged, or starts one
without a page. The program's token opens that WebSocket; the agent at the other end of the pipes never sees it.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fourhands.surfaces.console import INTERRUPTED, DirectoryType, told
from fourhands.surfaces.mcp import require_sdk

if TYPE_CHECKING:
    from fourhands.host.paths import WorkspaceDirs
    from fourhands.surfaces.mcp.link import WebSocketLink
    from fourhands.surfaces.stdio import Start

TOKEN_VARIABLE = "FOURHANDS_TOKEN"
"""The token of an agent's session, set where an agent starts this command itself; without it, a new agent joins."""

URL_VARIABLE = "FOURHANDS_URL"
"""The address of the workbench, set where that cannot be found by its files: in a sandbox."""


def mcp_command(start: "Start", patience_s: float = 10.0) -> click.Command:
    """Return the command; `start` runs a workbench without a page, `patience_s` is how long another may take to."""

    @click.command("mcp", short_help="Offer the workbench to a client, by MCP.")
    @click.argument("directory", default=".", type=DirectoryType())
    @told
    def mcp(directory: str) -> None:
        """Offer the workbench of DIRECTORY to an MCP client, on standard input and output.

        Joins a workbench that is running there, or starts one without a page.
        """
        # Imported here: most uses of the command line need no event loop and should start at once.
        import asyncio

        from fourhands.surfaces.stdio import join_or_start

        async def begin(directory: str) -> None:
            require_sdk()
            await start(directory)

        try:
            asyncio.run(join_or_start(directory, connect, begin, patience_s=patience_s))
        except asyncio.CancelledError:  # SIGTERM
            sys.exit(INTERRUPTED)

    return mcp


async def connect(dirs: "WorkspaceDirs") -> "WebSocketLink | None":
    """Connect to the workspace's server, as the agent that the environment names or as a new one."""
    import os

    from fourhands.core.errors import Unavailable
    from fourhands.surfaces.discovery import find_server, held
    from fourhands.surfaces.mcp.link import WebSocketLink

    own = os.environ.get(TOKEN_VARIABLE)
    if own and (inside := os.environ.get(URL_VARIABLE)):
        socket = f"{inside.replace('http', 'ws', 1)}/mcp/socket"
        return await WebSocketLink.open(socket, own, os.environ.get("HTTP_PROXY", ""))
    address = find_server(dirs.state)
    if address is None:
        if own and not held(dirs.state):
            raise Unavailable("the server of this agent has ended", hint="start it and the agent again")
        return None
    token = own or (Path(dirs.state) / "token").read_text().strip()
    return await WebSocketLink.open(f"{address.url.replace('http', 'ws', 1)}/mcp/socket", token)
