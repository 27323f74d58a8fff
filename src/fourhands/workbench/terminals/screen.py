"""The rendered screen of a terminal: what a person would see now, which rows changed, and how to show it elsewhere.

`LiveScreen` is fed the terminal's bytes whenever a look is asked for, not before. It owns an `Emulator`; which
library that is stays behind the protocol. Nothing here ever answers a program's query: the person's terminal does.

Output may end anywhere, also inside a character or a sequence, and a viewer that is shown the screen goes on with the
rest. Therefore what is not complete is held back: the screen is always one between two sequences, and a viewer that
takes over from it begins with what is held.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from fourhands.core.errors import BadArgument
from fourhands.workbench.terminals.output import whole_characters

MAX_CELLS = 1000
"""The largest number of columns or rows."""

MOST_HELD = 256 * 1024
"""Bytes of a sequence that are waited for; a longer one, such as a picture, is passed over."""

# A whole sequence from its ESC on, as terminals read it: control characters inside of it do not end it, ESC begins
# another one, and of the strings only OSC ends with BEL.
_WHOLE = re.compile(
    rb"\x1b[\0-\x17\x19\x1c-\x1f\x7f]*(?:"
    rb"\[[^\x18\x1a\x1b\x40-\x7e\x80-\xff]*[\x18\x1a\x40-\x7e\x80-\xff]"
    rb"|\][^\x07\x18\x1a\x1b]*[\x07\x18\x1a]"
    rb"|[PX^_][^\x18\x1a\x1b]*[\x18\x1a]"
    rb"|[\x20-\x2f][^\x18\x1a\x1b\x30-\x7e\x80-\xff]*[\x18\x1a\x30-\x7e\x80-\xff]"
    rb"|[\x18\x1a\x30-\x4f\x51-\x57\x59\x5a\x5c\x60-\x7e\x80-\xff])"
)


@dataclass(frozen=True, slots=True)
class _Passed:
    """A kind of string too long to be held: what ends it, and what begins one for its rest that no terminal knows."""

    end: re.Pattern[bytes]
    begin: bytes


_COMMAND = _Passed(re.compile(rb"[\x07\x18\x1a]|(?=\x1b)"), b"\x1b]999999;")
_OTHER = _Passed(re.compile(rb"[\x18\x1a]|(?=\x1b)"), b"\x1b^")


def settled(data: bytes) -> int:
    """Return how many bytes of output lie before a character or sequence at its end that is not complete."""
    end = whole_characters(data)
    # An ESC ends what was open before it: then that is not complete either.
    while (escape := data.rfind(b"\x1b", 0, end)) >= 0 and not _WHOLE.match(data, escape, end):
        end = escape
    return end


def prints_last(data: bytes, end: int) -> bool:
    """Return True if whole output, up to `end`, ends with a printed character."""
    if data[end - 1] < 0x20 or data[end - 1] == 0x7F:
        return False
    escape = data.rfind(b"\x1b", 0, end)
    whole = _WHOLE.match(data, escape, end) if escape >= 0 else None
    return whole is None or whole.end() < end


class Emulator(Protocol):
    """A terminal emulator, as far as a screen needs one."""

    def feed(self, data: bytes) -> None:
        """Take the next output, cut anywhere."""
        ...

    def resize(self, cols: int, rows: int) -> None:
        """Change the size as a terminal window would."""
        ...

    def rows(self) -> list[str]:
        """Return the text of every row without trailing blanks."""
        ...

    def state(self) -> tuple[tuple[int, int], bool, str]:
        """Return the cursor (column, row), True if the alternate screen is shown, and the title."""
        ...

    def restore(self, *, joins: bool = False) -> bytes:
        """Return bytes that bring a fresh terminal of the same size into the same state, without any query.

        `joins` says that a character was printed last: a combining one may follow, or a wish to repeat it.
        """
        ...


def load() -> Callable[[int, int], Emulator]:
    """Return the emulator's class. Its library takes 0.2 s to load: load it late, or in a thread."""
    from fourhands.workbench.terminals.emulator import Ghostty

    return Ghostty


