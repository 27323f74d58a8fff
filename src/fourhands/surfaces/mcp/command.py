"""`fourhands mcp`: MCP on standard input and output, for programs that start their servers themselves.

Joins the workbench that runs for the directory, by a socket that carries MCP's messages as they are, or else starts one
without a page. The person's token opens that socket; the agent at the other end of the pipes never sees it.
"""

import sys
from collections.abc import Awaitable, Callable

import click

from fourhands.surfaces.console import INTERRUPTED, DirectoryType, told

StartHeadless = Callable[[str], Awaitable[None]]
"""Serves a directory's workbench and MCP on standard input and output, until that is closed."""


def mcp_command(start_headless: StartHeadless) -> click.Command:
    """The command, around what starts a workbench."""

    @click.command("mcp", short_help="Offer the workbench to a client, by MCP.")
    @click.argument("directory", default=".", type=DirectoryType())
    @told
    def mcp(directory: str) -> None:
        """Offer the workbench of DIRECTORY to an MCP client, on standard input and output.

        Joins a workbench that is running there, or starts one without a page.
        """
        # The command line is also used for what needs no loop and should start at once.
        import asyncio

        from fourhands.surfaces.stdio import join_or_start

        try:
            asyncio.run(join_or_start(directory, start_headless))
        except asyncio.CancelledError:  # SIGTERM
            sys.exit(INTERRUPTED)

    return mcp
