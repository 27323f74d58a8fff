"""MCP over a pair of pipes, or over a socket that stands for one: a connection is an agent's session.

A client is greeted here (see `greeting`) while the SDK is being loaded; from then on `conversation` serves it.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.websockets import WebSocket, WebSocketDisconnect

from fourhands.agents.briefing.hub import Hub
from fourhands.core.collecting import uncollected
from fourhands.core.tasks import Tasks
from fourhands.surfaces.auth import Credential
from fourhands.surfaces.mcp.forms import Forms
from fourhands.surfaces.mcp.greeting import greet
from fourhands.surfaces.mcp.kept_tasks import KeptTasks
from fourhands.surfaces.mcp.limits import DEFAULT, McpLimits
from fourhands.surfaces.mcp.terms import Terms
from fourhands.surfaces.stdio import OverlongLine, PipeOutput, claimed_streams, read_lines
from fourhands.workbench.workbench import Workbench

if TYPE_CHECKING:
    from fourhands.surfaces.mcp.conversation import Conversation

Receive = Callable[[], Awaitable[str | bytes]]
"""Returns a client's next message; raises `Gone`."""

Send = Callable[[str], Awaitable[None]]
"""Sends a message to a client; raises `Gone`."""

Loaded = Awaitable["type[Conversation]"]


class Gone(Exception):
    """The other side has closed."""


def load() -> "type[Conversation]":
    """Import the SDK and what uses it; for a thread, since it takes long."""
    with uncollected():
        from fourhands.surfaces.mcp.conversation import Conversation
    return Conversation


async def serve_stdio(bench: Workbench, hub: Hub, tasks: Tasks, loaded: Loaded, terms: Terms) -> None:
    """Serve the program that started this one, on these terms, until it closes standard input."""
    with claimed_streams() as (stdin, stdout):
        lines, output = read_lines(stdin), PipeOutput(stdout)

        async def receive() -> bytes:
            while line := await lines.get():
                if isinstance(line, OverlongLine):
                    await write(line.answer())
                elif line.strip():
                    return line
            raise Gone

        async def send(text: str) -> None:
            await write(text.encode() + b"\n")

        async def write(data: bytes) -> None:
            try:
                await output.write(data)
            except OSError as error:
                raise Gone from error

        await _serve(receive, send, lambda kind: kind(bench, hub, tasks, terms=terms), loaded)


async def serve_socket(
    bench: Workbench,
    hub: Hub,
    tasks: Tasks,
    loaded: Loaded,
    socket: WebSocket,
    forms: Forms,
    limits: McpLimits = DEFAULT,
    terms: Terms | None = None,
    kept: KeptTasks | None = None,
) -> None:
    """Serve a socket that has been accepted, on these terms: each message of it is one of MCP's."""
    principal: Credential = socket.state.principal

    async def receive() -> str:
        try:
            return await socket.receive_text()
        except WebSocketDisconnect as error:
            raise Gone from error

    async def send(text: str) -> None:
        try:
            await socket.send_text(text)
        except (WebSocketDisconnect, RuntimeError) as error:  # Starlette's word for a closed socket
            raise Gone from error

    def begin(kind: "type[Conversation]") -> "Conversation":
        return kind(bench, hub, tasks, principal=principal, forms=forms, limits=limits, terms=terms, kept=kept)

    await _serve(receive, send, begin, loaded)


async def _serve(
    receive: Receive, send: Send, begin: "Callable[[type[Conversation]], Conversation]", loaded: Loaded
) -> None:
    """Greet a client, and serve it until it has gone."""
    try:
        first = await receive()
        if (greeting := greet(first)) is not None:
            await send(greeting.answer)
    except Gone:
        return
    await begin(await loaded).run(receive, send, first, greeting)
