"""`fourhands`: the group of all commands. What needs the whole program is handed in by `app.py`."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import click
import uvloop

from fourhands import __version__
from fourhands.core.errors import BadArgument, FourhandsError
from fourhands.host.link import Link
from fourhands.host.places import Places
from fourhands.providers.base import Provider
from fourhands.safety.shell import Rules, classify, visible
from fourhands.settings import load
from fourhands.surfaces.address import find_server
from fourhands.surfaces.cli.base import FAILED, Client, fail, json_option, run_async, show, workspace_option
from fourhands.surfaces.cli.doctor import doctor
from fourhands.surfaces.cli.terminal import terminal
from fourhands.workbench import ledger
from fourhands.workbench.journal import export
from fourhands.workbench.ledger import Filter

EXIT_OF_LEVEL = {"safe": 0, "unknown": 10, "dangerous": 20}


@dataclass(frozen=True, slots=True)
class Options:
    """How to serve."""

    directory: str
    agents: tuple[str, ...]
    host: str | None
    port: int | None
    open_page: bool
    verbose: bool


class _DirectoryFirst(click.Group):
    """`fourhands`, `fourhands DIR` and `fourhands --agent …` serve; everything else is a command of its own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ("--help", "--version")):
            args = ["serve", *args]
        return super().parse_args(ctx, args)


def build(serve: Callable[[Options], Awaitable[None]], providers: Callable[[str], list[Provider]]) -> click.Group:
    """The command line around these two."""

    @click.group(cls=_DirectoryFirst)
    @click.version_option(__version__, prog_name="fourhands")
    def main() -> None:
        """A workbench that a person and an AI agent drive together.

        `fourhands [DIR]` serves the workbench for a directory and opens it in the browser.
        """

    @main.command("serve")
    @click.argument("directory", default=".", type=click.Path(exists=True, file_okay=False))
    @click.option("--agent", "agents", multiple=True, help="Start an agent: tour, opencode, claude, gemini, a model …")
    @click.option("--host", help="Address to listen on.  [default: 127.0.0.1]")
    @click.option("--port", type=int, help="Port; 0 for any free one.  [default: 4404 or the next free one]")
    @click.option("--open/--no-open", "open_page", default=True, help="Open the page in a browser.")
    @click.option("--verbose", "-v", is_flag=True, help="Log what happens to stderr.")
    def serve_command(
        directory: str, agents: tuple[str, ...], host: str | None, port: int | None, open_page: bool, verbose: bool
    ) -> None:
        """Serve the workbench for DIRECTORY (default: this one)."""
        try:
            uvloop.run(_until_done(serve(Options(directory, agents, host, port, open_page, verbose))))
        except FourhandsError as error:
            fail(error)

    for command in (call, classify_line, instructions, journal, open_page, stop, terminal, doctor(providers)):
        main.add_command(command)
    return main


async def _until_done(work: Awaitable[None]) -> None:
    await work


