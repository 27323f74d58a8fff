"""Prompts for a secret, and the output that agents may not see because of them.

While a secret is read (no echo, whole lines) agents are blind to what is printed. The kernel echoes what a person types
before the prompt has come: agents do not see that either, once the prompt shows what it was.
"""

import re
from collections.abc import Callable
from typing import Literal

from fourhands.safety.sanitizer.sanitizer import sanitize
from fourhands.workbench.terminals.authorship import Authorship
from fourhands.workbench.terminals.shell.tracker import ELSEWHERE, program_name
from fourhands.workbench.terminals.terminal import Terminal

_SECRET_WORD = re.compile(rb"pass|pin|token|secret|code|otp")
_ASKED = (
    r"(?i)(?:^|\W)(?:passwor[dt]|passwd|passphrase|passcode|pin|token|secret|verification code|one-time code|otp)"
    r"\b[^\n]{0,200}?[:?>]"
)
_SECRET_ASKED, _SECRET_PROMPT = re.compile(_ASKED), re.compile(rf"{_ASKED}\s*$")
_LONGEST_AHEAD = 64 * 1024
_LONGEST_SECRET = 4096  # what the kernel takes as one line


class SecretPrompt:
    """The secret state of one terminal; it records in `well` what is hidden, and calls `update` on each output."""

    def __init__(
        self,
        terminal: Terminal,
        well: Authorship,
        *,
        on_change: Callable[[], None],
        update: Callable[[], None],
        program: Callable[[int], str] = program_name,
    ) -> None:
        self._terminal = terminal
        self._well = well
        self._on_change = on_change
        self._update = update
        self._program = program
        self._ahead: int | None = None  # where the echo begins of keys that may be for a prompt that is still to come
        # It is not known when the echo came back while no server was there.
        self._dark_head = 0 if well.hidden_from is None else terminal.log.head
        self._stop_watching: Callable[[], None] | None = None
        self._secret = bytearray()  # what was typed in the dark, for as long as it lasts

    def asks(self) -> bool:
        """Return True while a program reads a secret: echo off and whole lines; behind ssh, a prompt that looks so."""
        terminal = self._terminal
        if terminal.exited:
            return False
        try:
            echo, canonical = terminal.modes()
        except OSError:
            return False
        if echo:
            return False
        return canonical or self._asks_elsewhere()

    def typed(self, data: bytes) -> None:
        """Note what a person types in the dark, until the echo is back: a program may print it just before that."""
        if self._well.hidden_from is not None:
            self._secret += data[:_LONGEST_SECRET]
            del self._secret[:-_LONGEST_SECRET]

    def type_ahead(self, *, recently: bool) -> None:
        """Remember the position at which the echo begins of keys that no program has asked for, as far as is known."""
        terminal = self._terminal
        try:
            # Asked at each key, mostly at a prompt: the cheapest question first.
            ahead = not self._at_prompt() and not terminal.exited
            ahead = ahead and (terminal.modes() == (True, True) or self._is_elsewhere())
        except OSError:
            ahead = False
        if not ahead:
            self._ahead = None
        elif self._ahead is None or not recently:
            self._ahead = terminal.log.head
            self._watch()

    def refresh(self, *, half_typed: bool, recently: bool) -> Literal["asked", "over", ""]:
        """Update the hidden ranges and return what has become of a secret; event loop only.

        `half_typed` and `recently` tell of the person's line and of their last key.
        """
        head = self._terminal.log.head
        if self.asks():
            self._dark_head = head
            if self._well.hidden_from is None:
                self._well.hide(head if self._ahead is None else min(self._ahead, head))
                self._ahead = None
                self._on_change()
            self._watch()
            return "asked"
        if self._well.hidden_from is not None:
            if half_typed and recently:
                self._dark_head = head  # the prompt has gone, and the person goes on typing its secret
                return ""
            # What was printed since the last look in the dark came with the echo: a build's output, not a prompt's.
            # Only if it holds what was typed, it is not known which of the two came first.
            self._well.reveal(max(self._behind_secret(self._dark_head, head), self._well.hidden_from))
            self._on_change()
            self.unwatch()
            return "over"
        if self._ahead is not None:
            self._look_ahead(self._ahead, head, recently)
        return ""

    def unwatch(self) -> None:
        """Stop following the output."""
        if self._stop_watching is not None:
            self._stop_watching()
            self._stop_watching = None

    def _watch(self) -> None:
        if self._stop_watching is None:
            self._stop_watching = self._terminal.listen(self._update)

    def _look_ahead(self, start: int, head: int, recently: bool) -> None:
        """Hide what was typed ahead if a secret was asked for since, however short the time without echo was."""
        read = self._terminal.log.read(start, _LONGEST_AHEAD).data
        asked = _SECRET_ASKED.search(sanitize(read)) is not None
        if asked:
            self._well.hide(start)
            self._well.reveal(head)
            self._on_change()
        if asked or self._at_prompt() or not recently or head - start > _LONGEST_AHEAD:
            self._ahead = None
            self.unwatch()

    def _behind_secret(self, start: int, end: int) -> int:
        """Return where the last line ends in a range that holds what was typed in the dark, else its start."""
        typed, self._secret = _edited(self._secret), bytearray()
        if not typed or start >= end:
            return start
        data = self._terminal.log.read(start, min(end - start, _LONGEST_AHEAD)).data
        at = max(data.rfind(line) for line in typed)
        if at < 0:
            return start
        stop = data.find(b"\n", at) + 1
        return start + stop if stop else end

    def _at_prompt(self) -> bool:
        """Return True if a shell's marks say that it reads a line."""
        return self._terminal.marked and self._terminal.catch_up().state in ("prompt", "incomplete")

    def _is_elsewhere(self) -> bool:
        """Return True if another terminal counts, whose modes cannot be read here."""
        return self._terminal.isolation == "container" or self._program(self._terminal.foreground_group()) in ELSEWHERE

    def _asks_elsewhere(self) -> bool:
        """Return True if the prompt is another terminal's, of which only the output is known: this one is raw."""
        terminal = self._terminal
        # Asked at each key, mostly at a shell's own prompt. After `exec ssh` the shell's process is another program.
        if self._at_prompt() and terminal.foreground_group() == terminal.pid and terminal.isolation != "container":
            return False
        tail = terminal.log.read(max(terminal.log.floor, terminal.log.head - 512), 512).data
        if not _SECRET_WORD.search(tail.lower()):
            return False
        if not self._is_elsewhere() or self._at_prompt():
            return False
        return _SECRET_PROMPT.search(sanitize(tail).rpartition("\n")[2]) is not None


def _edited(keys: bytes | bytearray) -> list[bytes]:
    """Return the lines that the kernel makes of keys, without empty ones: it knows how to erase."""
    lines, line = [], bytearray()
    for key in keys:
        if key in b"\r\n":
            lines.append(bytes(line))
            line.clear()
        elif key in b"\x7f\b":
            del line[-1:]
        elif key in b"\x15\x03":
            line.clear()
        else:
            line.append(key)
    return [one for one in (*lines, bytes(line)) if one]
