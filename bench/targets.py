"""What is measured: a bare PTY reader, our server, terminado's server; each with the same shell, arguments and HOME."""

import asyncio
import contextlib
import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from scripts.page import JOURNEYS
from tests.kit.agree import agreeable_person
from tests.kit.workbench import environment, quick, temporary_places

from bench.client import PROMPTS, Client, Http
from fourhands.app import App
from fourhands.core.call import Call
from fourhands.core.registry import Contribution
from fourhands.host.paths import WorkspaceDirs
from fourhands.surfaces.server import serving
from fourhands.workbench.workbench import Workbench

SHELL = ["/bin/bash", "--norc", "--noprofile", "-i"]
ENDLESS = "yes 0123456789012345678901234567890123456789"
CREATE, CLOSE = "/api/commands/openspace.terminal.create", "/api/commands/openspace.terminal.close"
SETTLE_S = 0.3
"""How long terminado is left alone after a terminal's end, which its only thread takes a while to clean up."""

SKELETON = "/etc/skel"
"""What a new user's HOME has on this system: with Debian's, a login shell starts a few programs before its prompt."""


def flood_command(path: str) -> str:
    """Prints a file and then a word that is not in the command itself."""
    return f"cat {path}; echo DO''NE"


def write_flood(path: str, size: int) -> None:
    """Lines of text; one program that only prints leaves the processors to those who are measured."""
    line = b"".join(b"%d:" % (n % 10) for n in range(40))[:79] + b"\n"
    Path(path).write_bytes(line * (size // len(line)))


def shell_environment(home: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": home, "TERM": "xterm-256color", "PS1": "$ ", "LANG": "C.UTF-8"}


def bare_flood(path: str, home: str) -> float:
    """Seconds in which a reader that does nothing else takes a flood from a PTY."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(SHELL[0], SHELL, shell_environment(home))
    os.set_blocking(fd, False)
    try:
        _read_until(fd, b"$ ")
        os.write(fd, flood_command(path).encode() + b"\n")
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


class Target:
    """A server in a process of its own."""

    name = ""

    @contextlib.contextmanager
    def terminal(self) -> Iterator[Client]:
        """A new terminal at its first prompt."""
        raise NotImplementedError

    def flooding(self) -> list[str]:
        """The address and token of a terminal for somebody else."""
        raise NotImplementedError

    @contextlib.contextmanager
    def flood(self) -> Iterator[None]:
        """A terminal that prints without end, and a process that reads it, beside what is measured."""
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.client", *self.flooding(), ENDLESS], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "flooding\n"
            yield
        finally:
            process.kill()
            process.wait()
            self.quiet()

    def quiet(self) -> None:
        """End what still prints."""


class Ours(Target):
    """Our server, driven over HTTP and WebSocket."""

    name = "fourhands"

    def __init__(self, url: str, token: str) -> None:
        self._url, self._token = url, token
        self._http = Http(url, token)
        self._noisy: list[object] = []

    def _open(self, made: dict[str, object]) -> Client:
        client = Client(f"{self._url}/ws/terminals/{made['terminalId']}?from=0", self._token)
        client.until(*PROMPTS)
        return client

    @contextlib.contextmanager
    def terminal(self, path: str = "/api/commands/openspace.bench.create") -> Iterator[Client]:
        made = self._http.post(path, {})
        client = self._open(made)
        try:
            yield client
        finally:
            client.close()
            self._http.post(CLOSE, {"terminalId": made["terminalId"]})

    def prompt(self) -> float:
        """Seconds from a program's request for a shell, over HTTP, to its prompt on a new WebSocket."""
        start = time.perf_counter()
        with self.terminal(CREATE):
            return time.perf_counter() - start

    def prompt_on_page(self, page: Client) -> float:
        """The same as the page has it: asked for on a WebSocket that is open, shown on a new one."""
        start = time.perf_counter()
        page.say({"id": 1, "command": "openspace.terminal.create", "args": {}})
        made = page.word("id")["result"]
        assert isinstance(made, dict)
        client = self._open(made)
        took = time.perf_counter() - start
        client.close()
        self._http.post(CLOSE, {"terminalId": made["terminalId"]})
        return took

    def prompt_ahead(self) -> float:
        """The same where one WebSocket, opened before, is asked for the shell and shows it."""
        client = Client(f"{self._url}/ws/terminals", self._token)
        start = time.perf_counter()
        client.say({"type": "create"})
        made = client.word("terminalId")
        client.until(*PROMPTS)
        took = time.perf_counter() - start
        client.close()
        self._http.post(CLOSE, {"terminalId": made["terminalId"]})
        return took

    def new_terminal(self) -> None:
        """A terminal that stays, as a person opens one."""
        self._http.post(CREATE, {"title": "bench"})

    def link(self) -> str:
        """An address that opens the page once."""
        return f"{self._url}/#code={self._http.post('/api/code', {})['code']}"

    def page(self) -> Client:
        """The WebSocket that a page has open for calls and events."""
        return Client(f"{self._url}/ws", self._token)

    def flooding(self) -> list[str]:
        made = self._http.post("/api/commands/openspace.bench.create", {})
        self._noisy.append(made["terminalId"])
        return [f"{self._url}/ws/terminals/{made['terminalId']}?from=0", self._token]

    def quiet(self) -> None:
        while self._noisy:
            self._http.post(CLOSE, {"terminalId": self._noisy.pop()})

    def settle(self) -> None:
        """Let it finish what it prepares in the background."""
        self._http.post("/api/commands/openspace.bench.settle", {})


class Terminado(Target):
    """terminado's server."""

    name = "terminado"

    def __init__(self, port: int, login_port: int) -> None:
        self._port, self._login_port = port, login_port
        self._count = 0

    def _address(self, port: int) -> str:
        self._count += 1
        return f"http://127.0.0.1:{port}/{self._count}"

    @contextlib.contextmanager
    def terminal(self, port: int = 0) -> Iterator[Client]:
        client = Client(self._address(port or self._port))
        client.until(*PROMPTS)
        yield client
        self._end(client)

    def _end(self, client: Client) -> None:
        """End the shell, and with it what it runs: a connection that is closed before it is read to the end ends none.

        terminado keeps terminals without a client, and one that floods on would slow down whatever is measured next.
        """
        client.tail = b""
        while not any(prompt in client.tail for prompt in PROMPTS):  # a shell that gets ready may swallow it
            client.send("\x03")
            with contextlib.suppress(TimeoutError):
                client.until(*PROMPTS, seconds=5)
        client.send("exit\n")
        with contextlib.suppress(ConnectionError):
            client.until(b"exit")
        client.close()
        time.sleep(SETTLE_S)

    def prompt(self) -> float:
        """Seconds from a connection, which starts a login shell, to its prompt."""
        start = time.perf_counter()
        with self.terminal(self._login_port):
            return time.perf_counter() - start

    def flooding(self) -> list[str]:
        return [self._address(self._port), ""]

    def quiet(self) -> None:
        self._end(Client(f"http://127.0.0.1:{self._port}/{self._count}"))


@contextlib.contextmanager
def homes(skeleton: str) -> Iterator[WorkspaceDirs]:
    """Places of their own, with a HOME that is empty or has what lies in `skeleton`."""
    with temporary_places() as places:
        if skeleton:
            shutil.copytree(skeleton, environment(places)["HOME"], dirs_exist_ok=True)
        yield places


@contextlib.contextmanager
def ours(skeleton: str = "") -> Iterator[Ours]:
    with homes(skeleton) as places:
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.serve", places.workspace, places.runtime, places.state],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        try:
            url, token = process.stdout.readline().split()
            yield Ours(url, token)
        finally:
            process.terminate()
            process.wait(10)


@contextlib.contextmanager
def terminado(skeleton: str = "") -> Iterator[Terminado]:
    with homes(skeleton) as places:
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.peer", environment(places)["HOME"]], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        try:
            port, login_port = process.stdout.readline().split()
            yield Terminado(int(port), int(login_port))
        finally:
            process.terminate()
            process.wait(10)


async def serve(workspace: str, runtime: str, state: str) -> None:
    """The measured server: prints its address and token, then serves until it is ended."""
    places = WorkspaceDirs(workspace, runtime, state)
    home = environment(places)["HOME"]
    extra = Contribution("openspace.bench")

    @extra.add("create", actors=("person",))
    async def create(bench: Workbench, call: Call) -> Made:
        """Start the shell that all targets use."""
        terminal = await bench.terminals.create(argv=SHELL, env=shell_environment(home))
        return Made(terminal_id=terminal.id)

    @extra.add("settle", actors=("person",))
    async def settle(bench: Workbench, call: Call) -> None:
        """Return when the spare shell shows its prompt."""
        await bench.terminals.settled()
        if bench.terminals.spare is not None:
            await bench.terminals.spare.wait(pattern="[$#]", position=0, deadline_s=5)

    async with App(workspace, quick(spare_shell=True), places=places, env=environment(places)) as app:
        app.registry.include(extra)
        # Each visit to the page is another browser's, and somebody must let in those after the first.
        with agreeable_person(app):
            async with serving(app.bench, app.tasks, port=0, static=JOURNEYS.static) as running:
                print(running.address.url, Path(running.tokens.file).read_text(), flush=True)
                try:
                    await asyncio.Event().wait()
                finally:
                    await app.terminals.stop()
