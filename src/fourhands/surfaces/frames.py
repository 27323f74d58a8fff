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
    """What is carried: a source of frames and a listener. It calls `wake` when there may be a frame."""

    wake: Callable[[], None]

    def next(self) -> str | Chunk | None:
        """The next frame: a word, some output, or nothing for now."""
        ...

    def hear(self, message: str | bytes) -> None:
        """A message of the client."""
        ...

    @property
    def crowded(self) -> bool:
        """Whether so much waits to be sent that nothing more should be heard."""
        ...

    @property
    def ending(self) -> bool:
        """Whether a word follows the last output."""
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
    """The beginning of a frame with some output, up to its first byte."""
    length = 8 + len(chunk.data)
    if length < 126:
        return _SHORT.pack(_BINARY, length, chunk.start)
    if length < 65536:
        return _MIDDLE.pack(_BINARY, 126, length, chunk.start)
    return _LONG.pack(_BINARY, 127, length, chunk.start)
