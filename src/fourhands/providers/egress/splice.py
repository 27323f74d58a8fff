"""Two connections joined: what one sends, the other gets, no faster than it can take it."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast


@dataclass(slots=True, eq=False)
class ByteCount:
    """Bytes that went out of a cell and came in, counted as they go."""

    up: int = 0
    down: int = 0

    def sent(self, size: int) -> None:
        """Count bytes that went out."""
        self.up += size

    def came(self, size: int) -> None:
        """Count bytes that came in."""
        self.down += size


class _Side(asyncio.Protocol):
    """One of the two connections."""

    def __init__(self, done: "asyncio.Future[None]", tally: Callable[[int], None]) -> None:
        self.transport: asyncio.Transport
        self.peer: _Side | None = None
        self.ended = False
        self.done = done
        self._tally = tally
        self._early: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self.transport = cast(asyncio.Transport, transport)

    def join(self, peer: "_Side") -> None:
        """Meet the other side, and pass on what came before it was there."""
        self.peer = peer
        # uvloop reads at once, whatever it is told in `connection_made`.
        for data in self._early:
            peer.transport.write(data)
        self._early.clear()
        if self.ended:
            self.eof_received()
        if self.done.done():
            peer.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Pass on what has come."""
        self._tally(len(data))
        if self.peer is not None:
            self.peer.transport.write(data)
        else:
            self._early.append(data)

    def eof_received(self) -> bool:
        """Pass on the end of one direction; the other one may go on."""
        self.ended = True
        if self.peer is not None and not self.peer.transport.is_closing():
            if self.peer.ended:
                self.peer.transport.close()
                return False
            self.peer.transport.write_eof()
        return True

    def pause_writing(self) -> None:
        """Read no more from the other side while this one is full."""
        if self.peer is not None and not self.peer.transport.is_closing():
            self.peer.transport.pause_reading()

    def resume_writing(self) -> None:
        """Read on."""
        if self.peer is not None and not self.peer.transport.is_closing():
            self.peer.transport.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        """End the other side in the same way: a reset is passed on as one."""
        if self.peer is not None and not self.peer.transport.is_closing():
            if error is None and self.ended:
                self.peer.transport.close()
            else:
                self.peer.transport.abort()
        if not self.done.done():
            self.done.set_result(None)


async def splice(
    inner: socket.socket, outer: socket.socket, count: ByteCount, first: bytes = b"", back: bytes = b""
) -> None:
    """Join two connected sockets until both have ended; they are closed then.

    Before the rest, `first` is sent out and `back` is sent to the inner one.
    """
    loop = asyncio.get_running_loop()
    sides: list[_Side] = []
    try:
        for sock, tally in ((inner, count.sent), (outer, count.came)):
            side = _Side(loop.create_future(), tally)
            await loop.create_connection(lambda side=side: side, sock=sock)  # type: ignore[misc]  # bound at once
            sides.append(side)
        one, other = sides
        if first:
            count.sent(len(first))
            other.transport.write(first)
        if back:
            one.transport.write(back)
        one.join(other)
        other.join(one)
        await asyncio.wait([one.done, other.done])
    finally:
        for side in sides:
            side.transport.abort()
        for sock in (inner, outer)[len(sides) :]:
            sock.close()


def reset(connection: socket.socket) -> None:
    """Close a connection so that the program at its other end fails at once."""
    with contextlib.suppress(OSError):  # it may have gone already
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
