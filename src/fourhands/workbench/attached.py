"""Terminals that a person attached to an agent's chat: with each turn the agent is told what is new in them.

Which they are, and up to where the agent was told of each, belongs to its session and is kept with it. It is told
nothing that it could not read by itself: clean text, without secrets, and only so much of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fourhands.core.errors import Conflict, LimitReached, NotFound
from fourhands.workbench.events import AgentAttached, AgentDetached, AgentNoted
from fourhands.workbench.sessions import AttachedTerminal, Session
from fourhands.workbench.terminals.handle import TerminalHandle

if TYPE_CHECKING:
    from fourhands.workbench.workbench import Workbench

MOST_ATTACHED = 8
"""Terminals attached to one chat."""

FIRST_BYTES = 4096
"""Bytes printed before a terminal was attached that count as new."""

NEWS_BYTES = 64 * 1024
"""Bytes of the newest output that are looked at."""


@dataclass(frozen=True, slots=True)
class UnreadOutput:
    """Output of a terminal that the agent was not told, as it may see it, from one position to another."""

    terminal: TerminalHandle
    text: str
    start: int
    end: int


class Attached:
    """The terminals attached to chats, and what is new in them."""

    def __init__(self, bench: "Workbench") -> None:
        self._bench = bench

    def attach(self, session: Session, terminal: TerminalHandle) -> None:
        """Tell an agent from now on what is new in a terminal."""
        if terminal.exited:
            raise Conflict(
                f"terminal {terminal.title!r} has ended: nothing new will come",
                hint="the agent can read it: openspace.terminal.read_output",
            )
        if terminal.id in session.attached:
            return
        if len(session.attached) >= MOST_ATTACHED:
            raise LimitReached(
                f"{len(session.attached)} terminals are attached to {session.name!r}",
                hint=f"at most {MOST_ATTACHED}: detach one first",
            )
        seat = self._bench.agent_seat(session.actor, terminal)
        session.attached[terminal.id] = max(seat.floor, seat.head - FIRST_BYTES)
        self._bench.sessions.save()
        told = AgentAttached(session=session.id, terminal_id=terminal.id, title=terminal.title)
        self._bench.events.emit(told)
        self._note(session, f"Terminal {terminal.title} is attached: the agent is told what is new in it.")

    def detach(self, session: Session, terminal: TerminalHandle, reason: str = "") -> None:
        """Tell it no longer; `reason` is there if no one asked for it."""
        if session.attached.pop(terminal.id, None) is None:
            there = [one.title for one in self.terminals(session)]
            raise NotFound.of(f"terminal attached to {session.name!r}, named", terminal.title, there)
        self._bench.sessions.save()
        told = AgentDetached(session=session.id, terminal_id=terminal.id, title=terminal.title, reason=reason)
        self._bench.events.emit(told)
        why = f": {reason}" if reason else ""
        self._note(session, f"Terminal {terminal.title} is no longer attached{why}.")

    def release(self, terminal: TerminalHandle, reason: str) -> list[Session]:
        """Detach a terminal that has ended or is gone; return the sessions it was attached to."""
        found = [session for session in self._bench.sessions if terminal.id in session.attached]
        for session in found:
            self.detach(session, terminal, reason)
        return found

    def clear(self, session: Session) -> None:
        """Detach all of a chat that is over."""
        for terminal in self.terminals(session):
            self.detach(session, terminal, "the chat is over")
        session.attached.clear()

    def come_back(self, session: Session) -> None:
        """Drop what ended while a session was away, now that it is here again."""
        live = {terminal.id for terminal in self.terminals(session)}
        session.attached = {id: position for id, position in session.attached.items() if id in live}

    def terminals(self, session: Session) -> list[TerminalHandle]:
        """Return those that are attached to a chat, the oldest first."""
        return [one for one in self._bench.terminals.list() if one.id in session.attached and not one.exited]

    def describe(self, session: Session) -> tuple[AttachedTerminal, ...]:
        """Return the attached terminals as others see them."""
        return tuple(AttachedTerminal(terminal_id=one.id, title=one.title) for one in self.terminals(session))

    def news(self, session: Session) -> Iterator[UnreadOutput]:
        """Yield what is new in each; nothing is marked as read."""
        for terminal in self.terminals(session):
            if (news := self.of(session, terminal)) is not None:
                yield news

    def of(self, session: Session, terminal: TerminalHandle) -> UnreadOutput | None:
        """Return what is new in one, if anything is: neither told with a turn nor read by the agent itself."""
        start = max(session.attached.get(terminal.id, 0), session.positions.get(terminal.id, 0))
        seat = self._bench.agent_seat(session.actor, terminal)
        head = seat.head
        if head <= start:
            return None
        piece = seat.peek(max(start, head - NEWS_BYTES), NEWS_BYTES)
        return UnreadOutput(terminal, piece.text, start, piece.end)

    def told(self, session: Session, positions: Mapping[str, int]) -> None:
        """Note up to where the agent was told; or, where that was not sent, set it back."""
        for id, position in positions.items():
            if id in session.attached:
                session.attached[id] = position
        self._bench.sessions.save()

    def _note(self, session: Session, text: str) -> None:
        """Put a line into the chat, which is stored with it."""
        self._bench.events.emit(AgentNoted(session=session.id, text=text))
