"""A server that is reached by HTTP/1.1: how to connect to it, and the connections that are kept for the next request.

Lean on purpose: what stands between an agent and its model is waited for with every message. Redirects are answers and
cookies headers like any other. The way may lead through a proxy: one that is told whole addresses, or for TLS one that
connects us and sees nothing more.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from fourhands.agents.models.connection import Headers, Response, Unheard, UpstreamConnection, head_of
from fourhands.core.errors import LimitReached
from fourhands.providers.upstream_proxy import WebProxy

if TYPE_CHECKING:
    import httpx


@dataclass(frozen=True, slots=True)
class UpstreamLimits:
    """The connections of one server: how many, and for how long."""

    most: int = 200
    idle: int = 20
    """Kept for the next request."""
    idle_s: float = 20.0
    """Seconds that one is kept; shorter than most servers keep theirs, so that few end during a request."""
    next_s: float = 1.0
    """Seconds that each address of a name may take before the next one is tried."""


DEFAULT = UpstreamLimits()


@dataclass(frozen=True, slots=True)
class UpstreamStats:
    """The connections that there are; idle ones are open too."""

    open: int
    idle: int


Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]


async def resolve(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a name, the preferred ones first."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


class UpstreamPool:
    """One server. `resolve` finds the addresses of its name."""

    def __init__(
        self,
        url: "httpx.URL",
        tls: ssl.SSLContext | None = None,
        *,
        connect_s: float,
        silence_s: float,
        proxy: WebProxy | None = None,
        limits: UpstreamLimits = DEFAULT,
        resolve: Resolve = resolve,
    ) -> None:
        self._limits = limits
        self._resolve = resolve
        self._host = url.raw_host.decode("ascii")
        self._port = url.port or (443 if tls else 80)
        self._name = url.netloc
        self._tls = tls
        self._proxy = proxy
        self._base = b"" if proxy is None or tls else b"http://" + url.netloc
        self._pass: Headers = [(b"proxy-authorization", proxy.authorization)] if proxy and proxy.authorization else []
        self.connect_s = connect_s
        self.silence_s = silence_s
        self._idle: dict[UpstreamConnection, asyncio.TimerHandle] = {}
        self._open: set[UpstreamConnection] = set()

    async def send(
        self, method: str, target: bytes, headers: Sequence[tuple[bytes, bytes]], content: bytes
    ) -> Response:
        """Send a request and wait for the head of its answer, which the caller closes."""
        sent = [*headers, *self._pass] if self._base else headers
        head = head_of(method, self._base + target, self._name, sent, len(content))
        bodiless = method == "HEAD"
        if (kept := self._kept()) is not None:
            # A server may close a connection that it kept at the very moment of a request, which it then has not read.
            with contextlib.suppress(Unheard):
                return await kept.ask(head, content, self.silence_s, bodiless=bodiless)
        connection = await self._connect()
        return await connection.ask(head, content, self.silence_s, bodiless=bodiless)

    def close(self) -> None:
        """Close all connections."""
        for connection in list(self._open):
            connection.abort()

    def stats(self) -> UpstreamStats:
        """Count the connections."""
        return UpstreamStats(open=len(self._open), idle=len(self._idle))

    def _kept(self) -> UpstreamConnection | None:
        if not self._idle:
            return None
        connection, timer = self._idle.popitem()  # the one used last is the least likely to be stale
        timer.cancel()
        return connection

    async def _connect(self) -> UpstreamConnection:
        if len(self._open) >= self._limits.most:
            raise LimitReached(
                f"{self._limits.most} requests to {self._host} are under way already", hint="wait for some to end"
            )
        async with asyncio.timeout(self.connect_s):
            if self._proxy is None:
                return await self._connect_to(self._host, self._port, self._tls)
            try:
                connection = await self._connect_to(self._proxy.host, self._proxy.port, None)
            except TimeoutError:
                raise
            except OSError as error:
                raise ConnectionError(f"{self._proxy} cannot be reached: {error.strerror or error}") from error
            if self._tls is not None:
                await self._tunnel(connection, self._proxy, self._tls)
            return connection

    async def _connect_to(self, host: str, port: int, tls: ssl.SSLContext | None) -> UpstreamConnection:
        *others, last = await self._resolve(host, port)
        for address in others:
            try:
                async with asyncio.timeout(self._limits.next_s):
                    return await self._connect_at(address, port, tls)
            except OSError:
                continue
        return await self._connect_at(last, port, tls)

    async def _connect_at(self, address: str, port: int, tls: ssl.SSLContext | None) -> UpstreamConnection:
        loop = asyncio.get_running_loop()
        name = self._host if tls else None
        _, connection = await loop.create_connection(
            lambda: UpstreamConnection(self._released), address, port, ssl=tls, server_hostname=name
        )
        self._open.add(connection)
        return connection

    async def _tunnel(self, connection: UpstreamConnection, proxy: WebProxy, tls: ssl.SSLContext) -> None:
        """Have the proxy connect us to the server, and speak TLS with that one."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        place = f"{host}:{self._port}".encode()
        head = head_of("CONNECT", place, place, self._pass, 0)
        try:
            answer = await connection.ask(head, b"", self.silence_s, bodiless=True)
            if not answer.is_success:
                raise ConnectionError(f"{proxy} refused the connection: status {answer.status}")
            await connection.secure(tls, self._host)
        except BaseException:
            connection.abort()
            self._released(connection, False)  # it is not told of its end while TLS is being agreed on
            raise

    def _released(self, connection: UpstreamConnection, reusable: bool) -> None:
        if reusable and len(self._idle) < self._limits.idle:
            loop = asyncio.get_running_loop()
            self._idle[connection] = loop.call_later(self._limits.idle_s, connection.abort)
            return
        if timer := self._idle.pop(connection, None):
            timer.cancel()
        if reusable:
            connection.abort()
        self._open.discard(connection)
