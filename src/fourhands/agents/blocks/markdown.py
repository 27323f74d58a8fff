"""Finds block markers in markdown that arrives in pieces, and never inside code.

`MarkdownScanner` keeps what has to be remembered between two pieces: an open fence or span, how far a line may still
be the head of a fence, and a part of a marker at the very end. It holds no text apart from that part (at most four
characters) and the last list mark of a line head. All work is driven by the few signs that matter, so long plain text
costs a memchr; of its lines only those are looked at that begin with something else than a word (`margin.py`).
"""

import re

from fourhands.agents.blocks.margin import Margin
from fourhands.agents.blocks.sight import Sight, column_behind, past
from fourhands.core.quote import MARK

# A list mark counts only with a blank behind it, as in CommonMark. Possessive: there is never a reason to go back.
_HEAD = re.compile(r"(?P<blanks>[ \t]+)|(?P<quote>>)|(?P<mark>[-*+]|(?P<number>[0-9]{1,9})[.)])(?=[ \t])")
_PARTIAL = re.compile(r"[-*+]|[0-9]{1,9}[.)]?|~{1,2}|\r")
# Where a line begins that may be something else than the next one of a paragraph.
_TURN = re.compile(r"\n(?=[ \t\r\n>*+~0-9-]|\Z)")
_BLANK = re.compile(r"[ \t]*\r?")
_INDENT = re.compile(r"[ \t>]*")
_BLANKS = re.compile(r"[ \t]*")
_TICKS = re.compile(r"`*")
_TILDES = re.compile(r"~*")
_SPAN_STOP = re.compile(r"[`\n]")


# Modes. Plain numbers, because an enum's members are looked up several times per sign.
_TEXT = 0
_SPAN = (
    1  # up to a run of as many signs, or the end of the line; or the first line of a fence, as long as it may be one
)
_FENCE = 2
_LONG = 3  # up to a run of at least as many signs, or the end of the paragraph
_LINE = 4  # indented code

# How far a line inside a fence may still be the one that closes it.
_OPENING = 0  # still in the tildes that open the fence
_SKIP = 1
_MARGIN = 2
_SIGNS = 3
_TRAIL = 4
_RETURN = 5


