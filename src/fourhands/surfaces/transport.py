"""All that the server uses of uvicorn's inside, where it has no public way; read in version `READ_IN`.

A test fails when another version is installed: then this file is to be read again beside uvicorn. uvicorn's protocol
classes keep HTTP, handshake, pings, close and the parsing of what clients send.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request
from websockets.protocol import State

from fourhands.surfaces.frames import EXTENSION, Shown, header
from fourhands.surfaces.http.access import SECURITY_HEADERS

log = logging.getLogger(__name__)

READ_IN = "0.54.0"

HEAD_LIMIT = 64 * 1024
"""Bytes of a request before its body."""

KEYS_PATH = "/ws/terminals"
KEYS_LIMIT = 16 * 1024 * 1024
"""Bytes of one message of keys: as many as can be typed at once."""

RECEIVED_AHEAD = 256 * 1024

_TURNS = 100
_ESTABLISHED = 1  # of the kernel's states of a connection


@dataclass(frozen=True, slots=True)
class ServerTimeouts:
    """The times for which the server waits for its clients."""

    open_s: float = 5.0
    """For the first request of a connection, and for each later one once begun."""

    keep_alive_s: int = 30
    """For the next request of a connection."""

    grace_s: int = 3
    """For responses that have begun when the server stops."""

    ping_s: float = 20.0
    """Between two pings of a WebSocket, and for the pong."""

    look_s: float = 0.5
    """Before a call's client is looked for: most calls are done by then."""


class TimedConfig(uvicorn.Config):
    """uvicorn's configuration with this server's protocols and timeouts."""

    def __init__(self, app: Any, timeouts: ServerTimeouts, message_limit: int, websockets: "type[Frames]") -> None:
        self.timeouts = timeouts
        super().__init__(
            app,
            http=TimedProtocol,
            ws=websockets,
            ws_per_message_deflate=False,
            ws_max_size=message_limit,
            ws_ping_interval=timeouts.ping_s,
            ws_ping_timeout=timeouts.ping_s,
            access_log=False,
            log_config=None,
            lifespan="off",
            timeout_graceful_shutdown=timeouts.grace_s,
            timeout_keep_alive=timeouts.keep_alive_s,
            server_header=False,
            date_header=False,
            proxy_headers=False,  # Any program on this machine could send them.
        )


class TimedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol, but a silent connection, or one with half a header, is closed after 5 seconds."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
        """Begin to count."""
        super().connection_made(transport)
        self._head = 0
        assert isinstance(self.config, TimedConfig)
        self._open_s = self.config.timeouts.open_s
        self._impatience: asyncio.TimerHandle | None = self.loop.call_later(self._open_s, self._give_up)

    def _give_up(self) -> None:
        self._impatience = None
        if self.transport is not None and not self.transport.is_closing():
            log.info("closed a connection that sent no request within %g s", self._open_s)
            self.transport.abort()

    def _calm(self) -> None:
        if self._impatience is not None:
            self._impatience.cancel()
            self._impatience = None

    def data_received(self, data: bytes) -> None:
        """More of a request: from its first byte on it has 5 seconds to come to the end of its headers."""
        idle = self.cycle is None or self.cycle.response_complete
        if idle and self._impatience is None:  # not restarted by each byte, or a byte in time would keep it open
            self._head = 0
            self._impatience = self.loop.call_later(self._open_s, self._give_up)
        self._head += len(data)
        super().data_received(data)
        if self._impatience is not None and self._head > HEAD_LIMIT and not self.transport.is_closing():
            self.send_400_response("The headers are too long.")

    def on_headers_complete(self) -> None:
        """Stop the timer: the headers are complete. Those that came too long in one piece are refused here."""
        self._calm()
        if len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers) > HEAD_LIMIT:
            raise ValueError("too long")  # the parser stops, and `send_400_response` is called
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP; it never reaches `AccessControl`, so its headers are added here."""
        self._calm()
        lines = [b"HTTP/1.1 400 Bad Request", *(name + b": " + value for name, value in SECURITY_HEADERS)]
        lines += [
            b"content-type: text/plain",
            b"content-length: %d" % len(msg),
            b"connection: close",
            b"",
            msg.encode(),
        ]
        self.transport.write(b"\r\n".join(lines))
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Gone."""
        self._calm()
        super().connection_lost(exc)


