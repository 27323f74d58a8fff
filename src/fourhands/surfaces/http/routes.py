"""HTTP routes: calls, the hub, health, metrics, the page. All of them are behind `AccessControl`."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketClose

from fourhands import __version__
from fourhands.agents.briefing.hub import Hub
from fourhands.agents.connectors.transcript import Transcripts
from fourhands.core.call import Call, Result
from fourhands.core.errors import BadArgument, Denied, FourhandsError
from fourhands.core.quote import broken
from fourhands.core.tasks import Tasks
from fourhands.surfaces.auth import Credential, Tokens
from fourhands.surfaces.http.answers import Json, answer, read_json
from fourhands.surfaces.http.initial_state import first_sight
from fourhands.surfaces.http.metrics import Metrics
from fourhands.surfaces.http.openapi import openapi
from fourhands.surfaces.http.sign_in import SignIn
from fourhands.surfaces.http.static import Page
from fourhands.surfaces.http.viewer import ViewerLimits, Viewers
from fourhands.surfaces.http.websocket import serve_socket
from fourhands.workbench.workbench import Workbench

_T = TypeVar("_T")

STATIC = Path(__file__).parents[2] / "static"

MOST_WAIT_S = 60
"""The longest wait for a call that a program outside is to answer."""


class Cancelled(FourhandsError):
    """The client disconnected before the call was done."""

    code = "cancelled"


RouteHandler = Callable[[Request], Awaitable[Response]]


def guarded(handler: RouteHandler) -> RouteHandler:
    """Return a handler whose `FourhandsError`s become responses."""

    async def run(request: Request) -> Response:
        try:
            return await handler(request)
        except FourhandsError as error:
            return answer(Result.failure(error))

    return run


class Routes:
    """The handlers of one server."""

    def __init__(
        self,
        bench: Workbench,
        tokens: Tokens,
        hub: Hub,
        chats: Transcripts,
        *,
        look_s: float = 0.5,
        calls_at_once: int = 64,
        viewer: ViewerLimits = ViewerLimits(),  # noqa: B008 - it is frozen
    ) -> None:
        self.bench = bench
        self.tokens = tokens
        self.hub = hub
        self.chats = chats
        self.metrics = Metrics(bench)
        self._look_s = look_s
        self._calls_at_once = calls_at_once
        self.viewers = Viewers(bench, viewer)

    def close(self) -> None:
        """Stop counting."""
        self.metrics.close()

    def all(self) -> list[BaseRoute]:
        """Return every route but the page's files."""
        return [
            Route("/health", self.health),
            Route("/api/browser", guarded(SignIn(self.bench, self.tokens)), methods=["POST"]),
            Route("/api/code", guarded(self.code), methods=["POST"]),
            Route("/api/openapi.json", guarded(self.document)),
            Route("/api/commands/{id}", guarded(self.command), methods=["POST"]),
            Route("/openspace/manifest", guarded(self.manifest)),
            Route("/openspace/manifest", guarded(self.post(self.hub.post_manifest)), methods=["POST"]),
            Route("/openspace/manifest", guarded(self.take_back), methods=["DELETE"]),
            Route("/openspace/command-requests", guarded(self.requests)),
            Route("/openspace/state", guarded(self.post(self.hub.post_state)), methods=["POST"]),
            Route("/openspace/command-results", guarded(self.post(self.hub.post_result)), methods=["POST"]),
            Route("/openspace/instructions", guarded(self.instructions)),
            Route("/openspace/chats", guarded(self.show_chats)),
            Route("/openspace/first", guarded(self.show_first)),
            Route("/metrics", guarded(self.show_metrics)),
            WebSocketRoute("/ws", self.socket),
            WebSocketRoute("/ws/terminals", self.viewer),
            WebSocketRoute("/ws/terminals/{terminal:path}", self.viewer),
        ]

    async def health(self, request: Request) -> Response:
        """Report whether server and host are up; no token is needed, so nothing else."""
        host = await self.bench.terminals.host()
        status = "degraded" if host.problem else "ok"
        body = {"status": status, "name": "fourhands", "version": __version__, "host": host.state}
        return JSONResponse(body, 503 if host.problem else 200)

    async def code(self, request: Request) -> Response:
        """Return a fresh one-time code, for `fourhands open`; not for agents."""
        _no_agents(request)
        return Json({"success": True, "code": self.tokens.browsers.new_code()})

    async def document(self, request: Request) -> Response:
        """Return the HTTP API as OpenAPI."""
        return Json(openapi(self.bench.registry))

    async def command(self, request: Request) -> Response:
        """Run one call."""
        args = await read_json(request)
        call = Call(command=request.path_params["id"], args=args, actor=_principal(request).actor, origin="http")
        known = call.command in self.bench.registry and self.bench.registry.get(call.command)
        if known and known.read_only:
            return answer(await self._while_connected(request, self.bench.gate.run(call)))
        return answer(await self.bench.gate.run(call))

    async def manifest(self, request: Request) -> Response:
        """Return every command."""
        manifest = self.hub.manifest()
        return Json(broken(manifest) if _principal(request).agent else manifest)

    def post(self, store: Callable[[dict[str, object]], object]) -> RouteHandler:
        """Return a handler for what programs outside tell the hub; not for agents."""

        async def handler(request: Request) -> Response:
            _no_agents(request)
            return Json(store(await read_json(request)))

        return handler

    async def take_back(self, request: Request) -> Response:
        """Forget announced commands: those that `id` names, or all; not for agents."""
        _no_agents(request)
        return Json(self.hub.take_back(request.query_params.getlist("id")))

    async def requests(self, request: Request) -> Response:
        """Return the calls of announced commands that wait for an answer; not for agents."""
        _no_agents(request)
        given = request.query_params.get("waitSeconds", "0")
        if not given.isascii() or not given.isdigit() or int(given) > MOST_WAIT_S:
            raise BadArgument(f"waitSeconds is a whole number from 0 to {MOST_WAIT_S}, not {given[:50]!r}")
        waiting = await self._while_connected(request, self.hub.requests(int(given)))
        return Json({"success": True, "requests": waiting})

    async def instructions(self, request: Request) -> Response:
        """Return a model's instructions: for the agent's own session, or the one that a person names."""
        actor = _principal(request).actor
        session = actor.session or request.query_params.get("sessionId")
        return PlainTextResponse(self.hub.instructions(session), media_type="text/markdown")

    async def show_chats(self, request: Request) -> Response:
        """Return the transcript of each agent's chat; not for agents."""
        _no_agents(request)
        return Json(self.chats.told())

    async def show_first(self, request: Request) -> Response:
        """Return the first state of a page; not for agents."""
        _no_agents(request)
        return Json(await first_sight(self.bench, _principal(request).actor))

    async def show_metrics(self, request: Request) -> Response:
        """Return the metrics in Prometheus' text format; not for agents."""
        _no_agents(request)
        return Response(self.metrics.text(), media_type=self.metrics.content_type)

    async def socket(self, socket: WebSocket) -> None:
        """Serve calls, results and events."""
        await serve_socket(self.bench, socket, self._calls_at_once)

    async def viewer(self, socket: WebSocket) -> None:
        """Serve one terminal."""
        await self.viewers.serve(socket)

    async def _while_connected(self, request: Request, work: Coroutine[Any, Any, _T]) -> _T:
        """Run what changes nothing, such as a long wait, and give it up when its client disconnects."""
        async with Tasks() as tasks:
            call = tasks.start(work, "a call over HTTP")
            done, _ = await asyncio.wait({call}, timeout=self._look_s)
            if not done:
                gone = tasks.start(_gone(request), "a client that waits")
                await asyncio.wait({call, gone}, return_when=asyncio.FIRST_COMPLETED)
            if call.done():
                result: _T = call.result()
                return result
            raise Cancelled("the client disconnected")


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _principal(request: Request) -> Credential:
    principal: Credential = request.state.principal
    return principal


