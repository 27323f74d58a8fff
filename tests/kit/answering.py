"""Servers that answer with chosen bytes, in the clear or by TLS."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def listening(serve: Serve, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """A server whose connections are each handled by `serve`, and then closed; its port."""
    live: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        live.add(task)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await serve(reader, writer)
            await writer.drain()
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    async with await asyncio.start_server(handle, "127.0.0.1", 0, ssl=tls) as server:
        yield server.sockets[0].getsockname()[1]
        if live:
            await asyncio.wait(live)


async def request_of(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """The head and the body of the next request."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next((int(line[16:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length: ")), 0)
    return head, await reader.readexactly(length)


def saying(answer: bytes) -> Serve:
    """Give this answer to every request."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await request_of(reader)
            writer.write(answer)

    return serve


def once(answer: bytes) -> Serve:
    """Give this answer to the first request of a connection, then close it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(answer)

    return serve


class Proxy:
    """A small proxy that connects everybody to one server, whatever they ask for; `heads` is what it heard."""

    def __init__(self, port: int, refusal: bytes = b"") -> None:
        self.heads: list[bytes] = []
        self._port = port
        self._refusal = refusal

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        head, body = await request_of(reader)
        self.heads.append(head)
        if self._refusal:
            writer.write(self._refusal)
            return
        there, back = await asyncio.open_connection("127.0.0.1", self._port)
        if head.startswith(b"CONNECT "):
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            back.write(head + body)
        async with asyncio.TaskGroup() as group:
            group.create_task(_pump(reader, back))
            group.create_task(_pump(there, writer))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
    writer.close()


async def certified(where: Path) -> tuple[str, ssl.SSLContext]:
    """A certificate that vouches for itself, as a file, and what a server needs to show it.

    It is for localhost, api.test and model.test.
    """
    key, cert = str(where / "key"), str(where / "cert")
    made = await asyncio.create_subprocess_exec(
        *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"),
        *(
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=DNS:localhost,DNS:api.test,DNS:model.test",
            "-keyout",
            key,
            "-out",
            cert,
        ),
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert await made.wait() == 0
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return cert, context
