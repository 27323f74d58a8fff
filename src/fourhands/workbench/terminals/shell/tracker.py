"""The state of the program in a terminal: its shell's marks first, then what the kernel says.

Marks are read from the log on demand only, and on the event loop only: `catch_up` is the one place where they change.
Threads that search or print output get bytes.
"""

import os
import threading
from typing import Literal, NamedTuple

from fourhands.host import processes
from fourhands.host.log import GRAIN, LogReader
from fourhands.workbench.terminals.shell.history import ShellHistory
from fourhands.workbench.terminals.shell.marks import MarkScanner

ShellState = Literal["unknown", "prompt", "incomplete", "running", "input"]
"""The state of a terminal's shell; "input" is a program in front of it, or in its place, that waits for input."""

# Programs behind which another terminal counts, one that we cannot look at.
ELSEWHERE = frozenset(
    {"ssh", "mosh-client", "tmux: client", "screen", "podman", "docker", "kubectl", "machinectl", "fh-stream"}
)
# Programs that start a shell as another user, or in another place, and stay in front of it.
BECOMES_ANOTHER = frozenset({"su", "sudo", "doas", "runuser", "script", "bwrap", "chroot", "nsenter", "unshare"})
# Of all these, those that draw the other terminal on a whole screen of their own.
MULTIPLEXERS = frozenset({"tmux: client", "screen", "mosh-client", "zellij"})


_LONGEST_WORDS = 4096  # bytes


class Progress(NamedTuple):
    """The progress of a shell: commands that have ended, prompts that were shown, whether it reads a new line."""

    ended: int
    shown: int
    ready: bool

    def past(self, before: "Progress") -> bool:
        """Return True if what was entered then is over. A line that runs nothing ends with the next prompt."""
        return self.ended > before.ended or (0 < before.shown < self.shown and self.ready)


class Tracker:
    """The marks of one terminal, as far as they were read."""

    def __init__(self, log: LogReader, nonce: str | None) -> None:
        self.commands = ShellHistory()
        self._log = log
        self._nonce = nonce or "no-marks-here"
        self._scanner = MarkScanner(self._nonce)
        self._ended_before = 0  # commands that ended before the log's window passed their marks
        self._thread = threading.get_ident()

    @property
    def progress(self) -> Progress:
        """The progress of the shell."""
        return Progress(self._ended_before + self.commands.ended, self.commands.shown, self.commands.ready)

    @property
    def position(self) -> int:
        """The position up to which the marks were read; it lies in no mark."""
        return self._scanner.complete

    def catch_up(self) -> ShellHistory:
        """Read the marks in what was printed since the last call."""
        if threading.get_ident() != self._thread:
            raise RuntimeError("marks are read on the event loop only; a thread may read the log")
        while (chunk := self._log.read(self._scanner.position, 4 * GRAIN)).data:
            if chunk.start != self._scanner.position:  # output was lost before it was read
                self._scanner = MarkScanner(self._nonce, chunk.start)
                self._ended_before += self.commands.ended
                self.commands = ShellHistory()
            for mark in self._scanner.feed(chunk.data):
                self.commands.apply(mark)
            if not chunk.more:
                break
        return self.commands


def front_waits(main: int, group: int, tty: int, *, canonical: bool) -> bool:
    """Return True if a process of the foreground group waits for the terminal at this moment: for showing only.

    What is to be relied on is asked of the host, which knows what is unread and has put all output into the log.
    """
    if not group or not processes.HAVE_PROC:
        return False
    for process in processes.group_of(main, group):
        how = processes.waits_for_terminal(process, tty)
        if how == "read" or (not canonical and (how == "poll" or process.name in ELSEWHERE)):
            return True
    return False


def program_name(group: int) -> str:
    """Return the name of a process group's leader, as far as the system tells."""
    try:
        # Asked at each key: a file object would look at the file four times more before it reads.
        descriptor = os.open(f"/proc/{group}/comm", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(descriptor, 64).decode("utf-8", "replace").strip()
        finally:
            os.close(descriptor)
    except OSError:
        return ""


def program_words(group: int) -> tuple[str, ...]:
    """Return the words that a process group's leader was started with, as far as the system tells."""
    try:
        descriptor = os.open(f"/proc/{group}/cmdline", os.O_RDONLY | os.O_CLOEXEC)
        try:
            data = os.read(descriptor, _LONGEST_WORDS)
        finally:
            os.close(descriptor)
    except OSError:
        return ()
    # A program that has given itself another title has put it there, and filled up the rest.
    words = data.decode("utf-8", "replace").rstrip("\0 ")
    return tuple(words.split("\0")) if words else ()


def is_relay(program: str) -> bool:
    """Return True if a program hands keys on to another terminal: its own waiting tells nothing of the reader there."""
    return program in ELSEWHERE or program in BECOMES_ANOTHER
