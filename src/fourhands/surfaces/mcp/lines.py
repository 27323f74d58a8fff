"""Lines from and to descriptors that may block, for a loop that must not; one that is too long is never held whole."""

import asyncio
import contextlib
import os
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from fourhands.safety.paths.errors import IN_PIECES

LINE_LIMIT = 1024 * 1024
"""Bytes of a message."""

TAIL = 256

# Where clients put the id of a message: behind the version at the beginning, or last of all.
_ID = rb'"id"\s*:\s*(\d{1,18}|"(?:[^"\\]|\\.){0,100}")'
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
_AT_FIRST = re.compile(rb"\s*\{\s*(?:" + _VERSION + rb"\s*,\s*)?" + _ID)
_AT_LAST = re.compile(_ID + rb"\s*(?:,\s*" + _VERSION + rb"\s*)?\}\s*\Z")


@dataclass(frozen=True, slots=True)
class OverlongLine:
    """What is left of a line that was too long: its size, its beginning and its end."""

    size: int
    head: bytes
    tail: bytes

    def answer(self) -> bytes:
        """The refusal, to the request that it was if that can be seen."""
        found = _AT_FIRST.match(self.head) or _AT_LAST.search(self.tail)
        id = msgspec.json.decode(found[1]) if found else None
        return refusal(id, -32600, f"a message of {self.size} bytes; at most {LINE_LIMIT} are taken ({IN_PIECES})")


LineSource = asyncio.Queue[bytes | OverlongLine]


def refusal(id: object, code: int, message: str) -> bytes:
    """An error of the protocol as a line."""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}) + b"\n"


def read_lines(descriptor: int, lines: LineSource) -> None:
    """Read in a thread that nobody waits for: a read of a pipe cannot be given up. An empty line is the end."""
    loop = asyncio.get_running_loop()

    def put(line: bytes | OverlongLine) -> bool:
        try:
            asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()
        except (RuntimeError, asyncio.CancelledError):
            return False  # the loop has ended
        return True

    def read() -> None:
        line = _Line()
        while data := os.read(descriptor, 65536):
            *ends, rest = data.split(b"\n")
            for end in ends:
                line.add(end + b"\n")
                if not put(line.take()):
                    return
            line.add(rest)
        if line.size:
            put(line.take())
        put(b"")

    threading.Thread(target=read, name="standard input", daemon=True).start()


class _Line:
    """A line that has no end yet, in parts that are joined once; too long, only its two ends are kept."""

    def __init__(self) -> None:
        self.size = 0
        self._parts: list[bytes] = []
        self._tail = b""

    def add(self, part: bytes) -> None:
        self.size += len(part)
        if self.size <= LINE_LIMIT:
            self._parts.append(part)
        else:
            self._tail = (self._tail + part)[-TAIL:]

    def take(self) -> bytes | OverlongLine:
        whole, size, tail = b"".join(self._parts), self.size, self._tail
        self.size, self._parts, self._tail = 0, [], b""
        return whole if size <= LINE_LIMIT else OverlongLine(size, whole[:TAIL], (whole + tail)[-TAIL:])


def write_all(descriptor: int, data: bytes) -> None:
    """Write, however long it takes."""
    while data:
        data = data[os.write(descriptor, data) :]


@contextlib.contextmanager
def claimed_streams() -> Iterator[tuple[int, int]]:
    """Standard input and output for this block alone: what anybody else prints goes to standard error."""
    stdin, stdout = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    try:
        yield stdin, stdout
    finally:
        os.dup2(stdin, 0)
        os.dup2(stdout, 1)
        os.close(stdout)  # not the other: a thread may still read it, and its number must not become another file's
