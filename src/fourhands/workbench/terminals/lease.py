"""Who has a terminal's keyboard, what an agent's keys would meet there, and what an agent may not see.

One holder at a time. A person takes over at once, always; an agent waits while a line of theirs stands half typed.
Who typed is kept by position, never what a person typed, so no prompt that we failed to notice can leak it. While a
secret is wanted (no echo, whole lines) the keyboard is the person's and agents are blind to what is printed. The kernel
echoes what a person types before the prompt has come: agents do not see that either, once the prompt shows what it was.

What was judged is what is typed: a judgement notes what stood on the line, and keys that would meet something else by
the time they are typed are refused.
"""

import asyncio
import contextlib
import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from msgspec import Struct

from fourhands.core.bounded import BoundedDict
from fourhands.core.errors import Conflict
from fourhands.safety.sanitizer.sanitizer import sanitize
from fourhands.workbench.terminals.authorship import Authorship, AuthorSpan
from fourhands.workbench.terminals.prompt import PromptState
from fourhands.workbench.terminals.shell.input_line import (
    EMPTY,
    PASTE_BEGIN,
    leave,
    only_takes_away,
    open_ended,
    typed,
)
from fourhands.workbench.terminals.shell.tracker import ELSEWHERE, program_name
from fourhands.workbench.terminals.terminal import Terminal

PATIENCE_S = 30.0
"""How long an agent waits for a person's half-typed line."""

LINGER_S = 3.0
"""How long after the last key the keyboard is still theirs who did not ask to keep it."""

INTERRUPT_S = 0.5
"""How long after a person's Ctrl-C an agent waits: until then the shell throws away what it is typed. Where the shell's
marks tell of a new prompt, it need not be waited for longer than that."""

INTERRUPT_LEAST_S = 0.05
"""So long it waits all the same: the prompt may be that of a command which ended by itself just then."""

PROMPT_S = 2.0
"""How long an agent waits for a prompt that is sure to come: what is typed before it would be echoed twice."""

FRESH_S = 5.0
"""How long a shell may take to its first prompt; one that marks nothing by then is not waited for."""

RETURN_S = 1.0
"""How long a command that the person entered while an agent waited is given to be over: most are, at once."""

AHEAD_S = 30.0
"""How long keys for a program may turn out to be a secret: typed ahead of its prompt, or on when that has gone."""

_NOTED = 200
_LONGEST_BEFORE = 100_000  # characters of a command's lines that are judged together with its rest
_SECRET_WORD = re.compile(rb"pass|pin|token|secret|code|otp")
_ASKED = (
    r"(?i)(?:^|\W)(?:passwor[dt]|passwd|passphrase|passcode|pin|token|secret|verification code|one-time code|otp)"
    r"\b[^\n]{0,200}?[:?>]"
)
_SECRET_ASKED, _SECRET_PROMPT = re.compile(_ASKED), re.compile(rf"{_ASKED}\s*$")
_LONGEST_AHEAD = 64 * 1024
_KEYS = re.compile(rb"[\x20-\xff]+|[\0-\x1f]")  # text at once: a paste may have millions of characters


class LeaseInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """The keyboard as others see it."""

    holder: str = ""
    kind: Literal["", "person", "agent"] = ""
    kept: bool = False
    half_typed: bool = False
    secret: bool = False


