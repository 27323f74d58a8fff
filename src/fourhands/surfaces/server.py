"""The server of a workbench: one port on loopback, with uvicorn underneath."""

import asyncio
import contextlib
import errno
import ipaddress
import logging
import os
import socket
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from fourhands.agents.briefing.announced import ANSWER_S
from fourhands.agents.briefing.hub import Hub
from fourhands.agents.connectors.transcript import Transcripts
from fourhands.core.call import Actor, Call, Result
from fourhands.core.errors import BadArgument, Denied, Unavailable
from fourhands.core.tasks import Tasks
from fourhands.surfaces.agent_door import AgentDoors
from fourhands.surfaces.auth import SECRET_LENGTH, TokenLimits, Tokens
from fourhands.surfaces.discovery import ServerAddress, address_file, publish
from fourhands.surfaces.http.access import AccessControl, AccessLimits
from fourhands.surfaces.http.routes import STATIC, Routes, build, public_files
from fourhands.surfaces.http.sign_in import SIGN_IN
from fourhands.surfaces.http.viewer import ViewerLimits, Viewers
from fourhands.surfaces.http.websocket import MESSAGE_LIMIT
from fourhands.surfaces.mcp.limits import McpLimits
from fourhands.surfaces.mcp.routes import McpRoutes
from fourhands.surfaces.proxy.app import ProxyLimits, proxy_routes
from fourhands.surfaces.toolset.routes import ToolsetRoutes
from fourhands.surfaces.transport import Frames, IdleServer, ServerTimeouts, TimedConfig
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench

log = logging.getLogger(__name__)

TRIES = 20
"""Ports that are tried, the wanted one and those after it."""


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """The limits and timeouts of a server; tests pass other ones."""

    access: AccessLimits = field(default_factory=AccessLimits)
    timeouts: ServerTimeouts = field(default_factory=ServerTimeouts)
    tokens: TokenLimits = field(default_factory=TokenLimits)
    mcp: McpLimits = field(default_factory=McpLimits)
    proxy: ProxyLimits = field(default_factory=ProxyLimits)
    viewer: ViewerLimits = field(default_factory=ViewerLimits)
    answer_s: float = ANSWER_S
    """For the answer of a program to a call of a command that it announced."""


DEFAULT = ServerLimits()


@dataclass(slots=True)
class Running:
    """A server that takes requests."""

    address: ServerAddress
    tokens: Tokens
    hub: Hub
    server: uvicorn.Server
    viewers: Viewers
    chats: Transcripts
    own: str
    """The secret of the program that this server is a part of; see `surfaces/toolset`."""

    def link(self) -> str:
        """Return a link that opens the page once."""
        return f"{self.address.url}/#code={self.tokens.browsers.new_code()}"


