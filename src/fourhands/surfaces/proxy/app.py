"""The model-side proxy: an agent's base URL points here, its requests go on to the model's own server.

On the way there a request gets the briefing, the blocks of earlier answers and what was told with them back, and at its
end what is new; on the way back the answer loses its blocks, which run. Everything else stays as it was: bytes, events,
statuses, errors, breaks. The agent's token arrives as the interface's API key and names its session; it stays here.

What must stay true: an answer's bytes are passed on as they come, no faster than the agent reads them; results are told
to the model once, and again only if the request failed; each block runs once; when the agent goes away, the request to
the model's server ends too, and what was complete by then still runs.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from fourhands.agents.blocks.answer import ResponseBlocks
from fourhands.agents.blocks.runner import BlockRunner
from fourhands.agents.briefing.hub import Hub
from fourhands.agents.models.dialects import DialectLimits
from fourhands.agents.models.pool import UpstreamLimits
from fourhands.agents.models.upstream import Upstreams
from fourhands.core.event import Event
from fourhands.core.tasks import Tasks
from fourhands.surfaces.auth import Credential
from fourhands.surfaces.proxy.errors import ProxyError
from fourhands.surfaces.proxy.exchange import Asked, ProxyExchange, refuse
from fourhands.surfaces.proxy.memory import ProxyMemory
from fourhands.workbench.events import AgentReset, AgentStopping
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench


@dataclass(frozen=True, slots=True)
class ProxyLimits:
    """The limits of the proxy; tests pass other ones."""

    settle_s: float = 3.0
    """Seconds that a request waits for the commands of the previous answer, so that it can report their results."""
    tick_s: float = 0.5
    """Seconds between two checks of an open block while nothing arrives."""
    upstream: UpstreamLimits = field(default_factory=UpstreamLimits)
    dialect: DialectLimits = field(default_factory=DialectLimits)


DEFAULT = ProxyLimits()


def proxy_routes(bench: Workbench, hub: Hub, tasks: Tasks, limits: ProxyLimits = DEFAULT) -> list[BaseRoute]:
    """Return the proxy's routes; its connections are closed with `tasks`."""
    proxy = Proxy(bench, hub, tasks, limits=limits)
    tasks.start(proxy.hold(), "the model proxy")
    return [Route("/v1/{rest:path}", proxy), Route("/v1beta/{rest:path}", proxy)]


class Proxy:
    """An ASGI application behind the door, which has put a `Credential` into the scope."""

    def __init__(
        self,
        bench: Workbench,
        hub: Hub,
        tasks: Tasks,
        *,
        now: Callable[[], float] = time.monotonic,
        limits: ProxyLimits = DEFAULT,
    ) -> None:
        self.bench = bench
        self.hub = hub
        self.now = now
        self.limits = limits
        self.upstreams = Upstreams(bench.settings.upstreams, bench.terminals.env, now=now, limits=limits.upstream)
        self._tasks = tasks
        self._runners: dict[str, BlockRunner] = {}
        self._answers: dict[str, set[ResponseBlocks]] = {}
        self.memory = ProxyMemory(bench, Path(bench.terminals.places.state) / "proxy")
        self._disposers = [bench.events.published.subscribe(self._happened)]
        bench.on_session_end.append(self._ended)

    async def hold(self) -> None:
        """Wait until cancelled, then close all connections."""
        try:
            await asyncio.Event().wait()
        finally:
            for dispose in self._disposers:
                dispose()
            self.upstreams.close()
            await self.memory.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        asked = Asked.of(scope)
        try:
            session = self._session(scope["state"]["principal"])
            content = await _content(receive)
        except ProxyError as error:
            await refuse(send, asked.family, error)
            return
        exchange = ProxyExchange(self, asked, session, send)
        async with asyncio.TaskGroup() as group:
            work = group.create_task(exchange.run(content))
            watch = group.create_task(_gone(receive, exchange, work))
            work.add_done_callback(lambda _: watch.cancel())

    def runner(self, session: Session) -> BlockRunner:
        """Return the runner of a session's blocks."""
        if (runner := self._runners.get(session.id)) is None:
            runner = self._runners[session.id] = BlockRunner(self.bench, session, self._tasks)
        return runner

    @contextlib.contextmanager
    def answer(self, session: Session) -> Iterator[ResponseBlocks]:
        """Register an answer, so that the person may stop it while it arrives."""
        answer = ResponseBlocks(self.runner(session))
        running = self._answers.setdefault(session.id, set())
        running.add(answer)
        try:
            yield answer
        finally:
            running.discard(answer)
            answer.close()

    def _session(self, principal: Credential) -> Session:
        if not principal.agent:
            raise ProxyError(
                403, "this is not an agent's token", "give the agent its own: it names the agent's session"
            )
        session = self.bench.sessions.find(principal.actor.id)
        if session is None:
            raise ProxyError(401, f"there is no session {principal.actor.id!r}", "it has ended; start a new one")
        return session

    def _happened(self, event: Event) -> None:
        if isinstance(data := event.payload, AgentStopping):
            for answer in self._answers.get(data.session, ()):
                answer.stop()
        elif isinstance(data, AgentReset) and (session := self.bench.sessions.find(data.session)) is not None:
            self.memory.forget(session)

    def _ended(self, session: Session) -> None:
        self._runners.pop(session.id, None)
        self._answers.pop(session.id, None)
        self.memory.forget(session)


async def _content(receive: Receive) -> bytes:
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ProxyError(413, "the request is too large, or was not sent to its end")
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def _gone(receive: Receive, exchange: ProxyExchange, work: "asyncio.Task[None]") -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    if not exchange.over:
        work.cancel()
