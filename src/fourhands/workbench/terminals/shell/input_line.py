"""The text on a shell's line after an agent has typed: the lines it submits, what is left, and keys that hide them.

An agent may type a line in pieces; each piece is judged together with what stood there before. Text between the marks
of a bracketed paste is taken literally where the shell has that mode on, so a newline inside it submits nothing.
"""

import re
import shlex
from dataclasses import dataclass

from fourhands.safety.shell import classify

PASTE_BEGIN, PASTE_END = "\x1b[200~", "\x1b[201~"
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_ENTER = re.compile("[\r\n\x03]")
_LONGEST_KEYS = 10_000
_INTERRUPT, _KILL_LINE = "\x03", "\x15"


@dataclass(frozen=True, slots=True)
class InputLine:
    """The keys of an agent that are not submitted yet.

    `completed`: Tab was pressed, so the shell may have put more there. `hidden` names what made it unknowable.
    """

    text: str = ""
    pasting: bool = False
    completed: bool = False
    hidden: str = ""


EMPTY = InputLine()


@dataclass(frozen=True, slots=True)
class Keystrokes:
    """The effect of some keys at a prompt: lines submitted with Enter, what stands there now, what hides either."""

    lines: tuple[str, ...]
    line: InputLine
    completed: bool
    hidden: str


def only_takes_away(text: str) -> bool:
    """Return True if keys are nothing but Ctrl-C and Ctrl-U, which are always allowed."""
    return bool(text) and not text.strip(_INTERRUPT + _KILL_LINE)


def typed(line: InputLine, text: str, *, pastes: bool = True) -> Keystrokes:
    """Play keys on a line; `pastes` says whether the shell has bracketed paste on."""
    play = _Play(line, pastes)
    at = 0
    for found in _CONTROL.finditer(text):
        play.buffer.append(text[at : found.start()])
        at = play.control(text, found.start())
    play.buffer.append(text[at:])
    return play.result()


class _Play:
    def __init__(self, line: InputLine, pastes: bool) -> None:
        self.buffer = [line.text]
        self.lines: list[str] = []
        self.pastes = pastes
        self.pasting, self.completed, self.hidden = line.pasting, line.completed, line.hidden
        self.ever_completed, self.ever_hidden = False, ""

    def result(self) -> Keystrokes:
        line = InputLine("".join(self.buffer), self.pasting, self.completed, self.hidden)
        return Keystrokes(
            tuple(self.lines), line, self.ever_completed or self.completed, self.ever_hidden or self.hidden
        )

    def control(self, text: str, at: int) -> int:
        """One control character; returns where the text goes on."""
        character = text[at]
        mark = PASTE_END if self.pasting else PASTE_BEGIN
        if self.pastes and text.startswith(mark, at):
            self.pasting = not self.pasting
            return at + len(mark)
        if self.pasting:
            if character in "\r\n\t":
                self.buffer.append("\n" if character == "\r" else character)
            else:  # the kernel acts on some of them also in the middle of a paste
                self._hide(character)
        elif character in "\r\n":
            self._submit()
        elif character == _INTERRUPT:
            self._clear()
        elif character == _KILL_LINE:
            # It takes away what is before the cursor: all there is, unless keys have moved it.
            if not self.hidden:
                self._clear()
        elif character == "\t":
            self.completed = True
            self.buffer.append(character)
        elif character in "\x7f\b":
            self._erase(character)
        else:
            self._hide(character)
        return at + 1

    def _submit(self) -> None:
        self.lines.append("".join(self.buffer))
        self.ever_completed |= self.completed
        self.ever_hidden = self.ever_hidden or self.hidden
        self._clear()

    def _clear(self) -> None:
        self.buffer, self.completed, self.hidden = [], False, ""

    def _erase(self, character: str) -> None:
        text = "".join(self.buffer)
        if self.completed or not text[-1:].isascii():
            # Who knows how much the completion added, or how many characters the shell takes for one.
            self._hide(character)
        self.buffer = [text[:-1]]

    def _hide(self, character: str) -> None:
        self.hidden = self.hidden or f"U+{ord(character):04X}"


def leave(line: InputLine, text: str) -> tuple[tuple[str, ...], InputLine]:
    """Return the lines that a shell would get if it got a program's keys instead, and what would stand there."""
    *lines, rest = _CONTROL.sub(_for_a_shell, line.text + text.rpartition(_INTERRUPT)[2]).split("\n")
    return tuple(lines), InputLine(rest, completed=True) if rest else EMPTY


def _for_a_shell(found: re.Match[str]) -> str:
    return "\n" if found.group() in "\r\n" else "\t" if found.group() == "\t" else ""


def unsubmitted(keys: str, text: str) -> str:
    """Return the keys behind the last Enter or Ctrl-C, of those that stood there and those that are typed now."""
    return _ENTER.split(keys + text)[-1][-_LONGEST_KEYS:]


def open_ended(text: str) -> bool:
    """Return True if a shell may wait for the rest of this, as far as its grammar tells."""
    try:
        shlex.split(text)
    except ValueError:
        return True
    return text.endswith("\\") or classify(text).rule == "C2.1"
