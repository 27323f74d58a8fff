"""`fourhands acp`: ACP's terminals and files on standard input and output, for editors and other programs.

A program starts us, opens a session in a directory of the workspace, and runs commands in terminals that the person
sees. Each session is an agent's: the gate judges what it runs. Questions go to every person who attends; the program on
the other side is asked too, by session/request_permission, so that it also works where no page is open.
"""

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import AsyncIterator
from typing import Any

import click
from msgspec import Struct

import fourhands
from fourhands.agents.acp.errors import UnknownSession, decode_params, rpc_error
from fourhands.agents.acp.files import AcpFiles
from fourhands.agents.acp.jsonrpc import INVALID_PARAMS, LARGEST_LINE, RpcConnection, RpcError
from fourhands.agents.acp.terminals import AcpContext, AcpTerminals
from fourhands.core.call import Actor
from fourhands.core.consent import SPEAKS, Arrival
from fourhands.core.errors import FourhandsError
from fourhands.core.event import Dispose, Event
from fourhands.core.question import Answer, Choice, Question, QuestionClosed
from fourhands.core.tasks import Tasks
from fourhands.host.paths import WorkspaceDirs
from fourhands.surfaces.console import INTERRUPTED, DirectoryType, told
from fourhands.surfaces.stdio import Start, claimed_streams, join_or_start, relay
from fourhands.workbench.terminals.launch import resolve_cwd
from fourhands.workbench.workbench import Workbench

PROTOCOL_VERSION = 1
SOCKET = "acp.sock"
"""The name of the socket by which a running workbench is joined, in its runtime and state directories."""

SERVED: dict[str, object] = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
"""The served capabilities, in the words by which clients announce them."""

FINISH_S = 1.0
"""The time in which requests may still be answered after the other side has closed its end."""

_CHUNK = 1 << 16
_NAME = 60
_OPTIONS: dict[Choice, tuple[str, str]] = {
    "once": ("Allow", "allow_once"),
    "session": ("Allow for this session", "allow_always"),
    "always": ("Always allow", "allow_always"),
    "never": ("Never allow", "reject_always"),
    "deny": ("Refuse", "reject_once"),
}


class NewSession(Struct, frozen=True):
    """Params of session/new; other members that an editor sends, such as MCP servers, are not used."""

    cwd: str


class OneSession(Struct, frozen=True, rename="camel"):
    """Params of session/close."""

    session_id: str


class EditorConnection:
    """One connection: its sessions, their terminals and files."""

    def __init__(
        self, bench: Workbench, tasks: Tasks, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._bench = bench
        self._tasks = tasks
        self._client = "editor"
        self._places: dict[str, AcpContext] = {}
        self._leave: dict[str, Dispose] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._terminals = AcpTerminals(bench, self._place)
        self._peer = RpcConnection(
            reader,
            writer,
            tasks,
            methods={
                "initialize": self._initialize,
                "session/new": self._new,
                "session/close": self._close,
                **self._terminals.methods,
                **AcpFiles(bench, self._place).methods,
            },
            translate=rpc_error,
            name="acp",
            answer_noise=True,
            finish_s=FINISH_S,
        )

    async def run(self) -> None:
        """Serve until the other side closes; then end its sessions and what runs in them."""
        forget = self._bench.events.published.subscribe(self._happened)
        try:
            await self._peer.run()
        finally:
            forget()
            for id in [] if self._bench.leaving else list(self._places):
                await self._end(id)
            self._terminals.close()

    # -- sessions --------------------------------------------------------------------------------------------------

    async def _initialize(self, params: dict[str, Any]) -> dict[str, object]:
        version = params.get("protocolVersion")
        if isinstance(version, bool) or not isinstance(version, int):
            raise RpcError(INVALID_PARAMS, f"protocolVersion must be a whole number, not {version!r:.100}")
        about = params.get("clientInfo")
        if isinstance(about, dict) and isinstance(about.get("name"), str):
            self._client = "".join(filter(str.isprintable, about["name"]))[:_NAME] or self._client
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "agentCapabilities": {"sessionCapabilities": {"close": {}}},
            "authMethods": [],
            "agentInfo": {"name": "fourhands", "title": "Fourhands", "version": fourhands.__version__},
            # The schema has no word for one who serves what clients serve. The protocol's page on terminals lets an
            # agent look for it in the answer, under this name; the schema's own place for what is ours is `_meta`.
            "clientCapabilities": SERVED,
            "_meta": {"fourhands": SERVED},
        }

    async def _new(self, params: dict[str, Any]) -> dict[str, object]:
        wanted = decode_params(params, NewSession)
        allowed = self._bench.settings.terminal.allowed_root
        cwd = resolve_cwd(wanted.cwd, self._bench.root, allowed, absolute=True)
        session = self._bench.begin_session(self._client, "acp", cwd=cwd)
        session.arrival = Arrival(words=f"An editor came by ACP and calls itself {self._client}. {SPEAKS}")
        self._places[session.id] = AcpContext(session)
        self._leave[session.id] = self._bench.questions.attend(session.id)
        return {"sessionId": session.id}

    async def _close(self, params: dict[str, Any]) -> dict[str, object]:
        id = decode_params(params, OneSession).session_id
        self._place(id)
        await self._end(id)
        return {}

    async def _end(self, id: str) -> None:
        self._places.pop(id)
        self._leave.pop(id, lambda: None)()
        await self._terminals.sweep(id)
        with contextlib.suppress(FourhandsError):  # the person may have ended it already
            await self._bench.end_session(id)

    def _place(self, id: str) -> AcpContext:
        place = self._places.get(id)
        if place is None or place.session.ended:
            raise UnknownSession.of("session", id[:200], self._places)
        return place

    # -- questions -------------------------------------------------------------------------------------------------

    def _happened(self, event: Event) -> None:
        data = event.payload
        if isinstance(data, Question) and data.session in self._leave:
            question = next((one for one in self._bench.questions.open() if one.id == data.id), None)
            if question is not None:
                self._asking[data.id] = self._tasks.start(self._ask(question), "a question to an editor")
        elif isinstance(data, Question | QuestionClosed):
            asking = self._asking.pop(data.id, None)
            if asking is not None:
                asking.cancel()  # Answered elsewhere: the editor is told to withdraw it.

    async def _ask(self, question: Question) -> None:
        options = [
            {"optionId": choice, "name": _OPTIONS[choice][0], "kind": _OPTIONS[choice][1]}
            for choice in question.options
            if choice in _OPTIONS
        ]
        step: dict[str, object] = {
            "toolCallId": question.id,
            "title": question.text,
            "kind": "execute",
            "status": "pending",
        }
        if question.shown:
            step["rawInput"] = {"command": question.shown}
        if question.facts:
            step["content"] = [{"type": "content", "content": {"type": "text", "text": "\n".join(question.facts)}}]
        params = {"sessionId": question.session, "toolCall": step, "options": options}
        try:
            answer = await self._peer.request("session/request_permission", params)
        except FourhandsError:
            self._deaf(question)
            return
        outcome = answer.get("outcome") if isinstance(answer, dict) else None
        chosen = outcome.get("optionId") if isinstance(outcome, dict) else None
        choice = next((choice for choice in question.options if choice == chosen), None)
        self._asking.pop(question.id, None)
        with contextlib.suppress(FourhandsError):
            if choice is None:
                self._bench.questions.withdraw(question.id, f"{self._client} gave no answer")
            else:
                self._bench.questions.answer(question.id, Answer(choice=choice), Actor.person("acp", self._client))

    def _deaf(self, question: Question) -> None:
        """Stop counting the other side as an audience: it cannot be asked. Its question stays open for others only."""
        self._asking.pop(question.id, None)
        self._leave.pop(question.session, lambda: None)()
        if not self._bench.questions.audience(question.session):
            with contextlib.suppress(FourhandsError):
                self._bench.questions.withdraw(question.id, "no one is available to approve this")


