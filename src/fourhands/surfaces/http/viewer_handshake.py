"""The choice of a viewer's terminal: named by the socket's address, or asked for by its first message.

A client that opens `/ws/terminals` ahead of need, and says later what it wants, spares itself a request and a
handshake: `{"type": "create", "args": {…}}` starts a terminal, `{"type": "attach", "terminalId": …}` shows another.
"""

from typing import Literal

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from fourhands.core.call import Call
from fourhands.core.errors import BadArgument, Denied, FourhandsError
from fourhands.surfaces.auth import Credential
from fourhands.workbench.terminals.handle import TerminalHandle
from fourhands.workbench.workbench import Workbench

CREATE = "openspace.terminal.create"

_FORM = '{"type": "create", "args": {…}} or {"type": "attach", "terminalId": …, "from": POSITION}'


class Opening(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The first message; without a position the present screen comes first."""

    type: Literal["create", "attach"]
    args: dict[str, object] = {}
    terminal_id: str = ""
    position: int | None = msgspec.field(default=None, name="from")


_decoder = msgspec.json.Decoder(Opening)


async def chosen(
    bench: Workbench, principal: Credential, socket: WebSocket
) -> tuple[TerminalHandle, int | None] | None:
    """Return the terminal and the position to begin at (None: its present screen); None if the client was refused."""
    try:
        if principal.agent:
            raise Denied(
                "agents cannot attach to raw terminal output",
                hint="use openspace.terminal.read_output, .screen and .send",
            )
        if "terminal" in socket.path_params:
            return bench.terminal(socket.path_params["terminal"]), _position(socket.query_params.get("from"))
        opening = await _first(socket)
        if opening.type == "create":
            return await _created(bench, principal, socket, opening.args)
        if opening.position is not None and opening.position < 0:
            raise BadArgument(f"from must be a position, not {opening.position}")
        return bench.terminal(opening.terminal_id), opening.position
    except FourhandsError as error:
        await _refuse(socket, error.code, str(error))
        return None


async def _created(
    bench: Workbench, principal: Credential, socket: WebSocket, args: dict[str, object]
) -> tuple[TerminalHandle, int] | None:
    result = await bench.gate.run(Call(command=CREATE, args=args, actor=principal.actor, origin="socket"))
    if not result.success:
        await _refuse(socket, result.code, result.error)
        return None
    await socket.send_text(_encode({"type": "created", **result.data}))
    return bench.terminal(str(result.data["terminalId"])), 0


async def _refuse(socket: WebSocket, code: str, error: str) -> None:
    await socket.send_text(_encode({"type": "refused", "error": error, "code": code}))
    await socket.close(1008)


def _encode(message: dict[str, object]) -> str:
    return msgspec.json.encode(message).decode()


async def _first(socket: WebSocket) -> Opening:
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect
    try:
        return _decoder.decode(message.get("text") or b"")
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadArgument(f"the first message cannot be read: {error}; it is {_FORM}") from error


def _position(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 19):
        raise BadArgument(f"from must be a position, not {text[:50]!r}")
    return int(text)