def _no_agents(request: Request) -> None:
    if _principal(request).agent:
        raise Denied("agents may not use this endpoint")


def public_files(static: Path = STATIC) -> list[str]:
    """Paths of the page that need no token."""
    if not static.is_dir():
        return ["/"]
    return ["/", *(f"/{path.relative_to(static)}" for path in static.rglob("*") if path.is_file())]


def build(routes: Routes, static: Path = STATIC) -> ASGIApp:
    """Return the application behind `AccessControl`."""
    problems: dict[Any, Any] = {HTTPException: _problem, Exception: _fault}
    app = Starlette(routes=routes.all(), exception_handlers=problems)
    app.router.redirect_slashes = False  # A path with a slash too many is another path, for `AccessControl` as well.
    app.router.default = _Rest(Page(static) if (static / "index.html").is_file() else None)
    return GZipMiddleware(app, minimum_size=1024)


class _Rest:
    """Whatever no route takes: the page's files, or nothing."""

    def __init__(self, page: ASGIApp | None) -> None:
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await WebSocketClose()(scope, receive, send)
        elif self._page is not None:
            await self._page(scope, receive, send)
        elif scope["path"] == "/":
            await PlainTextResponse(NO_PAGE)(scope, receive, send)
        else:
            raise HTTPException(404)


NO_PAGE = "Fourhands is running. The page is not built: run `make web`, or use the command line and the HTTP API.\n"

_PROBLEMS = {404: ("not-found", "there is nothing here"), 405: ("bad-method", "not with this method")}


async def _problem(request: Request, error: HTTPException) -> Response:
    code, words = _PROBLEMS.get(error.status_code, ("bad-request", error.detail))
    hint = f"accepted: {allowed}" if (allowed := (error.headers or {}).get("Allow")) else "see /api/openapi.json"
    body = {
        "success": False,
        "error": f"{request.method} {request.url.path[:200]}: {words}",
        "code": code,
        "hint": hint,
    }
    return Json(body, error.status_code, headers=error.headers)


async def _fault(request: Request, error: Exception) -> Response:
    """Starlette logs it; who asked is told no more than that it is our fault."""
    body = {"success": False, "error": "a fault of ours", "code": "internal", "hint": "the log has the details"}
    return Json(body, 500)
