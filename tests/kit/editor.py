"""An editor that talks to an agent of ours: the client of the official ACP SDK, and what it was told."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import acp
from acp import schema
from acp.client.connection import ClientSideConnection

from fourhands.surfaces.acp_agent.connection import AgentConnection, AgentSource

LIMIT_S = 40
Choose = Callable[[list[schema.PermissionOption]], str]
Response = schema.AcceptElicitationResponse | schema.DeclineElicitationResponse | schema.CancelElicitationResponse


def first(options: list[schema.PermissionOption]) -> str:
    return options[0].option_id


class Editor:
    """The client side: updates in their order, the answers to questions, and the buffers that are open."""

    def __init__(self, choose: Choose = first) -> None:
        self.choose = choose
        self.updates: list[Any] = []
        self.asked: list[schema.ToolCallUpdate] = []
        self.buffers: dict[str, str] = {}
        self.hold = False  # questions stay unanswered
        self.elicited: list[tuple[str, Any]] = []  # messages, and what was to be filled in or opened
        self.completed: list[str] = []
        self.filled: Response = schema.CancelElicitationResponse(action="cancel")
        self._news = asyncio.Event()
        self.connection: ClientSideConnection

    # -- what the agent side calls --

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append(update)
        self._news.set()

    async def request_permission(
        self, session_id: str, tool_call: schema.ToolCallUpdate, options: list[schema.PermissionOption], **_: Any
    ) -> schema.RequestPermissionResponse:
        self.asked.append(tool_call)
        self._news.set()
        if self.hold:
            await asyncio.Event().wait()
        outcome = schema.AllowedOutcome(outcome="selected", option_id=self.choose(options))
        return schema.RequestPermissionResponse(outcome=outcome)

    async def read_text_file(self, session_id: str, path: str, **_: Any) -> schema.ReadTextFileResponse:
        if path not in self.buffers:
            raise acp.RequestError(-32002, f"no buffer {path}")
        return schema.ReadTextFileResponse(content=self.buffers[path])

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Response:
        self.elicited.append((message, mode))
        self._news.set()
        if self.hold:
            await asyncio.Event().wait()
        return self.filled

    async def complete_elicitation(self, elicitation_id: str, **_: Any) -> None:
        self.completed.append(elicitation_id)
        self._news.set()

    def on_connect(self, conn: Any) -> None:
        pass

    # -- what a test asks --

    async def until(self, condition: Callable[["Editor"], Any]) -> Any:
        async with asyncio.timeout(LIMIT_S):
            while not (found := condition(self)):
                self._news.clear()
                await self._news.wait()
        return found

    def of(self, kind: str) -> list[Any]:
        return [one for one in self.updates if one.session_update == kind]

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(one.content.text for one in self.of(kind))

    async def begin(self, *, reads: bool = True, elicits: bool = False) -> schema.InitializeResponse:
        can = schema.ClientCapabilities(fs=schema.FileSystemCapabilities(read_text_file=reads))
        if elicits:
            form, url = schema.ElicitationFormCapabilities(), schema.ElicitationUrlCapabilities()
            can.elicitation = schema.ElicitationCapabilities(form=form, url=url)
        about = schema.Implementation(name="zed", title="Zed", version="1")
        async with asyncio.timeout(LIMIT_S):
            return await self.connection.initialize(1, client_capabilities=can, client_info=about)

    async def new(self, cwd: str) -> str:
        async with asyncio.timeout(LIMIT_S):
            return (await self.connection.new_session(cwd=cwd, mcp_servers=[])).session_id

    async def prompt(self, session: str, *blocks: Any) -> str:
        content: Sequence[Any] = [acp.text_block(one) if isinstance(one, str) else one for one in blocks]
        async with asyncio.timeout(LIMIT_S):
            return (await self.connection.prompt(session_id=session, prompt=list(content))).stop_reason

    async def raw(self, method: str, params: dict[str, Any]) -> Any:
        """Ask what the SDK's own methods would not send."""
        async with asyncio.timeout(LIMIT_S):
            return await self.connection._conn.send_request(method, params)  # noqa: SLF001 - it has no public form


@contextlib.asynccontextmanager
async def open_editor(source: AgentSource, spec: str, choose: Choose = first) -> AsyncIterator[Editor]:
    """An editor that is connected to the agent `spec` of a workbench in this process."""
    ours, theirs = socket.socketpair()
    serving = source.tasks.start(
        AgentConnection(source, spec, *await asyncio.open_connection(sock=ours)).run(), "an editor"
    )
    reader, writer = await asyncio.open_connection(sock=theirs)
    editor = Editor(choose)
    editor.connection = acp.connect_to_agent(editor, writer, reader, use_unstable_protocol=True)  # type: ignore[arg-type]
    try:
        yield editor
    finally:
        await editor.connection.close()
        writer.close()
        async with asyncio.timeout(LIMIT_S):
            await asyncio.wait([serving])
