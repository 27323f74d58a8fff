"""Our own MCP server as an ACP agent is given it: the description is ACP's, and what it describes really works."""

import asyncio
from typing import Any

import httpx2
import pytest
from acp import schema
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from tests.kit.server import Served, serve_app

from fourhands.agents.acp.mcp_server import OwnServer
from fourhands.workbench.sessions import Session

pytestmark = pytest.mark.timeout(60)


def described(served: Served, session: Session, *, http: bool) -> dict[str, Any]:
    env = {**served.env, "HOME": "/nowhere"}
    own = OwnServer(served.url, served.places.workspace, lambda one: served.running.tokens.issue(one.actor), env)
    (server,) = own(session, http)
    assert own(session, http) == [server]  # the same token when the agent is started anew
    schema.NewSessionRequest.model_validate({"cwd": "/", "mcpServers": [server]})
    return server


def transport(server: dict[str, Any], http: Any) -> Any:
    if "url" in server:
        return streamable_http_client(server["url"], http_client=http)
    env = {pair["name"]: pair["value"] for pair in server["env"]}
    return stdio_client(StdioServerParameters(command=server["command"], args=server["args"], env=env))


@pytest.mark.parametrize("by_http", [True, False])
async def test_a_client_with_it_works_in_the_agent_s_own_session(
    by_http: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp.client.session.DISCOVER_TIMEOUT_SECONDS", 40.0)  # a busy machine starts programs slowly
    async with serve_app() as served:
        session = served.app.bench.begin_session("ada", "acp")
        served.app.gate.consent.grant(session.id)
        server = described(served, session, http=by_http)
        headers = {pair["name"]: pair["value"] for pair in server.get("headers", ())}
        async with (
            asyncio.timeout(40),
            httpx2.AsyncClient(headers=headers, timeout=40, trust_env=False) as http,
            Client(transport(server, http)) as client,
        ):
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert {"bash", "terminal_start", "show"} <= set(names)
            done = await client.call_tool("openspace_file_list", {})
            assert not done.is_error
        (entry,) = await served.app.journal.query(command="openspace.file.list")
        assert (entry.call.origin, entry.call.session) == ("mcp", session.id)
        assert [one.id for one in served.app.bench.sessions] == [session.id]  # no second agent came


async def test_the_token_is_not_on_the_command_line_and_dies_with_the_session() -> None:
    async with serve_app() as served:
        session = served.app.bench.begin_session("ada", "acp")
        server = described(served, session, http=False)
        (token,) = [pair["value"] for pair in server["env"] if pair["name"] == "FOURHANDS_TOKEN"]
        assert token not in " ".join(server["args"])
        assert served.running.tokens.check(token) is not None
        await served.app.bench.end_session(session.id)
        assert served.running.tokens.check(token) is None


async def test_without_its_workbench_the_command_starts_no_other() -> None:
    async with serve_app() as served:
        server = described(served, served.app.bench.begin_session("ada", "acp"), http=False)
        env = {pair["name"]: pair["value"] for pair in server["env"]}
    process = await asyncio.create_subprocess_exec(
        server["command"], *server["args"][:-1], "/", env=env, stdin=-3, stdout=-1, stderr=-1
    )
    async with asyncio.timeout(40):
        out, err = await process.communicate()
    assert (process.returncode, out) == (3, b"")
    assert b"has ended" in err
