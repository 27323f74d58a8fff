"""The keyboard lease of one terminal.

One holder at a time. A person takes over at once, always; an agent waits while a line of theirs stands half typed.
The author of keys is kept by position, never what a person typed, so no prompt that was not recognised can leak it.
While a secret is read the keyboard is the person's.

What was assessed is what is typed: an assessment notes what stood on the line, and keys that would meet something else
by the time they are typed are refused.
"""

import asyncio
import contextlib
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from msgspec import Struct

from fourhands.core.bounded import BoundedDict
from fourhands.core.errors import Conflict
from fourhands.workbench.terminals.authorship import Authorship, AuthorSpan
from fourhands.workbench.terminals.dialogue import Dialogue
from fourhands.workbench.terminals.prompt import PromptState
from fourhands.workbench.terminals.secret_prompt import SecretPrompt
from fourhands.workbench.terminals.shell.input_line import (
    EMPTY,
    PASTE_BEGIN,
    leave,
    only_takes_away,
    open_ended,
    typed,
)
from fourhands.workbench.terminals.shell.tracker import program_name
from fourhands.workbench.terminals.terminal import Terminal

_NOTED = 200
_LONGEST_BEFORE = 100_000  # characters of a command's lines that are judged together with its rest
_KEYS = re.compile(rb"[\x20-\xff]+|[\0-\x1f]")  # text at once: a paste may have millions of characters


@dataclass(frozen=True, slots=True)
class LeaseTimings:
    """Seconds for which the keyboard stays with one actor, and another one waits."""

    patience_s: float = 30.0
    """For an agent to wait for a person's half-typed line."""

    linger_s: float = 3.0
    """After the last key of a person who did not ask to keep the keyboard, until it is free."""

    interrupt_s: float = 0.5
    """After a person's Ctrl-C, for an agent to wait: until then the shell discards what is typed. Where the shell's
    marks tell of a new prompt, it need not be waited for longer than that."""

    interrupt_least_s: float = 0.05
    """The same at least: the prompt may be that of a command which ended by itself just then."""

    prompt_s: float = 2.0
    """For an agent to wait for a prompt that is sure to come: what is typed before it would be echoed twice."""

    fresh_s: float = 5.0
    """For a shell to come to its first prompt; one that marks nothing by then is not waited for."""

    return_s: float = 1.0
    """For a command to be over that the person entered while an agent waited: most are, at once."""

    ahead_s: float = 30.0
    """For keys to turn out to be a secret: typed ahead of its prompt, or on when that has gone."""


class LeaseInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """The keyboard as others see it."""

    holder: str = ""
    kind: Literal["", "person", "agent"] = ""
    kept: bool = False
    half_typed: bool = False
    secret: bool = False


