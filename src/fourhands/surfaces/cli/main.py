"""`fourhands`: the group of all commands. What needs the whole program is handed in by `app`.

A command is imported when it is used, so that `fourhands call` does not wait for what only the server needs.
"""

import difflib
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from fourhands import __version__
from fourhands.surfaces.cli.base import json_option, run_async, workspace_option
from fourhands.surfaces.console import DirectoryType, told

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from fourhands.agents.connectors.trial_tasks import Scratch
    from fourhands.providers.base import Provider


class LateCommand(NamedTuple):
    """A command that is imported when it is used: its module and name there, and its line in the list of all."""

    module: str
    name: str
    short_help: str


LATE = {
    "call": LateCommand("call", "call", "Call a command of the running workbench."),
    "classify": LateCommand("classify", "classify_line", "Say whether a shell line is safe, unknown or dangerous."),
    "journal": LateCommand("journal", "journal", "Show the call journal."),
    "open": LateCommand("call", "open_page", "Open the running workbench in a browser."),
    "stop": LateCommand("stop", "stop", "End the server, the host and all terminals."),
    "terminal": LateCommand("terminal", "terminal", "List, run, attach to, read and end terminals."),
}

EXIT_CODES = (
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no server or no place to work in, 130 Ctrl-C. "
    "`terminal run` ends with its command's code, 124 at its deadline; `classify` with 0, 10 or 20."
)


@dataclass(frozen=True, slots=True)
class Options:
    """Options of `serve`."""

    directory: str
    agents: tuple[str, ...]
    host: str | None
    port: int | None
    open_page: bool = True
    verbose: int = 0
    as_json: bool = False


class _DirectoryFirst(click.Group):
    """`fourhands`, `fourhands DIR` and `fourhands --agent …` serve; everything else is a command of its own."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        # click knows neither https://no-color.org nor terminals without colours.
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        return super().make_context(info_name, args, parent, **{"color": False if plain else None, **extra})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in known and not os.path.exists(args[0]):
            near = difflib.get_close_matches(args[0], known, 1)
            meant = f"Did you mean {near[0]!r}?" if near else f"Commands: {', '.join(known)}."
            raise click.UsageError(f"{args[0]!r} is neither a command nor an existing directory. {meant}", ctx)
        if not args or args[0] not in (*known, "--help", "-h", "--version"):
            args = ["serve", *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self.commands, *LATE})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in LATE:
            late = LATE[cmd_name]
            found: click.Command = getattr(import_module(f"fourhands.surfaces.cli.{late.module}"), late.name)
            found.short_help = late.short_help
            return found
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        told = {name: command.get_short_help_str() for name, command in self.commands.items()}
        told |= {name: late.short_help for name, late in LATE.items()}  # none of them is imported for its line
        with formatter.section("Commands"):
            formatter.write_dl(sorted(told.items()))


def build(
    serve: Callable[[Options], Awaitable[None]],
    providers: "Callable[[str], list[Provider]]",
    scratch: "Callable[[], AbstractAsyncContextManager[Scratch]]",
) -> click.Group:
    """Return the command line around these three."""

    @click.group(
        cls=_DirectoryFirst,
        context_settings={"help_option_names": ["-h", "--help"]},
        options_metavar="",
        subcommand_metavar="[DIR] | COMMAND [ARGS]...",
        epilog=EXIT_CODES,
    )
    @click.version_option(__version__, prog_name="fourhands")
    def main() -> None:
        """Drive a workbench together with an AI agent.

        `fourhands [DIR]` serves the workbench for a directory and opens it in the browser; `fourhands serve --help`
        lists its options. Everything else is a command:
        """

    @main.command("serve", short_help="Serve the workbench for a directory.")
    @click.argument("directory", default=".", type=DirectoryType())
    @click.option(
        "--agent",
        "agents",
        multiple=True,
        help="Start an agent: tour, opencode, claude, gemini, a model's address …; may be given several times.",
    )
    @click.option("--host", help="Address to listen on.  [default: 127.0.0.1]")
    @click.option(
        "--port",
        type=click.IntRange(0, 65535),
        help="Port, or the next free one after it; 0 for any.  [default: 4404]",
    )
    @click.option("--open/--no-open", "open_page", default=True, help="Open the page in a browser.")
    @click.option("--verbose", "-v", count=True, help="Log what happens to stderr; -vv: each call and each block, too.")
    @click.option("--json", "as_json", is_flag=True, help="Print the address as JSON, and nothing else.")
    @told
    def serve_command(
        directory: str,
        agents: tuple[str, ...],
        host: str | None,
        port: int | None,
        open_page: bool,
        verbose: int,
        as_json: bool,
    ) -> None:
        """Serve the workbench for DIRECTORY (default: this one)."""
        import uvloop

        uvloop.run(_until_done(serve(Options(directory, agents, host, port, open_page, verbose, as_json))))

    @main.command("doctor", short_help="Check this machine's setup.")
    @workspace_option
    @json_option
    @run_async
    async def doctor(workspace: str, as_json: bool) -> None:
        """Check this machine's setup: what works, what does not, and what to do about it."""
        from fourhands.surfaces.cli.doctor import examine

        await examine(workspace, providers, as_json=as_json)

    @main.command("instructions", short_help="Print what a model is told, or try it with one.")
    @click.option("--session", help="For this agent session.")
    @click.option(
        "--try",
        "model",
        metavar="ENDPOINT#MODEL",
        help="Ask this model 20 small tasks and judge its blocks; needs no server, and runs nothing.",
    )
    @click.option("--key-variable", metavar="NAME", help="With --try: the environment variable that has the key.")
    @click.option(
        "--output",
        type=click.Path(dir_okay=False, writable=True),
        help="With --try: write this JSON file, and one to read beside it.  [default: instructions-try.json]",
    )
    @click.option("--at-least", type=click.IntRange(0, 20), help="With --try: end with 1 if fewer tasks are right.")
    @workspace_option
    @json_option
    @told
    def instructions(
        session: str | None,
        model: str | None,
        key_variable: str | None,
        output: str | None,
        at_least: int | None,
        workspace: str,
        as_json: bool,
    ) -> None:
        """Print what a model is told: commands, state, examples, recent results.

        With --try, ask a model of your own whether it understands them: its blocks are judged, not run.

        \b
          fourhands instructions --try http://127.0.0.1:11434/v1#llama3
          fourhands instructions --try anthropic:https://api.anthropic.com#claude-sonnet-4-5 --at-least 18

        The key comes from FOURHANDS_MODEL_KEY, else from OPENAI_API_KEY or ANTHROPIC_API_KEY.
        """
        if model is None:
            from fourhands.surfaces.cli.call import tell_instructions

            if key_variable or output or at_least is not None:
                raise click.UsageError("--key-variable, --output and --at-least go with --try")
            tell_instructions(workspace, session, as_json=as_json)
            return
        from fourhands.surfaces.cli.instructions import OUTPUT, attempt

        if session is not None:
            raise click.UsageError("--session and --try do not go together")
        attempt(model, scratch, key_variable or "", output or OUTPUT, at_least or 0, as_json=as_json)

    return main


async def _until_done(work: Awaitable[None]) -> None:
    await work
