"""Routes of MCP clients: `/mcp` (streamable HTTP), `/mcp/socket`, `/api/agents`.

The SDK is loaded when the first client comes: it is heavy, and most servers never need it.
"""

import asyncio
import contextlib
from typing import TYPE_CHECKING

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from fourhands.agents.briefing.hub import Hub
from fourhands.core.call import Result
from fourhands.core.collecting import uncollected
from fourhands.core.consent import SPEAKS, Arrival
from fourhands.core.errors import BadArgument, Denied, FourhandsError, Unavailable
from fourhands.core.tasks import Tasks
from fourhands.surfaces.auth import Credential, Tokens
from fourhands.surfaces.frames import EXTENSION, Carrier
from fourhands.surfaces.mcp import require_sdk
from fourhands.surfaces.mcp.forms import Forms
from fourhands.surfaces.mcp.kept_tasks import KeptTasks
from fourhands.surfaces.mcp.limits import DEFAULT, McpLimits
from fourhands.surfaces.mcp.options import ECHO, NAME_LENGTH, QUERY, ClientOptions
from fourhands.surfaces.mcp.pipe import load, serve_socket
from fourhands.surfaces.mcp.terms import settle
from fourhands.workbench.workbench import Workbench

if TYPE_CHECKING:
    from fourhands.surfaces.mcp.streamable_http import StreamableHttp


class NewAgent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of `/api/agents`.

    `forms` says that the client with this token shows its forms to the person; `cwd` is where its programs start.
    """

    name: str
    forms: bool = False
    cwd: str | None = None


class McpRoutes:
    """The routes of one server; `close` them before it stops, or open streams would hold it up."""

    def __init__(self, bench: Workbench, hub: Hub, tasks: Tasks, tokens: Tokens, limits: McpLimits = DEFAULT) -> None:
        self._bench = bench
        self._hub = hub
        self._tasks = tasks
        self._tokens = tokens
        self._stream: StreamableHttp | None = None
        self._starting = asyncio.Lock()
        self._sockets: set[WebSocket] = set()
        self._closed = False
        self._forms = Forms()
        self._kept = KeptTasks(bench, limits)
        self._limits = limits

    def all(self) -> list[BaseRoute]:
        """Return the routes."""
        return [
            Route("/mcp", self),
            WebSocketRoute("/mcp/socket", self._socket),
            Route("/api/agents", self._new_agent, methods=["POST"]),
        ]

    async def close(self) -> None:
        """End all clients' connections and sessions."""
        self._closed = True
        self._kept.close()
        async with self._starting:
            if self._stream is not None:
                await self._stream.close()
        for socket in list(self._sockets):
            with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # it has gone by itself meanwhile
                await socket.close(1001)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request of a client over streamable HTTP."""
        try:
            stream = await self._started()
        except FourhandsError as error:
            await _refusal(error)(scope, receive, send)
            return
        await stream(scope, receive, send)

    async def _started(self) -> "StreamableHttp":
        require_sdk()
        async with self._starting:
            if self._closed:
                raise Unavailable("the server is about to stop")
            if self._stream is None:
                kind = await asyncio.to_thread(_load_http)
                stream = kind(self._bench, self._hub, self._tasks, self._forms, self._limits, self._kept)
                await stream.start()
                self._stream = stream
            return self._stream

    async def _socket(self, socket: WebSocket) -> None:
        """Serve a client on the other end of a pipe (see `command`); accepted before the SDK is loaded."""
        principal: Credential = socket.state.principal
        try:
            options = ClientOptions.of_query(socket.query_params.get(QUERY))
            terms = await settle(self._bench, options, own=False, agent=principal.agent)
        except FourhandsError as error:
            await socket.send_denial_response(_refusal(error))
            return
        await socket.accept(headers=[(ECHO, b"1")])
        frames: Carrier | None = socket.scope.get("extensions", {}).get(EXTENSION)
        if frames is not None:
            # The other end is a process of this machine: its end closes the connection. One that is suspended
            # (Ctrl-Z), or that is held up, must not find itself cut off: its agent would have no tools any more.
            frames.without_pings()
        try:
            require_sdk()
        except Unavailable as error:
            await socket.close(1011, error.message)
            return
        loaded = self._tasks.start(asyncio.to_thread(load), "loading the MCP SDK")
        self._sockets.add(socket)
        try:
            await serve_socket(
                self._bench, self._hub, self._tasks, loaded, socket, self._forms, self._limits, terms, self._kept
            )
        finally:
            self._sockets.discard(socket)

    async def _new_agent(self, request: Request) -> Response:
        """Begin an agent's session and return its token: for a client that is told its token beforehand."""
        principal: Credential = request.state.principal
        try:
            if principal.agent:
                raise Denied("agents may not use this endpoint")
            try:
                asked = msgspec.json.decode(await request.body(), type=NewAgent)
            except (msgspec.DecodeError, ClientDisconnect) as error:
                raise BadArgument(f"the body is not of the form {{'name': …}}: {error}") from error
            name = asked.name.strip()
            if not 0 < len(name) <= NAME_LENGTH or not name.isprintable():
                raise BadArgument(
                    f"{name[:100]!r} is not a valid name", hint=f"give 1 to {NAME_LENGTH} printable characters"
                )
            session = self._bench.begin_session(name, "mcp", cwd=asked.cwd)
        except FourhandsError as error:
            return _refusal(error)
        words = f"A program that has this user's token brought an agent by MCP and calls it {name}."
        session.arrival = Arrival(words=f"{words} {SPEAKS}" if asked.forms else words)
        if asked.forms:
            self._forms.allow(session.id)
        token = self._tokens.issue(session.actor)
        return JSONResponse({"success": True, "sessionId": session.id, "token": token})


def _load_http() -> "type[StreamableHttp]":
    with uncollected():
        from fourhands.surfaces.mcp.streamable_http import StreamableHttp
    return StreamableHttp


def _refusal(error: FourhandsError) -> Response:
    status = {"conflict": 409, "denied": 403, "limit": 429, "unavailable": 503, "unsupported": 501}.get(error.code, 400)
    return JSONResponse(Result.failure(error).to_wire(), status)
