"""The terminal emulator of Ghostty (libghostty-vt through pyghostty) as an `Emulator`.

Its own serialisation sets modes before it prints (so that origin mode or switched-off wrapping would spoil the
contents) and shows only one of the two screens; therefore `restore` takes contents, tab stops, region, style and
character sets from it piece by piece and puts them into an order that is safe for every terminal.
"""

import re
from collections.abc import Callable
from typing import Any

from fourhands.core.errors import Unavailable

try:
    from pyghostty import GhosttyError, Terminal, ffi, lib
    from pyghostty.core import init_sized
except (ImportError, OSError) as error:
    raise Unavailable("screens need the package pyghostty", hint=f"it cannot be loaded here: {error}") from error

# DEC private modes worth restoring. Left out are those whose setting makes a terminal answer (2031, 2048), the one that
# holds back drawing (2026), and the screens themselves.
_MODES = (1, 5, 7, 9, 12, 25, 45, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016, 2004)
_SCREENS = (1049, 1047, 47)
_ANSI_MODES = (4, 20)
_ORIGIN, _KEYPAD, _MARGINS = 6, 66, 69
_PLAIN = b"\x0f\x1b(B\x1b)B"  # ordinary character sets
_PULLED = 200  # rows by which a screen may grow and find in the scrollback what has left it
_PAGE = 50_000  # cells; scrollback is dropped by about so many at a time
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
        # Nothing here shows pictures; with no room for them the protocol that reads them from files is off.
        self._set("KITTY_IMAGE_STORAGE_LIMIT", "uint64_t*", 0)
        self._defaults = {mode: self._terminal.mode(mode) for mode in _MODES}

    def feed(self, data: bytes) -> None:
        """Take the next output, cut anywhere."""
        self._terminal.feed(data)

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

    def restore(self) -> bytes:
        """Give bytes that bring a fresh terminal of the same size into the same state, without any query."""
        terminal = self._terminal
        out = []
        if title := _CONTROL.sub("", self.state()[2]):
            out.append(b"\x1b]2;%s\x1b\\" % title.encode())
        out.append(self._extra("tabstops"))
        if self._alternate():
            out.append(self._hidden())
            entered = next((mode for mode in _SCREENS if terminal.mode(mode)), _SCREENS[0])
            out.append(b"\x1b[?%dh" % entered)
        out += [b"\x1b[H", self._format(), b"\x1b[0m"]
        if terminal.mode(_MARGINS):
            out.append(b"\x1b[?%dh" % _MARGINS)
        region = self._extra("scrolling_region")
        out += [region, self._saved()]
        for mode, default in self._defaults.items():
            if (now := terminal.mode(mode)) != default:
                out.append(b"\x1b[?%d%c" % (mode, b"lh"[now]))
        out += [b"\x1b[%dh" % mode for mode in _ANSI_MODES if terminal.mode(mode, ansi=True)]
        if terminal.mode(_KEYPAD):
            out.append(b"\x1b=")
        if flags := terminal.get("kitty_keyboard_flags", "uint8_t"):
            out.append(b"\x1b[=%d;1u" % flags)
        top = left = 1
        if terminal.mode(_ORIGIN):
            out.append(b"\x1b[?%dh" % _ORIGIN)
            top, left = _corner(region)
        out.append(self._place(top, left))
        if terminal.get("cursor_pending_wrap", "bool"):
            # Only printing the last cell again leaves the cursor behind it.
            out.append(self._format(terminal.cursor))
        out.append(self._pen())
        return b"".join(out)

    def _hidden(self) -> bytes:
        """Give the contents and cursor of the primary screen, read while the alternate one is shown."""
        # 47 switches without clearing and takes the cursor along; 1049 had saved that of the primary screen.
        back = b"\x1b8" if self._terminal.mode(1049) else b""
        return self._aside(
            b"\x1b[?47l" + back, lambda: b"\x1b[H" + self._format() + b"\x1b[0m" + self._place(), b"\x1b[?47h"
        )

    def _saved(self) -> bytes:
        """Give what brings back the cursor that the program has saved."""
        kept = self._aside(b"\x1b8", lambda: self._place() + self._pen())
        return kept + b"\x1b7\x1b[0m" + _PLAIN if kept not in (b"", b"\x1b[1;1H\x1b[0m") else b""

    def _aside(self, away: bytes, look: Callable[[], bytes], back: bytes = b"") -> bytes:
        """Look at something that only another state shows, and leave no trace."""
        terminal = self._terminal
        if not terminal.get("vt_ground", "bool"):
            return b""  # in the middle of a sequence, `away` would become a part of it
        modes = [mode for mode in (*_SCREENS, _ORIGIN) if terminal.mode(mode)]
        place, pen = self._place(), self._pen()
        last = self._format(terminal.cursor) if terminal.get("cursor_pending_wrap", "bool") else b""
        terminal.feed(away)
        seen = look()
        terminal.feed(back + b"\x1b[?6l" + _PLAIN + place + last + pen)
        for mode in (*_SCREENS, _ORIGIN):
            self._set("MODE", "GhosttyTerminalModeConfig*", {"mode": mode, "value": mode in modes})
        return seen

    def _place(self, top: int = 1, left: int = 1) -> bytes:
        column, row = self._terminal.cursor
        return b"\x1b[%d;%dH" % (row + 2 - top, column + 2 - left)

    def _pen(self) -> bytes:
        return self._extra("style") + self._extra("charsets").replace(_PLAIN[1:], b"")

    def _alternate(self) -> bool:
        return bool(
            self._terminal.get("active_screen", "GhosttyTerminalScreen") == lib.GHOSTTY_TERMINAL_SCREEN_ALTERNATE
        )

    def _set(self, option: str, kind: str, value: object) -> None:
        code = getattr(lib, f"GHOSTTY_TERMINAL_OPT_{option}")
        if lib.ghostty_terminal_set(self._terminal._t[0], code, ffi.new(kind, value)):
            raise GhosttyError(f"cannot set {option}")

    def _extra(self, name: str) -> bytes:
        """Give only what one of the formatter's extras adds to the contents."""
        plain, full = self._format((0, 0)), self._format((0, 0), name)
        if full.startswith(plain):
            return full[len(plain) :]
        return full.removesuffix(plain)

    def _format(self, cell: tuple[int, int] | None = None, extra: str = "") -> bytes:
        """Give the screen, or one cell of it, as text with colours."""
        terminal = self._terminal
        options = ffi.new("GhosttyFormatterTerminalOptions*", _OPTIONS[0])
        options.emit = lib.GHOSTTY_FORMATTER_FORMAT_VT
        for holder in (options.extra, options.extra.screen) if extra else ():
            if hasattr(holder, extra):
                setattr(holder, extra, True)
        selection = ffi.new("GhosttySelection*", _SELECTION[0])
        cols, rows = terminal.size
        selection.start = terminal.ref(*(cell or (0, 0)))[0]
        selection.end = terminal.ref(*(cell or (cols - 1, rows - 1)))[0]
        options.selection = selection
        formatter = ffi.new("GhosttyFormatter*")
        if lib.ghostty_formatter_terminal_new(ffi.NULL, formatter, terminal._t[0], options[0]):
            raise GhosttyError("cannot make a formatter")
        try:
            return _read(formatter[0])
        finally:
            lib.ghostty_formatter_free(formatter[0])


def _read(formatter: Any) -> bytes:
    size = ffi.new("size_t*")
    lib.ghostty_formatter_format_buf(formatter, ffi.NULL, 0, size)
    buffer = ffi.new("uint8_t[]", max(size[0], 1))
    if lib.ghostty_formatter_format_buf(formatter, buffer, len(buffer), size):
        raise GhosttyError("cannot format the screen")
    return bytes(ffi.buffer(buffer, size[0])[:])


def _corner(region: bytes) -> tuple[int, int]:
    """Give the upper left corner of a scrolling region, as row and column from 1."""
    rows = re.search(rb"\x1b\[(\d+);\d+r", region)
    cols = re.search(rb"\x1b\[(\d+);\d+s", region)
    return int(rows[1]) if rows else 1, int(cols[1]) if cols else 1
