"""The program: the command line around everything, and the one place that knows everyone.

Lazy (PEP 562): most commands of the command line need little, and what needs the whole program imports it then.
"""

import contextlib
import io
import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import click

from fourhands.surfaces.console import DirectoryType

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fourhands.agents.connectors.trial_tasks import Scratch
    from fourhands.app.wiring import CONTRIBUTIONS as CONTRIBUTIONS
    from fourhands.app.wiring import App as App
    from fourhands.providers.base import Provider
    from fourhands.surfaces.cli.main import Options
    from fourhands.surfaces.mcp.options import ClientOptions

__all__ = ["CONTRIBUTIONS", "App", "main", "program"]


def __getattr__(name: str) -> object:
    """Import the workbench on first use."""
    if name not in ("App", "CONTRIBUTIONS"):
        raise AttributeError(f"module 'fourhands.app' has no attribute {name!r}")
    return getattr(import_module("fourhands.app.wiring"), name)


def main() -> None:
    """Run the `fourhands` program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # not every place knows every character
    group = program()
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # see __main__
        signal.signal(signal.SIGINT, signal.default_int_handler)
    group()


def program() -> click.Group:
    """Build the whole command line."""
    from fourhands.surfaces.cli.main import build
    from fourhands.surfaces.mcp.command import mcp_command

    group = build(_serve, _providers, _scratch)
    group.add_command(mcp_command(_headless))
    group.add_command(_acp)
    return group


async def _headless(directory: str, options: "ClientOptions") -> None:
    from fourhands.app.loading import loading

    async with loading(directory) as settings:
        from fourhands.app.headless import start_headless

    await start_headless(directory, options, settings)


@click.command("acp", short_help="Be an agent of an editor, or offer it terminals and files, by ACP.")
@click.argument("directory", default=None, required=False, type=DirectoryType())
@click.option(
    "--agent",
    metavar="NAME",
    help="Be this agent for an editor: claude, codex, gemini, opencode, 'opencode acp', a model's address as "
    "URL#MODEL, tour, or 'acp COMMAND …'.",
)
def _acp(directory: str | None, agent: str | None) -> None:
    """Speak ACP with an editor, on standard input and output.

    With --agent, be an agent for Zed, JetBrains, Neovim and other editors: it works in the workbench, with terminals
    and files that you both see, and the page shows the same chat. Without DIRECTORY, the workspace is that of the
    editor's first session.

    Without --agent, offer the terminals and files of DIRECTORY (default: this one) to a program that asks for them by
    terminal/* and fs/*.

    Joins a workbench that is running there, or starts one without a page.

    \b
      fourhands acp --agent claude
      fourhands acp --agent http://127.0.0.1:11434/v1#llama3 ~/project
    """
    if agent is None:
        from fourhands.surfaces.acp import acp_command

        acp_command(_headless_acp)([directory or "."])
        return
    from fourhands.app.connectors import check_spec
    from fourhands.app.headless import headless_agent
    from fourhands.surfaces.acp_agent.command import serve_agent

    serve_agent(directory, agent, check_spec, headless_agent)


async def _headless_acp(directory: str) -> None:
    from fourhands.app.loading import loading

    async with loading(directory) as settings:
        from fourhands.app.headless import start_headless_acp

    await start_headless_acp(directory, settings)


async def _serve(options: "Options") -> None:
    from fourhands.app.loading import loading

    async with loading(options.directory, options.verbose) as settings:
        from fourhands.app.serve import serve

    await serve(options, settings)


@contextlib.asynccontextmanager
async def _scratch() -> "AsyncIterator[Scratch]":
    from fourhands.app.scratch import scratch

    async with scratch() as place:
        yield place


def _providers(workspace: str) -> "list[Provider]":
    from fourhands.providers.registry import build
    from fourhands.settings import load

    return list(build(load(workspace)).values())
