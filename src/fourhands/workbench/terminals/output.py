"""Views on a terminal's log: every read of its output is cut from the one file here.

Bytes are the truth and positions count them. A view is decoded and sanitized when it is asked for, and its edges
never fall inside a character or an escape sequence: what is not complete yet belongs to the next read.
"""

import os
import re
import stat
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from fourhands.core.errors import BadArgument
from fourhands.host.log import GRAIN, Chunk, LogReader
from fourhands.safety.redaction.redactor import Redactor
from fourhands.safety.regex import compile_pattern
from fourhands.safety.sanitizer.sanitizer import sanitize

MOST_LINES = 10_000
"""Lines that one read gives at most."""

SCROLLBACK = 50_000
READ_LIMIT = 4 * 1024 * 1024
"""Bytes that one read takes at most; the next one goes on from its end."""

REDACTED_AT_ONCE = 10_000
"""Lines of a search that are redacted together."""

_SEQUENCE_LIMIT = 256 * 1024
# A whole escape sequence from its ESC on; what begins and does not match is not complete.
_WHOLE_SEQUENCE = re.compile(
    rb"\x1b(?:\[[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]|[\]PX^_][^\x07\x1b\x18\x1a]*(?:\x07|\x1b|\x18|\x1a)"
    rb"|[\x20-\x2f]+[\x30-\x7e]|[\x30-\x4f\x51-\x57\x59\x5a\x5c\x60-\x7e]|[^\x20-\x7e])"
)
# Blanks with nothing but colours between and behind them.
_BLANK_TAIL = re.compile(rb" (?: |\x1b\[[\x30-\x3f]*m)*+\Z")
_TAIL_LIMIT = 1024


@dataclass(frozen=True, slots=True)
class Slice:
    """A piece of output as text.

    `start` and `end` are positions in the log; `end` is where the next read goes on. `gap` names what had been
    asked for and is gone; `truncated` says that text was left out.
    """

    text: str
    start: int
    end: int
    gap: tuple[int, int] | None = None
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class OutputMatch:
    """A line that matched, and the positions at which the line begins and ends."""

    position: int
    line: str
    end: int


@dataclass(frozen=True, slots=True)
class Cropped:
    """A text with its middle left out, and the true totals."""

    text: str
    characters: int
    lines: int
    omitted: int


def open_log(path: str, capacity: int) -> tuple[LogReader, str]:
    """Return a terminal's log; where it cannot be had, an empty one and the reason."""
    try:
        reader = LogReader(path, capacity)
        if stat.S_ISREG(os.fstat(reader.fd).st_mode):
            return reader, ""
        reader.close()
        why = "it is no file"
    except OSError as error:
        why = str(error.strerror)
    return LogReader(os.devnull, capacity), f"its output cannot be read: {path}: {why}"


def whole_characters(data: bytes) -> int:
    """Return how many bytes of `data` do not end inside a character."""
    end = len(data)
    for back in range(1, min(4, end) + 1):
        byte = data[end - back]
        if byte & 0xC0 != 0x80:
            length = 1 if byte >= 0xF8 else 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
            return end - back if length > back else end
    return end


def whole_end(data: bytes) -> int:
    """Return how many bytes of `data` end neither inside a character nor inside an escape sequence."""
    end = whole_characters(data)
    escape = data.rfind(b"\x1b", max(0, end - _SEQUENCE_LIMIT), end)
    if data[escape + 1 : escape + 2] == b"\\":
        return end  # the end of a string, not the beginning of a sequence
    if escape >= 0 and not _WHOLE_SEQUENCE.match(data, escape, end):
        return escape
    return end


def _whole_start(data: bytes) -> int:
    """Return how many bytes at the beginning of `data` are the rest of a character."""
    for skip in range(min(3, len(data)) + 1):
        if skip == len(data) or data[skip] & 0xC0 != 0x80:
            return skip
    return 0  # not UTF-8: nothing to align to


def read_range(log: LogReader, start: int, end: int) -> Chunk:
    """All bytes from `start` up to `end`, or from the floor if that has passed `start`."""
    pieces: list[bytes] = []
    first = position = start
    while position < end:
        chunk = log.read(position, min(16 * GRAIN, end - position))
        if not chunk.data:
            break
        if chunk.start != position:  # evicted under our hands: what was read before is not adjacent any more
            pieces.clear()
            first = chunk.start
        pieces.append(chunk.data[: max(0, end - chunk.start)])
        position = chunk.end
    return Chunk(first, b"".join(pieces))


