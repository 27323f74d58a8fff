"""`fourhands mcp` and `fourhands acp` where nothing runs yet: a workbench without a page, for one client.

It has all its doors, so that `fourhands open` shows it to the person and further clients join it; it ends with the
client that started it. Standard output is the client's: nothing may be printed there.
"""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from fourhands.app.loading import begin_log
from fourhands.app.wiring import App
from fourhands.core.collecting import kept
from fourhands.core.tasks import Tasks
from fourhands.host.paths import WorkspaceDirs
from fourhands.settings import Settings
from fourhands.surfaces import acp
from fourhands.surfaces.acp_socket import SocketLink, linked
from fourhands.surfaces.discovery import only_server
from fourhands.surfaces.mcp.options import ClientOptions
from fourhands.surfaces.mcp.pipe import load, serve_stdio
from fourhands.surfaces.mcp.terms import settle
from fourhands.surfaces.server import Running, serving

if TYPE_CHECKING:
    from fourhands.surfaces.mcp.conversation import Conversation


@contextlib.asynccontextmanager
async def _headless(directory: str, settings: Settings | None = None) -> AsyncIterator[tuple[App, Running]]:
    begin_log()
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    places = WorkspaceDirs.of(directory)
    places.prepare()
    with only_server(places):
        async with (
            App(directory, settings, places=places) as app,
            serving(app.bench, app.tasks) as server,
            acp.joinable(app.bench, app.tasks, places.runtime, places.state),
        ):

            def leave() -> None:
                """Told to go, not left by its client: what there is stays."""
                app.bench.leaving = True
                task.cancel()

            loop.add_signal_handler(signal.SIGTERM, leave)
            yield app, server


async def start_headless(directory: str, options: ClientOptions, settings: Settings | None = None) -> None:
    """Serve a directory's workbench to an MCP client with its options, until standard input is closed."""
    async with Tasks() as tasks:
        loaded = tasks.start(asyncio.to_thread(_load), "loading the MCP SDK")
        async with _headless(directory, settings) as (app, server):
            terms = await settle(app.bench, options, own=True)
            await serve_stdio(app.bench, server.hub, app.tasks, loaded, terms)


def _load() -> "type[Conversation]":
    """Load the MCP SDK, which takes longer than the workbench, while that starts and greets the client."""
    with kept():
        return load()


async def start_headless_acp(directory: str, settings: Settings | None = None) -> None:
    """Serve a directory's terminals and files to an ACP client until standard input is closed."""
    async with _headless(directory, settings) as (app, _):
        await acp.serve_stdio(app.bench, app.tasks)


@contextlib.asynccontextmanager
async def headless_agent(directory: str, spec: str) -> AsyncIterator[SocketLink]:
    """Run a directory's workbench for an editor, for the length of the block; the link leads to its agent."""
    from fourhands.app.launching import agent_source, launching
    from fourhands.surfaces.acp_agent.connection import AgentConnection
    from fourhands.surfaces.acp_agent.door import agent_joinable

    async with _headless(directory) as (app, server):
        with launching(app, server):
            source = agent_source(app, server)

            async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await AgentConnection(source, spec, reader, writer).run()

            places = app.places
            async with agent_joinable(source, places.runtime, places.state), linked(app.tasks, serve) as link:
                yield link
