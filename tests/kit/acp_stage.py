"""An app with a fake ACP agent in it: a real process that speaks real JSON-RPC; all we send is held to the schema."""

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.kit.acp2_messages import check2
from tests.kit.acp_messages import check
from tests.kit.person import Person
from tests.kit.workbench import open_app

from fourhands.agents.acp.connector import AcpAgent
from fourhands.agents.acp.recipe import Recipe
from fourhands.commands import exec as exec_commands
from fourhands.core.event import Event

LIMIT_S = 40

FAKE = str(Path(__file__).parent / "fake_acp_agent.py")

goes_on = pytest.mark.parametrize(
    ("options", "method"),
    [
        ({}, "session/new"),
        ({"capabilities": {"loadSession": True}}, "session/load"),
        ({"capabilities": {"loadSession": True, "sessionCapabilities": {"resume": {}}}}, "session/resume"),
        ({"capabilities": {"loadSession": True}, "forgetful": True}, "session/new"),
    ],
)
"""What an agent can, and how it is asked to go on with a session that was interrupted."""


class Stage:
    """An app, a fake agent in it, and what happens."""

    def __init__(self, app, agent, person, log, hold=check):
        self.app, self.agent, self.person, self.log, self.hold = app, agent, person, log, hold
        self.bench = app.bench
        self.events: list[Event] = []
        self._news = asyncio.Event()
        app.events.published.subscribe(self._happened)

    def _happened(self, event):
        self.events.append(event)
        self._news.set()

    async def until(self, kind, /, **data):
        """Return when such an event has happened."""
        async with asyncio.timeout(LIMIT_S):
            while True:
                for event in self.events:
                    if event.kind == kind and all(event.data.get(key) == value for key, value in data.items()):
                        return event
                self._news.clear()
                await self._news.wait()

    async def prompt(self, *actions):
        await self.agent.prompt(json.dumps(actions))

    async def turn(self, *actions):
        """One whole turn; returns what came of its calls."""
        start = len(self.events)
        await self.prompt(*actions)
        async with asyncio.timeout(LIMIT_S):
            await self.agent.idle()
        lines = self.said(start).splitlines()
        return [json.loads(line.removeprefix("RESULT ")) for line in lines if line.startswith("RESULT ")]

    def said(self, start=0):
        return "".join(str(event.data["text"]) for event in self.events[start:] if event.kind == "agent.said")

    def of(self, kind):
        return [event.data for event in self.events if event.kind == kind]

    def sent(self):
        """All that the agent received, validated."""
        found = [json.loads(line) for line in Path(self.log).read_text().splitlines()]
        entries = [one for entry in found for one in (entry if isinstance(entry, list) else [entry])]
        asked = {entry["asked"]["id"]: entry["asked"]["method"] for entry in entries if "asked" in entry}
        messages = [entry for entry in entries if "asked" not in entry]
        for message in messages:
            self.hold(message, asked)
        return messages


@asynccontextmanager
async def open_stage(
    recipe: Recipe | None = None, *, consent=True, mcp=None, settle_s=10.0, memory=None, settings=None, **options
):
    """A fake agent with these options; `memory` gives what it is to remember, for its session."""
    async with open_app(settings) as app:
        for command in exec_commands.commands.commands:
            if command.id not in app.registry:
                app.registry.add(command)
        log = f"{app.places.state}/fake.log"
        env = {**app.terminals.env, "FAKE_LOG": log, "FAKE_OPTIONS": json.dumps(options), "FOURHANDS_SECRET": "x"}
        session = app.bench.begin_session("fake", "acp")
        if consent:
            app.gate.consent.grant(session.id)
        person = Person(app)
        agent = AcpAgent(
            app.bench,
            session,
            recipe or Recipe(name="fake"),
            [sys.executable, FAKE],
            env=env,
            briefing=lambda id, *, tools=False: "THE INSTRUCTIONS",
            mcp_servers=mcp,
            settle_s=settle_s,
            memory=await memory(session) if memory else None,
        )
        stage = Stage(
            app, agent, person, log, check2 if recipe and recipe.acp_version == options.get("version") == 2 else check
        )
        async with agent:
            yield stage
        if Path(log).exists():
            stage.sent()


OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def permission(command="npm install x", options=None, **call):
    """The action of asking for a permission."""
    given = {"toolCallId": "c1", "title": "Run it", "kind": "execute", "rawInput": {"command": command}, **call}
    return [
        "call",
        "session/request_permission",
        {"toolCall": given, "options": OPTIONS if options is None else options},
    ]
