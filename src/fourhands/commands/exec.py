"""Commands that run one program in a terminal of its own, which a person sees live and may type into; ACP uses them."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from fourhands.commands import outside
from fourhands.commands.base import Args, From0, Nothing
from fourhands.commands.programs import ProgramStarted, cut_middle, free_title, settings_of, starting, tidy
from fourhands.commands.terminal import TerminalId
from fourhands.core.call import Call
from fourhands.core.effects import Effects
from fourhands.core.errors import BadArgument
from fourhands.core.registry import Contribution
from fourhands.workbench.terminals.launch import resolve_cwd
from fourhands.workbench.terminals.oneshot import find_program
from fourhands.workbench.terminals.seat import READ_LIMIT
from fourhands.workbench.terminals.wait import WaitConditions
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.terminal")

ENDED_KEPT = 20
"""Number of an agent's terminals that stay on screen after their programs have ended; older ones are closed."""

_PLAIN_WORD = re.compile(r"[\w@%+,./-]+", re.ASCII)
# Words that bash runs without a file: builtins and reserved words.
_SHELL_WORDS = re.compile(
    r"[.:\[]|alias|bg|bind|break|builtin|caller|cd|command|compgen|complete|compopt|continue|declare|dirs|disown|echo"
    r"|enable|eval|exec|exit|export|false|fc|fg|getopts|hash|help|history|jobs|kill|let|local|logout|mapfile|popd"
    r"|printf|pushd|pwd|read|readarray|readonly|return|set|shift|shopt|source|suspend|test|times|trap|true|type"
    r"|typeset|ulimit|umask|unalias|unset|wait|if|then|else|elif|fi|case|esac|for|select|while|until|do|done|in"
    r"|function|time|coproc"
)


