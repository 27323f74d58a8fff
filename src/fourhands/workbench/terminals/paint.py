"""Output that paints what an emulated screen shows, cell by cell, into another terminal that is empty there.

A blank that was never printed stays one (what is copied from the page has no spaces there), a row that went on in the
next one does so again (it will be folded anew with the window), and no character's width is taken for granted.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyghostty import Terminal, ffi, lib

from fourhands.workbench.terminals.library import check, handle

PLAIN = b"\x1b[0m"
HOLLOW: int = lib.GHOSTTY_RENDER_STATE_CURSOR_VISUAL_STYLE_BLOCK_HOLLOW
_SHAPES = {
    lib.GHOSTTY_RENDER_STATE_CURSOR_VISUAL_STYLE_BLOCK: 2,
    lib.GHOSTTY_RENDER_STATE_CURSOR_VISUAL_STYLE_UNDERLINE: 4,
    lib.GHOSTTY_RENDER_STATE_CURSOR_VISUAL_STYLE_BAR: 6,
}  # steady; one less blinks

_ATTRIBUTES = (("bold", 1), ("faint", 2), ("italic", 3), ("blink", 5), ("inverse", 7), ("invisible", 8))
_LATER_ATTRIBUTES = (("strikethrough", 9), ("overline", 53))
_GRAPHEME = 64  # code points; more of them in one cell is nothing that a person can read
_LINK = 4096  # bytes
# Each name of a type that the library has to look up takes it 10 ms: from functions they come for nothing.
_STYLE = ffi.typeof(lib.ghostty_grid_ref_style).args[1]
_STATE = ffi.typeof(lib.ghostty_render_state_new).args[1]
_ITERATOR = ffi.typeof(lib.ghostty_render_state_row_iterator_new).args[1]
_NUMBER = ffi.typeof("uint64_t[1]")
_NUMBERS = ffi.typeof("uint64_t[2]")
_NUMBER_AT = ffi.typeof("uint64_t*")
_COUNT = ffi.typeof(lib.ghostty_grid_ref_graphemes).args[3]
# Known as one column wide to every terminal: Latin, Greek, Cyrillic, lines, blocks.
_NARROW = re.compile(r"[\x20-\x7e\u00c0-\u02ff\u0391-\u03c9\u0410-\u044f\u2500-\u259f]")


class Pen(NamedTuple):
    """The pen of a character: the rendition, protection from erasing, and where it leads."""

    style: bytes = PLAIN
    protected: bool = False
    link: bytes = b""

    def change(self, before: "Pen") -> bytes:
        """Return the sequences that make it of another one."""
        out = self.style if self.style != before.style else b""
        if self.protected != before.protected:
            out += b'\x1b[%d"q' % self.protected
        if self.link != before.link:
            out += b"\x1b]8;;%s\x1b\\" % self.link
        return out


PLAIN_PEN = Pen()


class Cell(NamedTuple):
    """One place: its text (none for a blank that was never printed), its pen, and how many columns it takes."""

    text: bytes
    pen: Pen
    width: int
    narrow: bool = False  # beyond doubt


_BLANK = Cell(b"", PLAIN_PEN, 1)


@dataclass(frozen=True, slots=True)
class CellRow:
    """The cells of a row, with a width of 0 behind a wide one, and whether it goes on in the next."""

    cells: list[Cell]
    goes_on: bool


def rendition(style: Any) -> bytes:
    """Return the sequence that selects a style and nothing else of what was selected before."""
    codes = ["0", *(str(code) for name, code in _ATTRIBUTES if getattr(style, name))]
    if style.underline:
        codes.append("4" if style.underline == 1 else f"4:{style.underline}")
    codes += [str(code) for name, code in _LATER_ATTRIBUTES if getattr(style, name)]
    codes += [*_colour(style.fg_color, 30), *_colour(style.bg_color, 40)]
    line = style.underline_color
    if line.tag == lib.GHOSTTY_STYLE_COLOR_PALETTE:
        codes.append(f"58:5:{line.value.palette}")
    elif line.tag == lib.GHOSTTY_STYLE_COLOR_RGB:
        codes.append(f"58:2::{line.value.rgb.r}:{line.value.rgb.g}:{line.value.rgb.b}")
    return f"\x1b[{';'.join(codes)}m".encode()


def _colour(colour: Any, base: int) -> list[str]:
    if colour.tag == lib.GHOSTTY_STYLE_COLOR_PALETTE:
        return [_palette(colour.value.palette, base)]
    if colour.tag == lib.GHOSTTY_STYLE_COLOR_RGB:
        return [_rgb(colour.value.rgb, base)]
    return []


def _palette(index: int, base: int) -> str:
    return str(base + index) if index < 8 else str(base + 52 + index) if index < 16 else f"{base + 8};5;{index}"


def _rgb(rgb: Any, base: int) -> str:
    return f"{base + 8};2;{rgb.r};{rgb.g};{rgb.b}"


class Cells:
    """The cells that a terminal shows. Equal ones are read once: a screen has thousands of cells of a few kinds."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._kinds: dict[tuple[object, int], Cell] = {}
        self._style = ffi.new(_STYLE)
        self._style.size = ffi.sizeof(self._style[0])
        self._out = ffi.new(_NUMBER)
        self._shape = 0

    def rows(self) -> list[CellRow]:
        """Return every row of the screen that is shown."""
        state, iterator = ffi.new(_STATE), ffi.new(_ITERATOR)
        check(lib.ghostty_render_state_new(ffi.NULL, state))
        check(lib.ghostty_render_state_row_iterator_new(ffi.NULL, iterator))
        try:
            check(lib.ghostty_render_state_update(state[0], handle(self._terminal)))
            check(lib.ghostty_render_state_get(state[0], lib.GHOSTTY_RENDER_STATE_DATA_ROW_ITERATOR, iterator))
            self._shape = self._look_at_shape(state[0])
            return [self._row(y, *raw) for y, raw in enumerate(_raw_rows(iterator[0]))]
        finally:
            lib.ghostty_render_state_row_iterator_free(iterator[0])
            lib.ghostty_render_state_free(state[0])

    def style(self) -> bytes:
        """Return the style of the next character."""
        check(lib.ghostty_terminal_get(handle(self._terminal), lib.GHOSTTY_TERMINAL_DATA_CURSOR_STYLE, self._style))
        return rendition(self._style)

    def cursor_shape(self) -> int:
        """Return the number of the cursor's shape, as a program asks for it; 0 if none has."""
        return self._shape

    def _look_at_shape(self, state: Any) -> int:
        facts = []
        for key in (lib.GHOSTTY_RENDER_STATE_DATA_CURSOR_VISUAL_STYLE, lib.GHOSTTY_RENDER_STATE_DATA_CURSOR_BLINKING):
            self._out[0] = 0
            check(lib.ghostty_render_state_get(state, key, self._out))
            facts.append(int(self._out[0]))
        return _SHAPES[facts[0]] - facts[1] if facts[0] in _SHAPES else 0

    def _row(self, y: int, raw: list[int], row: int) -> CellRow:
        if not any(raw):
            return CellRow([_BLANK] * len(raw), False)
        node = self._terminal.ref(0, y)[0].node  # styles are numbered page by page
        kinds, cells = self._kinds, []
        for x, value in enumerate(raw):
            cell = kinds.get((node, value))
            if cell is None:
                cell, same = self._cell(x, y, value)
                if same:
                    kinds[node, value] = cell
            cells.append(cell)
        return CellRow(cells, _flag(row, lib.GHOSTTY_ROW_DATA_WRAP))

    def _cell(self, x: int, y: int, value: int) -> tuple[Cell, bool]:
        """Return a cell, and True if all with the same value are like it."""
        tag = self._fact(value, lib.GHOSTTY_CELL_DATA_CONTENT_TAG)
        if tag == lib.GHOSTTY_CELL_CONTENT_BG_COLOR_PALETTE:
            index = self._fact(value, lib.GHOSTTY_CELL_DATA_COLOR_PALETTE)
            return Cell(b"", Pen(b"\x1b[0;%sm" % _palette(index, 40).encode()), 1), True
        if tag == lib.GHOSTTY_CELL_CONTENT_BG_COLOR_RGB:
            red, green, blue = self._fact(value, lib.GHOSTTY_CELL_DATA_COLOR_RGB).to_bytes(8, sys.byteorder)[:3]
            return Cell(b"", Pen(b"\x1b[0;48;2;%d;%d;%dm" % (red, green, blue)), 1), True
        wide = self._fact(value, lib.GHOSTTY_CELL_DATA_WIDE)
        if wide == lib.GHOSTTY_CELL_WIDE_SPACER_TAIL:
            return Cell(b"", PLAIN_PEN, 0), True
        ref = self._terminal.ref(x, y)
        style = PLAIN
        if self._fact(value, lib.GHOSTTY_CELL_DATA_HAS_STYLING):
            check(lib.ghostty_grid_ref_style(ref, self._style))
            style = rendition(self._style)
        linked = bool(self._fact(value, lib.GHOSTTY_CELL_DATA_HAS_HYPERLINK))
        several = tag == lib.GHOSTTY_CELL_CONTENT_CODEPOINT_GRAPHEME
        pen = Pen(style, bool(self._fact(value, lib.GHOSTTY_CELL_DATA_PROTECTED)), self._link(ref) if linked else b"")
        code = self._fact(value, lib.GHOSTTY_CELL_DATA_CODEPOINT)
        text = self._letters(ref, code) if several else chr(code) if code else ""
        width = 2 if wide == lib.GHOSTTY_CELL_WIDE_WIDE else 1
        cell = Cell(text.encode("utf-8", "replace"), pen, width, _NARROW.fullmatch(text) is not None)
        return cell, not linked and not several

    def _fact(self, value: int, key: int) -> int:
        self._out[0] = 0
        check(lib.ghostty_cell_get(value, key, self._out))
        return int(self._out[0])

    def _letters(self, ref: Any, code: int) -> str:
        buffer, count = ffi.new("uint32_t[]", _GRAPHEME), ffi.new(_COUNT)
        if lib.ghostty_grid_ref_graphemes(ref, buffer, _GRAPHEME, count):
            return chr(code or 32)
        return "".join(chr(letter or 32) for letter in ffi.unpack(buffer, count[0]))

    def _link(self, ref: Any) -> bytes:
        buffer, count = ffi.new("uint8_t[]", _LINK), ffi.new(_COUNT)
        if lib.ghostty_grid_ref_hyperlink_uri(ref, buffer, _LINK, count):
            return b""
        return bytes(byte for byte in ffi.buffer(buffer, count[0])[:] if 0x20 <= byte < 0x7F)


