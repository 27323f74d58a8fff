"""Lines out of a stream that arrives in pieces, text or bytes, in bounded memory."""

from dataclasses import dataclass
from typing import AnyStr, Generic


@dataclass(frozen=True, slots=True)
class Overlong(Generic[AnyStr]):
    """The report of a line that was longer than the limit: its size, its beginning and its end, without the newline."""

    size: int
    head: AnyStr
    tail: AnyStr


class LineSplitter(Generic[AnyStr]):
    r"""Splits at "\n". However the stream is cut into pieces, the lines are the same.

    A line of more than `limit` bytes or characters is not kept; where it ends, an `Overlong` with up to `ends` bytes
    or characters of both its ends takes its place.
    """

    def __init__(self, limit: int, *, ends: int = 256) -> None:
        self._limit = limit
        self._ends = ends
        self._parts: list[AnyStr] = []  # of the line that has not ended; once it is too long, its beginning only
        self._tail: list[AnyStr] = []  # of a line that is too long; at most one item
        self._size = 0

    @property
    def unfinished(self) -> int:
        """The number of bytes or characters of the line that has not ended."""
        return self._size

    def feed(self, data: AnyStr) -> list[AnyStr | Overlong[AnyStr]]:
        """Return the lines that end in this piece, without their newlines."""
        pieces = data.split("\n") if isinstance(data, str) else data.split(b"\n")
        lines: list[AnyStr | Overlong[AnyStr]] = []
        for end in pieces[:-1]:
            self._add(end)
            lines.append(self._take(data[:0]))
        self._add(pieces[-1])
        return lines

    def close(self) -> AnyStr | Overlong[AnyStr] | None:
        """Return the line that the stream ended in without a newline; None where the last line was complete."""
        return self._take(self._parts[0][:0]) if self._parts else None

    def _add(self, part: AnyStr) -> None:
        if not part:
            return
        self._size += len(part)
        if self._size <= self._limit:
            self._parts.append(part)
            return
        head = part[:0].join(self._parts)
        tail = part[:0].join(self._tail) if self._tail else head
        self._parts[:] = [(head + part[: self._ends])[: self._ends]]
        self._tail[:] = [(tail + part)[-self._ends :]]

    def _take(self, nothing: AnyStr) -> AnyStr | Overlong[AnyStr]:
        whole, tail, size = nothing.join(self._parts), nothing.join(self._tail), self._size
        self._parts.clear()
        self._tail.clear()
        self._size = 0
        return whole if size <= self._limit else Overlong(size, whole, tail)
