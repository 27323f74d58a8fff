"""MCP with the official client through the real doors: over HTTP, over pipes, by the program."""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import click.testing
import httpx
import msgspec
import pytest
from click.testing import CliRunner
from mcp_types import (
    Implementation,
)
from tests.kit.mcp_client import (
    INFO,
    PROGRAM,
    WITH_FIELDS,
    Form,
    Mode,
    both,
    chosen,
    data,
    over_http,
    over_pipes,
    person_token,
    text,
    until,
)
from tests.kit.workbench import open_app, quick, temporary_places
from websockets.asyncio.client import connect

from fourhands.app import App
from fourhands.core.errors import BadArgument, Unavailable
from fourhands.host.paths import WorkspaceDirs
from fourhands.surfaces.discovery import claimed, held
from fourhands.surfaces.mcp.command import mcp_command
from fourhands.surfaces.mcp.limits import McpLimits
from fourhands.surfaces.mcp.link import WebSocketLink
from fourhands.surfaces.mcp.options import ClientOptions
from fourhands.surfaces.server import Running, ServerLimits, listen, serving
from fourhands.surfaces.stdio import relay
from fourhands.surfaces.transport import Frames, ServerTimeouts


@pytest.fixture
async def served(app: App) -> AsyncIterator[Running]:
    async with serving(app.bench, app.tasks, port=0) as running:
        yield running


@both
async def test_http_serves_both_generations_with_forms(app: App, served: Running, mode: Mode) -> None:
    person = Form(chosen("session"), chosen("once"))
    async with over_http(served, person_token(served), mode, elicitation_callback=person) as client:
        assert data(await client.call_tool("bash", {"command": "rm -f nothing"}, meta=WITH_FIELDS))["ok"]
        assert data(await client.call_tool("bash", {"command": "echo hi"}, meta=WITH_FIELDS))["output"] == "hi\n"
        [session] = app.bench.sessions
        assert (session.name, session.connector) == ("probe", "mcp")
    if mode == "legacy":  # the client says goodbye
        await until(lambda: len(app.bench.sessions) == 0, app)
    assert len(person.asked) == 2


async def test_a_quiet_client_without_a_connection_is_gone_after_a_while(app: App) -> None:
    limits = ServerLimits(mcp=McpLimits(idle_s=0.05))
    async with (
        serving(app.bench, app.tasks, port=0, limits=limits) as served,
        over_http(served, person_token(served), "auto") as client,
    ):
        await client.call_tool("bash", {"command": "echo hi"})
        await until(lambda: len(app.bench.sessions) == 0, app)


@both
async def test_clients_over_http_are_agents_of_their_own(app: App, served: Running, mode: Mode) -> None:
    token = person_token(served)
    first, second = (Implementation(name=name, version="1") for name in ("one", "two"))
    async with (
        over_http(served, token, mode, client_info=first) as one,
        over_http(served, token, mode, client_info=second) as two,
    ):
        await one.list_tools()
        await two.list_tools()
        assert sorted(session.name for session in app.bench.sessions) == ["one", "two"]


@both
async def test_an_agents_token_works_in_its_own_session(app: App, served: Running, mode: Mode) -> None:
    async with httpx.AsyncClient(base_url=served.address.url, timeout=40, trust_env=False) as http:
        headers = {"Authorization": f"Bearer {person_token(served)}"}
        made = (await http.post("/api/agents", json={"name": "claude"}, headers=headers)).json()
        assert made["success"]
        again = await http.post("/api/agents", json={"name": "x"}, headers={"Authorization": f"Bearer {made['token']}"})
        assert (again.status_code, again.json()["code"]) == (403, "denied")
        for body in (b"", b"[]", b'{"name": ""}', b'{"name": "\\u0007"}', b'{"name": 1}', b'{"nam": "x"}'):
            assert (await http.post("/api/agents", content=body, headers=headers)).status_code == 400
    app.gate.consent.grant(made["sessionId"])
    async with over_http(served, made["token"], mode) as client:
        data(await client.call_tool("openspace_terminal_create", {"title": "mine"}))
        assert [session.id for session in app.bench.sessions] == [made["sessionId"]]
    assert app.bench.terminal("mine").owner == made["sessionId"]
    await app.bench.end_session(made["sessionId"])
    async with httpx.AsyncClient(base_url=served.address.url, timeout=40, trust_env=False) as http:
        gone = await http.post("/mcp", json={}, headers={"Authorization": f"Bearer {made['token']}"})
    assert gone.status_code == 401


