"""The server below all doors."""

import asyncio
import contextlib
import socket

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
