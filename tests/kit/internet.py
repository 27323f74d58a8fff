"""A small internet on loopback: names with public addresses that lead to servers of the test, and a cell to use it."""

import asyncio
import contextlib
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.kit.isolation import refuse

from fourhands.core import child
from fourhands.core.call import Actor
from fourhands.core.event import EventBus
from fourhands.core.question import Answer, Choice, Question, Questions
from fourhands.providers.egress.dialing import SystemDialer
from fourhands.providers.egress.egress import Egress
from fourhands.providers.egress.gatekeeper import Gatekeeper, NetworkMode
from fourhands.providers.egress.network_log import NetworkLog
from fourhands.providers.egress.rules import NetworkRules

PUBLIC = "93.184.216.34"
BWRAP = shutil.which("bwrap") or ""

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Internet:
    """Names, their addresses, and the port of 127.0.0.1 at which each host really listens."""

    addresses: dict[str, list[str]] = field(default_factory=dict)
    places: dict[tuple[str, int], int] = field(default_factory=dict)
    resolved: list[str] = field(default_factory=list)
    dialled: list[tuple[str, int]] = field(default_factory=list)
    lies: bool = False  # a name server that gives each name's first address once, and then this machine's

    def add(self, name: str, port: int, place: int, address: str | None = None) -> None:
        """Let a name have a host."""
        known = address or f"93.184.216.{len(self.addresses) + 34}"
        self.addresses.setdefault(name, [known])
        self.places[self.addresses[name][0], port] = place

    async def resolve(self, host: str) -> list[str]:
        """As a `Dialer`."""
        self.resolved.append(host)
        if host not in self.addresses:
            raise OSError("no such name")
        found = self.addresses[host]
        if self.lies:
            self.addresses[host] = ["127.0.0.1"]
        return list(found)

    async def connect(self, address: str, port: int) -> socket.socket:
        """As a `Dialer`."""
        self.dialled.append((address, port))
        place = self.places.get((address, port), port if address == "127.0.0.1" else 0)
        if not place:
            raise ConnectionRefusedError("nothing listens there")
        return await SystemDialer().connect("127.0.0.1", place)


class Net:
    """An egress with its parts, and a person who may answer."""

    def __init__(self, directory: Path, mode: NetworkMode, allowed: tuple[str, ...], env: dict[str, str]) -> None:
        self.directory = directory
        self.internet = Internet()
        self.events = EventBus()
        self.questions = Questions(self.events)
        self.rules = NetworkRules(directory / "network.json", allowed)
        self.log = NetworkLog()
        self.keeper = Gatekeeper(
            self.rules,
            self.questions,
            self.events,
            self.log,
            mode=mode,
            own_ports=lambda: frozenset(self.egress.own_ports),
        )
        self.egress = Egress(str(directory / "e"), self.keeper, self.events, env=env, dialer=self.internet)
        self.asked: list[Question] = []

    def answer(self, choice: Choice) -> None:
        """Let a person be there who answers every question in this way."""
        self.questions.attend()

        def hear(event: object) -> None:
            question = getattr(event, "payload", None)
            if isinstance(question, Question):
                self.asked.append(question)
                asyncio.get_running_loop().call_soon(
                    self.questions.answer, question.id, Answer(choice=choice), Actor.person()
                )

        self.events.published.subscribe(hear)

    async def run(self, line: str, cell: str = "session_a", timeout_s: float = 60) -> child.Finished:
        """Run a line of shell in a cell's network."""
        enclosure = await self.egress.open(cell, BWRAP)
        return await child.run(
            enclosure.enclose(["/bin/sh", "-c", line]),
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.directory)},
            timeout_s=timeout_s,
        )


def serve(port: int) -> str:
    """Return the line that serves /etc at a port of a cell, for 30 s at most: its parents may be killed before it."""
    code = f"import signal, http.server as h; signal.alarm(30); h.test(h.SimpleHTTPRequestHandler, port={port})"
    return f"cd /etc && exec python3 -c '{code}'"


@contextlib.asynccontextmanager
async def network(
    mode: NetworkMode = "ask", allowed: tuple[str, ...] = (), env: dict[str, str] | None = None
) -> AsyncIterator[Net]:
    """Make an egress on an internet of its own."""
    if not BWRAP:
        refuse("bubblewrap is not installed")
    directory = Path(tempfile.mkdtemp(prefix="fh-net-"))
    try:
        net = Net(directory, mode, allowed, env or {})
        async with net.egress:
            yield net
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[int]:
    """Serve on a free port of 127.0.0.1."""
    server = await asyncio.start_server(handler, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def hello(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request of HTTP with `hello`."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        await writer.drain()
    writer.close()
