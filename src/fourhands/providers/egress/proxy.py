"""The protocols of a proxy, for programs that heed its variables: HTTP CONNECT, plain HTTP, SOCKS 5.

For sandboxes in which names cannot lead out by themselves. What is read is bounded in size and time.
"""

import asyncio
import base64
import hmac
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from fourhands.core.errors import BadArgument
from fourhands.providers.egress.hosts import host_name, port_number

READ_S = 10.0
LONGEST_HEAD = 16_384

_GRANTED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_SOCKS_TAIL = b"\x00\x01\x00\x00\x00\x00\x00\x00"
_OWN_HEADERS = (b"proxy-authorization", b"proxy-connection", b"connection", b"keep-alive")


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """One request of a program: where to, what it is told when that works, and what goes there first."""

    host: str
    port: int
    granted: bytes
    first: bytes
    socks: bool = False

    def refusal(self, reason: str) -> bytes:
        """Return what the program is told when it does not."""
        return b"\x05\x02" + _SOCKS_TAIL if self.socks else refused(b"403 Forbidden", reason)


def refused(status: bytes, reason: str) -> bytes:
    """Return an answer of HTTP that says why not."""
    body = f"{reason}\n".encode()
    more = b'Proxy-Authenticate: Basic realm="fourhands"\r\n' if status.startswith(b"407") else b""
    head = b"HTTP/1.1 %b\r\n%bContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
    return head % (status, more, len(body)) + body


async def read_request(connection: socket.socket, secret: str = "") -> ProxyRequest:
    """Read a program's request; where there is a secret it must be shown as a password.

    Raises `BadArgument`, after the program was told where it can be, and `OSError` or `TimeoutError`.
    """
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(READ_S):
        start = await loop.sock_recv(connection, 1)
        if start == b"\x05":
            return await _read_socks(connection, secret)
        head = start
        while b"\r\n\r\n" not in head:
            piece = await loop.sock_recv(connection, 4096) if len(head) <= LONGEST_HEAD else b""
            if not piece:
                raise BadArgument("a request without an end")
            head += piece
        head, _, rest = head.partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        if secret and not any(_shows(line, secret) for line in lines[1:]):
            await loop.sock_sendall(connection, refused(b"407 Proxy Authentication Required", "the secret is missing"))
            raise BadArgument("a request without the secret")
        try:
            return _http(lines, rest)
        except (BadArgument, ValueError) as error:
            await loop.sock_sendall(connection, refused(b"400 Bad Request", str(error)))
            raise BadArgument(str(error)) from error


def _http(lines: list[bytes], rest: bytes) -> ProxyRequest:
    method, target, version = lines[0].decode("ascii").split(" ")
    if method == "CONNECT":
        name, colon, number = target.rpartition(":")
        if not colon or not number.isdigit() or len(number) > 5:
            raise BadArgument(f"{target[:300]!r} is not HOST:PORT")
        return ProxyRequest(host_name(name), port_number(int(number)), _GRANTED, rest)
    url = urlsplit(target)
    if url.scheme != "http" or not url.hostname or "@" in url.netloc:
        raise BadArgument(f"{target[:300]!r} is not a plain http address")
    kept = [line for line in lines[1:] if line.partition(b":")[0].strip().lower() not in _OWN_HEADERS]
    path = f"{url.path or '/'}{f'?{url.query}' if url.query else ''}"
    # One request for each connection: the next one may be for another host.
    first = b"\r\n".join([f"{method} {path} {version}".encode(), *kept, b"Connection: close", b"", b""]) + rest
    return ProxyRequest(host_name(url.hostname), url.port or 80, b"", first)


def _shows(line: bytes, secret: str) -> bool:
    name, _, value = line.partition(b":")
    kind, _, encoded = value.strip().partition(b" ")
    if name.strip().lower() != b"proxy-authorization" or kind.lower() != b"basic":
        return False
    try:
        shown = base64.b64decode(encoded, validate=True).partition(b":")[2]
    except ValueError:
        return False
    return hmac.compare_digest(shown, secret.encode())


async def _read_socks(connection: socket.socket, secret: str) -> ProxyRequest:
    loop = asyncio.get_running_loop()

    async def exactly(count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = await loop.sock_recv(connection, count - len(data))
            if not piece:
                raise BadArgument("a request without an end")
            data += piece
        return data

    methods = await exactly((await exactly(1))[0])
    wanted = 2 if secret else 0
    if wanted not in methods:
        await loop.sock_sendall(connection, b"\x05\xff")
        raise BadArgument("a request without the secret")
    await loop.sock_sendall(connection, bytes([5, wanted]))
    if secret:
        await exactly((await exactly(2))[1])
        shown = await exactly((await exactly(1))[0])
        right = hmac.compare_digest(shown, secret.encode())
        await loop.sock_sendall(connection, b"\x01\x00" if right else b"\x01\x01")
        if not right:
            raise BadArgument("a request without the secret")
    _, command, _, kind = await exactly(4)
    if command != 1 or kind != 3:  # addresses are not names, and nothing may listen or send datagrams
        await loop.sock_sendall(connection, b"\x05" + (b"\x07" if command != 1 else b"\x02") + _SOCKS_TAIL)
        raise BadArgument("only connections to host names are made")
    name = await exactly((await exactly(1))[0])
    port = int.from_bytes(await exactly(2), "big")
    try:
        host = host_name(name.decode("ascii"))
        return ProxyRequest(host, port_number(port), b"\x05\x00" + _SOCKS_TAIL, b"", socks=True)
    except (BadArgument, UnicodeDecodeError) as error:
        await loop.sock_sendall(connection, b"\x05\x02" + _SOCKS_TAIL)
        raise BadArgument(str(error)) from error
