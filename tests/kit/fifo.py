"""A named pipe as a gate: what reads from it waits until a test lets it through."""

import asyncio
import errno
import os
from pathlib import Path

LIMIT_S = 40


async def opened_for(gate: Path) -> int:
    """Return a descriptor to write to a gate, once something reads from it.

    An ordinary `open` would wait in a thread, which nothing ends if no reader comes: the whole run would hang.
    """
    async with asyncio.timeout(LIMIT_S):
        while True:
            try:
                return os.open(gate, os.O_WRONLY | os.O_NONBLOCK)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
            await asyncio.sleep(0.005)  # the kernel does not tell of a reader


async def let_through(gate: Path) -> None:
    """Let what reads a line from a gate go on. Not twice through one gate: the next reader may get this one's end."""
    fd = await opened_for(gate)
    os.write(fd, b"go\n")
    os.close(fd)
