"""The server: one port on loopback, uvicorn underneath, and connections that do nothing closed in time."""

import asyncio
import contextlib
import errno
import ipaddress
import logging
import os
import socket
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from fourhands.agents.briefing.hub import Hub
from fourhands.agents.connectors.transcript import Transcripts
from fourhands.core.call import Actor
from fourhands.core.errors import BadArgument, Unavailable
from fourhands.core.tasks import Tasks
from fourhands.surfaces.auth import SECRET_LENGTH, Tokens
from fourhands.surfaces.discovery import ServerAddress, address_file, publish
from fourhands.surfaces.frames import Frames
from fourhands.surfaces.http.access import SECURITY_HEADERS, AccessControl
from fourhands.surfaces.http.routes import Routes, build, public_files
from fourhands.surfaces.http.websocket import MESSAGE_LIMIT
from fourhands.surfaces.mcp.routes import McpRoutes
from fourhands.surfaces.proxy.app import proxy_routes
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench

log = logging.getLogger(__name__)

OPEN_S = 5.0
"""How long a connection may take to send its first request, and each later one once begun."""

HEAD_LIMIT = 64 * 1024
"""Bytes of a request before its body."""

GRACE_S = 3
"""How long answers that have begun may go on when the server ends."""

TRIES = 20


class TimedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP protocol, but a silent connection, or one with half a header, is closed after 5 seconds."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
        """Begin to count."""
        super().connection_made(transport)
        self._head = 0
        self._impatience: asyncio.TimerHandle | None = self.loop.call_later(OPEN_S, self._give_up)

    def _give_up(self) -> None:
        self._impatience = None
        if self.transport is not None and not self.transport.is_closing():
            log.info("closed a connection that sent no request within %g s", OPEN_S)
            self.transport.abort()

    def _calm(self) -> None:
        if self._impatience is not None:
            self._impatience.cancel()
            self._impatience = None

    def data_received(self, data: bytes) -> None:
        """More of a request: from its first byte on it has 5 seconds to come to the end of its headers."""
        idle = self.cycle is None or self.cycle.response_complete
        if idle and self._impatience is None:  # not restarted by each byte, or a byte in time would keep it open
            self._head = 0
            self._impatience = self.loop.call_later(OPEN_S, self._give_up)
        self._head += len(data)
        super().data_received(data)
        if self._impatience is not None and self._head > HEAD_LIMIT and not self.transport.is_closing():
            self.send_400_response("The headers are too long.")

    def on_headers_complete(self) -> None:
        """The request is there."""
        self._calm()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP is answered before the door, with its headers all the same."""
        self._calm()
        lines = [b"HTTP/1.1 400 Bad Request", *(name + b": " + value for name, value in SECURITY_HEADERS)]
        lines += [
            b"content-type: text/plain",
            b"content-length: %d" % len(msg),
            b"connection: close",
            b"",
            msg.encode(),
        ]
        self.transport.write(b"\r\n".join(lines))
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Gone."""
        self._calm()
        super().connection_lost(exc)


class IdleServer(uvicorn.Server):
    """uvicorn's server, but it waits to be told to leave instead of asking itself ten times a second.

    The ticks would renew the date header, count requests towards a limit and call back; none of these is used here.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        self._leaving = asyncio.Event()
        super().__init__(config)

    @property
    def should_exit(self) -> bool:
        """Whether it has been told to leave; set it on the loop."""
        return self._leaving.is_set()

    @should_exit.setter
    def should_exit(self, leave: bool) -> None:
        if leave:
            self._leaving.set()
        else:
            self._leaving.clear()

    async def main_loop(self) -> None:
        """Wait until it is time to leave."""
        await self.on_tick(0)  # sets the headers of all answers
        await self._leaving.wait()


@dataclass(slots=True)
class Running:
    """A server that takes requests."""

    address: ServerAddress
    tokens: Tokens
    hub: Hub
    server: uvicorn.Server

    def link(self) -> str:
        """An address that opens the page once."""
        return f"{self.address.url}/#code={self.tokens.new_code()}"


def listen(host: str, port: int, *, secret: str | None = None) -> socket.socket:
    """A listening socket on this port or the next free one; beyond loopback only with a secret of the user's own."""
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError as error:
        raise BadArgument(
            f"{host!r} is not an address to listen on", hint="give an IP address, e.g. 127.0.0.1"
        ) from error
    if not 0 <= port <= 65535:
        raise BadArgument(f"{port} is no port", hint="give one from 1 to 65535, or 0 for any free one")
    if not loopback and not secret:
        raise BadArgument(
            f"listening on {host} would open terminals to the network",
            hint=f"set FOURHANDS_SECRET to a secret of your own ({SECRET_LENGTH} characters or more): it is then your "
            "token; name the host in the setting server.allowedHosts and put TLS in front",
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    last = min(port + TRIES, 65536)
    for candidate in range(port, last) if port else (0,):
        # Named, or asyncio does not see TCP in what it accepts, and Nagle holds an answer in two parts up for 40 ms.
        sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, candidate))
            sock.listen(256)
            return sock
        except OSError as error:
            sock.close()
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise Unavailable(f"cannot listen on {host}: {error.strerror}") from error
    raise Unavailable(f"ports {port} to {last - 1} on {host} cannot be had", hint="choose another with --port")


