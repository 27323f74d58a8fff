"""The OpenCode connector: a session on an OpenCode server, started for this or joined, as an agent at the workbench.

    agent = OpenCode(bench, session, tasks, command=["opencode"], gateway=Gateway(url, token, model))
    await agent.open()

With a gateway its model is behind our proxy, which gives instructions and takes blocks; what is filtered here is only
the second line, and runs nothing. Without one, joined or started, it asks a model of its own: then instructions go with
each prompt, and the blocks are taken here. Permissions that OpenCode asks for become questions at the workbench.
"""

import asyncio
import contextlib
import json
import logging
import re
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import httpx

from fourhands.agents.blocks.answer import ResponseBlocks
from fourhands.agents.blocks.interceptor import Dropped
from fourhands.agents.briefing.feedback import turn_message
from fourhands.agents.briefing.shorten import one_line
from fourhands.agents.connectors.base import ROUNDS, Connector, Recollection
from fourhands.agents.connectors.resume import ResumeFile
from fourhands.agents.models.upstream_proxy import certificates, proxy_to
from fourhands.agents.opencode.events import OpenCodeEvents
from fourhands.agents.opencode.permissions import OpenCodePermissions
from fourhands.agents.opencode.server import Gateway, OpenCodeAddress, started
from fourhands.core.errors import BadArgument, Denied, FourhandsError, NotFound, TimedOut, Unavailable
from fourhands.core.event import Event
from fourhands.core.tasks import Tasks
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench

REQUEST_S = 15.0
READY_S = 60.0
JOIN_S = 10.0
"""One that we did not start is there or is not."""

SILENCE_S = 30.0
"""Its event stream has a heartbeat every 10 s; so long without one means that the connection is dead."""

RETRY_S = (0.1, 0.5, 1.0, 2.0, 5.0)
TICK_S = 1.0
USER = "opencode"
GO_ON = "The results of your commands are there. Go on with them, or tell the person what you found."

log = logging.getLogger(__name__)

_SESSION = re.compile(r"ses[A-Za-z0-9_-]{1,100}")


