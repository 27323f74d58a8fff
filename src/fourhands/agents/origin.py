"""A server that is reached by HTTP/1.1: how to connect to it, and the connections that are kept for the next request.

Lean on purpose: what stands between an agent and its model is waited for with every message. Redirects are answers,
cookies headers like any other, and nothing of the environment decides where a request goes.
"""

import asyncio
import socket
import ssl
from collections.abc import Sequence

import httpx

from fourhands.agents.connection import Connection, Response, head_of
from fourhands.core.errors import LimitReached

MOST = 200
MOST_IDLE = 20
IDLE_S = 20.0
"""How long a connection is kept; shorter than servers keep theirs, so that none ends under a request."""

NEXT_S = 1.0
"""When a name has several addresses: how long each may take but the last one."""


class Origin:
    """One server."""

    def __init__(
        self, url: httpx.URL, tls: ssl.SSLContext | None = None, *, connect_s: float, silence_s: float
    ) -> None:
        self._host = url.raw_host.decode("ascii")
        self._port = url.port or (443 if tls else 80)
        self._name = url.netloc
        self._tls = tls
        self._connect_s = connect_s
        self._silence_s = silence_s
        self._idle: dict[Connection, asyncio.TimerHandle] = {}
        self._open: set[Connection] = set()

    async def send(
        self, method: str, target: bytes, headers: Sequence[tuple[bytes, bytes]], content: bytes
    ) -> Response:
        """Send a request and wait for the head of its answer, which the caller closes."""
        head = head_of(method, target, self._name, headers, len(content))
        connection = self._kept() or await self._connect()
        return await connection.ask(head, content, self._silence_s, bodiless=method == "HEAD")

    def close(self) -> None:
        """Close all connections."""
        for connection in list(self._open):
            connection.abort()

    def _kept(self) -> Connection | None:
        if not self._idle:
            return None
        connection, timer = self._idle.popitem()  # the one used last is the least likely to be stale
        timer.cancel()
        return connection

    async def _connect(self) -> Connection:
        if len(self._open) >= MOST:
            raise LimitReached(f"{MOST} requests to {self._host} are under way already", hint="wait for some to end")
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(self._connect_s):
            found = await loop.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
            *others, last = [str(address[0]) for *_, address in found]
            for address in others:
                try:
                    async with asyncio.timeout(NEXT_S):
                        return await self._connect_to(address)
                except OSError:
                    continue
            return await self._connect_to(last)

    async def _connect_to(self, address: str) -> Connection:
        loop = asyncio.get_running_loop()
        name = self._host if self._tls else None
        _, connection = await loop.create_connection(
            lambda: Connection(self._released), address, self._port, ssl=self._tls, server_hostname=name
        )
        self._open.add(connection)
        return connection

    def _released(self, connection: Connection, reusable: bool) -> None:
        if reusable and len(self._idle) < MOST_IDLE:
            loop = asyncio.get_running_loop()
            self._idle[connection] = loop.call_later(IDLE_S, connection.abort)
            return
        if timer := self._idle.pop(connection, None):
            timer.cancel()
        if reusable:
            connection.abort()
        self._open.discard(connection)
