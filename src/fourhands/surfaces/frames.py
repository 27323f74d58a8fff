"""WebSocket frames with terminal output, and what a connection that sends them by itself carries.

Terminal output is what is sent most, so a viewer is asked for its next frame when there is news and when the transport
takes more, and receives what was typed in the same turn in which it arrives: no queue and no task lies between the
socket and the terminal. `transport` has the connection; a server without it carries viewers by plain ASGI.
"""

import struct
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from fourhands.workbench.terminals.seat import Chunk

EXTENSION = "fourhands.frames"
"""The key of an ASGI scope's extensions under which the connection that carries viewers lies."""

# Binary, final, not masked; the length in the shortest of the three forms, as the standard demands; the position.
_SHORT, _MIDDLE, _LONG = struct.Struct("!BBQ"), struct.Struct("!BBHQ"), struct.Struct("!BBQQ")
_BINARY = 0x82


class Shown(Protocol):
    """A viewer on a connection: a source of frames and a listener. It calls `wake` when there may be a frame."""

    wake: Callable[[], None]

    def next(self) -> str | Chunk | None:
        """Return the next frame: a text message, output, or None for now."""
        ...

    def hear(self, message: str | bytes) -> None:
        """Take a message of the client."""
        ...

    @property
    def crowded(self) -> bool:
        """True while so much waits to be sent that no more input should be read."""
        ...

    @property
    def ending(self) -> bool:
        """True if a text message follows the last output."""
        ...


class Carrier(Protocol):
    """A connection that sends a viewer's frames by itself."""

    def carrying(self, shown: Shown) -> AbstractContextManager[None]:
        """Send what there is to show, and pass on what the client says, for the length of the block."""
        ...

    def without_pings(self) -> None:
        """Send no more pings on this connection."""
        ...


def header(chunk: Chunk) -> bytes:
    """Return the head of a frame with output, up to its first byte."""
    length = 8 + len(chunk.data)
    if length < 126:
        return _SHORT.pack(_BINARY, length, chunk.start)
    if length < 65536:
        return _MIDDLE.pack(_BINARY, 126, length, chunk.start)
    return _LONG.pack(_BINARY, 127, length, chunk.start)
