"""Tools of agents for programs that keep running, in a terminal that the person sees: start, continue, stop, list.

A session here is a terminal; the names are those that models know.
"""

import contextlib
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from fourhands.commands import outside
from fourhands.commands.base import Args, owner_of
from fourhands.commands.cropping import cropped, line_count
from fourhands.commands.launching import ShellText, launch
from fourhands.commands.programs import is_mine, settings_of, short
from fourhands.core.call import Call
from fourhands.core.effects import Effects
from fourhands.core.errors import Denied
from fourhands.core.ids import short_id
from fourhands.core.registry import Contribution
from fourhands.settings import AgentDefaults
from fourhands.workbench.terminals.handle import TerminalHandle
from fourhands.workbench.terminals.seat import READ_LIMIT, AgentSeat, PersonSeat, Seat
from fourhands.workbench.terminals.wait import WaitConditions, WaitResult
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.tool")

STARTED = "Terminal Session Started"
_LOST = "the program was ended, not by itself: {}; start it again in a new terminal"
_COLUMNS = (12, 30, 8, 7, 6)  # the least widths of the table's columns

ToolSessionId = Annotated[
    str, Meta(description="Id or title of a terminal; of several with one title your own, the newest.")
]
CollectReason = Literal["exited", "finished", "input", "settled", "maxInterval"]


