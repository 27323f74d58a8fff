"""`/mcp` as a stranger with a bare HTTP client meets it: the door first, then the protocol's own refusals."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import JSONRPCNotification
from tests.kit.mcp_client import ended, holds, probes
from tests.kit.server import Raw, Served, serve_app, until

from fourhands.surfaces.mcp.limits import McpLimits
from fourhands.surfaces.mcp.streamable_http import Replay
from fourhands.surfaces.server import ServerLimits

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bare", "version": "1"}},
}
PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
BOTH = "application/json, text/event-stream"


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with serve_app() as served:
        yield served


def bare(served: Served, **headers: str) -> httpx.AsyncClient:
    given = {"authorization": f"Bearer {served.token}", "accept": BOTH, **headers}
    return httpx.AsyncClient(base_url=served.url, headers=given, timeout=40, trust_env=False)


async def begin(client: httpx.AsyncClient) -> dict[str, str]:
    """A session: the headers that name it."""
    opened = await client.post("/mcp", json=HELLO)
    assert opened.status_code == 200
    session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert (await client.post("/mcp", json=initialized, headers=session)).status_code == 202
    return session


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ") and len(line) > 6]


async def test_the_door_comes_first(served: Served) -> None:
    async with bare(served) as client:
        for headers, status in (
            ({"authorization": "Bearer wrong"}, 401),
            ({"authorization": ""}, 401),
            ({"origin": "http://evil.example"}, 403),
            ({"host": "evil.example"}, 421),
        ):
            for method in ("POST", "GET", "DELETE"):
                refused = await client.request(method, "/mcp", headers=headers, content=b"x")
                assert refused.status_code == status, (headers, method)
                assert refused.json()["success"] is False
                assert refused.headers.get("www-authenticate", "").startswith("Bearer") is (status == 401)


async def test_what_is_wrong_is_refused_with_the_protocols_own_status(served: Served) -> None:
    async with bare(served) as client:
        session = await begin(client)

        async def status(body: Any = PING, **headers: str) -> int:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            given = {"content-type": "application/json", **session, **headers}
            return (await client.post("/mcp", content=content, headers=given)).status_code

        assert await status() == 200
        assert await status(**{"mcp-session-id": "none"}) == 404
        assert await status(**{"mcp-session-id": ""}) in (400, 404)
        assert await status(accept="text/html") == 406
        assert await status(accept="application/json") == 406
        assert await status(**{"content-type": "text/plain"}) == 400
        assert await status(**{"mcp-protocol-version": "1999-01-01"}) == 400
        assert await status([PING]) == 400
        assert await status(b" [") == 400
        assert await status(b"") == 400
        assert await status(b"{half") == 400
        assert await status(b"\xff\xfe") == 400
        assert await status(b"null") == 400
        assert await status({"jsonrpc": "1.0", "id": 2, "method": "ping"}) == 400
        assert await status(b" " * 1_100_000) == 413
        assert (await client.put("/mcp", headers=session)).status_code == 405
        assert await status() == 200  # nothing of this has harmed the session


async def test_a_session_ends_when_its_client_says_so(served: Served) -> None:
    async with bare(served) as client:
        session = await begin(client)
        listed = await client.post("/mcp", json={**PING, "method": "tools/list"}, headers=session)
        assert [tool["name"] for tool in events(listed.text)[0]["result"]["tools"]][:2] == ["bash", "edit"]
        assert [one.name for one in served.app.bench.sessions] == ["bare"]
        assert (await client.delete("/mcp", headers=session)).status_code == 200
        await until(lambda: not len(served.app.bench.sessions))
        assert (await client.post("/mcp", json=PING, headers=session)).status_code == 404
        assert (await client.delete("/mcp", headers=session)).status_code == 404


async def test_a_session_named_in_the_generation_without_sessions_is_not_entered(served: Served) -> None:
    thief, token = served.agent("thief")
    async with bare(served) as client:
        session = await begin(client)
        await client.post("/mcp", json={**PING, "method": "tools/list"}, headers=session)
        headers = {"Authorization": f"Bearer {token}", **session}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False) as http,
            Client(streamable_http_client(f"{served.url}/mcp", http_client=http), mode="auto", cache=None) as stolen,
        ):
            await stolen.call_tool("openspace_terminal_create", {"title": "mine"})
        assert served.app.bench.terminal("mine").owner == thief


async def test_sessions_are_bounded() -> None:
    async with serve_app(limits=ServerLimits(mcp=McpLimits(sessions=2))) as served, bare(served) as client:
        first = await begin(client)
        await begin(client)
        assert (await client.post("/mcp", json=HELLO)).status_code == 503
        assert (await client.post("/mcp", json=PING, headers=first)).status_code == 200
        await client.delete("/mcp", headers=first)
        await begin(client)


async def test_a_quiet_session_goes() -> None:
    async with serve_app(limits=ServerLimits(mcp=McpLimits(idle_s=0.3))) as served, bare(served) as client:
        opened = await client.post("/mcp", json=HELLO)
        session = {"mcp-session-id": opened.headers["mcp-session-id"]}
        async with asyncio.timeout(40):
            # ASYNC110: nothing tells that it has gone but the next request.
            while (await client.post("/mcp", json=PING, headers=session)).status_code != 404:  # noqa: ASYNC110
                await asyncio.sleep(0.6)  # quiet for longer than is allowed


async def test_a_body_that_is_cut_off_or_endless_is_no_failure_of_ours(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    head = f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{served.port}\r\nauthorization: Bearer {served.token}\r\n"
    head += f"accept: {BOTH}\r\ncontent-type: application/json\r\n"
    async with bare(served) as client:
        await begin(client)
        async with await Raw.open(served.port) as raw:
            await raw.send(f"{head}content-length: 1000\r\n\r\n{{half".encode())
        async with await Raw.open(served.port) as raw:
            await raw.send(f"{head}transfer-encoding: chunked\r\n\r\n".encode())
            for _ in range(20):
                await raw.send(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
            assert b" 413 " in await raw.head()
        await begin(client)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_a_broken_stream_is_taken_up_again_where_it_broke(served: Served) -> None:
    served.app.registry.include(probes)
    holds.clear()
    ended.clear()
    async with bare(served) as client:
        session = await begin(client)
        await client.post("/mcp", json={**PING, "method": "tools/list"}, headers=session)
        [agent] = served.app.bench.sessions
        served.app.gate.consent.grant(agent.id)
        call = {**PING, "id": 7, "method": "tools/call", "params": {"name": "openspace_probe_hold", "arguments": {}}}
        last = ""
        async with client.stream("POST", "/mcp", json=call, headers=session) as answer:
            async for line in answer.aiter_lines():
                if line.startswith("id: "):
                    last = line[4:]  # the first event has nothing but this
                    break
        await until(lambda: ended.get("x") == "running")
        holds["x"].set()
        await until(lambda: ended.get("x") == "done")
        again = {**session, "last-event-id": last, "accept": "text/event-stream"}
        missed = None
        async with client.stream("GET", "/mcp", headers=again) as answer:
            async for line in answer.aiter_lines():
                if line.startswith("data: {"):
                    missed = json.loads(line[6:])
                    break
        assert missed is not None
        assert (missed["id"], missed["result"]["structuredContent"]["success"]) == (7, True)


async def test_messages_are_kept_within_bounds_and_by_stream() -> None:
    kept, sent = Replay(1000), []

    async def send(event: Any) -> None:
        sent.append((event.event_id, event.message.params))

    def message(number: int) -> JSONRPCNotification:
        return JSONRPCNotification(jsonrpc="2.0", method="n", params={"number": number, "x": "y" * 50})

    first = await kept.store_event("a", None)
    for number in range(3):
        await kept.store_event("ab"[number % 2], message(number))
    assert await kept.replay_events_after(first, send) == "a"
    assert [params["number"] for _, params in sent] == [0, 2]
    for number in range(100):
        await kept.store_event("a", message(number))
    assert kept.size <= 1000
    assert await kept.replay_events_after(first, send) is None
    for wrong in ("", "x", "-1", "999", "²"):
        assert await kept.replay_events_after(wrong, send) is None
    large = await kept.store_event("b", JSONRPCNotification(jsonrpc="2.0", method="n" * 5000))
    assert await kept.replay_events_after(large, send) == "b"  # the last one is there however long it is
