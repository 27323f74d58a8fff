"""One terminal: typing, sizes, views, marks, waits, and its end.

The program, its PTY and its log belong to the host; this object may vanish at any moment and another one, in another
server, goes on where it was. Marks and screen are read from the log on demand only.
"""

import asyncio
import contextlib
import math
import os
import termios
import time
from collections.abc import Callable
from dataclasses import replace

from fourhands.core.errors import BadArgument
from fourhands.host import pty
from fourhands.host.client import HostClient, HostLost
from fourhands.host.log import GRAIN, Chunk
from fourhands.host.protocol import Message
from fourhands.safety.sanitizer.sanitizer import sanitize
from fourhands.workbench.terminals import output
from fourhands.workbench.terminals.handle import Finish, TerminalHandle
from fourhands.workbench.terminals.output import Cropped, OutputMatch, Slice
from fourhands.workbench.terminals.redraws import Redraws
from fourhands.workbench.terminals.run import RunResult, run
from fourhands.workbench.terminals.screen import LiveScreen, Screen
from fourhands.workbench.terminals.shell.history import CommandOutcome, ShellCommand, ShellHistory
from fourhands.workbench.terminals.shell.tracker import Progress, ShellState, Tracker, front_waits, program_name
from fourhands.workbench.terminals.size import check_size
from fourhands.workbench.terminals.timings import TerminalTimings
from fourhands.workbench.terminals.wait import OutputSight, WaitConditions, WaitResult, wait

RESIZE_EVERY_S = 0.05
LARGEST_INPUT = 16 * 1024 * 1024

_TICK_S = 0.02  # when a process began is known to a hundredth of a second


