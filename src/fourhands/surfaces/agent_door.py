"""The part of the server that an agent's own process reaches from its sandbox: MCP and the model proxy.

Each connection comes by the egress, which knows from which cell it is. Whatever the path and the token: only these
routes are there, and only the token of the cell's own session opens them. Everything else of the server is refused.
"""

import logging
import socket
from collections.abc import Callable

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn import Server

from fourhands.core.tasks import Tasks
from fourhands.providers.egress.agents import WORKBENCH
from fourhands.surfaces.auth import Credential, Tokens
from fourhands.surfaces.http.access import PROXY_ROUTES, AccessControl, AccessLimits
from fourhands.surfaces.transport import TimedConfig, take_connection

log = logging.getLogger(__name__)

ROUTES = {"http": ("/mcp",), "websocket": ("/mcp/socket",)}
"""The paths that are there, beside those of the proxy, by kind of request."""


class AgentDoor:
    """An ASGI application around that of the server, for the agent of one session."""

    def __init__(self, app: ASGIApp, tokens: Tokens, session: str, limits: AccessLimits) -> None:
        self._app = app
        self._session = session
        self._guard = AccessControl(self._pass, tokens, hosts=(WORKBENCH, f"{WORKBENCH}:80"), limits=limits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let in or refuse."""
        path, kind = scope.get("path", ""), scope["type"]
        if kind == "lifespan" or path in ROUTES[kind] or (kind == "http" and path.startswith(PROXY_ROUTES)):
            await self._guard(scope, receive, send)
        else:
            await self._refuse(scope, receive, send, f"{path:.200} is not there for an agent in a sandbox")

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request with a valid token, if that is the one of this session."""
        principal: Credential | None = scope.get("state", {}).get("principal")
        if principal is None or principal.actor.session != self._session:
            await self._refuse(scope, receive, send, "this is not the token of this sandbox's own session")
        else:
            await self._app(scope, receive, send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, reason: str) -> None:
        log.warning("refused the sandbox of %s: %s", self._session, reason)
        body = {"success": False, "error": reason, "code": "denied", "hint": "use MCP, with the token of the session"}
        if scope["type"] == "http":
            await JSONResponse(body, 403)(scope, receive, send)
        else:
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": reason[:100]})


class AgentDoors:
    """The doors of all sessions, one for each that has been asked for."""

    def __init__(
        self,
        app: ASGIApp,
        tokens: Tokens,
        limits: AccessLimits,
        tasks: Tasks,
        server: Server,
        configure: Callable[[ASGIApp], TimedConfig],
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._limits = limits
        self._tasks = tasks
        self._server = server
        self._configure = configure
        self._configs: dict[str, TimedConfig] = {}

    def enter(self, session: str, connection: socket.socket) -> None:
        """Serve a connection out of a session's cell; it ends with the server."""
        if session not in self._configs:
            self._configs[session] = self._configure(AgentDoor(self._app, self._tokens, session, self._limits))
        taking = take_connection(self._configs[session], self._server, connection)
        self._tasks.start(taking, "a connection of an agent's process")

    def end(self, session: str) -> None:
        """Forget a session."""
        self._configs.pop(session, None)
