"""Running one line in a persistent shell and returning exactly its output and exit code.

With marks the bounds are known: from the shell's own "begins" to its own "has ended", nothing before, between or
behind. Where no marks come (another shell inside this one or in its place, a REPL, ssh) the program in front is
watched from outside: it waits for input at its terminal. The answer then says so, has no exit code, and its output is
what was printed, echo included. A line is typed only where something waits for it, and the answer tells if it was not.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fourhands.core.errors import BadArgument, Conflict
from fourhands.safety.sanitizer.sanitizer import sanitize
from fourhands.workbench.terminals import screen
from fourhands.workbench.terminals.output import READ_LIMIT, read_range, whole_end
from fourhands.workbench.terminals.shell.integration import encode_input
from fourhands.workbench.terminals.shell.tracker import MULTIPLEXERS, is_relay, program_name

if TYPE_CHECKING:
    from fourhands.workbench.terminals.terminal import Terminal

DOUBT_S = 0.5
"""After so long without output it is asked whether the shell is back although its marks do not say so."""

SETTLE_S = 0.5
"""Seconds for which another terminal (ssh, tmux) must be quiet before it counts as done, where no line editor tells."""

_GOODBYE = b"logout\r\n"
"""The word that bash prints when a login shell is told to exit; it belongs to no program."""

_EXEC = re.compile(r"\bexec\b")

RunReason = Literal["finished", "deadline", "exit", "incomplete", "input", "quiet", "not-typed"]


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a line.

    `reason`: finished; deadline (it goes on, and `wait(finished=True)` tells how it ended); not-typed (the shell came
    to no prompt in time, so nothing was run); exit (the shell ended); incomplete (the shell waits for the rest of the
    line); input (a program without marks waits for input again) or quiet (the shell's marks are gone): then `sure` is
    False and there is no exit code. `start` and `end` are the output's positions.
    """

    output: str
    exit_code: int | None
    reason: RunReason
    start: int
    end: int
    truncated: bool = False
    statuses: tuple[int, ...] = ()
    cwd: str | None = None
    sure: bool = True


Typing = Callable[[bytes], Awaitable[int]]
"""Types keys and returns the head of the log from before."""


async def run(terminal: "Terminal", line: str, timeout_s: float, typing: Typing | None = None) -> RunResult:
    """Type a line at the prompt and wait for its end, for at most `timeout_s`; `typing` types in an actor's name."""
    if not isinstance(line, str) or "\0" in line:
        raise BadArgument("a line to run must be text without NUL bytes")
    if not 0 < timeout_s <= 24 * 3600:
        raise BadArgument(f"timeout_s must be between 0 and 86400 seconds, not {timeout_s!r}")
    if terminal.running.locked():
        raise Conflict(f"terminal {terminal.title!r} runs another line already", hint="wait for it, or use another one")
    async with terminal.running:
        return await _Run(terminal, line, timeout_s, typing or terminal.type).go()


