"""One line of terminal output as a row of cells with a cursor (safety-policy.md S4 and S7).

A row starts as plain text that only grows, which is all that most lines ever need; the first move of the cursor
turns it into cells. What is left and right of the cursor are two stacks, so that no operation costs more than the
cells it passes over.

A row holds at most `longest` characters. One that reaches it is released as it stands, except for its last
character, which becomes column 0: a longer line appears whole, only its earlier parts can no longer be overwritten.
"""

import re
import unicodedata
from collections.abc import Iterable

LONGEST = 1 << 18
# Characters that share one cell. More combining characters than this take cells of their own: they are
# unreadable anyway, and adding to a cell must stay cheap.
FULLEST = 64

JOINERS = "\u200c\u200d"
SELECTORS = "\u180b-\u180d\u180f\ufe00-\ufe0f"

_JOINING = frozenset(JOINERS)
_SELECTING = frozenset("\u180b\u180c\u180d\u180f") | {chr(code) for code in range(0xFE00, 0xFE10)}
# Joiners and selectors that cannot stay whatever comes next.
_idle = re.compile(f"(?<![^\\x00-\\x7f])[{JOINERS}]+|(?<=[{JOINERS}])[{JOINERS}]+|(?<=[{SELECTORS}])[{SELECTORS}]+")
_loose = re.compile(f"[{JOINERS}](?![^\\x00-\\x7f])")
_parted = re.compile(f"[{JOINERS}](?=[\\x00-\\x7f])")  # loose, and known to be so before the line's end
_seen = re.compile(r"[^\t]")
_FIRST_MARK = "\u0300"  # no character below it shares a cell