class Exec(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.terminal.exec`."""

    command: Annotated[
        str, Meta(min_length=1, max_length=1_000_000, description="A shell line; with args, the program.")
    ]
    args: Annotated[
        list[str] | None, Meta(description="Arguments, taken literally; without any, command is run by the shell.")
    ] = None
    env: Annotated[dict[str, str | None], Meta(description="Variables to set; null removes one.")] = msgspec.field(
        default_factory=dict
    )
    cwd: Annotated[str | None, Meta(description="Directory in the workspace; default: yours, else its root.")] = None
    output_byte_limit: Annotated[From0 | None, Meta(description="Most bytes of output that its reader wants.")] = None


class ExecStarted(Struct, frozen=True, kw_only=True, rename="camel"):
    """The terminal in which the program runs, and the pane that shows it."""

    terminal_id: str
    title: str
    pane_id: str


@commands.add(
    "exec", label="Run in a new terminal", safety="exec", example={"command": "npm", "args": ["test", "--coverage"]}
)
async def execute(bench: Workbench, args: Exec, call: Call, effects: Effects) -> ExecStarted:
    """Run one program, or one shell line, in a new terminal that both of you see; it ends with the program."""
    started = await _start(bench, args, call, effects)
    return ExecStarted(terminal_id=started.terminal.id, title=started.terminal.title, pane_id=started.pane_id)


class RunOutside(Exec, frozen=True, kw_only=True):
    """Arguments of `openspace.terminal.run_outside`."""

    timeout_s: Annotated[
        float, Meta(gt=0, le=86_400, description="Seconds to wait for its end; the program keeps running after that.")
    ] = msgspec.field(default=60.0, name="timeoutSeconds")


class OutsideRun(Struct, frozen=True, kw_only=True, rename="camel"):
    """The terminal of a program outside the sandbox, and what it has printed; `exitCode` is null while it runs."""

    terminal_id: str
    title: str
    pane_id: str
    output: str
    exit_code: int | None
    running: bool
    truncated: bool


@commands.add(
    "run_outside",
    label="Run outside the sandbox",
    safety="outside",
    example={"command": "docker compose up -d"},
    lasting=True,
)
async def run_outside(bench: Workbench, args: RunOutside, call: Call, effects: Effects) -> OutsideRun:
    """Run one program, or one shell line, outside your sandbox, as the person; they are asked about each one.

    For what cannot work inside: docker, git push, git config, system packages, services. Returns its output at its end.
    """
    effects.outside = True
    started = await _start(bench, args, call, effects)
    terminal, limit = started.terminal, settings_of(bench, call).bash.crop_output
    seat = bench.seat(call.actor, terminal)
    await seat.wait(WaitConditions(exit=True, deadline_s=args.timeout_s))
    seen = await seat.since(max(seat.floor, seat.head - READ_LIMIT))
    rest = f'openspace.terminal.read_output {{"terminalId": "{terminal.id}", "since": 0}} has all of it'
    return OutsideRun(
        terminal_id=terminal.id,
        title=terminal.title,
        pane_id=started.pane_id,
        output=cut_middle(seen.text, limit, f"of {len(seen.text)} characters", rest),
        exit_code=terminal.exit.code if terminal.exit else None,
        running=terminal.exit is None,
        truncated=len(seen.text) > limit,
    )


async def _start(bench: Workbench, args: Exec, call: Call, effects: Effects) -> ProgramStarted:
    _check_words([args.command, *(args.args or ())])
    session = bench.session(call)
    own = bench.agent_settings(session).provider if session else outside.PROVIDER
    name = outside.PROVIDER if effects.outside else own
    env = outside.variables(bench, args.env, own) if effects.outside and session is not None else args.env
    provider = await bench.terminals.provider(name)
    place = resolve_cwd(bench.cwd(call, args.cwd), bench.root, bench.settings.terminal.allowed_root)
    argv = [args.command, *(args.args or ())]
    if not args.args:
        word = args.command.strip()
        if provider.shells is None and _PLAIN_WORD.fullmatch(word) and not _SHELL_WORDS.fullmatch(word):
            variables = bench.terminals.variables(env, agent=call.session is not None and not effects.outside)
            find_program(word, variables.get("PATH", os.defpath), place)  # a clear error, not a shell that exits 127
        there = os.path.exists("/bin/bash") if provider.shells is None else _has_bash(provider.shells)
        argv = ["bash" if there else "sh", "-c", args.command]
    await tidy(bench, call, ENDED_KEPT)
    line = " ".join([args.command, *(args.args or ())])
    wanted = {"argv": argv, "env": env, "cwd": place, "provider": name, "interactive": True}
    meta = {"command": line, "outputByteLimit": args.output_byte_limit}
    title = free_title(bench, line)
    async with starting(bench, call, outside=effects.outside, title=title, meta=meta, **wanted) as started:
        effects.isolation = started.terminal.isolation
    bench.irreversible(call, f"ran {title}", "what a program did cannot be taken back")
    return started


class KillExec(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.terminal.kill`."""

    terminal_id: TerminalId


@commands.add("kill", label="Kill terminal programs", example={"terminalId": "test-runner"})
async def kill(bench: Workbench, args: KillExec, call: Call) -> Nothing:
    """End everything that runs in a terminal and keep its output. An agent may do so in its own terminals only."""
    terminal = bench.terminal(args.terminal_id, call)
    bench.seat(call.actor, terminal).require_own("end")
    await terminal.kill()
    return Nothing()


def as_line(command: str, args: Sequence[str] | None, env: Mapping[str, str | None]) -> str:
    """Return the program as the equivalent shell line, which is classified, shown to the person and allowed."""
    assignments = [f"{name}={shlex.quote(value)}" for name, value in env.items() if value is not None]
    if args:
        return " ".join([*assignments, shlex.join([command, *args])])
    return "".join(f"export {assignment}\n" for assignment in assignments) + command


def _has_bash(shells: object) -> bool:
    return isinstance(shells, tuple | list) and any(str(path).endswith("/bash") for path in shells)


def _check_words(words: list[str]) -> None:
    if not words[0].strip() or any("\0" in word for word in words):
        raise BadArgument("a command and its arguments must be text without NUL bytes, and the command not empty")
