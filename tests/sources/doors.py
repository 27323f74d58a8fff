"""A server that runs, and the doors at which a client that was written to a source document knocks."""

import asyncio
import contextlib
import json
import os
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from tests.kit.agree import agreeable_person
from tests.kit.dialects import Answer
from tests.kit.mcp_client import WITH_FIELDS, over_http, text
from tests.kit.model import Model
from tests.kit.server import Served, serve_app, until
from tests.kit.workbench import MINIMAL

from fourhands.agents.connectors.launcher import LaunchContext, Launcher
from fourhands.app.connectors import register_all
from fourhands.core.call import Actor
from fourhands.core.event import Event
from fourhands.core.question import Answer as Word
from fourhands.core.question import Choice
from fourhands.settings import Settings, load
from fourhands.workbench.sessions import CommandResult

Result = dict[str, Any]


class Refused(Exception):
    """The server did not do what it was asked to; `result` is its whole answer."""

    def __init__(self, result: Result) -> None:
        super().__init__(json.dumps(result, ensure_ascii=False)[:2000])
        self.result = result


@dataclass(frozen=True, slots=True)
class Said:
    """What came of one answer of a model: the text that the person saw, and the results of its blocks in order."""

    visible: str
    results: list[CommandResult]
    session: str
    told: str
    """What the model was sent after its answer: the results, as it read them."""

    def data(self, place: int = 0) -> Result:
        """What the block at this place answered."""
        data = self.results[place].data
        assert data is not None, self.results[place]
        return data


