"""From what a person writes behind `--agent` to an agent at work.

    tour                                    the scripted tour
    http://127.0.0.1:11434/v1#llama3        a model behind an OpenAI-compatible endpoint
    anthropic:https://host#model            a model behind Anthropic's interface
    opencode                                OpenCode, started for you, as you have configured it
    opencode#PROVIDER/MODEL                 the same with another of its models (`opencode models` lists them)
    opencode#MODEL                          OpenCode, started for you, its model behind our proxy (setting upstreams)
    opencode:http://127.0.0.1:4096          an OpenCode server that is running

The key of a model comes from the environment: FOURHANDS_MODEL_KEY, else OPENAI_API_KEY or ANTHROPIC_API_KEY. Further
kinds of agents add themselves with `Launcher.kinds`.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from fourhands.agents.connectors.base import Connector
from fourhands.agents.connectors.chat_model import ChatModel, Endpoint
from fourhands.agents.connectors.resume import ResumeFiles
from fourhands.agents.connectors.tour import Tour
from fourhands.agents.connectors.transcript import FORGOTTEN
from fourhands.agents.opencode.connector import OpenCodeConnector
from fourhands.agents.opencode.server import Gateway
from fourhands.core.errors import BadArgument, NotFound
from fourhands.core.tasks import Tasks
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench


@dataclass(frozen=True, slots=True)
class LaunchContext:
    """What a connector needs of the running program: tokens for the agent, and where it can reach us."""

    instructions: Callable[[str], str]
    issue_token: Callable[[Session], str]
    url: str
    env: Mapping[str, str]


ConnectorKind: TypeAlias = Callable[["Launcher", Session, str], Awaitable[Connector]]


class Launcher:
    """Starts agents and keeps their conversations."""

    def __init__(self, bench: Workbench, tasks: Tasks, wiring: LaunchContext) -> None:
        self.bench = bench
        self.tasks = tasks
        self.wiring = wiring
        self.kinds: dict[str, ConnectorKind] = {
            "tour": _tour,
            "http": _model,
            "https": _model,
            "anthropic": _model,
            "opencode": _opencode,
        }
        self.memories = ResumeFiles(Path(bench.terminals.places.state) / "agents")
        self._conversations: dict[str, Connector] = {}
        bench.connect = self.start
        bench.on_session_end.append(self._ended)

    def close(self) -> None:
        """The server stops: its agents end with it, and are not forgotten."""
        self.bench.on_session_end.remove(self._ended)

    def _ended(self, session: Session) -> None:
        conversation = self._conversations.pop(session.id, None)
        if conversation is not None and conversation.memory is not None:
            conversation.memory.forget()

    async def start(self, spec: str, *, cwd: str | None = None) -> Session:
        """Start the agent that `spec` names, its programs in `cwd`, and return its session."""
        spec = spec.strip()
        word = re.split("[:# ]", spec, maxsplit=1)[0]
        kind = self.kinds.get(word)
        if kind is None:
            raise NotFound.of("agent", spec, self.kinds)
        absent = self.bench.sessions.absent
        session = self.bench.begin_session(_name(spec), word, cwd=cwd)
        if session.id in absent:  # the session goes on; whether the agent remembers it has yet to be seen
            self.bench.events.emit("agent.noted", {"session": session.id, "text": FORGOTTEN})
        try:
            self._conversations[session.id] = await kind(self, session, spec)
        except BaseException:
            await self.bench.end_session(session.id)
            raise
        return session


def _name(spec: str) -> str:
    """What people see: the model's name for a model, else the first word."""
    return spec.rpartition("#")[2] if "#" in spec else spec.split(" ")[0].partition(":")[0]


async def _tour(connections: Launcher, session: Session, spec: str) -> Connector:
    return Tour(connections.bench, session, connections.tasks)


async def _model(connections: Launcher, session: Session, spec: str) -> Connector:
    return ChatModel(
        connections.bench,
        session,
        connections.tasks,
        Endpoint.of(spec, connections.wiring.env),
        connections.wiring.instructions,
        memory=connections.memories.of(session, spec),
    )


async def _opencode(connections: Launcher, session: Session, spec: str) -> Connector:
    name, _, model = spec.partition("#")
    url = name.partition(":")[2]
    bench, wiring, memory = connections.bench, connections.wiring, connections.memories.of(session, spec)
    family = "anthropic" if "claude" in model else "openai"
    servers = {"anthropic"} if family == "anthropic" else {"openai", "chat"}
    if model and not url and servers & bench.settings.upstreams.keys():
        gateway = Gateway(wiring.url, wiring.issue_token(session), model, family)
        agent = OpenCodeConnector(
            bench, session, connections.tasks, command=("opencode",), gateway=gateway, memory=memory
        )
    elif model and "/" not in model:
        raise BadArgument(
            f"no model server is configured for {model!r}",
            hint=f"give its address in the settings, as url in [upstreams.{family}]; or name one of OpenCode's own "
            "models as opencode#PROVIDER/MODEL (`opencode models` lists them); or say opencode alone",
        )
    else:
        agent = OpenCodeConnector(
            bench, session, connections.tasks,
            url=url, command=() if url else ("opencode",), model=model, instructions=wiring.instructions, memory=memory,
        )  # fmt: skip
    await agent.open()
    return agent