@both
async def test_two_tokens_with_the_same_name_are_two_clients(app: App, served: Running, mode: Mode) -> None:
    first, second = (app.bench.begin_session("same", "test") for _ in range(2))
    for session in (first, second):
        app.gate.consent.grant(session.id)
    tokens = [served.tokens.issue(session.actor) for session in (first, second)]
    async with over_http(served, tokens[0], mode) as one, over_http(served, tokens[1], mode) as two:
        data(await one.call_tool("openspace_terminal_create", {"title": "first"}))
        data(await two.call_tool("openspace_terminal_create", {"title": "second"}))
    owners = {terminal.title: terminal.owner for terminal in app.terminals.list()}
    assert owners == {"first": first.id, "second": second.id}


@both
async def test_an_agents_token_answers_only_where_the_person_said_so(app: App, served: Running, mode: Mode) -> None:
    async with httpx.AsyncClient(base_url=served.address.url, timeout=40, trust_env=False) as http:
        headers = {"Authorization": f"Bearer {person_token(served)}"}
        for forms in (False, True):
            made = (await http.post("/api/agents", json={"name": "x", "forms": forms}, headers=headers)).json()
            person = Form(chosen("session"))
            async with over_http(served, made["token"], mode, elicitation_callback=person) as client:
                done = await client.call_tool("bash", {"command": "echo hi"})
            assert bool(person.asked) is forms
            assert ("no one is available to approve this" in text(done)) is not forms


async def test_a_session_answers_only_to_the_token_that_began_it(app: App, served: Running) -> None:
    async with httpx.AsyncClient(base_url=served.address.url, timeout=40, trust_env=False) as http:
        session = app.bench.begin_session("thief", "test")
        other = served.tokens.issue(session.actor)
        hello = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "a", "version": "1"},
            },
        }
        headers = {"Authorization": f"Bearer {person_token(served)}", "Accept": "application/json, text/event-stream"}
        opened = await http.post("/mcp", json=hello, headers=headers)
        assert opened.status_code == 200
        stolen = {**headers, "Authorization": f"Bearer {other}", "mcp-session-id": opened.headers["mcp-session-id"]}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        assert (await http.post("/mcp", json=ping, headers=stolen)).status_code == 404
        stolen["Authorization"] = headers["Authorization"]
        assert (await http.post("/mcp", json=ping, headers=stolen)).status_code == 200
        assert (await http.post("/mcp", json=hello)).status_code in (401, 403)


async def test_the_server_stops_at_once_though_clients_are_there(app: App) -> None:
    limits = ServerLimits(timeouts=ServerTimeouts(grace_s=60))  # so long uvicorn would wait for an open stream
    async with contextlib.AsyncExitStack() as stack:
        async with serving(app.bench, app.tasks, port=0, limits=limits) as running:
            client = await stack.enter_async_context(over_http(running, person_token(running), "legacy"))
            await client.list_tools()
            begun = asyncio.get_running_loop().time()
        assert asyncio.get_running_loop().time() - begun < 40
        assert len(app.bench.sessions) == 1  # it stays for the next server


def test_asyncio_will_not_wait_for_more_before_it_sends() -> None:
    with contextlib.closing(listen("127.0.0.1", 0)) as sock:
        assert sock.proto == socket.IPPROTO_TCP


