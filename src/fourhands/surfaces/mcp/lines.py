"""Lines from and to descriptors that may block, for a loop that must not."""

import asyncio
import contextlib
import os
import threading
from collections.abc import Iterator


def read_lines(descriptor: int, lines: "asyncio.Queue[bytes]") -> None:
    """Read in a thread that nobody waits for: a read of a pipe cannot be given up. An empty line is the end."""
    loop = asyncio.get_running_loop()

    def put(line: bytes) -> bool:
        try:
            asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()
        except (RuntimeError, asyncio.CancelledError):
            return False  # the loop has ended
        return True

    def read() -> None:
        parts: list[bytes] = []  # of a line that has no end yet; joined once, however long it is
        while data := os.read(descriptor, 65536):
            *ends, rest = data.split(b"\n")
            for end in ends:
                if not put(b"".join([*parts, end, b"\n"])):
                    return
                parts.clear()
            parts.append(rest)
        if any(parts):
            put(b"".join(parts))
        put(b"")

    threading.Thread(target=read, name="standard input", daemon=True).start()


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
