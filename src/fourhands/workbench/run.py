"""Running one line in a persistent shell and returning exactly its output and exit code.

With marks the bounds are known: from the shell's own "begins" to its own "has ended", nothing before, between or
behind. A shell without marks is watched from outside (it reads its terminal again, and is quiet); the answer then
says so, has no exit code, and its output is what was printed, echo included.
"""

import asyncio
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fourhands.core.errors import BadArgument, Conflict
from fourhands.safety.text import sanitize
from fourhands.workbench.marks import Command, encode_input
from fourhands.workbench.view import READ_LIMIT, read_range, whole_end

if TYPE_CHECKING:
    from fourhands.workbench.terminal import Terminal

MOMENT_S = 0.25
"""How long a shell that is about to finish something is waited for before it counts as busy."""

PROMPT_S = 10.0
"""How long a prompt is waited for that is sure to come, since a command has just ended."""

DOUBT_S = 0.5
"""After so long without output it is asked whether the shell is back although its marks do not say so."""

_GOODBYE = b"logout\r\n"
"""What bash prints when a login shell is told to exit; it belongs to no program."""

_EXEC = re.compile(r"\bexec\b")

Reason = Literal["finished", "deadline", "exit", "incomplete", "input", "quiet"]


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a line.

    `reason`: finished; deadline (it goes on); exit (the shell ended); incomplete (the shell waits for the rest of the
    line); input (a shell without marks) or quiet (its marks are gone): then `sure` is False and there is no exit code.
    `start` and `end` are the output's positions.
    """

    output: str
    exit_code: int | None
    reason: Reason
    start: int
    end: int
    truncated: bool = False
    statuses: tuple[int, ...] = ()
    cwd: str | None = None
    sure: bool = True


async def run(terminal: "Terminal", line: str, timeout_s: float) -> Done:
    """Type a line at the prompt and wait for its end, for at most `timeout_s`."""
    if not isinstance(line, str) or "\0" in line:
        raise BadArgument("a line to run must be text without NUL bytes")
    if not 0 < timeout_s <= 24 * 3600:
        raise BadArgument(f"timeout_s must be between 0 and 86400 seconds, not {timeout_s!r}")
    if terminal.running.locked():
        raise Conflict(f"terminal {terminal.title!r} runs another line already", hint="wait for it, or use another one")
    async with terminal.running:
        if not terminal.marked:
            return await _run_unmarked(terminal, line, timeout_s)
        return await _Run(terminal, line, timeout_s).go()


class _Run:
    def __init__(self, terminal: "Terminal", line: str, timeout_s: float) -> None:
        self.terminal = terminal
        self.line = line
        self.loop = asyncio.get_running_loop()
        self.deadline = self.loop.time() + timeout_s
        self._woken = asyncio.Event()
        self._prompt: int | None = None  # at which the line was typed

    async def go(self) -> Done:
        terminal = self.terminal
        with terminal.listening(self._heard):
            if not await self._ready():
                position = terminal.log.head
                return Done("", None, "exit" if terminal.exited else "deadline", position, position)
            prompt = self._prompt = terminal.commands.shown
            typed = await terminal.type(
                encode_input(self.line, terminal.commands.bracketed, shell=terminal.commands.shell or terminal.argv[0])
            )
            reason = await self._ended(prompt)
            return self._answer(reason, prompt, typed)

    def _heard(self) -> None:
        """There is output: what is only a part of the answer, such as the line's echo, need not wake the task."""
        terminal, prompt = self.terminal, self._prompt
        terminal.catch_up()
        commands = terminal.commands
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
        """Whether the shell itself reads its terminal, by its kernel state: somebody may have removed its marks."""
        probe = await self.terminal.probe()
        return bool(probe.get("shell") and probe.get("waits") and not probe.get("unread") and not probe["canonical"])

    async def _ready(self) -> bool:
        """The first prompt may still be on its way; a command that runs already is somebody else's."""
        terminal = self.terminal
        limit, patience = self.loop.time() + PROMPT_S, self.loop.time() + MOMENT_S
        while True:
            terminal.catch_up()
            if terminal.exited:
                return False
            if terminal.commands.ending and self.loop.time() < limit:
                if not await self._news(limit - self.loop.time()):
                    return False
                patience = self.loop.time() + MOMENT_S
                continue
            left = patience - self.loop.time()
            if terminal.commands.ready and (terminal.commands.announced or left <= 0):
                return True
            if terminal.commands.ready or terminal.commands.state in ("running", "incomplete"):
                if left > 0:  # the prompt, or the end of a command, may be on its way
                    await self._news(left)
                    continue
                raise Conflict(
                    f"terminal {terminal.title!r} is busy: its shell is {terminal.commands.state}",
                    hint="wait for it, interrupt it, or use another terminal",
                )
            if not await self._news():
                return False

    async def _ended(self, prompt: int) -> Reason:
        terminal, doubts = self.terminal, 0
        while True:
            terminal.catch_up()
            commands = terminal.commands
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

    def _answer(self, reason: Reason, prompt: int, typed: int) -> Done:
        terminal = self.terminal
        records = terminal.commands.at(prompt)
        first = next((record for record in records if record.start is not None), None)
        last: Command | None = records[-1] if records else None
        head = terminal.log.head
        start = first.start if first is not None and first.start is not None else (head if reason != "exit" else typed)
        end = last.end if last is not None and last.end is not None and reason == "finished" else head
        end = max(start, end)
        chunk = read_range(terminal.log, max(start, end - READ_LIMIT), end)
        data = chunk.data if reason == "finished" else chunk.data[: whole_end(chunk.data)]
        if reason == "exit" and self._says_goodbye() and data.endswith(_GOODBYE):
            data, end = data[: -len(_GOODBYE)], end - len(_GOODBYE)
        return Done(
            output=sanitize(data),
            exit_code=last.exit_code if last is not None and reason == "finished" else _exit_code(terminal, reason),
            reason=reason,
            start=start,
            end=end,
            truncated=chunk.start > start,
            statuses=last.statuses if last is not None else (),
            cwd=terminal.commands.cwd,
            sure=reason == "finished" and all(record.bounded and record.sure for record in records),
        )

    def _says_goodbye(self) -> bool:
        """Whether the last word may be the shell's own, and not that of a program which took its place."""
        exit, shell = self.terminal.exit, os.path.basename(self.terminal.argv[0])
        return exit is not None and exit.code is not None and shell == "bash" and not _EXEC.search(self.line)


def _exit_code(terminal: "Terminal", reason: Reason) -> int | None:
    return terminal.exit.code if reason == "exit" and terminal.exit is not None else None


async def _run_unmarked(terminal: "Terminal", line: str, timeout_s: float) -> Done:
    """No marks: type the line, then wait until the program reads its terminal again or stays quiet."""
    typed = await terminal.type(line.rstrip("\n") + "\n")
    seen = await terminal.wait(input_wanted=True, exit=True, deadline_s=timeout_s, position=typed)
    chunk = read_range(terminal.log, max(typed, terminal.log.head - READ_LIMIT), terminal.log.head)
    reason: Reason = "exit" if seen.reason == "exit" else "deadline" if seen.reason == "deadline" else "input"
    return Done(
        output=sanitize(chunk.data),
        exit_code=_exit_code(terminal, reason),
        reason=reason,
        start=typed,
        end=terminal.log.head,
        truncated=chunk.start > typed,
        sure=False,
    )