class Lease:
    """The keyboard of one terminal."""

    def __init__(self, terminal: Terminal, on_change: Callable[[Terminal], None], ink_file: str | None = None) -> None:
        self.terminal = terminal
        self._well = Authorship(ink_file)
        self._on_change = on_change
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
        self._ahead: int | None = None  # where the echo begins of keys that may be for a prompt that is still to come
        self._interrupted: tuple[float, int] | None = None  # when, and at which prompt of the shell
        self._gone_with = 0  # the process group of a raw program that had the last keys: they go with it
        # Nobody knows when the echo came back while no server was there.
        self._dark_head = 0 if self._well.hidden_from is None else terminal.log.head
        self._stop_watching: Callable[[], None] | None = None
        self._waiters: list[asyncio.Future[None]] = []
        self._linger: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    @property
    def ink(self) -> list[AuthorSpan]:
        """Who typed where, the newest last."""
        return self._well.marks

    @property
    def waiting(self) -> int:
        """How many agents wait for their turn to type."""
        return len(self._waiters)

    def asks_secret(self) -> bool:
        """Whether a secret is wanted: no echo but whole lines; behind ssh and its like, a prompt that looks so."""
        terminal = self.terminal
        if terminal.exited:
            return False
        try:
            echo, canonical = terminal.modes()
        except OSError:
            return False
        if echo:
            return False
        return canonical or self._secret_elsewhere()

    def info(self) -> LeaseInfo:
        """How things stand."""
        return LeaseInfo(
            holder=self._holder,
            kind=self._kind,
            kept=self._kept,
            half_typed=self._is_half_typed(),
            secret=self.asks_secret(),
        )

    # -- a person --------------------------------------------------------------------------------------------------

    def person_typed(self, actor: str, data: bytes) -> None:
        """A person's keys go to the terminal: the keyboard is theirs."""
        self.look()
        self._take(actor, "person", kept=self._kept and self._kind == "person")
        self._type_ahead()
        self._touch()
        self._gone_with = self._raw_program()
        self._play(data)
        self._well.mark(self.terminal.log.head, actor, "person", ends_line=b"\r" in data or b"\n" in data)
        self._wake()

    def take_over(self, actor: str) -> None:
        """A person takes the keyboard and keeps it until they hand it back."""
        self._take(actor, "person", kept=True)
        self._wake()

    def hand_back(self) -> None:
        """Nobody has it: whoever types next takes it, also behind a line that stands half typed."""
        if self._is_half_typed():
            self._line = replace(self._line, hidden="a line of the person's")
        self._half_typed = False
        self._take("", "", kept=False)
        self._wake()

    def _type_ahead(self) -> None:
        """Remember where the echo of keys begins that a program has not asked for, as far as anybody can tell."""
        terminal = self.terminal
        try:
            # Asked at each key, mostly at a prompt: the cheapest question first.
            ahead = not self._at_prompt() and not terminal.exited
            ahead = ahead and (terminal.modes() == (True, True) or self._is_elsewhere())
        except OSError:
            ahead = False
        if not ahead:
            self._ahead = None
        elif self._ahead is None or not self._recently():
            self._ahead = terminal.log.head
            self._watch()

    def _at_prompt(self) -> bool:
        """Whether a shell's marks say that it reads a line."""
        return self.terminal.marked and self.terminal.catch_up().state in ("prompt", "incomplete")

    def _is_elsewhere(self) -> bool:
        """Whether another terminal counts, one that we cannot look at."""
        return self.terminal.isolation == "container" or program_name(self.terminal.foreground_group()) in ELSEWHERE

    def _recently(self) -> bool:
        return self._loop.time() - self._last_key < AHEAD_S

    def _raw_program(self) -> int:
        """The foreground group when it takes keys one by one, as editors and pagers do, and prompts too; else 0."""
        try:
            return 0 if self.terminal.exited or self.terminal.modes()[1] else self.terminal.foreground_group()
        except OSError:
            return 0

    def _is_half_typed(self) -> bool:
        """Whether a person's line waits for its end; keys that a pager took are no line at the prompt behind it."""
        terminal = self.terminal
        if self._half_typed and self._gone_with and terminal.marked and terminal.foreground_group() != self._gone_with:
            self._half_typed = terminal.catch_up().state != "prompt"
        return self._half_typed

    def _play(self, data: bytes) -> None:
        """Learn whether something stands on the line, without keeping what."""
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
        """What an agent's keys would meet now; a half-typed line of a person's is waited for and does not count."""
        terminal = self.terminal
        group = terminal.foreground_group()
        if not terminal.marked:
            if terminal.is_shell and group in (0, terminal.pid):
                return PromptState("shell", self._line, self._before, settled=False, group=group)
            return PromptState("program", self._line, self._before, False, program=program_name(group), group=group)
        commands = terminal.catch_up()
        if commands.state == "running" and not commands.ending:
            return PromptState("program", self._line, self._before, False, program=program_name(group), group=group)
        if commands.state == "incomplete":
            return PromptState("incomplete", self._line, self._before, pastes=commands.bracketed)
        if commands.shown > self._submitted_at or commands.ending:
            self._before = ()
        return PromptState("prompt", self._line, self._before, settled=not self._before, pastes=commands.bracketed)

    def note(self, call_id: str) -> PromptState:
        """What stands there now, kept until the call types; its keys are refused if that has become another."""
        standing = self._noted[call_id] = self.standing()
        return standing

    async def agent_types(self, actor: str, text: str, call_id: str = "", *, patience_s: float = PATIENCE_S) -> None:
        """Return when the agent may type this, and give it the keyboard; `Conflict` when it may not.

        The caller types at once: from here on the text counts as typed.
        """
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
        """How long at most a Ctrl-C of the person's may still cost what is typed behind it."""
        if self._interrupted is None:
            return 0.0
        at, shown = self._interrupted
        passed = self._loop.time() - at
        commands = self.terminal.catch_up()
        back = self.terminal.marked and commands.settled(shown) and commands.announced
        left = (INTERRUPT_LEAST_S if back else INTERRUPT_S) - passed
        if left <= 0:
            self._interrupted = None
        return max(0.0, left)

    def _coming_s(self, since: float) -> float:
        """How long at most the shell's prompt is still waited for by somebody who has waited since then."""
        terminal = self.terminal
        if not terminal.marked or terminal.exited:
            return 0.0
        commands = terminal.catch_up()
        fresh = commands.state == "unknown" and terminal.uptime_s < FRESH_S
        return max(0.0, since + PROMPT_S - self._loop.time()) if fresh or commands.ending else 0.0

    def _returning_s(self, finished: float) -> float:
        """How long at most the shell is waited for that has got a line of the person's, which ended then."""
        terminal = self.terminal
        terminal.catch_up()
        if not terminal.marked or terminal.entered is None or terminal.progress.past(terminal.entered):
            return 0.0
        return max(0.0, finished + RETURN_S - self._loop.time())

    def _remember(self, text: str) -> None:
        """What stands on the line after an agent's keys."""
        standing = self.standing()
        if "\x03" in text:
            self._before = ()
        if standing.place == "program":
            # It may read all of this, or leave it for the shell that comes after it.
            lines, self._line = leave(self._line, text)
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
        """The agent is done typing."""
        if self._holder == actor and self._kind == "agent":
            self._take("", "", kept=False)

    # -- seeing ----------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Begin or end an agent's blindness; for the event loop only. Whoever types or reads looks first."""
        head = self.terminal.log.head
        if self.asks_secret():
            self._dark_head = head
            if self._well.hidden_from is None:
                self._well.hide(head if self._ahead is None else min(self._ahead, head))
                self._ahead = None
                self._on_change(self.terminal)
            if self._kind != "person":
                self._take("person", "person", kept=False)
            self._watch()
        elif self._well.hidden_from is not None:
            if self._half_typed and self._recently():
                self._dark_head = head  # the prompt has gone, and the person goes on typing its secret
                return
            # What was printed since the last look in the dark came with the echo: a build's output, not a prompt's.
            self._well.reveal(max(self._dark_head, self._well.hidden_from))
            self._on_change(self.terminal)
            self._touch()
            self._unwatch()
        elif self._ahead is not None:
            self._look_ahead(self._ahead, head)

    def _look_ahead(self, start: int, head: int) -> None:
        """Hide what was typed ahead if a secret was asked for since, however short the time without echo was."""
        terminal = self.terminal
        asked = _SECRET_ASKED.search(sanitize(terminal.log.read(start, _LONGEST_AHEAD).data)) is not None
        if asked:
            self._well.hide(start)
            self._well.reveal(head)
            self._on_change(terminal)
        if asked or self._at_prompt() or not self._recently() or head - start > _LONGEST_AHEAD:
            self._ahead = None
            self._unwatch()

    def visible(self, start: int, end: int) -> list[tuple[int, int]]:
        """The parts of a range that an agent may see: not what was printed while a secret was wanted."""
        return self._well.visible(start, end)

    def hidden(self, end: int) -> tuple[tuple[int, int], ...]:
        """Return the ranges before `end` that agents may not see, as of the last look; for use in any thread."""
        return self._well.hidden(end)

    def author(self, position: int) -> AuthorSpan | None:
        """Who typed last before this position."""
        return self._well.author(position)

    def forget(self) -> None:
        """The terminal is closed."""
        self._unwatch()
        if self._linger is not None:
            self._linger.cancel()
        self._well.forget()

    # -- inside ----------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        if self._stop_watching is None:
            self._stop_watching = self.terminal.listen(self.look)

    def _unwatch(self) -> None:
        if self._stop_watching is not None:
            self._stop_watching()
            self._stop_watching = None

    def _secret_elsewhere(self) -> bool:
        """The terminal is raw: another one counts, of which only what it prints is known."""
        terminal = self.terminal
        # Asked at each key, mostly at a shell's own prompt. After `exec ssh` the shell's process is another program.
        if self._at_prompt() and terminal.foreground_group() == terminal.pid and terminal.isolation != "container":
            return False
        tail = terminal.log.read(max(terminal.log.floor, terminal.log.head - 512), 512).data
        if not _SECRET_WORD.search(tail.lower()):
            return False
        if not self._is_elsewhere() or self._at_prompt():
            return False
        return _SECRET_PROMPT.search(sanitize(tail).rpartition("\n")[2]) is not None

    def _touch(self) -> None:
        """Somebody typed: the keyboard stays theirs for a while."""
        self._last_key = self._loop.time()
        if self._linger is None:
            self._linger = self._loop.call_later(LINGER_S, self._expire)

    def _expire(self) -> None:
        self._linger = None
        left = self._last_key + LINGER_S - self._loop.time()
        if left > 0.01:
            self._linger = self._loop.call_later(left, self._expire)
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
