"""Commands that read a terminal's output, screen and authors, or wait for them, through the caller's seat."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from fourhands.commands.base import Args, From0, From1, Seconds
from fourhands.commands.terminal import TerminalId, TerminalRef
from fourhands.core.call import Actor, Call
from fourhands.core.registry import Contribution
from fourhands.workbench.terminals.authorship import AuthorSpan
from fourhands.workbench.terminals.replay import ReplaySegment
from fourhands.workbench.terminals.seat import MOST_LINES
from fourhands.workbench.terminals.wait import WaitConditions
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.terminal")


class ReadTerminalOutput(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.terminal.read_output`."""

    terminal_id: TerminalId
    lines: Annotated[From1, Meta(description="Number of last lines; at most 10000 are returned.")] = 100
    since: Annotated[From0 | None, Meta(description="Read everything from this position instead.")] = None


class TerminalOutput(Struct, frozen=True, kw_only=True, rename="camel"):
    """Lines as a person would see them, and the `position` at which the next read continues.

    `truncated` is true if some were left out; `note` then states how to read the rest.
    """

    output: list[str]
    position: int
    gap: tuple[int, int] | None = None
    truncated: bool = False
    blind: bool = False
    note: str = ""
    partial: bool | UnsetType = UNSET  # true if the last line, of a read with `since`, has no end yet


@commands.add(
    "read_output",
    label="Read terminal",
    read_only=True,
    uri="fourhands://terminal/{terminalId}{?since,lines}",
    example={"terminalId": "test-runner", "lines": 50},
)
async def read_output(bench: Workbench, args: ReadTerminalOutput, call: Call) -> TerminalOutput:
    """Return the last lines of a terminal as a person would see them, or everything since a position."""
    terminal = bench.terminal(args.terminal_id, call)
    seat = bench.seat(call.actor, terminal)
    if args.since is not None:
        piece = await seat.since(args.since)
        lines = piece.text.removesuffix("\n").split("\n") if piece.text else []
        note = f"there is more: continue with since={piece.end}" if piece.truncated else ""
        partial = True if piece.text and not piece.text.endswith("\n") else UNSET
        return TerminalOutput(
            output=lines, position=piece.end, gap=piece.gap, truncated=piece.truncated, note=note, partial=partial
        )
    found = await seat.lines(min(args.lines, MOST_LINES))
    cut = args.lines > MOST_LINES and await seat.has_more_lines(MOST_LINES)
    note = f"only the last {MOST_LINES} lines, the most at once; read earlier ones with since" if cut else ""
    return TerminalOutput(output=found.lines, position=found.position, truncated=cut, blind=found.hidden, note=note)


class ScreenContent(Struct, frozen=True, kw_only=True, rename="camel"):
    """The rows of a screen, its cursor and its size; with `since` only the changed rows."""

    rows: list[str]
    cursor: tuple[int, int]
    size: tuple[int, int]
    alternate: bool
    revision: int
    changed: list[tuple[int, str]] | None = None


