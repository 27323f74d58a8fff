"""The terminal emulator of Ghostty (libghostty-vt through pyghostty) as an `Emulator`.

Its own serialisation sets modes before it prints (so that origin mode or switched-off wrapping would spoil the
contents), prints blanks that nobody printed, and shows only one of the two screens; therefore `restore` paints the
contents cell by cell, takes tab stops, region and character sets piece by piece, and puts all into an order that is
safe for every terminal. What only another state shows is looked at in a copy, which is thrown away.
"""

import re
import weakref
from typing import Any

from fourhands.core.errors import Unsupported
from fourhands.workbench.terminals.screen import prints_last

try:
    from pyghostty import Terminal, ffi, lib
    from pyghostty.core import init_sized

    from fourhands.workbench.terminals.paint import HOLLOW, PLAIN, PLAIN_PEN, CellRow, Cells, Pen, check, paint
except (ImportError, OSError) as error:
    raise Unsupported("screens need the package pyghostty", hint=f"it cannot be loaded here: {error}") from error

# DEC private modes worth restoring. Left out are those whose setting makes a terminal answer (2031, 2048), the one that
# holds back drawing (2026), and the screens themselves.
_MODES = (1, 5, 7, 9, 25, 45, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016, 2004)
_SCREENS = (1049, 1047, 47)
_INSERT, _NEW_LINE = 4, 20  # not private
_ORIGIN, _BLINK, _KEYPAD, _MARGINS = 6, 12, 66, 69
_ORDINARY_SETS = b"\x0f\x1b(B\x1b)B\x1b*B\x1b+B"
_ORDINARY_SET = re.compile(rb"\x1b[()*+]B")
_HOME = b"\x1b[1;1H"
_LONGEST_BROKEN = 64 * 1024
_CANCEL = b"\x18"
_PULLED = 200  # rows by which a screen may grow and find in the scrollback what has left it
_PAGE = 50_000  # cells; scrollback is dropped by about so many at a time
_SOFT_RESET = b"\x1b[!p"
_FIRST_STATE = b'\x1b[?1;6;45;1004;2004l\x1b[?7;25h\x1b[4l\x1b>\x1b[0m\x1b[0"q\x1b[r' + _ORDINARY_SETS + b"\x1b[H\x1b7"
# To the end of the line, if the cursor has not just been moved; the soft reset; and a wish to repeat a character.
_READ_OTHERWISE = re.compile(rb"(?<![\n\r\x08HGCD])\x1b\[0?K|\x1b\[!p|\x1b\[[0-9;]*b")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_OPTIONS = init_sized("GhosttyFormatterTerminalOptions")  # to be copied: their sizes take longer to fill in than to use
_SELECTION = init_sized("GhosttySelection")