class _Run:
    def __init__(self, terminal: "Terminal", line: str, timeout_s: float, typing: Typing) -> None:
        self.terminal = terminal
        self.type = typing
        self.line = line
        self.loop = asyncio.get_running_loop()
        self.deadline = self.loop.time() + timeout_s
        self._woken = asyncio.Event()
        self._prompt: int | None = None  # at which the line was typed

    async def go(self) -> RunResult:
        terminal = self.terminal
        with terminal.listening(self._heard):
            way = await self._ready() if terminal.marked else "kernel"
            if way == "marks":
                shell = terminal.commands.shell or terminal.program
                prompt = self._prompt = terminal.commands.shown
                typed = await self.type(
                    encode_input(
                        self.line,
                        terminal.commands.bracketed,
                        shell=shell,
                        # zsh reads its first line as its start-up files have left it, whatever its hooks do.
                        expands=terminal.expands_history or (shell == "zsh" and prompt == 1),
                    )
                )
                return self._answer(await self._ended(prompt), prompt, typed)
            if way == "kernel":
                return await self._unmarked()
        position = terminal.log.head
        return RunResult("", _exit_code(terminal, way), way, position, position, sure=False)

    def _heard(self) -> None:
        """There is output: what is only a part of the answer, such as the line's echo, need not wake the task."""
        terminal, prompt = self.terminal, self._prompt
        commands = terminal.catch_up()
        over = prompt is None or commands.shown < prompt or commands.settled(prompt)
        if over or commands.state == "incomplete" or terminal.exited:
            self._woken.set()

    async def _news(self, patience_s: float | None = None) -> bool:
        """Wait for output, or for so long; False when the deadline has passed."""
        until = self.deadline if patience_s is None else min(self.deadline, self.loop.time() + patience_s)
        timer = self.loop.call_at(until, self._woken.set)
        try:
            await self._woken.wait()
            self._woken.clear()
        finally:
            timer.cancel()
        return self.loop.time() < self.deadline

    async def _back_at_the_prompt(self) -> bool:
        """Return True if the shell itself reads its terminal, by its kernel state: its marks may have been removed.

        Whole lines are read by `read` too, unless the shell is another program by now.
        """
        terminal = self.terminal
        if terminal.isolation == "container" and not terminal.commands.bracketed:
            return False  # only the container's client can be looked at, and that always reads
        probe = await terminal.probe()
        if not probe.get("shell") or not probe.get("waits") or probe.get("unread"):
            return False
        return not probe["canonical"] or terminal.program not in probe["names"]

    async def _ready(self) -> Literal["marks", "kernel", "exit", "not-typed"]:
        """Return the line's reader: a shell at its prompt, or else what waits for input in front or in its place.

        The first prompt may still be on its way; a command that runs is another caller's.
        """
        terminal = self.terminal
        moment_s = terminal.timings.moment_s
        limit, patience = self.loop.time() + terminal.timings.prompt_s, self.loop.time() + moment_s
        doubt = self.loop.time() + DOUBT_S
        while True:
            commands = terminal.catch_up()
            if terminal.exited:
                return "exit"
            if commands.ending and self.loop.time() < limit:
                if not await self._news(limit - self.loop.time()):
                    return "not-typed"
                patience = self.loop.time() + moment_s
                continue
            left = patience - self.loop.time()
            if commands.ready and (commands.announced or left <= 0):
                return "marks"
            if left > 0 and (commands.ready or commands.state == "incomplete"):
                await self._news(left)  # the prompt may be on its way
            elif commands.state == "prompt":
                if not await self._news():  # and so is the line editor
                    return "not-typed"
            elif commands.state == "incomplete":
                raise Conflict(
                    f"terminal {terminal.title!r} waits for the rest of a command",
                    hint="type the rest, or Ctrl-C to give it up",
                )
            elif commands.state == "unknown" and (silent := doubt - self.loop.time()) > 0:
                if not await self._news(silent):
                    return "not-typed"
            elif await self._is_waited_for(commands.state):
                return "kernel"
            elif terminal.catch_up().state == "running" and not (commands.ending and self.loop.time() < limit):
                raise Conflict(
                    f"terminal {terminal.title!r} is busy: its shell is running a command",
                    hint="wait for it, interrupt it, or use another terminal",
                )
            else:
                doubt = self.loop.time() + DOUBT_S

    async def _is_waited_for(self, state: str) -> bool:
        """Return True if a program that takes lines waits for input, although the marks tell of no prompt."""
        terminal = self.terminal
        seen = await terminal.wait(input_wanted=True, deadline_s=terminal.timings.moment_s)
        commands = terminal.catch_up()
        if seen.reason != "input" or commands.state != state:
            return False
        if terminal.isolation == "container" and not commands.bracketed:
            return False
        if seen.input == "secret":
            raise Conflict(
                f"terminal {terminal.title!r} asks for a secret, and takes no line to run",
                hint="answer it first, or use another terminal",
            )
        canonical = terminal.modes()[1]
        if state == "unknown" and canonical:
            return False  # a question of the start-up files; the shell has come to no prompt
        if terminal.asks_itself():
            raise Conflict(
                f"terminal {terminal.title!r} takes no command: its shell is running one that reads a line",
                hint="type the answer, interrupt it, or use another terminal",
            )
        program = program_name(terminal.foreground_group())
        if not canonical and program not in MULTIPLEXERS and await self._is_full_screen():
            raise Conflict(
                f"terminal {terminal.title!r} shows {program or 'a program'} on its whole screen",
                hint="that takes keys, not lines: type them, or use another terminal",
            )
        return True

    async def _is_full_screen(self) -> bool:
        await asyncio.to_thread(screen.load)
        return self.terminal.screen().alternate

    async def _ended(self, prompt: int) -> RunReason:
        terminal, doubts = self.terminal, 0
        while True:
            commands = terminal.catch_up()
            if commands.settled(prompt):
                return "finished"
            if commands.shown < prompt:  # the log's window has passed the beginning
                prompt = self._prompt = commands.shown
            if terminal.exited:
                return "exit"
            if commands.state == "incomplete" and not self.terminal.since(terminal.log.head).text:
                return "incomplete"
            head, asked = terminal.log.head, self.loop.time()
            if not await self._news(DOUBT_S):
                return "deadline"
            # Woken earlier, by news that had been read already, says nothing of silence.
            if terminal.log.head == head and self.loop.time() - asked >= DOUBT_S:
                doubts = doubts + 1 if await self._back_at_the_prompt() else 0
                if doubts == 2:
                    return "quiet"

    def _answer(self, reason: RunReason, prompt: int, typed: int) -> RunResult:
        terminal = self.terminal
        found = terminal.commands.outcome(prompt) if terminal.commands.at(prompt) else None
        head = terminal.log.head
        start = found.start if found is not None and found.start is not None else (head if reason != "exit" else typed)
        end = found.end if found is not None and found.end is not None and reason == "finished" else head
        end = max(start, end)
        chunk = read_range(terminal.log, max(start, end - READ_LIMIT), end)
        data = chunk.data if reason == "finished" else chunk.data[: whole_end(chunk.data)]
        if reason == "exit" and self._says_goodbye() and data.endswith(_GOODBYE):
            data, end = data[: -len(_GOODBYE)], end - len(_GOODBYE)
        code = _exit_code(terminal, reason)
        if found is not None and reason == "finished":
            # A line of which nothing was run, though there was something to run, did not succeed.
            refused = not found.began and self.line.strip() and not self.line.lstrip().startswith("#")
            code = None if refused and not found.exit_code else found.exit_code
        return RunResult(
            output=sanitize(data),
            exit_code=code,
            reason=reason,
            start=start,
            end=end,
            truncated=chunk.start > start,
            statuses=found.statuses if found is not None else (),
            cwd=terminal.commands.cwd,
            sure=reason == "finished" and found is not None and found.sure,
        )

    async def _unmarked(self) -> RunResult:
        """Without marks: type the line, then wait until the program waits for input again, or is left."""
        terminal, commands = self.terminal, self.terminal.catch_up()
        shown, edited, editor, group = commands.shown, commands.edited, commands.bracketed, terminal.foreground_group()
        relay = terminal.isolation == "container" or is_relay(program_name(group))
        typed = await self.type(_keys(self.line, editor, canonical=terminal.modes()[1]))
        reason: RunReason = "deadline"
        while (left := self.deadline - self.loop.time()) > 0:
            seen = await terminal.wait(input_wanted=True, deadline_s=left)
            if seen.reason != "input":
                reason = "exit" if seen.reason == "exit" else "deadline"
                break
            commands = terminal.catch_up()
            back = commands.shown > shown or (editor and commands.edited > edited)
            if back or not relay or terminal.foreground_group() != group:
                reason = "input"
                break
            # What waits only hands keys on. A line editor behind it that has let go of the line will come back; where
            # there is none to be seen, nothing more is printed.
            patience = None if editor and not commands.bracketed else SETTLE_S
            if not await self._news(patience):
                break
            if patience is not None and terminal.log.head == seen.position:
                reason = "input"
                break
        chunk = read_range(terminal.log, max(typed, terminal.log.head - READ_LIMIT), terminal.log.head)
        return RunResult(
            output=sanitize(chunk.data),
            exit_code=_exit_code(terminal, reason),
            reason=reason,
            start=typed,
            end=terminal.log.head,
            truncated=chunk.start > typed,
            cwd=terminal.commands.cwd,
            sure=False,
        )

    def _says_goodbye(self) -> bool:
        """Return True if the last word may be the shell's own, and not that of a program which took its place."""
        exit, shell = self.terminal.exit, self.terminal.program
        return exit is not None and exit.code is not None and shell == "bash" and not _EXEC.search(self.line)


def _exit_code(terminal: "Terminal", reason: RunReason) -> int | None:
    return terminal.exit.code if reason == "exit" and terminal.exit is not None else None


def _keys(line: str, editor: bool, *, canonical: bool) -> bytes:
    """Return the bytes that type a line for a program of which only the terminal is known."""
    if editor:
        return encode_input(line, True)
    text = line.rstrip("\n") + "\n"
    return (text if canonical else text.replace("\n", "\r")).encode("utf-8", "surrogateescape")