class MarkdownScanner:
    """Follows fences, code spans and line heads through the pieces of one stream."""

    def __init__(self) -> None:
        self.carry = ""  # put in front of the next piece
        self.shown = 0  # this many characters of the carry have been shown already
        self._mode = _TEXT
        self._head = True  # the line so far is only quotation marks, blanks and list marks
        self._column = 0
        self._quotes = 0
        self._ticks = 0  # a run of backquotes that the end of a piece cut
        self._escape = False  # the last piece ended with a backslash that escapes
        self._percents = False  # it ended in a run of three or more percent signs
        self._sign = "`"
        self._size = 0  # length of the run that opened the span or fence
        self._fence: tuple[int, int] | None = None  # column and quotes of a run that opens a fence if the line agrees
        self._line = _SKIP
        self._run = 0
        self._margin = Margin()
        self._bare = 0  # in long code: 1 while the line is only blanks, 2 behind a CR that may end it

    @property
    def unshown(self) -> int:
        """The number of characters at the end of the last piece that are held back."""
        return len(self.carry) - self.shown

    @property
    def plain(self) -> bool:
        """True if the next piece needs no look at all unless it holds a sign that matters."""
        return self._mode == _TEXT and not (self._head or self.carry or self._ticks or self._escape or self._percents)

    def resume(self, taken: str = "") -> None:
        """Go on behind a piece that was taken out of the stream; a line begins if it ended with a line end."""
        self._head = taken.endswith("\n")
        self._column = self._quotes = 0
        if self._head:
            last = taken.rfind("\n", 0, -1)
            blank = last >= 0 and _BLANK.fullmatch(taken, last + 1, len(taken) - 1) is not None
            self._margin.skip(blank=blank)

    def find(self, sight: Sight, pos: int) -> int:
        """Return the place of the next marker outside code, or -1 at the end of the piece.

        Percent signs before `pos` do not count. At the end, `carry` and `shown` say what to put before the next piece.
        """
        text, end = sight.text, sight.end
        floor = pos
        pos = self._continue(text, pos, end)
        while pos < end:
            if self._mode == _FENCE:
                pos = self._in_fence(text, pos, end)
                continue
            if self._mode == _SPAN:
                pos = self._in_span(text, pos, end)
                continue
            if self._mode == _LONG:
                pos = self._in_long(text, pos, end)
                continue
            if self._mode == _LINE:
                pos = self._in_line(text, pos, end)
                continue
            stop = sight.look(pos)
            reached = self._follow(text, pos, stop, end)
            if self._mode == _LINE:
                pos = reached
                continue
            if stop == end:
                self._remember(text, pos, end)
                return -1
            if stop == sight.mark:
                if self._end_head():
                    pos = stop
                    continue
                if stop == floor or text[stop - 1] != "%":
                    return stop
                pos = stop + len(MARK)
            elif stop == sight.tick:
                pos = self._backquotes(text, pos, stop, end)
            else:
                pos = self._tildes(text, stop, end)
        return -1

    def _continue(self, text: str, pos: int, end: int) -> int:
        """Finish what the end of the last piece cut: a run of signs, or an escape."""
        if pos == end:
            return pos
        if self._percents:
            while pos < end and text[pos] == "%":
                pos += 1
            self._percents = pos == end
        elif self._escape:
            self._escape = False
            if text[pos] in "`\\":
                pos += 1
        elif self._ticks:
            behind = past(_TICKS, text, pos)
            self._ticks += behind - pos
            pos = behind
            if pos < end:
                run, self._ticks = self._ticks, 0
                self._ran(run)
        return pos

    def _follow(self, text: str, pos: int, stop: int, end: int) -> int:
        """Keep account of the lines and their heads over `text[pos:stop]`; return where indented code begins, or stop.

        At `stop` a head may still be open: then the sign there decides what the line is.
        """
        while True:
            if self._head:
                pos = self._read_head(text, pos, stop, end)
                if self._mode == _LINE or pos == stop:
                    return pos
            if self._head:
                newline = pos
            elif self._margin.text_line:
                turn = _TURN.search(text, pos, stop)
                newline = turn.start() if turn else -1
            else:
                newline = text.find("\n", pos, stop)
            if newline < 0:
                return stop
            self._end_line()
            pos = newline + 1

    def _read_head(self, text: str, pos: int, stop: int, end: int) -> int:
        """Read on in the head of a line: return the place of what ends it, a line end or content, or `stop`."""
        margin = self._margin
        while pos < stop:
            token = _HEAD.match(text, pos, stop)
            if token is None:
                if text[pos] == "\n":
                    return pos
                if text.startswith("\r\n", pos, stop):
                    return pos + 1
                if stop == end and _PARTIAL.fullmatch(text, pos):
                    self.carry = text[pos:]
                    self.shown = len(self.carry)
                    return stop
                self._end_head()
                return pos
            behind = token.end()
            column = column_behind(self._column, text, pos, behind)
            if token["quote"]:
                self._quotes += 1
                margin.quote(self._column)
            elif token["mark"]:
                number = token["number"]
                margin.mark(self._column, column, interrupts=number is None or int(number) == 1)
            self._column, pos = column, behind
        return pos

    def _end_head(self) -> bool:
        """Content stands here, whether or not a head was open until now; return whether it is indented code."""
        if not self._head:
            return False
        self._head = False
        if self._margin.text(self._column):
            self._mode = _LINE
        return self._mode == _LINE

    def _end_line(self) -> None:
        self._margin.end()
        self._head = True
        self._column = self._quotes = 0

    def _remember(self, text: str, pos: int, end: int) -> None:
        """At the end of a piece: keep a part of a marker, a backslash that escapes, or a long run of percent signs."""
        if self.carry:
            return
        last = text[end - 1]
        if last == "%":
            start = end - 1
            while start > pos and text[start - 1] == "%":
                start -= 1
            self._percents = end - start > 2
            if not self._percents:
                self.carry, self.shown = text[start:], 0
        elif last == "\\":
            start = end - 1
            while start > pos and text[start - 1] == "\\":
                start -= 1
            self._escape = bool((end - start) & 1)
        elif last in "OS":
            for part in ("%%OS", "%%O"):
                start = end - len(part)
                if start >= pos and text.endswith(part) and (start == pos or text[start - 1] != "%"):
                    self.carry, self.shown = part, 0
                    break

    def _backquotes(self, text: str, pos: int, stop: int, end: int) -> int:
        """Read the run of backquotes at `stop`; a backslash before it takes the first one away."""
        back = stop
        while back > pos and text[back - 1] == "\\":
            back -= 1
        if (stop - back) & 1:
            return stop + 1
        behind = past(_TICKS, text, stop)
        self._fence = (self._column, self._quotes) if self._head else None
        if self._head:
            self._head = False
            self._margin.text(self._column)
        if behind == end:
            self._ticks = behind - stop
        else:
            self._ran(behind - stop)
        return behind

    def _ran(self, run: int) -> None:
        """Take a whole run of backquotes."""
        if self._mode == _TEXT:
            self._size = run
            if run > 2 and self._fence is not None:
                self._mode = _SPAN
                return
            self._fence = None
            self._open_code(long=run > 2)
        elif self._fence is not None:  # a second run in the line: this was never a fence
            self._fence = None
            if run >= self._size and not self._margin.code:
                self._mode = _TEXT
            else:
                self._open_code(long=True)
        elif run == self._size or (run > self._size and self._mode == _LONG):
            self._mode = _TEXT

    def _open_code(self, *, long: bool) -> None:
        self._mode = _LINE if self._margin.code else _LONG if long else _SPAN
        self._bare = 0

    def _in_span(self, text: str, pos: int, end: int) -> int:
        stop = _SPAN_STOP.search(text, pos)
        if stop is None:
            return end
        if stop[0] == "`":
            behind = _TICKS.match(text, stop.start()).end()  # type: ignore[union-attr]  # matches the empty text too
            if behind == end:
                self._ticks = behind - stop.start()
            else:
                self._ran(behind - stop.start())
            return behind
        if self._fence is None:
            self._mode = _TEXT
            return stop.start()  # the line head begins with this newline
        self._open_fence("`", self._size, self._fence)
        self._new_line()
        return stop.end()

    def _in_long(self, text: str, pos: int, end: int) -> int:
        """Read on in code that ends with a run of backquotes or with the paragraph."""
        while pos < end:
            if self._bare:
                if self._bare == 1:
                    pos = past(_BLANKS, text, pos)
                    if pos == end:
                        return end
                if text[pos] == "\n":
                    self._mode = _TEXT
                    self._margin.skip(blank=True)
                    self._head = True
                    self._column = self._quotes = 0
                    return pos + 1
                if text[pos] == "\r" and self._bare == 1:
                    self._bare = 2
                    pos += 1
                    continue
                self._bare = 0
            stop = _SPAN_STOP.search(text, pos)
            if stop is None:
                return end
            if stop[0] == "`":
                behind = past(_TICKS, text, stop.start())
                if behind == end:
                    self._ticks = behind - stop.start()
                else:
                    self._ran(behind - stop.start())
                return behind
            self._bare = 1
            pos = stop.end()
        return end

    def _in_line(self, text: str, pos: int, end: int) -> int:
        newline = text.find("\n", pos)
        if newline < 0:
            return end
        self._mode = _TEXT
        return newline

    def _tildes(self, text: str, stop: int, end: int) -> int:
        behind = past(_TILDES, text, stop)
        if self._head:
            self._margin.text(self._column)
            self._open_fence("~", behind - stop, (self._column, self._quotes))
            self._line = _OPENING
        self._head = False
        return behind

    def _open_fence(self, sign: str, size: int, place: tuple[int, int]) -> None:
        self._mode = _FENCE
        self._margin.fence()
        self._sign = sign
        self._size = size
        self._fence = place

    def _new_line(self) -> None:
        self._line = _MARGIN
        self._column = self._quotes = 0

    def _in_fence(self, text: str, pos: int, end: int) -> int:
        """Read on in a fence, up to the newline that ends its closing line, or to the end."""
        sign = self._sign
        column, quotes = self._fence or (0, 0)
        while pos < end:
            line = self._line
            if line == _SKIP:
                # Only a line with three signs can close: go straight there, or to the last line.
                close = text.find(sign * 3, pos)
                newline = text.rfind("\n", pos, close if close >= 0 else end)
                if newline < 0 <= close:
                    newline = text.find("\n", close)
                if newline < 0:
                    return end
                pos = newline + 1
                self._new_line()
            elif line == _MARGIN:
                behind = past(_INDENT, text, pos)
                self._column = column_behind(self._column, text, pos, behind)
                self._quotes += text.count(">", pos, behind)
                pos = behind
                # More quotation marks than the opening had are content, not the end of the fence.
                if self._column > column + 3 or self._quotes > quotes:
                    self._line = _SKIP
                elif pos < end:
                    self._line = _SIGNS if text[pos] == sign else _SKIP
                    self._run = 0
            elif line in (_SIGNS, _OPENING):
                behind = past(_TICKS if sign == "`" else _TILDES, text, pos)
                if line == _OPENING:
                    self._size += behind - pos
                else:
                    self._run += behind - pos
                pos = behind
                if pos < end:
                    closing = line == _SIGNS and self._run >= self._size
                    self._line = _TRAIL if closing else _SKIP
            else:
                if line == _TRAIL:
                    pos = past(_BLANKS, text, pos)
                    if pos == end:
                        return end
                if text[pos] == "\n":
                    self._mode = _TEXT
                    return pos  # the line head begins with this newline
                if text[pos] == "\r" and line == _TRAIL:
                    self._line = _RETURN
                    pos += 1
                else:
                    self._line = _SKIP
        return end
