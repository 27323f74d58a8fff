"""Commands on terminals. A person and agents use the same ones, and see and type in the same terminals."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from fourhands.commands.base import Args, Nothing, owner_of, record_step
from fourhands.commands.programs import show, starting, title_note
from fourhands.core.call import Call
from fourhands.core.effects import Effects
from fourhands.core.registry import Contribution
from fourhands.workbench.layout.panes import find_content
from fourhands.workbench.layout.validation import words
from fourhands.workbench.terminals.info import TerminalInfo
from fourhands.workbench.terminals.launch import LONGEST_TITLE, checked_title
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
        bool, Meta(description="True if a person types in it: with pagers, and `!` recalls commands. Never an agent's.")
    ] = True


class TerminalCreated(Struct, frozen=True, kw_only=True, rename="camel"):
    """The new terminal and the pane that shows it."""

    terminal_id: str
    title: str
    pane_id: str
    note: str = ""  # the reason if the title is not the one asked for


@commands.add("create", label="New terminal", key="Ctrl Shift `", safety="create", example={"title": "test-runner"})
async def create(bench: Workbench, args: CreateTerminal, call: Call, effects: Effects) -> TerminalCreated:
    """Start a shell in a new terminal that both of you see. Its title names it in later commands.

    A title that a running terminal of yours has already gets a number appended; `note` in the result reports it.
    """
    session = bench.session(call)
    provider = bench.agent_settings(session).provider if session else "local"
    title = args.title or _free_title(bench)
    wanted: dict[str, Any] = {
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
    bench.irreversible(call, f"started terminal {terminal.title}", "close the terminal instead")
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
    """The position from which to read only what the text caused; `note` reports a line that waits for its Enter."""

    position: int
    note: str = ""


@commands.add(
    "send",
    label="Type into terminal",
    safety="typing",
    conceals=("text",),
    example={"terminalId": "test-runner", "text": "npm test\n"},
)
async def send(bench: Workbench, args: SendKeys, call: Call, effects: Effects) -> KeysSent:
    """Type text into a terminal that both of you see. End it with a newline to press Enter."""
    terminal = bench.terminal(args.terminal_id, call)
    effects.isolation = terminal.isolation
    seat = bench.seat(call.actor, terminal)
    position = await seat.type(args.text, call.id)
    bench.irreversible(call, f"typed in {terminal.title}", "what a program did with its input cannot be taken back")
    waits = args.text.strip() and args.text.isprintable() and seat.unentered()
    note = "it was typed and not run: only a newline at the end of the text presses Enter" if waits else ""
    return KeysSent(position=position, note=note)


class RunLine(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.terminal.run`."""

    terminal_id: TerminalId
    line: Annotated[str, Meta(max_length=1_000_000, description="Run by the shell, as if typed at its prompt.")]
    timeout_s: Annotated[
        float, Meta(gt=0, le=86_400, description="Seconds to wait; the command keeps running after that.")
    ] = msgspec.field(default=60.0, name="timeoutSeconds")


class LineRun(Struct, frozen=True, kw_only=True, rename="camel"):
    """The outcome of a line: its output, and why the wait ended.

    `reason` is finished, deadline, exit, incomplete, input, quiet or not-typed; `exitCode` is null if it is not known.
    """

    output: str
    exit_code: int | None
    reason: str
    start: int
    end: int
    truncated: bool
    sure: bool


@commands.add("run", label="Run a line in a terminal", actors=("person",), conceals=("line",))
async def run(bench: Workbench, args: RunLine, call: Call) -> LineRun:
    """Run a line in a terminal's shell and return exactly its output and exit code."""
    seat = bench.person_seat(call.actor, bench.terminal(args.terminal_id, call))
    done = await seat.run(args.line, args.timeout_s)
    return LineRun(
        output=done.output,
        exit_code=done.exit_code,
        reason=done.reason,
        start=done.start,
        end=done.end,
        truncated=done.truncated,
        sure=done.sure,
    )


class TerminalList(Struct, frozen=True, kw_only=True, rename="camel"):
    """All terminals."""

    terminals: tuple[TerminalInfo, ...]


