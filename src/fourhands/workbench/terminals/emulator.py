"""The terminal emulator of Ghostty (libghostty-vt through pyghostty) as an `Emulator`.

Its own serialisation sets modes before it prints (so that origin mode or switched-off wrapping would spoil the
contents), prints blanks that no program printed, and shows only one of the two screens; therefore `restore` paints the
contents cell by cell, takes tab stops, region and character sets piece by piece, and puts all into an order that is
safe for every terminal. What only another state shows is looked at in a copy, which is thrown away.
"""

import re

from fourhands.core.errors import Unsupported
from fourhands.workbench.terminals.screen import prints_last

try:
    from pyghostty import Terminal, ffi, lib

    from fourhands.workbench.terminals.library import check, copy_of, handle
    from fourhands.workbench.terminals.paint import HOLLOW, PLAIN, Cells, paint
    from fourhands.workbench.terminals.sequences import (
        INSERT,
        ORDINARY_SETS,
        colour_sequence,
        corner_of,
        cursor_sequence,
        extra,
        is_ordinary,
        saved_cursor_sequence,
        shifts,
        uses_ordinary,
        with_set_in_use,
    )
except (ImportError, OSError) as error:
    raise Unsupported("screens need the package pyghostty", hint=f"it cannot be loaded here: {error}") from error

