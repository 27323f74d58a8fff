"""Who has a terminal's keyboard, who typed where, and what an agent may not see.

One holder at a time. A person takes over at once, always; an agent waits while a line of theirs stands half typed.
Who typed is kept by position, never what a person typed, so no prompt that we failed to notice can leak it. While a
secret is wanted (no echo, whole lines) the keyboard is the person's and agents are blind to what is printed.
"""

import asyncio
import time
from bisect import bisect_right
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from fourhands.core.errors import Conflict
from fourhands.workbench.terminal import Terminal
from fourhands.workbench.typed import typed

PATIENCE_S = 30.0
"""How long an agent waits for a person's half-typed line."""

LINGER_S = 3.0
"""How long after their last key the keyboard is still a person's who did not ask to keep it."""

KEPT_INK = 10_000

_CLEARS = b"\x03\x04\x15\r\n"  # Ctrl-C, Ctrl-D, Ctrl-U, Enter: nothing is left on the line behind them


class Ink(Struct, frozen=True, rename="camel"):
    """From this position on, until the next one, what was printed follows what this actor typed."""

    position: int
    actor: str
    kind: Literal["person", "agent"]
    time: float


class LeaseInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """The keyboard as others see it."""

    holder: str = ""
    kind: Literal["", "person", "agent"] = ""
    kept: bool = False
    half_typed: bool = False
    secret: bool = False


class Lease:
    """The keyboard of one terminal."""

    def __init__(self, terminal: Terminal, on_change: Callable[[Terminal], None]) -> None:
        self.terminal = terminal
        self.ink: list[Ink] = []
        self.pending = ""  # what an agent typed and nobody has submitted yet
        self.continued: list[str] = []  # lines of a command that the shell still waits for the rest of
        self._on_change = on_change
        self._holder = ""
        self._kind: Literal["", "person", "agent"] = ""
        self._kept = False
        self._last_key = float("-inf")
        self._half_typed = False
        self._blind: list[tuple[int, int]] = []
        self._blind_from: int | None = None
        self._waiters: list[asyncio.Future[None]] = []
        self._loop = asyncio.get_running_loop()

    @property
    def secret(self) -> bool:
        """Whether the foreground program wants a secret, as the terminal's modes tell now."""
        terminal = self.terminal
        if terminal.exited:
            return False
        try:
            echo, canonical = terminal.modes()
        except OSError:
            return False
        return canonical and not echo

    def info(self) -> LeaseInfo:
        """How things stand."""
        self._expire()
        return LeaseInfo(
            holder=self._holder, kind=self._kind, kept=self._kept, half_typed=self._half_typed, secret=self.secret
        )

    # -- a person --------------------------------------------------------------------------------------------------

    def person_typed(self, actor: str, data: bytes) -> None:
        """A person's keys went to the terminal: the keyboard is theirs."""
        self._watch_echo()
        self._last_key = self._loop.time()
        self._take(actor, "person", kept=self._kept and self._kind == "person")
        cut = max(data.rfind(bytes([byte])) for byte in _CLEARS)
        self._half_typed = cut + 1 < len(data) or (cut < 0 and self._half_typed)
        self._mark(actor, "person")
        self._wake()

    def take_over(self, actor: str) -> None:
        """A person takes the keyboard and keeps it until they hand it back."""
        self._take(actor, "person", kept=True)

    def hand_back(self) -> None:
        """Nobody has it: whoever types next takes it."""
        self._half_typed = False
        self._take("", "", kept=False)
        self._wake()

    # -- an agent --------------------------------------------------------------------------------------------------

    async def agent_types(self, actor: str, patience_s: float = PATIENCE_S) -> None:
        """Return when the agent may type, and give it the keyboard; `Conflict` when a person keeps it."""
        deadline = self._loop.time() + patience_s
        while True:
            self._expire()
            self._watch_echo()
            if self.secret:
                self._take(self._holder if self._kind == "person" else "person", "person", kept=False)
                raise Conflict(
                    f"terminal {self.terminal.title!r} asks for a secret: only the person may type it",
                    hint="ask the person to type it into the terminal, then wait for its output",
                    secret=True,
                )
            if self._kind == "person" and self._kept:
                raise Conflict(
                    f"the person has the keyboard of terminal {self.terminal.title!r}",
                    hint="wait until they hand it back, or use another terminal",
                )
            if not self._half_typed:
                break
            left = deadline - self._loop.time()
            if left <= 0:
                raise Conflict(
                    f"the person has typed a line in terminal {self.terminal.title!r} and not finished it",
                    hint="try again later, or use another terminal",
                )
            await self._news(left)
        self._take(actor, "agent", kept=False)
        self._mark(actor, "agent")

    def agent_typed(self, text: str) -> None:
        """Remember what stands on the line after an agent's keys."""
        keys = typed(self.pending, text)
        self.pending = keys.rest
        if keys.lines:
            self.continued = [*self.continued, *keys.lines] if self.terminal.shell_state == "incomplete" else keys.lines

    def release(self, actor: str) -> None:
        """The agent is done typing."""
        if self._holder == actor and self._kind == "agent":
            self._take("", "", kept=False)

    def visible(self, start: int, end: int) -> list[tuple[int, int]]:
        """The parts of a range that an agent may see: not what was printed while a secret was wanted."""
        self._watch_echo()
        parts: list[tuple[int, int]] = []
        hidden = [*self._blind, *([(self._blind_from, end)] if self._blind_from is not None else [])]
        for low, high in hidden:
            if high <= start or low >= end:
                continue
            if low > start:
                parts.append((start, low))
            start = max(start, high)
        if start < end:
            parts.append((start, end))
        return parts

    def author(self, position: int) -> Ink | None:
        """Who typed last before this position."""
        at = bisect_right(self.ink, position, key=lambda ink: ink.position)
        return self.ink[at - 1] if at else None

    # -- inside ----------------------------------------------------------------------------------------------------

    def _watch_echo(self) -> None:
        """Begin or end an agent's blindness; called whenever somebody types or reads."""
        head = self.terminal.log.head
        if self.secret:
            if self._blind_from is None:
                self._blind_from = head
                self._on_change(self.terminal)
        elif self._blind_from is not None:
            self._blind.append((self._blind_from, head))
            del self._blind[:-1000]
            self._blind_from = None
            self._on_change(self.terminal)

    def _expire(self) -> None:
        idle = self._loop.time() - self._last_key > LINGER_S
        if idle and self._kind == "person" and not self._kept and not self._half_typed:
            self._take("", "", kept=False)

    def _take(self, holder: str, kind: Literal["", "person", "agent"], *, kept: bool) -> None:
        if (holder, kind, kept) != (self._holder, self._kind, self._kept):
            self._holder, self._kind, self._kept = holder, kind, kept
            self._on_change(self.terminal)

    def _mark(self, actor: str, kind: Literal["person", "agent"]) -> None:
        position = self.terminal.log.head
        if self.ink and self.ink[-1].actor == actor and self.ink[-1].kind == kind:
            return
        if self.ink and self.ink[-1].position == position:
            self.ink.pop()
        self.ink.append(Ink(position, actor, kind, time.time()))
        del self.ink[:-KEPT_INK]

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def _news(self, timeout_s: float) -> None:
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout(timeout_s):
                await waiter
        except TimeoutError:
            pass
        finally:
            self._waiters.remove(waiter)