class OpenCodeConnector(Connector):
    """One agent session on one OpenCode server."""

    def __init__(
        self,
        bench: Workbench,
        session: Session,
        tasks: Tasks,
        *,
        url: str = "",
        command: Sequence[str] = (),
        gateway: Gateway | None = None,
        instructions: Callable[[str], str] | None = None,
        model: str = "",
        password: str = "",
        transport: httpx.AsyncBaseTransport | None = None,
        memory: ResumeFile | None = None,
    ) -> None:
        if bool(url) == bool(command):
            raise BadArgument("give OpenCode's url or the command that starts it", hint="one of the two")
        super().__init__(bench, session, tasks, memory)
        self._url = url
        self._model = model  # of its own ones, as provider/model; empty: the one it is configured for
        self._password = password
        self._command = command
        self._gateway = gateway
        self._instructions = instructions
        self._transport = transport
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._life: asyncio.Task[None] | None = None
        self._client: httpx.AsyncClient
        self._id = ""
        self._telling: OpenCodeEvents
        self._family: set[str] = set()  # our session there and those that it began for parts of its work
        self._answers: dict[str, ResponseBlocks] = {}
        self._permissions = OpenCodePermissions(bench, session, tasks, self._reply)
        self._busy = False
        self._failures = 0  # to read its events, since it was last possible
        self._idle = asyncio.Event()
        self._trouble = ""
        self._reset = False  # the person wants a new chat

    async def open(self) -> None:
        """Start or join the server, and return when it takes prompts."""
        self._life = self._tasks.start(self._live(), f"OpenCode for {self.session.name}")
        await asyncio.shield(self._ready)

    def close(self) -> None:
        """The session has ended: leave the server, or end it."""
        super().close()
        if self._life is not None:
            self._life.cancel()

    async def turn(self, text: str) -> None:
        """Send a person's message and return when the agent is done with it, and has seen what it did."""
        await asyncio.shield(self._ready)
        if self._reset:  # a new chat is a new session there
            await self._begin()
            self._reset = False
        for _ in range(ROUNDS):
            await self._round(text)
            await self._settled()
            await self.unpaused()
            if not self.session.untold:
                return
            text = GO_ON
        self.stopped_going_on(ROUNDS)

    async def _settled(self) -> None:
        """Return when the commands of the answer have run, wherever they were taken out."""
        with self.bench.events.subscribe(["call.finished"]) as events:
            while self.bench.gate.pending(self.session.id):
                await anext(events)

    async def _round(self, text: str) -> None:
        """One message and the answer to it."""
        self._idle.clear()
        self._busy, self._trouble = False, ""
        body: dict[str, Any] = {"parts": [{"type": "text", "text": text}]}
        if self._model:
            provider, _, model = self._model.partition("/")
            body["model"] = {"providerID": provider, "modelID": model}
        message = None
        if self._instructions is not None:
            message = turn_message(self.session, self.bench.registry, self.bench)
            given = self._instructions(self.session.id)
            body["system"] = f"{given}\n\n{message.text}" if message is not None else given
        try:
            await self._call("POST", f"/session/{self._id}/prompt_async", body, again=False)
        except BaseException:
            if message is not None:
                message.restore()
            raise
        self.keep()  # what it was told is told
        try:
            await self._idle.wait()
        except asyncio.CancelledError:
            for answer in self._answers.values():
                answer.stop()
            self._permissions.cancel()
            self._tasks.start(self._abort(), f"stopping OpenCode of {self.session.name}")
            raise
        finally:
            self._telling.end()
            for answer in self._answers.values():
                answer.close()
            self._answers.clear()
        if self._trouble:
            raise Unavailable(f"OpenCode: {self._trouble}")

    # -- what it tells (the Listener of `Telling`; say and think are the conversation's) ------------------------------

    def step(self, message: str, tool: str, status: str, title: str, input: Any, output: str) -> None:
        """Something that OpenCode does by a tool of its own."""
        self._emit(
            "agent.step",
            stepId=message,
            messageId=message,
            tool=tool,
            status=status,
            title=title,
            input=input,
            output=output,
        )

    def take(self, message: str, commands: list[dict[str, Any]], dropped: list[Dropped]) -> None:
        """Blocks in its text: with the proxy in front, what still looks like one is not run."""
        if self._gateway is not None:
            log.warning("%s: a block came past the proxy and is ignored", self.session.id)
            return
        answer = self._answers.setdefault(message, ResponseBlocks(self.runner))
        answer.take(message, commands)
        answer.drop(dropped)

    # -- life ---------------------------------------------------------------------------------------------------------

    async def _live(self) -> None:
        try:
            async with self._server() as address, self._connected(address):
                await self._until_healthy()
                if self._model:
                    await self._check_model()
                if not await self._rejoin():
                    await self._begin()
                await self._listen()
        except FourhandsError as error:
            self._fail(error)
        finally:
            self._fail(Unavailable("the connection to OpenCode has ended"))

    async def _begin(self) -> None:
        """Begin a session there."""
        made = await self._call("POST", "/session", {"title": self.session.name})
        id = str(made.get("id", "")) if isinstance(made, dict) else ""
        if not id.startswith("ses"):
            raise Unavailable("OpenCode made no session", hint=f"it answered {str(made)[:200]}")
        self._use(id)

    async def _rejoin(self) -> bool:
        """Go on with the session from before a restart, if that server still has it."""
        id = self.before.remote if self.before is not None else ""
        if not _SESSION.fullmatch(id):
            return False
        try:
            found = await self._call("GET", f"/session/{id}")
            messages = await self._call("GET", f"/session/{id}/message")
        except Unavailable as error:
            log.info("OpenCode does not have session %s any more: %s", id, error)
            return False
        if not isinstance(found, dict) or found.get("id") != id:
            return False
        self._use(id)
        self._telling.skip(messages)
        self.goes_on()
        return True

    def _use(self, id: str) -> None:
        self._id = id
        self._family = {id}
        self._telling = OpenCodeEvents(id, self)
        self.keep()

    def recollection(self) -> Recollection:
        """The session there."""
        return {"remote": self._id}

    def _happened(self, event: Event) -> None:
        super()._happened(event)
        if event.kind == "agent.reset" and event.data.get("session") == self.session.id:
            self._reset = True

    def _fail(self, error: FourhandsError) -> None:
        if not self._ready.done():
            self._ready.set_exception(error)
            self._ready.exception()  # whoever opened it may have gone
        self._trouble = self._trouble or error.message
        self._idle.set()

    @contextlib.asynccontextmanager
    async def _server(self) -> AsyncIterator[OpenCodeAddress]:
        if not self._command:
            yield OpenCodeAddress(self._url, self._password)
            return
        places = self.bench.terminals.places
        private = Path(places.state) / "opencode" / self.session.id
        base, cwd = self.bench.terminals.env, self.bench.own_cwd(self.session)
        async with started(self._command, self._gateway, cwd=cwd, private=private, base=base) as address:
            yield address

    @contextlib.asynccontextmanager
    async def _connected(self, address: OpenCodeAddress) -> AsyncIterator[None]:
        auth = httpx.BasicAuth(USER, address.password) if address.password else None
        url, env = httpx.URL(address.url), self.bench.terminals.env
        way = proxy_to(url, env) if self._transport is None else None
        async with httpx.AsyncClient(
            base_url=url,
            auth=auth,
            headers={"x-opencode-directory": self.bench.own_cwd(self.session)},
            timeout=REQUEST_S,
            trust_env=False,
            verify=certificates(env) if url.scheme == "https" else False,
            proxy=way.url if way else None,
            transport=self._transport,
        ) as self._client:
            yield

    async def _until_healthy(self) -> None:
        """Its first request has been seen to hang for minutes: short ones, again and again."""
        why = ""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(READY_S if self._command else JOIN_S):
                while True:
                    try:
                        answer = await self._client.get("/global/health", timeout=3.0)
                        if answer.status_code == 401:
                            raise Denied("OpenCode wants a password", hint="give the one that it was started with")
                        if answer.is_success:
                            return
                        why = f"status {answer.status_code}"
                    except httpx.HTTPError as error:
                        why = str(error) or type(error).__name__
                    await asyncio.sleep(0.2)
        raise TimedOut(
            f"OpenCode does not answer: {why}",
            hint="start it there with `opencode serve --port PORT`, or say opencode alone",
        )

    async def _call(self, method: str, path: str, body: Any = None, *, again: bool = True) -> Any:
        """Make a request; `again`: repeat it if the connection breaks, which must do no harm then."""
        for pause_s in (*RETRY_S[:3], None):
            try:
                answer = await self._client.request(method, path, json=body)
            except httpx.HTTPError as error:
                if pause_s is None or not (again or isinstance(error, httpx.ConnectError)):
                    why = str(error) or type(error).__name__
                    raise Unavailable(f"OpenCode does not answer {method} {path}: {why}") from error
                await asyncio.sleep(pause_s)
                continue
            if not answer.is_success:
                raise Unavailable(f"OpenCode answers {answer.status_code} to {method} {path}", hint=answer.text[:300])
            try:
                return answer.json() if answer.content else None
            except (ValueError, RecursionError):
                shown = one_line(answer.text, 200)
                raise Unavailable(f"what answers {method} {path} is no OpenCode: {shown}") from None
        raise AssertionError("not reached")

    async def _check_model(self) -> None:
        """A model that it does not have would be noticed in the first turn only, and said less clearly."""
        told = await self._call("GET", "/config/providers")
        providers = told.get("providers") if isinstance(told, dict) else None
        known = [
            f"{provider.get('id')}/{model}"
            for provider in providers or ()
            if isinstance(provider, dict)
            for model in provider.get("models") or ()
        ]
        if known and self._model not in known:
            raise NotFound.of("model", self._model, known)

    async def _abort(self) -> None:
        with contextlib.suppress(FourhandsError):
            await self._call("POST", f"/session/{self._id}/abort")

    # -- events -------------------------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        """Read the event stream; when it breaks, connect again and ask for what was missed."""
        while True:
            try:
                timeout = httpx.Timeout(REQUEST_S, read=SILENCE_S)
                async with self._client.stream("GET", "/event", timeout=timeout) as stream:
                    stream.raise_for_status()
                    await self._read(stream)
                log.info("OpenCode ended its event stream")
            except httpx.HTTPError as error:
                log.info("OpenCode's event stream broke: %s", error or type(error).__name__)
            if self._failures == len(RETRY_S):
                raise Unavailable("OpenCode's event stream cannot be read any more", hint="is it still running?")
            await asyncio.sleep(RETRY_S[self._failures])
            self._failures += 1

    async def _read(self, stream: httpx.Response) -> None:
        ticking = self._tasks.start(self._tick(), f"the clock of {self.session.name}")
        try:
            async for line in stream.aiter_lines():
                if line.startswith("data:"):
                    await self._event(line[5:])
        finally:
            ticking.cancel()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            self._telling.tick()

    async def _event(self, data: str) -> None:
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            log.warning("OpenCode sent an event that is no JSON: %r", data[:100])
            return
        if not isinstance(event, dict) or not isinstance(told := event.get("properties"), dict):
            return
        kind = event.get("type")
        if kind == "server.connected":
            await self._catch_up()
        elif kind in ("session.created", "session.updated"):
            info = told.get("info")
            if isinstance(info, dict) and info.get("parentID") in self._family:
                self._family.add(str(info.get("id")))
        elif kind == "permission.asked":
            self._permission(told)
        elif kind == "permission.replied":
            for name in ("requestID", "permissionID", "id"):
                self._permissions.replied(str(told.get(name)))
        elif told.get("sessionID") == self._id and kind in ("session.status", "session.idle", "session.error"):
            self._status_told(str(kind), told)
        else:
            self._telling.event(event)

    def _status_told(self, kind: str, told: dict[str, Any]) -> None:
        status = told.get("status")
        state = status.get("type") if isinstance(status, dict) else "idle"
        if kind == "session.error":
            self._trouble = _error(told.get("error"))
        elif state != "idle":
            self._busy = True
        elif self._busy or self._trouble:  # else it is still about the turn before
            self._idle.set()

    async def _catch_up(self) -> None:
        """After connecting: what was said, what is asked, and whether it still works."""
        messages = await self._call("GET", f"/session/{self._id}/message")
        self._telling.catch_up(messages)
        asked = await self._call("GET", "/permission")
        for told in asked if isinstance(asked, list) else ():
            if isinstance(told, dict):
                self._permission(told)
        states = await self._call("GET", "/session/status")
        state = states.get(self._id) if isinstance(states, dict) else None
        if self._ready.done() and self._busy and (not isinstance(state, dict) or state.get("type") == "idle"):
            self._idle.set()
        self._failures = 0
        if not self._ready.done():
            self._ready.set_result(None)

    def _permission(self, told: dict[str, Any]) -> None:
        if self._command or told.get("sessionID") in self._family:
            self._permissions.asked(told)

    async def _reply(self, id: str, body: dict[str, str]) -> None:
        await self._call("POST", f"/permission/{id}/reply", body)


def _error(error: Any) -> str:
    if not isinstance(error, dict):
        return "an error without a name"
    data = error.get("data")
    message = data.get("message") if isinstance(data, dict) else None
    return str(message or error.get("name") or "an error without a name")[:500]
