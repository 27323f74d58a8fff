"""Finds block markers in markdown that arrives in pieces, and never inside code.

`Prose` keeps what has to be remembered between two pieces: an open fence or span, how far a line may still be the head
of a fence, and a part of a marker at the very end. It holds no text apart from that part (at most four characters) and
the last list mark of a line head. All work is driven by the few signs that matter, so long plain text costs a memchr.
"""

import re
import sys

MARK = "%%OS{"

# A list mark counts only with a blank behind it, as in CommonMark. Possessive: there is never a reason to go back.
_PREFIX = re.compile(r"(?:[ \t>]+|[-*+](?=[ \t])|[0-9]{1,9}[.)](?=[ \t]))*+")
_PARTIAL = re.compile(r"[-*+]|[0-9]{1,9}[.)]?|~{1,2}")
_INDENT = re.compile(r"[ \t>]*")
_BLANKS = re.compile(r"[ \t]*")
_TICKS = re.compile(r"`*")
_TILDES = re.compile(r"~*")
_SPAN_STOP = re.compile(r"[`\n]")


# Modes. Plain numbers, because an enum's members are looked up several times per sign.
_TEXT = 0
_SPAN = 1
_FENCE = 2

# How far a line inside a fence may still be the one that closes it.
_OPENING = 0  # still in the tildes that open the fence
_SKIP = 1
_MARGIN = 2
_SIGNS = 3
_TRAIL = 4
_RETURN = 5


class Sight:
    """One piece of text with the next places of the signs that matter, each looked up only once."""

    __slots__ = ("end", "mark", "text", "tick", "tilde")

    def __init__(self, text: str) -> None:
        self.text = text
        self.end = len(text)
        self.tick = self.tilde = self.mark = -1

    def look(self, pos: int) -> int:
        """Return the first place at or behind `pos` that matters to prose, or the end."""
        if self.tick < pos:
            self.tick = self._next("`", "`", pos)
        if self.tilde < pos:
            self.tilde = self._next("~", "~~~", pos)
        if self.mark < pos:
            self.mark = self._next("%", MARK, pos)
        return min(self.tick, self.tilde, self.mark)

    def _next(self, first: str, whole: str, pos: int) -> int:
        # One character is found several times faster than a word, and most text has not even that.
        place = self.text.find(first, pos)
        if place >= 0 and whole is not first:
            place = self.text.find(whole, place)
        return place if place >= 0 else self.end


class Prose:
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

    @property
    def unshown(self) -> int:
        """How many characters at the end of the last piece are held back."""
        return len(self.carry) - self.shown

    @property
    def plain(self) -> bool:
        """Whether the next piece needs no look at all unless it holds a sign that matters."""
        return self._mode == _TEXT and not (self._head or self.carry or self._ticks or self._escape or self._percents)

    def resume(self, line_start: bool) -> None:
        """Go on behind a piece that was taken out of the stream."""
        self._head = line_start
        self._column = self._quotes = 0

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
            stop = sight.look(pos)
            self._follow(text, pos, stop, end)
            if stop == end:
                self._remember(text, pos, end)
                return -1
            if stop == sight.mark:
                self._head = False
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
            behind = _past(_TICKS, text, pos)
            self._ticks += behind - pos
            pos = behind
            if pos < end:
                run, self._ticks = self._ticks, 0
                self._ran(run)
        return pos

    def _follow(self, text: str, pos: int, stop: int, end: int) -> None:
        """Keep account of the line head over `text[pos:stop]`."""
        newline = text.rfind("\n", pos, stop)
        if newline >= 0:
            pos = newline + 1
            self._column = self._quotes = 0
        elif not self._head:
            return
        # Most lines begin with a letter, and most letters are none of the signs of a head.
        self._head = pos == stop or not text[pos].isalpha()
        if not self._head:
            return
        behind = _past(_PREFIX, text, pos, stop)
        self._column = _column(self._column, text, pos, behind)
        self._quotes += text.count(">", pos, behind)
        if behind < stop:
            if stop == end and _PARTIAL.fullmatch(text, behind):
                self.carry = text[behind:]
                self.shown = len(self.carry)
            else:
                self._head = False

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
        behind = _past(_TICKS, text, stop)
        self._fence = (self._column, self._quotes) if self._head else None
        self._head = False
        if behind == end:
            self._ticks = behind - stop
        else:
            self._ran(behind - stop)
        return behind

    def _ran(self, run: int) -> None:
        """A whole run of backquotes was read."""
        if self._mode == _TEXT:
            self._mode = _SPAN
            self._size = run
            if run < 3:
                self._fence = None
        else:
            self._fence = None  # a second run in the line: this was never a fence
            if run == self._size:
                self._mode = _TEXT

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

    def _tildes(self, text: str, stop: int, end: int) -> int:
        behind = _past(_TILDES, text, stop)
        if self._head:
            self._open_fence("~", behind - stop, (self._column, self._quotes))
            self._line = _OPENING
        self._head = False
        return behind

    def _open_fence(self, sign: str, size: int, place: tuple[int, int]) -> None:
        self._mode = _FENCE
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
                behind = _past(_INDENT, text, pos)
                self._column = _column(self._column, text, pos, behind)
                self._quotes += text.count(">", pos, behind)
                pos = behind
                # More quotation marks than the opening had are content, not the end of the fence.
                if self._column > column + 3 or self._quotes > quotes:
                    self._line = _SKIP
                elif pos < end:
                    self._line = _SIGNS if text[pos] == sign else _SKIP
                    self._run = 0
            elif line in (_SIGNS, _OPENING):
                behind = _past(_TICKS if sign == "`" else _TILDES, text, pos)
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
                    pos = _past(_BLANKS, text, pos)
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


def _past(pattern: re.Pattern[str], text: str, pos: int, end: int = sys.maxsize) -> int:
    """Return the place behind the longest match at `pos`; these patterns match the empty text too."""
    match = pattern.match(text, pos, end)
    return match.end() if match else pos


def _column(column: int, text: str, start: int, end: int) -> int:
    """Return the column behind `text[start:end]`, with a tab stop every four columns."""
    if text.find("\t", start, end) < 0:
        return column + end - start
    lead = column % 4
    return column - lead + len((" " * lead + text[start:end]).expandtabs(4))