def paint(rows: list[CellRow]) -> bytes:
    """Return what paints the rows on an empty screen, from its upper left corner; the pen is plain before and after."""
    out: list[bytes] = []
    pen, cols = PLAIN_PEN, len(rows[0].cells)

    def put(cell: Cell) -> None:
        nonlocal pen
        out.append(cell.pen.change(pen) + (cell.text or b" "))
        pen = cell.pen

    def blank(x: int, y: int, cell: Cell) -> None:
        """Make a place blank that had to be printed for the row to go on."""
        nonlocal pen
        out.append(b"\x1b[%d;%dH" % (y + 1, x + 1) + cell.pen.change(pen) + b"\x1b[X")
        pen = cell.pen

    for y, row in enumerate(rows):
        begun = y > 0 and rows[y - 1].goes_on
        at = 0 if begun else -1  # the column at which the cursor is known to be
        x = 0
        if begun:
            first, before = row.cells[0], rows[y - 1].cells[-1]
            put(first)  # where the row before has left the cursor, so that it goes on here
            if not before.text and before.width and first.width == 1:
                blank(cols - 1, y - 1, before)
            if not first.text:
                blank(0, y, first)
            x, at = first.width, -1
        for begin, end in _runs(row, x):
            cell = row.cells[begin]
            if at != begin:
                out.append(b"\x1b[%d;%dH" % (y + 1, begin + 1))
            if not cell.text:
                out.append(cell.pen.change(pen) + (b"\x1b[%dX" % (end - begin)))
                pen, at = cell.pen, begin
                continue
            out.append(cell.pen.change(pen))
            pen = cell.pen
            out += [one.text for one in row.cells[begin:end]]
            at = end if cell.narrow else -1
        if row.goes_on:
            # The next row's first character is to be printed behind the last column of this one.
            last = cols - 1 if row.cells[-1].width else cols - 2
            if not row.cells[last].text and y + 1 < len(rows) and rows[y + 1].cells[0].width == 2:
                out.append(b"\x1b[%d;%dH" % (y + 1, cols))  # it did not fit
            else:
                out.append(b"\x1b[%d;%dH" % (y + 1, last + 1))
                put(row.cells[last])
    out.append(PLAIN_PEN.change(pen))
    return b"".join(out)