# DEC private modes worth restoring. Left out are those whose setting makes a terminal answer (2031, 2048), the one that
# holds back drawing (2026), and the screens themselves.
_MODES = (1, 5, 7, 9, 25, 45, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016, 2004)
_SCREENS = (1049, 1047, 47)
_NEW_LINE = 20  # not private
_ORIGIN, _BLINK, _KEYPAD, _MARGINS = 6, 12, 66, 69
_HOME = b"\x1b[1;1H"
_LONGEST_BROKEN = 64 * 1024
_CANCEL = b"\x18"
_PULLED = 200  # rows by which a screen may grow and find in the scrollback what has left it
_PAGE = 50_000  # cells; scrollback is dropped by about so many at a time
_SOFT_RESET = b"\x1b[!p"
_FIRST_STATE = b'\x1b[?1;6;45;1004;2004l\x1b[?7;25h\x1b[4l\x1b>\x1b[0m\x1b[0"q\x1b[r' + ORDINARY_SETS + b"\x1b[H\x1b7"
# To the end of the line, if the cursor has not just been moved; the soft reset; a wish to repeat a character; the saved
# cursor, taken back; one line up, lines inserted or deleted, a tab back and to the end of the screen, from behind the
# last column; the screens; and a character set other than the ordinary one.
_READ_OTHERWISE = re.compile(
    rb"\x1b(?:(?<![\n\r\x08HGCD]\x1b)\[0?[KJ]|\[!p|\[[0-9;]*b|8|M|\[u|\[[0-9]*[LMZ]"
    rb"|\[\?(?:[0-9;]*;)?(?:104[789]|47)(?:;[0-9;]*)?[hl]|[()*+][^B])"
)
_TAKES_BACK = re.compile(rb"\x1b(?:8|\[u|.*104[89].*l)")
_FROM_ESCAPE = re.compile(rb"[^\x1b]+|\x1b[^\x1b]*")
_SHIFT = re.compile(rb"[\x0e\x0f]")
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Ghostty:
    """One emulated terminal, with as little scrollback as it takes to grow as the page's terminal does.

    That one fills new rows with lines that have left the screen. With none kept here, they would be neither on the
    screen nor in the scrollback of a page that is opened later.
    """

    def __init__(self, cols: int, rows: int) -> None:
        self._terminal = Terminal(cols, rows, scrollback=_PULLED + _PAGE // cols)
        self._handle = handle(self._terminal)
        self._wraps = ffi.new("bool*")
        self._printed = 0  # the last byte, if it is one of a character
        self._sets = False  # True if another character set than the ordinary one may be in use
        self._region_below = b""  # of the screen that is not shown
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
            self._print(data[at : found.start()])
            at = found.end()
            if found[0].endswith(b"K"):
                if not self.behind_last_column:
                    self._terminal.feed(found[0])
            elif found[0].endswith(b"b"):
                # The page's terminal repeats only what was printed right before; this one the last that was printed.
                if last := _last_printed(data, found.start()) if found.start() else self._printed:
                    self._in_set(found[0], ascii=last < 0x80)
            else:
                self._read_otherwise(found[0])
        self._print(data[at:] if at else data)
        if data:
            self._printed = _last_printed(data, len(data))

    def _read_otherwise(self, sequence: bytes) -> None:
        """Feed a sequence so that it does what it does in the page's terminal."""
        if sequence == _SOFT_RESET:
            self._soft_reset()
        elif sequence[1] in b"()*+":
            self._terminal.feed(sequence)
            self._sets = True
        elif sequence[-1:] in b"LMJZ":
            if not self.behind_last_column:
                self._terminal.feed(sequence)
            elif sequence.endswith(b"J"):
                self._erase_below()
            elif not sequence.endswith(b"Z"):
                self._place(*self._terminal.cursor)
                self._terminal.feed(sequence)
        elif sequence[-1:] in b"hl":
            self._switch_screen(sequence)
        else:
            self._restore_cursor(sequence)

    def _switch_screen(self, sequence: bytes) -> None:
        """Show the other screen, which has a scrolling region of its own in the page's terminal."""
        alternate, region = self._alternate(), extra(self._terminal, "scrolling_region")
        if sequence.endswith(b"h"):
            if alternate:  # which is not cleared again
                sequence = {b"\x1b[?1049h": b"\x1b7", b"\x1b[?1047h": b"", b"\x1b[?47h": b""}.get(sequence, sequence)
            else:
                self._region_below = region
                if region and b"1049" in sequence:  # which saves the cursor anyway
                    self._terminal.feed(b"\x1b7\x1b[r\x1b8")
                elif region:
                    self._set_region(b"\x1b[r")
            self._terminal.feed(sequence)
            if not alternate and self._alternate() and not self.behind_last_column:
                self._terminal.feed(b"\x1b[2J")  # with the pen's background, not with that of the last time
            return
        if alternate and region != self._region_below:
            self._set_region(self._region_below or b"\x1b[r")
        if _TAKES_BACK.fullmatch(sequence):
            self._restore_cursor(sequence)
        else:
            self._terminal.feed(sequence)

    def _erase_below(self) -> None:
        """Erase the rows below the cursor, and leave it behind the last column."""
        terminal = self._terminal
        row = terminal.cursor[1]
        if row + 1 == terminal.size[1]:
            return
        cells = Cells(terminal)
        rows = cells.rows()
        corner = corner_of(extra(terminal, "scrolling_region")) if terminal.mode(_ORIGIN) else (1, 1)
        back = cursor_sequence(terminal, cells, rows, corner=corner)
        self._place(0, row + 1)
        plain = b'\x1b[0m\x1b[0"q\x1b]8;;\x1b\\\x1b[%dl' % INSERT + ORDINARY_SETS
        terminal.feed(b"\x1b[J" + plain + back)

    def _set_region(self, region: bytes) -> None:
        column, row = self._terminal.cursor
        self._terminal.feed(region)
        self._place(column, row)

    def _place(self, column: int, row: int) -> None:
        """Move the cursor, which is not behind the last column then."""
        origin = self._terminal.mode(_ORIGIN)
        top, left = corner_of(extra(self._terminal, "scrolling_region")) if origin else (1, 1)
        self._terminal.feed(b"\x1b[%d;%dH" % (max(1, row + 2 - top), max(1, column + 2 - left)))

    def _print(self, data: bytes) -> None:
        """Feed output without any sequence that is read otherwise.

        Character sets are for ASCII only in the page's terminal; this one prints blanks for all other characters.
        """
        if self._sets and not data.isascii():
            sets = extra(self._terminal, "charsets")
            self._sets = not is_ordinary(sets)
        # Many programs choose a second set and hardly ever shift to it.
        if not self._sets or data.isascii() or (uses_ordinary(sets) and not shifts(data)):
            self._terminal.feed(data)
            return
        for part in _FROM_ESCAPE.findall(data):
            self._print_in_set(part)

    def _print_in_set(self, data: bytes) -> None:
        """Feed output with at most one ESC, at its start: once no sequence is open, all the rest is printed."""
        at = 0
        for found in _BEYOND_ASCII.finditer(data):
            self._terminal.feed(data[at : found.start()])
            at = found.start()
            if self.between_sequences and not _SHIFT.search(data, at):
                back = extra(self._terminal, "charsets").replace(b"\\", b"\\\\")
                self._terminal.feed(_BEYOND_ASCII.sub(ORDINARY_SETS + rb"\g<0>" + back, data[at:]))
                return
            at = found.end()
            self._in_set(found[0], ascii=not self.between_sequences)
        self._terminal.feed(data[at:])

    def _in_set(self, data: bytes, *, ascii: bool) -> None:
        """Feed characters so that the character set in use changes them only if they are ASCII."""
        sets = b"" if ascii or not self._sets else extra(self._terminal, "charsets")
        self._terminal.feed(ORDINARY_SETS + data + sets if sets else data)

    def _restore_cursor(self, sequence: bytes) -> None:
        """Take back the saved cursor as the page's terminal does.

        Origin mode and the shift between character sets stay as they are, the set in use becomes the saved one, and
        the cursor comes to the last column where it was saved behind it.
        """
        terminal = self._terminal
        origin, sets = terminal.mode(_ORIGIN), extra(terminal, "charsets")
        terminal.feed(sequence)
        if (saved := extra(terminal, "charsets")) != sets:
            terminal.feed(ORDINARY_SETS + with_set_in_use(sets, saved))
            self._sets = True
        column, row = terminal.cursor
        changed = terminal.mode(_ORIGIN) != origin
        if changed:
            terminal.feed(b"\x1b[?%d%c" % (_ORIGIN, b"lh"[origin]))
        if changed or origin or self.behind_last_column:
            self._place(column, row)

    def _soft_reset(self) -> None:
        """Do what the page's terminal does; this one does nothing."""
        column, row = self._terminal.cursor
        self._terminal.feed(_FIRST_STATE + b"\x1b[%d;%dH" % (row + 1, column + 1))

    @property
    def behind_last_column(self) -> bool:
        """True while the next character would wrap: the page's terminal finds nothing there to erase."""
        # Asked at each such sequence, of which coloured output is full: by the shortest way.
        lib.ghostty_terminal_get(self._handle, lib.GHOSTTY_TERMINAL_DATA_CURSOR_PENDING_WRAP, self._wraps)
        return bool(self._wraps[0]) and self.between_sequences

    @property
    def between_sequences(self) -> bool:
        """True while no sequence or string has begun that is not complete."""
        return bool(self._terminal.get("vt_ground", "bool"))

    def resize(self, cols: int, rows: int) -> None:
        """Change the size as a terminal window would."""
        self._region_below = b""
        self._terminal.resize(cols, rows)

    def rows(self) -> list[str]:
        """Return the text of every row without trailing blanks."""
        count = self._terminal.size[1]
        rows = [row.rstrip() for row in self._terminal.text().split("\n")]
        return rows[:count] + [""] * (count - len(rows))

    def state(self) -> tuple[tuple[int, int], bool, str]:
        """Return the cursor (column, row), True if the alternate screen is shown, and the title."""
        title = self._terminal.get("title", "GhosttyString")
        text = ffi.buffer(title.ptr, title.len)[:].decode("utf-8", "replace") if title.len else ""
        return self._terminal.cursor, self._alternate(), text

    def restore(self, *, joins: bool = False) -> bytes:
        """Return bytes that bring a fresh terminal of the same size into the same state, without any query.

        `joins` says that a character was printed last: a combining one may follow, or a wish to repeat it.
        """
        terminal = self._copy()
        cells = Cells(terminal)
        rows = cells.rows()
        out = []
        if title := _CONTROL.sub("", self.state()[2]):
            out.append(b"\x1b]2;%s\x1b\\" % title.encode())
        out += [self._colours(), extra(terminal, "tabstops")]
        if self._alternate():
            out.append(self._hidden())
        out += [_HOME, paint(rows)]
        margins = terminal.mode(_MARGINS)
        if margins:
            out.append(b"\x1b[?%dh" % _MARGINS)
        region = extra(terminal, "scrolling_region")
        out += [region, self._saved(always=margins or self._alternate())]
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
            corner = corner_of(region)
        out.append(cursor_sequence(terminal, cells, rows, joins=joins, corner=corner))
        return b"".join(out)

    def _hidden(self) -> bytes:
        """Return the primary screen, the cursor to which it goes back, and the way to the alternate one."""
        under = self._copy()
        entered = next((mode for mode in _SCREENS if under.mode(mode)), _SCREENS[0])
        under.feed(b"\x1b[?47l")  # the one that only switches
        cells = Cells(under)
        rows = cells.rows()
        under.feed(b"\x1b8")
        kept = saved_cursor_sequence(under, cells)
        save = b"" if entered == 1049 or kept == _HOME else b"\x1b7"  # 1049 does it by itself
        empty = PLAIN + ORDINARY_SETS + b"\x1b[2J"  # it may have been filled with the pen's background
        return _HOME + paint(rows) + self._region_below + kept + save + b"\x1b[?%dh" % entered + empty

    def _saved(self, *, always: bool) -> bytes:
        """Return what brings back the cursor that the program has saved."""
        back = self._copy()
        back.feed(b"\x1b8")
        kept = saved_cursor_sequence(back, Cells(back))
        return kept + b"\x1b7" + PLAIN + ORDINARY_SETS if always or kept != _HOME else b""

    def _copy(self) -> Terminal:
        """Return another terminal in the same state, without its scrollback, and out of any sequence."""
        copy = copy_of(self._terminal)
        copy.feed(_CANCEL)
        return copy

    def _colours(self) -> bytes:
        """Return the colours that the program has changed."""
        out, rgb = [], ffi.new("GhosttyColorRgb*")
        for name, code in (("FOREGROUND", 10), ("BACKGROUND", 11), ("CURSOR", 12)):
            key = getattr(lib, f"GHOSTTY_TERMINAL_DATA_COLOR_{name}")
            if lib.ghostty_terminal_get(self._handle, key, rgb) == 0:
                out.append(colour_sequence(b"%d" % code, rgb))
        now, usual = ffi.new("GhosttyColorRgb[256]"), ffi.new("GhosttyColorRgb[256]")
        for key, palette in (
            (lib.GHOSTTY_TERMINAL_DATA_COLOR_PALETTE, now),
            (lib.GHOSTTY_TERMINAL_DATA_COLOR_PALETTE_DEFAULT, usual),
        ):
            check(lib.ghostty_terminal_get(self._handle, key, palette))
        if bytes(ffi.buffer(now)) != bytes(ffi.buffer(usual)):
            for index, (one, other) in enumerate(zip(now, usual, strict=True)):
                if (one.r, one.g, one.b) != (other.r, other.g, other.b):
                    out.append(colour_sequence(b"4;%d" % index, one))
        return b"".join(out)

    def _alternate(self) -> bool:
        return bool(
            self._terminal.get("active_screen", "GhosttyTerminalScreen") == lib.GHOSTTY_TERMINAL_SCREEN_ALTERNATE
        )

    def _set(self, option: str, kind: str, value: object) -> None:
        code = getattr(lib, f"GHOSTTY_TERMINAL_OPT_{option}")
        check(lib.ghostty_terminal_set(self._handle, code, ffi.new(kind, value)))


def _last_printed(data: bytes, end: int) -> int:
    """Return the last byte before `end` if it is one of a printed character, or 0."""
    return data[end - 1] if prints_last(data, end) else 0


def _legible(data: bytes) -> bytes:
    """Return the output without what the page's terminal leaves out: DEL, and bytes that are no characters."""
    try:
        data.decode()
    except UnicodeDecodeError:
        data = data.decode("utf-8", "ignore").encode()
    return data.translate(None, b"\x7f") if b"\x7f" in data else data


# The library looks up the names of types when they are first used, 10 ms each: not while a person waits.
Ghostty(2, 1).restore()
