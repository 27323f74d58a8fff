"""`fourhands mcp`: MCP on standard input and output, for programs that start their servers themselves.

Joins the workbench that runs for the directory, by a socket that carries MCP's messages as they are, or else starts one
without a page. The person's token opens that socket; the agent at the other end of the pipes never sees it.
"""

import asyncio
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import click

from fourhands.core.errors import FourhandsError, Unavailable

LINE_LIMIT = 1024 * 1024
"""Bytes of a message that the workbench takes."""

PATIENCE_S = 10.0
"""How long a workbench that is just starting may take."""

StartHeadless = Callable[[str], Awaitable[None]]
"""Serves a directory's workbench and MCP on standard input and output, until that is closed."""


def mcp_command(start_headless: StartHeadless) -> click.Command:
    """The command, around what starts a workbench."""

    @click.command("mcp")
    @click.argument("directory", default=".", type=click.Path(exists=True, file_okay=False))
    def mcp(directory: str) -> None:
        """Offer the workbench of DIRECTORY to an MCP client, on standard input and output.

        Joins a workbench that is running there, or starts one without a page.
        """
        try:
            asyncio.run(_serve(directory, start_headless))
        except FourhandsError as error:
            click.echo(f"fourhands: {error}", err=True)
            sys.exit(3 if isinstance(error, Unavailable) else 1)
        except KeyboardInterrupt:
            sys.exit(130)

    return mcp


async def _serve(directory: str, start_headless: StartHeadless) -> None:
    from fourhands.host.places import Places
    from fourhands.surfaces.address import find_server, held
    from fourhands.surfaces.mcp.sdk import require_sdk

    runtime = Places.of(directory).runtime
    deadline = time.monotonic() + PATIENCE_S
    while True:
        if (address := find_server(runtime)) is not None:
            token = (Path(runtime) / "token").read_text().strip()
            await bridge(f"{address.url.replace('http', 'ws', 1)}/mcp/socket", token)
            return
        if not held(runtime):
            require_sdk()
            try:
                await start_headless(directory)
                return
            except Unavailable:
                if not held(runtime):
                    raise  # not because somebody else was faster
        if time.monotonic() > deadline:
            raise Unavailable("a workbench holds this directory and says no address", hint="try: fourhands stop")
        await asyncio.sleep(0.1)


async def bridge(url: str, token: str, stdin: int = 0, stdout: int = 1) -> None:
    """Pass messages on between two descriptors and a workbench, until one side is closed."""
    from websockets.asyncio.client import connect
    from websockets.exceptions import ConnectionClosed, WebSocketException

    lines: asyncio.Queue[bytes] = asyncio.Queue(16)
    _read_lines(stdin, lines)
    try:
        async with connect(
            url, additional_headers={"Authorization": f"Bearer {token}"}, max_size=None, compression=None, proxy=None
        ) as socket:

            async def outward() -> None:
                while line := await lines.get():
                    if len(line) > LINE_LIMIT:
                        await asyncio.to_thread(_write, stdout, _too_long(line))
                    elif line.strip():
                        await socket.send(line.decode("utf-8", "replace"))
                await socket.close()

            async def inward() -> None:
                async for message in socket:
                    text = message if isinstance(message, bytes) else message.encode()
                    await asyncio.to_thread(_write, stdout, text + b"\n")

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


def _read_lines(descriptor: int, lines: "asyncio.Queue[bytes]") -> None:
    """Read in a thread that nobody waits for: a read of a pipe cannot be given up. An empty line is the end."""
    loop = asyncio.get_running_loop()

    def put(line: bytes) -> bool:
        try:
            asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()
        except (RuntimeError, asyncio.CancelledError):
            return False  # the loop has ended
        return True

    def read() -> None:
        parts: list[bytes] = []  # of a line that has no end yet; joined once, however long it is
        while data := os.read(descriptor, 65536):
            *ends, rest = data.split(b"\n")
            for end in ends:
                if not put(b"".join([*parts, end, b"\n"])):
                    return
                parts.clear()
            parts.append(rest)
        if any(parts):
            put(b"".join(parts))
        put(b"")

    threading.Thread(target=read, name="standard input", daemon=True).start()


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _too_long(line: bytes) -> bytes:
    import msgspec

    try:
        id = msgspec.json.decode(line, type=dict[str, object]).get("id")
    except msgspec.DecodeError:
        id = None
    error = {"code": -32600, "message": f"a message of {len(line)} bytes; at most {LINE_LIMIT} are taken"}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, "error": error}) + b"\n"
