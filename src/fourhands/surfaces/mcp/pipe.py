"""MCP over a pair of pipes, or over a socket that stands for one: a connection is an agent's session."""

import contextlib
from collections.abc import Awaitable, Callable

import anyio
import msgspec
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError
from starlette.websockets import WebSocket, WebSocketDisconnect

from fourhands.agents.briefing.hub import Hub
from fourhands.core.tasks import Tasks
from fourhands.surfaces.auth import Credential
from fourhands.surfaces.mcp.forms import Forms
from fourhands.surfaces.mcp.limits import DEFAULT, McpLimits
from fourhands.surfaces.mcp.server import McpServer
from fourhands.surfaces.mcp.terms import Terms
from fourhands.surfaces.stdio import OverlongLine, PipeOutput, claimed_streams, read_lines, refusal
from fourhands.workbench.workbench import Workbench


class Gone(Exception):
    """The other side has closed."""


async def serve_stdio(bench: Workbench, tasks: Tasks, hub: Hub, terms: Terms) -> None:
    """Serve the program that started this one, on these terms, until it closes standard input."""
    with claimed_streams() as (stdin, stdout):
        lines, output = read_lines(stdin), PipeOutput(stdout)

        async def receive() -> bytes:
            while line := await lines.get():
                if isinstance(line, OverlongLine):
                    await write(line.answer())
                elif line.strip():
                    return line
            raise Gone

        async def send(text: str) -> None:
            await write(text.encode() + b"\n")

        async def write(data: bytes) -> None:
            try:
                await output.write(data)
            except OSError as error:
                raise Gone from error

        await _serve(McpServer(bench, hub, tasks, pipe=True, terms=terms), receive, send)


async def serve_socket(
    bench: Workbench,
    tasks: Tasks,
    hub: Hub,
    socket: WebSocket,
    forms: Forms,
    limits: McpLimits = DEFAULT,
    terms: Terms | None = None,
) -> None:
    """Serve a socket that has been accepted, on these terms: each message of it is one of MCP's."""
    principal: Credential = socket.state.principal

    async def receive() -> str:
        try:
            return await socket.receive_text()
        except WebSocketDisconnect as error:
            raise Gone from error

    async def send(text: str) -> None:
        try:
            await socket.send_text(text)
        except (WebSocketDisconnect, RuntimeError) as error:  # Starlette's word for a closed socket
            raise Gone from error

    service = McpServer(bench, hub, tasks, pipe=True, principal=principal, forms=forms, limits=limits, terms=terms)
    await _serve(service, receive, send)


async def _serve(
    service: McpServer, receive: Callable[[], Awaitable[str | bytes]], send: Callable[[str], Awaitable[None]]
) -> None:
    """Answer one client until it has gone."""
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_client = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        async with to_server:
            with contextlib.suppress(Gone, anyio.BrokenResourceError):
                while True:
                    text = await receive()
                    try:
                        message = SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
                    except ValidationError:
                        # The SDK would ignore it silently, and the client would wait.
                        if (answer := _unreadable(text)) is not None:
                            await send(answer.decode().removesuffix("\n"))
                    else:
                        await to_server.send(message)

    async def write() -> None:
        async with to_client:
            with contextlib.suppress(Gone):
                async for message in to_client:
                    await send(message.message.model_dump_json(by_alias=True, exclude_unset=True))

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            group.start_soon(write)
            await service.server.run(incoming, outgoing, service.server.create_initialization_options())
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await service.close()


def _unreadable(text: str | bytes) -> bytes | None:
    """Return the error for an invalid message; None for a broken response, or two peers would answer for ever."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return refusal(None, -32700, f"the message is not JSON: {error}")
    if isinstance(value, list):
        return refusal(None, -32600, "no batches: send one message at a time")
    if not isinstance(value, dict) or not {"result", "error"} & value.keys():
        id = value.get("id") if isinstance(value, dict) else None
        return refusal(id if isinstance(id, str | int) else None, -32600, "not a JSON-RPC 2.0 message")
    return None
