"""The agent's shell tools: one-shot commands, and programs that go on in a terminal that both of you see.

Names and parameters are those that models know (`bash`, `terminal_start`, `sessionId`): a session here is a terminal.
Each caller's settings (provider, crop, timeout, intervals) are its own state merged over the defaults.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from fourhands.commands.base import Args, From0, owner_of
from fourhands.commands.terminal import show
from fourhands.core.call import Call
from fourhands.core.effects import Effects
from fourhands.core.errors import BadArgument, Denied
from fourhands.core.registry import Contribution
from fourhands.safety.text import sanitize
from fourhands.settings import AgentDefaults
from fourhands.workbench.lease import is_shell_name
from fourhands.workbench.oneshot import Done
from fourhands.workbench.pane import tabs
from fourhands.workbench.terminal import Terminal
from fourhands.workbench.view import READ_LIMIT
from fourhands.workbench.wait import Seen
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.tool")

ONE_SHOT_S = 120.0
COMPLETED_KEPT = 10
"""Terminals of an agent whose programs have ended and that stay for looking, beside those that run."""

_LONGEST_LINE = 1_000_000
Line = Annotated[str, Meta(min_length=1, max_length=_LONGEST_LINE)]
SessionId = Annotated[str, Meta(description="Id or unique title of a terminal.")]
Env = Annotated[dict[str, str | None], Meta(description="Variables to set; null removes one.")]
Timeout = Annotated[float, Meta(gt=0, le=86_400)]


# -- one-shot --------------------------------------------------------------------------------------------------------


class Bash(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.tool.bash`."""

    command: Annotated[Line, Meta(description="The shell command to run, in the workspace.")]


class Ran(Struct, frozen=True, kw_only=True, rename="camel"):
    """What came of a command; `characters` and `lines` are true totals, `outputId` is there when text was left out."""

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


@commands.add("bash", label="Run a shell command", safety="line", example={"command": "npm test"})
async def bash(bench: Workbench, args: Bash, call: Call, effects: Effects) -> Ran:
    """Run a shell command in the workspace and return its output and exit code.

    Each call is a fresh shell: nothing stays but files. For servers, watchers and anything that asks for input use
    terminal_start. Long output is cropped in the middle; read_output returns the rest.
    """
    _check_line(args.command)
    mine = _settings(bench, call)
    done = await bench.terminals.run_script(
        args.command, timeout_s=mine.bash.timeout_s, provider=mine.provider, agent=_is_agent(call)
    )
    return _report(bench, call, effects, done, mine.bash.crop_output, args.command)


