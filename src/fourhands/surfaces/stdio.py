"""Standard input and output on one side, a running workbench's socket on the other: MCP's messages pass as they are."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from fourhands.core.errors import Unavailable
from fourhands.host.paths import WorkspaceDirs
from fourhands.surfaces.discovery import find_server, held
from fourhands.surfaces.mcp.lines import LineSource, OverlongLine, read_lines, refusal, write_all
from fourhands.surfaces.mcp.sdk import require_sdk

PATIENCE_S = 10.0
"""How long a workbench that is just starting may take."""

OPEN_S = 60.0
"""How long a workbench that is busy may take to let this in."""

TOKEN_VARIABLE = "FOURHANDS_TOKEN"
"""Who this is: the token of an agent's session, given to it with this command; without it, a new agent."""


async def join_or_start(directory: str, start_headless: Callable[[str], Awaitable[None]]) -> None:
    """Serve MCP for a directory: by its running workbench, or by one that is started for this."""
    state = WorkspaceDirs.of(directory).state
    own = os.environ.get(TOKEN_VARIABLE)
    deadline = time.monotonic() + PATIENCE_S
    while True:
        if (address := find_server(state)) is not None:
            token = own or (Path(state) / "token").read_text().strip()
            await bridge(f"{address.url.replace('http', 'ws', 1)}/mcp/socket", token)
            return
        if not held(state):
            if own:
                raise Unavailable("the workbench that this agent belongs to has ended", hint="start it, and the agent")
            require_sdk()
            try:
                await start_headless(directory)
                return
            except Unavailable:
                if not held(state):
                    raise  # not because somebody else was faster
        if time.monotonic() > deadline:
            raise Unavailable("a workbench holds this directory and says no address", hint="try: fourhands stop")
        await asyncio.sleep(0.1)  # another process is starting it; only its file will tell


async def bridge(url: str, token: str, stdin: int = 0, stdout: int = 1) -> None:
    """Pass messages on between two descriptors and a workbench, until one side is closed."""
    lines: LineSource = asyncio.Queue(16)
    read_lines(stdin, lines)
    writing = asyncio.Lock()  # the workbench's answers and refusals of ours come from two tasks

    async def write(data: bytes) -> None:
        async with writing:
            await asyncio.to_thread(write_all, stdout, data)

    try:
        async with connect(
            url,
            additional_headers={"Authorization": f"Bearer {token}"},
            max_size=None,
            compression=None,
            proxy=None,
            open_timeout=OPEN_S,
            ping_interval=None,  # who has gone closes its end; who is busy must not be cut off
        ) as socket:

            async def outward() -> None:
                while line := await lines.get():
                    if isinstance(line, OverlongLine):
                        await write(line.answer())
                    elif line.strip():
                        try:
                            await socket.send(line.decode())
                        except UnicodeDecodeError as error:
                            await write(refusal(None, -32700, f"the message is not UTF-8: {error.reason}"))
                await socket.close()

            async def inward() -> None:
                async for message in socket:
                    text = message if isinstance(message, bytes) else message.encode()
                    await write(text + b"\n")

            try:
                async with asyncio.TaskGroup() as group:
                    sending = group.create_task(outward())
                    await inward()
                    sending.cancel()
            except* (ConnectionClosed, BrokenPipeError):
                pass
            if socket.close_code not in (1000, 1001, 1005, None):
                raise Unavailable(f"the workbench closed the connection: {socket.close_reason or socket.close_code}")
    except (OSError, WebSocketException) as error:
        raise Unavailable(f"the workbench at {url} does not let this in: {error}") from error
