"""`fourhands terminal …`: terminals of the workspace's host, with or without a server running."""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import termios
import tty
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import click

from fourhands.core.errors import FourhandsError, NotFound
from fourhands.host import owner
from fourhands.host.log import Chunk
from fourhands.host.paths import WorkspaceDirs
from fourhands.settings import load
from fourhands.surfaces.cli.base import ServerClient, json_option, one_line, run_async, show, workspace_option
from fourhands.surfaces.discovery import find_server
from fourhands.workbench.terminals.output import MOST_LINES, has_more_lines
from fourhands.workbench.terminals.terminal import SLOW_START_S, Terminal
from fourhands.workbench.terminals.terminals import Terminals

DETACH = b"\x1d"
KEYS_AT_ONCE = 64 * 1024
MOST_KEYS = 256
"""Pieces of that size that wait for a program which does not read; large, for behind them no detaching is noticed."""

_CODES = {"deadline": 124, "not-typed": 125}


@click.group(short_help="List, run, attach to, read and end terminals.")
def terminal() -> None:
    """List, run, attach to, read and end terminals."""


def _terminals(workspace: str) -> Terminals:
    return Terminals(workspace, load(os.path.realpath(workspace)), keep=True)


def _is_hosted(workspace: str) -> bool:
    """Whether there is a host: to look into it nobody need start one."""
    places = WorkspaceDirs.of(workspace)
    return owner.held(places) or os.path.exists(places.socket)


@contextlib.asynccontextmanager
async def _opened(workspace: str, name: str) -> AsyncIterator[Terminal]:
    """A terminal that is there."""
    if not _is_hosted(workspace):
        raise NotFound.of("terminal", name, ())
    async with _terminals(workspace) as terminals:
        yield terminals.get(name)


@contextlib.asynccontextmanager
async def _created(workspace: str, **wanted: Any) -> AsyncIterator[Terminal]:
    """A new terminal: made by the server where one runs, so that everybody there sees it."""
    if find_server(WorkspaceDirs.of(workspace).state) is None:
        async with _terminals(workspace) as terminals:
            yield await terminals.create(**wanted)
        return
    made = await asyncio.to_thread(ServerClient(workspace).call, "openspace.terminal.create", wanted)
    if not made.get("success"):
        raise FourhandsError(str(made.get("error")), hint=str(made.get("hint", "")))
    async with _opened(workspace, made["terminalId"]) as one:
        yield one


@terminal.command("list", short_help="List the terminals of the workspace.")
@workspace_option
@json_option
@run_async
async def list_terminals(workspace: str, as_json: bool) -> None:
    """List the terminals of the workspace."""
    found: list[dict[str, object]] = []
    if _is_hosted(workspace):
        async with _terminals(workspace) as terminals:
            found = [_facts(one) for one in terminals.list()]
    if as_json:
        show(found, as_json=True)
    elif not found:
        click.echo("No terminals. Start one: fourhands terminal run --keep LINE")
    else:
        _print(found)


def _print(found: list[dict[str, object]]) -> None:
    titles = ["ID", "TITLE", "STATE", "CWD", "SIZE", "OUTPUT"]
    rows = [[one_line(str(one[name])) for name in ("id", "title", "state", "cwd", "size", "position")] for one in found]
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    for row in [titles, *rows]:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def _state(one: Terminal) -> str:
    if one.exit is None:
        state = one.look()
        return state if one.marked or state == "input" else "running"
    return "lost" if one.exit.lost else f"exited {one.exit.signal or one.exit.code}"


def _facts(one: Terminal) -> dict[str, object]:
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


@terminal.command("run", short_help="Run a line in a shell; end with its exit code.")
@click.argument("line")
@click.option("--terminal", "-t", "name", help="Run in this terminal (id or title) instead of a new one.")
@click.option("--title", help="Title of the new terminal.")
@click.option("--cwd", help="Directory of the new terminal, inside the workspace.")
@click.option("--timeout", default=60.0, show_default=True, help="Seconds to wait; the command goes on after that.")
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
    async with (
        _opened(workspace, name) if name else _created(workspace, title=title, cwd=cwd, interactive=False) as one
    ):
        try:
            one.later(SLOW_START_S, partial(_tell_start, one))
            done = await one.run(line, timeout_s=timeout)
        finally:
            if not keep and name is None:
                await one.close()
        if as_json:
            show(
                {
                    "output": done.output,
                    "exitCode": done.exit_code,
                    "reason": done.reason,
                    "start": done.start,
                    "end": done.end,
                    "truncated": done.truncated,
                    "sure": done.sure,
                    "terminalId": one.id,
                },
                as_json=True,
            )
        else:
            click.echo(done.output, nl=False)
            told = done.reason == "exit" and done.exit_code is not None and name is None and not keep
            if done.reason != "finished" and not told:  # a line that ends its own shell has told all by its exit code
                click.echo(f"fourhands: {_why(done.reason, timeout)}", err=True)
    sys.exit(done.exit_code if done.exit_code is not None else _CODES.get(done.reason, 1))


