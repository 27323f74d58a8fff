"""Functions shared by the commands that start programs: the start itself, ownership, settings, titles and excerpts."""

import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import msgspec

from fourhands.commands.base import owner_of
from fourhands.core.call import Call
from fourhands.core.errors import BadArgument, FourhandsError
from fourhands.core.ids import is_id
from fourhands.settings import AgentDefaults
from fourhands.workbench.layout.panes import panes, tabs
from fourhands.workbench.layout.snapshot import Transition
from fourhands.workbench.terminals.handle import TerminalHandle
from fourhands.workbench.workbench import Workbench

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProgramStarted:
    """A terminal, and the pane that shows it."""

    terminal: TerminalHandle
    pane_id: str


@contextlib.asynccontextmanager
async def starting(
    bench: Workbench, call: Call, *, outside: bool = False, **wanted: Any
) -> AsyncIterator[ProgramStarted]:
    """Start a program in a terminal and show it; start, pane and the body of the block happen together or not at all.

    The place on the screen is reserved before the program starts. Any later failure or cancellation ends the program
    and closes its terminal, so that a caller who gets an error may try again and nothing runs twice. `outside`: it runs
    as the person and in no sandbox. `wanted` are arguments of `Terminals.create`.
    """
    bench.fit_tabs()
    with bench.state.holding() as free:
        owner = call.session
        inside = owner if owner is not None and not outside else ""
        terminal = await bench.terminals.create(owner=owner or "", agent=bool(inside), cell=inside, **wanted)
        try:
            free()
            yield ProgramStarted(terminal, show(bench, terminal, owner_of(call)).pane_id or "")
        except BaseException:
            try:
                await terminal.close()
            except FourhandsError as error:  # the host or the terminal is gone; the first failure is reported
                log.warning("terminal %s could not be closed: %s", terminal.id, error)
            raise


def show(bench: Workbench, terminal: TerminalHandle, owner: str) -> Transition:
    """Show a terminal beside other terminals, else below the other panes; as a tab where no pane has room."""
    all_panes = list(panes(bench.state.layout.root))
    with_terminals = [pane for pane in all_panes if any(tab.type == "terminal" for tab in pane.tabs)]
    below = all_panes and not with_terminals and bench.state.has_room_for_a_pane()
    return bench.state.open(
        "terminal",
        terminal.id,
        owner=owner,
        title=terminal.title,
        beside=with_terminals[0].id if with_terminals else None,
        split_direction="horizontal" if below else None,
    )


def is_mine(terminal: TerminalHandle, call: Call) -> bool:
    """Return True if a terminal was started by this caller."""
    return terminal.owner == (call.session or "")


def settings_of(bench: Workbench, call: Call) -> AgentDefaults:
    """Return the caller's settings merged over the defaults; a person's own programs run on this machine."""
    session = bench.session(call)
    if session is None:
        return msgspec.structs.replace(bench.settings.agent_defaults, provider="local")
    return bench.agent_settings(session)


def check_line(text: str) -> None:
    """Raise `BadArgument` for a line that no shell can run: an empty one, or one with a NUL byte."""
    if "\0" in text or not text.strip():
        raise BadArgument("a command must be text with something in it, without NUL bytes", hint='such as "npm test"')


def short(text: str, limit: int = 60) -> str:
    """Return a text as one printable line of at most `limit` characters."""
    line = " ".join(text.split())
    line = "".join(character if character.isprintable() else "?" for character in line)
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def cut_middle(text: str, limit: int, total: str, rest: str) -> str:
    """Return a text of at most `limit` characters as it is, else its head and tail around a note.

    The note states how much is left out, of what `total`, and how to read the `rest`.
    """
    if len(text) <= limit:
        return text
    front = limit // 2
    back = len(text) - (limit - front)
    return f"{text[:front]}\n[… {back - front} {total} left out; {rest} …]\n{text[back:]}"


def free_title(bench: Workbench, command: str) -> str:
    """Return a title for a command's terminal that no other terminal has."""
    taken = bench.terminals.titles()
    name = short(command, 40)
    titles = (name if number == 1 else f"{name} {number}" for number in range(1, len(taken) + 3))
    return next(title for title in titles if title not in taken and not is_id(title))


def title_note(bench: Workbench, call: Call, terminal: TerminalHandle, wanted: str | None) -> str:
    """Return why a terminal has another title than the caller asked for, or an empty text if it has that one."""
    if wanted in (None, terminal.title):
        return ""
    holders = (t for t in bench.terminals.list() if t.title == wanted and t.owner == terminal.owner and not t.exited)
    holder = next(holders, None)
    whose = "another terminal" if holder is None else f"terminal {holder.id}"
    whose = whose if holder is None or not is_mine(holder, call) else f"your {whose}"
    return f"the title {wanted!r} is taken by {whose}; this one is {terminal.title!r}"


async def tidy(bench: Workbench, call: Call, kept: int) -> None:
    """Close an agent's oldest terminals whose programs have ended, until `kept` are left; they count for the limit."""
    if call.session is None:
        return
    pinned = {tab.content for _, tab in tabs(bench.state.layout.root) if tab.pinned}
    ended = [t for t in bench.terminals.list() if t.exited and is_mine(t, call) and t.id not in pinned]
    for terminal in ended[: max(0, len(ended) - kept)]:
        await terminal.close()