class TerminalStart(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.tool.terminal_start`."""

    command: Annotated[ShellText, Meta(description="The shell command to run; a shell's name starts that shell.")]
    stdin: Annotated[str | None, Meta(description="Typed into it at once; a newline presses Enter.")] = None


class Collected(Struct, frozen=True, kw_only=True, rename="camel"):
    """The output of a terminal since the caller's last read.

    `reason` states why the wait ended: the program exited, the shell's command finished, input is wanted (`input` is
    its kind), the output settled, or the longest interval passed. `id` is `sessionId` again, and `text` the whole
    result in the words that models know, but for the echo of typed lines: a surface that sends only one of the two
    forms loses nothing.
    """

    id: str
    session_id: str
    title: str
    command: str
    position: int
    complete: bool
    reason: CollectReason
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
    text: str = ""


@commands.add(
    "terminal_start",
    label="Start a program in a terminal",
    safety="line",
    conceals=("stdin",),
    example={"command": "npm run dev"},
    core=True,
    lasting=True,
)
async def terminal_start(bench: Workbench, args: TerminalStart, call: Call, effects: Effects) -> Collected:
    """Start a program that keeps running (a server, a watcher, a shell, a debugger) in a terminal that both of you see.

    Returns as soon as it has ended, asks for input or has printed nothing for a while. Continue with
    terminal_continue.
    """
    started = await launch(bench, call, effects, args.command, args.stdin)
    terminal, mine = started.terminal, settings_of(bench, call)
    seat = bench.seat(call.actor, terminal)
    seen = await _wait(seat, mine, finished=False)
    collected = await _collect(bench, call, effects, terminal, seat, seen, 0, mine, entered=False)
    head = [STARTED, f"ID: {short_id(terminal.id)}", f"Command: {short(collected.command, 500)}"]
    return msgspec.structs.replace(collected, pane_id=started.pane_id, text=_text(head, collected, args.stdin))


class TerminalContinue(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.tool.terminal_continue`."""

    session_id: ToolSessionId
    stdin: Annotated[str | None, Meta(description="Typed as is; a newline presses Enter.")] = None


@commands.add(
    "terminal_continue",
    label="Continue in terminal",
    safety="stdin",
    conceals=("stdin",),
    example={"sessionId": "npm run dev", "stdin": "y\n"},
    core=True,
    lasting=True,
)
async def terminal_continue(bench: Workbench, args: TerminalContinue, call: Call, effects: Effects) -> Collected:
    """Type into a terminal, or only read it, and return what it printed since your last read.

    Returns as soon as the program has finished, asks for input or has settled. If it asks for a secret, the person
    must type it: a note says so.
    """
    terminal, mine = bench.terminal(args.session_id, call), settings_of(bench, call)
    effects.isolation = terminal.isolation
    seat = bench.seat(call.actor, terminal)
    default = 0 if is_mine(terminal, call) else max(seat.floor, seat.head - mine.bash.crop_output)
    start = bench.positions(call).get(terminal.id, default)
    finished = seat.finished_commands()
    entered = args.stdin is not None and ("\n" in args.stdin or "\r" in args.stdin)
    if args.stdin:
        await seat.type(args.stdin, call.id)
        reason = "what a program did with its input cannot be taken back"
        bench.irreversible(call, f"typed in {terminal.title}", reason)
    # A wait that begins now would not notice a command that has finished already.
    seen = await _wait(seat, mine, finished=entered and finished == seat.finished_commands())
    collected = await _collect(bench, call, effects, terminal, seat, seen, start, mine, entered=entered)
    head = [f"Terminal Session: {short_id(terminal.id)}"]
    return msgspec.structs.replace(collected, text=_text(head, collected, args.stdin))


class TerminalStop(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.tool.terminal_stop`."""

    session_id: ToolSessionId


class TerminalStopped(Struct, frozen=True, kw_only=True, rename="camel"):
    """The terminal that was closed."""

    session_id: str
    text: str = ""


@commands.add(
    "terminal_stop", label="Stop a program and close its terminal", example={"sessionId": "npm run dev"}, core=True
)
async def terminal_stop(bench: Workbench, args: TerminalStop, call: Call) -> TerminalStopped:
    """End everything that runs in a terminal and close it. An agent may stop its own only."""
    terminal = bench.terminal(args.session_id, call)
    bench.seat(call.actor, terminal).require_own("stop")
    await terminal.close()
    bench.positions(call).pop(terminal.id, None)
    return TerminalStopped(session_id=terminal.id, text=f"Terminal session {short_id(terminal.id)} terminated.")


class Active(Struct, frozen=True, kw_only=True, rename="camel"):
    """One terminal of the list; `position` is the one from which your next terminal_continue reads."""

    session_id: str
    title: str
    command: str
    position: int
    running: bool
    uptime_s: float = msgspec.field(name="uptimeSeconds")
    exit_code: int | None = None
    yours: bool = False


class ActiveList(Struct, frozen=True, kw_only=True, rename="camel"):
    """All terminals, and `text`, the same list as a table."""

    sessions: list[Active]
    text: str = ""


@commands.add("terminal_list", label="List running programs", read_only=True, example={}, core=True)
async def terminal_list(bench: Workbench, call: Call) -> ActiveList:
    """List the terminals: id, command, your position, whether they run, and for how long."""
    positions = bench.positions(call)
    listed = [
        Active(
            session_id=terminal.id,
            title=terminal.title,
            command=bench.shown(call, terminal.command),
            position=positions.get(terminal.id, 0),
            running=not terminal.exited,
            uptime_s=round(terminal.uptime_s, 1),
            exit_code=terminal.exit.code if terminal.exit else None,
            yours=is_mine(terminal, call),
        )
        for terminal in bench.terminals.list()
    ]
    return ActiveList(sessions=listed, text=session_table(listed))


async def _wait(seat: Seat, mine: AgentDefaults, *, finished: bool) -> WaitResult:
    intervals = mine.persistent
    return await seat.wait(
        WaitConditions(
            exit=True,
            finished=finished,
            input_wanted=True,
            quiet_s=intervals.settle_interval,
            min_s=intervals.min_interval,
            deadline_s=intervals.max_interval,
        )
    )


def _reason(seen: WaitResult, *, entered: bool) -> CollectReason:
    if seen.reason == "input" and seen.input == "prompt" and entered:
        return "finished"  # it is back at its prompt
    reasons: dict[str, CollectReason] = {"exit": "exited", "finished": "finished", "input": "input", "quiet": "settled"}
    return reasons.get(seen.reason, "maxInterval")


async def _collect(
    bench: Workbench,
    call: Call,
    effects: Effects,
    terminal: TerminalHandle,
    seat: PersonSeat | AgentSeat,
    seen: WaitResult,
    start: int,
    mine: AgentDefaults,
    *,
    entered: bool,
) -> Collected:
    """Return the output since `start` as this caller may see it, and store the position for the next call."""
    secret, end = seat.reads_secret(), terminal.exit
    piece = await seat.since(max(start, seat.head - READ_LIMIT))
    gap = (start, piece.start) if piece.start > start else piece.gap
    bench.positions(call)[terminal.id] = piece.end
    limit, text = mine.bash.crop_output, piece.text
    kept = bench.outputs.put(call.id, owner_of(call), text) if len(text) > limit else ""
    reason = _reason(seen, entered=entered)
    code = end.code if end else seat.last_exit_code() if reason == "finished" else None
    screen = None
    if seen.input == "keys":
        with contextlib.suppress(Denied):  # a secret is read: the note says so
            shown = seat.screen()
            screen = shown.rows if shown.alternate else None
    return Collected(
        id=terminal.id,
        session_id=terminal.id,
        title=terminal.title,
        command=bench.shown(call, terminal.command),
        position=piece.end,
        complete=end is not None,
        reason="input" if secret else reason,
        output=cropped(text, limit, kept),
        input="secret" if secret else seen.input if reason == "input" else None,
        exit_code=code,
        signal=end.signal if end else None,
        truncated=len(text) > limit,
        characters=len(text),
        lines=line_count(text),
        gap=gap,
        screen=screen,
        note=(seat.secret_note if secret else "")
        or (_LOST.format(end.reason or "its host is gone") if end and end.lost else "")
        or seat.slow_start
        or outside.note(bench, call, effects, terminal.isolation, code, text),
    )


def without_echo(output: str, typed: str | None) -> str:
    """Return what a terminal printed without the lines that were typed into it, where it begins with their echo.

    Their writer has them already. What was typed without Enter stays: the echo is all that says where it stands.
    """
    lines = (typed or "").replace("\r\n", "\n").replace("\r", "\n")
    printed = output.lstrip(" ")  # the blank behind the prompt, which was read before
    return printed[len(lines) :] if lines.endswith("\n") and printed.startswith(lines) else output


def _text(head: list[str], seen: Collected, typed: str | None) -> str:
    """Return the result as text in the form that models know, with a further line for each fact that is set."""
    lines = [*head, f"Position: {seen.position}"]
    if seen.complete or head[0] != STARTED:
        lines.append(f"Complete: {str(seen.complete).lower()}")
    if seen.exit_code is not None:
        lines.append(f"Exit code: {seen.exit_code}")
    if seen.signal is not None:
        lines.append(f"Signal: {seen.signal}")
    if seen.gap is not None:
        lines.append(f"Missing: positions {seen.gap[0]} to {seen.gap[1]}, no longer stored")
    if seen.note:
        lines.append(f"Note: {seen.note}")
    lines += ["", "Output:", without_echo(seen.output, typed)]
    if seen.screen is not None:
        lines += ["", "Screen:", *seen.screen]
    return "\n".join(lines)


def session_table(listed: list[Active]) -> str:
    """Return the sessions as the table that models know."""
    if not listed:
        return "No active terminal sessions."
    rows = [
        (
            short_id(one.session_id),
            short(one.command, 30),
            str(one.position),
            "Yes" if one.running else "No",
            f"{one.uptime_s:.0f}s",
        )
        for one in listed
    ]
    head = ("ID", "Command", "Position", "Running", "Uptime")
    widths = [max(least, *(len(row[column]) for row in (head, *rows))) for column, least in enumerate(_COLUMNS)]
    lines = [" | ".join(map(str.ljust, row, widths)).rstrip() for row in (head, *rows)]
    rule = "-|-".join("-" * width for width in widths) + "-"
    return "\n".join(["Active Terminal Sessions:", lines[0], rule, *lines[1:]])