async def serve_stdio(bench: Workbench, tasks: Tasks) -> None:
    """Serve one program on standard input and output until it closes them.

    Everything else that this process prints goes to standard error meanwhile: a stray word would break the protocol.
    """
    sys.stdout.flush()
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_unix_connection(sock=ours)
    link = SocketLink(*await asyncio.open_unix_connection(sock=theirs))
    serving = tasks.start(EditorConnection(bench, tasks, reader, writer).run(), "an editor")
    with claimed_streams() as (stdin, stdout):
        await relay(link, stdin, stdout, LARGEST_LINE)
    await serving


@contextlib.asynccontextmanager
async def joinable(bench: Workbench, tasks: Tasks, runtime: str, state: str = "") -> AsyncIterator[None]:
    """Let `fourhands acp` join this workbench, by a socket in its runtime directory, which is the user's own.

    That one may be swept away, so there is another in the state directory, where its path is not too long for one.
    """
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(_joinable_at(bench, tasks, os.path.join(runtime, SOCKET)))
        if state and state != runtime:
            with contextlib.suppress(OSError):
                await stack.enter_async_context(_joinable_at(bench, tasks, os.path.join(state, SOCKET)))
        yield


@contextlib.asynccontextmanager
async def _joinable_at(bench: Workbench, tasks: Tasks, path: str) -> AsyncIterator[None]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await tasks.start(EditorConnection(bench, tasks, reader, writer).run(), "an editor")

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


class SocketLink:
    """A `Link` over the Unix socket of `joinable`."""

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


async def connect(dirs: WorkspaceDirs) -> SocketLink | None:
    """Connect to the workspace's running workbench; None where there is none."""
    for directory in (dirs.runtime, dirs.state):
        with contextlib.suppress(OSError):
            return SocketLink(*await asyncio.open_unix_connection(os.path.join(directory, SOCKET)))
    return None


def acp_command(start: Start) -> click.Command:
    """Return the command `fourhands acp`; `start` runs a workbench and serves it with `serve_stdio`."""

    @click.command("acp")
    @click.argument("directory", default=".", type=DirectoryType())
    @told
    def acp(directory: str) -> None:
        """Offer the terminals and files of DIRECTORY to an editor by ACP, on standard input and output.

        Joins a workbench that is running there, or starts one without a page.
        """

        try:
            asyncio.run(join_or_start(directory, connect, start, line_limit=LARGEST_LINE))
        except asyncio.CancelledError:  # SIGTERM
            sys.exit(INTERRUPTED)

    return acp
