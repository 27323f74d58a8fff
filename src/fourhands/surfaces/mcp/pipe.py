"""MCP over a pair of pipes, or over a socket that stands for one: a connection is an agent's session."""

import contextlib
from collections.abc import Container

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError
from starlette.websockets import WebSocket, WebSocketDisconnect

from fourhands.agents.hub import Hub
from fourhands.core.tasks import Tasks
from fourhands.surfaces.mcp.service import Service
from fourhands.surfaces.tokens import Principal
from fourhands.workbench.workbench import Workbench


async def serve_stdio(bench: Workbench, tasks: Tasks, hub: Hub) -> None:
    """Serve the program that started this one, until it closes standard input."""
    service = Service(bench, hub, tasks, pipe=True)
    try:
        async with stdio_server() as (incoming, outgoing):
            await service.server.run(incoming, outgoing, service.server.create_initialization_options())
    finally:
        await service.close()


async def serve_socket(
    bench: Workbench, tasks: Tasks, hub: Hub, socket: WebSocket, speaking: Container[str] = ()
) -> None:
    """Serve one socket: each message of it is one of MCP's."""
    principal: Principal = socket.state.principal
    service = Service(bench, hub, tasks, pipe=True, principal=principal, speaking=speaking)
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_client = anyio.create_memory_object_stream[SessionMessage](0)

    async def receive() -> None:
        async with to_server:
            with contextlib.suppress(WebSocketDisconnect, anyio.BrokenResourceError):
                while True:
                    text = await socket.receive_text()
                    try:
                        message = SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
                    except ValidationError as error:
                        await to_server.send(error)
                    else:
                        await to_server.send(message)

    async def send() -> None:
        async with to_client:
            with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # Starlette's word for a closed socket
                async for message in to_client:
                    await socket.send_text(message.message.model_dump_json(by_alias=True, exclude_unset=True))

    await socket.accept()
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(receive)
            group.start_soon(send)
            await service.server.run(incoming, outgoing, service.server.create_initialization_options())
            group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await service.close()
