"""The stage of the hostile story, and an agent's way in.

A door keeps all that its agent was ever given, answers and news alike, as text: whatever a story finds there the agent
has seen. Where a door can ask a person by itself, what that person was shown is kept apart.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.kit.agree import run_cli
from tests.kit.model import Answer, Model, Request
from tests.kit.server import Served

from fourhands.core.call import Actor

POSITIONS = range(0, 8000, 800)
"""Where a read begins, so that some begin in the middle of what is to be hidden."""


def as_text(value: object) -> str:
    """A value with its characters as they are: what JSON escapes is found too."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)


class Stage:
    """One server with a model behind its proxy, and the person at it."""

    def __init__(self, served: Served, model: "Puppet") -> None:
        self.served, self.model = served, model
        self.app = served.app
        self.root = Path(served.app.bench.root)

    async def person(self, command: str, /, **args: Any) -> dict[str, Any]:
        """Call a command as the person; it must succeed."""
        done = await self.app.call(f"openspace.{command}", args, actor=Actor.person())
        assert done.success, (command, done)
        return done.data


class Puppet(Model):
    """A model that says what it is told to, once, and "ok" afterwards."""

    def __init__(self) -> None:
        super().__init__(self._speak)
        self.next = ""

    def _speak(self, request: Request) -> Answer:
        text, self.next = self.next, ""
        return Answer(text or "ok")


class Door:
    """An agent's way in. `seen` is all it was given, `asked` all that the person at its other end was asked."""

    def __init__(self, stage: Stage, name: str) -> None:
        self.stage, self.name = stage, name
        self.session = ""
        self.choice = "once"  # what the person at its other end answers
        self.seen: list[str] = []
        self.asked: list[str] = []

    def saw(self, value: object) -> str:
        """Keep something that the agent was given."""
        self.seen.append(as_text(value))
        return self.seen[-1]

    def sees(self, needle: str, since: int = 0) -> list[str]:
        """The beginnings of the answers and news, since some number of them, in which the agent saw something."""
        return [f"{needle[:60]} in {text[:120]}" for text in self.seen[since:] if needle in text]

    @property
    def all(self) -> str:
        """All that the agent has seen."""
        return "\n".join(self.seen)

    async def call(self, command: str, /, **args: Any) -> str:
        """Make a call; the answer as the agent reads it."""
        raise NotImplementedError

    async def news(self) -> None:
        """Take in what the agent is told unasked and can read without a call."""

    async def run(self, script: str) -> None:
        """Start a script of the workspace in a terminal, which has its name as title."""
        await self.call("terminal.exec", command="sh", args=[script])

    async def look(self, script: str, *patterns: str) -> None:
        """Look at that terminal in every way there is."""
        id = f"sh {script}"
        for lines in (1, 3, 10, 40, 10_000):
            await self.call("terminal.read_output", terminalId=id, lines=lines)
        for position in POSITIONS:
            await self.call("terminal.read_output", terminalId=id, since=position)
        for pattern in patterns:
            await self.call("terminal.search", terminalId=id, pattern=pattern)
            await self.call("terminal.wait", terminalId=id, pattern=pattern, since=0, deadlineSeconds=0.1)
        await self.call("terminal.replay", terminalId=id)
        await self.call("terminal.list")
        await self.news()

    async def screen(self, script: str) -> None:
        """Look at the screen of that terminal."""
        await self.call("terminal.screen", terminalId=f"sh {script}")

    async def read(self, path: str, needle: str) -> None:
        """Look at a file, and at what is unsaved of it, in every way there is."""
        for command in ("file.read", "editor.read_file", "editor.open"):
            await self.call(command, path=path)
        await self.call("file.search", query=needle)
        for command in ("editor.list", "pane.list", "workbench.snapshot", "change.list", "workbench.actions"):
            await self.call(command)
        await self.news()

    async def propose(self, line: str) -> None:
        """Ask to run a line that a person must be asked about."""
        await self.call("terminal.exec", command=line)

    async def pry(self, question: str) -> None:
        """Try to see and to answer a question of another session."""
        for command in ("workbench.questions", "agent.list", "workbench.snapshot", "workbench.actions"):
            await self.call(command)
        await self.call("workbench.answer", questionId=question, choice="once")
        await self.call("workbench.review", questionId=question, text="true")
        await self.news()

    async def attack(self) -> list[str]:
        """Try to be the person by headers, queries or messages; what was let in, by name."""
        return []


async def seen_by_person(stage: Stage, command: str, /, **args: Any) -> dict[str, str]:
    """What each of the person's doors answers to a call."""
    served = stage.served
    async with served.client() as http:
        by_http = (await http.post(f"/api/commands/openspace.{command}", json=args)).json()
    async with served.caller() as socket:
        by_socket = await socket.call(f"openspace.{command}", args)
    words = ["call", f"openspace.{command}", "--json", "--workspace", served.places.workspace]
    words += ["--args", json.dumps(args)]
    by_cli = await asyncio.to_thread(run_cli, words, served.env)
    return {"HTTP": as_text(by_http), "WebSocket": as_text(by_socket), "CLI": as_text(json.loads(by_cli.stdout))}
