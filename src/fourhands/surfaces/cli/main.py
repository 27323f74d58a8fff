"""`fourhands`: the group of all commands. What needs the whole program is handed in by `app`.

A command is imported when it is used, so that `fourhands call` does not wait for what only the server needs.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

import click

from fourhands import __version__
from fourhands.surfaces.cli.base import json_option, run_async, told, workspace_option

if TYPE_CHECKING:
    from fourhands.providers.base import Provider

LATE = {
    "call": ("call", "call"),
    "classify": ("classify", "classify_line"),
    "instructions": ("call", "instructions"),
    "journal": ("journal", "journal"),
    "open": ("call", "open_page"),
    "stop": ("stop", "stop"),
    "terminal": ("terminal", "terminal"),
}
"""Where each command is: module and name."""


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
        if not args or (args[0] not in self.list_commands(ctx) and args[0] not in ("--help", "--version")):
            args = ["serve", *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self.commands, *LATE})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in LATE:
            module, name = LATE[cmd_name]
            found: click.Command = getattr(import_module(f"fourhands.surfaces.cli.{module}"), name)
            return found
        return super().get_command(ctx, cmd_name)


def build(serve: Callable[[Options], Awaitable[None]], providers: "Callable[[str], list[Provider]]") -> click.Group:
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
    @click.option(
        "--port", type=click.IntRange(0, 65535), help="Port; 0 for any free one.  [default: 4404 or the next free one]"
    )
    @click.option("--open/--no-open", "open_page", default=True, help="Open the page in a browser.")
    @click.option("--verbose", "-v", is_flag=True, help="Log what happens to stderr.")
    @told
    def serve_command(
        directory: str, agents: tuple[str, ...], host: str | None, port: int | None, open_page: bool, verbose: bool
    ) -> None:
        """Serve the workbench for DIRECTORY (default: this one)."""
        import uvloop

        uvloop.run(_until_done(serve(Options(directory, agents, host, port, open_page, verbose))))

    @main.command("doctor")
    @workspace_option
    @json_option
    @run_async
    async def doctor(workspace: str, as_json: bool) -> None:
        """Look at this machine and say what works, what does not, and what to do about it."""
        from fourhands.surfaces.cli.doctor import examine

        await examine(workspace, providers, as_json=as_json)

    return main


async def _until_done(work: Awaitable[None]) -> None:
    await work
