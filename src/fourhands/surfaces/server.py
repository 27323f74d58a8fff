"""The server: one port on loopback, uvicorn underneath, and connections that do nothing closed in time."""

import asyncio
import contextlib
import ipaddress
import logging
import os
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from fourhands.agents.hub import Hub
from fourhands.core.errors import BadArgument, Unavailable
from fourhands.core.tasks import Tasks
from fourhands.surfaces.address import Address, address_file
from fourhands.surfaces.door import Door
from fourhands.surfaces.http import Routes, build, public_files
from fourhands.surfaces.proxy import proxy_routes
from fourhands.surfaces.tokens import Tokens
from fourhands.workbench.workbench import Workbench

log = logging.getLogger(__name__)

OPEN_S = 5.0
"""How long a connection may take to send its first request, and each later one once begun."""

TRIES = 20


class Impatient(HttpToolsProtocol):
    """uvicorn's HTTP protocol, but a silent connection, or one with half a header, is closed after 5 seconds."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn
        """Begin to count."""
        super().connection_made(transport)
        self._impatience: asyncio.TimerHandle | None = self.loop.call_later(OPEN_S, self._give_up)

    def _give_up(self) -> None:
        self._impatience = None
        if self.transport is not None and not self.transport.is_closing():
            self.transport.close()

    def _calm(self) -> None:
        if self._impatience is not None:
            self._impatience.cancel()
            self._impatience = None

    def data_received(self, data: bytes) -> None:
        """More of a request: from its first byte on it has 5 seconds to come to the end of its headers."""
        if (self._impatience is None and self.cycle is None) or (
            self.cycle is not None and self.cycle.response_complete
        ):
            self._calm()
            self._impatience = self.loop.call_later(OPEN_S, self._give_up)
        super().data_received(data)

    def on_headers_complete(self) -> None:
        """The request is there."""
        self._calm()
        super().on_headers_complete()

    def handle_websocket_upgrade(self) -> None:
        """The socket's own protocol takes over."""
        self._calm()
        super().handle_websocket_upgrade()

    def connection_lost(self, exc: Exception | None) -> None:
        """Gone."""
        self._calm()
        super().connection_lost(exc)


@dataclass(slots=True)
class Running:
    """A server that takes requests."""

    address: Address
    tokens: Tokens
    hub: Hub
    server: uvicorn.Server

    def link(self) -> str:
        """An address that opens the page once."""
        return f"{self.address.url}/#code={self.tokens.new_code()}"


def listen(host: str, port: int) -> socket.socket:
    """A listening socket on this port or the next free one; beyond loopback only with a secret of the user's own."""
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError as error:
        raise BadArgument(
            f"{host!r} is not an address to listen on", hint="give an IP address, e.g. 127.0.0.1"
        ) from error
    if not loopback and not os.environ.get("FOURHANDS_SECRET"):
        raise BadArgument(
            f"listening on {host} would open terminals to the network",
            hint="set FOURHANDS_SECRET to a secret of your own (32 characters or more) and put TLS in front",
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in range(port, port + TRIES) if port else (0,):
        sock = socket.socket(family, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, candidate))
            sock.listen(256)
            return sock
        except OSError:
            sock.close()
    raise Unavailable(f"ports {port} to {port + TRIES - 1} on {host} are all taken", hint="choose another with --port")


@contextlib.asynccontextmanager
async def serving(
    bench: Workbench, tasks: Tasks, *, host: str | None = None, port: int | None = None
) -> AsyncIterator[Running]:
    """Serve a workbench for the length of the block."""
    options, places = bench.settings.server, bench.terminals.places
    sock = listen(host or options.host, options.port if port is None else port)
    name, number = sock.getsockname()[:2]
    address = Address(name, number, os.getpid())
    tokens = Tokens(Path(places.runtime), Path(places.state))
    hub = Hub(bench, bench.registry)
    bench.on_session_end.append(lambda session: tokens.revoke(session.id))
    hosts = {f"{known}:{number}" for known in ("127.0.0.1", "localhost", "[::1]")} | set(options.allowed_hosts)
    routes = Routes(bench, tokens, hub)
    # The proxy stands beside the compression of our own answers: it must pass on a model's bytes when they come.
    app = Starlette(routes=[*proxy_routes(bench, hub, tasks), Mount("/", build(routes))])
    door = Door(app, tokens, hosts=hosts, public=public_files())
    server = uvicorn.Server(_config(door))
    file = address_file(places.runtime)
    file.write_bytes(msgspec.json.encode(address))
    # Not `serve`: it would take over SIGINT and SIGTERM, which are the command line's to handle.
    task = tasks.start(server._serve(sockets=[sock]), "the server")
    try:
        while not server.started and not task.done():  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.005)
        yield Running(address, tokens, hub, server)
    finally:
        server.should_exit = True
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait([task], timeout=5)
        server.force_exit = True
        with contextlib.suppress(FileNotFoundError):
            file.unlink()
        sock.close()


def _config(door: Any) -> uvicorn.Config:
    return uvicorn.Config(
        door,
        http=Impatient,
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        ws_max_size=1024 * 1024,
        ws_max_queue=64,
        access_log=False,
        log_config=None,
        lifespan="off",
        timeout_graceful_shutdown=3,
        timeout_keep_alive=30,
        server_header=False,
        date_header=False,
        h11_max_incomplete_event_size=64 * 1024,
    )
