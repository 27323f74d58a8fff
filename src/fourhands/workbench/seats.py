"""The seats at a workbench's terminals, and the events that tell of these terminals."""

import time
from functools import partial
from typing import TYPE_CHECKING, cast

from fourhands.core.call import Actor
from fourhands.workbench.events import HostReplaced
from fourhands.workbench.layout.panes import tabs
from fourhands.workbench.sessions import CommandResult
from fourhands.workbench.terminals import authorship
from fourhands.workbench.terminals.authorship import AuthorSpan
from fourhands.workbench.terminals.events import TERMINAL_EVENTS, TerminalClosed
from fourhands.workbench.terminals.handle import TerminalHandle
from fourhands.workbench.terminals.info import TerminalInfo, describe
from fourhands.workbench.terminals.lease import Lease
from fourhands.workbench.terminals.seat import AgentSeat, PersonSeat, seat_of
from fourhands.workbench.terminals.terminal import Terminal
from fourhands.workbench.terminals.watcher import Watcher

if TYPE_CHECKING:
    from fourhands.workbench.workbench import Workbench

LAST_CHARS = 4_000
"""Characters of what a terminal printed last before it ended, for those to whose chats it was attached."""


class Seats:
    """The leases of a workbench's terminals and the seats at them; it tells of what becomes of the terminals."""

    def __init__(self, bench: "Workbench") -> None:
        self._bench = bench
        self._leases: dict[str, Lease] = {}

    def follow_all(self) -> None:
        """Tell of the terminals from now on, those included that are there already."""
        terminals = self._bench.terminals
        terminals.on_change = self._terminal_changed
        terminals.on_lost = self._host_lost
        for terminal in terminals.list():
            self._follow(terminal, self.describe(terminal))

    def forget_lost(self) -> None:
        """Close tabs of terminals that no longer exist; called once after a restart."""
        state = self._bench.state
        known = {terminal.id for terminal in self._bench.terminals.list()}
        authorship.sweep(self._bench.terminals.places.state, known)
        for _, tab in list(tabs(state.layout.root)):
            if tab.type == "terminal" and tab.content not in known:
                state.close(tab.id)

    def lease(self, terminal: Terminal) -> Lease:
        """Return the keyboard of a terminal."""
        if terminal.id not in self._leases:
            self._leases[terminal.id] = Lease(
                terminal,
                lambda changed: self._tell_terminal("changed", changed),
                f"{self._bench.terminals.places.state}/{terminal.id}{authorship.SUFFIX}",
            )
        return self._leases[terminal.id]

    def seat(self, actor: Actor, terminal: TerminalHandle) -> PersonSeat | AgentSeat:
        """Return the seat of an actor at a terminal: their way to its keyboard and its output."""
        return seat_of(self._lease_of(terminal), actor, self._bench.root, self._bench.redaction)

    def person_seat(self, actor: Actor, terminal: TerminalHandle) -> PersonSeat:
        """Return the seat of a person, for what only they can do."""
        return PersonSeat(self._lease_of(terminal), actor, self._bench.root)

    def agent_seat(self, actor: Actor, terminal: TerminalHandle) -> AgentSeat:
        """Return the seat of an agent."""
        return AgentSeat(self._lease_of(terminal), actor, self._bench.root, self._bench.redaction)

    def _lease_of(self, terminal: TerminalHandle) -> Lease:
        return self.lease(cast(Terminal, terminal))  # the only terminals there are; callers see a handle

    def authors(self, terminal: TerminalHandle) -> list[AuthorSpan]:
        """Return the authors of what was typed in a terminal, by position, the newest last."""
        return self._lease_of(terminal).ink

    def describe(self, terminal: TerminalHandle) -> TerminalInfo:
        """Return a terminal as it is now."""
        return describe(self._lease_of(terminal), self._bench.root)

    def _terminal_changed(self, kind: str, terminal: Terminal) -> None:
        if kind == "closed":
            for _, tab in list(tabs(self._bench.state.layout.root)):
                if tab.type == "terminal" and tab.content == terminal.id:
                    self._bench.state.close(tab.id)
            self._bench.attached.release(terminal, "the terminal was closed")
            self._bench.events.emit(TerminalClosed(terminal_id=terminal.id, title=terminal.title))
            # Only now: who hears of it may read the output once more, and what is hidden in it must be known then.
            if (lease := self._leases.pop(terminal.id, None)) is not None:
                lease.forget()
            return
        info = self.describe(terminal)
        if kind == "created":
            self._follow(terminal, info)
        elif kind == "exited":
            self._tell_end(terminal)
        self._tell_info(kind, info)

    def _tell_end(self, terminal: Terminal) -> None:
        """Tell those to whose chats an ended terminal was attached how it ended, with the last that it printed."""
        listening = [session for session in self._bench.sessions if terminal.id in session.attached]
        last = {session.id: self._bench.attached.of(session, terminal) for session in listening}
        for session in self._bench.attached.release(terminal, "the terminal has ended"):
            end, news = terminal.exit, last[session.id]
            how = {"exitCode": end.code, "signal": end.signal} if end is not None else {}
            session.untold.append(
                CommandResult(
                    number=0,
                    command_id="agent.detached",
                    args={"terminalId": terminal.id, "title": terminal.title},
                    success=True,
                    output=news.text[-LAST_CHARS:] if news is not None else None,
                    data={"reason": "the terminal has ended", **how},
                    timestamp=time.time(),
                )
            )

    def _follow(self, terminal: Terminal, first: TerminalInfo) -> None:
        """Tell of what becomes of a terminal by itself, so that no one need ask again and again."""

        def facts(info: TerminalInfo) -> object:
            return info.shell_state, info.finished_commands, info.last_exit_code, info.cwd, info.lease.secret

        if not terminal.exited:
            tell = partial(self._tell_info, "changed")
            Watcher(terminal, first, see=lambda: self.describe(terminal), facts=facts, tell=tell)
            terminal.on_resize = lambda: self._tell_terminal("resized", terminal)
            if terminal.marked:
                terminal.later(terminal.timings.slow_start_s, partial(self._tell_start, terminal))

    def _tell_start(self, terminal: Terminal) -> None:
        """Tell of a shell that is slow to start: it prints nothing by which anyone would hear of it."""
        info = self.describe(terminal)
        if info.slow_start:
            self._tell_info("changed", info)
            terminal.later(terminal.timings.slow_start_s, partial(self._tell_start, terminal))

    def _tell_terminal(self, kind: str, terminal: Terminal) -> None:
        self._tell_info(kind, self.describe(terminal))

    def _tell_info(self, kind: str, info: TerminalInfo) -> None:
        self._bench.events.emit(TERMINAL_EVENTS[kind](terminal=info))

    def _host_lost(self, lost: list[Terminal]) -> None:
        """Tell everyone, and models in their next turn, that another host has taken the place of one that died."""
        names = ", ".join(repr(terminal.title) for terminal in lost)
        text = "The terminal host died and was replaced: new terminals work. "
        text += f"Ended with it: {names}; the output can still be read." if lost else "Nothing ran in it."
        self._bench.events.emit(HostReplaced(text=text, terminals=[terminal.id for terminal in lost]))
        for session in self._bench.sessions:
            mine = [terminal.id for terminal in lost if terminal.owner == session.id]
            if mine:
                session.untold.append(
                    CommandResult(
                        number=0,
                        command_id="host.replaced",
                        args={"terminals": mine},
                        success=False,
                        error=text,
                        timestamp=time.time(),
                    )
                )