def listen(host: str, port: int, *, secret: str | None = None, tries: int = TRIES) -> socket.socket:
    """Return a listening socket on this port or the next free one; beyond loopback only with a secret."""
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError as error:
        raise BadArgument(
            f"{host!r} is not an address to listen on", hint="give an IP address, e.g. 127.0.0.1"
        ) from error
    if not 0 <= port <= 65535:
        raise BadArgument(f"invalid port {port}", hint="use a port from 1 to 65535, or 0 for any free one")
    if not loopback and not secret:
        raise BadArgument(
            f"listening on {host} would open terminals to the network",
            hint=f"set FOURHANDS_SECRET to a secret of your own ({SECRET_LENGTH} characters or more): it is then your "
            "token; name the host in the setting server.allowedHosts and put TLS in front",
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    last = min(port + tries, 65536)
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
    raise Unavailable(f"no free port between {port} and {last - 1} on {host}", hint="choose another with --port")


def host_names(address: ServerAddress, more: Iterable[str]) -> set[str]:
    """Return the allowed Host headers: loopback's names and the address with the port, and those of the settings."""
    names = {"127.0.0.1", "localhost", "[::1]"}
    if not ipaddress.ip_address(address.host).is_unspecified:
        names.add(f"[{address.host}]" if ":" in address.host else address.host)
    hosts = {f"{name}:{address.port}" for name in names} | set(more)
    return hosts | names if address.port == 80 else hosts  # the one port that clients leave out


async def _tell_altered(bench: Workbench, count: int) -> None:
    error = Denied(
        f"{count} signed-in browsers were refused: another program has changed browsers.json",
        hint="sign in again with `fourhands open`, and find out which program writes to the state directory",
    )
    log.warning("%s", error)
    await bench.gate.record(Call(command=SIGN_IN, actor=Actor.system()), Result.failure(error))


@contextlib.asynccontextmanager
async def serving(
    bench: Workbench,
    tasks: Tasks,
    *,
    host: str | None = None,
    port: int | None = None,
    secret: str | None = None,
    limits: ServerLimits = DEFAULT,
    websockets: type[Frames] = Frames,
    static: Path = STATIC,
) -> AsyncIterator[Running]:
    """Serve a workbench for the length of the block; `websockets` carries each WebSocket, `static` has the page."""
    options, places = bench.settings.server, bench.terminals.places
    seal = await bench.terminals.kept_secret("browsers")
    tokens = Tokens(Path(places.runtime), Path(places.state), secret, seal, limits.tokens)
    bench.redaction = bench.redaction.knowing(tokens.file.read_text().strip(), secret or "")
    with contextlib.closing(
        listen(host or options.host, options.port if port is None else port, secret=secret)
    ) as sock:
        name, number = sock.getsockname()[:2]
        address = ServerAddress(name, number, os.getpid())
        bench.network.own_ports.add(number)
        hub = Hub(bench, bench.registry, answer_s=limits.answer_s)
        chats = Transcripts(bench, Path(places.state) / "chats.json")
        routes = Routes(
            bench,
            tokens,
            hub,
            chats,
            look_s=limits.timeouts.look_s,
            calls_at_once=limits.access.calls,
            viewer=limits.viewer,
        )
        mcp = McpRoutes(bench, hub, tasks, tokens, limits.mcp)
        toolsets = ToolsetRoutes(bench, tasks, limits.access.calls)
        # These stand beside the compression of our own answers: what streams must be passed on when it comes.
        proxy = proxy_routes(bench, hub, tasks, limits.proxy)
        app = Starlette(routes=[*proxy, *mcp.all(), *toolsets.all(), Mount("/", build(routes, static))])
        guard = AccessControl(
            app,
            tokens,
            hosts=host_names(address, options.allowed_hosts),
            behind_tls=options.allowed_hosts,
            public=public_files(static),
            limits=limits.access,
        )
        server = IdleServer(TimedConfig(guard, limits.timeouts, MESSAGE_LIMIT, websockets))
        task = tasks.start(server.serve(sockets=[sock]), "the server")
        doors = AgentDoors(
            app,
            tokens,
            limits.access,
            tasks,
            server,
            lambda door: TimedConfig(door, limits.timeouts, MESSAGE_LIMIT, websockets),
        )
        bench.network.agents.serve = doors.enter

        def ended(session: Session) -> None:
            tokens.revoke(session.id)
            doors.end(session.id)

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
            if tokens.browsers.altered:
                await _tell_altered(bench, tokens.browsers.altered)
            publish(places.state, address)
            yield Running(address, tokens, hub, server, routes.viewers, chats, toolsets.own)
        finally:
            bench.leaving = True
            bench.network.agents.serve = None
            hub.leave()
            for question in bench.questions.open(private=True):
                bench.questions.withdraw(question.id, "Fourhands is being stopped; ask again when it is back")
            await mcp.close()
            await toolsets.close()
            server.should_exit = True
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([task], timeout=limits.timeouts.grace_s + 2)
            server.force_exit = True
            with contextlib.suppress(FileNotFoundError):
                address_file(places.state).unlink()
            bench.on_session_end.remove(ended)
            routes.close()
            await chats.close()
            await hub.close()