def _tell_start(one: Terminal) -> None:
    """Say what is waited for, as often as a person begins to wonder."""
    if one.slow_start:
        click.echo(f"fourhands: {one.slow_start}", err=True)
        one.later(5 * SLOW_START_S, partial(_tell_start, one))


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
    async with _opened(workspace, name) as one:
        if since is not None:
            piece = one.since(since)
            if as_json:
                show({"text": piece.text, "start": piece.start, "end": piece.end, "gap": piece.gap}, as_json=True)
            else:
                click.echo(piece.text, nl=False)
            return
        found = one.lines(lines)
        cut = lines > MOST_LINES and has_more_lines(one.log, MOST_LINES)
        if as_json:
            show({"lines": found, "position": one.log.head, "truncated": cut}, as_json=True)
        else:
            click.echo("\n".join(found))
            if cut:
                click.echo(f"[the last {MOST_LINES} lines; earlier ones with --since]", err=True)


@terminal.command("kill", short_help="End what runs in terminals and close them.")
@click.argument("names", nargs=-1, required=True)
@workspace_option
@json_option
@run_async
async def kill(names: tuple[str, ...], workspace: str, as_json: bool) -> None:
    """End everything that runs in the terminals NAMES and close them."""
    if not _is_hosted(workspace):
        raise NotFound.of("terminal", names[0], ())
    async with _terminals(workspace) as terminals:
        chosen = list(dict.fromkeys(terminals.get(name) for name in names))
        for one in chosen:
            await one.close()
        if as_json:
            show({"closed": [one.id for one in chosen]}, as_json=True)
        else:
            click.echo(f"Closed {', '.join(one.title for one in chosen)}.")


@terminal.command("attach", short_help="Use a terminal from here; Ctrl-] detaches.")
@click.argument("name", required=False)
@workspace_option
@run_async
async def attach(name: str | None, workspace: str) -> None:
    """Use the terminal NAME, or a new one, from here; Ctrl-] detaches and leaves it running."""
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        raise FourhandsError("attach needs a terminal of its own", hint="to read its output: fourhands terminal read")
    cols, rows = shutil.get_terminal_size()
    async with _opened(workspace, name) if name else _created(workspace, cols=cols, rows=rows, interactive=True) as one:
        with _raw():
            await _attached(one)
        if one.exit is None:
            click.echo(f"\r\nDetached; it goes on. Back with: fourhands terminal attach {one.id}")
        else:
            click.echo(f"\r\n{one.title} has ended: {one.exit.signal or f'exit code {one.exit.code}'}")


@contextlib.contextmanager
def _raw() -> Iterator[None]:
    before = termios.tcgetattr(0)
    tty.setraw(0, termios.TCSADRAIN)  # what was typed ahead is not thrown away
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
        # Leave modes that the program may have switched on: alternate screen, mouse, bracketed paste, hidden cursor.
        os.write(1, b"\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?25h\x1b[0m")


async def _attached(one: Terminal) -> None:
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    keys: asyncio.Queue[bytes] = asyncio.Queue()

    def read_keys() -> None:
        try:
            data = os.read(0, KEYS_AT_ONCE)
        except OSError:  # our own terminal has been closed
            data = b""
        before, found, _ = data.partition(DETACH)
        if before:
            keys.put_nowait(before)
        if found or not data:
            over.set()
        elif keys.qsize() >= MOST_KEYS:  # the program is slow: whoever pastes waits too
            loop.remove_reader(0)

    def resized() -> None:
        with contextlib.suppress(FourhandsError):
            one.resize(*shutil.get_terminal_size())

    def output(chunk: Chunk) -> None:
        _write(chunk.data)

    async def type_keys() -> None:
        while True:
            await one.type(await keys.get())
            if keys.qsize() == MOST_KEYS // 2:
                loop.add_reader(0, read_keys)

    screen, position = one.restore()
    _write(screen)
    stop_data = one.on_data(output, position)
    stop_exit = one.on_exit(lambda _: over.set())
    loop.add_reader(0, read_keys)
    loop.add_signal_handler(signal.SIGWINCH, resized)
    resized()
    try:
        async with asyncio.TaskGroup() as group:
            typing = group.create_task(type_keys())
            await over.wait()
            typing.cancel()
    except* FourhandsError:
        pass  # it ended while something was typed; its end is told by the caller
    finally:
        loop.remove_reader(0)
        loop.remove_signal_handler(signal.SIGWINCH)
        stop_data()
        stop_exit()


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(1, view) :]
        except BlockingIOError:
            continue
