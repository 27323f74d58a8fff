"""The server's end of the cells' networks: takes connections that a cell passes out, decides, connects, carries.

Each cell has a socket in the runtime directory that only our program in the cell knows. What comes by it is bounded
and checked all the same: one message is one packet, at most one descriptor comes with it, and that is a TCP socket.
"""

import asyncio
import contextlib
import hashlib
import logging
import os
import secrets
import shutil
import socket
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from types import TracebackType
from typing import Self

import msgspec
from msgspec import Struct

from fourhands.core.errors import BadArgument, FourhandsError, Unavailable
from fourhands.core.event import EventBus
from fourhands.core.tasks import Tasks
from fourhands.providers.egress.agents import WORKBENCH, AgentNetworks, listen_for
from fourhands.providers.egress.dialing import Dialer, SystemDialer, dial, find_route
from fourhands.providers.egress.enclosure import Enclosure, Way, find_way, proxy_variables
from fourhands.providers.egress.gatekeeper import Gatekeeper
from fourhands.providers.egress.hosts import HostPattern, host_name, port_number
from fourhands.providers.egress.ports import OpenPort, PortForwards
from fourhands.providers.egress.proxy import ProxyRequest, read_request
from fourhands.providers.egress.splice import ByteCount, reset, splice

log = logging.getLogger(__name__)

FindRegistries = Callable[[], Awaitable[tuple[HostPattern, ...]]]
"""Returns the hosts that the tools of this machine are set up for."""

CONNECTIONS = 256
"""Connections of one cell at one time, held ones included; more are reset."""

LONGEST = 2048
"""Bytes of one message."""

_LINKS = 4


class InsideMessage(Struct, frozen=True, forbid_unknown_fields=True):
    """A message of our program in a cell; exactly one of its kinds is set."""

    connect: str = ""
    port: int = 0
    proxy: bool = False
    opened: int | None = None
    failed: int | None = None
    listening: tuple[int, ...] | None = None


