"""The OpenCode connector: a session on an OpenCode server, started for this or joined, as an agent at the workbench.

    async with OpenCodeConnector(bench, session, command=["opencode"], gateway=Gateway(url, token, model)) as agent:
        await agent.open()

With a gateway its model is behind our proxy, which adds the briefing and takes blocks out; the filter here is only a
second line, and runs nothing. Without one, joined or started, it asks a model of its own: then the briefing goes with
each prompt, and the blocks are taken here. Permissions that OpenCode asks for become questions at the workbench.
"""

import asyncio
import contextlib
import logging
import re
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from fourhands.agents.blocks.answer import ResponseBlocks
from fourhands.agents.blocks.interceptor import Dropped
from fourhands.agents.briefing.briefing import Briefer
from fourhands.agents.briefing.feedback import turn_message
from fourhands.agents.connectors.base import Connector, Recollection
from fourhands.agents.connectors.events import AgentStep
from fourhands.agents.connectors.launcher import Launcher
from fourhands.agents.connectors.profile import AgentProfile
from fourhands.agents.connectors.resume import ResumeFile
from fourhands.agents.connectors.sandbox import AgentSandbox
from fourhands.agents.opencode.client import OpenCodeClient, OpenCodeTimings, connected
from fourhands.agents.opencode.events import OpenCodeEvents
from fourhands.agents.opencode.permissions import OpenCodePermissions
from fourhands.agents.opencode.server import Gateway, OpenCodeAddress, started, started_inside
from fourhands.core.errors import BadArgument, FourhandsError, Unavailable
from fourhands.core.event import Event
from fourhands.workbench.events import AgentReset
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench

TICK_S = 1.0
GO_ON = "The results of your commands are there. Go on with them, or tell the person what you found."

log = logging.getLogger(__name__)

_SESSION = re.compile(r"ses[A-Za-z0-9_-]{1,100}")


