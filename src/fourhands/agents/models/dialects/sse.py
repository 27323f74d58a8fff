"""Cuts a stream of bytes into server-sent events, and keeps every byte of them.

Lines may end with LF, CRLF or CR, and the stream may be cut anywhere, also inside a CRLF.
"""

import re
from collections.abc import Iterator

from fourhands.core.errors import LimitReached

# The LF of a CRLF whose CR already ended an event. It shares that event's fate.
LATE = [b"\n"]

_ENDING = re.compile(rb"\r\n|\n|\r")


class SseParser:
    """Collects lines until an empty one ends the event."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._lines: list[bytes] = []
        self._parts: list[bytes] = []  # of the line that has not ended
        self._size = 0
        self._return = False  # the last byte was a CR, so a LF may still belong to it

    def feed(self, data: bytes) -> Iterator[list[bytes]]:
        """Yield each event that is complete, as its lines with their endings; the last line is the empty one."""
        pos = 0
        if self._return and data:
            self._return = False
            if data[0] == 10:
                pos = 1
                if self._lines:
                    self._lines[-1] += b"\n"
                else:
                    yield LATE
        for match in _ENDING.finditer(data, pos):
            line = data[pos : match.end()]
            empty = match.start() == pos and not self._parts
            if self._parts:
                line = b"".join([*self._parts, line])
                self._parts.clear()
            pos = match.end()
            self._lines.append(line)
            self._size += len(line)
            self._return = match[0] == b"\r" and pos == len(data)
            if empty:
                lines = self._lines
                self._lines, self._size = [], 0
                yield lines
        if pos < len(data):
            self._parts.append(data[pos:])
            self._size += len(data) - pos
        if self._size > self._largest:
            raise LimitReached(
                f"an event of the model's stream is larger than {self._largest} bytes", hint="it was cut off"
            )

    def close(self) -> list[bytes]:
        """Return the lines of an event that was not finished."""
        rest = [*self._lines, b"".join(self._parts)] if self._parts else self._lines
        self._lines, self._parts, self._size = [], [], 0
        return rest


def data_of(lines: list[bytes]) -> bytes | None:
    """Return the data of an event, or None if it has none (a comment, a retry time)."""
    found = [line for line in map(_data_line, lines) if line is not None]
    return b"\n".join(found) if found else None


def with_data(lines: list[bytes], data: bytes) -> bytes:
    """Return the event with other data, and every other line as it was."""
    out: list[bytes] = []
    placed = False
    for line in lines:
        if _data_line(line) is None:
            out.append(line)
        elif not placed:
            placed = True
            out += [b"data: ", data, ending_of(line)]
    return b"".join(out)


def ending_of(line: bytes) -> bytes:
    """Return how a line ends."""
    return line[len(line.rstrip(b"\r\n")) :]


def _data_line(line: bytes) -> bytes | None:
    line = line.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n")
    if line == b"data":
        return b""
    if not line.startswith(b"data:"):
        return None
    return line[6:] if line[5:6] == b" " else line[5:]