class IdleServer(uvicorn.Server):
    """uvicorn's server, but it waits to be told to leave instead of asking itself ten times a second.

    The ticks would renew the date header, count requests towards a limit and call back; none of these is used here.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        self._leaving = asyncio.Event()
        super().__init__(config)

    @property
    def should_exit(self) -> bool:
        """True when the server is to stop; set it on the loop."""
        return self._leaving.is_set()

    @should_exit.setter
    def should_exit(self, leave: bool) -> None:
        if leave:
            self._leaving.set()
        else:
            self._leaving.clear()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave SIGINT and SIGTERM to the command line, which handles them."""
        yield

    async def main_loop(self) -> None:
        """Wait until it is time to leave; however that comes, no listening socket stays behind."""
        await self.on_tick(0)  # sets the headers of all answers
        try:
            await self._leaving.wait()
        finally:
            for server in self.servers:
                server.close()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close all connections; one whose client has not let go of it within the grace is cut off."""
        await super().shutdown(sockets)
        for _ in range(_TURNS):  # the end of a connection is told in one of the next turns of the loop
            left = [one for one in self.server_state.connections if one.transport is not None]
            for connection in left:
                connection.transport.abort()
            if not left:
                break
            await asyncio.sleep(0)


async def take_connection(config: TimedConfig, server: uvicorn.Server, connection: socket.socket) -> None:
    """Serve a connection that did not come by a listening socket, as one of this server's: it ends with that."""
    if not config.loaded:
        config.load()

    def protocol() -> asyncio.Protocol:
        return TimedProtocol(config=config, server_state=server.server_state, app_state={})

    await asyncio.get_running_loop().connect_accepted_socket(protocol, connection)


class Frames(WebSocketsSansIOProtocol):
    """uvicorn's WebSocket protocol; it carries viewers itself, and who does not answer or is no WebSocket is gone."""

    _shown: Shown | None = None
    _again = False

    async def run_asgi(self) -> None:
        """Offer to carry what is shown."""
        extensions: Any = self.scope["extensions"]
        extensions[EXTENSION] = self
        await super().run_asgi()

    async def send(self, message: Any) -> None:
        """Send a message. A refusal is an answer too, which uvicorn forgets, and would log an error for."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True

    def without_pings(self) -> None:
        """Send no more pings on this connection."""
        self.stop_keepalive()

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
        """Continue to send: the transport takes more."""
        super().resume_writing()
        self.pull()

    def send_receive_event_to_app(self) -> None:
        """Pass a whole message on; a viewer gets its own directly."""
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
        """Begin a connection; those of viewers may send a large paste in one message."""
        if event.path.startswith(KEYS_PATH):
            self.conn.max_message_size = KEYS_LIMIT
            # What the kernel takes for us is ahead of the client's next ping: not megabytes, or it would give us up.
            connection = self.transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVED_AHEAD)
        super().handle_connect(event)

    def keepalive_timeout(self) -> None:
        """No pong came: what is still buffered will never be taken, so closing politely would never end."""
        if (
            self.read_paused and not self.transport.is_closing() and not self.hung_up()
        ):  # the pong may lie behind what is not read now
            self.pong_timer = self.loop.call_later(self.ping_timeout or 0, self.keepalive_timeout)
            return
        super().keepalive_timeout()
        self.transport.abort()

    def hung_up(self) -> bool:
        """Return True if the client has closed the connection; the kernel knows even while nothing is read from it."""
        connection = self.transport.get_extra_info("socket")
        if connection is None or connection.family == socket.AF_UNIX or not hasattr(socket, "TCP_INFO"):
            return False
        state: int = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
        return state != _ESTABLISHED

    def data_received(self, data: bytes) -> None:
        """Answer an upgrade that cannot be parsed, such as one with a header too long; it would wait for ever."""
        super().data_received(data)
        if not self.handshake_initiated and self.conn.handshake_exc is not None:
            self.transport.write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            self.transport.close()
