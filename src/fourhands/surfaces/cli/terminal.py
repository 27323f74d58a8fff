"""`fourhands terminal …`: by the workspace's server where one runs, so that gate, lease and journal know of it.

Where none runs, no agent is there and nothing can get in between: then the host is asked itself. `attach` starts the
server first, since a person who types there for a while is to be seen; `run` takes a host of its own.
"""

import asyncio
import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from fourhands.core.errors import FourhandsError, NotFound
from fourhands.core.invocation import typed
from fourhands.core.tasks import Tasks
from fourhands.host import owner
from fourhands.host.paths import WorkspaceDirs
from fourhands.surfaces.cli.base import json_option, one_line, run_async, show, workspace_option
from fourhands.surfaces.cli.served_terminals import ServedTerminals, ensure_server, is_served
from fourhands.workbench.terminals.timings import TerminalTimings

if TYPE_CHECKING:
    from fourhands.workbench.terminals.terminal import Terminal
    from fourhands.workbench.terminals.terminals import Terminals

_CODES = {"deadline": 124, "not-typed": 125}


@click.group()
def terminal() -> None:
    """List, run, attach to, read and end terminals."""


def _terminals(workspace: str, places: WorkspaceDirs | None = None, *, keep: bool = True) -> "Terminals":
    from fourhands.settings import load
    from fourhands.workbench.terminals.terminals import Terminals  # late: it is not needed where a server runs

    return Terminals(workspace, load(os.path.realpath(workspace)), places=places, keep=keep)


def _is_hosted(workspace: str) -> bool:
    """Return True if a host runs, or has left its socket; it is not started."""
    places = WorkspaceDirs.of(workspace)
    return owner.held(places) or os.path.exists(places.socket)


@contextlib.asynccontextmanager
async def _opened(workspace: str, name: str) -> "AsyncIterator[Terminal]":
    """Open a terminal that exists already."""
    if not _is_hosted(workspace):
        raise NotFound.of("terminal", name, ())
    async with _terminals(workspace) as terminals:
        yield terminals.get(name)


@contextlib.asynccontextmanager
async def _created(workspace: str, *, keep: bool, **wanted: Any) -> "AsyncIterator[Terminal]":
    """Create a terminal without a server: on a private host or, to be kept, on that of the workspace."""
    if keep:
        async with _terminals(workspace) as terminals:
            yield await terminals.create(**wanted)
        return
    WorkspaceDirs.of(workspace).prepare()  # what is wrong with these is told, whether they are needed or not
    with tempfile.TemporaryDirectory(prefix="fourhands-") as directory:
        root = os.path.realpath(workspace)
        places = WorkspaceDirs(root, f"{directory}/run", f"{directory}/state")
        async with _terminals(root, places, keep=False) as terminals:
            try:
                yield await terminals.create(**wanted)
            finally:
                await terminals.stop()


@terminal.command("list", short_help="List the terminals of the workspace.")
@workspace_option
@json_option
@run_async
async def list_terminals(workspace: str, as_json: bool) -> None:
    """List the terminals of the workspace."""
    found: list[dict[str, object]] = []
    if is_served(workspace):
        found = [_served_facts(one, workspace) for one in await ServedTerminals(workspace).list()]
    elif _is_hosted(workspace):
        async with _terminals(workspace) as terminals:
            found = [_facts(one) for one in terminals.list()]
    if as_json:
        show(found, as_json=True)
    elif not found:
        click.echo(f"No terminals. Start one: {typed()} terminal run --keep LINE")
    else:
        _print(found)


def _print(found: list[dict[str, object]]) -> None:
    titles = ["ID", "TITLE", "STATE", "CWD", "SIZE", "OUTPUT"]
    rows = [[one_line(str(one[name])) for name in ("id", "title", "state", "cwd", "size", "position")] for one in found]
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    for row in [titles, *rows]:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def _state(one: "Terminal") -> str:
    if one.exit is None:
        state = one.look()
        return state if one.marked or state == "input" else "running"
    return "lost" if one.exit.lost else f"exited {one.exit.signal or one.exit.code}"


def _facts(one: "Terminal") -> dict[str, object]:
    return {
        "id": one.id,
        "title": one.title,
        "state": _state(one),
        "cwd": one.cwd,
        "size": "×".join(map(str, one.size)),
        "position": one.log.head,
        "exitCode": one.exit.code if one.exit else None,
        "signal": one.exit.signal if one.exit else None,
        "isolation": one.isolation,
        "pid": one.pid,
    }


