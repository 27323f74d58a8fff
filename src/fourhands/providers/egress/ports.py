"""Ports on which a cell's programs listen, opened at 127.0.0.1 for the person."""

import asyncio
import contextlib
import errno
import itertools
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Iterator

from msgspec import Struct

from fourhands.core.event import EventBus
from fourhands.core.tasks import Tasks
from fourhands.providers.egress.listening import LOWEST, MOST
from fourhands.providers.egress.network_events import PortClosed, PortOpened
from fourhands.providers.egress.splice import ByteCount, reset, splice

ANSWER_S = 5.0
"""Seconds for our program in the cell to connect."""

SETTLE_S = 1.0
"""Seconds until our program in the cell has told of what began to listen a moment ago."""

_TRIED = 100
_CONNECTIONS = 256


class OpenPort(Struct, frozen=True, kw_only=True, rename="camel"):
    """A port of a program in a sandbox, and the one of 127.0.0.1 by which it is reached."""

    session: str
    port: int
    outside: int


class PortForwards:
    """The open ports of one cell. `ask` requests a connection to a port, which comes by `connected`."""

    def __init__(
        self,
        session: str,
        ask: Callable[[int, int], bool],
        events: EventBus,
        tasks: Tasks,
        own_ports: "set[int]",
    ) -> None:
        self._session = session
        self._ask = ask
        self._events = events
        self._tasks = tasks
        self._own_ports = own_ports
        self._open: dict[int, tuple[socket.socket, int]] = {}
        self.private: set[int] = set()  # that are not opened: those of an agent's own process
        self._ways: set[int] = set()
        self._holding = 0
        self._waiting: dict[int, asyncio.Future[socket.socket | None]] = {}
        self._numbers = itertools.count(1)
        self._count = 0

    def list(self) -> "list[OpenPort]":
        """Return the ports that are open, lowest first."""
        return [
            OpenPort(session=self._session, port=port, outside=outside)
            for port, (_, outside) in sorted(self._open.items())
        ]

    def announce(self, ports: Iterable[int]) -> None:
        """Open the ports on which programs listen now, and close the others."""
        there = [port for port in ports if LOWEST <= port < 65_536]
        self.private &= {*there, *self._ways}
        if self._holding:
            self.private |= set(there) - self._open.keys()
        wanted = [port for port in there if port not in self.private][:MOST]
        for port in self._open.keys() - set(wanted):
            self._shut(port)
        for port in wanted:
            if port not in self._open and (listener := self._listen(port)) is not None:
                outside = listener.getsockname()[1]
                self._open[port] = listener, outside
                asyncio.get_running_loop().add_reader(listener, self._accept, port, listener)
                self._events.emit(PortOpened(session=self._session, port=port, outside=outside))

    def connected(self, number: int, connection: socket.socket | None) -> None:
        """Hand over the connection that was asked for; None if there is none."""
        waiting = self._waiting.pop(number, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(connection)
        elif connection is not None:
            connection.close()

    @contextlib.contextmanager
    def held(self, settle_s: float = SETTLE_S) -> Iterator[None]:
        """Keep what begins to listen within this block, an agent's own process, from being opened."""

        def release() -> None:
            self._holding -= 1

        self._holding += 1
        try:
            yield
        finally:
            asyncio.get_running_loop().call_later(settle_s, release)

    @contextlib.asynccontextmanager
    async def way_in(self, port: int, path: str) -> AsyncIterator[None]:
        """Lead a socket of the file system to a port, which is not opened otherwise. Raises `OSError`."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        listener.bind(path)
        os.chmod(path, 0o600)
        listener.listen(64)
        listener.setblocking(False)
        loop = asyncio.get_running_loop()
        loop.add_reader(listener, self._accept, port, listener)
        self._ways.add(port)
        self.private.add(port)
        if port in self._open:
            self._shut(port)
        try:
            yield
        finally:
            self._ways.discard(port)
            loop.remove_reader(listener)
            listener.close()
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    async def close(self) -> None:
        """Close all ports."""
        for port in list(self._open):
            self._shut(port)

    def _listen(self, port: int) -> socket.socket | None:
        """Listen on this port, or on the next that is free."""
        for tried in range(port, min(port + _TRIED, 65_536)):
            if tried in self._own_ports:
                continue
            listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", tried))
                listener.listen(64)
            except OSError as error:
                listener.close()
                if error.errno != errno.EADDRINUSE:
                    return None
                continue
            listener.setblocking(False)
            return listener
        return None

    def _shut(self, port: int) -> None:
        listener, outside = self._open.pop(port)
        asyncio.get_running_loop().remove_reader(listener)
        listener.close()
        self._events.emit(PortClosed(session=self._session, port=port, outside=outside))

    def _accept(self, port: int, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        connection.setblocking(False)
        if self._count >= _CONNECTIONS:
            reset(connection)
            return
        self._count += 1
        self._tasks.start(self._carry(port, connection), f"a connection to port {port} of a sandbox")

    async def _carry(self, port: int, connection: socket.socket) -> None:
        number = next(self._numbers)
        arrived = self._waiting[number] = asyncio.get_running_loop().create_future()
        inner: socket.socket | None = None
        try:
            if self._ask(port, number):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(ANSWER_S):
                        inner = await arrived
            if inner is None:
                reset(connection)
            else:
                await splice(connection, inner, ByteCount())
        finally:
            self._count -= 1
            self._waiting.pop(number, None)