class Terminal(TerminalHandle):
    """A terminal with its keyboard and its output. Made by `Terminals`, never directly."""

    def __init__(
        self,
        link: HostClient,
        record: Message,
        master: int,
        finish: Finish | None = None,
        timings: TerminalTimings = TerminalTimings(),  # noqa: B008 - it is frozen
    ) -> None:
        super().__init__(link, record, master, finish)
        self.timings = timings
        self.log, self.fault = output.open_log(link.places.log(self.id), record["capacity"])
        self.running = asyncio.Lock()
        self.ports_told: set[int] = set()
        self.on_resize: Callable[[], None] = lambda: None
        self._typing = asyncio.Lock()
        self._tracker = Tracker(self.log, self._nonce)
        self._tty: str = record.get("tty") or ""
        self._entered: Progress | None = None
        self._entered_at = 0
        self._entered_time = -math.inf
        self._unentered_time = -math.inf  # of the last keys without Enter behind them
        self._keys = 0
        self._screen: LiveScreen | None = None
        self._screen_position = 0
        self._size = pty.get_size(master) if master >= 0 else (0, 0)
        self._next_size: tuple[int, int] | None = None
        self._resized_at = 0.0
        self._redraws = Redraws()

    def dispose(self) -> None:
        """Let go of descriptors and timers; the terminal itself goes on."""
        super().dispose()
        self.log.close()

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def cwd(self) -> str:
        """The directory of its shell, as far as its marks were read; else the one it was started in."""
        return self.commands.cwd or self.started_in

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return self._size

    @property
    def starting(self) -> bool:
        """True while its shell is in its start-up files, as far as its marks have been read."""
        return self.marked and self.exit is None and self.commands.state == "unknown" and not self.commands.shown

    @property
    def slow_start(self) -> str:
        """The words for a shell that is slow to start; empty where there is nothing to say."""
        waited = time.time() - self._spawned
        if not self.starting or waited < self.timings.slow_start_s:
            return ""
        return f"its start-up files are still running, {waited:.0f} s"

    def modes(self) -> tuple[bool, bool]:
        """Return whether the terminal echoes, and whether it reads whole lines."""
        self.check_alive()
        return pty.modes(self._master)

    def foreground_group(self) -> int:
        """Return the process group that has the terminal, 0 where that is not known."""
        if self.exit is not None or self._master < 0:
            return 0
        try:
            return os.tcgetpgrp(self._master)
        except OSError:
            return 0

    # -- typing and size -------------------------------------------------------------------------------------------

    async def type(self, text: str | bytes) -> int:
        """Type text as is and return the head from before; waits, alone, while the program does not read."""
        data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)
        if len(data) > LARGEST_INPUT:
            raise BadArgument(f"{len(data)} bytes are too many to type at once", hint=f"at most {LARGEST_INPUT}")
        self.check_alive()
        async with self._typing:
            head = self.log.head
            self._note_keys(data)
            await self._deliver(memoryview(data))
        return head

    def type_now(self, data: bytes) -> int:
        """Type what the kernel takes without waiting, and return how many bytes: none when others wait to type."""
        if self.exit is not None or self._master < 0 or self._typing.locked():
            return 0
        self._note_keys(data)
        try:
            return os.write(self._master, data)
        except OSError:
            return 0

    def _note_keys(self, data: bytes) -> None:
        self._keys += len(data)
        self._unentered_time = -math.inf if data.endswith((b"\n", b"\r")) else time.monotonic()
        if b"\n" in data or b"\r" in data:
            self._entered_at, self._entered_time = self.log.head, time.monotonic()
            self.ports_told.clear()
            if self._nonce is not None:
                self.catch_up()
                self._entered = self.progress

    async def _deliver(self, data: memoryview) -> None:
        while data:
            self.check_alive()
            try:
                data = data[os.write(self._master, data[:GRAIN]) :]
            except BlockingIOError:
                await self._writable()
            except OSError as error:
                raise self._dead() from error

    async def _writable(self) -> None:
        """Wait until the kernel takes more input, or the program ends."""
        future: asyncio.Future[None] = self._loop.create_future()

        def settle() -> None:
            if not future.done():
                future.set_result(None)

        stop = self.listen(lambda: settle() if self.exit is not None else None)
        self._loop.add_writer(self._master, settle)
        try:
            await future
        finally:
            stop()
            if self._master >= 0:
                self._loop.remove_writer(self._master)

    def resize(self, cols: int, rows: int, *, hide_redraw: bool = True) -> None:
        """Change the size; of a storm of sizes the last one wins. The prompt's redraw is hidden from scrollback."""
        check_size(cols, rows)
        self.check_alive()
        if (cols, rows) == (self._next_size or self._size):
            return
        waiting, self._next_size = self._next_size is not None, (cols, rows)
        if waiting:
            return
        delay = self._resized_at + RESIZE_EVERY_S - self._loop.time()
        if delay <= 0:
            self._apply_size(hide_redraw)
        else:
            self.later(delay, lambda: self._apply_size(hide_redraw))

    def _apply_size(self, hide_redraw: bool) -> None:
        size, self._next_size = self._next_size, None
        if size is None or self.exit is not None or self._master < 0:
            return
        self._catch_up_screen()
        redraws = hide_redraw and self._awaits_keys()
        # As far as the marks were read: the host writes on meanwhile, and what it has written since may be a command's.
        before, seen = self._tracker.position, self._happened()
        self._resized_at = self._loop.time()
        with contextlib.suppress(OSError, HostLost):
            pty.set_size(self._master, *size)
            self._size = size
            self._link.tell("resized", terminal=self.id)  # a size makes no output by which others would notice it
        if self._screen is not None:
            self._screen.resize(*size)
        self.on_resize()
        if redraws:
            self.later(self.timings.redraw_s, lambda: self._hide(before, seen))

    def look_at_size(self) -> None:
        """Notice a size that another process gave it, such as a command line that is attached."""
        if self._next_size is not None or self.exit is not None or self._master < 0:
            return
        with contextlib.suppress(OSError):
            if (size := pty.get_size(self._master)) != self._size and size[0]:
                self._size = size
                if self._screen is not None:
                    self._screen.resize(*size)
                self.on_resize()

    def _awaits_keys(self) -> bool:
        """Return True if the shell is at its prompt, and no keys are on their way to it."""
        if self.catch_up().state != "prompt" or (self._entered is not None and not self.progress.past(self._entered)):
            return False
        return time.monotonic() - self._unentered_time > self.timings.redraw_s

    def _happened(self) -> tuple[str, int, int]:
        """Return what changes with keys and commands, as far as the marks were read."""
        return self.commands.state, self.progress.ended, self._keys

    def _hide(self, start: int, seen: tuple[str, int, int]) -> None:
        """Remember a redrawn prompt; keys, or a command that ran meanwhile, however shortly, are never hidden."""
        self.catch_up()
        end = self._tracker.position
        if self._happened() == seen and end > start:
            self._redraws.add(start, end)

    # -- views -----------------------------------------------------------------------------------------------------

    def lines(self, count: int = 100) -> list[str]:
        """Return the last lines of output, sanitized; at most 10,000 and as far as the log reaches."""
        return output.lines(self.log, count)

    def since(self, position: int, *, limit: int = output.READ_LIMIT) -> Slice:
        """Everything from a position on; go on from its `end`. What is gone is named as a gap."""
        return output.since(self.log, position, limit=limit, closed=self.exited)

    def tail(self, limit_bytes: int = 1_048_576) -> Slice:
        """Return the last bytes of the sanitized output, cut at a character."""
        return output.tail(self.log, limit_bytes)

    def search(self, pattern: str, limit: int = 100) -> list[OutputMatch]:
        """Return the newest lines in which a regular expression is found, with their positions."""
        return output.search(self.log, pattern, limit)

    def scrollback(self, characters: int = output.SCROLLBACK) -> Chunk:
        """Return the raw end of the output for replay, without prompts that a resize only redrew."""
        return self._redraws.without(output.scrollback(self.log, characters))

    def excerpt(self, start: int, end: int, limit: int = 10_000) -> Cropped:
        """Head and tail of what was printed between two positions, with the true totals."""
        if not 0 <= start <= end <= self.log.head:
            raise BadArgument(f"no output from {start} to {end}", hint=f"positions here go up to {self.log.head}")
        return output.crop(sanitize(output.read_range(self.log, start, end).data), limit)

    @property
    def redraws(self) -> list[tuple[int, int]]:
        """Ranges of output that were nothing but a prompt drawn again after a resize."""
        return list(self._redraws.ranges)

    def screen(self) -> Screen:
        """Return what is on the screen now."""
        return self._catch_up_screen().snapshot()

    def restore(self) -> tuple[bytes, int]:
        """Bytes that bring a fresh terminal to the present state, and the position from which the stream goes on."""
        screen = self._catch_up_screen()
        return screen.restore(), self._screen_position - screen.held

    def _catch_up_screen(self) -> LiveScreen:
        if self._screen is None:
            cols, rows = self._size if self._size[0] else (80, 24)
            self._screen, self._screen_position = LiveScreen(cols, rows), self.log.floor
        while (chunk := self.log.read(self._screen_position, 4 * GRAIN)).data:
            if chunk.start != self._screen_position:
                self._screen.feed(b"\x18")  # output was lost: no sequence continues behind the gap
            self._screen.feed(chunk.data)
            self._screen_position = chunk.end
            if not chunk.more:
                break
        return self._screen

    # -- marks -----------------------------------------------------------------------------------------------------

    def catch_up(self) -> ShellHistory:
        """Read the marks in what was printed since the last look, on the event loop; what they tell is then known."""
        return self._tracker.catch_up()

    def look(self) -> ShellState:
        """Return the state of its shell: by its marks first, then by what the kernel says of the program in front."""
        state = self.catch_up().state
        if state in ("running", "unknown") and self.exit is None and self._front_waits():
            return "input"
        return state

    def _front_waits(self) -> bool:
        try:
            canonical, tty = self.modes()[1], pty.device(self._master, self._tty)
        except (OSError, termios.error):
            return False
        # A container's client always reads; only a line editor shows that a program in there does.
        if self.isolation == "container" and not self.commands.bracketed:
            return False
        return not self.asks_itself() and front_waits(self.pid, self.foreground_group(), tty, canonical=canonical)

    def asks_itself(self) -> bool:
        """Return True if the shell itself reads whole lines: a question of its command (`read`), no prompt."""
        group = self.foreground_group()
        return self.modes()[1] and group == self.pid and program_name(group) == self.program

    @property
    def commands(self) -> ShellHistory:
        """The shell's commands, as far as its marks were read."""
        return self._tracker.commands

    @property
    def shell_state(self) -> str:
        """The state of the shell at the last `catch_up`, as its marks told: unknown, prompt, incomplete, running."""
        return self.commands.state

    @property
    def progress(self) -> Progress:
        """The progress of the shell at the last `catch_up`."""
        return self._tracker.progress

    @property
    def finished_commands(self) -> int:
        """The number of commands that the shell had finished at the last `catch_up`, as far as its marks tell."""
        return self.progress.ended

    @property
    def entered(self) -> Progress | None:
        """The progress of the shell when Enter was typed last."""
        return self._entered

    @property
    def entered_at(self) -> int:
        """The head of the log when Enter was typed last, as far as this server knows."""
        return self._entered_at

    def catch_sight(self) -> None:
        """Take what is in the log for the past: this object comes to a terminal that was there before it."""
        self._entered_at, self._entered_time = self.log.head, time.monotonic()

    @property
    def last_command(self) -> ShellCommand | None:
        """The newest command's record, as of the last `catch_up`."""
        return self.commands.last

    def outcome(self, prompt: int) -> CommandOutcome | None:
        """Return the outcome of what was entered at a prompt, by its number, or of the newest command."""
        return self.commands.outcome(prompt)

    # -- running and waiting ---------------------------------------------------------------------------------------

    async def run(self, line: str, timeout_s: float = 60.0) -> RunResult:
        """Run a line in the shell and return exactly its output and exit code; on a deadline the command goes on."""
        return await run(self, line, timeout_s)

    async def wait(
        self,
        *,
        exit: bool = False,
        finished: bool = False,
        pattern: str | None = None,
        quiet_s: float | None = None,
        stable_s: float | None = None,
        input_wanted: bool = False,
        port: bool = False,
        min_s: float = 0.0,
        deadline_s: float = 30.0,
        position: int | None = None,
        sight: OutputSight | None = None,
    ) -> WaitResult:
        """Wait for any of the conditions; the answer says which one it was. The end of the program always counts.

        `sight` says what of the output counts for the pattern.
        """
        wanted = WaitConditions(exit, finished, pattern, quiet_s, stable_s, input_wanted, port, min_s, deadline_s)
        seen = await wait(self, wanted, position, sight)
        return replace(seen, exit_code=self.exit.code) if seen.reason == "exit" and self.exit is not None else seen

    async def wait_for_prompt(self, deadline_s: float) -> None:
        """Return when its shell's marks tell of a prompt, when that is out of the question, or after so long."""
        news = asyncio.Event()
        with self.listening(news.set), contextlib.suppress(TimeoutError):
            async with asyncio.timeout(deadline_s):
                while self.marked and not self.exited and self.catch_up().state != "prompt":
                    news.clear()
                    await news.wait()

    async def ports(self) -> dict[int, bool]:
        """Return the TCP ports on which its processes listen, and whether each was begun since the last Enter."""
        found = (await self._link.request("members", terminal=self.id)).body
        old = {one["pid"] for one in found["members"] if one.get("began", math.inf) < self._entered_time - _TICK_S}
        return {int(port): pid not in old for port, pid in found["ports"].items()}

    # -- subscriptions ---------------------------------------------------------------------------------------------

    def on_data(self, callback: Callable[[Chunk], None], position: int | None = None) -> Callable[[], None]:
        """Hand over all output from a position (default: now) on, chunk by chunk; returns what ends it."""
        at = self.log.head if position is None else position

        def news() -> None:
            nonlocal at
            while (chunk := self.log.read(at)).data:
                at = chunk.end
                callback(chunk)

        stop = self.listen(news)
        news()
        return stop