class OpenCodeConnector(Connector):
    """One agent session on one OpenCode server."""

    go_on = GO_ON

    def __init__(
        self,
        bench: Workbench,
        session: Session,
        *,
        url: str = "",
        command: Sequence[str] = (),
        gateway: Gateway | None = None,
        briefing: Briefer | None = None,
        model: str = "",
        password: str = "",
        transport: httpx.AsyncBaseTransport | None = None,
        timings: OpenCodeTimings | None = None,
        memory: ResumeFile | None = None,
        profile: AgentProfile | None = None,
    ) -> None:
        if bool(url) == bool(command):
            raise BadArgument("give OpenCode's url or the command that starts it", hint="one of the two")
        super().__init__(bench, session, memory)
        self.url = url
        self.model = model  # of its own ones, as provider/model; empty: the one it is configured for
        self._password = password
        self.command = command
        self._profile = profile or AgentProfile(listens=True)
        self.gateway = gateway
        self._briefing = briefing
        self._transport = transport
        self._timings = timings or OpenCodeTimings()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._client: OpenCodeClient
        self._id = ""
        self._telling: OpenCodeEvents
        self._family: set[str] = set()  # our session there and those that it began for parts of its work
        self._answers: dict[str, ResponseBlocks] = {}
        self._permissions = OpenCodePermissions(bench, session, self.tasks, self._reply)
        self._busy = False
        self._idle = asyncio.Event()
        self._trouble = ""
        self._reset = False  # the person wants a new chat

    async def open(self) -> None:
        """Start or join the server, and return when it takes prompts."""
        self.tasks.start(self._live(), f"OpenCode for {self.session.name}")
        await asyncio.shield(self._ready)

    async def turn(self, text: str) -> None:
        """Send a person's message and return when the agent is done with it, and has seen what it did."""
        await asyncio.shield(self._ready)
        if self._reset:  # a new chat is a new session there
            await self._begin()
            self._reset = False
        await self.run_rounds(text)

    async def settled(self) -> None:
        """Return when the commands of the answer have run, no matter if the proxy or this object took them out."""
        with self.bench.events.subscribe(["call.finished"]) as events:
            while self.bench.gate.pending(self.session.id):
                await anext(events)

    async def round(self, text: str, *, last: bool) -> None:
        """Send one message and return at the end of the answer."""
        self._idle.clear()
        self._busy, self._trouble = False, ""
        body: dict[str, Any] = {"parts": [{"type": "text", "text": text}]}
        if self.model:
            provider, _, model = self.model.partition("/")
            body["model"] = {"providerID": provider, "modelID": model}
        message = None
        if self._briefing is not None:
            body["system"] = self._briefing(self.session.id)
            message = turn_message(self.session, self.bench.registry, self.bench)
            if message is not None:
                # A part of the message, so that it stays in the conversation; the prompt before it does not change.
                body["parts"].insert(0, {"type": "text", "text": message.framed, "synthetic": True})
        try:
            await self._client.call("POST", f"/session/{self._id}/prompt_async", body, again=False)
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
            self.tasks.start(self._abort(), f"stopping OpenCode of {self.session.name}")
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
        told = AgentStep(
            session=self.session.id,
            step_id=message,
            message_id=message,
            tool=tool,
            status=status,
            title=title,
            input=input,
            output=output,
        )
        self._emit(told)

    def take(self, message: str, commands: list[dict[str, Any]], dropped: list[Dropped]) -> None:
        """Blocks in its text: with the proxy in front, what still looks like one is not run."""
        if self.gateway is not None:
            log.warning("%s: a block came past the proxy and is ignored", self.session.id)
            return
        answer = self._answers.setdefault(message, ResponseBlocks(self.runner))
        answer.take(message, commands)
        answer.drop(dropped)

    # -- life ---------------------------------------------------------------------------------------------------------

    async def _live(self) -> None:
        try:
            async with self._server() as address, self._connected(address) as self._client:
                await self._client.until_healthy(self._timings.ready if self.command else self._timings.join)
                if self.model:
                    await self._client.check_model(self.model)
                if not await self._rejoin():
                    await self._begin()
                ticking = self.tasks.start(self._tick(), f"the clock of {self.session.name}")
                try:
                    await self._client.listen(self._event)
                finally:
                    ticking.cancel()
        except FourhandsError as error:
            self._fail(error)
        finally:
            self._fail(Unavailable("the connection to OpenCode has ended"))

    async def _begin(self) -> None:
        """Begin a session there."""
        made = await self._client.call("POST", "/session", {"title": self.session.name})
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
            found = await self._client.call("GET", f"/session/{id}")
            messages = await self._client.call("GET", f"/session/{id}/message")
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
        """Return the id of the session in OpenCode."""
        return {"remote": self._id}

    def _happened(self, event: Event) -> None:
        super()._happened(event)
        if isinstance(data := event.payload, AgentReset) and data.session == self.session.id:
            self._reset = True

    def _fail(self, error: FourhandsError) -> None:
        if not self._ready.done():
            self._ready.set_exception(error)
            self._ready.exception()  # its opener may have gone
        self._trouble = self._trouble or error.message
        self._idle.set()

    @contextlib.asynccontextmanager
    async def _server(self) -> AsyncIterator[OpenCodeAddress]:
        if not self.command:
            yield OpenCodeAddress(self.url, self._password)
            return
        places = self.bench.terminals.places
        private = Path(places.state) / "opencode" / self.session.id
        base, cwd = self.bench.terminals.env, self.bench.own_cwd(self.session)
        sandbox = AgentSandbox(self.bench, self.session)
        if await sandbox.provider() is not None:
            inside = started_inside(self.command, self.gateway, sandbox=sandbox, profile=self._profile, base=base)
            async with inside as address:
                yield address
            return
        sandbox.go_without()
        async with started(self.command, self.gateway, cwd=cwd, private=private, base=base) as address:
            yield address

    def _connected(self, address: OpenCodeAddress) -> contextlib.AbstractAsyncContextManager[OpenCodeClient]:
        cwd, env = self.bench.own_cwd(self.session), self.bench.terminals.env
        return connected(address, cwd=cwd, env=env, timings=self._timings, transport=self._transport)

    async def _abort(self) -> None:
        with contextlib.suppress(FourhandsError):
            await self._client.call("POST", f"/session/{self._id}/abort")

    # -- events -------------------------------------------------------------------------------------------------------

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            self._telling.tick()

    async def _event(self, event: dict[str, Any]) -> None:
        kind, told = event.get("type"), event["properties"]
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
        messages = await self._client.call("GET", f"/session/{self._id}/message")
        self._telling.catch_up(messages)
        asked = await self._client.call("GET", "/permission")
        for told in asked if isinstance(asked, list) else ():
            if isinstance(told, dict):
                self._permission(told)
        states = await self._client.call("GET", "/session/status")
        state = states.get(self._id) if isinstance(states, dict) else None
        if self._ready.done() and self._busy and (not isinstance(state, dict) or state.get("type") == "idle"):
            self._idle.set()
        self._client.caught_up()
        if not self._ready.done():
            self._ready.set_result(None)

    def _permission(self, told: dict[str, Any]) -> None:
        if self.command or told.get("sessionID") in self._family:
            self._permissions.asked(told)

    async def _reply(self, id: str, body: dict[str, str]) -> None:
        await self._client.call("POST", f"/permission/{id}/reply", body)


def _error(error: Any) -> str:
    if not isinstance(error, dict):
        return "an error without a name"
    data = error.get("data")
    message = data.get("message") if isinstance(data, dict) else None
    return str(message or error.get("name") or "an error without a name")[:500]


def register(launcher: Launcher, profile: AgentProfile | None = None) -> None:
    """Let `--agent opencode`, `opencode#MODEL` and `opencode:URL` start or join an OpenCode."""
    launcher.kinds["opencode"] = partial(_connect, profile)


def _connect(profile: AgentProfile | None, launcher: Launcher, session: Session, spec: str) -> Connector:
    name, _, model = spec.partition("#")
    url = name.partition(":")[2]
    bench, wiring = launcher.bench, launcher.wiring
    family = "anthropic" if "claude" in model else "openai"
    servers = {"anthropic"} if family == "anthropic" else {"openai", "chat"}
    if model and not url and servers & bench.settings.upstreams.keys():
        gateway = Gateway(wiring.url, wiring.issue_token(session), model, family)
        memory = launcher.memories.of(session, spec)
        return OpenCodeConnector(bench, session, command=("opencode",), gateway=gateway, memory=memory, profile=profile)
    if model and "/" not in model:
        raise BadArgument(
            f"no model server is configured for {model!r}",
            hint=f"set its address as url in [upstreams.{family}] of the settings; or name one of OpenCode's own "
            "models as opencode#PROVIDER/MODEL (`opencode models` lists them); or say opencode alone",
        )
    return OpenCodeConnector(
        bench,
        session,
        url=url,
        command=() if url else ("opencode",),
        model=model,
        briefing=wiring.briefing,
        memory=launcher.memories.of(session, spec),
        profile=profile,
    )
