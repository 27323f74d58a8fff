"""`fourhands [DIR]`: a workbench with all its surfaces, until it is stopped."""

import asyncio
import contextlib
import os
import shlex
import signal
import sys

import click

from fourhands.app.launching import agent_source, launching
from fourhands.app.wiring import App
from fourhands.core.errors import FourhandsError, Unavailable
from fourhands.core.invocation import typed
from fourhands.host.dumpable import close_memory
from fourhands.host.paths import WorkspaceDirs
from fourhands.settings import Settings
from fourhands.surfaces.acp import joinable
from fourhands.surfaces.acp_agent.door import agent_joinable
from fourhands.surfaces.auth import check_secret
from fourhands.surfaces.cli.base import ServerClient, show
from fourhands.surfaces.cli.browser import show_page
from fourhands.surfaces.cli.main import Options
from fourhands.surfaces.discovery import ServerAddress, ServerRecord, find_server, only_server
from fourhands.surfaces.server import serving
from fourhands.workbench.terminals import screen


async def serve(options: Options, settings: Settings | None) -> None:
    """Serve a directory with these settings, if they could be read; the command line's main business."""
    close_memory()
    # Out of the environment, or every program in every terminal would have it.
    secret = os.environ.pop("FOURHANDS_SECRET", None) or None
    if secret is not None:
        check_secret(secret)
    places = WorkspaceDirs.of(options.directory)
    places.prepare()
    try:
        with only_server(places):
            await _serve(options, settings, places, secret)
    except ServerRecord:
        elsewhere = options.host is not None or options.port is not None  # which it cannot be any more
        if elsewhere or find_server(places.state) is None:
            raise
        await asyncio.to_thread(_join, options, places)


def _join(options: Options, places: WorkspaceDirs) -> None:
    """Start the agents at the server that runs already, and show its page."""
    client = ServerClient(options.directory)
    for spec in options.agents:
        started = client.call("openspace.agent.start", {"agent": spec})
        if not started.get("success"):
            raise FourhandsError(str(started.get("error")), hint=str(started.get("hint", "")))
    if not options.as_json:
        click.echo(f"Already running, as process {client.address.pid}.")
    _welcome(options, places, client.address, client.link())


async def _serve(options: Options, settings: Settings | None, places: WorkspaceDirs, secret: str | None) -> None:
    stopping = asyncio.Event()
    say = (lambda _: None) if options.as_json else click.echo
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    async with App(options.directory, settings, places=places) as app:
        async with (
            serving(app.bench, app.tasks, host=options.host, port=options.port, secret=secret) as server,
            joinable(app.bench, app.tasks, places.runtime, places.state),
        ):
            app.tasks.start(_load_screens(), "the terminal emulator")
            with launching(app, server) as connections:
                for spec in options.agents or ("tour",):
                    await connections.start(spec)
                _welcome(options, places, server.address, server.link())
                async with agent_joinable(agent_source(app, server), places.runtime, places.state):
                    await stopping.wait()
                say("\nStopping …")
        left = [one.title for one in app.terminals.list() if one.exit is None]
    if left:
        stop = _typed("stop", places)
        say(f"Still running: {', '.join(left)}. They are here again next time; `{stop}` ends them.")
    else:
        say("Nothing is left running.")


def _welcome(options: Options, places: WorkspaceDirs, address: ServerAddress, link: str) -> None:
    if options.as_json:
        show({"workspace": places.workspace, "url": address.url, "link": link, "pid": address.pid}, as_json=True)
        return
    click.echo(f"Fourhands for {places.workspace}")
    click.echo(f"  Open   {click.style(link, bold=True)}")
    click.echo(f"         (works once; `{_typed('open', places)}` gives a fresh one)")
    if options.port and address.port != options.port:
        click.echo(f"         port {options.port} is taken: this is {address.port}")
    here = "Ctrl-C here" if address.pid == os.getpid() else "Ctrl-C there"
    click.echo(f"  Stop   {here}; terminals keep running. `{_typed('stop', places)}` ends everything.")
    if not options.agents:
        click.echo("  Tour   press “Take the tour” on the page: a minute, and no model needed")
    if options.open_page and sys.stdout.isatty():
        show_page(link)


def _typed(command: str, places: WorkspaceDirs) -> str:
    """Return a command for this workspace, as typed in the directory where the server was started."""
    there = "" if os.path.realpath(".") == places.workspace else f" -w {shlex.quote(places.workspace)}"
    return f"{typed()} {command}{there}"


async def _load_screens() -> None:
    """Load the emulator before a terminal is shown, since loading it later would delay everyone."""
    with contextlib.suppress(Unavailable):  # said to those who do look
        await asyncio.to_thread(screen.load)