def _served_facts(one: dict[str, Any], workspace: str) -> dict[str, object]:
    """Return the same facts as `_facts`, of a server's terminal."""
    state = {"unmarked": "running"}.get(one["shellState"], one["shellState"])
    if one["status"] != "running":
        state = "lost" if one["status"] == "lost" else f"exited {one['signal'] or one['exitCode']}"
    return {
        "id": one["id"],
        "title": one["title"],
        "state": state,
        "cwd": os.path.normpath(os.path.join(os.path.realpath(workspace), one["cwd"])),
        "size": f"{one['cols']}×{one['rows']}",
        "position": one["position"],
        "exitCode": one["exitCode"],
        "signal": one["signal"],
        "isolation": one["isolation"],
        "pid": one["pid"],
    }


@terminal.command("run", short_help="Run a line in a shell; end with its exit code.")
@click.argument("line")
@click.option("--terminal", "-t", "name", help="Run in this terminal (id or title) instead of a new one.")
@click.option("--title", help="Title of the new terminal.")
@click.option("--cwd", help="Directory of the new terminal, inside the workspace.")
@click.option("--timeout", default=60.0, show_default=True, help="Seconds to wait; the command keeps running.")
@click.option("--keep", is_flag=True, help="Leave the new terminal open.")
@workspace_option
@json_option
@run_async
async def run_line(
    line: str,
    name: str | None,
    title: str | None,
    cwd: str | None,
    timeout: float,
    keep: bool,
    workspace: str,
    as_json: bool,
) -> None:
    """Run LINE in a persistent shell; print its output and end with its exit code."""
    if is_served(workspace):
        done = await _run_served(ServedTerminals(workspace), line, name, timeout, keep, title=title, cwd=cwd)
    else:
        place = (
            _opened(workspace, name)
            if name
            else _created(workspace, keep=keep, title=title, cwd=cwd, interactive=False)
        )
        async with place as one:
            try:
                one.later(one.timings.slow_start_s, partial(_tell_start, one))
                ran = await one.run(line, timeout_s=timeout)
            finally:
                if not keep and name is None:
                    await one.close()
            done = {
                "output": ran.output,
                "exitCode": ran.exit_code,
                "reason": ran.reason,
                "start": ran.start,
                "end": ran.end,
                "truncated": ran.truncated,
                "sure": ran.sure,
                "terminalId": one.id,
            }
    code, reason = done["exitCode"], done["reason"]
    if as_json:
        show(done, as_json=True)
    else:
        click.echo(done["output"], nl=False)
        told = reason == "exit" and code is not None and name is None and not keep
        if reason != "finished" and not told:  # a line that ends its own shell has told all by its exit code
            click.echo(f"fourhands: {_why(reason, timeout)}", err=True)
    sys.exit(code if code is not None else _CODES.get(reason, 1))


async def _run_served(
    served: ServedTerminals, line: str, name: str | None, timeout: float, keep: bool, **wanted: object
) -> dict[str, Any]:
    """Run a line in a terminal of the server: an open one, or a new one that everyone there sees."""
    if name is not None:
        (found,) = await served.find(name)
        id = found["id"]
    else:
        id = (await served.call("create", interactive=False, **wanted))["terminalId"]
    try:
        async with Tasks() as tasks:
            telling = tasks.start(_tell_served_start(served, id), "word of a slow start")
            try:
                done = await served.call("run", terminalId=id, line=line, timeoutSeconds=timeout)
            finally:
                telling.cancel()
    finally:
        if not keep and name is None:
            with contextlib.suppress(FourhandsError):  # it may be closed by now
                await served.call("close", terminalId=id)
    fields = ("output", "exitCode", "reason", "start", "end", "truncated", "sure")
    return {**{field: done[field] for field in fields}, "terminalId": id}


async def _tell_served_start(served: ServedTerminals, id: str) -> None:
    """Report a slow start from time to time, as `_tell_start` does."""
    wait_s = TerminalTimings().slow_start_s
    with contextlib.suppress(FourhandsError):  # what is wrong with the server, the run itself reports
        while True:
            await asyncio.sleep(wait_s)
            slow = [one["slowStart"] for one in await served.list() if one["id"] == id]
            if not any(slow):
                return
            click.echo(f"fourhands: {slow[0]}", err=True)
            wait_s = 5 * TerminalTimings().slow_start_s


def _tell_start(one: "Terminal") -> None:
    """Print the reason of a slow start, and again from time to time while it lasts."""
    if one.slow_start:
        click.echo(f"fourhands: {one.slow_start}", err=True)
        one.later(5 * one.timings.slow_start_s, partial(_tell_start, one))