@commands.add("list", label="List terminals", read_only=True, example={})
async def list_terminals(bench: Workbench) -> TerminalList:
    """List the terminals: id, title, program, whether it waits for input, exit code, directory."""
    return TerminalList(terminals=tuple(bench.describe(terminal) for terminal in bench.terminals.list()))


class TerminalRef(Args, frozen=True, kw_only=True):
    """Arguments of a command on one terminal."""

    terminal_id: TerminalId


@commands.add("close", label="Close terminal", safety="close", example={"terminalId": "test-runner"})
async def close(bench: Workbench, args: TerminalRef, call: Call) -> Nothing:
    """End everything that runs in a terminal and close it. An agent may close its own terminals only."""
    terminal = bench.terminal(args.terminal_id, call)
    bench.seat(call.actor, terminal).require_own("close")
    await terminal.close()
    return Nothing()


class ResizeTerminal(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.terminal.resize`."""

    terminal_id: TerminalId
    cols: int
    rows: int
    hide_redraw: Annotated[bool, Meta(description="Hide the prompt's redraw from replay.")] = True


@commands.add("resize", label="Resize terminal", actors=("person",))
async def resize(bench: Workbench, args: ResizeTerminal, call: Call) -> Nothing:
    """Change the size of a terminal, in columns and rows."""
    seat = bench.person_seat(call.actor, bench.terminal(args.terminal_id, call))
    seat.resize(args.cols, args.rows, hide_redraw=args.hide_redraw)
    return Nothing()


class RenameTerminal(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.terminal.rename`."""

    terminal_id: TerminalId
    title: Annotated[str, Meta(min_length=1, max_length=200, description="The new name.")]


class TerminalRenamed(Struct, frozen=True, kw_only=True, rename="camel"):
    """The terminal's title now."""

    title: str
    note: str = ""  # the reason if it is not the one asked for


@commands.add("rename", label="Rename terminal", example={"terminalId": "shell 1", "title": "build"})
async def rename(bench: Workbench, args: RenameTerminal, call: Call) -> TerminalRenamed:
    """Rename a terminal; a title that another running terminal of its owner has gets a number appended."""
    terminal = bench.terminal(args.terminal_id, call)
    bench.seat(call.actor, terminal).require_own("rename")
    wanted = words(
        "title", args.title, LONGEST_TITLE
    )  # refused before the terminal is renamed, if its tab would refuse it
    wanted = checked_title(wanted)
    title = bench.terminals.free_title(wanted, terminal.owner, terminal)
    await terminal.describe(title=title)
    if find_content(bench.state.layout, "terminal", terminal.id) is not None:
        bench.state.retitle(terminal.id, title)
    return TerminalRenamed(title=title, note=title_note(bench, call, terminal, wanted))


@commands.add("interrupt", label="Interrupt (Ctrl-C)", safety="interrupt", example={"terminalId": "test-runner"})
async def interrupt(bench: Workbench, args: TerminalRef, call: Call) -> Nothing:
    """Interrupt the foreground program of a terminal, as Ctrl-C does, also when it does not read its input.

    A person is asked first where the terminal is not one that you started.
    """
    await bench.terminal(args.terminal_id, call).interrupt()
    return Nothing()


@commands.add("take_over", label="Take the keyboard", actors=("person",), key="Ctrl .")
async def take_over(bench: Workbench, args: TerminalRef, call: Call) -> Nothing:
    """Take a terminal's keyboard: agents cannot type in it until you hand it back."""
    bench.person_seat(call.actor, bench.terminal(args.terminal_id, call)).take_over()
    return Nothing()


@commands.add("hand_back", label="Hand the keyboard back", actors=("person",))
async def hand_back(bench: Workbench, args: TerminalRef, call: Call) -> Nothing:
    """Let agents type in a terminal again."""
    bench.person_seat(call.actor, bench.terminal(args.terminal_id, call)).hand_back()
    return Nothing()


@commands.add("show", label="Show terminal", scope="arrange", undoable=True, example={"terminalId": "test-runner"})
async def show_terminal(bench: Workbench, args: TerminalRef, call: Call, effects: Effects) -> Nothing:
    """Bring a terminal's pane forward, or open one for it."""
    terminal = bench.terminal(args.terminal_id, call)
    step = show(bench, terminal, owner_of(call))
    record_step(bench, effects, f"showed {terminal.title}", step)
    return Nothing()
