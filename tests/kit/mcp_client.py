"""The official MCP client in all ways to a workbench, a person at it, and a command that waits."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, Literal, cast

import httpx2
import msgspec
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, ElicitResult, Implementation, RequestParamsMeta
from msgspec import Struct
from tests.kit.workbench import environment

from fourhands.agents.briefing.hub import Hub
from fourhands.app import App
from fourhands.core.call import Call
from fourhands.core.registry import Contribution
from fourhands.host.paths import WorkspaceDirs
from fourhands.surfaces.mcp.limits import McpLimits
from fourhands.surfaces.mcp.server import McpServer
from fourhands.surfaces.mcp.terms import Terms
from fourhands.surfaces.server import Running
from fourhands.workbench.workbench import Workbench

Mode = Literal["legacy", "auto"]
MODES: tuple[Mode, ...] = ("legacy", "auto")
both = pytest.mark.parametrize("mode", MODES)
WITH_FIELDS = cast("RequestParamsMeta", {"fourhands/fields": True})
"""What a program sends with the call of a core tool whose fields it wants."""
INFO = Implementation(name="probe", version="1")
QUICK = McpLimits(watch_interval_s=0.01)
"""Limits of a server whose watched resources are told of at once."""

probes = Contribution("openspace.probe")


class Hold(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of the probe's command."""

    name: str = "x"


holds: dict[str, asyncio.Event] = {}
ended: dict[str, str] = {}


@probes.add("hold", read_only=True)
async def hold(bench: Workbench, args: Hold, call: Call) -> None:
    """Hold on until let go."""
    ended[args.name] = "running"
    try:
        await holds.setdefault(args.name, asyncio.Event()).wait()
        ended[args.name] = "done"
    except asyncio.CancelledError:
        ended[args.name] = "cancelled"
        raise


@contextlib.asynccontextmanager
async def connected(
    app: App,
    mode: Mode = "legacy",
    *,
    name: str = "probe",
    consent: bool = True,
    limits: McpLimits = QUICK,
    tools: Sequence[str] = (),
    **options: Any,
) -> AsyncIterator[Client]:
    """A client on a connection of its own, with the person's consent unless told otherwise."""
    hub = Hub(app.bench, app.registry)
    mcp = McpServer(app.bench, hub, app.tasks, pipe=True, limits=limits, terms=Terms(tools=tuple(tools)))
    try:
        info = Implementation(name=name, version="1")
        async with Client(mcp.server, mode=mode, client_info=info, cache=None, **options) as client:
            await client.list_tools()
            if consent:
                app.gate.consent.grant(next(iter(mcp.peers)).session.id)
            yield client
    finally:
        await mcp.close()
        await hub.close()


def data(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, result.content
    assert result.structured_content is not None
    if (said := text(result)).startswith("{"):  # no words of the tool's own: the same once more
        assert msgspec.json.decode(said) == result.structured_content
    return dict(result.structured_content)


def text(result: CallToolResult) -> str:
    return "".join(part.text for part in result.content if part.type == "text")


class Form:
    """A person at the client: answers each form in turn, or holds it until it is withdrawn."""

    def __init__(self, *answers: ElicitResult) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.shown = asyncio.Event()
        self.withdrawn = asyncio.Event()

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        self.asked.append(params.message)
        self.shown.set()
        if self.answers:
            return self.answers.pop(0)
        try:
            await asyncio.Event().wait()
        finally:
            self.withdrawn.set()
        raise AssertionError


def chosen(decision: str, reason: str = "") -> ElicitResult:
    return ElicitResult(action="accept", content={"decision": decision, "reason": reason})


async def until(condition: Callable[[], bool], app: App) -> None:
    """Wait for something that some event brings."""
    async with asyncio.timeout(40):
        with app.events.subscribe() as events:
            while not condition():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.05):
                        await anext(events)


@contextlib.asynccontextmanager
async def over_http(running: Running, token: str, mode: Mode, **options: Any) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=40, trust_env=False) as http:
        transport = streamable_http_client(f"{running.address.url}/mcp", http_client=http)
        info = options.pop("client_info", INFO)
        async with Client(transport, mode=mode, client_info=info, cache=None, **options) as client:
            yield client


def person_token(running: Running) -> str:
    return running.tokens.file.read_text().strip()


PROGRAM = """
import sys
from fourhands.surfaces.mcp.command import mcp_command

async def start(directory, options):
    from fourhands.app.headless import start_headless
    await start_headless(directory, options)

mcp_command(start)(sys.argv[1:])
"""


@contextlib.asynccontextmanager
async def over_pipes(places: WorkspaceDirs, mode: Mode, **options: Any) -> AsyncIterator[Client]:
    root = Path(places.workspace).parent
    env = {**environment(places), "XDG_RUNTIME_DIR": f"{root}/xr", "XDG_STATE_HOME": f"{root}/xs"}
    command = StdioServerParameters(command=sys.executable, args=["-c", PROGRAM, places.workspace], env=env)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mcp.client.session.DISCOVER_TIMEOUT_SECONDS", 100.0)  # a busy machine starts programs slowly
        async with Client(command, mode=mode, cache=None, **options) as client:
            yield client
