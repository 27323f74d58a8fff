"""MCP over streamable HTTP: the SDK's session manager in a task of ours, behind our door.

The door has checked Host, Origin and token before; the SDK learns who it is, so that a session answers only to the
token that began it.
"""

import asyncio
from collections.abc import Container

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http import EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import INVALID_REQUEST
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from fourhands.agents.briefing.hub import Hub
from fourhands.core.tasks import Tasks
from fourhands.surfaces.auth import Credential
from fourhands.surfaces.mcp.clients import IDLE_S
from fourhands.surfaces.mcp.replay import Replay
from fourhands.surfaces.mcp.server import McpServer
from fourhands.workbench.workbench import Workbench

SESSIONS = 64
"""MCP sessions at once."""


RETRY_MS = 1000
"""How soon a client whose stream broke should come again."""


_BATCH = JSONResponse(
    {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": INVALID_REQUEST, "message": "no batches: send one message at a time"},
    },
    400,
)


class _Manager(StreamableHTTPSessionManager):
    """The SDK's, with a memory of sent messages for each session instead of one for all."""

    @property
    def event_store(self) -> EventStore | None:
        """Asked for once by each session as it begins."""
        return Replay()

    @event_store.setter
    def event_store(self, _: EventStore | None) -> None:
        """Set to nothing by the SDK."""


class StreamableHttp:
    """An ASGI application for `/mcp`."""

    def __init__(self, bench: Workbench, hub: Hub, tasks: Tasks, speaking: Container[str]) -> None:
        self.service = McpServer(bench, hub, tasks, speaking=speaking)
        self._tasks = tasks
        self._ready = asyncio.Event()
        self._done = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._manager = _Manager(
            app=self.service.server,
            retry_interval=RETRY_MS,
            session_idle_timeout=IDLE_S,
            max_sessions=SESSIONS,
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the door's business
        )

    async def start(self) -> None:
        """Be ready for requests."""
        self._task = self._tasks.start(self._hold(), "MCP over HTTP")
        await self._ready.wait()

    async def close(self) -> None:
        """End all sessions and streams."""
        self._done.set()
        if self._task is not None:
            await asyncio.wait([self._task])
        await self.service.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["method"] == "POST":
            # Read here, where its length is bounded: the SDK logs a client that goes in the middle as its own failure.
            body = await _whole(receive)
            if body is None:
                return
            if body.lstrip()[:1] == b"[":
                await _BATCH(scope, receive, send)
                return
            receive = _again(body, receive)
        principal: Credential = scope["state"]["principal"]
        known = AccessToken(token="", client_id=principal.token, scopes=[])
        # Blanks around a value are no part of it; the HTTP parser keeps those at its end.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        user = AuthenticatedUser(known)
        await self._manager.handle_request({**scope, "user": user, "headers": headers}, receive, send)

    async def _hold(self) -> None:
        # Entered and left in one task, as the SDK's own task group demands.
        async with self._manager.run():
            self._ready.set()
            await self._done.wait()


async def _whole(receive: Receive) -> bytes | None:
    """A request's body, or None where its client has gone before the end."""
    parts = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def _again(body: bytes, receive: Receive) -> Receive:
    """The same request with its body still to come."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receiving() -> Message:
        return messages.pop() if messages else await receive()

    return receiving
