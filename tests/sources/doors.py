"""A server that runs, and the doors at which a client that was written to a source document knocks."""

import contextlib
import json
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from tests.support.agree import agreeable_person
from tests.support.model import Model
from tests.support.served import Served, serve_app, until
from tests.support.wire import Answer

from fourhands.agents.connect import Connections, Wiring
from fourhands.core.event import Event
from fourhands.settings import Settings
from fourhands.workbench.session import CommandResult

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

    def __init__(self, served: Served, connections: Connections) -> None:
        self.served = served
        self.app = served.app
        self.root = Path(served.app.bench.root)
        self._connections = connections
        self._token = ""
        self._clients: dict[str, httpx.AsyncClient] = {}

    async def close(self) -> None:
        """Hang up."""
        for client in self._clients.values():
            await client.aclose()

    def client(self, token: str | None = None) -> httpx.AsyncClient:
        """An HTTP client, as the person unless another token is given."""
        token = token or self.served.token
        if token not in self._clients:
            self._clients[token] = self.served.client(token)
        return self._clients[token]

    async def person(self, command: str, args: Mapping[str, object] | None = None) -> Result:
        """Call a command by HTTP as the person; raises `Refused` where it did not succeed."""
        return await self._post(self.served.token, command, args)

    async def agent(self, command: str, args: Mapping[str, object] | None = None) -> Result:
        """The same with the token of an agent that the person has let in; questions are answered with yes."""
        if not self._token:
            _, self._token = self.served.agent("source")
        with agreeable_person(self.app):
            return await self._post(self._token, command, args)

    async def _post(self, token: str, command: str, args: Mapping[str, object] | None) -> Result:
        answer = await self.client(token).post(f"/api/commands/{command}", json=args or {})
        result: Result = answer.json()
        if not result["success"]:
            raise Refused(result)
        return result

    async def refusal(self, command: str, args: Mapping[str, object], *, agent: bool = False) -> Result:
        """The answer to a call that must fail."""
        try:
            result = await (self.agent if agent else self.person)(command, args)
        except Refused as refused:
            return refused.result
        raise AssertionError(f"it worked: {result}")

    async def says(self, *pieces: str, prompt: str = "go on") -> Said:
        """A scripted model gives one answer in these pieces, as an agent of its own, with a person who agrees."""
        async with Model([Answer(list(pieces))], default=Answer("")) as model:
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
        answer = await self.client().get(path)
        if not answer.is_success:
            raise Refused(answer.json())
        return answer.text

    async def post(self, path: str, body: object) -> Result:
        """Tell the hub something, as a part outside the server does."""
        result: Result = (await self.client().post(path, json=body)).json()
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


@contextlib.asynccontextmanager
async def open_doors(settings: Settings | None = None) -> AsyncIterator[Doors]:
    """A server with agents, for the length of a file."""
    async with serve_app(settings) as served:
        wiring = Wiring(
            instructions=served.running.hub.instructions,
            issue_token=lambda session: served.running.tokens.issue(session.actor),
            url=served.url,
            env=os.environ,
        )
        with contextlib.closing(Connections(served.app.bench, served.app.tasks, wiring)) as connections:
            doors = Doors(served, connections)
            try:
                yield doors
            finally:
                await doors.close()


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