class CellNetwork:
    """The network of one cell, named by its session."""

    def __init__(self, session: str, enclosure: Enclosure, egress: "Egress") -> None:
        self.session = session
        self.enclosure = enclosure
        self.ports = PortForwards(session, self.ask_inside, egress.events, egress.tasks, egress.own_ports)
        self._egress = egress
        self._links: list[socket.socket] = []
        self._lends = False
        self._open = 0
        self._listener: socket.socket

    def start(self) -> None:
        """Listen for our program; what a server before left is replaced. Raises `OSError`."""
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.enclosure.socket)
        self._listener.bind(self.enclosure.socket)
        os.chmod(self.enclosure.socket, 0o600)
        self._listener.listen(16)
        self._listener.setblocking(False)
        asyncio.get_running_loop().add_reader(self._listener, self._accept)

    async def close(self) -> None:
        """Stop listening, in both directions; connections that are carried end with the tasks of the server."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._listener)
        self._listener.close()
        for link in list(self._links):
            self._drop(link)
        await self.ports.close()

    def lend(self) -> None:
        """Have the ports of this machine that the session's agent may reach also at 127.0.0.1 of the cell."""
        ports = self._egress.agents.lent(self.session)
        if self._links and (ports or self._lends):
            self._lends = True
            with contextlib.suppress(OSError):
                self._links[-1].send(msgspec.json.encode({"lend": ports}))

    def ask_inside(self, port: int, number: int) -> bool:
        """Ask our program for a connection to a port of the cell; False if it is not there."""
        if not self._links:
            return False
        try:
            self._links[-1].send(msgspec.json.encode({"open": port, "id": number}))
        except OSError:
            return False
        return True

    def accept_proxy(self, listener: socket.socket, secret: str) -> None:
        """Take a connection to the proxy of a session without a network of its own."""
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            connection.setblocking(False)
            if self._open >= CONNECTIONS:
                reset(connection)
            else:
                self.serve_proxy(connection, secret)

    def _accept(self) -> None:
        try:
            link, _ = self._listener.accept()
        except OSError:
            return
        link.setblocking(False)
        if len(self._links) >= _LINKS:
            self._drop(self._links[0])
        self._links.append(link)
        self.lend()
        asyncio.get_running_loop().add_reader(link, self._receive, link)

    def _drop(self, link: socket.socket) -> None:
        asyncio.get_running_loop().remove_reader(link)
        self._links.remove(link)
        link.close()
        if not self._links:
            self.ports.announce(())

    def _receive(self, link: socket.socket) -> None:
        for _ in range(16):  # then others have their turn
            try:
                data, descriptors, flags, _ = socket.recv_fds(link, LONGEST, 4)
            except BlockingIOError:
                return
            except OSError:
                data, descriptors, flags = b"", [], 0
            connection = _connection(descriptors)
            if not data or flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
                if connection is not None:
                    connection.close()
                self._drop(link)
                return
            try:
                self._take(msgspec.json.decode(data, type=InsideMessage), connection)
            except (msgspec.DecodeError, UnicodeDecodeError, BadArgument) as error:
                log.debug("a message of the cell %s is none: %s", self.session, error)
                if connection is not None:
                    reset(connection)

    def _take(self, message: InsideMessage, connection: socket.socket | None) -> None:
        if message.listening is not None:
            self.ports.announce(message.listening)
        elif message.failed is not None:
            self.ports.connected(message.failed, None)
        elif connection is None:
            raise BadArgument("a message without its connection")
        elif message.opened is not None:
            self.ports.connected(message.opened, connection)
        elif self._open >= CONNECTIONS:
            if message.connect:
                self._egress.gatekeeper.refused(
                    self.session, host_name(message.connect), message.port, f"more than {CONNECTIONS} connections"
                )
            reset(connection)
        elif message.proxy:
            self.serve_proxy(connection)
        else:
            wanted = ProxyRequest(host_name(message.connect), port_number(message.port), b"", b"")
            self._start(self._carry(wanted, connection))

    def serve_proxy(self, connection: socket.socket, secret: str = "") -> None:
        """Serve a connection that speaks to us as to a proxy."""
        self._start(self._carry_by_proxy(connection, secret))

    def _start(self, work: Coroutine[None, None, None]) -> None:
        self._open += 1
        self._egress.tasks.start(work, "a connection out of a sandbox").add_done_callback(self._ended)

    def _ended(self, task: object) -> None:
        self._open -= 1

    async def _carry_by_proxy(self, connection: socket.socket, secret: str) -> None:
        try:
            wanted = await read_request(connection, secret)
        except BaseException as error:
            connection.close()
            if not isinstance(error, FourhandsError | OSError):  # a time limit is an `OSError` too
                raise
            return
        await self._carry(wanted, connection)

    async def _carry(self, wanted: ProxyRequest, connection: socket.socket) -> None:
        gatekeeper, host, port = self._egress.gatekeeper, wanted.host, wanted.port
        speaks = bool(wanted.granted or wanted.first)  # to a proxy, which can say why not
        try:
            outer, by = await self._connect(host, port)
        except BaseException as error:
            if speaks and isinstance(error, FourhandsError):
                with contextlib.suppress(OSError):
                    connection.send(wanted.refusal(f"{host}:{port} refused, {error.message}"))
                connection.close()
            else:
                reset(connection)
            if not isinstance(error, FourhandsError):
                raise
            gatekeeper.refused(self.session, host, port, error.message)
            return
        count = gatekeeper.log.carry(self.session, host, by) if by else ByteCount()
        try:
            await splice(connection, outer, count, wanted.first, wanted.granted)
        finally:
            gatekeeper.log.carried(self.session, count)

    async def _connect(self, host: str, port: int) -> tuple[socket.socket, str]:
        egress = self._egress
        if host == WORKBENCH:  # no host that was spoken to, so it is in no list
            return egress.agents.enter(self.session, port), ""
        await egress.know_registries()
        by = await egress.gatekeeper.require(self.session, host, port)
        route = egress.agents.route(self.session, host, port)
        route = route or await find_route(host, port, egress.env, egress.dialer)
        if route.private:
            by = await egress.gatekeeper.require(self.session, host, port, private=route.addresses[0])
        return await dial(route, egress.dialer), by


