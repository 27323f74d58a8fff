"""MCP over streamable HTTP: the SDK's session manager in a task of its own, behind `AccessControl`.

Host, Origin and token have been checked before; the SDK is given the token's hash, so that a session answers only to
the token that began it.
"""

import asyncio
from collections import OrderedDict

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import INVALID_REQUEST, JSONRPCMessage
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from fourhands.agents.briefing.hub import Hub
from fourhands.core.tasks import Tasks
from fourhands.surfaces.auth import Credential
from fourhands.surfaces.mcp.forms import Forms
from fourhands.surfaces.mcp.kept_tasks import KeptTasks
from fourhands.surfaces.mcp.limits import DEFAULT, McpLimits
from fourhands.surfaces.mcp.sdk import SessionManager
from fourhands.surfaces.mcp.server import McpServer
from fourhands.workbench.workbench import Workbench

PRIMING_BYTES = 64
"""The size that a message without contents counts for."""

_BATCH = JSONResponse(
    {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": INVALID_REQUEST, "message": "no batches: send one message at a time"},
    },
    400,
)


class Replay(EventStore):
    """The last messages of one session, by growing numbers: a client whose connection broke gets what it missed."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._kept: OrderedDict[int, tuple[str, JSONRPCMessage | None, int]] = OrderedDict()
        self._next = 1
        self.size = 0
        """Bytes of the stored messages."""

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keep a message and return its number; what is oldest goes when there is too much."""
        number, self._next = self._next, self._next + 1
        size = PRIMING_BYTES if message is None else len(message.model_dump_json(by_alias=True))
        self._kept[number] = (stream_id, message, size)
        self.size += size
        while self.size > self._limit_bytes and len(self._kept) > 1:
            self.size -= self._kept.popitem(last=False)[1][2]
        return str(number)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send what came after a message on the same stream; None where that message is not known any more."""
        last = int(last_event_id) if last_event_id.isascii() and last_event_id.isdigit() else 0
        if last not in self._kept:
            return None
        stream = self._kept[last][0]
        for number, (its_stream, message, _) in list(self._kept.items()):
            if number > last and its_stream == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


class StreamableHttp:
    """An ASGI application for `/mcp`."""

    def __init__(
        self,
        bench: Workbench,
        hub: Hub,
        tasks: Tasks,
        forms: Forms,
        limits: McpLimits = DEFAULT,
        kept: KeptTasks | None = None,
    ) -> None:
        self.service = McpServer(bench, hub, tasks, forms=forms, limits=limits, kept=kept)
        self._tasks = tasks
        self._ready = asyncio.Event()
        self._done = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._manager = SessionManager(
            lambda: Replay(limits.replay_bytes),
            app=self.service.server,
            retry_interval=limits.retry_ms,
            session_idle_timeout=limits.idle_s,
            max_sessions=limits.sessions,
            security_settings=TransportSecuritySettings(
                enable_dns_rebinding_protection=False
            ),  # `AccessControl` does it.
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
    """Return a request's body; None if its client disconnected before the end."""
    parts = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that yields the body again."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receiving() -> Message:
        return messages.pop() if messages else await receive()

    return receiving