@click.command()
@click.argument("command")
@click.argument("pairs", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--args", "raw", default="{}", help="The arguments as a JSON object.")
@workspace_option
@json_option
@run_async
async def call(command: str, pairs: tuple[str, ...], raw: str, workspace: str, as_json: bool) -> None:
    """Call COMMAND of the running workbench, e.g. openspace.pane.list, as you.

    Arguments come as a JSON object (--args) or as NAME=VALUE; a VALUE is read as JSON where it is JSON.
    """
    try:
        args = json.loads(raw)
    except ValueError as error:
        raise BadArgument(
            f"--args is not JSON: {error}", hint="""for example --args '{"path": "README.md"}'"""
        ) from error
    if not isinstance(args, dict):
        raise BadArgument("--args must be a JSON object")
    for pair in pairs:
        name, found, value = pair.partition("=")
        if not found:
            raise BadArgument(f"{pair!r} is not of the form NAME=VALUE")
        try:
            args[name] = json.loads(value)
        except ValueError:
            args[name] = value
    result = await Client(workspace).call(command, args)
    show(result, as_json=as_json)
    sys.exit(0 if result.get("success") else FAILED)


@click.command("classify")
@click.argument("line")
@workspace_option
@json_option
def classify_line(line: str, workspace: str, as_json: bool) -> None:
    """Say whether the shell line LINE is safe, unknown or dangerous, and why."""
    try:
        safety = load(workspace).safety
        verdict = classify(line, Rules(safety.safe_commands, safety.dangerous_commands))
    except FourhandsError as error:
        fail(error, as_json=as_json)
    if as_json:
        parts = [{"text": p.text, "level": p.level, "reason": p.reason, "rule": p.rule} for p in verdict.parts]
        show({"level": verdict.level, "reason": verdict.reason, "rule": verdict.rule, "parts": parts}, as_json=True)
    else:
        colours = {"safe": "green", "unknown": "yellow", "dangerous": "red"}
        click.echo(f"{click.style(verdict.level, fg=colours[verdict.level], bold=True)}: {verdict.reason}")
        for part in verdict.parts:
            level = click.style(f"{part.level:<9}", fg=colours[part.level])
            click.echo(f"  {level} {visible(part.text)}  {click.style(part.reason, dim=True)}")
    sys.exit(EXIT_OF_LEVEL[verdict.level])


@click.command()
@click.option("--session", help="For this agent session.")
@workspace_option
@run_async
async def instructions(session: str | None, workspace: str) -> None:
    """Print what a model is told: commands, state, examples, recent results."""
    params = {"sessionId": session} if session else {}
    click.echo(await Client(workspace).text("/openspace/instructions", **params))


@click.command()
@click.option("--session", help="Only this agent session.")
@click.option("--command", help="Only this command, e.g. openspace.terminal.send.")
@click.option("--limit", "-n", default=50, show_default=True, help="How many of the last calls.")
@click.option("--export", "target", type=click.Path(dir_okay=False), help="Write all of it to a file, one JSON a line.")
@workspace_option
@json_option
def journal(
    session: str | None, command: str | None, limit: int, target: str | None, workspace: str, as_json: bool
) -> None:
    """Show what was called, by whom, what came of it; or export it. Needs no running server."""
    path = Path(Places.of(workspace).state) / "journal.sqlite"
    wanted = Filter(session=session, command=command)
    try:
        if target is not None:
            with open(target, "w") as file:
                count = export(path, file, wanted)
            click.echo(f"{count} calls written to {target}.")
            return
        entries = ledger.read(path, wanted, limit)
    except FourhandsError as error:
        fail(error, as_json=as_json)
    if as_json:
        show(entries, as_json=True)
        return
    for entry in entries:
        result = entry.result
        outcome = "…" if result is None else "ok" if result.success else f"{result.code}: {result.error}"
        click.echo(f"{_time(entry.asked)}  {entry.call.actor.name:<10} {entry.call.command:<34} {outcome}")
    if not entries:
        click.echo("Nothing was called here yet.")


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S")


@click.command("open")
@click.option("--print", "print_only", is_flag=True, help="Print the link instead of opening a browser.")
@workspace_option
@json_option
@run_async
async def open_page(print_only: bool, workspace: str, as_json: bool) -> None:
    """Open the running workbench in a browser with a fresh one-time link."""
    client = Client(workspace)
    code = (await client.post("/api/code"))["code"]
    link = f"{client.address.url}/#code={code}"
    if as_json:
        show({"link": link}, as_json=True)
    elif print_only or click.launch(link) != 0:
        click.echo(link)


@click.command()
@workspace_option
@json_option
@run_async
async def stop(workspace: str, as_json: bool) -> None:
    """End the server, the host and all terminals of the workspace."""
    places = Places.of(workspace)
    address = find_server(places.runtime)
    ended: list[str] = []
    if address is not None:
        os.kill(address.pid, signal.SIGTERM)
        while find_server(places.runtime) is not None:  # noqa: ASYNC110 - another process tells by its port only
            await asyncio.sleep(0.05)
        ended.append("server")
    gone = asyncio.Event()
    try:
        link = await Link.open(places, on_event=lambda _: None, on_lost=gone.set, start=False)
    except FourhandsError:
        pass
    else:
        await link.request("stop")
        async with asyncio.timeout(10):
            await gone.wait()
        link.close()
        ended.append("host and terminals")
    if as_json:
        show({"ended": ended}, as_json=True)
    else:
        click.echo(f"Ended: {', '.join(ended)}." if ended else "Nothing was running.")
