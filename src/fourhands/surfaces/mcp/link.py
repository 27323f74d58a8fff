"""The WebSocket by which `fourhands mcp` reaches a running workbench: each message is one of MCP's."""

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from fourhands.core.errors import BadArgument, Denied, FourhandsError, NotFound, Unavailable
from fourhands.surfaces.mcp.options import ECHO, ClientOptions

OPEN_S = 60.0
"""The time in which a busy workbench must accept the connection."""

_NORMAL = (1000, 1001, 1005, None)
_REFUSALS: dict[str, type[FourhandsError]] = {one.code: one for one in (BadArgument, Denied, NotFound)}


class _Refusal(msgspec.Struct):
    """The answer of a workbench that does not take these options."""

    error: str
    code: str
    hint: str = ""


class WebSocketLink:
    """A `Link` over `/mcp/socket`."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket

    @classmethod
    async def open(cls, url: str, token: str, proxy: str = "", options: ClientOptions | None = None) -> "WebSocketLink":
        """Connect with a token, by a proxy if one is named.

        Raises `Unavailable` with the reason if the workbench does not let it in, and its own error if it does not take
        these options.
        """
        query = options.query() if options is not None else ""
        try:
            socket = await connect(
                f"{url}?{query}" if query else url,
                additional_headers={"Authorization": f"Bearer {token}"},
                max_size=None,
                compression=None,
                proxy=proxy or None,
                open_timeout=OPEN_S,
                ping_interval=None,  # A side that has gone closes its end; one that is busy must not be cut off.
            )
        except InvalidStatus as error:
            raise _refused(error, url) from error
        except (OSError, WebSocketException) as error:
            raise Unavailable(f"cannot connect to the workbench at {url}: {error}") from error
        if query and (socket.response is None or ECHO.decode() not in socket.response.headers):
            await socket.close()
            raise Unavailable(
                "the workbench that runs here is of an older version, which takes no options",
                hint="start it again: fourhands stop, then fourhands",
            )
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


def _refused(error: InvalidStatus, url: str) -> FourhandsError:
    """Return the workbench's own error, if it is one about the options."""
    try:
        told = msgspec.json.decode(error.response.body or b"", type=_Refusal)
        kind = Unavailable if error.response.status_code in (401, 429) else _REFUSALS.get(told.code, Unavailable)
    except msgspec.MsgspecError:
        return Unavailable(f"cannot connect to the workbench at {url}: {error}")
    if kind is Unavailable:
        return Unavailable(f"cannot connect to the workbench at {url}: {told.error}", hint=told.hint)
    return kind(told.error, hint=told.hint)