class Doors:
    """The doors of one server; `person` and `agent` are HTTP, where most documents have a call and its result."""

    def __init__(self, served: Served, connections: Launcher, name: str = "source") -> None:
        self.served = served
        self.name = name
        self.app = served.app
        self.root = Path(served.app.bench.root)
        self._connections = connections
        self._session = self._token = ""

    async def person(self, command: str, args: Mapping[str, object] | None = None) -> Result:
        """Call a command by HTTP as the person; raises `Refused` where it did not succeed."""
        return await self._post(self.served.token, command, args)

    async def agent(self, command: str, args: Mapping[str, object] | None = None) -> Result:
        """The same with the token of an agent that the person has let in; questions are answered with yes."""
        token = self._agents_token()
        with agreeable_person(self.app):
            return await self._post(token, command, args)

    async def _post(self, token: str, command: str, args: Mapping[str, object] | None) -> Result:
        async with self.served.client(token, verify=False) as client:  # certificates take longer than the call
            answer = await client.post(f"/api/commands/{command}", json=args or {})
        result: Result = await self.served.by_hand(command, dict(args or {}), answer.json())
        if not result["success"]:
            raise Refused(result)
        return result

    async def tool(self, name: str, args: Mapping[str, object] | None = None) -> tuple[str, Result]:
        """Call a tool by MCP as that agent: the text that its model reads, and the result as data."""
        token = self._agents_token()
        with agreeable_person(self.app):
            async with over_http(self.served.running, token, "legacy") as client:
                done = await client.call_tool(name, dict(args or {}), meta=WITH_FIELDS)
        assert done.structured_content is not None
        if done.is_error:
            raise Refused(dict(done.structured_content))
        return text(done), dict(done.structured_content)

    async def asked(
        self, command: str, args: Mapping[str, object], choice: Choice = "once"
    ) -> tuple[list[Result], Result]:
        """Call as that agent while a person is there who answers so: what they were asked, and the whole answer."""
        questions: list[Result] = []
        loop = asyncio.get_running_loop()

        def hear(event: Event) -> None:
            if event.kind == "question.asked":
                questions.append(dict(event.data))
                word = Word(choice=choice)
                loop.call_soon(self.app.questions.answer, str(event.data["id"]), word, Actor.person())

        token = self._agents_token()
        leave, stop = self.app.questions.attend(), self.app.events.published.subscribe(hear)
        try:
            return questions, await self._post(token, command, args)
        except Refused as refused:
            return questions, refused.result
        finally:
            stop()
            leave()

    @property
    def session(self) -> str:
        """The id of that agent's session."""
        self._agents_token()
        return self._session

    def another(self, name: str) -> "Doors":
        """The same doors for an agent of this name, with a session of its own."""
        return Doors(self.served, self._connections, name)

    def _agents_token(self) -> str:
        if not self._token:
            self._session, self._token = self.served.agent(self.name)
        return self._token

    async def refusal(self, command: str, args: Mapping[str, object], *, agent: bool = False) -> Result:
        """The answer to a call that must fail."""
        try:
            result = await (self.agent if agent else self.person)(command, args)
        except Refused as refused:
            return refused.result
        raise AssertionError(f"it worked: {result}")

    async def says(self, *pieces: str, then: Iterable[str] = (), prompt: str = "go on") -> Said:
        """A scripted model gives one answer in these pieces, as an agent of its own, with a person who agrees.

        When it is told what came of its blocks, it goes on with the answers of `then`.
        """
        async with Model([Answer(list(pieces)), *map(Answer, then)], default=Answer("")) as model:
            said: list[str] = []
            session = await self._connections.start(f"{model.url}/v1#source")
            self.app.gate.consent.grant(session.id)

            def hear(event: Event) -> None:
                if event.kind == "agent.said" and event.data["session"] == session.id:
                    said.append(str(event.data["text"]))

            stop = self.app.events.published.subscribe(hear)
            try:
                with agreeable_person(self.app):
                    await self.person("openspace.agent.prompt", {"sessionId": session.id, "text": prompt})
                    await until(lambda: session.status == "idle" and model.requests)
            finally:
                stop()
            told = "\n".join(str(request.body["messages"][-1]["content"]) for request in model.requests[1:])
            return Said("".join(said), list(session.results), session.id, told)

    async def get(self, path: str) -> str:
        """Read something of the hub, as the person."""
        async with self.served.client(verify=False) as client:
            answer = await client.get(path)
        if not answer.is_success:
            raise Refused(answer.json())
        return answer.text

    async def post(self, path: str, body: object) -> Result:
        """Tell the hub something, as a part outside the server does."""
        async with self.served.client(verify=False) as client:
            result: Result = (await client.post(path, json=body)).json()
        if not result["success"]:
            raise Refused(result)
        return result

    @contextlib.contextmanager
    def hearing(self, *kinds: str) -> Iterator[list[Event]]:
        """Collect the events of these kinds while something happens."""
        heard: list[Event] = []
        stop = self.app.events.published.subscribe(lambda event: heard.append(event) if event.kind in kinds else None)
        try:
            yield heard
        finally:
            stop()

    def write(self, path: str, text: str) -> None:
        """Put a file into the workspace."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@contextlib.contextmanager
def stand_ins(programs: Mapping[str, str]) -> Iterator[None]:
    """Scripts that the server finds by these names before all others: what the documents run and no machine has."""
    with tempfile.TemporaryDirectory(prefix="fh-") as folder:
        for name, script in programs.items():
            path = Path(folder, name)
            path.write_text(script)
            path.chmod(0o755)
        with mock.patch.dict(MINIMAL, PATH=f"{folder}:{MINIMAL['PATH']}"):
            yield


def settings_of(toml: str) -> Settings:
    """What a person's settings file with this text comes to."""
    with tempfile.TemporaryDirectory(prefix="fh-") as home:
        file = Path(home, "fourhands", "settings.toml")
        file.parent.mkdir()
        file.write_text(toml)
        return load(env={"XDG_CONFIG_HOME": home})


@contextlib.asynccontextmanager
async def open_doors(settings: Settings | None = None) -> AsyncIterator[Doors]:
    """A server with agents, for the length of a file."""
    async with serve_app(settings) as served:
        wiring = LaunchContext(
            briefing=served.running.hub.briefing,
            issue_token=lambda session: served.running.tokens.issue(session.actor),
            url=served.url,
            env=os.environ,
        )
        with contextlib.closing(Launcher(served.app.bench, served.app.tasks, wiring)) as connections:
            register_all(connections)
            yield Doors(served, connections)


def like(found: object, wanted: object) -> None:
    """Check that everything wanted is there: types stand for any value of theirs, of objects more may be there."""
    if isinstance(wanted, type):
        assert isinstance(found, wanted), f"{found!r} is no {wanted.__name__}"
    elif isinstance(wanted, dict):
        assert isinstance(found, dict), f"{found!r} is no object"
        for name, value in wanted.items():
            assert name in found, f"no {name!r} in {found!r}"
            like(found[name], value)
    elif isinstance(wanted, list) and wanted and isinstance(found, list) and isinstance(wanted[0], type | dict):
        for one in found:
            like(one, wanted[0])
    else:
        assert found == wanted, f"{found!r} is not {wanted!r}"
