"""The way of an editor's command to the agent: a socket of the running workbench, or a workbench of its own.

The command is started once by the editor, for one agent. Its first line on the socket says which, in JSON; what follows
is ACP. Without a directory the workspace is that of the first session: until then only `initialize` is answered, which
needs no workbench.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import msgspec
from msgspec import Struct

from fourhands.agents.acp.jsonrpc import INVALID_PARAMS, LARGEST_LINE, PARSE_ERROR, RpcError
from fourhands.core.errors import Unavailable
from fourhands.host.paths import WorkspaceDirs
from fourhands.surfaces.acp_agent.connection import AgentConnection, AgentSource
from fourhands.surfaces.acp_agent.introduction import introduction
from fourhands.surfaces.acp_socket import SocketLink, dial, listening
from fourhands.surfaces.discovery import held
from fourhands.surfaces.stdio import (
    PATIENCE_S,
    LineSource,
    OverlongLine,
    PipeOutput,
    claimed_streams,
    read_lines,
    refusal,
    relay,
)

SOCKET = "edit.sock"
"""The name of the socket, in the runtime and state directories of a running workbench."""

_POLL_S = 0.1

StartAgent = Callable[[str, str], AbstractAsyncContextManager[SocketLink]]
"""Runs a workbench for a directory and connects to the agent of this spec in it."""


class Wanted(Struct, frozen=True):
    """The first line on the socket."""

    agent: str


@contextlib.asynccontextmanager
async def agent_joinable(source: AgentSource, runtime: str, state: str = "") -> AsyncIterator[None]:
    """Let `fourhands acp --agent` join this workbench."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            wanted = msgspec.json.decode(await reader.readline(), type=Wanted)
        except (msgspec.DecodeError, ValueError, OSError):
            writer.close()
            return
        await source.tasks.start(AgentConnection(source, wanted.agent, reader, writer).run(), "an editor")

    async with listening(SOCKET, serve, runtime, state):
        yield


async def connect(dirs: WorkspaceDirs, spec: str) -> SocketLink | None:
    """Connect to this agent of the workspace's running workbench; None where there is none."""
    link = await dial(SOCKET, dirs)
    if link is not None:
        await link.send(msgspec.json.encode(Wanted(agent=spec)) + b"\n")
    return link


async def serve_editor(directory: str | None, spec: str, start: StartAgent, *, patience_s: float = PATIENCE_S) -> None:
    """Serve the editor on standard input and output: by the directory's workbench, or by one started here."""
    with claimed_streams() as (stdin, stdout):
        lines, output = read_lines(stdin, LARGEST_LINE), PipeOutput(stdout)
        early: list[bytes] = []
        if directory is None:
            directory, early = await _first_directory(lines, output, spec)
        async with _link(directory, spec, start, patience_s) as link:
            for number, line in enumerate(early):
                await link.send(line)
                if number == 0 and len(early) > 1:  # `initialize`, which has its answer
                    await _passed_over(link)
            await relay(link, stdin, stdout, LARGEST_LINE, lines=lines)


async def _first_directory(lines: LineSource, output: PipeOutput, spec: str) -> tuple[str, list[bytes]]:
    """Return the directory of the editor's first session, and the lines that the workbench has to see."""
    beginning: list[bytes] = []
    while True:
        line = await lines.get()
        if isinstance(line, OverlongLine):
            await output.write(line.answer())
            continue
        if not line:
            return ".", beginning
        try:
            message = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            if line.strip():
                await output.write(refusal(None, PARSE_ERROR, "this is not JSON"))
            continue
        params = message.get("params") if isinstance(message, dict) else None
        if not isinstance(message, dict) or "id" not in message:
            continue
        if message.get("method") == "initialize" and isinstance(params, dict):
            answer: dict[str, object] = {"jsonrpc": "2.0", "id": message["id"]}
            try:
                answer["result"] = introduction(params, spec)
                beginning = [line]
            except RpcError as error:
                answer["error"] = error.to_wire()
            await output.write(msgspec.json.encode(answer) + b"\n")
            continue
        cwd = params.get("cwd") if isinstance(params, dict) else None
        if isinstance(cwd, str) and not os.path.isdir(cwd):
            await output.write(refusal(message["id"], INVALID_PARAMS, f"cwd {cwd!r:.200} is no directory"))
            continue
        return cwd if isinstance(cwd, str) and os.path.isabs(cwd) else ".", [*beginning, line]


async def _passed_over(link: SocketLink) -> None:
    """Read one line of the workbench's that the editor does not need: nothing else can come before it is asked."""
    data = b""
    while not data.endswith(b"\n") and (more := await link.receive()):
        data += more


@contextlib.asynccontextmanager
async def _link(directory: str, spec: str, start: StartAgent, patience_s: float) -> AsyncIterator[SocketLink]:
    dirs = WorkspaceDirs.of(directory)
    deadline = time.monotonic() + patience_s
    async with contextlib.AsyncExitStack() as stack:
        while True:
            link = await connect(dirs, spec)
            if link is None and not held(dirs.state):
                try:
                    link = await stack.enter_async_context(start(directory, spec))
                except Unavailable:
                    if not held(dirs.state):
                        raise  # Another process that was faster is not the reason.
            if link is not None:
                yield link
                return
            if time.monotonic() > deadline:
                raise Unavailable("a server holds this workspace but published no address", hint="try: fourhands stop")
            await asyncio.sleep(_POLL_S)  # Another process is starting it; only its files will show when it is ready.
