"""The first state of a page, in one response: the workbench, and the contents of the visible terminals."""

import contextlib

from msgspec import Struct

from fourhands.commands import terminal_output, workbench
from fourhands.commands.terminal import TerminalRef
from fourhands.core.call import Actor, Call
from fourhands.core.errors import NotFound
from fourhands.workbench.layout.panes import tabs
from fourhands.workbench.workbench import Workbench


class InitialState(Struct, frozen=True, kw_only=True):
    """A snapshot, and a replay of each terminal in front, by its id."""

    state: workbench.Everything
    screens: dict[str, terminal_output.TerminalReplay]


async def first_sight(bench: Workbench, person: Actor) -> InitialState:
    """Look at everything at once. Not through the gate: like the page's files, this is no deed to be recorded."""
    call = Call(command="openspace.workbench.snapshot", args={}, actor=person)
    state = await workbench.snapshot(bench, call)
    screens = {}
    for pane, tab in tabs(bench.state.layout.root):
        if tab.type == "terminal" and tab.id == pane.active_tab:
            with contextlib.suppress(NotFound):  # ended a moment ago
                screens[tab.content] = await terminal_output.replay(bench, TerminalRef(terminal_id=tab.content))
    return InitialState(state=state, screens=screens)
