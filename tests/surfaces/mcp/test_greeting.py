"""The answer to `initialize` that is given before the SDK is loaded: the SDK's own, or none."""

import asyncio
import copy
import itertools
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from tests.kit.fifo import let_through
from tests.kit.program import MAIN, Home, Server, new_home

from fourhands.agents.briefing.hub import Hub
from fourhands.app import App
from fourhands.surfaces.mcp.conversation import Conversation
from fourhands.surfaces.mcp.greeting import VERSIONS, Greeting, greet
from fourhands.surfaces.mcp.pipe import Gone

Message = dict[str, Any]

CLIENTS: dict[str, Message] = {
    "Claude Code": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"roots": {}, "elicitation": {"form": {}, "url": {}}},
        "clientInfo": {
            "name": "claude-code",
            "title": "Claude Code",
            "version": "2.1.0",
            "websiteUrl": "https://claude.com/claude-code",
            "description": "An agent.",
        },
    },
    "Codex": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "codex-mcp-client", "title": "Codex", "version": "0.63.0"},
    },
    "OpenCode": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "opencode", "version": "1"},
    },
    "Python": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"sampling": {}, "roots": {"listChanged": True}, "experimental": {"x": {"y": 1}}},
        "clientInfo": {"name": "mcp", "version": "0.1.0"},
    },
}


