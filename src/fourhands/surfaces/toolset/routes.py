"""The workbench's side of a `Toolset`: one WebSocket is one agent's session, which ends with it."""

import asyncio
import contextlib
import secrets

import msgspec
from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from fourhands.commands.toolset import ToolSpec, result_text, toolset
from fourhands.core.call import Call, Result
from fourhands.core.errors import BadArgument, Conflict, Denied, FourhandsError, LimitReached, NotFound
from fourhands.core.question import Answer
from fourhands.core.tasks import Tasks
from fourhands.surfaces.auth import Credential
from fourhands.surfaces.frames import EXTENSION, Carrier
from fourhands.surfaces.mcp.options import ECHO, QUERY, ClientOptions
from fourhands.surfaces.mcp.pending_call import PendingCall
from fourhands.surfaces.mcp.terms import Terms, settle, welcome
from fourhands.surfaces.toolset.messages import (
    OWN,
    PATH,
    AnswerTool,
    CallTool,
    CancelTool,
    ToolAsks,
    ToolDone,
    ToolsReady,
    from_toolset,
)
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench

CLIENT = "Python"
"""The name of an agent whose program gives it none."""

NEWS_S = 60.0


class ToolsetRoutes:
    """The route of one server; `close` it before the server stops, or open sockets would hold that up."""

    def __init__(self, bench: Workbench, tasks: Tasks, calls_at_once: int = 64) -> None:
        self._bench = bench
        self._tasks = tasks
        self._calls_at_once = calls_at_once
        self._sockets: set[WebSocket] = set()
        self._own = secrets.token_urlsafe(32)

    def all(self) -> list[BaseRoute]:
        """Return the route."""
        return [WebSocketRoute(PATH, self._socket)]

    @property
    def own(self) -> str:
        """The secret by which the program in whose process this workbench runs is told from those that join it."""
        return self._own

    async def close(self) -> None:
        """End all connections."""
        for socket in list(self._sockets):
            with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # it has gone by itself meanwhile
                await socket.close(1001)

    async def _socket(self, socket: WebSocket) -> None:
        principal: Credential = socket.state.principal
        try:
            if principal.agent:
                raise Denied("agents may not use this endpoint", hint="use MCP, with the token of the session")
            options = ClientOptions.of_query(socket.query_params.get(QUERY))
            tools = toolset(self._bench.registry, options.tools or ("core",))
            own = secrets.compare_digest(socket.headers.get(OWN, "").encode(), self._own.encode())
            terms = await settle(self._bench, options, own=own)
            session = welcome(self._bench, self._tasks, terms, CLIENT, came="by a program's Toolset")
        except FourhandsError as error:
            await socket.send_denial_response(JSONResponse(Result.failure(error).to_wire(), 400))
            return
        try:
            await socket.accept(headers=[(ECHO, b"1")])
            frames: Carrier | None = socket.scope.get("extensions", {}).get(EXTENSION)
            if frames is not None:
                frames.without_pings()  # a program that is busy, or stopped in a debugger, must not be cut off
            self._sockets.add(socket)
            async with Tasks() as tasks:
                await _Client(self._bench, tasks, socket, session, terms, tools, self._calls_at_once).serve()
        finally:
            self._sockets.discard(socket)
            if not session.ended:
                with contextlib.suppress(NotFound):
                    await self._bench.disconnect_session(session.id)


class _Client:
    """One connected toolset."""

    def __init__(
        self,
        bench: Workbench,
        tasks: Tasks,
        socket: WebSocket,
        session: Session,
        terms: Terms,
        tools: list[ToolSpec],
        calls_at_once: int,
    ) -> None:
        self._bench = bench
        self._tasks = tasks
        self._socket = socket
        self._session = session
        self._terms = terms
        self._tools = {one.name: one for one in tools}
        self._calls_at_once = calls_at_once
        self._pending: dict[int, PendingCall] = {}
        self._sending = asyncio.Lock()

    async def serve(self) -> None:
        """Answer until the other side has gone, or the person has ended the session."""
        terms, session = self._terms, self._session
        ready = ToolsReady(session.id, session.name, list(self._tools.values()), terms.allow, terms.withheld)
        try:
            await self._send(ready)
            while True:
                self._take(await self._socket.receive_text())
        except (WebSocketDisconnect, RuntimeError):
            pass
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            with contextlib.suppress(WebSocketDisconnect, RuntimeError):
                await self._socket.close(1003, f"the message cannot be read: {error}"[:100])
        finally:
            for pending in list(self._pending.values()):
                pending.cancel()

    def _take(self, text: str) -> None:
        message = from_toolset.decode(text)
        pending = self._pending.get(message.number)
        if isinstance(message, CallTool):
            self._tasks.start(self._run(message), f"tool {message.tool:.100}")
        elif isinstance(message, CancelTool):
            if pending is not None:
                pending.cancel()
        elif pending is not None and (question := pending.open.get(message.question)) is not None:
            self._answer(pending, message, question.id)

    def _answer(self, pending: PendingCall, message: AnswerTool, id: str) -> None:
        try:
            pending.answer(pending.open[id], message.answer)
        except BadArgument as error:  # never left open: nobody else is asked
            pending.answer(pending.open[id], Answer(choice="deny", reason=str(error)))

    async def _run(self, message: CallTool) -> None:
        tool = self._tools.get(message.tool)
        try:
            if tool is None:
                raise NotFound.of("tool", message.tool[:200], self._tools)
            if self._session.ended:
                raise Denied("the person has ended this agent's session", hint="stop, and say so")
            if message.number in self._pending:
                raise Conflict(f"call {message.number} runs already")
            if len(self._pending) >= self._calls_at_once:
                raise LimitReached(f"more than {self._calls_at_once} calls at once", hint="wait for answers")
            result = await self._call(message.number, tool, message.args)
        except FourhandsError as error:
            result = Result.failure(error)
        command = self._bench.registry.get(tool.command) if tool is not None else None
        fields = {name: value for name, value in result.to_wire().items() if name != "success"}
        text = result_text(command, result).encode("utf-8", "replace").decode()  # a path may hold what is no text
        await self._send(ToolDone(message.number, result.success, text, fields))

    async def _call(self, number: int, tool: ToolSpec, args: dict[str, object]) -> Result:
        """Make a call to its end, and pass on what it asks meanwhile."""
        call = Call(command=tool.command, args=args, actor=self._session.actor, origin="python")
        attends = self._terms.ask_by in (None, "forms")
        pending = self._pending[number] = PendingCall(self._bench, call, self._session.name, attends=attends)
        pending.start(self._tasks)
        told: set[str] = set()
        try:
            while (result := pending.result) is None:
                for id in pending.open.keys() - told:
                    told.add(id)
                    await self._send(ToolAsks(number, pending.open[id]))
                await pending.news(NEWS_S)
            return result
        finally:
            pending.cancel()
            del self._pending[number]

    async def _send(self, message: ToolsReady | ToolDone | ToolAsks) -> None:
        text = msgspec.json.encode(message, enc_hook=repr).decode()
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            async with self._sending:
                await self._socket.send_text(text)
