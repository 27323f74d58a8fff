"""From the text behind `--agent` to an agent at work.

    tour                                    the scripted tour
    http://127.0.0.1:11434/v1#llama3        a model behind an OpenAI-compatible endpoint
    http://127.0.0.1:11434/v1               its only model
    anthropic:https://host#model            a model behind Anthropic's interface
    opencode                                OpenCode, started for you, as you have configured it
    opencode#PROVIDER/MODEL                 the same with another of its models (`opencode models` lists them)
    opencode#MODEL                          OpenCode, started for you, its model behind our proxy (setting upstreams)
    opencode:http://127.0.0.1:4096          an OpenCode server that is running

The key of a model comes from the environment: FOURHANDS_MODEL_KEY, else OPENAI_API_KEY or ANTHROPIC_API_KEY. The
launcher knows no connector by name: each module of one has a `register(launcher)`, and the program calls them all.
"""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from fourhands.agents.briefing.briefing import Briefer
from fourhands.agents.connectors.base import FORGOTTEN, Connector
from fourhands.agents.connectors.directories import named_directories
from fourhands.agents.connectors.resume import ResumeFiles
from fourhands.core.call_events import AgentConsented
from fourhands.core.consent import Arrival
from fourhands.core.errors import BadArgument, NotFound, Unavailable, Unsupported
from fourhands.core.ids import new_id
from fourhands.core.tasks import Tasks
from fourhands.workbench.agent_options import ListedModel
from fourhands.workbench.events import AgentNoted
from fourhands.workbench.sessions import PREFIX, Session
from fourhands.workbench.workbench import Workbench


@dataclass(frozen=True, slots=True)
class LaunchContext:
    """The parts of the running program that a connector needs: tokens for the agent, and the server's address."""

    briefing: Briefer
    issue_token: Callable[[Session], str]
    url: str
    env: Mapping[str, str]


_LONGEST_NAME = 60
_MOST_NAMED = 30
_EXAMPLE = "http://127.0.0.1:11434/v1"

ConnectorKind: TypeAlias = Callable[["Launcher", Session, str], Connector]
"""Makes the connector for a session from its spec; it is entered and opened by the launcher."""

ModelSource: TypeAlias = Callable[[str, Mapping[str, str]], Awaitable[tuple[ListedModel, ...]]]
"""Lists the models of a spec's endpoint, asked with this environment."""


def started_here(spec: str, *details: str) -> Arrival:
    """Return the arrival of an agent that this workbench started: consent is bound to how, to the last detail."""
    return Arrival("\n".join(("started", spec, *details)), f"It was started here as: {spec}")


