"""`fourhands mcp`: MCP on standard input and output, for programs that start their servers themselves.

Joins the workbench that runs for the directory, by a WebSocket that carries MCP's messages unchanged, or starts one
without a page. The program's token opens that WebSocket; the agent at the other end of the pipes never sees it.
"""

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fourhands.core.errors import BadArgument, Denied, FourhandsError
from fourhands.surfaces.console import INTERRUPTED, DirectoryType, told
from fourhands.surfaces.mcp import require_sdk
from fourhands.surfaces.mcp.options import SCOPES, ClientOptions, words

if TYPE_CHECKING:
    from fourhands.host.paths import WorkspaceDirs
    from fourhands.surfaces.mcp.link import WebSocketLink

TOKEN_VARIABLE = "FOURHANDS_TOKEN"
"""The token of an agent's session, set where an agent starts this command itself; without it, a new agent joins."""

URL_VARIABLE = "FOURHANDS_URL"
"""The address of the workbench, set where that cannot be found by its files: in a sandbox."""

StartMcp = Callable[[str, ClientOptions], Awaitable[None]]
"""Serves a directory's workbench to one client with its options, on standard input and output of this process."""


class NameList(click.ParamType[tuple[str, ...]]):
    """Names with commas between; those that are not known are refused at once."""

    def __init__(self, what: str, known: tuple[str, ...] | None = None) -> None:
        self.name = what
        self._known = known

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """Return the words of the help."""
        return self.name.upper() + ",…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Return the names."""
        if isinstance(value, tuple):
            return value
        try:
            return words(value, self.name, self._known)
        except FourhandsError as error:
            self.fail(f"{error.message}; {error.hint}", param, ctx)


def mcp_command(start: StartMcp, patience_s: float = 10.0) -> click.Command:
    """Return the command; `start` runs a workbench without a page, `patience_s` is how long another may take to."""

    @click.command("mcp", short_help="Offer the workbench to a client, by MCP.")
    @click.argument("directory", default=".", type=DirectoryType())
    @click.option(
        "--name",
        metavar="NAME",
        help="Name of this client's sessions, in place of what it calls itself. Settings of [agents.NAME] hold for it.",
    )
    @click.option(
        "--allow",
        type=NameList("scope", SCOPES),
        help="What it may do without your consent being asked: see, arrange, write, run. Dangerous commands, and "
        "without a sandbox unknown ones, are asked about all the same.",
    )
    @click.option(
        "--provider",
        metavar="PROVIDER",
        help="Where its programs run: auto, local (no sandbox), bubblewrap, landlock, container, or one from your "
        "settings. If it does not work here, nothing runs.",
    )
    @click.option(
        "--ask-by",
        type=click.Choice(("page", "forms", "never")),
        help="How you are asked: on the page only, by the client's own forms only, or never: what would be asked is "
        "refused at once, with a reason for the model. Default: page and forms.",
    )
    @click.option(
        "--tools",
        type=NameList("tool"),
        help="The tools that it is shown: core (default), all, or names.",
    )
    @click.option(
        "--keep",
        is_flag=True,
        help="Leave its terminals running when it goes, for the next session of the same --name.",
    )
    @told
    def mcp(
        directory: str,
        name: str | None,
        allow: tuple[Any, ...] | None,
        provider: str | None,
        ask_by: Any,
        tools: tuple[str, ...] | None,
        *,
        keep: bool,
    ) -> None:
        """Offer the workbench of DIRECTORY to an MCP client, on standard input and output.

        Joins a workbench that is running there, or starts one without a page. The options are for whoever configures
        the client: what they allow is written to the journal and shown on the page, where it can be revoked.

        Unattended, in CI: fourhands mcp . --name ci --allow see,arrange,write,run --ask-by never
        """
        for flag, value in (("--name", name), ("--provider", provider)):
            if value is not None and not value.strip():
                raise BadArgument(f"{flag} is empty", hint="leave it out, or name one")
        options = ClientOptions(
            name=name or "", allow=allow, provider=provider or "", ask_by=ask_by, tools=tools, keep=keep
        )
        options.check()
        if options.personal and os.environ.get(TOKEN_VARIABLE):
            raise Denied(
                f"{TOKEN_VARIABLE} is set: an agent of Fourhands starts this, whose session was begun without options",
                hint="of the options only --tools counts here; let the person change what the agent may do",
            )
        # Imported here: most uses of the command line need no event loop and should start at once.
        import asyncio

        from fourhands.surfaces.stdio import join_or_start

        async def begin(directory: str) -> None:
            require_sdk()
            await start(directory, options)

        async def join(dirs: "WorkspaceDirs") -> "WebSocketLink | None":
            return await connect(dirs, options)

        try:
            asyncio.run(join_or_start(directory, join, begin, patience_s=patience_s))
        except asyncio.CancelledError:  # SIGTERM
            sys.exit(INTERRUPTED)

    return mcp


async def connect(dirs: "WorkspaceDirs", options: ClientOptions) -> "WebSocketLink | None":
    """Connect to the workspace's server, as the agent that the environment names or as a new one."""
    from fourhands.core.errors import Unavailable
    from fourhands.surfaces.discovery import find_server, held

    own, inside, proxy = os.environ.get(TOKEN_VARIABLE), os.environ.get(URL_VARIABLE), ""
    if own and inside:
        url, token, proxy = inside, own, os.environ.get("HTTP_PROXY", "")
    else:
        address = find_server(dirs.state)
        if address is None:
            if own and not held(dirs.state):
                raise Unavailable("the server of this agent has ended", hint="start it and the agent again")
            return None
        url, token = address.url, own or (Path(dirs.state) / "token").read_text().strip()
    from fourhands.surfaces.mcp.link import WebSocketLink  # late: where nothing runs yet it is not needed

    return await WebSocketLink.open(f"{url.replace('http', 'ws', 1)}/mcp/socket", token, proxy, options)
