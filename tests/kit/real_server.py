"""`fourhands` as a process of a plain user: signed in from outside, with agents that come by HTTP."""

import contextlib
import json
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from tests.kit.hand import Hand
from tests.kit.plain_user import PYTHON, PlainUser
from tests.kit.server import LIMIT_S, Caller
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from fourhands.host.paths import WorkspaceDirs

Message = dict[str, Any]


@dataclass
class RealServer:
    """A running server; the person is whoever signed in first."""

    user: PlainUser
    url: str
    pid: int
    places: WorkspaceDirs
    hand: Hand
    cookie: str = ""
    key: str = ""

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def workspace(self) -> Path:
        return Path(self.places.workspace)

    @property
    def token(self) -> str:
        """The program's token, as any program of this user finds it."""
        return Path(self.places.state, "token").read_text().strip()

    def sign_in(self, link: str) -> None:
        """Exchange the code of a link, as the page does."""
        with httpx.Client(base_url=self.url, trust_env=False, timeout=LIMIT_S) as client:
            body = self.hand.introduction(link.partition("#code=")[2])
            got = client.post("/api/browser", json=body, headers={"origin": self.url})
            assert got.status_code == 200, got.text
            self.cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
            self.key = got.json()["key"]

    @contextlib.asynccontextmanager
    async def person(self) -> AsyncIterator[Caller]:
        """The person's page: a socket for calls and events, with the key that signs."""
        names = [Subprotocol("fourhands"), Subprotocol(f"fourhands.key.{self.key}")]
        headers = {"cookie": self.cookie, "origin": self.url}
        address = f"{self.url.replace('http', 'ws')}/ws?attend=1"
        async with connect(
            address, additional_headers=headers, subprotocols=names, max_size=None, proxy=None, open_timeout=LIMIT_S
        ) as socket:
            yield await Caller(socket, self.hand).begin()

    @contextlib.asynccontextmanager
    async def agent(self, name: str) -> AsyncIterator["RealAgent"]:
        """An agent that comes by HTTP, with a token of its own."""
        headers = {"authorization": f"Bearer {self.token}"}
        async with httpx.AsyncClient(base_url=self.url, trust_env=False, timeout=LIMIT_S, headers=headers) as program:
            made = (await program.post("/api/agents", json={"name": name})).json()
        headers = {"authorization": f"Bearer {made['token']}"}
        async with httpx.AsyncClient(base_url=self.url, trust_env=False, timeout=300, headers=headers) as client:
            yield RealAgent(made["sessionId"], client)


@dataclass
class RealAgent:
    """An agent as a program outside: it calls commands with its own token."""

    session: str
    client: httpx.AsyncClient

    async def call(self, command: str, /, **args: object) -> Message:
        """Call a command; the answer may be a failure."""
        answer: Message = (await self.client.post(f"/api/commands/openspace.{command}", json=args)).json()
        return answer

    async def do(self, command: str, /, **args: object) -> Message:
        """Call a command, which must succeed."""
        answer = await self.call(command, **args)
        assert answer["success"], (command, args, answer)
        return answer


@contextlib.contextmanager
def real_server(user: PlainUser, workspace: str, settings: str = "", **env: str) -> Iterator[RealServer]:
    """Serve a directory of the user's; the server and all it runs end with the block."""
    user.write(".config/fourhands/settings.toml", settings)
    work = user.home / workspace
    words = (PYTHON, "-m", "fourhands", str(work), "--no-open", "--port", "0", "--json")
    log = Path(f"/tmp/{user.name}.log")
    with log.open("wb") as errors:
        server = subprocess.Popen(
            user.command(*words, **env), cwd=user.home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
        )
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        assert line, log.read_text()
        told = json.loads(line)
        places = WorkspaceDirs.of(work, {"HOME": str(user.home)})
        runtime = places.runtime.replace("/fourhands-0/", f"/fourhands-{user.uid}/")
        running = RealServer(
            user, told["url"], told["pid"], WorkspaceDirs(places.workspace, runtime, places.state), Hand()
        )
        running.sign_in(told["link"])
        yield running
    finally:
        server.terminate()
        try:
            server.wait(LIMIT_S)
        finally:
            server.kill()
            assert server.stdout is not None
            server.stdout.close()
            log.unlink(missing_ok=True)
