"""One-shot tools of agents: run a shell line, a program or a script, and read the rest of a cropped output.

Names and parameters are those that models know. The settings of a call (provider, crop, timeout) are those of its
session merged over the defaults.
"""

from collections.abc import Sequence
from typing import Annotated, TypedDict

import msgspec
from msgspec import Meta, Struct

from fourhands.commands import outside, tool_words
from fourhands.commands.base import Args, From0, owner_of
from fourhands.commands.cropping import cropped, line_count
from fourhands.commands.launching import ShellText, launch
from fourhands.commands.programs import check_line, cut_middle, settings_of, short
from fourhands.core.call import Call
from fourhands.core.effects import Effects
from fourhands.core.errors import BadArgument
from fourhands.core.registry import Contribution
from fourhands.safety.sanitizer.sanitizer import sanitize
from fourhands.settings import AgentDefaults
from fourhands.workbench.terminals.oneshot import ExecResult
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.tool")

ONE_SHOT_S = 120.0
"""Seconds after which a program or script is ended, unless the call sets another limit."""

Env = Annotated[dict[str, str | None], Meta(description="Variables to set; null removes one.")]
Timeout = Annotated[float, Meta(gt=0, le=86_400)]


class Bash(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.tool.bash`."""

    command: Annotated[ShellText, Meta(description="The shell command to run, in the workspace.")]
    timeout_s: Annotated[Timeout | None, Meta(description="Seconds until it is ended; else as set, usually 60.")] = (
        msgspec.field(default=None, name="timeoutSeconds")
    )
    background: Annotated[
        bool, Meta(description="Let it run in a terminal, without a timeout; returns its id at once.")
    ] = False


class ToolResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """The outcome of a command; `characters` and `lines` count all output, `outputId` is set if some was left out.

    Of one that was started in the background, `sessionId` is its terminal; it has neither output nor exit code yet.
    """

    ok: bool
    output: str
    exit_code: int | None
    stdout: str
    stderr: str
    error: str | None = None
    code: str | None = None
    signal: str | None = None
    truncated: bool = False
    characters: int = 0
    lines: int = 0
    output_id: str | None = None
    held_open_by: tuple[int, ...] = ()
    note: str = ""
    session_id: str | None = None


@commands.add(
    "bash",
    label="Run a shell command",
    safety="line",
    example={"command": "npm test", "timeoutSeconds": 300},
    core=True,
    lasting=True,
    text=tool_words.ran,
)
async def bash(bench: Workbench, args: Bash, call: Call, effects: Effects) -> ToolResult:
    """Run a shell command in the workspace and return its output and exit code.

    Each call is a fresh shell: only files persist. For servers, watchers and anything that asks for input use
    terminal_start. Long output is cropped in the middle; read returns the rest.
    """
    check_line(args.command)
    if args.background:
        started = await launch(bench, call, effects, args.command)
        return ToolResult(ok=True, output="", exit_code=None, stdout="", stderr="", session_id=started.terminal.id)
    mine = settings_of(bench, call)
    timeout_s = mine.bash.timeout_s if args.timeout_s is None else args.timeout_s
    done = await bench.terminals.run_script(
        args.command, **_options(bench, call, effects, mine, cwd=bench.cwd(call), timeout_s=timeout_s)
    )
    return _report(bench, call, effects, done, mine.bash.crop_output, args.command)


class RunOptions(TypedDict):
    """The options with which a program or a script is run."""

    input: str | None
    timeout_s: float
    env: dict[str, str | None] | None
    cwd: str | None
    provider: str
    cell: str
    agent: bool


def _options(
    bench: Workbench,
    call: Call,
    effects: Effects,
    mine: AgentDefaults,
    *,
    cwd: str | None,
    timeout_s: float,
    input: str | None = None,
    env: dict[str, str | None] | None = None,
) -> RunOptions:
    """Return the options for a caller's program: their provider, and for an agent a chosen set of variables.

    One that a person has allowed to run outside the sandbox runs as that person.
    """
    if effects.outside:
        changes = outside.variables(bench, env or {}, mine.provider)
        return RunOptions(
            input=input, timeout_s=timeout_s, env=changes, cwd=cwd, provider=outside.PROVIDER, cell="", agent=False
        )
    agent = call.session is not None
    return RunOptions(
        input=input,
        timeout_s=timeout_s,
        env=env,
        cwd=cwd,
        provider=mine.provider,
        cell=call.session or "",
        agent=agent,
    )


class ExecuteCommand(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.tool.execute_command`."""

    command: Annotated[ShellText, Meta(description="The program; with blanks in it and no args, a shell line.")]
    args: Annotated[list[str], Meta(description="Its arguments, taken literally.")] = msgspec.field(
        default_factory=list
    )
    input: Annotated[str | None, Meta(description="What it reads from standard input.")] = None
    timeout_s: Annotated[Timeout, Meta(description="Seconds; then it is ended.")] = msgspec.field(
        default=ONE_SHOT_S, name="timeoutSeconds"
    )
    env: Env = msgspec.field(default_factory=dict)
    working_directory: Annotated[
        str | None, Meta(description="Directory in the workspace; default: yours, else its root.")
    ] = None


@commands.add(
    "execute_command",
    label="Run a program",
    safety="launch",
    conceals=("input", "env"),
    example={"command": "git", "args": ["status", "--short"]},
    lasting=True,
)
async def execute_command(bench: Workbench, args: ExecuteCommand, call: Call, effects: Effects) -> ToolResult:
    """Run one program with literal arguments, without a shell, and return its output and exit code.

    A command with blanks in it and without args ("npm install") is a line for the shell.
    """
    if "\0" in args.command or any("\0" in word for word in args.args):
        raise BadArgument("a program and its arguments must be text without NUL bytes")
    mine = settings_of(bench, call)
    cwd = bench.cwd(call, args.working_directory)
    wanted = _options(bench, call, effects, mine, cwd=cwd, timeout_s=args.timeout_s, input=args.input, env=args.env)
    if is_line(args.command, args.args):
        check_line(args.command)
        done = await bench.terminals.run_script(args.command, **wanted)
    else:
        done = await bench.terminals.execute(args.command, args.args, **wanted)
    return _report(bench, call, effects, done, mine.bash.crop_output, " ".join([args.command, *args.args]))


def is_line(command: str, args: Sequence[str]) -> bool:
    """Return True if a command of `execute_command` is a line for the shell, not the name of a program."""
    return not args and any(character.isspace() for character in command)


class RunScript(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.tool.run_script`."""

    script: Annotated[ShellText, Meta(description="A shell script.")]
    input: Annotated[str | None, Meta(description="What it reads from standard input.")] = None
    timeout_s: Annotated[Timeout, Meta(description="Seconds; then it is ended.")] = msgspec.field(
        default=ONE_SHOT_S, name="timeoutSeconds"
    )
    env: Env = msgspec.field(default_factory=dict)
    working_directory: Annotated[
        str | None, Meta(description="Directory in the workspace; default: yours, else its root.")
    ] = None


@commands.add(
    "run_script",
    label="Run a script",
    safety="script",
    conceals=("input", "env"),
    example={"script": "set -e\nmake\nmake test\n"},
    lasting=True,
)
async def run_script(bench: Workbench, args: RunScript, call: Call, effects: Effects) -> ToolResult:
    """Run a shell script in the workspace and return its output and exit code."""
    check_line(args.script)
    mine = settings_of(bench, call)
    cwd = bench.cwd(call, args.working_directory)
    wanted = _options(bench, call, effects, mine, cwd=cwd, timeout_s=args.timeout_s, input=args.input, env=args.env)
    done = await bench.terminals.run_script(args.script, **wanted)
    return _report(bench, call, effects, done, mine.bash.crop_output, args.script)


class ReadKeptOutput(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.tool.read_output`."""

    output_id: Annotated[str, Meta(description="The outputId of a cropped result.")]
    offset: Annotated[From0, Meta(description="First character, from 0.")] = 0
    limit: Annotated[int, Meta(ge=1, le=100_000, description="Most characters to return.")] = 9_000


class OutputPage(Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of an output; `next` is the offset of the next part, or null at the end."""

    output: str
    offset: int
    characters: int
    next: int | None = None


@commands.add(
    "read_output",
    label="Read more of an output",
    read_only=True,
    uri="fourhands://output/{outputId}{?offset,limit}",
    example={"outputId": "01J8ZQ5T9V0000000000000000", "offset": 5000},
)
async def read_output(bench: Workbench, args: ReadKeptOutput, call: Call) -> OutputPage:
    """Return a part of a cropped output or result, by the id that stands where it was cut."""
    text, total = bench.outputs.read(args.output_id, call.session, args.offset, args.limit)
    end = args.offset + len(text)
    return OutputPage(output=text, offset=args.offset, characters=total, next=end if end < total else None)


def _report(bench: Workbench, call: Call, effects: Effects, done: ExecResult, limit: int, line: str) -> ToolResult:
    """Return the outcome of a command as its caller may see it: sanitized, without secrets, cropped.

    Stores the whole output for `read_output` if any of it is left out.
    """
    effects.isolation = done.isolation

    def seen(text: str) -> str:
        return bench.shown(call, sanitize(text))

    output, stdout, stderr = seen(done.output), seen(done.stdout), seen(done.stderr)
    characters = len(output) + done.left_out
    lines = line_count(output) + done.lines_left_out
    truncated = done.truncated or done.left_out > 0 or max(len(output), len(stdout), len(stderr)) > limit
    name = bench.outputs.put(call.id, owner_of(call), output) if truncated else ""
    bench.irreversible(call, f"ran {short(line)}", "what a command did cannot be taken back")
    return ToolResult(
        ok=done.ok,
        output=cropped(output, limit, name),
        exit_code=done.exit_code,
        stdout=cut_middle(stdout, limit, f"of {len(stdout)} characters of stdout", f"{name} has all of both"),
        stderr=cut_middle(stderr, limit, f"of {len(stderr)} characters of stderr", f"{name} has all of both"),
        error=done.error,
        code=done.code,
        signal=done.signal,
        truncated=truncated,
        characters=characters,
        lines=lines,
        output_id=call.id if truncated else None,
        held_open_by=done.held_open_by,
        note=outside.note(bench, call, effects, done.isolation, done.exit_code, output),
    )
