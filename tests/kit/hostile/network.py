"""HTTP and the socket with an agent's token, and requests that claim to be somebody else's."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from tests.kit.hostile.stage import Door, Stage
from tests.kit.server import Raw, Served


def hostile_headers(served: Served, token: str) -> dict[str, dict[str, str]]:
    """Headers that claim to be the person's, or of another place, beside an agent's own token."""
    person, host = served.token, f"127.0.0.1:{served.port}"
    good = {"Host": host, "Authorization": f"Bearer {token}"}
    return {
        "key of a model's client": {**good, "X-Api-Key": person},
        "Google's key": {**good, "X-Goog-Api-Key": person},
        "cookie with the token": {**good, "Cookie": f"{served.running.tokens.cookie}={person}"},
        "a browser's key": {**good, "X-Fourhands-Key": person},
        "forwarded": {**good, "X-Forwarded-For": "127.0.0.1", "X-Forwarded-User": "person", "Forwarded": "for=::1"},
        "another host": {**good, "Host": "evil.example"},
        "another origin": {**good, "Origin": "http://evil.example"},
        "the token in capitals": {**good, "Authorization": f"Bearer {person.swapcase()}"},
        "two words": {**good, "Authorization": f"Bearer {token} {person}"},
        "a comma": {**good, "Authorization": f"Bearer {token}, Bearer {person}"},
        "folded": {**good, "X": f"y\r\n Authorization: Bearer {person}"},
    }


HOSTILE_QUERIES = (
    *("?token={0}", "?key={0}", "?access_token={0}", "?authorization=Bearer%20{0}", "?actor=person"),
    "?%00",
)


async def knock(served: Served, request: str, headers: dict[str, str], more: str = "", body: str = "{}") -> bytes:
    """One request as it is, on a connection of its own; the whole answer."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    async with await Raw.open(served.port) as raw:
        end = f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
        await raw.send(f"{request} HTTP/1.1\r\n{lines}{more}{end}".encode())
        return await raw.rest()


class HttpDoor(Door):
    """`POST /api/commands/ID` with an agent's token."""

    client: Any
    token: str

    async def call(self, command: str, /, **args: Any) -> str:
        answer = await self.client.post(f"/api/commands/openspace.{command}", json=args)
        return self.saw(answer.text) + self.saw(dict(answer.headers))

    async def news(self) -> None:
        for path in ("/openspace/instructions", "/openspace/manifest", "/openspace/first", "/openspace/chats"):
            self.saw((await self.client.get(path)).text)
        for path in ("/metrics", "/openspace/command-requests", "/openspace/instructions?sessionId=other"):
            self.saw((await self.client.get(path)).text)

    async def attack(self) -> list[str]:
        served = self.stage.served
        ask = "/api/commands/openspace.workbench.questions"
        found = []
        for name, headers in hostile_headers(served, self.token).items():
            if b'"success":true' in await knock(served, f"POST {ask}", headers):
                found.append(name)
        own = {"Host": f"127.0.0.1:{served.port}", "Authorization": f"Bearer {self.token}"}
        for query in HOSTILE_QUERIES:
            answer = await knock(served, f"POST {ask}{query.format(served.token)}", own)
            found += [query] if b'"success":true' in answer else []
        # Twice: the first may be what is checked, and the second what is used behind it.
        for line in (
            "Host: evil.example",
            "Origin: null",
            "Content-Length: 3",
            f"Authorization: Bearer {served.token}",
        ):
            answer = await knock(served, f"POST {ask}", own, f"{line}\r\n")
            found += [] if answer.startswith(b"HTTP/1.1 4") else [f"twice {line.partition(':')[0]}"]
        return found


@contextlib.asynccontextmanager
async def http_door(stage: Stage) -> AsyncIterator[HttpDoor]:
    door = HttpDoor(stage, "http")
    door.session, door.token = stage.served.agent("http")
    async with stage.served.client(door.token) as door.client:
        yield door


class SocketDoor(Door):
    """`/ws` with an agent's token: its answers, and all events that it is told of."""

    caller: Any
    token: str

    async def call(self, command: str, /, **args: Any) -> str:
        answer = await self.caller.call(f"openspace.{command}", args)
        self.saw(self.caller.events)
        self.caller.events.clear()
        return self.saw(answer)

    async def attack(self) -> list[str]:
        served, found = self.stage.served, []
        more = "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        hostile = hostile_headers(served, "x" * 43)  # without a token of its own none of them opens anything
        hostile["key as protocol"] = {**hostile["a comma"], "Sec-WebSocket-Protocol": f"fourhands.key.{served.token}"}
        for path in ("/ws", "/ws/terminals", "/ws/terminals/x", "/mcp/socket"):
            for name, headers in hostile.items():
                given = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
                async with await Raw.open(served.port) as raw:
                    await raw.send(f"GET {path} HTTP/1.1\r\n{given}{more}Connection: Upgrade\r\n\r\n".encode())
                    if not (await raw.head()).startswith(b"HTTP/1.1 4"):
                        found.append(f"{path}: {name}")
        async with served.dial("/ws/terminals", token=self.token) as viewer:
            if "refused" not in (said := str(await viewer.recv())):
                found.append(f"a viewer: {said}")
        return found


@contextlib.asynccontextmanager
async def socket_door(stage: Stage) -> AsyncIterator[SocketDoor]:
    door = SocketDoor(stage, "socket")
    door.session, door.token = stage.served.agent("socket")
    async with stage.served.caller(token=door.token, query="?attend=1") as door.caller:
        yield door