class Launcher:
    """Starts agents. Each has one task that holds its connector's block for as long as its session lasts."""

    def __init__(self, bench: Workbench, tasks: Tasks, wiring: LaunchContext) -> None:
        self.bench = bench
        self.wiring = wiring
        self.kinds: dict[str, ConnectorKind] = {}
        self.model_sources: dict[str, ModelSource] = {}
        """Of the kinds whose specs name a model of an endpoint behind a #."""
        self.memories = ResumeFiles(Path(bench.terminals.places.state) / "agents")
        self.connectors: dict[str, Connector] = {}
        self._tasks = tasks
        self._lives: dict[str, asyncio.Task[None]] = {}
        bench.connect, bench.disconnect, bench.left_chats = self.start, self._end, self.memories
        bench.models_at = self.models_at

    def close(self) -> None:
        """Stop ending agents with their sessions: the server stops, and stops them itself, without forgetting them."""
        self.bench.disconnect = None

    async def start(
        self,
        spec: str,
        *,
        cwd: str | None = None,
        id: str | None = None,
        fresh: bool = False,
        servers: Sequence[dict[str, object]] = (),
        directories: Sequence[str] = (),
    ) -> Session:
        """Start the agent that `spec` names, its programs in `cwd`, and return its session: `Connect` says which."""
        spec = spec.strip()
        word = spec_kind(spec)
        kind = self.kinds.get(word)
        if kind is None:
            raise NotFound.of("agent", spec, self.kinds)
        if word in self.model_sources and not spec.partition("#")[2]:
            spec = await self._with_model(spec)
        absent = self.bench.sessions.absent
        goes_on = id is not None

        def prepare(session: Session) -> None:
            session.spec, session.servers, session.fresh = spec, tuple(servers), fresh

        id = new_id(PREFIX) if fresh else id
        session = self.bench.begin_session(_name(spec), word, cwd=cwd, id=id, prepare=prepare)
        session.arrival = started_here(spec)  # a connector that knows its program says more
        if goes_on or session.id in absent:  # the session goes on; if the agent remembers it is only known later
            self.bench.events.emit(AgentNoted(session=session.id, text=FORGOTTEN))
        try:
            session.directories = await asyncio.to_thread(named_directories, self.bench, session, directories)
            connector = kind(self, session, spec)
            consent = self.bench.gate.consent
            if consent.state(session.id) == "granted":  # remembered: who was told of the session does not know it yet
                scopes = list(consent.scopes(session.id))
                self.bench.events.emit(AgentConsented(session=session.id, consent="granted", scopes=scopes))
            await self._begin(connector)
        except BaseException:
            if not session.ended:  # by a person, who did not want to wait for it
                await self.bench.end_session(session.id)
            raise
        return session

    async def models_at(self, spec: str) -> tuple[ListedModel, ...]:
        """Return the models of the endpoint that `spec` names, with a model or without."""
        source = self.model_sources.get(spec_kind(spec.strip()))
        if source is None:
            hint = f"give an address, such as {_EXAMPLE}, or anthropic:URL"
            raise Unsupported(f"{spec[:200]!r} is no endpoint of models", hint=hint)
        return await source(spec.strip(), self.wiring.env)

    async def _with_model(self, spec: str) -> str:
        """Return the spec with the only model of its endpoint; of several, the person is to name one."""
        address = spec.removesuffix("#")
        hint = f"name one: {address}#MODEL"
        try:
            models = await self.models_at(spec)
        except Unavailable as error:
            raise BadArgument(f"no model is named, and {error.message}", hint=hint) from error
        if len(models) == 1:
            return f"{address}#{models[0].id}"
        names = ", ".join(model.id for model in models[:_MOST_NAMED])
        more = f" and {len(models) - _MOST_NAMED} more" if len(models) > _MOST_NAMED else ""
        raise BadArgument(
            f"no model is named; {address} has {len(models) or 'none'}{': ' if models else ''}{names}{more}",
            hint=hint,
        )

    async def _begin(self, connector: Connector) -> None:
        """Return when the connector is open; if it cannot be opened, when it is gone again."""
        session = connector.session
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        life = self._tasks.start(self._live(connector, opened), f"agent {session.name}")
        self.connectors[session.id], self._lives[session.id] = connector, life
        try:
            await asyncio.wait([life, opened], return_when=asyncio.FIRST_COMPLETED)
            if not opened.done():
                raise Unavailable(f"{session.name} was ended before it was ready")
            opened.result()
        except BaseException:
            self.connectors.pop(session.id, None)  # its memory stays: the next start may succeed
            life.cancel()
            await asyncio.wait([life])
            raise

    async def _live(self, connector: Connector, opened: "asyncio.Future[None]") -> None:
        try:
            async with connector:
                await connector.open()
                opened.set_result(None)
                await asyncio.Event().wait()  # until it is cancelled: by the end of its session, or of the server
        except Exception as error:
            if opened.done():
                raise
            opened.set_exception(error)  # after the block, so that nothing is left of the agent by then

    async def _end(self, session: Session) -> None:
        """End a session's agent for good; when this returns, its process is gone."""
        connector = self.connectors.pop(session.id, None)
        if connector is None:
            return
        life = self._lives.pop(session.id)
        life.cancel()
        await asyncio.wait([life])
        if connector.memory is not None:
            if not session.resumable:
                connector.memory.forget()
            await connector.memory.close()
            if session.resumable:
                self.memories.take_back(connector.memory)


def spec_kind(spec: str) -> str:
    """Return the word of a spec that says which connector it is for."""
    return re.split("[:# ]", spec, maxsplit=1)[0]


def _name(spec: str) -> str:
    """Return the name of a session: the model's for a model, the program's for a command line, else the first word."""
    if spec.startswith("acp "):
        return os.path.basename(spec.split()[1])[:_LONGEST_NAME]
    return spec.rpartition("#")[2] if "#" in spec else spec.split(" ")[0].partition(":")[0]
