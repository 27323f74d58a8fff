"""A model: blocks in its answers, and the proxy before it."""

import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
from tests.kit.hostile.network import hostile_headers, knock
from tests.kit.hostile.stage import Door, Stage, as_text
from tests.kit.person import let_in
from tests.kit.server import until

from fourhands.agents.blocks.interceptor import Interceptor
from fourhands.agents.blocks.runner import BlockRunner
from fourhands.agents.briefing.feedback import turn_message
from fourhands.core.ids import ulid

Args = Mapping[str, Any]


def block(command: str, args: Args) -> str:
    return "%%OS" + json.dumps({"cmd": f"openspace.{command}", "args": args, "actor": "person"}) + "%%"


class BlockDoor(Door):
    """Blocks in a model's answer, and the message that tells the model what came of them."""

    async def call(self, command: str, /, **args: Any) -> str:
        interceptor = Interceptor()
        pieces = [interceptor.feed(block(command, args)), interceptor.close()]
        session = self.stage.app.bench.sessions.get(self.session)
        runner = BlockRunner(self.stage.app.bench, session, self.stage.app.tasks)
        runner.run([one for piece in pieces for one in piece.commands], ulid())
        [result] = await runner.finished()
        told = turn_message(session, self.stage.app.registry, self.stage.app.bench)
        self.saw(told.text if told else "")
        return self.saw(msgspec.json.encode(result.to_wire()).decode())

    async def news(self) -> None:
        self.saw(self.stage.served.running.hub.instructions(self.session))

    async def attack(self) -> list[str]:
        """`block` names the person as its actor: no member of a block but its command and arguments counts."""
        answer = await self.call("workbench.questions")
        return [] if '"success":false' in answer.replace(" ", "") else ["actor in a block"]


@contextlib.asynccontextmanager
async def block_door(stage: Stage) -> AsyncIterator[BlockDoor]:
    door = BlockDoor(stage, "blocks")
    door.session = let_in(stage.app, "blocks").id
    yield door


class ProxyDoor(Door):
    """The proxy: what the model behind it is sent is what the agent sees."""

    client: Any
    token: str

    async def call(self, command: str, /, **args: Any) -> str:
        self.stage.model.next = f"So: {block(command, args)} there."
        await self.speak()
        await until(lambda: not self.stage.app.gate.pending(self.session))
        return await self.speak()  # the model is told

    async def speak(self) -> str:
        before = len(self.stage.model.requests)
        body = {"model": "m", "messages": [{"role": "user", "content": "go on"}]}
        answer = await self.client.post("/v1/chat/completions", json=body)
        assert answer.status_code == 200, answer.text
        self.saw(answer.text)
        for request in self.stage.model.requests[before:]:
            self.saw([request.query, request.headers])
            self.saw(request.body)
        return as_text(self.stage.model.requests[-1].body)

    async def attack(self) -> list[str]:
        served, found = self.stage.served, []
        body = json.dumps({"model": "m", "messages": []})
        for name, headers in hostile_headers(served, "x" * 43).items():
            if name in ("key of a model's client", "Google's key"):
                continue  # here they are the way in: what a model's client sends its key by
            if not (await knock(served, "POST /v1/chat/completions", headers, body=body)).startswith(b"HTTP/1.1 4"):
                found.append(name)
        own = {"Host": f"127.0.0.1:{served.port}", "Authorization": f"Bearer {self.token}"}
        for path in ("/v1/../api/commands/openspace.workbench.questions", "/v1/%2e%2e/metrics", "/v1//metrics"):
            answer = await knock(served, f"POST {path}", own)
            if b'"success":true' in answer or b"# HELP" in answer:
                found.append(path)
        # What identifies the person to this server, or the agent, must not go to the model's.
        headers = own | {
            "Cookie": "a=cookie-needle",
            "X-Fourhands-Key": "key-needle",
            "Origin": f"http://{own['Host']}",
        }
        before = len(self.stage.model.requests)
        await knock(served, f"POST /v1/chat/completions?key={self.token}", headers, body=body)
        passed = as_text([[one.query, one.headers] for one in self.stage.model.requests[before:]])
        found += [one for one in ("cookie-needle", "key-needle", self.token, served.token) if one in passed]
        return found


@contextlib.asynccontextmanager
async def proxy_door(stage: Stage) -> AsyncIterator[ProxyDoor]:
    door = ProxyDoor(stage, "proxy")
    door.session, door.token = stage.served.agent("proxy")
    async with stage.served.client(door.token) as door.client:
        yield door