@dataclass(frozen=True, slots=True)
class RawSlice:
    """A piece of output as bytes; `gap` and `truncated` are those of `Slice`."""

    start: int
    data: bytes
    gap: tuple[int, int] | None
    truncated: bool

    @property
    def end(self) -> int:
        """The position behind the last byte."""
        return self.start + len(self.data)


def since(log: LogReader, position: int, *, limit: int = READ_LIMIT, closed: bool = False) -> Slice:
    """Return everything from a position on, up to `limit` bytes, as text; see `raw_since`."""
    piece = raw_since(log, position, log.head, limit=limit, closed=closed)
    return Slice(sanitize(piece.data), piece.start, piece.end, piece.gap, piece.truncated)


def raw_since(log: LogReader, position: int, head: int, *, limit: int = READ_LIMIT, closed: bool = False) -> RawSlice:
    """Return the bytes from a position up to `head`, at most `limit` of them, cut where text may be cut.

    `closed`: nothing more will come, so nothing is held back.
    """
    if not isinstance(position, int) or not 0 <= position <= head:
        raise BadArgument(
            f"position {position!r:.80} does not exist", hint=f"positions here go from {log.floor} to {head}"
        )
    start = max(position, log.floor)
    chunk = read_range(log, start, min(head, start + limit))
    gap = (position, chunk.start) if chunk.start > position else None
    data, start = chunk.data, chunk.start
    if gap is not None:
        skip = _whole_start(data)
        data, start = data[skip:], start + skip
    ended = start + len(data) >= head
    if not (closed and ended):
        # Blanks at the end of a line are not text; whether these are at its end is not known yet.
        data = data[: whole_end(data)]
        if blanks := _BLANK_TAIL.search(data, max(0, len(data) - _TAIL_LIMIT)):
            data = data[: blanks.start()]
    return RawSlice(start, data, gap, truncated=not ended)