class Egress:
    """All cells' networks: `async with Egress(…)`; `open` gives a cell its own."""

    def __init__(
        self,
        directory: str,
        gatekeeper: Gatekeeper,
        events: EventBus,
        *,
        env: Mapping[str, str],
        dialer: Dialer | None = None,
        own_ports: set[int] | None = None,
        registries: FindRegistries | None = None,
    ) -> None:
        self.gatekeeper = gatekeeper
        self.events = events
        self.env = env
        self.dialer = dialer or SystemDialer()
        self.own_ports = set() if own_ports is None else own_ports  # of this server; it adds its own
        self.tasks = Tasks()
        self.agents = AgentNetworks(gatekeeper.rules)
        self._registries = registries
        self._finding: asyncio.Task[None] | None = None
        self._directory = directory
        self._cells: dict[str, CellNetwork] = {}
        self._ways: dict[str, Way] = {}
        self._proxies: dict[str, tuple[socket.socket, str]] = {}

    async def __aenter__(self) -> Self:
        await self.tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for cell in list(self._cells.values()):
            await cell.close()
        self._cells.clear()
        for session in list(self._proxies):
            self._close_proxy(session)
        await self.tasks.__aexit__(kind, error, trace)

    async def probe(self, builder: str) -> Way:
        """Find out how cells reach out here; the result is kept. Raises `Unsupported`."""
        if builder not in self._ways:
            trial = f"{self._directory}/trial"
            os.makedirs(trial, mode=0o700, exist_ok=True)
            self._ways[builder] = await find_way(builder, trial)
        return self._ways[builder]

    async def open(self, session: str, builder: str) -> Enclosure:
        """Open a cell's network, or find it again after a restart; `builder` is the path of bwrap."""
        way = await self.probe(builder)
        # A socket's path is short, and a session's id is not.
        name = hashlib.sha256(session.encode()).hexdigest()[:12]
        enclosure = Enclosure(builder, f"{self._directory}/{name}", way)
        try:
            await asyncio.to_thread(enclosure.prepare)
            if (known := self._cells.get(session)) is not None:  # after the last wait: two may open it at once
                return known.enclosure
            cell = CellNetwork(session, enclosure, self)
            cell.start()
        except OSError as error:
            raise Unavailable(f"cannot set up the network of the sandbox: {error}") from error
        self._cells[session] = cell
        self._begin_finding()
        return cell.enclosure

    def _begin_finding(self) -> None:
        if self._finding is None:
            self._finding = self.tasks.start(self._find_registries(), "the package registries of this machine")

    async def _find_registries(self) -> None:
        if self._registries is not None:
            self.gatekeeper.rules.tools = await self._registries()

    async def know_registries(self) -> None:
        """Return when the tools of this machine have been asked; they are once, when there is a first cell."""
        if self._finding is not None and not self._finding.done():
            await asyncio.wait([self._finding])

    async def leave(self, session: str) -> CellNetwork | None:
        """Serve a cell no longer; what is inside finds the next server by itself."""
        cell = self._cells.pop(session, None)
        if cell is not None:
            await cell.close()
        return cell

    async def close(self, session: str) -> None:
        """Take a cell's network away, for good."""
        cell = await self.leave(session)
        self._close_proxy(session)
        if cell is not None:
            await asyncio.to_thread(shutil.rmtree, cell.enclosure.directory, ignore_errors=True)
        self.gatekeeper.end(session)

    async def open_proxy(self, session: str) -> dict[str, str]:
        """Let a session without a network of its own reach out by a proxy of 127.0.0.1; returns the variables for it.

        For sandboxes that refuse sockets of the file system: other programs of this machine can connect too, so the
        address holds a secret.
        """
        if session not in self._proxies:
            secret = secrets.token_urlsafe(24)
            cell = CellNetwork(session, Enclosure("", "", "proxy"), self)
            listener = listen_for(session)
            self._proxies[session] = listener, secret
            asyncio.get_running_loop().add_reader(listener, cell.accept_proxy, listener, secret)
            self._begin_finding()
        listener, secret = self._proxies[session]
        self.own_ports.add(listener.getsockname()[1])
        return proxy_variables(f"http://fourhands:{secret}@127.0.0.1:{listener.getsockname()[1]}")

    def _close_proxy(self, session: str) -> None:
        if (known := self._proxies.pop(session, None)) is not None:
            asyncio.get_running_loop().remove_reader(known[0])
            self.own_ports.discard(known[0].getsockname()[1])
            known[0].close()

    def cell(self, session: str) -> CellNetwork | None:
        """Return the network of a session's cell, if it has one."""
        return self._cells.get(session)

    def open_ports(self) -> list[OpenPort]:
        """Return the ports of programs that can be reached from outside now."""
        return [port for cell in self._cells.values() for port in cell.ports.list()]


def _connection(descriptors: list[int]) -> socket.socket | None:
    """Return the one TCP socket among descriptors, and close whatever else there is."""
    found: socket.socket | None = None
    for number in descriptors:
        try:
            one = socket.socket(fileno=number)
        except OSError:
            os.close(number)
            continue
        stream = one.family in (socket.AF_INET, socket.AF_INET6) and one.type == socket.SOCK_STREAM
        if found is None and stream and len(descriptors) == 1:
            one.setblocking(False)
            found = one
        else:
            one.close()
    return found
