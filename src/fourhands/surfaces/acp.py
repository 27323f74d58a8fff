"""`fourhands acp`: ACP's terminals and files on standard input and output, for editors and other programs.

A program starts us, opens a session in a directory of the workspace, and runs commands in terminals that the person
sees. Each session is an agent's: the gate judges what it runs. Questions go to every person who attends; the program on
the other side is asked too, by session/request_permission, so that it also works where no page is open.
"""

import asyncio
import contextlib
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
from fourhands.core.consent import SPEAKS, Arrival
from fourhands.core.errors import FourhandsError
from fourhands.core.tasks import Tasks
from fourhands.host.paths import WorkspaceDirs
from fourhands.surfaces.acp_questions import EditorQuestions
from fourhands.surfaces.acp_socket import SocketLink, dial, listening, serve_pipes
from fourhands.surfaces.console import INTERRUPTED, DirectoryType, told
from fourhands.surfaces.stdio import Start, join_or_start
from fourhands.workbench.terminals.launch import resolve_cwd
from fourhands.workbench.workbench import Workbench

PROTOCOL_VERSION = 1
SOCKET = "acp.sock"
"""The name of the socket by which a running workbench is joined, in its runtime and state directories."""

SERVED: dict[str, object] = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
"""The served capabilities, in the words by which clients announce them."""

FINISH_S = 1.0
"""The time in which requests may still be answered after the other side has closed its end."""

_NAME = 60


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
        self._questions = EditorQuestions(bench, tasks, self._peer)

    async def run(self) -> None:
        """Serve until the other side closes; then end its sessions and what runs in them."""
        try:
            await self._peer.run()
        finally:
            self._questions.close()
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
            self._questions.client = self._client
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
        self._questions.attend(session.id)
        return {"sessionId": session.id}

    async def _close(self, params: dict[str, Any]) -> dict[str, object]:
        id = decode_params(params, OneSession).session_id
        self._place(id)
        await self._end(id)
        return {}

    async def _end(self, id: str) -> None:
        self._places.pop(id)
        self._questions.leave(id)
        await self._terminals.sweep(id)
        with contextlib.suppress(FourhandsError):  # the person may have ended it already
            await self._bench.end_session(id)

    def _place(self, id: str) -> AcpContext:
        place = self._places.get(id)
        if place is None or place.session.ended:
            raise UnknownSession.of("session", id[:200], self._places)
        return place


async def serve_stdio(bench: Workbench, tasks: Tasks) -> None:
    """Serve one program on standard input and output until it closes them."""
    await serve_pipes(tasks, lambda reader, writer: EditorConnection(bench, tasks, reader, writer).run())


@contextlib.asynccontextmanager
async def joinable(bench: Workbench, tasks: Tasks, runtime: str, state: str = "") -> AsyncIterator[None]:
    """Let `fourhands acp` join this workbench, by a socket in its runtime directory, which is the user's own."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await tasks.start(EditorConnection(bench, tasks, reader, writer).run(), "an editor")

    async with listening(SOCKET, serve, runtime, state):
        yield


async def connect(dirs: WorkspaceDirs) -> SocketLink | None:
    """Connect to the workspace's running workbench; None where there is none."""
    return await dial(SOCKET, dirs)


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
