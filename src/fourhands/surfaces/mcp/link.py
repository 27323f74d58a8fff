"""The WebSocket by which `fourhands mcp` reaches a running workbench: each message is one of MCP's."""

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from fourhands.core.errors import Unavailable

OPEN_S = 60.0
"""The time in which a busy workbench must accept the connection."""

_NORMAL = (1000, 1001, 1005, None)


class WebSocketLink:
    """A `Link` over `/mcp/socket`."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    @classmethod
    async def open(cls, url: str, token: str, proxy: str = "") -> "WebSocketLink":
        """Connect with a token, by a proxy if one is named; `Unavailable` with the reason if the workbench refuses."""
        try:
            socket = await connect(
                url,
                additional_headers={"Authorization": f"Bearer {token}"},
                max_size=None,
                compression=None,
                proxy=proxy or None,
                open_timeout=OPEN_S,
                ping_interval=None,  # A side that has gone closes its end; one that is busy must not be cut off.
            )
        except (OSError, WebSocketException) as error:
            raise Unavailable(f"cannot connect to the workbench at {url}: {error}") from error
        return cls(socket)

    async def send(self, line: bytes) -> None:
        """Send one message."""
        try:
            await self._socket.send(line.decode())
        except ConnectionClosed as error:
            raise BrokenPipeError from error

    async def receive(self) -> bytes:
        """Return the next message as a line; empty at the end."""
        try:
            message = await self._socket.recv(decode=False)
        except ConnectionClosed:
            return b""
        return message + b"\n"

    async def finish(self) -> None:
        """Close: MCP ends with the client's input."""
        await self._socket.close()

    async def close(self) -> None:
        """Close; `Unavailable` if the workbench ended the connection in the middle."""
        await self._socket.close()
        if self._socket.close_code not in _NORMAL:
            reason = self._socket.close_reason or self._socket.close_code
            raise Unavailable(f"the workbench closed the connection: {reason}")