def _runs(row: CellRow, begin: int) -> Iterator[tuple[int, int]]:
    """Yield from where to where cells can be painted by one stroke; what is blank and plain needs none."""
    cells = row.cells
    x = begin
    while x < len(cells):
        cell, start = cells[x], x
        if cell == _BLANK or not cell.width:
            x += 1
            continue
        if not cell.text:
            while x < len(cells) and cells[x] == cell:
                x += 1
        elif not cell.narrow:
            x += cell.width
        else:
            while x < len(cells) and cells[x].narrow and cells[x].pen == cell.pen:
                x += 1
        yield start, x


def _raw_rows(iterator: Any) -> Iterator[tuple[list[int], int]]:
    view, row = ffi.new(_NUMBERS), ffi.new(_NUMBER)  # an address and a length; bits
    while lib.ghostty_render_state_row_iterator_next(iterator):
        check(lib.ghostty_render_state_row_get(iterator, lib.GHOSTTY_RENDER_STATE_ROW_DATA_CELLS_RAW, view))
        check(lib.ghostty_render_state_row_get(iterator, lib.GHOSTTY_RENDER_STATE_ROW_DATA_RAW, row))
        yield ffi.unpack(ffi.cast(_NUMBER_AT, view[0]), view[1]), row[0]


def _flag(row: int, key: int) -> bool:
    out = ffi.new(_NUMBER)
    check(lib.ghostty_row_get(row, key, out))
    return bool(out[0])