class Ghostty:
    """One emulated terminal, with as little scrollback as it takes to grow as the page's terminal does.

    That one fills new rows with lines that have left the screen. With none kept here, they would be neither on the
    screen nor in the scrollback of a page that is opened later.
    """

    def __init__(self, cols: int, rows: int) -> None:
        self._terminal = Terminal(cols, rows, scrollback=_PULLED + _PAGE // cols)
        self._wraps = ffi.new("bool*")
        self._printed = False
        # Nothing here shows pictures; with no room for them the protocol that reads them from files is off.
        self._set("KITTY_IMAGE_STORAGE_LIMIT", "uint64_t*", 0)
        # A broken sequence may go on for this one where it is over for others; a copy can be made there too.
        self._set("CONTINUATION_MAX_BYTES", "size_t*", _LONGEST_BROKEN)
        # A shape that no program can ask for, so that one which was asked for can be told from the person's own.
        self._set("DEFAULT_CURSOR_STYLE", "GhosttyTerminalCursorStyle*", HOLLOW)
        self._defaults = {mode: self._terminal.mode(mode) for mode in _MODES}

    def feed(self, data: bytes) -> None:
        """Take the next output, cut anywhere."""
        data = _legible(data)
        at = 0
        for found in _READ_OTHERWISE.finditer(data):
            self._terminal.feed(data[at : found.start()])
            at = found.end()
            if found[0] == _SOFT_RESET:
                self._soft_reset()
            elif found[0].endswith(b"b"):
                # The page's terminal repeats only what was printed right before; this one the last that was printed.
                if prints_last(data, found.start()) if found.start() else self._printed:
                    self._terminal.feed(found[0])
            elif not self._behind_last_column():
                self._terminal.feed(found[0])
        self._terminal.feed(data[at:] if at else data)
        if data:
            self._printed = prints_last(data, len(data))

    def _soft_reset(self) -> None:
        """What the page's terminal does then; this one does nothing."""
        column, row = self._terminal.cursor
        self._terminal.feed(_FIRST_STATE + b"\x1b[%d;%dH" % (row + 1, column + 1))

    def _behind_last_column(self) -> bool:
        """Where the page's terminal finds nothing to erase, and this one would take the last character."""
        # Asked at each such sequence, of which coloured output is full: by the shortest way.
        lib.ghostty_terminal_get(self._terminal._t[0], lib.GHOSTTY_TERMINAL_DATA_CURSOR_PENDING_WRAP, self._wraps)
        return bool(self._wraps[0]) and bool(self._terminal.get("vt_ground", "bool"))

    def resize(self, cols: int, rows: int) -> None:
        """Change the size as a terminal window would."""
        self._terminal.resize(cols, rows)

    def rows(self) -> list[str]:
        """Give the text of every row without trailing blanks."""
        count = self._terminal.size[1]
        rows = [row.rstrip() for row in self._terminal.text().split("\n")]
        return rows[:count] + [""] * (count - len(rows))

    def state(self) -> tuple[tuple[int, int], bool, str]:
        """Give the cursor (column, row), whether the alternate screen is shown, and the title."""
        title = self._terminal.get("title", "GhosttyString")
        text = ffi.buffer(title.ptr, title.len)[:].decode("utf-8", "replace") if title.len else ""
        return self._terminal.cursor, self._alternate(), text

    def restore(self, *, joins: bool = False) -> bytes:
        """Give bytes that bring a fresh terminal of the same size into the same state, without any query.

        `joins` says that a character was printed last: a combining one may follow, or a wish to repeat it.
        """
        terminal = self._copy()
        cells = Cells(terminal)
        rows = cells.rows()
        out = []
        if title := _CONTROL.sub("", self.state()[2]):
            out.append(b"\x1b]2;%s\x1b\\" % title.encode())
        out += [self._colours(), _extra(terminal, "tabstops")]
        if self._alternate():
            out.append(self._hidden())
        out += [_HOME, paint(rows)]
        margins = terminal.mode(_MARGINS)
        if margins:
            out.append(b"\x1b[?%dh" % _MARGINS)
        region = _extra(terminal, "scrolling_region")
        out += [region, self._saved(rows, always=margins or self._alternate())]
        for mode, default in self._defaults.items():
            if (value := terminal.mode(mode)) != default:
                out.append(b"\x1b[?%d%c" % (mode, b"lh"[value]))
        if shape := cells.cursor_shape():
            out.append(b"\x1b[%d q" % shape)
        if terminal.mode(_NEW_LINE, ansi=True):
            out.append(b"\x1b[%dh" % _NEW_LINE)
        if terminal.mode(_KEYPAD):
            out.append(b"\x1b=")
        if flags := terminal.get("kitty_keyboard_flags", "uint8_t"):
            out.append(b"\x1b[=%d;1u" % flags)
        corner = (1, 1)
        if terminal.mode(_ORIGIN):
            out.append(b"\x1b[?%dh" % _ORIGIN)
            corner = _corner(region)
        inserts = terminal.mode(_INSERT, ansi=True)
        out.append(_cursor(terminal, cells, rows, joins=joins and not inserts, corner=corner))
        if inserts:  # later than what is printed for the cursor's sake
            out.append(b"\x1b[%dh" % _INSERT)
        return b"".join(out)

    def _hidden(self) -> bytes:
        """Give the primary screen, the cursor to which it goes back, and the way to the alternate one."""
        under = self._copy()
        entered = next((mode for mode in _SCREENS if under.mode(mode)), _SCREENS[0])
        under.feed(b"\x1b[?47l")  # the one that only switches
        cells = Cells(under)
        rows = cells.rows()
        under.feed(b"\x1b8")
        kept = _cursor(under, cells, rows)
        save = b"" if entered == 1049 or kept == _HOME else b"\x1b7"  # 1049 does it by itself
        return _HOME + paint(rows) + kept + save + b"\x1b[?%dh" % entered + PLAIN + _ORDINARY_SETS

    def _saved(self, rows: list[CellRow], *, always: bool) -> bytes:
        """Give what brings back the cursor that the program has saved."""
        back = self._copy()
        back.feed(b"\x1b8")
        kept = _cursor(back, Cells(back), rows)
        return kept + b"\x1b7" + PLAIN + _ORDINARY_SETS if always or kept != _HOME else b""

    def _copy(self) -> Terminal:
        """Another terminal in the same state, without its scrollback, and out of any sequence."""
        size = ffi.new("size_t*")
        lib.ghostty_snapshot_encode_buf(self._terminal._t[0], ffi.NULL, 0, size)
        buffer = ffi.new("uint8_t[]", size[0])
        check(lib.ghostty_snapshot_encode_buf(self._terminal._t[0], buffer, size[0], size))
        decoder = ffi.new("GhosttySnapshotDecoder*")
        check(lib.ghostty_snapshot_decoder_new_buf(ffi.NULL, decoder, buffer, size[0]))
        try:
            copy: Any = Terminal.__new__(Terminal)
            copy._t, copy._cb_err = ffi.new("GhosttyTerminal*"), None
            check(lib.ghostty_snapshot_decoder_ready(decoder[0], copy._t))
            copy._free = weakref.finalize(copy, lib.ghostty_terminal_free, copy._t[0])
        finally:
            lib.ghostty_snapshot_decoder_free(decoder[0])
        copy.feed(_CANCEL)
        return copy

    def _colours(self) -> bytes:
        """Give the colours that the program has changed."""
        out, rgb = [], ffi.new("GhosttyColorRgb*")
        for name, code in (("FOREGROUND", 10), ("BACKGROUND", 11), ("CURSOR", 12)):
            key = getattr(lib, f"GHOSTTY_TERMINAL_DATA_COLOR_{name}")
            if lib.ghostty_terminal_get(self._terminal._t[0], key, rgb) == 0:
                out.append(_colour(b"%d" % code, rgb))
        now, usual = ffi.new("GhosttyColorRgb[256]"), ffi.new("GhosttyColorRgb[256]")
        for key, palette in (
            (lib.GHOSTTY_TERMINAL_DATA_COLOR_PALETTE, now),
            (lib.GHOSTTY_TERMINAL_DATA_COLOR_PALETTE_DEFAULT, usual),
        ):
            check(lib.ghostty_terminal_get(self._terminal._t[0], key, palette))
        if bytes(ffi.buffer(now)) != bytes(ffi.buffer(usual)):
            for index, (one, other) in enumerate(zip(now, usual, strict=True)):
                if (one.r, one.g, one.b) != (other.r, other.g, other.b):
                    out.append(_colour(b"4;%d" % index, one))
        return b"".join(out)

    def _alternate(self) -> bool:
        return bool(
            self._terminal.get("active_screen", "GhosttyTerminalScreen") == lib.GHOSTTY_TERMINAL_SCREEN_ALTERNATE
        )

    def _set(self, option: str, kind: str, value: object) -> None:
        code = getattr(lib, f"GHOSTTY_TERMINAL_OPT_{option}")
        check(lib.ghostty_terminal_set(self._terminal._t[0], code, ffi.new(kind, value)))


def _legible(data: bytes) -> bytes:
    """The output without what the page's terminal leaves out: DEL, and bytes that are no characters."""
    try:
        data.decode()
    except UnicodeDecodeError:
        data = data.decode("utf-8", "ignore").encode()
    return data.translate(None, b"\x7f") if b"\x7f" in data else data


def _cursor(
    terminal: Terminal, cells: Cells, rows: list[CellRow], *, joins: bool = False, corner: tuple[int, int] = (1, 1)
) -> bytes:
    """Give what brings the cursor to its place, with its pen and character sets."""
    x: int
    y: int
    x, y = terminal.cursor
    row, wraps = rows[y].cells, bool(terminal.get("cursor_pending_wrap", "bool"))
    pen, sets = _pen(terminal, cells), _ORDINARY_SET.sub(b"", _extra(terminal, "charsets"))
    begin = x if wraps else x - 1
    if begin > 0 and not row[begin].width:
        begin -= 1

    def place(column: int) -> bytes:
        return b"\x1b[%d;%dH" % (y + 2 - corner[0], column + 2 - corner[1])

    # Only printing the last character again leaves the cursor behind the last column, or where one can join it.
    if joins and begin >= 0 and row[begin].text and row[begin].pen == pen and not sets:
        return place(begin) + pen.change(PLAIN_PEN) + row[begin].text
    if wraps:
        last = row[begin]
        return place(begin) + last.pen.change(PLAIN_PEN) + (last.text or b" ") + pen.change(last.pen) + sets
    return place(x) + pen.change(PLAIN_PEN) + sets


def _pen(terminal: Terminal, cells: Cells) -> Pen:
    link = re.search(rb"\x1b]8;[^;]*;([^\x1b]*)", _extra(terminal, "hyperlink"))
    return Pen(cells.style(), bool(_extra(terminal, "protection")), link[1] if link else b"")


def _colour(which: bytes, rgb: Any) -> bytes:
    return b"\x1b]%s;rgb:%02x/%02x/%02x\x1b\\" % (which, rgb.r, rgb.g, rgb.b)


def _extra(terminal: Terminal, name: str) -> bytes:
    """Give only what one of the formatter's extras adds to the contents."""
    plain, full = _format(terminal), _format(terminal, name)
    if full.startswith(plain):
        return full[len(plain) :]
    return full.removesuffix(plain)


def _format(terminal: Terminal, extra: str = "") -> bytes:
    """Give the first cell in the formatter's words."""
    options = ffi.new("GhosttyFormatterTerminalOptions*", _OPTIONS[0])
    options.emit = lib.GHOSTTY_FORMATTER_FORMAT_VT
    for holder in (options.extra, options.extra.screen) if extra else ():
        if hasattr(holder, extra):
            setattr(holder, extra, True)
    selection = ffi.new("GhosttySelection*", _SELECTION[0])
    selection.start = selection.end = terminal.ref(0, 0)[0]
    options.selection = selection
    formatter, size = ffi.new("GhosttyFormatter*"), ffi.new("size_t*")
    check(lib.ghostty_formatter_terminal_new(ffi.NULL, formatter, terminal._t[0], options[0]))
    try:
        lib.ghostty_formatter_format_buf(formatter[0], ffi.NULL, 0, size)
        buffer = ffi.new("uint8_t[]", max(size[0], 1))
        check(lib.ghostty_formatter_format_buf(formatter[0], buffer, len(buffer), size))
        return bytes(ffi.buffer(buffer, size[0])[:])
    finally:
        lib.ghostty_formatter_free(formatter[0])


def _corner(region: bytes) -> tuple[int, int]:
    """Give the upper left corner of a scrolling region, as row and column from 1."""
    rows = re.search(rb"\x1b\[(\d+);\d+r", region)
    cols = re.search(rb"\x1b\[(\d+);\d+s", region)
    return int(rows[1]) if rows else 1, int(cols[1]) if cols else 1


# The library looks up the names of types when they are first used, 10 ms each: not while somebody waits.
Ghostty(2, 1).restore()
