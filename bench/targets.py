"""What is measured: a bare PTY reader, our server, terminado's server; each with the same shell, arguments and HOME."""

import asyncio
import contextlib
import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import msgspec
import websockets
from tests.support.bench import environment, quick, temporary_places

from fourhands.app import App
from fourhands.core.call import Call
from fourhands.core.registry import Contribution
from fourhands.host.places import Places
from fourhands.surfaces.server import serving
from fourhands.workbench.workbench import Workbench

SHELL = ["/bin/bash", "--norc", "--noprofile", "-i"]


def flood_command(size: int) -> str:
    """Prints `size` bytes of lines and then a word that is not in the command itself."""
    return f"head -c {size} /dev/zero | tr '\\0' 'x' | fold -w 79; echo DO''NE"


def shell_environment(home: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": home, "TERM": "xterm-256color", "PS1": "$ ", "LANG": "C.UTF-8"}


def bare_flood(size: int, home: str) -> float:
    """Seconds in which a reader that does nothing else takes a flood from a PTY."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(SHELL[0], SHELL, shell_environment(home))
    os.set_blocking(fd, False)
    try:
        _read_until(fd, b"$ ")
        os.write(fd, flood_command(size).encode() + b"\n")
        start = time.perf_counter()
        _read_until(fd, b"DONE")
        return time.perf_counter() - start
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        os.close(fd)


def _read_until(fd: int, wanted: bytes) -> None:
    tail = b""
    while wanted not in tail:
        select.select([fd], [], [], 30)
        with contextlib.suppress(BlockingIOError):
            while data := os.read(fd, 65536):
                tail = (tail + data)[-200:]
                if wanted in tail:
                    return


class Made(msgspec.Struct, frozen=True, rename="camel"):
    terminal_id: str


class Client:
    """A WebSocket client of either server: sends keys, waits for output."""

    def __init__(self, socket: websockets.ClientConnection, *, ours: bool) -> None:
        self._socket = socket
        self._ours = ours
        self.tail = b""

    async def send(self, keys: str) -> None:
        await self._socket.send(keys.encode() if self._ours else json.dumps(["stdin", keys]))

    async def until(self, wanted: bytes) -> None:
        while wanted not in self.tail:
            message = await self._socket.recv()
            if self._ours:
                data = message[8:] if isinstance(message, bytes) else b""
            else:
                kind, *rest = json.loads(message)
                data = rest[0].encode() if kind == "stdout" else b""
            self.tail = (self.tail + data)[-400:]

    async def echo(self, character: str) -> float:
        """Seconds from a key to its echo."""
        self.tail = b""
        start = time.perf_counter()
        await self.send(character)
        await self.until(character.encode())
        return time.perf_counter() - start

    async def flood(self, size: int) -> float:
        self.tail = b""
        await self.send(flood_command(size) + "\n")
        start = time.perf_counter()
        await self.until(b"DONE")
        return time.perf_counter() - start


class Ours:
    """Our server in a process of its own, driven over HTTP and WebSocket."""

    name = "fourhands"

    def __init__(self, url: str, token: str, home: str) -> None:
        self._url, self._headers, self._home = url, {"authorization": f"Bearer {token}"}, home

    @contextlib.asynccontextmanager
    async def terminal(self) -> AsyncIterator[Client]:
        async with httpx.AsyncClient(base_url=self._url, headers=self._headers, trust_env=False, timeout=30) as http:
            made = (await http.post("/api/commands/openspace.bench.create", json={})).json()
            address = f"{self._url.replace('http', 'ws', 1)}/ws/terminals/{made['terminalId']}?from=0"
            async with websockets.connect(
                address, additional_headers=self._headers, max_size=None, proxy=None
            ) as socket:
                client = Client(socket, ours=True)
                await client.until(b"$ ")
                yield client
            await http.post("/api/commands/openspace.terminal.close", json={"terminalId": made["terminalId"]})


class Terminado:
    """terminado's server in a process of its own."""

    name = "terminado"

    def __init__(self, port: int) -> None:
        self._port = port
        self._count = 0

    @contextlib.asynccontextmanager
    async def terminal(self) -> AsyncIterator[Client]:
        self._count += 1
        address = f"ws://127.0.0.1:{self._port}/{self._count}"
        async with websockets.connect(address, max_size=None, proxy=None) as socket:
            client = Client(socket, ours=False)
            await client.until(b"$ ")
            yield client
            await client.send("exit\n")


@contextlib.asynccontextmanager
async def ours() -> AsyncIterator[Ours]:
    with temporary_places() as places:
        process = subprocess.Popen(  # noqa: ASYNC220 - nothing else runs yet
            [sys.executable, "-m", "bench.serve", places.workspace, places.runtime, places.state],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        try:
            url, token = process.stdout.readline().split()
            yield Ours(url, token, environment(places)["HOME"])
        finally:
            process.terminate()
            process.wait(10)


@contextlib.asynccontextmanager
async def terminado() -> AsyncIterator[Terminado]:
    with temporary_places() as places:
        process = subprocess.Popen(  # noqa: ASYNC220 - nothing else runs yet
            [sys.executable, "-m", "bench.peer", environment(places)["HOME"]], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        try:
            yield Terminado(int(process.stdout.readline()))
        finally:
            process.terminate()
            process.wait(10)


async def serve(workspace: str, runtime: str, state: str) -> None:
    """The measured server: prints its address and token, then serves until it is ended."""
    places = Places(workspace, runtime, state)
    home = environment(places)["HOME"]
    extra = Contribution("openspace.bench")

    @extra.add("create", actors=("person",))
    async def create(bench: Workbench, call: Call) -> Made:
        """Start the shell that all targets use."""
        terminal = await bench.terminals.create(argv=SHELL, env=shell_environment(home))
        return Made(terminal_id=terminal.id)

    async with App(workspace, quick(), places=places, env=environment(places)) as app:
        app.registry.include(extra)
        async with serving(app.bench, app.tasks, port=0) as running:
            print(running.address.url, Path(running.tokens.file).read_text(), flush=True)
            try:
                await asyncio.Event().wait()
            finally:
                await app.terminals.stop()
