"""Commands on terminals: the same ones for a person and for agents, who see and type in the same terminals."""

import asyncio
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from fourhands.commands.base import Args, From0, From1, Nothing, Seconds, owner_of, record_step
from fourhands.commands.programs import is_agent, show, starting, title_note
from fourhands.core.call import Call
from fourhands.core.effects import Effects
from fourhands.core.errors import Denied
from fourhands.core.registry import Contribution
from fourhands.workbench.layout.panes import find_content
from fourhands.workbench.layout.validation import words
from fourhands.workbench.terminals.authorship import AuthorSpan
from fourhands.workbench.terminals.info import TerminalInfo
from fourhands.workbench.terminals.output import MOST_LINES, has_more_lines
from fourhands.workbench.terminals.replay import ReplaySegment, past
from fourhands.workbench.terminals.terminal import Terminal
from fourhands.workbench.terminals.terminals import LONGEST_TITLE, check_title
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.terminal")

TerminalId = Annotated[
    str, Meta(description="Id or title of an open terminal; of several with one title your own, the newest.")
]


class CreateTerminal(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.terminal.create`."""

    title: Annotated[str | None, Meta(description="A short name; accepted wherever the id is.")] = None
    cwd: Annotated[str | None, Meta(description="Directory in the workspace; default: yours, else its root.")] = None
    shell_path: Annotated[str | None, Meta(description="An allowed shell; default: the user's.")] = None
    cols: Annotated[int | None, Meta(description="Columns; default 80, an agent's 120.")] = None
    rows: Annotated[int | None, Meta(description="Rows; default 24, an agent's 40.")] = None
    env: Annotated[dict[str, str | None], Meta(description="Variables to set for it; null removes one.")] = (
        msgspec.field(default_factory=dict)
    )
    interactive: Annotated[
        bool, Meta(description="Whether a person types in it: with pagers, and `!` recalls commands. Never an agent's.")
    ] = True


class TerminalCreated(Struct, frozen=True, kw_only=True, rename="camel"):
    """The new terminal and the pane that shows it."""

    terminal_id: str
    title: str
    pane_id: str
    note: str = ""  # why the title is another one than was asked for


@commands.add("create", label="New terminal", key="Ctrl Shift `", safety="create", example={"title": "test-runner"})
async def create(bench: Workbench, args: CreateTerminal, call: Call, effects: Effects) -> TerminalCreated:
    """Start a shell in a new terminal that both of you see. Its title names it in later commands.

    A title that a running terminal of yours has already gets a number behind it; the result says so.
    """
    session = bench.session(call)
    provider = bench.agent_settings(session).provider if session else "local"
    title = args.title or _free_title(bench)
    wanted = {
        "cwd": bench.cwd(call, args.cwd),
        "shell": args.shell_path,
        "cols": args.cols,
        "rows": args.rows,
        "env": args.env,
        "interactive": args.interactive,
    }
    async with starting(bench, call, title=title, provider=provider, **wanted) as started:
        terminal = started.terminal
    effects.isolation = terminal.isolation
    if is_agent(call):
        bench.undo.push(
            call.id, f"started terminal {terminal.title}", actor=call.actor.id, reason="close the terminal instead"
        )
    return TerminalCreated(
        terminal_id=terminal.id,
        title=terminal.title,
        pane_id=started.pane_id,
        note=title_note(bench, call, terminal, args.title),
    )


def _free_title(bench: Workbench) -> str:
    taken = bench.terminals.titles()
    return next(title for number in range(1, len(taken) + 2) if (title := f"shell {number}") not in taken)


class SendKeys(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.terminal.send`."""

    terminal_id: TerminalId
    text: Annotated[str, Meta(description="Typed as is; only a newline presses Enter.")]


class KeysSent(Struct, frozen=True, kw_only=True, rename="camel"):
    """Read from this position to see only what the text caused; `note` says that a line waits for its Enter."""

    position: int
    note: str = ""


@commands.add(
    "send",
    label="Type into a terminal",
    safety="typing",
    conceals=("text",),
    example={"terminalId": "test-runner", "text": "npm test\n"},
)
async def send(bench: Workbench, args: SendKeys, call: Call, effects: Effects) -> KeysSent:
    """Type text into a terminal that both of you see. End it with a newline to press Enter."""
    terminal = bench.terminal(args.terminal_id, call)
    effects.isolation = terminal.isolation
    lease = bench.lease(terminal)
    data = args.text.encode()
    if call.actor.kind == "agent":
        await lease.agent_types(call.actor.id, args.text, call.id)
        position = await terminal.type(data)
        bench.undo.push(
            call.id,
            f"typed in {terminal.title}",
            actor=call.actor.id,
            reason="what a program did with its input cannot be taken back",
        )
    else:
        lease.person_typed(call.actor.id, data)
        position = await terminal.type(data)
    return KeysSent(position=position, note=_unentered(terminal, args.text))


def _unentered(terminal: Terminal, text: str) -> str:
    """What to say of a text that may have been meant to run, and only stands at the prompt."""
    if not text.strip() or not text.isprintable() or terminal.catch_up().state != "prompt":
        return ""
    return "it was typed and not run: only a newline at the end of the text presses Enter"


class ReadTerminalOutput(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.terminal.read_output`."""

    terminal_id: TerminalId
    lines: Annotated[From1, Meta(description="How many of the last lines; at most 10000 come.")] = 100
    since: Annotated[From0 | None, Meta(description="Read everything from this position instead.")] = None


class TerminalOutput(Struct, frozen=True, kw_only=True, rename="camel"):
    """Lines as a person would see them; `position` is where the next read goes on.

    If not all came that was asked for, `truncated` says so, and `note` how to get the rest.
    """

    output: list[str]
    position: int
    gap: tuple[int, int] | None = None
    truncated: bool = False
    blind: bool = False
    note: str = ""


@commands.add(
    "read_output",
    label="Read a terminal",
    read_only=True,
    uri="fourhands://terminal/{terminalId}{?since,lines}",
    example={"terminalId": "test-runner", "lines": 50},
)
async def read_output(bench: Workbench, args: ReadTerminalOutput, call: Call) -> TerminalOutput:
    """Return the last lines of a terminal as a person would see them, or everything since a position."""
    terminal = bench.terminal(args.terminal_id, call)
    bench.lease(terminal).look()
    agent = call.actor.kind == "agent"
    if args.since is not None:
        piece = await asyncio.to_thread(bench.read_since, terminal, args.since, agent=agent)
        lines = piece.text.removesuffix("\n").split("\n") if piece.text else []
        note = f"there is more: go on with since={piece.end}" if piece.truncated else ""
        return TerminalOutput(output=lines, position=piece.end, gap=piece.gap, truncated=piece.truncated, note=note)
    lines, blind = await asyncio.to_thread(bench.read_lines, terminal, min(args.lines, MOST_LINES), agent=agent)
    cut = args.lines > MOST_LINES and await asyncio.to_thread(has_more_lines, terminal.log, MOST_LINES)
    note = f"the last {MOST_LINES} lines, which is the most at once; read earlier ones with since" if cut else ""
    return TerminalOutput(output=lines, position=terminal.log.head, truncated=cut, blind=blind, note=note)


class TerminalList(Struct, frozen=True, kw_only=True, rename="camel"):
    """All terminals."""

    terminals: tuple[TerminalInfo, ...]


@commands.add("list", label="List terminals", read_only=True, example={})
async def list_terminals(bench: Workbench) -> TerminalList:
    """List the terminals: id, title, what they run, whether they wait, exit codes, directories."""
    return TerminalList(terminals=tuple(bench.describe(terminal) for terminal in bench.terminals.list()))


class TerminalRef(Args, frozen=True, kw_only=True):
    """A terminal."""

    terminal_id: TerminalId


@commands.add("close", label="Close a terminal", safety="close", example={"terminalId": "test-runner"})
async def close(bench: Workbench, args: TerminalRef, call: Call) -> Nothing:
    """End everything that runs in a terminal and close it. An agent may close its own terminals only."""
    terminal = bench.terminal(args.terminal_id, call)
    if call.actor.kind == "agent" and terminal.owner != call.actor.id:
        raise Denied(
            f"terminal {terminal.title!r} is not yours to close",
            hint="you can close terminals that you created; ask the person about the others",
        )
    await terminal.close()
    return Nothing()


class ResizeTerminal(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.terminal.resize`."""

    terminal_id: TerminalId
    cols: int
    rows: int
    hide_redraw: Annotated[bool, Meta(description="Hide the prompt's redraw from replay.")] = True


@commands.add("resize", label="Resize a terminal", actors=("person",))
async def resize(bench: Workbench, args: ResizeTerminal, call: Call) -> Nothing:
    """Give a terminal another size."""
    bench.terminal(args.terminal_id, call).resize(args.cols, args.rows, hide_redraw=args.hide_redraw)
    return Nothing()


class RenameTerminal(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.terminal.rename`."""

    terminal_id: TerminalId
    title: Annotated[str, Meta(min_length=1, max_length=200, description="The new name.")]


class TerminalRenamed(Struct, frozen=True, kw_only=True, rename="camel"):
    """The title that it has now."""

    title: str
    note: str = ""  # why it is another one than was asked for


@commands.add("rename", label="Rename a terminal", example={"terminalId": "shell 1", "title": "build"})
async def rename(bench: Workbench, args: RenameTerminal, call: Call) -> TerminalRenamed:
    """Give a terminal another title; one that its owner's other running terminals have gets a number behind it."""
    terminal = bench.terminal(args.terminal_id, call)
    if call.actor.kind == "agent" and terminal.owner != call.actor.id:
        raise Denied(f"terminal {terminal.title!r} is not yours to rename", hint="rename terminals that you created")
    wanted = words("title", args.title, LONGEST_TITLE)  # what a tab would not take must not be half done
    check_title(wanted)
    title = bench.terminals.free_title(wanted, terminal.owner, terminal)
    await terminal.describe(title=title)
    if find_content(bench.state.layout, "terminal", terminal.id) is not None:
        bench.state.retitle(terminal.id, title)
    return TerminalRenamed(title=title, note=title_note(bench, call, terminal, wanted))


@commands.add("interrupt", label="Interrupt (Ctrl-C)", example={"terminalId": "test-runner"})
async def interrupt(bench: Workbench, args: TerminalRef, call: Call) -> Nothing:
    """Interrupt the foreground program of a terminal, as Ctrl-C does, also when it does not read its input."""
    await bench.terminal(args.terminal_id, call).interrupt()
    return Nothing()


@commands.add("take_over", label="Take the keyboard", actors=("person",), key="Ctrl .")
async def take_over(bench: Workbench, args: TerminalRef, call: Call) -> Nothing:
    """Take a terminal's keyboard and keep it until you hand it back."""
    bench.lease(bench.terminal(args.terminal_id, call)).take_over(call.actor.id)
    return Nothing()


@commands.add("hand_back", label="Hand the keyboard back", actors=("person",))
async def hand_back(bench: Workbench, args: TerminalRef, call: Call) -> Nothing:
    """Let agents type in a terminal again."""
    bench.lease(bench.terminal(args.terminal_id, call)).hand_back()
    return Nothing()


class ScreenContent(Struct, frozen=True, kw_only=True, rename="camel"):
    """What is on the screen."""

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
    terminal = bench.terminal(args.terminal_id, call)
    agent, lease = call.actor.kind == "agent", bench.lease(terminal)
    lease.look()
    if agent and lease.asks_secret():
        raise Denied(f"terminal {terminal.title!r} asks for a secret: its screen is hidden from you until then")
    shown = bench.read_screen(terminal, agent=agent)
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
    """A line and where it begins."""

    position: int
    line: str


class FoundLines(Struct, frozen=True, kw_only=True, rename="camel"):
    """Lines that matched, the newest last."""

    matches: list[FoundLine]


@commands.add("search", label="Search a terminal", read_only=True, example={"terminalId": "build", "pattern": "error"})
async def search(bench: Workbench, args: SearchTerminal, call: Call) -> FoundLines:
    """Find lines in everything that is kept of a terminal's output."""
    terminal = bench.terminal(args.terminal_id, call)
    agent = call.actor.kind == "agent"
    found = await asyncio.to_thread(bench.search, terminal, args.pattern, args.limit, agent=agent)
    if agent:
        lease = bench.lease(terminal)
        lease.look()
        found = [match for match in found if not lease.hides(match.position, match.end)]
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
    quiet_s: Annotated[Seconds | None, Meta(description="Until it printed nothing for so long.")] = msgspec.field(
        default=None, name="quietSeconds"
    )
    since: Annotated[
        From0 | None, Meta(description="Look for the pattern from this position on; else from the last Enter on.")
    ] = None
    deadline_s: Annotated[float, Meta(ge=0, le=3600, description="At most so long.")] = msgspec.field(
        default=30.0, name="deadlineSeconds"
    )


class TerminalWaited(Struct, frozen=True, kw_only=True, rename="camel"):
    """Which condition it was: exit, finished, pattern, quiet, input, port or deadline.

    Of a command that has finished `exitCode` is told, and its output stands from `start` to `end`.
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
    label="Wait for a terminal",
    read_only=True,
    example={"terminalId": "server", "pattern": "listening", "deadlineSeconds": 20},
)
async def wait(bench: Workbench, args: WaitForTerminal, call: Call) -> TerminalWaited:
    """Wait until a terminal has finished a command, printed something, gone quiet, asks for input or opened a port."""
    terminal = bench.terminal(args.terminal_id, call)
    nothing_else = not (args.pattern or args.finished or args.input_wanted or args.port or args.quiet_s is not None)
    seen = await terminal.wait(
        finished=args.finished or nothing_else,
        pattern=args.pattern,
        quiet_s=args.quiet_s,
        input_wanted=args.input_wanted,
        port=args.port,
        deadline_s=args.deadline_s,
        position=args.since,
        visible=bench.lease(terminal).look_visible if call.actor.kind == "agent" else None,
    )
    return TerminalWaited(
        reason=seen.reason,
        position=seen.position,
        elapsed_s=round(seen.elapsed_s, 3),
        deadline_s=seen.deadline_s,
        match=bench.shown(seen.match, agent=call.actor.kind == "agent") if seen.match else None,
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
    """Who typed where."""

    ink: list[AuthorSpan]


@commands.add("authors", label="Who typed where", read_only=True, example={"terminalId": "shell 1"})
async def authors(bench: Workbench, args: WhoTyped, call: Call) -> Authors:
    """List from which position on whose typing a terminal's output follows; never what a person typed."""
    ink = bench.lease(bench.terminal(args.terminal_id, call)).ink
    return Authors(ink=[mark for mark in ink if mark.position >= args.since])


class TerminalReplay(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a fresh screen of this size prints: the past, then the present; output goes on at the position."""

    past: list[ReplaySegment]
    screen: str
    position: int
    cols: int
    rows: int


@commands.add("replay", label="Replay a terminal", actors=("person",), read_only=True)
async def replay(bench: Workbench, args: TerminalRef) -> TerminalReplay:
    """Return what makes a fresh screen look like a terminal, scrollback and authors included, as the page needs it."""
    terminal = bench.terminal(args.terminal_id)
    data, position = terminal.restore()
    cols, rows = terminal.size
    return TerminalReplay(
        past=past(terminal.log, position, bench.lease(terminal).ink, full_screen=terminal.screen().alternate),
        screen=data.decode("utf-8", "replace"),
        position=position,
        cols=cols,
        rows=rows,
    )


@commands.add("show", label="Show a terminal", scope="arrange", undoable=True, example={"terminalId": "test-runner"})
async def show_terminal(bench: Workbench, args: TerminalRef, call: Call, effects: Effects) -> Nothing:
    """Bring a terminal's pane forward, or open one for it."""
    terminal = bench.terminal(args.terminal_id, call)
    step = show(bench, terminal, owner_of(call))
    record_step(bench, call, effects, f"showed {terminal.title}", step)
    return Nothing()