class ExecuteCommand(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.tool.execute_command`."""

    command: Annotated[Line, Meta(description="The program.")]
    args: Annotated[list[str], Meta(description="Its arguments, taken literally.")] = msgspec.field(
        default_factory=list
    )
    input: Annotated[str | None, Meta(description="What it reads from standard input.")] = None
    timeout_s: Annotated[Timeout, Meta(description="Seconds; then it is ended.")] = msgspec.field(
        default=ONE_SHOT_S, name="timeoutSeconds"
    )
    env: Env = msgspec.field(default_factory=dict)
    working_directory: Annotated[str | None, Meta(description="Directory in the workspace.")] = None


@commands.add(
    "execute_command",
    label="Run a program",
    safety="launch",
    conceals=("input", "env"),
    example={"command": "git", "args": ["status", "--short"]},
)
async def execute_command(bench: Workbench, args: ExecuteCommand, call: Call, effects: Effects) -> Ran:
    """Run one program with literal arguments, without a shell, and return its output and exit code."""
    if "\0" in args.command or any("\0" in word for word in args.args):
        raise BadArgument("a program and its arguments must be text without NUL bytes")
    mine = _settings(bench, call)
    done = await bench.terminals.execute(
        args.command,
        args.args,
        input=args.input,
        timeout_s=args.timeout_s,
        env=args.env,
        cwd=args.working_directory,
        provider=mine.provider,
        agent=_is_agent(call),
    )
    return _report(bench, call, effects, done, mine.bash.crop_output, " ".join([args.command, *args.args]))


class RunScript(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.tool.run_script`."""

    script: Annotated[Line, Meta(description="A shell script.")]
    input: Annotated[str | None, Meta(description="What it reads from standard input.")] = None
    timeout_s: Annotated[Timeout, Meta(description="Seconds; then it is ended.")] = msgspec.field(
        default=ONE_SHOT_S, name="timeoutSeconds"
    )
    env: Env = msgspec.field(default_factory=dict)
    working_directory: Annotated[str | None, Meta(description="Directory in the workspace.")] = None


@commands.add(
    "run_script",
    label="Run a script",
    safety="script",
    conceals=("input", "env"),
    example={"script": "set -e\nmake\nmake test\n"},
)
async def run_script(bench: Workbench, args: RunScript, call: Call, effects: Effects) -> Ran:
    """Run a shell script in the workspace and return its output and exit code."""
    _check_line(args.script)
    mine = _settings(bench, call)
    done = await bench.terminals.run_script(
        args.script,
        input=args.input,
        timeout_s=args.timeout_s,
        env=args.env,
        cwd=args.working_directory,
        provider=mine.provider,
        agent=_is_agent(call),
    )
    return _report(bench, call, effects, done, mine.bash.crop_output, args.script)


class ReadOutput(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.tool.read_output`."""

    output_id: Annotated[str, Meta(description="The outputId of a cropped result.")]
    offset: Annotated[From0, Meta(description="First character, from 0.")] = 0
    limit: Annotated[int, Meta(ge=1, le=100_000, description="How many characters.")] = 10_000


class Piece(Struct, frozen=True, kw_only=True, rename="camel"):
    """A piece of an output; `next` is the offset of the next one, or null at the end."""

    output: str
    offset: int
    characters: int
    next: int | None = None


@commands.add(
    "read_output",
    label="Read more of an output",
    read_only=True,
    example={"outputId": "01J8ZQ5T9V0000000000000000", "offset": 5000},
)
async def read_output(bench: Workbench, args: ReadOutput, call: Call) -> Piece:
    """Return a part of the output of an earlier bash, execute_command or run_script that was cropped."""
    owner = owner_of(call) if _is_agent(call) else None
    text, total = bench.outputs.read(args.output_id, owner, args.offset, args.limit)
    end = args.offset + len(text)
    return Piece(output=text, offset=args.offset, characters=total, next=end if end < total else None)


def _report(bench: Workbench, call: Call, effects: Effects, done: Done, limit: int, line: str) -> Ran:
    """A finished command as its caller may see it: sanitized, without secrets, cropped."""
    effects.isolation = done.isolation

    def seen(text: str) -> str:
        return bench.shown(sanitize(text), agent=_is_agent(call))

    output, stdout, stderr = seen(done.output), seen(done.stdout), seen(done.stderr)
    characters = len(output) + done.left_out
    lines = output.count("\n") + (bool(output) and not output.endswith("\n")) + done.lines_left_out
    truncated = done.truncated or done.left_out > 0 or max(len(output), len(stdout), len(stderr)) > limit
    if truncated:
        bench.outputs.put(call.id, owner_of(call), output)
    rest = f'openspace.tool.read_output {{"outputId": "{call.id}"}} has the rest'
    total = f"of {characters} characters, {lines} lines in all"
    if _is_agent(call):
        reason = "what a command did cannot be taken back"
        bench.undo.push(call.id, f"ran {_short(line)}", actor=call.actor.id, reason=reason)
    return Ran(
        ok=done.ok,
        output=_cropped(output, limit, total, rest),
        exit_code=done.exit_code,
        stdout=_cropped(stdout, limit, f"of {len(stdout)} characters of stdout", rest),
        stderr=_cropped(stderr, limit, f"of {len(stderr)} characters of stderr", rest),
        error=done.error,
        code=done.code,
        signal=done.signal,
        truncated=truncated,
        characters=characters,
        lines=lines,
        output_id=call.id if truncated else None,
        held_open_by=done.held_open_by,
    )


def _cropped(text: str, limit: int, total: str, rest: str) -> str:
    """Head and tail of a text that is too long, and between them what is missing and how to get it."""
    if len(text) <= limit:
        return text
    front = limit // 2
    back = len(text) - (limit - front)
    return f"{text[:front]}\n[… {back - front} {total} left out; {rest} …]\n{text[back:]}"


# -- programs that go on ---------------------------------------------------------------------------------------------

Reason = Literal["exited", "finished", "input", "settled", "maxInterval"]


class TerminalStart(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.tool.terminal_start`."""

    command: Annotated[Line, Meta(description="The shell command to run; a shell's name starts that shell.")]
    stdin: Annotated[str | None, Meta(description="Typed into it at once; a newline presses Enter.")] = None


class Collected(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a terminal printed since the last look.

    `reason` says why the wait ended: the program exited, the shell's command finished, input is wanted (`input` says
    which kind), the output settled, or the longest interval passed.
    """

    session_id: str
    title: str
    command: str
    position: int
    complete: bool
    reason: Reason
    output: str
    input: str | None = None
    exit_code: int | None = None
    signal: str | None = None
    truncated: bool = False
    characters: int = 0
    lines: int = 0
    gap: tuple[int, int] | None = None
    screen: list[str] | None = None
    pane_id: str | None = None
    note: str = ""


@commands.add(
    "terminal_start",
    label="Start a program in a terminal",
    safety="line",
    conceals=("stdin",),
    example={"command": "npm run dev"},
)
async def terminal_start(bench: Workbench, args: TerminalStart, call: Call, effects: Effects) -> Collected:
    """Start a program that goes on (a server, a watcher, a shell, a debugger) in a terminal that both of you see.

    Answers as soon as it has ended, asks for input or printed nothing for a while, and says which. Go on with
    terminal_continue.
    """
    _check_line(args.command)
    mine, agent = _settings(bench, call), _is_agent(call)
    await _tidy(bench, call)
    word = args.command.strip()
    shells = (await bench.terminals.provider(mine.provider)).shells
    bash_there = shells is None or any(path.endswith("/bash") for path in shells)
    terminal = await bench.terminals.create(
        title=_title(bench, word),
        shell=word if is_shell_name(word) else None,
        argv=None if is_shell_name(word) else ["bash" if bash_there else "sh", "-c", args.command],
        provider=mine.provider,
        owner=owner_of(call) if agent else "",
        agent=agent,
        meta={"command": _short(word, 500)},
    )
    effects.isolation = terminal.isolation
    pane = show(bench, terminal, owner_of(call))
    if agent:
        reason = "close the terminal instead"
        bench.undo.push(call.id, f"started {_short(word)}", actor=call.actor.id, reason=reason)
    if args.stdin:
        await _type(bench, terminal, args.stdin, call, "")
    seen = await _wait(terminal, mine, finished=False)
    return msgspec.structs.replace(_collect(bench, call, terminal, seen, 0, mine, entered=False), pane_id=pane)


class TerminalContinue(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.tool.terminal_continue`."""

    session_id: SessionId
    stdin: Annotated[str | None, Meta(description="Typed as is; a newline presses Enter.")] = None


@commands.add(
    "terminal_continue",
    label="Go on with a terminal",
    safety="stdin",
    conceals=("stdin",),
    example={"sessionId": "npm run dev", "stdin": "y\n"},
)
async def terminal_continue(bench: Workbench, args: TerminalContinue, call: Call, effects: Effects) -> Collected:
    """Type into a terminal, or only look, and return what it printed since you looked last.

    Answers as soon as the program finished, asks for input or settled, and says which. A secret is for the person to
    type: you are told so.
    """
    terminal, mine = bench.terminal(args.session_id), _settings(bench, call)
    effects.isolation = terminal.isolation
    log, session = terminal.log, bench.session(call)
    default = 0 if _mine(terminal, call) else max(log.floor, log.head - mine.bash.crop_output)
    start = session.positions.get(terminal.id, default) if session else default
    finished = terminal.finished_commands
    entered = args.stdin is not None and ("\n" in args.stdin or "\r" in args.stdin)
    if args.stdin:
        await _type(bench, terminal, args.stdin, call, call.id)
        if _is_agent(call):
            reason = "what a program did with its input cannot be taken back"
            bench.undo.push(call.id, f"typed in {terminal.title}", actor=call.actor.id, reason=reason)
    # What has finished by now would not be news to a wait that begins now.
    seen = await _wait(terminal, mine, finished=entered and finished == terminal.finished_commands)
    return _collect(bench, call, terminal, seen, start, mine, entered=entered)


class TerminalStop(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.tool.terminal_stop`."""

    session_id: SessionId


class Stopped(Struct, frozen=True, kw_only=True, rename="camel"):
    """The terminal that is gone."""

    session_id: str
    text: str


@commands.add("terminal_stop", label="Stop a program and close its terminal", example={"sessionId": "npm run dev"})
async def terminal_stop(bench: Workbench, args: TerminalStop, call: Call) -> Stopped:
    """End everything that runs in a terminal and close it. An agent may stop its own only."""
    terminal = bench.terminal(args.session_id)
    if _is_agent(call) and not _mine(terminal, call):
        raise Denied(
            f"terminal {terminal.title!r} is not yours to stop",
            hint="you can stop terminals that you started; ask the person about the others",
        )
    await terminal.close()
    session = bench.session(call)
    if session is not None:
        session.positions.pop(terminal.id, None)
    return Stopped(session_id=terminal.id, text=f"Terminal session {terminal.id} terminated.")


class Active(Struct, frozen=True, kw_only=True, rename="camel"):
    """One terminal of the list; `position` is where your next terminal_continue reads on."""

    session_id: str
    title: str
    command: str
    position: int
    running: bool
    uptime_s: float = msgspec.field(name="uptimeSeconds")
    exit_code: int | None = None
    yours: bool = False


class ActiveList(Struct, frozen=True, kw_only=True, rename="camel"):
    """All terminals, and the same as a table."""

    sessions: list[Active]
    text: str


@commands.add("terminal_list", label="List running programs", read_only=True, example={})
async def terminal_list(bench: Workbench, call: Call) -> ActiveList:
    """List the terminals: id, command, your position, whether they run, and for how long."""
    session = bench.session(call)
    positions = session.positions if session is not None else {}
    listed = [
        Active(
            session_id=terminal.id,
            title=terminal.title,
            command=bench.shown(_command(terminal), agent=_is_agent(call)),
            position=positions.get(terminal.id, 0),
            running=not terminal.exited,
            uptime_s=round(terminal.uptime_s, 1),
            exit_code=terminal.exit.code if terminal.exit else None,
            yours=_mine(terminal, call),
        )
        for terminal in bench.terminals.list()
    ]
    return ActiveList(sessions=listed, text=_table(listed))


# -- parts -----------------------------------------------------------------------------------------------------------


def _is_agent(call: Call) -> bool:
    return call.actor.kind == "agent"


def _mine(terminal: Terminal, call: Call) -> bool:
    return terminal.owner == (owner_of(call) if _is_agent(call) else "")


def _settings(bench: Workbench, call: Call) -> AgentDefaults:
    """The caller's settings over the defaults; a person's own programs run where they sit."""
    session = bench.session(call)
    if session is None:
        return msgspec.structs.replace(bench.settings.agent_defaults, provider="local")
    return session.state.over(bench.settings.agent_defaults)


def _check_line(text: str) -> None:
    if "\0" in text or not text.strip():
        raise BadArgument("a command must be text with something in it, without NUL bytes", hint='such as "npm test"')


def _short(text: str, limit: int = 60) -> str:
    line = " ".join(text.split())
    line = "".join(character if character.isprintable() else "?" for character in line)
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _command(terminal: Terminal) -> str:
    return str(terminal.meta.get("command") or " ".join(terminal.argv))


def _title(bench: Workbench, command: str) -> str:
    taken = {terminal.title for terminal in bench.terminals.list()}
    name = _short(command, 40)
    return next(t for n in range(1, len(taken) + 2) if (t := name if n == 1 else f"{name} {n}") not in taken)


async def _tidy(bench: Workbench, call: Call) -> None:
    """Close an agent's oldest terminals whose programs have ended, so that they do not fill the limit."""
    if not _is_agent(call):
        return
    pinned = {tab.content for _, tab in tabs(bench.state.layout.root) if tab.pinned}
    ended = [t for t in bench.terminals.list() if t.exited and _mine(t, call) and t.id not in pinned]
    for terminal in ended[: max(0, len(ended) - COMPLETED_KEPT)]:
        await terminal.close()


async def _type(bench: Workbench, terminal: Terminal, text: str, call: Call, judged: str) -> None:
    """Type for a caller: an agent waits for its turn, a person takes it."""
    lease = bench.lease(terminal)
    if _is_agent(call):
        await lease.agent_types(call.actor.id, text, judged)
    else:
        lease.person_typed(call.actor.id, text.encode())
    await terminal.type(text)


async def _wait(terminal: Terminal, mine: AgentDefaults, *, finished: bool) -> Seen:
    intervals = mine.persistent
    return await terminal.wait(
        exit=True,
        finished=finished,
        input_wanted=True,
        quiet_s=intervals.settle_interval,
        min_s=intervals.min_interval,
        deadline_s=intervals.max_interval,
    )


def _reason(seen: Seen, *, entered: bool) -> Reason:
    if seen.reason == "input" and seen.input == "prompt" and entered:
        return "finished"  # it is back at its prompt
    reasons: dict[str, Reason] = {"exit": "exited", "finished": "finished", "input": "input", "quiet": "settled"}
    return reasons.get(seen.reason, "maxInterval")


def _collect(
    bench: Workbench, call: Call, terminal: Terminal, seen: Seen, start: int, mine: AgentDefaults, *, entered: bool
) -> Collected:
    """What is new since `start`, as this caller may see it; the next look goes on behind it."""
    agent, lease = _is_agent(call), bench.lease(terminal)
    lease.look()
    secret = lease.secret
    head = terminal.log.head
    piece = bench.read_since(terminal, max(start, head - READ_LIMIT), agent=agent)
    gap = (start, piece.start) if piece.start > start else piece.gap
    session = bench.session(call)
    if session is not None:
        session.positions[terminal.id] = piece.end
    limit, text = mine.bash.crop_output, piece.text
    rest = f'openspace.terminal.read_output {{"terminalId": "{terminal.id}", "since": {start}}} has all of it'
    lines = text.count("\n") + (bool(text) and not text.endswith("\n"))
    last, end = terminal.last_command, terminal.exit
    reason = _reason(seen, entered=entered)
    code = end.code if end else last.exit_code if reason == "finished" and last else None
    screen = None
    if seen.input == "keys" and not (secret and agent):
        shown = terminal.screen()
        if shown.alternate:
            screen = [bench.shown(row, agent=agent) for row in shown.rows]
    return Collected(
        session_id=terminal.id,
        title=terminal.title,
        command=bench.shown(_command(terminal), agent=agent),
        position=piece.end,
        complete=terminal.exited,
        reason="input" if secret else reason,
        output=_cropped(text, limit, f"of {len(text)} characters, {lines} lines in all", rest),
        input="secret" if secret else seen.input if reason == "input" else None,
        exit_code=code,
        signal=end.signal if end else None,
        truncated=len(text) > limit,
        characters=len(text),
        lines=lines,
        gap=gap,
        screen=screen,
        note="it asks for a secret: the person must type it, you cannot see or type it" if secret and agent else "",
    )


def _table(listed: list[Active]) -> str:
    if not listed:
        return "No active terminal sessions."
    rows = [
        (
            one.session_id,
            _short(one.command, 30),
            str(one.position),
            "Yes" if one.running else "No",
            f"{one.uptime_s:.0f}s",
        )
        for one in listed
    ]
    head = ("ID", "Command", "Position", "Running", "Uptime")
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows)]
    rule = "-|-".join("-" * width for width in widths)
    return "\n".join(["Active Terminal Sessions:", lines[0], rule, *lines[1:]])
