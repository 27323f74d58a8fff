"""The one way from standard input and output into a running workbench: messages of JSON-RPC, one per line.

`fourhands mcp` and `fourhands acp` are started by other programs, which speak to them over pipes. Where a workbench
runs for the directory already, `relay` passes the lines on to it over a `Link`; where none runs, one is started in this
process. Descriptors may block, so reads and writes happen in threads; a line that is too long is never held whole.
"""

import asyncio
import contextlib
import os
import re
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import msgspec

from fourhands.core.errors import Unavailable
from fourhands.host.paths import WorkspaceDirs
from fourhands.safety.paths.errors import IN_PIECES
from fourhands.surfaces.discovery import held

LINE_LIMIT = 1024 * 1024
"""Bytes of a message, unless its protocol allows more."""

PATIENCE_S = 10.0
"""The time in which a workbench that is just starting must be ready."""

_TAIL = 256
_POLL_S = 0.1

# Where clients put the id of a message: behind the version at the beginning, or last of all.
_ID = rb'"id"\s*:\s*(\d{1,18}|"(?:[^"\\]|\\.){0,100}")'
_VERSION = rb'"jsonrpc"\s*:\s*"2\.0"'
_AT_FIRST = re.compile(rb"\s*\{\s*(?:" + _VERSION + rb"\s*,\s*)?" + _ID)
_AT_LAST = re.compile(_ID + rb"\s*(?:,\s*" + _VERSION + rb"\s*)?\}\s*\Z")

Start = Callable[[str], Awaitable[None]]
"""Serves a directory's workbench on standard input and output of this process, until they are closed."""

LinkOpener = Callable[[WorkspaceDirs], Awaitable["Link | None"]]
"""Connects to the workbench that runs for a workspace; None where none can be reached yet."""


class Link(Protocol):
    """A connection to a running workbench."""

    async def send(self, line: bytes) -> None:
        """Send one message."""
        ...

    async def receive(self) -> bytes:
        """Return the next bytes for standard output; empty at the end."""
        ...

    async def finish(self) -> None:
        """Announce that no further message will be sent."""
        ...

    async def close(self) -> None:
        """Close the connection; `Unavailable` if the workbench ended it for a reason of its own."""
        ...


@dataclass(frozen=True, slots=True)
class OverlongLine:
    """The remains of a line that was too long: its size, its beginning and its end."""

    size: int
    limit: int
    head: bytes
    tail: bytes

    def answer(self) -> bytes:
        """Return the refusal, addressed to the request if its id can be seen."""
        found = _AT_FIRST.match(self.head) or _AT_LAST.search(self.tail)
        id = msgspec.json.decode(found[1]) if found else None
        return refusal(id, -32600, f"message is {self.size} bytes; the limit is {self.limit} ({IN_PIECES})")


LineSource = asyncio.Queue[bytes | OverlongLine]
"""Lines from a descriptor; an empty one is the end."""


def refusal(id: object, code: int, message: str) -> bytes:
    """Return a JSON-RPC error as a line."""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}) + b"\n"


async def join_or_start(
    directory: str,
    connect: LinkOpener,
    start: Start,
    *,
    patience_s: float = PATIENCE_S,
    line_limit: int = LINE_LIMIT,
) -> None:
    """Serve standard input and output: by the workbench that runs for the directory, or by one started here."""
    dirs = WorkspaceDirs.of(directory)
    deadline = time.monotonic() + patience_s
    while True:
        if (link := await connect(dirs)) is not None:
            with claimed_streams() as (stdin, stdout):
                await relay(link, stdin, stdout, line_limit)
            return
        if not held(dirs.state):
            try:
                await start(directory)
                return
            except Unavailable:
                if not held(dirs.state):
                    raise  # Another process that was faster is not the reason.
        if time.monotonic() > deadline:
            raise Unavailable("a server holds this workspace but published no address", hint="try: fourhands stop")
        await asyncio.sleep(_POLL_S)  # Another process is starting it; only its files will show when it is ready.


async def relay(
    link: Link, stdin: int, stdout: int, line_limit: int = LINE_LIMIT, *, lines: LineSource | None = None
) -> None:
    """Pass messages between two descriptors and a workbench, until both directions or the workbench have ended.

    `lines` are those of a standard input that is read already.
    """
    if lines is None:
        lines = read_lines(stdin, line_limit)
    write = PipeOutput(stdout).write

    async def outward() -> None:
        while line := await lines.get():
            if isinstance(line, OverlongLine):
                await write(line.answer())
            elif line.strip():
                try:
                    line.decode()
                except UnicodeDecodeError as error:
                    await write(refusal(None, -32700, f"the message is not UTF-8: {error.reason}"))
                else:
                    await link.send(line)
        await link.finish()

    try:
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(outward())
            while data := await link.receive():
                await write(data)
            sending.cancel()
    except* OSError:
        pass  # One of the two sides has gone.
    finally:
        await link.close()


class PipeOutput:
    """A descriptor to which several tasks write whole messages, each in one piece."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._writing = asyncio.Lock()

    async def write(self, data: bytes) -> None:
        """Write, however long it takes."""
        async with self._writing:
            await asyncio.to_thread(self._write, data)

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]


def read_lines(descriptor: int, limit: int = LINE_LIMIT) -> LineSource:
    """Read in a daemon thread, because a blocked read of a pipe cannot be cancelled; return the lines as they come."""
    loop = asyncio.get_running_loop()
    lines: LineSource = asyncio.Queue(16)

    def put(line: bytes | OverlongLine) -> bool:
        try:
            asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()
        except (RuntimeError, asyncio.CancelledError):
            return False  # The loop has ended.
        return True

    def read() -> None:
        line = _Line(limit)
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
    return lines


class _Line:
    """A line without an end yet, in parts that are joined once; of an overlong one only the two ends are stored."""

    def __init__(self, limit: int) -> None:
        self.size = 0
        self._limit = limit
        self._parts: list[bytes] = []
        self._tail = b""

    def add(self, part: bytes) -> None:
        self.size += len(part)
        if self.size <= self._limit:
            self._parts.append(part)
        else:
            self._tail = (self._tail + part)[-_TAIL:]

    def take(self) -> bytes | OverlongLine:
        whole, size, tail = b"".join(self._parts), self.size, self._tail
        self.size, self._parts, self._tail = 0, [], b""
        if size <= self._limit:
            return whole
        return OverlongLine(size, self._limit, whole[:_TAIL], (whole + tail)[-_TAIL:])


@contextlib.contextmanager
def claimed_streams() -> Iterator[tuple[int, int]]:
    """Reserve standard input and output for this block: everything else the process prints goes to standard error."""
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
        os.close(stdout)  # Not stdin: a thread may still read it, and its number must not become another file's.
