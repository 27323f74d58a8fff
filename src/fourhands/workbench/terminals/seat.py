"""Seats: one actor at one terminal, and the only way from a surface or a command to its keyboard and its output.

A person's seat types at once and sees everything. An agent's seat waits for the keyboard lease, leaves out what was
printed while a secret was read, and takes out secrets that programs print. It brings the secret state up to date by
itself, on the event loop, before each read; threads get bytes and the ranges that were hidden at that moment.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from fourhands.core.call import Actor
from fourhands.core.errors import Denied
from fourhands.host.log import GRAIN, Chunk
from fourhands.workbench.terminals import output
from fourhands.workbench.terminals.agent_output import AgentOutput, LastLines, Redaction
from fourhands.workbench.terminals.info import TerminalInfo, describe
from fourhands.workbench.terminals.lease import Lease
from fourhands.workbench.terminals.output import MOST_LINES, READ_LIMIT, OutputMatch, Slice
from fourhands.workbench.terminals.prompt import PromptState
from fourhands.workbench.terminals.replay import ReplaySegment, past
from fourhands.workbench.terminals.run import RunResult, run
from fourhands.workbench.terminals.screen import Screen
from fourhands.workbench.terminals.wait import OutputSight, WaitConditions, WaitResult, wait

__all__ = ["GRAIN", "MOST_LINES", "READ_LIMIT", "AgentSeat", "Chunk", "PersonSeat", "Seat", "Slice", "seat_of"]

SECRET_NOTE = "it asks for a secret: the person must type it, you cannot see or type it"


class Seat(Protocol):
    """One actor at one terminal."""

    @property
    def secret_note(self) -> str:
        """The note for this actor while a program reads a secret."""
        ...

    async def since(self, position: int, limit: int = READ_LIMIT) -> Slice:
        """Return the output from a position on."""
        ...

    async def lines(self, count: int) -> LastLines:
        """Return the last lines of output."""
        ...

    def screen(self) -> Screen:
        """Return what is on the screen; `Denied` while this actor may not see it."""
        ...

    async def search(self, pattern: str, limit: int) -> list[OutputMatch]:
        """Return the newest lines in which a regular expression is found."""
        ...

    async def wait(self, conditions: WaitConditions, position: int | None = None) -> WaitResult:
        """Wait until one of the conditions holds; a pattern is looked for from `position` on."""
        ...

    async def type(self, text: str, call_id: str = "") -> int:
        """Type text and return the position from which its effect is printed; `Conflict` while it is not their turn."""
        ...

    def info(self) -> TerminalInfo:
        """Return the terminal as it is now."""
        ...

    def shown(self, text: str) -> str:
        """Return a text about the terminal, such as its command, as this actor may read it."""
        ...

    def require_own(self, verb: str) -> None:
        """Raise `Denied` if this actor may not `verb` the terminal, since another one started it."""
        ...


class _Seated:
    """The common part of the seats: the terminal, its lease, and what they read of both."""

    def __init__(self, lease: Lease, actor: Actor, root: str) -> None:
        self.actor = actor
        self._lease = lease
        self._terminal = lease.terminal
        self._root = root

    def info(self) -> TerminalInfo:
        """Return the terminal as it is now."""
        return describe(self._lease, self._root)

    async def has_more_lines(self, count: int) -> bool:
        """Return True if more lines are kept than so many."""
        return await asyncio.to_thread(output.has_more_lines, self._terminal.log, count)

    def unentered(self) -> bool:
        """Return True if the shell is at its prompt, so that what was typed without Enter only stands there."""
        return self._terminal.catch_up().state == "prompt"

    def last_exit_code(self) -> int | None:
        """Return the exit code of the shell's newest command, as far as its marks tell."""
        last = self._terminal.catch_up().last
        return last.exit_code if last is not None else None

    def finished_commands(self) -> int:
        """Return how many commands the shell has finished, as far as its marks tell."""
        self._terminal.catch_up()
        return self._terminal.finished_commands

    @property
    def cwd(self) -> str:
        """The directory of its shell, as far as its marks were read; else the one it was started in."""
        return self._terminal.cwd

    @property
    def slow_start(self) -> str:
        """Words for a shell that is slow to start; empty where there is nothing to say."""
        return self._terminal.slow_start

    @property
    def floor(self) -> int:
        """The oldest position that can be read."""
        return self._terminal.log.floor

    @property
    def head(self) -> int:
        """The position behind the newest output."""
        return self._terminal.log.head

    def reads_secret(self) -> bool:
        """Return True while a program reads a secret."""
        self._lease.look()
        return self._lease.asks_secret()

    async def _wait(self, conditions: WaitConditions, position: int | None, sight: OutputSight | None) -> WaitResult:
        terminal = self._terminal
        seen = await wait(terminal, conditions, position, sight)
        if seen.reason == "exit" and terminal.exit is not None:
            return replace(seen, exit_code=terminal.exit.code)
        return seen


