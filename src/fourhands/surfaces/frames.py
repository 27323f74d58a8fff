"""Our own WebSocket frames on uvicorn's transport, for what is sent most: terminals' output.

uvicorn's protocol class keeps HTTP, handshake, pings, close and the parsing of what clients send. A viewer that is
carried here is asked for its next frame when there is news and when the transport takes more, and hears what was typed
in the very turn in which it arrives: no queue and no task lies between the socket and the terminal. It leans on
uvicorn's internals, whose version is pinned; a server without this class carries viewers by plain ASGI.
"""

import contextlib
import logging
import socket
import struct
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request
from websockets.protocol import State

from fourhands.host.log import Chunk

log = logging.getLogger(__name__)

KEYS_PATH = "/ws/terminals"
KEYS_LIMIT = 16 * 1024 * 1024
"""Bytes of one message of keys: as many as can be typed at once."""

RECEIVED_AHEAD = 256 * 1024

EXTENSION = "fourhands.frames"
"""Where an ASGI scope has the connection that carries viewers."""

# Binary, final, not masked; the length in the shortest of the three forms, as the standard demands; the position.
_SHORT, _MIDDLE, _LONG = struct.Struct("!BBQ"), struct.Struct("!BBHQ"), struct.Struct("!BBQQ")
_BINARY = 0x82
_ESTABLISHED = 1  # of the kernel's states of a connection


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


class Frames(WebSocketsSansIOProtocol):
    """uvicorn's WebSocket protocol; it carries viewers itself, and who does not answer or is no WebSocket is gone."""

    _shown: Shown | None = None
    _again = False

    async def run_asgi(self) -> None:
        """Offer to carry what is shown."""
        extensions: Any = self.scope["extensions"]
        extensions[EXTENSION] = self
        await super().run_asgi()

    @contextlib.contextmanager
    def carrying(self, shown: Shown) -> Iterator[None]:
        """Send what there is to show, and let it hear what the client says, for the length of the block."""
        self._shown, shown.wake = shown, self.pull
        try:
            self.pull()
            yield
        finally:
            self._shown = None

    def pull(self) -> None:
        """Send what there is, one piece of output at most: other connections have their turn before the next."""
        try:
            self._pull()
        except Exception:  # called for news, with other viewers behind us: this one's trouble ends here
            log.exception("a viewer failed")
            self.transport.abort()

    def _pull(self) -> None:
        shown = self._shown
        if shown is None:
            return
        while self.writable.is_set() and self.conn.state is State.OPEN and not self.transport.is_closing():
            frame = shown.next()
            if frame is None:
                break
            if isinstance(frame, str):
                self.conn.send_text(frame.encode())
                self.transport.write(b"".join(self.conn.data_to_send()))
                continue
            self.transport.writelines((header(frame), frame.data))
            if frame.more or shown.ending:
                self._pull_again()
            break
        if self.read_paused and not shown.crowded:
            self.read_paused = False
            self.transport.resume_reading()

    def _pull_again(self) -> None:
        if not self._again:
            self._again = True
            self.loop.call_soon(self._next_turn)

    def _next_turn(self) -> None:
        self._again = False
        self.pull()

    def resume_writing(self) -> None:
        """The transport takes more."""
        super().resume_writing()
        self.pull()

    def send_receive_event_to_app(self) -> None:
        """A whole message: what a viewer is to hear goes straight to it."""
        shown = self._shown
        if shown is None or self.close_sent:
            super().send_receive_event_to_app()
            return
        data = b"".join(self.frames)
        try:
            message = data.decode() if self.curr_msg_data_type == "text" else data
        except UnicodeDecodeError:
            super().send_receive_event_to_app()  # closes the connection, in the standard's own words
            return
        self.frames = []
        shown.hear(message)
        if shown.crowded and not self.read_paused:
            self.read_paused = True
            self.transport.pause_reading()

    def handle_connect(self, event: Request) -> None:
        """A connection begins: a large paste may come in one message."""
        if event.path.startswith(KEYS_PATH):
            self.conn.max_message_size = KEYS_LIMIT
            # What the kernel takes for us is ahead of the client's next ping: not megabytes, or it would give us up.
            connection = self.transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVED_AHEAD)
        super().handle_connect(event)

    def keepalive_timeout(self) -> None:
        """No pong came: what is still buffered will never be taken, so closing politely would never end."""
        if (
            self.read_paused and not self.transport.is_closing() and not self._hung_up()
        ):  # the pong may lie behind what is not read now
            self.pong_timer = self.loop.call_later(self.ping_timeout or 0, self.keepalive_timeout)
            return
        super().keepalive_timeout()
        self.transport.abort()

    def _hung_up(self) -> bool:
        """Whether the client has closed the connection, as the kernel knows also while nothing is read from it."""
        connection = self.transport.get_extra_info("socket")
        if connection is None or connection.family == socket.AF_UNIX or not hasattr(socket, "TCP_INFO"):
            return False
        state: int = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
        return state != _ESTABLISHED

    def data_received(self, data: bytes) -> None:
        """An upgrade that cannot be parsed, such as one with a header too long, would wait for ever unanswered."""
        super().data_received(data)
        if not self.handshake_initiated and self.conn.handshake_exc is not None:
            self.transport.write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            self.transport.close()


def header(chunk: Chunk) -> bytes:
    """The beginning of a frame with some output, up to its first byte."""
    length = 8 + len(chunk.data)
    if length < 126:
        return _SHORT.pack(_BINARY, length, chunk.start)
    if length < 65536:
        return _MIDDLE.pack(_BINARY, 126, length, chunk.start)
    return _LONG.pack(_BINARY, 127, length, chunk.start)