class Row:
    """The line being written; final text goes to `out`."""

    def __init__(self, out: list[str], longest: int = LONGEST) -> None:
        self._out = out
        self._longest = longest
        self._text: list[str] = []  # the row while it only grows
        self._size = 0
        self._moved = False  # from here on the cells count:
        self._lead = 0  # blank cells in front of `left`
        self._left: list[str] = []
        self._right: list[str] = []  # last one first: its end is the cell under the cursor
        self._shared = 0  # characters put into a cell that was already there
        self._owed = 0  # blanks of earlier parts, wanted only if something follows them
        self._last = ""  # character of the earlier part; a joiner is held back until it has something to join

    @property
    def empty(self) -> bool:
        """True while nothing has been written and the cursor has not moved."""
        return not (self._moved or self._size or self._owed)

    @property
    def held(self) -> int:
        """The number of characters and cells in memory."""
        return self._size + len(self._left) + len(self._right) + self._shared

    def write(self, text: str) -> None:
        """Print characters at the cursor."""
        if self._moved:
            self._write_cells(text)
            return
        at = 0
        while self._size + len(text) - at >= self._longest:
            end = at + self._longest - self._size
            self._text.append(text[at:end])
            at = end
            self._release("".join(self._text))
        self._text.append(text[at:] if at else text)
        self._size += len(text) - at

    def conceal(self, text: str) -> None:
        """Print blanks in the place of characters."""
        if not text.isascii():
            text = "".join(char for char in text if char not in _JOINING and not _is_mark(char))
        self.write(_seen.sub(" ", text))

    def end(self) -> None:
        """Release the rest of the line, without a line end, and start a new one."""
        text = "".join(self._cells()) if self._moved else "".join(self._text)
        if not text.isascii():
            text = _loose.sub("", _idle.sub("", text))
        text = text.rstrip(" ")
        if text:
            self._out.append(self._behind(text))
        self._start("")
        self._owed, self._last = 0, ""

    def home(self) -> None:
        """Move the cursor to column 0."""
        self._move()
        self._left.reverse()
        self._right += self._left
        self._right += [" "] * self._lead
        self._left = []
        self._lead = 0

    def left(self, count: int) -> None:
        """Move the cursor left, not below column 0."""
        self._move()
        self._step_left(count)

    def right(self, count: int) -> None:
        """Move the cursor right; never-written cells are blanks."""
        self._move()
        self._step_right(count)

    def column(self, column: int) -> None:
        """Move the cursor to a column, counted from 0."""
        self._move()
        here = self._column
        if column < here:
            self._step_left(here - column)
        else:
            self._step_right(column - here)

    def erase_line(self, part: int) -> None:
        """Blank the cells from the cursor on (0), up to and with it (1), or all of them (2)."""
        self._move()
        if part:
            self._lead = self._column
            self._forget(self._left)
            self._left.clear()
        if part != 1:
            self._forget(self._right)
            self._right.clear()
        else:
            self.erase(1)

    def delete(self, count: int) -> None:
        """Take out the cells at the cursor; what is right of them moves up."""
        self._move()
        self._forget(self._right[-count:])
        del self._right[-count:]

    def insert(self, count: int) -> None:
        """Put blanks in at the cursor; what is right of it moves away."""
        self._move()
        if self._right:
            self._right += [" "] * min(count, self._room)

    def erase(self, count: int) -> None:
        """Blank the cells at the cursor, which stays."""
        self._move()
        count = min(count, len(self._right))
        if count:
            self._forget(self._right[-count:])
            self._right[-count:] = [" "] * count

    @property
    def _column(self) -> int:
        return self._lead + len(self._left)

    @property
    def _room(self) -> int:
        return max(0, self._longest - 1 - self._column - len(self._right) - self._shared)

    def _cells(self) -> Iterable[str]:
        return [" " * self._lead, *self._left, *reversed(self._right)]

    def _start(self, text: str) -> None:
        self._text = [text] if text else []
        self._size = len(text)
        self._moved = False
        self._lead = self._shared = 0
        self._left = []
        self._right = []

    def _release(self, text: str) -> None:
        """Release a row that has become too long; its last character stays, since the next may be joined to it."""
        if not text.isascii():
            text = _parted.sub("", _idle.sub("", text))
        kept = -2 if text[-1:] in _JOINING else -1
        given = text[:kept]
        rest = given.rstrip(" ")
        if rest:
            self._out.append(self._behind(rest[:-1] if rest[-1] in _JOINING else rest))
            self._owed, self._last = 0, rest[-1]
        self._owed += len(given) - len(rest)
        self._start(text[kept:])

    def _behind(self, text: str) -> str:
        """Return text as it appears behind the earlier part of its line."""
        if self._owed:
            return " " * self._owed + text
        if self._last in _JOINING and text[:1] > "\x7f":
            return self._last + text
        return text.lstrip("".join(_SELECTING)) if self._last in _SELECTING else text

    def _move(self) -> None:
        if self._moved:
            return
        text = "".join(self._text)
        self._start("")
        self._moved = True
        if text.isascii():
            self._left = list(text)
        else:
            for char in text:
                self._put(char)

    def _write_cells(self, text: str) -> None:
        if not text.isascii():
            for at, char in enumerate(text):
                self._put(char)
                if self._full():
                    self.write(text[at + 1 :])
                    return
            return
        # Characters that replace others do not make the row longer.
        fits = self._room + 1 + len(self._right)
        part = text[:fits]
        self._left += part
        if self._right and part:
            self._forget(self._right[-len(part) :])
            del self._right[-len(part) :]
        if self._full():
            self.write(text[fits:])

    def _forget(self, cells: list[str]) -> None:
        if self._shared:
            self._shared -= sum(map(len, cells)) - len(cells)

    def _full(self) -> bool:
        if self._column + len(self._right) + self._shared < self._longest:
            return False
        self._release("".join(self._cells()))
        return True

    def _put(self, char: str) -> None:
        if char >= _FIRST_MARK and (self._left or self._lead):
            if not self._left:
                self._lead -= 1
                self._left.append(" ")
            before = self._left[-1]
            if char in _JOINING:
                if before[-1] <= "\x7f" or before[-1] in _JOINING:
                    return
            elif char in _SELECTING and before[-1] in _SELECTING:
                return
            elif len(before) >= FULLEST or not (_is_mark(char) or (before[-1] == "\u200d" and _is_emoji(char))):
                before = ""
            if before:
                self._left[-1] = before + char
                self._shared += 1
                return
        elif char in _JOINING:
            return
        self._left.append(char)
        if self._right:
            self._shared -= len(self._right.pop()) - 1

    def _step_left(self, count: int) -> None:
        if count == 1 and self._left:
            self._right.append(self._left.pop())
            return
        cells = self._left[-count:] if count else []
        if cells:
            del self._left[-len(cells) :]
            cells.reverse()
            self._right += cells
        blanks = min(count - len(cells), self._lead)
        self._right += [" "] * blanks
        self._lead -= blanks

    def _step_right(self, count: int) -> None:
        cells = self._right[-count:] if count else []
        if cells:
            del self._right[-len(cells) :]
            cells.reverse()
            self._left += cells
        blanks = min(count - len(cells), self._room)
        self._left += [" "] * blanks


def _is_mark(char: str) -> bool:
    return unicodedata.category(char)[0] == "M"


def _is_emoji(char: str) -> bool:
    return unicodedata.category(char) == "So" or char == "\u2194"
