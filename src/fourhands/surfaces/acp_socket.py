"""Sockets by which `fourhands acp` reaches a running workbench, and pipes where it serves one itself."""

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable

from fourhands.agents.acp.jsonrpc import LARGEST_LINE
from fourhands.core.tasks import Tasks
from fourhands.host.paths import WorkspaceDirs
from fourhands.surfaces.stdio import claimed_streams, relay

_CHUNK = 1 << 16

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Serves one connection until its other side closes it."""


class SocketLink:
    """A `Link` over a Unix socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, line: bytes) -> None:
        """Send one message."""
        self._writer.write(line)
        await self._writer.drain()

    async def receive(self) -> bytes:
        """Return the next bytes; empty when the workbench has answered everything."""
        return await self._reader.read(_CHUNK)

    async def finish(self) -> None:
        """Close the sending half; answers may still come."""
        if not self._writer.is_closing():
            self._writer.write_eof()

    async def close(self) -> None:
        """Close the connection."""
        self._writer.close()


async def dial(name: str, dirs: WorkspaceDirs) -> SocketLink | None:
    """Connect to the socket of this name of a workspace's running workbench; None where there is none."""
    for directory in (dirs.runtime, dirs.state):
        with contextlib.suppress(OSError):
            return SocketLink(*await asyncio.open_unix_connection(os.path.join(directory, name)))
    return None


@contextlib.asynccontextmanager
async def listening(name: str, serve: Serve, runtime: str, state: str = "") -> AsyncIterator[None]:
    """Serve a socket of this name in the runtime directory, which is the user's own.

    That one may be swept away, so there is another in the state directory, where its path is not too long for one.
    """
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(_listening_at(os.path.join(runtime, name), serve))
        if state and state != runtime:
            with contextlib.suppress(OSError):
                await stack.enter_async_context(_listening_at(os.path.join(state, name), serve))
        yield


@contextlib.asynccontextmanager
async def _listening_at(path: str, serve: Serve) -> AsyncIterator[None]:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    server = await asyncio.start_unix_server(serve, path, limit=1 << 20)
    os.chmod(path, 0o600)
    try:
        yield
    finally:
        server.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


@contextlib.asynccontextmanager
async def linked(tasks: Tasks, serve: Serve) -> AsyncIterator[SocketLink]:
    """Serve one connection in this process, for the length of the block; the link is its other end."""
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_unix_connection(sock=ours)
    link = SocketLink(*await asyncio.open_unix_connection(sock=theirs))
    serving = tasks.start(_served(serve, reader, writer), "an editor")
    try:
        yield link
    finally:
        await link.close()
        await asyncio.wait([serving])


async def _served(serve: Serve, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await serve(reader, writer)


async def serve_pipes(tasks: Tasks, serve: Serve) -> None:
    """Serve one program on standard input and output until it closes them.

    Everything else that this process prints goes to standard error meanwhile: a stray word would break the protocol.
    """
    sys.stdout.flush()
    async with linked(tasks, serve) as link:
        with claimed_streams() as (stdin, stdout):
            await relay(link, stdin, stdout, LARGEST_LINE)
