"""Connections out of a cell: a name is resolved once, its addresses are checked, and exactly these are connected to.

So a name that resolves differently a moment later (DNS rebinding) gains nothing. Where the environment names a proxy
for a host, it resolves and connects: then only what this machine's own resolver says of the name can be checked.
"""

import asyncio
import contextlib
import socket
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from fourhands.core.errors import Denied, Unavailable
from fourhands.providers.egress.hosts import THIS_MACHINE, reach
from fourhands.providers.upstream_proxy import WebProxy, proxy_to

CONNECT_S = 15.0
_LONGEST_HEAD = 16_384


class Dialer(Protocol):
    """The way to other hosts; tests map names of their own."""

    async def resolve(self, host: str) -> list[str]:
        """Return the addresses of a name, the best first. Raises `OSError`."""
        ...

    async def connect(self, address: str, port: int) -> socket.socket:
        """Return a connected socket that does not block. Raises `OSError`."""
        ...


class SystemDialer:
    """The way to other hosts by this machine's own resolver."""

    async def resolve(self, host: str) -> list[str]:
        """Return the addresses of a name."""
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(one[4][0]) for one in found))

    async def connect(self, address: str, port: int) -> socket.socket:
        """Connect to an address."""
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        connection = socket.socket(family, socket.SOCK_STREAM)
        connection.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(connection, (address, port))
        except BaseException:
            connection.close()
            raise
        return connection


class WebHost(NamedTuple):
    """A host of the web, by the port that is wanted of it."""

    scheme: str
    host: str
    port: int


class Route:
    """A checked way to a host: the addresses that count, whose network they are in, and the proxy if there is one."""

    def __init__(self, host: str, port: int, addresses: list[str], private: bool, proxy: WebProxy | None) -> None:
        self.host = host
        self.port = port
        self.addresses = addresses
        self.private = private
        self.proxy = proxy


async def find_route(host: str, port: int, env: Mapping[str, str], dialer: Dialer) -> Route:
    """Resolve a host and check where it lies. Raises `Denied` for a closed address, `Unavailable` for none."""
    if host == THIS_MACHINE:
        return Route(host, port, ["127.0.0.1"], False, None)
    proxy = proxy_to(WebHost("http" if port == 80 else "https", host, port), env)
    try:
        async with asyncio.timeout(CONNECT_S):
            addresses = await dialer.resolve(host)
    except (OSError, TimeoutError) as error:
        if proxy is not None:
            return Route(host, port, [], False, proxy)
        raise Unavailable(f"{host} cannot be resolved: {error}") from error
    reached = {address: reach(address) for address in addresses}
    if "closed" in reached.values():
        raise Denied(
            f"{host} has the address {next(a for a in addresses if reached[a] == 'closed')}, which is this machine's",
            hint=f"a port of this machine is reached as {THIS_MACHINE}:{port}, if the person allows it",
        )
    return Route(host, port, addresses, "private" in reached.values(), proxy)


async def dial(route: Route, dialer: Dialer) -> socket.socket:
    """Connect to one of a route's addresses, or by its proxy. Raises `Unavailable` or `Denied`."""
    if route.proxy is not None:
        return await _dial_by_proxy(route, route.proxy)
    failure: Exception = OSError("it has no address")
    for address in route.addresses[:4]:
        try:
            async with asyncio.timeout(CONNECT_S):
                connection = await dialer.connect(address, route.port)
        except (OSError, TimeoutError) as error:
            failure = error
            continue
        if route.host != THIS_MACHINE and _leads_here(connection, address):
            connection.close()
            raise Denied(f"{route.host} is this machine", hint=f"use {THIS_MACHINE}:{route.port} instead")
        return connection
    raise Unavailable(f"cannot connect to {route.host}:{route.port}: {failure or 'no answer'}")


def _leads_here(connection: socket.socket, address: str) -> bool:
    """Return True if both ends have one address: this machine's own, under whatever name."""
    with contextlib.suppress(OSError):
        return bool(connection.getsockname()[0] == address)
    return False


async def _dial_by_proxy(route: Route, proxy: WebProxy) -> socket.socket:
    system = SystemDialer()
    try:
        async with asyncio.timeout(CONNECT_S):
            addresses = await system.resolve(proxy.host)
            connection = await system.connect(addresses[0], proxy.port)
    except (OSError, TimeoutError, IndexError) as error:
        raise Unavailable(f"cannot reach {proxy}: {error}") from error
    try:
        async with asyncio.timeout(CONNECT_S):
            status = await _ask_proxy(connection, route, proxy)
    except (OSError, TimeoutError, ValueError, IndexError) as error:
        connection.close()
        raise Unavailable(f"{proxy} gave no usable answer: {error}") from error
    except BaseException:
        connection.close()
        raise
    if status != 200:
        connection.close()
        raise Unavailable(f"{proxy} refused {route.host}:{route.port}: status {status}")
    return connection


async def _ask_proxy(connection: socket.socket, route: Route, proxy: WebProxy) -> int:
    loop = asyncio.get_running_loop()
    head = f"CONNECT {route.host}:{route.port} HTTP/1.1\r\nHost: {route.host}:{route.port}\r\n".encode()
    if proxy.authorization:
        head += b"Proxy-Authorization: " + proxy.authorization + b"\r\n"
    await loop.sock_sendall(connection, head + b"\r\n")
    answer = b""
    # One byte at a time at its end would be slow, but what follows the head is the host's, and must stay unread.
    while not answer.endswith(b"\r\n\r\n"):
        piece = await loop.sock_recv(connection, 1)
        if not piece or len(answer) > _LONGEST_HEAD:
            raise ValueError("no end of its headers")
        answer += piece
    return int(answer.split(b" ", 2)[1])