@dataclass(frozen=True, slots=True)
class Screen:
    """One moment of a terminal's screen.

    `cursor` is (column, row) and `size` (columns, rows), both from the upper left, starting at 0. `revision` grows
    whenever something on the screen changed between two looks.
    """

    rows: list[str]
    cursor: tuple[int, int]
    size: tuple[int, int]
    alternate: bool
    revision: int
    row_revisions: tuple[int, ...]

    @property
    def text(self) -> str:
        """All rows as one text, without the empty ones at the end."""
        return "\n".join(self.rows).rstrip("\n")

    def changed_since(self, revision: int) -> list[tuple[int, str]]:
        """Return the rows, with their index, that are different from what they were at `revision`."""
        changed = zip(self.rows, self.row_revisions, strict=True)
        return [(index, row) for index, (row, when) in enumerate(changed) if when > revision]


class LiveScreen:
    """A screen that follows a terminal's output."""

    def __init__(self, cols: int, rows: int, emulator: Emulator | None = None, *, most_held: int = MOST_HELD) -> None:
        self._size = _checked(cols, rows)
        if emulator is None:
            emulator = load()(cols, rows)
        self._emulator = emulator
        self._most_held = most_held
        self._held = b""
        self._passed: _Passed | None = None
        self._joins = False
        self._fed = True
        self._seen = Screen([""] * rows, (0, 0), self._size, False, 0, (0,) * rows)

    def feed(self, data: bytes) -> None:
        """Take the next output, cut anywhere."""
        if self._passed is not None:
            end = self._passed.end.search(data)
            if end is None:
                return
            self._passed, data = None, data[end.end() :]
        if not data:
            return
        data = self._held + data
        cut = settled(data)
        self._held = data[cut:]
        if len(self._held) > self._most_held:
            self._passed = _COMMAND if self._held[1:2] == b"]" else _OTHER
            self._held = b""
        if cut:
            self._emulator.feed(data[:cut])
            self._joins = prints_last(data, cut)
            self._fed = True

    @property
    def held(self) -> int:
        """Number of bytes at the end of the output that are not complete yet, and not on the screen."""
        return len(self._held)

    def resize(self, cols: int, rows: int) -> None:
        """Change the size as a terminal window would."""
        if (size := _checked(cols, rows)) != self._size:
            self._emulator.resize(cols, rows)
            self._size = size
            self._fed = True

    @property
    def title(self) -> str:
        """The window title that the program has set, or an empty text."""
        return self._emulator.state()[2]

    def snapshot(self) -> Screen:
        """Return the screen as it is now; the same object as long as nothing changed."""
        if not self._fed:
            return self._seen
        self._fed = False
        before = self._seen
        cursor, alternate, _ = self._emulator.state()
        rows = self._emulator.rows()
        if (rows, cursor, self._size, alternate) == (before.rows, before.cursor, before.size, before.alternate):
            return before
        revision = before.revision + 1
        # Another size moves every row, so all of them count as changed.
        same = before.size == self._size
        changed = tuple(
            before.row_revisions[index] if same and row == before.rows[index] else revision
            for index, row in enumerate(rows)
        )
        self._seen = Screen(rows, cursor, self._size, alternate, revision, changed)
        return self._seen

    def restore(self) -> bytes:
        """Return bytes that bring a fresh terminal of this size into the same state, without any query.

        It goes on with what is held.
        """
        if self._passed is not None:
            return self._emulator.restore() + self._passed.begin
        return self._emulator.restore(joins=self._joins)


def rows_without(rows: list[str], cols: int, clean: Callable[[list[str]], list[str]]) -> list[str]:
    """Return as many rows, cleaned of what must not be seen, also of what began in one row and goes on in the next.

    A row that is full may go on. What only both together show stands in the first of them, cleaned.
    """
    lines: list[list[int]] = []
    for index in range(len(rows)):
        if index and len(rows[index - 1]) >= cols:
            lines[-1].append(index)
        else:
            lines.append([index])
    shown = clean(rows)
    whole = clean(["".join(rows[index] for index in line) for line in lines])
    for line, text in zip(lines, whole, strict=True):
        if text != "".join(shown[index] for index in line):
            shown[line[0] : line[-1] + 1] = [text, *[""] * (len(line) - 1)]
    return shown


def _checked(cols: int, rows: int) -> tuple[int, int]:
    for name, value in (("cols", cols), ("rows", rows)):
        if type(value) is not int or not 1 <= value <= MAX_CELLS:
            raise BadArgument(
                f"{name} {value!r} is no size of a terminal", hint=f"a whole number from 1 to {MAX_CELLS}"
            )
    return cols, rows