class PersonSeat(_Seated):
    """A person at a terminal: takes the keyboard by typing, and sees everything."""

    secret_note = ""

    async def since(self, position: int, limit: int = READ_LIMIT) -> Slice:
        """Return the output from a position on."""
        return await asyncio.to_thread(self.peek, position, limit)

    def peek(self, position: int, limit: int = READ_LIMIT) -> Slice:
        """Return the same at once."""
        return self._terminal.since(position, limit=limit)

    async def lines(self, count: int) -> LastLines:
        """Return the last lines of output."""
        return LastLines(await asyncio.to_thread(self._terminal.lines, count), self.head)

    def screen(self) -> Screen:
        """Return what is on the screen."""
        return self._terminal.screen()

    async def search(self, pattern: str, limit: int) -> list[OutputMatch]:
        """Return the newest lines in which a regular expression is found."""
        return await asyncio.to_thread(self._terminal.search, pattern, limit)

    async def wait(self, conditions: WaitConditions, position: int | None = None) -> WaitResult:
        """Wait until one of the conditions holds; a pattern is looked for from `position` on."""
        return await self._wait(conditions, position, None)

    async def type(self, text: str | bytes, call_id: str = "") -> int:
        """Take the keyboard, type, and return the position from which the effect is printed."""
        data = text if isinstance(text, bytes) else text.encode()
        self._lease.person_typed(self.actor.id, data)
        return await self._terminal.type(data)

    async def run(self, line: str, timeout_s: float) -> RunResult:
        """Run a line in the shell and return its output and exit code; on a deadline the command goes on."""
        return await run(self._terminal, line, timeout_s, lambda data: self.type(data))

    def shown(self, text: str) -> str:
        """Return a text as it is."""
        return text

    def require_own(self, verb: str) -> None:
        """Do nothing: a person may do so with every terminal."""

    # -- a live view -----------------------------------------------------------------------------------------------

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return self._terminal.size

    def read(self, position: int, limit: int = GRAIN) -> Chunk:
        """Return raw output from a position on; nothing after the terminal was closed and forgotten."""
        log = self._terminal.log
        return log.read(position, limit) if log.fd >= 0 else Chunk(position, b"")

    def restore(self) -> tuple[bytes, int]:
        """Return bytes that bring a fresh terminal to the present state, and the position from which to go on."""
        return self._terminal.restore()

    def past(self, position: int) -> list[ReplaySegment]:
        """Return the scrollback before a position in pieces, each with who began to type before it."""
        full_screen = self._terminal.screen().alternate
        return past(self._terminal.log, position, self._lease.ink, full_screen=full_screen)

    def take(self, keys: bytes) -> None:
        """Note that keys of this person's are about to be typed by `put`: the keyboard is theirs."""
        if not self._terminal.exited:  # else it has no keyboard, and typing says why
            self._lease.person_typed(self.actor.id, keys)

    def put_now(self, keys: bytes) -> int:
        """Type what the kernel takes without waiting, and return how many bytes."""
        return self._terminal.type_now(keys)

    async def put(self, keys: bytes) -> None:
        """Type keys that were taken, or a reply of the person's terminal, which is not typing."""
        await self._terminal.type(keys)

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back when there is output to read or the program has ended; return what ends it."""
        return self._terminal.listen(callback)

    # -- the keyboard ----------------------------------------------------------------------------------------------

    def take_over(self) -> None:
        """Take the keyboard and keep it until it is handed back."""
        self._lease.take_over(self.actor.id)

    def hand_back(self) -> None:
        """Let agents type again."""
        self._lease.hand_back()

    def resize(self, cols: int, rows: int, *, hide_redraw: bool = True) -> None:
        """Change the size."""
        self._terminal.resize(cols, rows, hide_redraw=hide_redraw)


class AgentSeat(_Seated):
    """An agent at a terminal: waits for its turn, and sees neither hidden ranges nor secrets."""

    secret_note = SECRET_NOTE

    def __init__(self, lease: Lease, actor: Actor, root: str, redaction: Redaction) -> None:
        super().__init__(lease, actor, root)
        self._redaction = redaction

    async def since(self, position: int, limit: int = READ_LIMIT) -> Slice:
        """Return the output from a position on; what was hidden is its gap."""
        return await asyncio.to_thread(self._view().since, position, limit)

    def peek(self, position: int, limit: int) -> Slice:
        """Return the same at once; for pieces that are short enough for the event loop."""
        return self._view().since(position, limit)

    async def lines(self, count: int) -> LastLines:
        """Return the last lines of output."""
        return await asyncio.to_thread(self._view().lines, count)

    async def tail(self, limit_bytes: int) -> Slice:
        """Return at least the last bytes of the text; the caller cuts it to size."""
        return await asyncio.to_thread(self._view().tail, limit_bytes)

    def tail_now(self, limit_bytes: int) -> Slice:
        """Return the same at once: the last chance while a terminal is being closed."""
        return self._view().tail(limit_bytes)

    def screen(self) -> Screen:
        """Return what is on the screen, or the lines an agent may see where something hidden may still stand on it."""
        if self.reads_secret():
            raise Denied(
                f"terminal {self._terminal.title!r} asks for a secret: its screen is hidden from you until then"
            )
        shown, view = self._terminal.screen(), self._view()
        if not shown.alternate and view.hides(max(self.floor, view.head - READ_LIMIT), view.head):
            lines = view.lines(len(shown.rows)).lines
            return replace(shown, rows=[*lines, *[""] * (len(shown.rows) - len(lines))])
        return replace(shown, rows=view.screen_rows(shown.rows, shown.size[0]))

    async def search(self, pattern: str, limit: int) -> list[OutputMatch]:
        """Return the newest lines in which a regular expression is found, in what may be seen of them."""
        return await asyncio.to_thread(self._view().search, pattern, limit)

    async def wait(self, conditions: WaitConditions, position: int | None = None) -> WaitResult:
        """Wait until one of the conditions holds; a pattern is looked for in what may be seen."""
        return await self._wait(conditions, position, self._view)

    async def type(self, text: str, call_id: str = "") -> int:
        """Wait for the keyboard, type, and return the position from which the effect is printed."""
        await self._lease.agent_types(self.actor.id, text, call_id)
        return await self._terminal.type(text)

    def preview(self, call_id: str) -> PromptState:
        """Return what the keys of a call would meet; they are refused if that has changed when they are typed."""
        return self._lease.note(call_id)

    def standing(self) -> PromptState:
        """Return what keys would meet now; unlike `preview` it is noted for no call."""
        return self._lease.standing()

    def shown(self, text: str) -> str:
        """Return a text without secrets."""
        return self._redaction.text(text)

    def require_own(self, verb: str) -> None:
        """Raise `Denied` if another actor started the terminal."""
        if self._terminal.owner != self.actor.id:
            raise Denied(
                f"terminal {self._terminal.title!r} is not yours to {verb}",
                hint=f"you can {verb} terminals that you created; ask the person about the others",
            )

    @property
    def holds_keyboard(self) -> bool:
        """True while this agent has the keyboard."""
        return self._lease.info().holder == self.actor.id

    def release(self) -> None:
        """Free the keyboard."""
        self._lease.release(self.actor.id)

    def _view(self) -> AgentOutput:
        """Return the output as it may be seen now. What is printed after this moment is not in it."""
        terminal = self._terminal
        closed = terminal.exited  # before the head: all output of a program that has ended is in the log
        head = terminal.log.head  # before the look: a secret read from here on hides what comes behind
        self._lease.look()
        return AgentOutput(terminal.log, head, self._lease.hidden(head), self._redaction, closed)


def seat_of(lease: Lease, actor: Actor, root: str, redaction: Redaction) -> PersonSeat | AgentSeat:
    """Return the seat of an actor: this is where people and agents part."""
    if actor.kind == "agent":
        return AgentSeat(lease, actor, root, redaction)
    return PersonSeat(lease, actor, root)
