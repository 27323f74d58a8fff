"""The server below all doors."""

import asyncio
import contextlib
import socket
from typing import Any

from fourhands.core.tasks import Tasks
from fourhands.surfaces.transport import Frames, IdleServer, ServerTimeouts, TimedConfig


async def test_a_server_that_is_cancelled_leaves_no_listening_socket() -> None:
    """uvloop would wait for it when it closes, for good where warnings are errors."""

    async def nothing(scope: object, receive: object, send: object) -> None: ...

    listening = socket.create_server(("127.0.0.1", 0))
    address = listening.getsockname()
    server = IdleServer(TimedConfig(nothing, ServerTimeouts(), 1 << 20, Frames))
    async with Tasks() as tasks, asyncio.timeout(40):
        serving = tasks.start(server.serve(sockets=[listening]), "a server")
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0)
        serving.cancel()
        await asyncio.wait([serving])
        listening.close()
        with contextlib.suppress(ConnectionRefusedError):
            _, writer = await asyncio.open_connection(*address)
            writer.close()
            raise AssertionError("it still listens")


async def test_a_request_that_is_never_answered_does_not_outlive_the_server() -> None:
    """Its connection would stay on the loop, which uvloop cannot close then."""
    asked = asyncio.Event()

    async def waits(scope: object, receive: Any, send: object) -> None:
        asked.set()
        await asyncio.Event().wait()

    listening = socket.create_server(("127.0.0.1", 0))
    server = IdleServer(TimedConfig(waits, ServerTimeouts(grace_s=0), 1 << 20, Frames))
    async with Tasks() as tasks, asyncio.timeout(40):
        serving = tasks.start(server.serve(sockets=[listening]), "a server")
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0)
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await asked.wait()
        server.should_exit = True
        await asyncio.wait([serving])
        assert not server.server_state.connections
        with contextlib.suppress(ConnectionResetError):
            await reader.read()
        writer.close()
