"""Real ACP agents on a stage: a whole workbench with its doors, a scripted model behind the agent, and its events."""

import asyncio
import contextlib
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from tests.kit.dialects import Answer as Said
from tests.kit.model import Model, Request
from tests.kit.npm_agents import missing
from tests.kit.person import PERSON
from tests.kit.server import Served, serve_app
from tests.kit.workbench import environment

from fourhands.agents.acp.connector import AcpAgent
from fourhands.agents.acp.mcp_server import OwnServer
from fourhands.agents.acp.recipe import Recipe
from fourhands.core.event import Event
from fourhands.core.form import FieldValue
from fourhands.core.question import Answer, Choice
from fourhands.providers.egress.hosts import THIS_MACHINE
from fourhands.settings import AgentSettings, Settings
from fourhands.workbench.enclosures import Enclosed

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
PICTURE = Enclosed(kind="image", mime_type="image/png", data=PNG)
"""A red point."""

LIMIT_S = 120
"""A real agent needs 3 to 20 s to start where two tests share two processors."""

NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")


class Journey:
    """A real agent in a workbench, and what happened."""

    def __init__(self, served: Served, agent: AcpAgent, model: Model, choose: Callable[[Event], Choice]) -> None:
        self.served, self.agent, self.model = served, agent, model
        self.app, self.bench, self.session = served.app, served.app.bench, agent.session
        self.root = Path(self.bench.root)
        self.events: list[Event] = []
        self.filled: dict[str, FieldValue] = {}  # what the person sends of a form
        self._choose = choose
        self._news = asyncio.Event()
        self.app.events.published.subscribe(self._happened)

    def _happened(self, event: Event) -> None:
        self.events.append(event)
        self._news.set()
        if event.kind == "question.asked":
            form = event.data["kind"] == "form"
            answer = Answer(choice="once", values=self.filled) if form else Answer(choice=self._choose(event))
            asyncio.get_running_loop().call_soon(self.app.questions.answer, str(event.data["id"]), answer, PERSON)

    async def until(self, condition: Callable[[Event], object]) -> Event:
        """The first event of which this is true, past or to come."""
        async with asyncio.timeout(LIMIT_S):
            seen = 0
            while True:
                for event in self.events[seen:]:
                    if condition(event):
                        return event
                seen = len(self.events)
                self._news.clear()
                await self._news.wait()

    async def turn(self, text: str, *enclosed: Enclosed) -> None:
        """Say something, and wait until it is answered."""
        async with asyncio.timeout(LIMIT_S):
            await self.agent.prompt(text, enclosed)
            await self.agent.idle()
        assert self.of("agent.failed") == []

    async def command(self, name: str, **args: object) -> Any:
        """Do something about this agent as its person."""
        result = await self.app.call(f"openspace.agent.{name}", {"sessionId": self.session.id, **args})
        assert result.success, result.error
        return result.data

    def of(self, kind: str) -> list[Mapping[str, Any]]:
        """The events of a kind."""
        return [event.data for event in self.events if event.kind == kind]

    @property
    def said(self) -> str:
        """All that the agent said."""
        return "".join(str(data["text"]) for data in self.of("agent.said"))

    def asked(self) -> list[object]:
        """What the person was asked to allow."""
        return [data["shown"] for data in self.of("question.asked") if data["kind"] == "confirmation"]


@contextlib.asynccontextmanager
async def on_stage(
    recipe: Recipe,
    argv: list[str],
    script: Callable[[Request], Said],
    env: Callable[[str, Path], Mapping[str, str]],
    *,
    choose: Callable[[Event], Choice] = lambda event: "once",
    nobody: bool = False,
    provider: str = "local",
    attended: bool = True,
    directories: tuple[str, ...] = (),
) -> AsyncIterator[Journey]:
    """Start an agent whose model is `script`; `env` makes its environment from the model's address and its home.

    It and its programs run in `provider`; as another user only where that is no sandbox. A person who attends chooses.
    `directories` are those of its settings.
    """
    async with contextlib.AsyncExitStack() as stack:
        model = await stack.enter_async_context(Model(script))
        host = f"{THIS_MACHINE}:{model.url.rpartition(':')[2]}"
        named = AgentSettings(allowed_hosts=(host,), additional_directories=directories)
        served = await stack.enter_async_context(serve_app(Settings(agents={recipe.name: named})))
        app = served.app
        base = Path(app.bench.root).parent
        home = base / "home"
        own = {**environment(app.places), "HOME": str(home), **env(model.url, home)}
        if nobody and os.geteuid() == 0 and provider == "local":
            base.chmod(0o755)  # another user has to come in
            argv = [*AS_NOBODY, within_reach(argv[0], base), *argv[1:]]
            for path in (home, *home.rglob("*")):
                shutil.chown(path, NOBODY, NOBODY)
        session = app.bench.begin_session(recipe.name, "acp")
        session.state = replace(session.state, provider=provider)
        app.gate.consent.grant(session.id)
        if attended:
            app.questions.attend()
        servers = OwnServer(served.url, app.bench.root, lambda one: served.running.tokens.issue(one.actor), own)
        agent = AcpAgent(app.bench, session, recipe, argv, env=own, mcp_servers=servers)
        journey = Journey(served, agent, model, choose)
        async with agent:
            async with asyncio.timeout(LIMIT_S):
                await agent.ready()
            yield journey


def within_reach(program: str, base: Path) -> str:
    """An agent's program where another user finds it: itself, or a copy if its checkout lies in a private directory."""
    if _nobody_can("test", "-r", os.path.realpath(program)):
        return program
    if not _nobody_can("node", "--version"):
        missing("another user cannot run node here")
    found = Path(program).parent.parent  # node_modules
    others = shutil.ignore_patterns("opencode*", "@google", "@openai", "@agentclientprotocol", "claude-agent-sdk-*")
    copy = base / "agents" / "node_modules"  # Node looks for a program's packages in directories of this name only
    shutil.copytree(found, copy, symlinks=True, ignore=others)
    return str(copy / ".bin" / Path(program).name)


def _nobody_can(*command: str) -> bool:
    return subprocess.run([*AS_NOBODY, *command], capture_output=True, check=False).returncode == 0
