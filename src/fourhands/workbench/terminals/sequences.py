"""The state of an emulated terminal as the sequences that set it: cursor, pen, character sets, region, tab stops."""

import re
from typing import Any

from pyghostty import Terminal, ffi, lib
from pyghostty.core import init_sized

from fourhands.workbench.terminals.library import check, handle
from fourhands.workbench.terminals.paint import PLAIN_PEN, CellRow, Cells, Pen

INSERT = 4  # not private
ORDINARY_SETS = b"\x0f\x1b(B\x1b)B\x1b*B\x1b+B"
_ORDINARY_SET = re.compile(rb"\x1b[()*+]B")
_SET = re.compile(rb"\x1b([()*+])(.)")
_SHIFT = re.compile(rb"\x0e|\x1b[no]")  # none is that to the first set
_SHIFTS = {b"": b"(", b"\x0e": b")", b"\x1bn": b"*", b"\x1bo": b"+"}
_OPTIONS = init_sized("GhosttyFormatterTerminalOptions")  # to be copied: their sizes take longer to fill in than to use
_SELECTION = init_sized("GhosttySelection")


def cursor_sequence(
    terminal: Terminal, cells: Cells, rows: list[CellRow], *, joins: bool = False, corner: tuple[int, int] = (1, 1)
) -> bytes:
    """Return what brings the cursor to its place, with its pen, character sets and insert mode.

    `joins` is True if a character was printed last. Positions count from `corner`, as row and column from 1.
    """
    x: int
    y: int
    x, y = terminal.cursor
    row, wraps = rows[y].cells, bool(terminal.get("cursor_pending_wrap", "bool"))
    pen, sets = _pen(terminal, cells), _ORDINARY_SET.sub(b"", extra(terminal, "charsets"))
    begin = x if wraps else x - 1
    if begin > 0 and not row[begin].width:
        begin -= 1

    def place(column: int) -> bytes:
        return b"\x1b[%d;%dH" % (y + 2 - corner[0], column + 2 - corner[1])

    inserts = b"\x1b[%dh" % INSERT if terminal.mode(INSERT, ansi=True) else b""
    # Only printing the last character again leaves the cursor behind the last column, or where one can join it.
    # What was printed in these sets has become what no set changes.
    if joins and begin >= 0 and row[begin].text and row[begin].pen == pen:
        away = b"\x1b[%dP" % row[begin].width + inserts if inserts else b""
        return place(begin) + away + pen.change(PLAIN_PEN) + sets + row[begin].text
    if wraps and not any(cell.text for cell in row) and len(set(row)) == 1:
        # Erasing the whole line is what leaves the cursor there.
        erased = row[0].pen
        return place(x) + erased.change(PLAIN_PEN) + b" \x1b[2K" + pen.change(erased) + sets + inserts
    if wraps:
        last = row[begin]
        # The shift is for nothing but this: what was printed here is not to be joined or repeated.
        again = last.pen.change(PLAIN_PEN) + (last.text or b" ") + b"\x0f"
        return place(begin) + again + pen.change(last.pen) + sets + inserts
    return place(x) + pen.change(PLAIN_PEN) + sets + inserts


def saved_cursor_sequence(terminal: Terminal, cells: Cells) -> bytes:
    """Return what brings the cursor to where it comes when it is taken back: never behind the last column."""
    x, y = terminal.cursor
    sets = _ORDINARY_SET.sub(b"", extra(terminal, "charsets"))
    return b"\x1b[%d;%dH" % (y + 1, x + 1) + _pen(terminal, cells).change(PLAIN_PEN) + sets


def _pen(terminal: Terminal, cells: Cells) -> Pen:
    link = re.search(rb"\x1b]8;[^;]*;([^\x1b]*)", extra(terminal, "hyperlink"))
    return Pen(cells.style(), bool(extra(terminal, "protection")), link[1] if link else b"")


def colour_sequence(which: bytes, rgb: Any) -> bytes:
    """Return the sequence that changes one of the colours."""
    return b"\x1b]%s;rgb:%02x/%02x/%02x\x1b\\" % (which, rgb.r, rgb.g, rgb.b)


def extra(terminal: Terminal, name: str) -> bytes:
    """Return only what one of the formatter's extras adds to the contents."""
    plain, full = _format(terminal), _format(terminal, name)
    if full.startswith(plain):
        return full[len(plain) :]
    return full.removesuffix(plain)


def _format(terminal: Terminal, extra: str = "") -> bytes:
    """Return the first cell in the formatter's words."""
    options = ffi.new("GhosttyFormatterTerminalOptions*", _OPTIONS[0])
    options.emit = lib.GHOSTTY_FORMATTER_FORMAT_VT
    for holder in (options.extra, options.extra.screen) if extra else ():
        if hasattr(holder, extra):
            setattr(holder, extra, True)
    selection = ffi.new("GhosttySelection*", _SELECTION[0])
    selection.start = selection.end = terminal.ref(0, 0)[0]
    options.selection = selection
    formatter, size = ffi.new("GhosttyFormatter*"), ffi.new("size_t*")
    check(lib.ghostty_formatter_terminal_new(ffi.NULL, formatter, handle(terminal), options[0]))
    try:
        lib.ghostty_formatter_format_buf(formatter[0], ffi.NULL, 0, size)
        buffer = ffi.new("uint8_t[]", max(size[0], 1))
        check(lib.ghostty_formatter_format_buf(formatter[0], buffer, len(buffer), size))
        return bytes(ffi.buffer(buffer, size[0])[:])
    finally:
        lib.ghostty_formatter_free(formatter[0])


def corner_of(region: bytes) -> tuple[int, int]:
    """Return the upper left corner of a scrolling region, as row and column from 1."""
    rows = re.search(rb"\x1b\[(\d+);\d+r", region)
    cols = re.search(rb"\x1b\[(\d+);\d+s", region)
    return int(rows[1]) if rows else 1, int(cols[1]) if cols else 1


def is_ordinary(sets: bytes) -> bool:
    """Return True if no other set than the ordinary one is chosen, as the formatter writes them."""
    return not _ORDINARY_SET.sub(b"", sets)


def uses_ordinary(sets: bytes) -> bool:
    """Return True if the set in use is the ordinary one."""
    return _set_in_use(sets)[1] == b"B"


def shifts(data: bytes) -> bool:
    """Return True if output shifts to another set than the first."""
    return _SHIFT.search(data) is not None


def with_set_in_use(sets: bytes, other: bytes) -> bytes:
    """Return character sets in which the one in use is that of others, as the formatter writes both."""
    level, chosen = _set_in_use(sets)[0], _set_in_use(other)[1]
    others = b"".join(found[0] for found in _SET.finditer(sets) if found[1] != level)
    return b"\x1b" + level + chosen + others + _shift(sets)


def _set_in_use(sets: bytes) -> tuple[bytes, bytes]:
    level = _SHIFTS[_shift(sets)]
    return level, next((found[2] for found in _SET.finditer(sets) if found[1] == level), b"B")


def _shift(sets: bytes) -> bytes:
    found = _SHIFT.search(sets)
    return found[0] if found else b""
