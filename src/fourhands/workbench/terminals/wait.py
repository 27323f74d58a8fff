"""Waiting for a terminal: any of several conditions, a deadline, and an answer that says which one it was.

Nothing here polls the output: a wake-up tells of it. What the kernel does not tell of (who reads the terminal, who
listens on a port) is asked for at intervals that lengthen while nothing changes.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from fourhands.core.errors import BadArgument
from fourhands.host.log import LogReader
from fourhands.host.protocol import Message
from fourhands.safety.regex import Pattern, compile_pattern
from fourhands.safety.sanitizer.sanitizer import sanitize
from fourhands.workbench.terminals.output import read_range, whole_end
from fourhands.workbench.terminals.screen import Screen
from fourhands.workbench.terminals.shell.history import CommandOutcome, ShellHistory
from fourhands.workbench.terminals.shell.tracker import ELSEWHERE, Progress

WaitReason = Literal["exit", "finished", "pattern", "quiet", "stable", "input", "port", "deadline"]
InputKind = Literal["prompt", "incomplete", "line", "secret", "keys"]


class OutputView(Protocol):
    """The output as one actor may see it at one moment."""

    def text(self, start: int, data: bytes) -> str:
        """Return the text of output that begins at a position; in any thread."""
        ...


OutputSight = Callable[[], OutputView]
"""Returns the output as who waits may see it now; called on the event loop."""


PROBE_FIRST_S = 0.01
PROBE_LAST_S = 0.2
LONGEST_S = 24 * 3600.0
_OVERLAP = 8 * 1024
_PIECE = 1024 * 1024
_AT_ONCE = 64 * 1024  # takes a few milliseconds at most; what is more is looked at beside the event loop


@dataclass(frozen=True, slots=True)
class WaitResult:
    """The end of a wait: the reason, the head of the log at that moment, and the limits that were in force.

    For a command that has finished: its exit code, and from where to where its output goes, as far as marks tell.
    """

    reason: WaitReason
    position: int
    elapsed_s: float
    deadline_s: float
    match: str | None = None
    input: InputKind | None = None
    sure: bool = True
    port: int | None = None
    exit_code: int | None = None
    start: int | None = None
    end: int | None = None
    limits: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WaitConditions:
    """The conditions of a wait; at least one, or the deadline."""

    exit: bool = False
    finished: bool = False
    pattern: str | None = None
    quiet_s: float | None = None
    stable_s: float | None = None
    input_wanted: bool = False
    port: bool = False
    min_s: float = 0.0
    deadline_s: float = 30.0

    def check(self) -> None:
        """Refuse numbers that make no sense."""
        for name in ("quiet_s", "stable_s", "min_s", "deadline_s"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= LONGEST_S:
                raise BadArgument(f"{name} must be between 0 and {LONGEST_S:g} seconds, not {value!r}")


class Waitable(Protocol):
    """The part of a terminal that a wait needs."""

    @property
    def log(self) -> LogReader:
        """Its output."""
        ...

    @property
    def exited(self) -> bool:
        """True once its program has ended and all its output is in the log."""
        ...

    def catch_up(self) -> ShellHistory:
        """Read the shell's marks up to now."""
        ...

    def outcome(self, prompt: int) -> CommandOutcome | None:
        """Return the outcome of what was entered at a prompt."""
        ...

    @property
    def is_shell(self) -> bool:
        """True if its main program is an interactive shell."""
        ...

    @property
    def entered(self) -> Progress | None:
        """The progress of the shell when Enter was typed last."""
        ...

    @property
    def entered_at(self) -> int:
        """The position from which output is new: the head when Enter was typed last."""
        ...

    @property
    def progress(self) -> Progress:
        """The progress of the shell at the last `catch_up`."""
        ...

    def screen(self) -> Screen:
        """Return what is on the screen."""
        ...

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back on news; returns what ends it."""
        ...

    async def probe(self) -> Message:
        """Return the state of the foreground program."""
        ...

    @property
    def ports_told(self) -> set[int]:
        """The ports of which a wait has told since Enter was typed last."""
        ...

    async def ports(self) -> dict[int, bool]:
        """On which TCP ports its processes listen, and whether what listens was begun since the last Enter."""
        ...


class _PatternScan:
    """Looks for a pattern in what was printed since a position; the last lines are looked at again each time."""

    def __init__(self, log: LogReader, position: int, pattern: Pattern, sight: OutputSight | None) -> None:
        self._log = log
        self._sight = sight
        self._from = position
        self._pattern = pattern

    def is_far(self) -> bool:
        """Return True if so much is left to look at that others would notice."""
        return self._log.head - self._from > _AT_ONCE

    def look(self) -> str | None:
        """Look at all that is left."""
        match, more = self.step(self.piece())
        while match is None and more:
            match, more = self.step(self.piece())
        return match

    def piece(self) -> "_Piece":
        """Return what is looked at next; which parts of it count is known on the event loop only."""
        start = max(self._from, self._log.floor)
        end = min(self._log.head, start + _PIECE)
        return _Piece(start, end, None if self._sight is None else self._sight())

    def step(self, piece: "_Piece") -> tuple[str | None, bool]:
        """Look at one piece, in any thread: what was found, and whether there is another piece."""
        chunk = read_range(self._log, piece.start, piece.end)
        data = chunk.data[: whole_end(chunk.data)]
        if not data:
            return None, False
        text = sanitize(data) if piece.view is None else piece.view.text(chunk.start, data)
        found = self._pattern.search(text)
        if found is None and (blanks := _blanks_behind(data)):  # a prompt may end in one: ">>> "
            text += blanks
            found = self._pattern.search(text)
        if found is not None:
            return text[found.start() : found.end()], False
        # A pattern may span lines: the last ones are looked at again, together with what comes next.
        keep = 0
        if len(data) > _OVERLAP:
            newline = data.find(b"\n", len(data) - _OVERLAP)
            keep = newline + 1 if 0 <= newline < len(data) - 1 else len(data) - _OVERLAP
        self._from = chunk.start + keep
        return None, keep > 0 and chunk.start + len(data) < self._log.head


class _Piece(NamedTuple):
    """A range of the output, and how it may be seen; None is as it is."""

    start: int
    end: int
    view: OutputView | None


def _blanks_behind(data: bytes) -> str:
    """Return the blanks at the end of a line that is not over, which a text as people read it has not."""
    line = data[data.rfind(b"\n", -_OVERLAP) + 1 :][-_OVERLAP:]
    text, longer = sanitize(line), sanitize(line + b"|")
    blanks = longer[len(text) : -1]
    return blanks if longer == f"{text}{blanks}|" and blanks.isspace() else ""


class _Timer:
    """One timed question to the kernel that lengthens its interval while nothing changes."""

    def __init__(self) -> None:
        self.interval = PROBE_FIRST_S
        self.due = 0.0

    def reset(self, now: float) -> None:
        self.interval = PROBE_FIRST_S
        self.due = now + self.interval

    def next(self, now: float) -> None:
        self.interval = min(PROBE_LAST_S, self.interval * 1.6)
        self.due = now + self.interval


async def wait(
    terminal: Waitable, wanted: WaitConditions, position: int | None = None, sight: OutputSight | None = None
) -> WaitResult:
    """Wait until one of the conditions holds; `position` is where the search for a pattern begins.

    Without it that is the last Enter: what answers it may be there before the wait is.
    """
    wanted.check()
    return await _Wait(terminal, wanted, position, sight).run()


class _Wait:
    def __init__(
        self, terminal: Waitable, wanted: WaitConditions, position: int | None, sight: OutputSight | None
    ) -> None:
        self.terminal = terminal
        self.wanted = wanted
        self.loop = asyncio.get_running_loop()
        self.started = self.last_output = self.loop.time()
        self.head = terminal.log.head
        start = terminal.entered_at if position is None else position
        self.scan = None
        if wanted.pattern is not None:
            self.scan = _PatternScan(terminal.log, start, compile_pattern(wanted.pattern, lines=True), sight)
        # What was typed before this wait counts too: its command may be over by now.
        terminal.catch_up()
        self.before = terminal.entered or terminal.progress
        self.probe_timer, self.port_timer = _Timer(), _Timer()
        self.wanting: InputKind | None = None
        self.ports_before: set[int] = set()
        self.revision, self.revision_since = -1, self.started

    async def run(self) -> WaitResult:
        news = asyncio.Event()
        stop = self.terminal.listen(news.set)
        try:
            if self.wanted.port:
                # As for a pattern: what the last Enter has started may listen before this wait is there.
                told, ports = set(self.terminal.ports_told), await self.terminal.ports()
                self.ports_before = told | {port for port, fresh in ports.items() if not fresh}
            while True:
                news.clear()
                seen = await self._look_far() or self._look() or await self._ask()
                if seen is not None:
                    return seen
                try:
                    async with asyncio.timeout(self._pause()):
                        await news.wait()
                except TimeoutError:
                    pass
        finally:
            stop()

    def _answer(self, reason: WaitReason, **more: object) -> WaitResult:
        wanted = self.wanted
        named = {"minSeconds": wanted.min_s, "quietSeconds": wanted.quiet_s, "stableSeconds": wanted.stable_s}
        return WaitResult(
            reason,
            self.terminal.log.head,
            self.loop.time() - self.started,
            wanted.deadline_s,
            limits={name: value for name, value in named.items() if value is not None},
            **more,  # type: ignore[arg-type]  # named fields of Seen
        )

    async def _look_far(self) -> WaitResult | None:
        """Look for the pattern in a long past, or in a flood, while others go on."""
        while self.scan is not None and self.scan.is_far() and self.loop.time() - self.started < self.wanted.deadline_s:
            match, _ = await asyncio.to_thread(self.scan.step, self.scan.piece())
            if match is not None:
                return self._answer("pattern", match=match)
        return None

    def _look(self) -> WaitResult | None:
        """Return the conditions that cost nothing to see, the surest first."""
        terminal, wanted, now = self.terminal, self.wanted, self.loop.time()
        head = terminal.log.head
        if head != self.head:
            self.head, self.last_output, self.wanting = head, now, None
            self.probe_timer.reset(now)
        if self.scan is not None and not self.scan.is_far():
            match = self.scan.look()
            if match is not None:
                return self._answer("pattern", match=match)
        if terminal.exited:
            return self._answer("exit")
        if wanted.finished:
            terminal.catch_up()
            if terminal.progress.past(self.before):
                return self._finished()
        waited = now - self.started
        if waited >= wanted.min_s:
            if wanted.quiet_s is not None and now - max(self.last_output, self.started) >= wanted.quiet_s:
                return self._answer("quiet")
            if wanted.stable_s is not None and self._stable(now) >= wanted.stable_s:
                return self._answer("stable")
        if waited >= wanted.deadline_s:
            return self._answer("deadline")
        return None

    def _finished(self) -> WaitResult:
        found = self.terminal.outcome(self.before.shown)
        if found is None:
            return self._answer("finished", sure=False)
        code, start, end = found.exit_code, found.start, found.end
        return self._answer("finished", exit_code=code, start=start, end=end, sure=found.sure)

    def _stable(self, now: float) -> float:
        revision = self.terminal.screen().revision
        if revision != self.revision:
            self.revision, self.revision_since = revision, now
        return now - self.revision_since

    async def _ask(self) -> WaitResult | None:
        """Return the conditions that only the kernel knows."""
        now = self.loop.time()
        if self.wanted.input_wanted and now >= self.probe_timer.due:
            probe = await self.terminal.probe()
            # Looked at afterwards: a shell that has come to its prompt meanwhile would seem to be a program that reads.
            state = self.terminal.catch_up().state if self.terminal.is_shell else "none"
            kind, sure = input_kind(probe, state)
            self.probe_timer.next(now)
            # Twice in a row: what was typed a moment ago may not have reached its reader yet.
            if kind is not None and kind == self.wanting:
                return self._answer("input", input=kind, sure=sure)
            if kind != self.wanting:
                self.wanting = kind
                self.probe_timer.reset(now)
        if self.wanted.port and now >= self.port_timer.due:
            fresh = set(await self.terminal.ports()) - self.ports_before
            self.port_timer.next(now)
            if fresh:
                self.terminal.ports_told.add(min(fresh))
                return self._answer("port", port=min(fresh))
        return None

    def _pause(self) -> float:
        """Return the seconds in which nothing can happen unless there is news."""
        wanted, now = self.wanted, self.loop.time()
        moments = [self.started + wanted.deadline_s]
        if wanted.quiet_s is not None:
            moments.append(max(self.last_output + wanted.quiet_s, self.started + wanted.min_s))
        if wanted.stable_s is not None:
            moments.append(max(self.revision_since + wanted.stable_s, self.started + wanted.min_s))
        if wanted.input_wanted:
            moments.append(self.probe_timer.due)
        if wanted.port:
            moments.append(self.port_timer.due)
        return max(0.0, min(moments) - now)


def input_kind(probe: Message, shell_state: str) -> tuple[InputKind | None, bool]:
    """Return what a program waits for, as its kernel state tells, and whether that is certain.

    `shell_state` is that of the terminal's shell by its marks: "unknown" for one without marks, "none" for no shell.
    """
    if not probe.get("running") or probe.get("unread"):
        return None, True
    canonical, waits = bool(probe["canonical"]), probe["waits"]
    hidden = canonical and not probe["echo"]
    if "read" in waits or ("poll" in waits and not canonical):
        if hidden:
            return "secret", True
        if probe["shell"] and shell_state == "incomplete":
            return "incomplete", True
        if probe["shell"] and shell_state in ("prompt", "unknown"):
            return "prompt", shell_state == "prompt"
        return ("line" if canonical else "keys"), True
    # GNU screen's program in front only sleeps: another process of its own reads the terminal.
    if not canonical and probe["asleep"] and not ELSEWHERE.isdisjoint(probe["names"]):
        return "keys", False
    # A set-uid program cannot be looked into: no echo, whole lines and a sleeping group must do.
    if hidden and "unreadable" in waits and probe["asleep"]:
        return "secret", False
    return None, True