class Lease:
    """The keyboard of one terminal."""

    def __init__(
        self,
        terminal: Terminal,
        on_change: Callable[[Terminal], None],
        ink_file: str | None = None,
        *,
        timings: LeaseTimings = LeaseTimings(),  # noqa: B008 - it is frozen
        program: Callable[[int], str] = program_name,
    ) -> None:
        self.terminal = terminal
        self._well = Authorship(ink_file)
        self._on_change = on_change
        self._timings = timings
        self._program = program
        self._secret = SecretPrompt(
            terminal, self._well, on_change=lambda: on_change(terminal), update=self.look, program=program
        )
        self._dialogue = Dialogue(terminal)
        self._line = EMPTY
        self._before: tuple[str, ...] = ()
        self._submitted_at = -1  # the number of the prompt at which the lines before were submitted
        self._noted: BoundedDict[str, PromptState] = BoundedDict(_NOTED)
        self._holder = ""
        self._kind: Literal["", "person", "agent"] = ""
        self._kept = False
        self._last_key = float("-inf")
        self._half_typed = False
        self._moved = self._literal = False
        self._interrupted: tuple[float, int] | None = None  # when, and at which prompt of the shell
        self._gone_with = 0  # the process group of a raw program that had the last keys: they go with it
        self._waiters: list[asyncio.Future[None]] = []
        self._lingers = False  # a timer runs that frees the keyboard
        self._loop = asyncio.get_running_loop()

    @property
    def ink(self) -> list[AuthorSpan]:
        """The authors of what was typed, by position, the newest last."""
        return self._well.marks

    @property
    def waiting(self) -> int:
        """The number of agents that wait for their turn to type."""
        return len(self._waiters)

    def asks_secret(self) -> bool:
        """Return True while a program reads a secret."""
        return self._secret.asks()

    def info(self) -> LeaseInfo:
        """Return the keyboard as it is now."""
        return LeaseInfo(
            holder=self._holder,
            kind=self._kind,
            kept=self._kept,
            half_typed=self._is_half_typed(),
            secret=self.asks_secret(),
        )

    # -- a person --------------------------------------------------------------------------------------------------

    def person_typed(self, actor: str, data: bytes) -> None:
        """Note that a person's keys go to the terminal: the keyboard is theirs."""
        self.look()
        self._take(actor, "person", kept=self._kept and self._kind == "person")
        self._secret.typed(data)
        self._secret.type_ahead(recently=self._recently())
        self._touch()
        self._gone_with = self._raw_program()
        self._play(data)
        ends_line = b"\r" in data or b"\n" in data
        self._dialogue.person_types(enter=ends_line)
        self._well.mark(self.terminal.log.head, actor, "person", ends_line=ends_line)
        self._wake()

    def take_over(self, actor: str) -> None:
        """Let a person have the keyboard until they hand it back."""
        self._take(actor, "person", kept=True)
        self._wake()

    def hand_back(self) -> None:
        """Free the keyboard: the next to type takes it, also behind a line that stands half typed."""
        if self._is_half_typed():
            self._line = replace(self._line, hidden="a line of the person's")
        self._half_typed = False
        self._take("", "", kept=False)
        self._wake()

    def _recently(self) -> bool:
        return self._loop.time() - self._last_key < self._timings.ahead_s

    def _raw_program(self) -> int:
        """Return the foreground group if it takes keys one by one, as editors, pagers and prompts do; else 0."""
        try:
            return 0 if self.terminal.exited or self.terminal.modes()[1] else self.terminal.foreground_group()
        except OSError:
            return 0

    def _is_half_typed(self) -> bool:
        """Return True if a person's line waits for its end; keys that a pager took are no line at the prompt."""
        terminal = self.terminal
        if self._half_typed and self._gone_with and terminal.marked and terminal.foreground_group() != self._gone_with:
            self._half_typed = terminal.catch_up().state != "prompt"
        return self._half_typed

    def _play(self, data: bytes) -> None:
        """Track whether something stands on the line, without storing what."""
        for keys in _KEYS.findall(data):
            byte = keys[0]
            if self._literal:
                self._literal, self._half_typed = False, True
            elif byte in b"\r\n\x03" or (byte == 0x15 and not self._moved):
                self._half_typed = self._moved = False
                if byte != 0x15 or not self._line.hidden:
                    self._line = EMPTY
                if byte != 0x15:
                    self._before, self._submitted_at = (), -1
                if byte == 0x03:
                    self._interrupted = self._loop.time(), self.terminal.catch_up().shown
            elif byte == 0x16:  # Ctrl-V: the next key is text
                self._literal = True
            elif byte != 0x04:  # Ctrl-D ends a shell or takes a character away, and leaves the line as it is
                self._half_typed = True
                self._moved |= byte < 0x20 and byte not in b"\t\b"

    # -- an agent --------------------------------------------------------------------------------------------------

    def standing(self) -> PromptState:
        """Return the prompt state an agent would type into.

        A person's half-typed line is excluded: `agent_types` waits for it.
        """
        terminal = self.terminal
        group = terminal.foreground_group()
        if not terminal.marked:
            if terminal.is_shell and group in (0, terminal.pid):
                return PromptState("shell", self._line, self._before, settled=False, group=group)
            return self._in_front(group)
        commands = terminal.catch_up()
        if commands.state == "running" and not commands.ending:
            return self._in_front(group)
        if commands.state == "incomplete":
            return PromptState("incomplete", self._line, self._before, pastes=commands.bracketed)
        if commands.shown > self._submitted_at or commands.ending:
            self._before = ()
        return PromptState("prompt", self._line, self._before, settled=not self._before, pastes=commands.bracketed)

    def _in_front(self, group: int) -> PromptState:
        """Return the prompt state of the program in front."""
        program = self._program(group)
        standing = PromptState("program", self._line, self._before, False, program=program, group=group)
        return self._dialogue.describe(standing)

    def note(self, call_id: str) -> PromptState:
        """Return the prompt state and note it until the call types; its keys are refused if the state has changed."""
        standing = self._noted[call_id] = self.standing()
        return standing

    async def agent_types(self, actor: str, text: str, call_id: str = "", *, patience_s: float | None = None) -> None:
        """Wait until the agent may type this, and let it have the keyboard; raise `Conflict` if it may not.

        The caller types at once: from here on the text counts as typed.
        """
        patience_s = self._timings.patience_s if patience_s is None else patience_s
        began = self._loop.time()
        half_typed, finished = False, -math.inf
        while True:
            self.look()
            if self.asks_secret():
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
            if half_typed and not self._is_half_typed():
                finished = self._loop.time()
            half_typed = self._is_half_typed()
            coming_s = self._unsettled_s() or self._coming_s(began) or self._returning_s(finished)
            if not half_typed and not coming_s:
                break
            left = began + patience_s - self._loop.time()
            if half_typed and left <= 0:
                raise Conflict(
                    f"the person has typed a line in terminal {self.terminal.title!r} and not finished it",
                    hint="try again later, or use another terminal",
                )
            with self.terminal.listening(self._wake) if coming_s else contextlib.nullcontext():
                await self._news(min(left, coming_s or left) if half_typed else coming_s)
        noted = self._noted.pop(call_id, None)
        now = self.standing()
        # A shell that has only now come to its first prompt takes plain text just as it was judged.
        if noted is not None and PASTE_BEGIN not in text:
            noted = replace(noted, pastes=now.pastes)
        # A prompt that has come only now is no worse to meet than the program that was judged.
        if noted is not None and not noted.prompt:
            noted = replace(noted, prompt=now.prompt, statement=now.statement)
        if noted is not None and not only_takes_away(text) and noted != now:
            meets = f"{now.program or 'a program'} runs there" if now.place == "program" else "its line is another one"
            raise Conflict(
                f"terminal {self.terminal.title!r} has changed since this was judged: {meets} now",
                hint="look at the terminal, then send it again",
            )
        self._take(actor, "agent", kept=False)
        self._well.mark(self.terminal.log.head, actor, "agent", ends_line="\r" in text or "\n" in text)
        self._remember(text)

    def _unsettled_s(self) -> float:
        """Return for how long at most a Ctrl-C of the person's may still cost what is typed behind it."""
        if self._interrupted is None:
            return 0.0
        at, shown = self._interrupted
        passed = self._loop.time() - at
        commands = self.terminal.catch_up()
        back = self.terminal.marked and commands.settled(shown) and commands.announced
        left = (self._timings.interrupt_least_s if back else self._timings.interrupt_s) - passed
        if left <= 0:
            self._interrupted = None
        return max(0.0, left)

    def _coming_s(self, since: float) -> float:
        """Return for how long at most an agent that has waited since then still waits for the shell's prompt."""
        terminal = self.terminal
        if not terminal.marked or terminal.exited:
            return 0.0
        commands = terminal.catch_up()
        fresh = commands.state == "unknown" and terminal.uptime_s < self._timings.fresh_s
        return max(0.0, since + self._timings.prompt_s - self._loop.time()) if fresh or commands.ending else 0.0

    def _returning_s(self, finished: float) -> float:
        """Return for how long at most a shell is waited for that has got a line of the person's, which ended then."""
        terminal = self.terminal
        terminal.catch_up()
        if not terminal.marked or terminal.entered is None or terminal.progress.past(terminal.entered):
            return 0.0
        return max(0.0, finished + self._timings.return_s - self._loop.time())

    def _remember(self, text: str) -> None:
        """Update what stands on the line after an agent's keys."""
        standing = self.standing()
        if "\x03" in text:
            self._before = ()
        if standing.place == "program":
            # It may read all of this, or leave it for the shell that comes after it.
            lines, self._line = leave(self._line, text)
            self._dialogue.agent_types(standing, text, lines)
            if standing.prompt:  # all that was typed before its prompt came was read
                self._before = ()
        else:
            keys = typed(self._line, text, pastes=standing.pastes)
            lines, self._line = keys.lines, keys.line
        if not lines:
            return
        before = (*self._before, *lines)
        self._submitted_at = self.terminal.commands.shown
        if len("\n".join(before)) > _LONGEST_BEFORE:
            before, self._line = (), replace(self._line, hidden="more than can be kept")
        elif standing.place in ("shell", "program") and not open_ended("\n".join(before)):
            before = ()
        self._before = before

    def release(self, actor: str) -> None:
        """Note that the agent is done typing."""
        if self._holder == actor and self._kind == "agent":
            self._take("", "", kept=False)

    # -- seeing ----------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Update the hidden ranges. Event loop only; call before every read or write on behalf of an agent."""
        match self._secret.refresh(half_typed=self._half_typed, recently=self._recently()):
            case "asked" if self._kind != "person":
                self._take("person", "person", kept=False)
            case "over":
                self._touch()

    def visible(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the parts of a range that an agent may see: not what was printed while a secret was read."""
        return self._well.visible(start, end)

    def hidden(self, end: int) -> tuple[tuple[int, int], ...]:
        """Return the ranges before `end` that agents may not see, as of the last look; for use in any thread."""
        return self._well.hidden(end)

    def author(self, position: int) -> AuthorSpan | None:
        """Return the last author before this position."""
        return self._well.author(position)

    def forget(self) -> None:
        """Remove what is stored of the terminal: it is closed."""
        self._secret.unwatch()
        self._well.forget()

    # -- inside ----------------------------------------------------------------------------------------------------

    def _touch(self) -> None:
        """Let the keyboard stay with the person who typed, for a while."""
        self._last_key = self._loop.time()
        if not self._lingers:
            self._lingers = True
            self.terminal.later(self._timings.linger_s, self._expire)

    def _expire(self) -> None:
        self._lingers = False
        left = self._last_key + self._timings.linger_s - self._loop.time()
        if left > 0.01:
            self._lingers = True
            self.terminal.later(left, self._expire)
        elif self._kind == "person" and not self._kept and not self._is_half_typed() and not self.terminal.exited:
            self._take("", "", kept=False)

    def _take(self, holder: str, kind: Literal["", "person", "agent"], *, kept: bool) -> None:
        if (holder, kind, kept) != (self._holder, self._kind, self._kept):
            self._holder, self._kind, self._kept = holder, kind, kept
            self._on_change(self.terminal)

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