def last(log: LogReader, wanted: int, fits: "EnoughText", head: int | None = None) -> tuple[str, int, bool]:
    """Return the end of the log as text, its start, and whether it is all: read backwards until `fits` is True."""
    head, lowest = log.head if head is None else head, log.floor
    window = max(wanted, 4 * 1024)
    while True:
        start = max(lowest, head - window)
        chunk = read_range(log, start, head)
        data, start = chunk.data, chunk.start
        whole = start == 0
        if not whole:  # begin with a whole line where there is one, else with a whole character
            newline = data.find(b"\n", 0, len(data) // 2 + 1)
            skip = newline + 1 if newline >= 0 else _whole_start(data)
            data, start = data[skip:], start + skip
        text = sanitize(data[: whole_end(data)])
        if start <= lowest or window >= head - lowest or fits(text):
            return text, start, whole
        window *= 4


class EnoughText:
    """Return True if a text is long enough."""

    def __init__(self, *, lines: int = 0, size: int = 0) -> None:
        self.lines = lines
        self.size = size

    def __call__(self, text: str) -> bool:
        """Enough lines, or enough bytes."""
        if self.lines:
            return text.count("\n") > self.lines
        return len(text) >= self.size and len(text.encode()) >= self.size


def check_count(count: int) -> None:
    """Refuse what is no number of lines."""
    if not isinstance(count, int) or count < 1:
        raise BadArgument(f"lines must be a whole number from 1, not {count!r:.80}")


def lines(log: LogReader, count: int) -> list[str]:
    """Return the last lines, at most 10,000; a line that has no end yet counts too."""
    check_count(count)
    count = min(count, MOST_LINES)
    text, _, _ = last(log, count * 100, EnoughText(lines=count))
    return text.removesuffix("\n").split("\n")[-count:] if text else []


def has_more_lines(log: LogReader, count: int) -> bool:
    """Return True if more lines are kept than so many."""
    text, _, _ = last(log, count * 100, EnoughText(lines=count))
    return text.removesuffix("\n").count("\n") >= count


def tail(log: LogReader, limit_bytes: int) -> Slice:
    """Return the last bytes of the sanitized text, cut at a character; `truncated` when anything is left out."""
    if limit_bytes < 0:
        raise BadArgument(f"limit_bytes must not be negative, not {limit_bytes}")
    head = log.head
    if limit_bytes == 0:
        return Slice("", head, head, truncated=head > 0)
    text, start, whole = last(log, limit_bytes, EnoughText(size=limit_bytes))
    data = text.encode()
    if len(data) > limit_bytes:
        data = data[-limit_bytes:]
        data = data[_whole_start(data) :]
        return Slice(data.decode(), start, head, truncated=True)
    return Slice(text, start, head, truncated=not whole)


def scrollback(log: LogReader, characters: int = SCROLLBACK) -> Chunk:
    """Return the raw end of the log, at most so many characters, from the beginning of a line where there is one."""
    head = log.head
    data = log.read(max(log.floor, head - 4 * characters), 4 * characters)
    raw = data.data[_whole_start(data.data) :]
    text = raw.decode("utf-8", "surrogateescape")[-characters:]
    kept = text.encode("utf-8", "surrogateescape")
    start = data.end - len(kept)
    if start > 0:
        newline = kept.find(b"\n")
        if newline >= 0:
            kept, start = kept[newline + 1 :], start + newline + 1
    return Chunk(start, kept)


def raw_lines(log: LogReader, head: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Every line that is kept, up to `head`, with its position; a line longer than 1 MiB comes in pieces."""
    position, rest = log.floor, b""
    start = position
    while head is None or position < head:
        chunk = log.read(position, 16 * GRAIN if head is None else min(16 * GRAIN, head - position))
        if not chunk.data:
            break
        if chunk.start != position:
            rest, start = b"", chunk.start
        position = chunk.end
        parts = (rest + chunk.data).split(b"\n")
        for part in parts[:-1]:
            yield start, part
            start += len(part) + 1
        rest = parts[-1]
        if len(rest) > 16 * GRAIN:
            yield start, rest
            start, rest = start + len(rest), b""
    if rest:
        yield start, rest


def search(
    log: LogReader,
    pattern: str,
    limit: int = 100,
    *,
    head: int | None = None,
    shows: Callable[[int, int], bool] | None = None,
    redactor: Redactor | None = None,
    at_once: int = REDACTED_AT_ONCE,
) -> list[OutputMatch]:
    """Lines in which a regular expression is found, the newest `limit` of them, in order.

    Lines of which `shows` says no are left out, and with a redactor (one that keeps lines) the others are looked at as
    it leaves them, `at_once` together: what must not be seen cannot be searched for either.
    """
    if limit < 1:
        raise BadArgument(f"limit must be at least 1, not {limit}")
    compiled = compile_pattern(pattern)
    found: list[OutputMatch] = []
    lines = (
        OutputMatch(at, sanitize(raw).replace("\n", " "), at + len(raw))
        for at, raw in raw_lines(log, head)
        if shows is None or shows(at, at + len(raw))
    )
    for match in lines if redactor is None else _redacted(lines, redactor, at_once):
        if compiled.search(match.line):
            found.append(match)
            if len(found) >= 2 * limit:
                del found[:-limit]
    return found[-limit:]


def _redacted(lines: Iterator[OutputMatch], redactor: Redactor, at_once: int) -> Iterator[OutputMatch]:
    """Yield the same lines without secrets, some at a time: there may be millions, and a key has many lines."""
    waiting: deque[OutputMatch] = deque()
    text = ""
    while some := list(islice(lines, at_once)):
        waiting.extend(some)
        *ready, text = (text + redactor.feed("".join(f"{match.line}\n" for match in some))).split("\n")
        for line in ready:
            yield replace(waiting.popleft(), line=line)
    for line in (text + redactor.close()).split("\n")[: len(waiting)]:
        yield replace(waiting.popleft(), line=line)


def crop(text: str, limit: int) -> Cropped:
    """Head and tail of a text that is too long, with a line between them that says exactly what is missing."""
    total_lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    if limit < 0:
        raise BadArgument(f"a crop limit must not be negative, not {limit}")
    if len(text) <= limit:
        return Cropped(text, len(text), total_lines, 0)
    front = limit // 2
    back = limit - front
    head, tail_ = text[:front], text[len(text) - back :]
    omitted = len(text) - front - back
    between = f"\n[… {omitted} of {len(text)} characters left out, {total_lines} lines in all …]\n"
    return Cropped(head + between + tail_, len(text), total_lines, omitted)