class ReadScreen(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.terminal.screen`."""

    terminal_id: TerminalId
    since: Annotated[int | None, Meta(description="Only rows changed since this revision.")] = None


@commands.add("screen", label="Read the screen", read_only=True, example={"terminalId": "editor"})
async def screen(bench: Workbench, args: ReadScreen, call: Call) -> ScreenContent:
    """Return what a full-screen program (an editor, a pager, top) shows now: rows, cursor, size."""
    shown = bench.seat(call.actor, bench.terminal(args.terminal_id, call)).screen()
    changed = shown.changed_since(args.since) if args.since is not None else None
    return ScreenContent(
        rows=shown.rows if changed is None else [],
        cursor=shown.cursor,
        size=shown.size,
        alternate=shown.alternate,
        revision=shown.revision,
        changed=changed,
    )


class SearchTerminal(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.terminal.search`."""

    terminal_id: TerminalId
    pattern: Annotated[str, Meta(description="A regular expression (RE2 syntax).")]
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


class FoundLine(Struct, frozen=True, kw_only=True, rename="camel"):
    """A line and the position at which it begins."""

    position: int
    line: str


class FoundLines(Struct, frozen=True, kw_only=True, rename="camel"):
    """Lines that matched, the newest last."""

    matches: list[FoundLine]


@commands.add("search", label="Search terminal", read_only=True, example={"terminalId": "build", "pattern": "error"})
async def search(bench: Workbench, args: SearchTerminal, call: Call) -> FoundLines:
    """Find matching lines in all of a terminal's output that is still stored."""
    found = await bench.seat(call.actor, bench.terminal(args.terminal_id, call)).search(args.pattern, args.limit)
    return FoundLines(matches=[FoundLine(position=match.position, line=match.line) for match in found])


class WaitForTerminal(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.terminal.wait`."""

    terminal_id: TerminalId
    pattern: Annotated[
        str | None,
        Meta(description="Until a line matches this regular expression (RE2 syntax; ^ and $ are a line's ends)."),
    ] = None
    finished: Annotated[bool, Meta(description="Until the running command has finished.")] = False
    input_wanted: Annotated[bool, Meta(description="Until the program waits for input.")] = False
    port: Annotated[bool, Meta(description="Until it listens on a new port.")] = False
    quiet_s: Annotated[Seconds | None, Meta(description="Until it has printed nothing for this long.")] = msgspec.field(
        default=None, name="quietSeconds"
    )
    since: Annotated[
        From0 | None, Meta(description="Search for the pattern from this position on; else from the last Enter on.")
    ] = None
    deadline_s: Annotated[float, Meta(ge=0, le=3600, description="The longest wait.")] = msgspec.field(
        default=30.0, name="deadlineSeconds"
    )


class TerminalWaited(Struct, frozen=True, kw_only=True, rename="camel"):
    """The outcome of a wait; `reason` is exit, finished, pattern, quiet, input, port or deadline.

    After `finished`, `exitCode` is that of the command, and its output is from `start` to `end`.
    """

    reason: str
    position: int
    elapsed_s: float = msgspec.field(name="elapsedSeconds")
    deadline_s: float = msgspec.field(name="deadlineSeconds")
    match: str | None = None
    input: str | None = None
    port: int | None = None
    sure: bool = True
    exit_code: int | None = None
    start: int | None = None
    end: int | None = None


@commands.add(
    "wait",
    label="Wait for terminal",
    read_only=True,
    example={"terminalId": "server", "pattern": "listening", "deadlineSeconds": 20},
    lasting=True,
)
async def wait(bench: Workbench, args: WaitForTerminal, call: Call) -> TerminalWaited:
    """Wait until a terminal has finished a command, printed something, gone quiet, asks for input or opened a port."""
    seat = bench.seat(call.actor, bench.terminal(args.terminal_id, call))
    nothing_else = not (args.pattern or args.finished or args.input_wanted or args.port or args.quiet_s is not None)
    wanted = WaitConditions(
        finished=args.finished or nothing_else,
        pattern=args.pattern,
        quiet_s=args.quiet_s,
        input_wanted=args.input_wanted,
        port=args.port,
        deadline_s=args.deadline_s,
    )
    seen = await seat.wait(wanted, args.since)
    return TerminalWaited(
        reason=seen.reason,
        position=seen.position,
        elapsed_s=round(seen.elapsed_s, 3),
        deadline_s=seen.deadline_s,
        match=seat.shown(seen.match) if seen.match else None,
        input=seen.input,
        port=seen.port,
        sure=seen.sure,
        exit_code=seen.exit_code,
        start=seen.start,
        end=seen.end,
    )


class WhoTyped(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.terminal.authors`."""

    terminal_id: TerminalId
    since: Annotated[From0, Meta(description="Only from this position on.")] = 0


class Authors(Struct, frozen=True, kw_only=True, rename="camel"):
    """The authors of a terminal's input, each with the position from which the output follows their typing."""

    ink: list[AuthorSpan]


@commands.add("authors", label="Show who typed", read_only=True, example={"terminalId": "shell 1"})
async def authors(bench: Workbench, args: WhoTyped, call: Call) -> Authors:
    """List who typed in a terminal, with the position in its output from which on; never what a person typed."""
    spans = bench.authors(bench.terminal(args.terminal_id, call))
    return Authors(ink=[span for span in spans if span.position >= args.since])


class TerminalReplay(Struct, frozen=True, kw_only=True, rename="camel"):
    """The output that restores a terminal on a fresh screen of this size: scrollback, screen, and the end position."""

    past: list[ReplaySegment]
    screen: str
    position: int
    cols: int
    rows: int


@commands.add("replay", label="Replay terminal", actors=("person",), read_only=True)
async def replay(bench: Workbench, args: TerminalRef) -> TerminalReplay:
    """Return the output that restores a terminal on a fresh screen, with scrollback and authors; used by the page."""
    seat = bench.person_seat(Actor.person(), bench.terminal(args.terminal_id))
    data, position = seat.restore()
    cols, rows = seat.size
    return TerminalReplay(
        past=seat.past(position),
        screen=data.decode("utf-8", "replace"),
        position=position,
        cols=cols,
        rows=rows,
    )
