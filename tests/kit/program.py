"""The `fourhands` program as a process of its own, in a temporary workspace."""

import asyncio
import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
from tests.kit.hand import Hand
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from fourhands.host.paths import WorkspaceDirs
from fourhands.surfaces.discovery import ServerAddress, find_server

LIMIT_S = 40
MAIN = [sys.executable, "-c", "from fourhands.app import main; main()"]


class Home:
    """A workspace with everything below one directory; what is started in it is stopped with it."""

    def __init__(self, root: str, *, own_state: bool = True) -> None:
        self.root = Path(root)
        self.work = Path(os.path.realpath(root), "work")
        for name in ("work", "home", "state", "run"):
            (self.root / name).mkdir()
        self.env = {
            "PATH": os.environ["PATH"],
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "HOME": f"{root}/home",
            "XDG_RUNTIME_DIR": f"{root}/run",
            **({"XDG_STATE_HOME": f"{root}/state"} if own_state else {}),
            **{name: value for name, value in os.environ.items() if name.startswith("COV")},
        }
        self.places = WorkspaceDirs.of(self.work, self.env)
        self.hand = Hand()

    @property
    def address(self) -> ServerAddress:
        found = find_server(self.places.state)
        assert found is not None
        return found

    def client(self) -> httpx.AsyncClient:
        token = (Path(self.places.state) / "token").read_text()
        headers = {"authorization": f"Bearer {token}"}
        return httpx.AsyncClient(base_url=self.address.url, headers=headers, timeout=LIMIT_S, trust_env=False)

    async def call(self, command: str, args: dict[str, Any] | None = None, seen: str = "") -> dict[str, Any]:
        """Call a command; where it needs the person's hand, they sign it, with the question as they saw it."""
        async with self.client() as client:
            body: dict[str, Any] = (await client.post(f"/api/commands/openspace.{command}", json=args or {})).json()
        if body.get("code") != "hand-needed":
            return body
        async with self.page() as socket:
            challenge = json.loads(await socket.recv())["hello"]["challenge"]
            await socket.send(self.hand.message(challenge, 1, f"openspace.{command}", args or {}, seen))
            while "result" not in (message := json.loads(await socket.recv())):
                pass
        result: dict[str, Any] = message["result"]
        return result

    @contextlib.asynccontextmanager
    async def page(self) -> AsyncIterator[ClientConnection]:
        """The socket of a browser that is signed in, always the same one, with the person before it."""
        url = self.address.url
        async with self.client() as client:
            code = (await client.post("/api/code")).json()["code"]
            given = await client.post("/api/browser", json=self.hand.introduction(code), headers={"origin": url})
        cookie = "; ".join(f"{name}={value}" for name, value in given.cookies.items())
        names = [Subprotocol("fourhands"), Subprotocol(f"fourhands.key.{given.json()['key']}")]
        async with connect(
            url.replace("http", "ws", 1) + "/ws?attend=1",
            additional_headers={"cookie": cookie, "origin": url},
            subprotocols=names,
            compression=None,
            proxy=None,
        ) as socket:
            yield socket

    async def run(self, *words: str, env: dict[str, str] | None = None) -> tuple[int, str, str]:
        """One command to its end: exit code, output, errors."""
        process = await asyncio.create_subprocess_exec(
            *MAIN, *words, cwd=self.work, env=self.env | (env or {}), stdout=-1, stderr=-1, stdin=-3
        )
        async with asyncio.timeout(LIMIT_S):
            out, err = await process.communicate()
        assert process.returncode is not None
        return process.returncode, out.decode(), err.decode()


class Server:
    """`fourhands serve` while it runs."""

    def __init__(self, home: Home, *words: str, env: dict[str, str] | None = None) -> None:
        self.home, self._words, self._env = home, words, env or {}
        self.process: asyncio.subprocess.Process

    async def __aenter__(self) -> "Server":
        words = ("serve", str(self.home.work), "--port", "0", "--no-open", *self._words)
        self.process = await asyncio.create_subprocess_exec(
            *MAIN, *words, env=self.home.env | self._env, stdout=-1, stderr=-1, stdin=-3
        )
        await self.line("Open")
        return self

    async def line(self, word: str) -> str:
        """The next line of its output that has a word."""
        assert self.process.stdout is not None
        async with asyncio.timeout(LIMIT_S):
            while text := (await self.process.stdout.readline()).decode():
                if word in text:
                    return text
        raise AssertionError(f"it ended without a word of {word!r}: {await self.rest()}")

    async def rest(self) -> str:
        """Everything else it says, to its end."""
        async with asyncio.timeout(LIMIT_S):
            out, err = await self.process.communicate()
        return out.decode() + err.decode()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.terminate()
            await self.rest()


@contextlib.asynccontextmanager
async def new_home(*, own_state: bool = True) -> AsyncIterator[Home]:
    """A home in which nothing runs any more at the end; without `own_state`, the state is where most people have it."""
    with tempfile.TemporaryDirectory(prefix="fh-", ignore_cleanup_errors=True) as root:
        home = Home(root, own_state=own_state)
        try:
            yield home
        finally:
            await home.run("stop")
            # Of a client that passes no variables on.
            shutil.rmtree(WorkspaceDirs.of(home.work, {}).runtime, ignore_errors=True)