def initialize(params: object, id: object = 1) -> Message:
    return {"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params}


async def told(app: App, first: str, *more: str, greeting: Greeting | None = None) -> list[Message]:
    """Everything that a client hears of the SDK's server, to these messages."""
    hub, heard, left = Hub(app.bench, app.registry), [], list(more)

    async def receive() -> str:
        if left:
            return left.pop(0)
        raise Gone

    async def send(text: str) -> None:
        heard.append(json.loads(text))

    try:
        async with asyncio.timeout(20):
            await Conversation(app.bench, hub, app.tasks).run(receive, send, first, greeting)
    finally:
        await hub.close()
    return heard


@pytest.mark.parametrize("client", CLIENTS)
async def test_known_clients_are_greeted_with_the_answer_of_the_sdk_and_hear_it_once(app: App, client: str) -> None:
    asked = json.dumps(initialize(CLIENTS[client], id="first"))
    greeting = greet(asked.encode())
    assert greeting is not None
    assert await told(app, asked) == [json.loads(greeting.answer)]
    ping = json.dumps({"jsonrpc": "2.0", "id": "second", "method": "ping"})
    assert [one["id"] for one in await told(app, asked, ping, greeting=greeting)] == ["second"]


async def test_each_revision_with_a_handshake_is_greeted_and_no_other(app: App) -> None:
    assert VERSIONS == HANDSHAKE_PROTOCOL_VERSIONS
    for version in (*VERSIONS, "2026-07-28", "2024-10-07", ""):
        asked = json.dumps(initialize({**CLIENTS["Python"], "protocolVersion": version}))
        greeting = greet(asked)
        assert (greeting is not None) == (version in VERSIONS)
        assert greeting is None or await told(app, asked) == [json.loads(greeting.answer)]


VALUES: tuple[Any, ...] = (
    "",
    "x",
    "\u2028\x00",
    0,
    1.5,
    10**30,
    True,
    None,
    [],
    {},
    {"a": {}},
    {"form": 5},
    {"listChanged": 1},
)
PLACES = [
    *("id", "jsonrpc", "method", "other", "params", "params.protocolVersion", "params._meta", "params.other"),
    *("params.capabilities", "params.clientInfo"),
    *(f"params.clientInfo.{name}" for name in ("name", "version", "title", "description", "websiteUrl", "icons")),
    *(f"params.capabilities.{name}" for name in ("roots", "sampling", "elicitation", "experimental", "tasks", "other")),
    *("params.capabilities.roots.listChanged", "params.capabilities.elicitation.form"),
]


def changed(message: Message, place: str, value: object) -> Message | None:
    """Return a request in which another value stands at one place, if there is such a place."""
    message = copy.deepcopy(message)
    *path, last = place.split(".")
    there: Any = message
    for name in path:
        there = there.get(name) if isinstance(there, dict) else None
    if not isinstance(there, dict):
        return None
    there[last] = value
    return message


async def test_whoever_is_greeted_the_sdk_answers_alike(app: App) -> None:
    greeted = refused = 0
    for params, place, value in itertools.product(CLIENTS.values(), PLACES, VALUES):
        asked = json.dumps(changed(initialize(params), place, value))
        greeting = greet(asked)
        if greeting is None:
            refused += 1
        else:
            greeted += 1
            assert await told(app, asked) == [json.loads(greeting.answer)]
    assert greeted > 100
    assert refused > 300


BROKEN = (
    "",
    "{",
    "[]",
    "5",
    "null",
    '"x"',
    "[" * 100_000,
    '{"id":"\ud800"}'.encode("utf-8", "surrogatepass"),
    b"\xff\xfe",
)


def test_what_is_no_request_or_out_of_measure_is_left_to_the_sdk() -> None:
    assert [greet(one) for one in BROKEN] == [None] * len(BROKEN)
    deep: object = 0
    for _ in range(300):
        deep = [deep]
    params = CLIENTS["Python"]
    assert greet(json.dumps(initialize({**params, "capabilities": {"experimental": {"x": {"y": deep}}}}))) is None
    assert greet(json.dumps(initialize(params, id=10**4000))) is None


# -- while the SDK is being loaded -------------------------------------------------------------------------------------

SLOW = """
import importlib, os, sys
open(os.environ["GATE"]).read()  # until the test lets it through
sys.path.remove(os.path.dirname(os.path.dirname(__file__)))
del sys.modules[__name__]
importlib.invalidate_caches()
importlib.import_module(__name__)
"""
"""A package in front of one of the SDK's, which takes as long to load as a test wants."""


@pytest.fixture
def slow(tmp_path: Path) -> dict[str, str]:
    """The environment of a process in which the SDK is not loaded before `GATE` is opened."""
    (tmp_path / "slow/mcp_types").mkdir(parents=True)
    (tmp_path / "slow/mcp_types/__init__.py").write_text(SLOW)
    os.mkfifo(tmp_path / "gate")
    return {"PYTHONPATH": str(tmp_path / "slow"), "GATE": str(tmp_path / "gate")}


async def greeted_first(home: Home, env: dict[str, str], gate: Path) -> None:
    """See a client greeted while the SDK cannot be loaded, and served when it is."""
    words = (*MAIN, "mcp", str(home.work))
    process = await asyncio.create_subprocess_exec(*words, env=home.env | env, stdin=-1, stdout=-1)
    assert process.stdin is not None
    assert process.stdout is not None
    hello = initialize(CLIENTS["Codex"])
    async with asyncio.timeout(60):
        process.stdin.write(msgspec.json.encode(hello) + b"\n")
        first = json.loads(await process.stdout.readline())
        assert first == json.loads(getattr(greet(json.dumps(hello)), "answer", "0"))
        for id in (2, 3):
            process.stdin.write(msgspec.json.encode({"jsonrpc": "2.0", "id": id, "method": "tools/list"}) + b"\n")
        await let_through(gate)
        assert [json.loads(await process.stdout.readline())["id"] for _ in range(2)] == [2, 3]
        process.stdin.close()
        assert await process.wait() == 0


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_a_client_is_greeted_before_the_sdk_is_there_and_served_when_it_is(slow: dict[str, str]) -> None:
    async with new_home() as home:
        await greeted_first(home, slow, Path(slow["GATE"]))


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_the_first_client_of_a_running_server_is_greeted_as_soon(slow: dict[str, str]) -> None:
    async with new_home() as home, Server(home, env=slow):
        await greeted_first(home, {}, Path(slow["GATE"]))


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_a_client_that_goes_before_the_sdk_is_there_ends_its_workbench(slow: dict[str, str]) -> None:
    async with new_home() as home:
        words = (*MAIN, "mcp", str(home.work))
        process = await asyncio.create_subprocess_exec(*words, env=home.env | slow, stdin=-1, stdout=-1)
        assert process.stdin is not None
        assert process.stdout is not None
        async with asyncio.timeout(60):
            process.stdin.write(msgspec.json.encode(initialize(CLIENTS["Codex"])) + b"\n")
            assert json.loads(await process.stdout.readline())["id"] == 1
            process.stdin.close()
            await let_through(Path(slow["GATE"]))
            assert await process.wait() == 0