def host_names(address: ServerAddress, more: Iterable[str]) -> set[str]:
    """What a Host header may say: loopback's names and the address itself with the port, and what the settings name."""
    names = {"127.0.0.1", "localhost", "[::1]"}
    if not ipaddress.ip_address(address.host).is_unspecified:
        names.add(f"[{address.host}]" if ":" in address.host else address.host)
    hosts = {f"{name}:{address.port}" for name in names} | set(more)
    return hosts | names if address.port == 80 else hosts  # the one port that clients leave out


@contextlib.asynccontextmanager
async def serving(
    bench: Workbench, tasks: Tasks, *, host: str | None = None, port: int | None = None, secret: str | None = None
) -> AsyncIterator[Running]:
    """Serve a workbench for the length of the block."""
    options, places = bench.settings.server, bench.terminals.places
    tokens = Tokens(Path(places.runtime), Path(places.state), secret)
    with contextlib.closing(
        listen(host or options.host, options.port if port is None else port, secret=secret)
    ) as sock:
        name, number = sock.getsockname()[:2]
        address = ServerAddress(name, number, os.getpid())
        hub = Hub(bench, bench.registry)
        chats = Transcripts(bench, Path(places.state) / "chats.json")
        routes = Routes(bench, tokens, hub, chats)
        mcp = McpRoutes(bench, hub, tasks, tokens)
        # These stand beside the compression of our own answers: what streams must be passed on when it comes.
        app = Starlette(routes=[*proxy_routes(bench, hub, tasks), *mcp.all(), Mount("/", build(routes))])
        door = AccessControl(app, tokens, hosts=host_names(address, options.allowed_hosts), public=public_files())
        server = IdleServer(_config(door))
        # Not `serve`: it would take over SIGINT and SIGTERM, which are the command line's to handle.
        task = tasks.start(server._serve(sockets=[sock]), "the server")

        def ended(session: Session) -> None:
            tokens.revoke(session.id)

        def resumed(session: str) -> Actor | None:
            found = bench.resume_session(session)
            return found.actor if found is not None else None

        tokens.resume = resumed
        bench.leaving = False
        bench.on_session_end.append(ended)
        try:
            while not server.started:
                if task.done():
                    raise Unavailable("the server did not start", hint="the log says why")
                await asyncio.sleep(0.005)
            publish(places.state, address)
            yield Running(address, tokens, hub, server)
        finally:
            bench.leaving = True
            hub.leave()
            for question in bench.questions.open():
                bench.questions.withdraw(question.id, "Fourhands is being stopped; ask again when it is back")
            await mcp.close()
            server.should_exit = True
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([task], timeout=GRACE_S + 2)
            server.force_exit = True
            with contextlib.suppress(FileNotFoundError):
                address_file(places.state).unlink()
            bench.on_session_end.remove(ended)
            routes.close()
            chats.close()
            hub.close()


def _config(door: Any) -> uvicorn.Config:
    return uvicorn.Config(
        door,
        http=TimedProtocol,
        ws=Frames,
        ws_per_message_deflate=False,
        ws_max_size=MESSAGE_LIMIT,
        access_log=False,
        log_config=None,
        lifespan="off",
        timeout_graceful_shutdown=GRACE_S,
        timeout_keep_alive=30,
        server_header=False,
        date_header=False,
        proxy_headers=False,  # anybody on this machine could send them
    )