async def test_without_the_sdk_the_answer_says_how_to_get_it(
    app: App, served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    async with httpx.AsyncClient(base_url=served.address.url, timeout=40, trust_env=False) as http:
        headers = {"Authorization": f"Bearer {person_token(served)}"}
        response = await http.post("/mcp", json={}, headers=headers)
    assert response.status_code == 503
    assert "fourhands[mcp]" in response.json()["hint"]


# -- over pipes -----------------------------------------------------------------------------------------------------


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Any:
    with temporary_places() as places:
        root = Path(places.workspace).parent
        (root / "xr").mkdir(mode=0o700)
        (root / "xs").mkdir(mode=0o700)
        monkeypatch.setenv("XDG_RUNTIME_DIR", f"{root}/xr")
        monkeypatch.setenv("XDG_STATE_HOME", f"{root}/xs")
        yield WorkspaceDirs.of(places.workspace)


@both
@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_the_program_starts_a_workbench_where_none_runs(elsewhere: WorkspaceDirs, mode: Mode) -> None:
    person = Form(chosen("session"))
    async with over_pipes(elsewhere, mode, elicitation_callback=person) as client:
        assert data(await client.call_tool("bash", {"command": "echo hi"}, meta=WITH_FIELDS))["output"] == "hi\n"
        async with over_pipes(elsewhere, mode, client_info=INFO) as second:  # joins it
            await second.list_tools()
            agents = data(await client.call_tool("openspace_agent_list"))["agents"]
            assert [agent["name"] for agent in agents] == ["mcp", "probe"]


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_a_workbench_without_a_page_ends_when_it_is_told_to(elsewhere: WorkspaceDirs) -> None:
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, elsewhere.workspace, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert program.stdin is not None
    assert program.stdout is not None
    try:
        program.stdin.write(b'{"jsonrpc":"2.0","id":8,"method":"ping"}\n')
        assert msgspec.json.decode(await program.stdout.readline())["id"] == 8
        program.terminate()
        assert await program.wait() == 130
        assert not held(elsewhere.state)
    finally:
        program.stdin.close()


@both
@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_the_program_joins_a_running_workbench(elsewhere: WorkspaceDirs, mode: Mode) -> None:
    elsewhere.prepare()
    with claimed(elsewhere.state, elsewhere.workspace):
        async with open_app(quick(), elsewhere) as app, serving(app.bench, app.tasks, port=0):
            person = Form(chosen("session"), chosen("once"))
            async with over_pipes(elsewhere, mode, elicitation_callback=person) as client:
                data(await client.call_tool("openspace_terminal_create", {"title": "shared"}))
                assert app.bench.terminal("shared")
                assert data(await client.call_tool("bash", {"command": "rm -f nothing"}, meta=WITH_FIELDS))["ok"]
            await until(lambda: len(app.bench.sessions) == 0, app)
            assert not app.terminals.list()


def run_command(directory: str, start: Callable[[str, ClientOptions], Awaitable[None]]) -> click.testing.Result:
    return CliRunner().invoke(mcp_command(start, patience_s=0.0), [directory])


def test_the_command_waits_for_a_faster_one(elsewhere: WorkspaceDirs) -> None:
    elsewhere.prepare()

    async def refused(directory: str, options: ClientOptions) -> None:
        raise Unavailable("no disk")

    done = run_command(elsewhere.workspace, refused)
    assert (done.exit_code, "no disk" in done.output) == (3, True)
    with claimed(elsewhere.state, elsewhere.workspace):
        done = run_command(elsewhere.workspace, refused)
    assert (done.exit_code, "published no address" in done.output) == (3, True)

    async def broken(directory: str, options: ClientOptions) -> None:
        raise BadArgument("no such port")

    assert run_command(elsewhere.workspace, broken).exit_code == 1


def test_the_command_says_that_the_sdk_is_missing(elsewhere: WorkspaceDirs, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(directory: str, options: ClientOptions) -> None:
        raise AssertionError

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = run_command(elsewhere.workspace, never)
    assert (done.exit_code, "fourhands[mcp]" in done.output) == (3, True)


async def joined(url: str, token: str, stdin: int, stdout: int) -> None:
    await relay(await WebSocketLink.open(url, token), stdin, stdout)


async def test_the_bridge_answers_a_message_that_is_too_long(served: Running) -> None:
    inner, outer = os.pipe()
    reader, writer = os.pipe()
    url = f"{served.address.url.replace('http', 'ws')}/mcp/socket"
    try:
        async with asyncio.timeout(40), asyncio.TaskGroup() as group:
            bridging = group.create_task(joined(url, person_token(served), inner, writer))
            long = b'{"jsonrpc":"2.0","id":7,"method":"' + b"x" * 1_100_000 + b'"}\n'
            await asyncio.to_thread(os.write, outer, long)
            answered = await asyncio.to_thread(os.read, reader, 65536)
            assert msgspec.json.decode(answered)["id"] == 7
            os.write(outer, b"no json\n\n" + b'{"jsonrpc":"2.0","id":8,"method":"ping"}\n')
            answered = b""
            while b'"id":8' not in answered:
                answered += await asyncio.to_thread(os.read, reader, 65536)
            os.close(outer)
            await bridging
    finally:
        for descriptor in (inner, reader, writer):
            os.close(descriptor)


async def test_a_bridge_that_is_suspended_is_not_cut_off(served: Running) -> None:
    url, token = served.address.url.replace("http", "ws"), person_token(served)
    headers = {"authorization": f"Bearer {token}"}
    for path, pinged in (("/ws", True), ("/mcp/socket", False)):
        async with connect(url + path, additional_headers=headers, proxy=None, open_timeout=40) as socket:
            await socket.send('{"jsonrpc":"2.0","id":8,"method":"ping"}')
            await socket.recv()
            [frames] = [one for one in served.server.server_state.connections if isinstance(one, Frames)]
            assert (frames.ping_timer is not None) is pinged
            await socket.close()
            await frames_gone(served)


async def frames_gone(served: Running) -> None:
    async with asyncio.timeout(40):
        while any(isinstance(one, Frames) for one in served.server.server_state.connections):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_the_bridge_says_why_it_is_not_let_in(served: Running) -> None:
    inner, outer = os.pipe()
    try:
        with pytest.raises(Unavailable, match="cannot connect to the workbench"):
            await joined(f"{served.address.url.replace('http', 'ws')}/mcp/socket", "wrong", inner, 1)
    finally:
        os.close(outer)
