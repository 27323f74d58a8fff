"""One client's messages, from `pipe` to the SDK's server and back."""

import contextlib
import logging

import anyio
import msgspec
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter
from pydantic import ValidationError

from fourhands.agents.briefing.hub import Hub
from fourhands.core.tasks import Tasks
from fourhands.surfaces.auth import Credential
from fourhands.surfaces.mcp.forms import Forms
from fourhands.surfaces.mcp.greeting import Greeting
from fourhands.surfaces.mcp.kept_tasks import KeptTasks
from fourhands.surfaces.mcp.limits import DEFAULT, McpLimits
from fourhands.surfaces.mcp.pipe import Gone, Receive, Send
from fourhands.surfaces.mcp.server import McpServer
from fourhands.surfaces.mcp.terms import Terms
from fourhands.surfaces.stdio import refusal
from fourhands.workbench.workbench import Workbench

log = logging.getLogger(__name__)


class Conversation:
    """One client on a pipe, or on a socket that stands for one."""

    def __init__(
        self,
        bench: Workbench,
        hub: Hub,
        tasks: Tasks,
        *,
        principal: Credential | None = None,
        forms: Forms | None = None,
        limits: McpLimits = DEFAULT,
        terms: Terms | None = None,
        kept: KeptTasks | None = None,
    ) -> None:
        self._service = McpServer(
            bench, hub, tasks, pipe=True, principal=principal, forms=forms, limits=limits, terms=terms, kept=kept
        )

    async def run(self, receive: Receive, send: Send, first: str | bytes, greeting: Greeting | None) -> None:
        """Serve a client whose first message has been received, and answered if there is a greeting, until it goes."""
        to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, to_client = anyio.create_memory_object_stream[SessionMessage](0)

        async def read() -> None:
            async with to_server:
                with contextlib.suppress(Gone, anyio.BrokenResourceError):
                    text = first
                    while True:
                        try:
                            message = SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
                        except ValidationError:
                            # The SDK would ignore it silently, and the client would wait.
                            if (answer := _unreadable(text)) is not None:
                                await send(answer.decode().removesuffix("\n"))
                        else:
                            await to_server.send(message)
                        text = await receive()

        async def write() -> None:
            given = greeting
            async with to_client:
                with contextlib.suppress(Gone):
                    async for one in to_client:
                        message = one.message
                        if given is not None and _answers(message, given):
                            given = None
                        else:
                            await send(message.model_dump_json(by_alias=True, exclude_unset=True))

        try:
            async with anyio.create_task_group() as group:
                group.start_soon(read)
                group.start_soon(write)
                server = self._service.server
                await server.run(incoming, outgoing, server.create_initialization_options())
                group.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await self._service.close()


def _answers(message: object, greeting: Greeting) -> bool:
    """Return True for the SDK's own answer to what a client has been answered already."""
    if not isinstance(message, JSONRPCResponse | JSONRPCError) or message.id != greeting.id:
        return False
    if isinstance(message, JSONRPCError):
        log.error("a client was greeted, and the MCP SDK refuses it: %s", message.error.message)
    return True


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