def _why(reason: str, timeout: float) -> str:
    words = {
        "deadline": f"still running after {timeout:g} s; it goes on if the terminal is kept",
        "not-typed": f"the shell came to no prompt within {timeout:g} s: the line was not typed and nothing was run",
        "incomplete": "the shell waits for the rest of the command",
        "exit": "the shell ended, and its terminal with it",
        "input": "what took the line marks no commands: the exit code is not known",
        "quiet": "the shell is back at its prompt but did not say how the command ended: the exit code is not known",
    }
    return words.get(reason, reason)


@terminal.command("read", short_help="Print a terminal's output as text.")
@click.argument("name")
@click.option(
    "--lines",
    "-n",
    default=100,
    type=click.IntRange(min=1),
    show_default=True,
    help="How many of the last lines; at most 10000.",
)
@click.option("--since", type=click.IntRange(min=0), help="Everything from this position on.")
@workspace_option
@json_option
@run_async
async def read(name: str, lines: int, since: int | None, workspace: str, as_json: bool) -> None:
    """Print the output of the terminal NAME (id or title) as text."""
    found = await (_read_served if is_served(workspace) else _read_hosted)(workspace, name, lines, since)
    if as_json:
        show(found, as_json=True)
    elif since is not None:
        click.echo(found["text"], nl=False)
    else:
        click.echo("\n".join(found["lines"]))
        if found["truncated"]:
            click.echo(f"[the last {len(found['lines'])} lines; earlier ones with --since]", err=True)


async def _read_hosted(workspace: str, name: str, lines: int, since: int | None) -> dict[str, Any]:
    from fourhands.workbench.terminals.output import MOST_LINES, has_more_lines

    async with _opened(workspace, name) as one:
        if since is not None:
            piece = one.since(since)
            return {"text": piece.text, "start": piece.start, "end": piece.end, "gap": piece.gap}
        cut = lines > MOST_LINES and has_more_lines(one.log, MOST_LINES)
        return {"lines": one.lines(lines), "position": one.log.head, "truncated": cut}


async def _read_served(workspace: str, name: str, lines: int, since: int | None) -> dict[str, Any]:
    served = ServedTerminals(workspace)
    (one,) = await served.find(name)
    if since is None:
        read = await served.call("read_output", terminalId=one["id"], lines=lines)
        return {"lines": read["output"], "position": read["position"], "truncated": read["truncated"]}
    read = await served.call("read_output", terminalId=one["id"], since=since)
    text = "\n".join(read["output"])
    if read["output"] and not read.get("partial"):
        text += "\n"
    start = read["gap"][1] if read["gap"] else since
    return {"text": text, "start": start, "end": read["position"], "gap": read["gap"]}


@terminal.command("kill", short_help="End what runs in terminals and close them.")
@click.argument("names", nargs=-1, required=True)
@workspace_option
@json_option
@run_async
async def kill(names: tuple[str, ...], workspace: str, as_json: bool) -> None:
    """End everything that runs in the terminals NAMES and close them."""
    if is_served(workspace):
        served = ServedTerminals(workspace)
        closed = [(one["id"], one["title"]) for one in await served.find(*names)]
        for id, _ in closed:
            await served.call("close", terminalId=id)
    elif _is_hosted(workspace):
        async with _terminals(workspace) as terminals:
            chosen = list(dict.fromkeys(terminals.get(name) for name in names))
            for one in chosen:
                await one.close()
            closed = [(one.id, one.title) for one in chosen]
    else:
        raise NotFound.of("terminal", names[0], ())
    if as_json:
        show({"closed": [id for id, _ in closed]}, as_json=True)
    else:
        click.echo(f"Closed {', '.join(title for _, title in closed)}.")


@terminal.command("attach", short_help="Use a terminal from here; Ctrl-] detaches.")
@click.argument("name", required=False)
@workspace_option
@run_async
async def attach(name: str | None, workspace: str) -> None:
    """Use the terminal NAME, or a new one, from here; Ctrl-] detaches and leaves it running."""
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        raise FourhandsError("attach needs a terminal of its own", hint=f"to read its output: {typed()} terminal read")
    if name is not None and not is_served(workspace) and not _is_hosted(workspace):
        raise NotFound.of("terminal", name, ())
    await ensure_server(workspace)
    from fourhands.surfaces.cli.attach import attached  # late: the other commands need no WebSocket

    served = ServedTerminals(workspace)
    if name is not None:
        (one,) = await served.find(name)
        id, title = one["id"], one["title"]
    else:
        cols, rows = shutil.get_terminal_size()
        made = await served.call("create", cols=cols, rows=rows, interactive=True)
        id, title = made["terminalId"], made["title"]
    end = await attached(served.client, id)
    if end is None:
        click.echo(f"\r\nDetached; still running. Reattach with: {typed()} terminal attach {id}")
    else:
        how = end["signal"] or f"exit code {end['code']}"
        click.echo(f"\r\n{title} has ended: {how}")
