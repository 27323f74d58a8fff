"""`fourhands --agent NAME` as a stranger starts it: with the program, without it, not signed in, crashing."""

import asyncio
import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.kit.program import Home, Server, new_home

pytestmark = pytest.mark.timeout(90)  # two programs start one after the other

FAKE = Path(__file__).parents[2] / "kit" / "fake_acp_agent.py"


def install(home: Home, program: str, **options: Any) -> dict[str, str]:
    """Put an agent of that name on the path, one file as sandboxes show it; the environment that leads to it."""
    tools = home.root / "tools"
    tools.mkdir()
    given = {"FAKE_LOG": f"{home.work}/log", "FAKE_OPTIONS": json.dumps(options)}
    lines = [f"#!{sys.executable}", "import os", f"os.environ |= {given!r}", FAKE.read_text()]
    (tools / program).write_text("\n".join(lines))
    (tools / program).chmod(stat.S_IRWXU)
    return {"PATH": f"{tools}:/usr/bin:/bin"}


async def agent(home: Home) -> dict[str, Any]:
    """The agent, once it is known how its start went."""
    async with asyncio.timeout(60):
        while True:
            (found,) = (await home.call("agent.list"))["agents"]
            if found["status"] != "starting":
                return dict(found)
            await asyncio.sleep(0.05)


async def test_without_the_program_it_is_said_how_to_get_it() -> None:
    async with new_home() as home:
        words = ("serve", str(home.work), "--port", "0", "--no-open", "--agent", "gemini")
        code, _, errors = await home.run(*words, env={"PATH": "/nowhere"})
        assert code == 1
        assert "command not found: 'gemini'" in errors
        assert "npm install -g @google/gemini-cli" in errors
        assert "Traceback" not in errors


async def test_an_agent_by_its_name_is_there_and_has_our_server() -> None:
    async with new_home() as home:
        env = install(home, "opencode", capabilities={"mcpCapabilities": {"http": True}})
        async with Server(home, "--agent", "opencode acp", env=env):
            found = await agent(home)
            assert found["status"] == "idle"
            assert (await home.call("agent.prompt", {"sessionId": found["id"], "text": "hi"}))["success"]
            sent = [json.loads(line) for line in (home.work / "log").read_text().splitlines()]
            (server,) = sent[1]["params"]["mcpServers"]
            inside = "http://workbench.fourhands.internal" if found["isolation"] == "sandbox" else home.address.url
            assert (server["type"], server["url"]) == ("http", f"{inside}/mcp")
            token = server["headers"][0]["value"].removeprefix("Bearer ")
            assert token != (Path(home.places.state) / "token").read_text()


async def test_after_a_restart_an_agent_goes_on_where_it_was() -> None:
    async with new_home() as home:
        env = install(home, "opencode", capabilities={"loadSession": True})
        for started in (1, 2):
            async with Server(home, "--agent", "opencode acp", env=env):
                found = await agent(home)
                assert found["status"] == "idle"
                assert (await home.call("agent.prompt", {"sessionId": found["id"], "text": "hi"}))["success"]
                sent = [json.loads(line).get("method") for line in (home.work / "log").read_text().splitlines()]
                assert sent.count("initialize") == started
        assert sent.count("session/load") == 1


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"exit": 3, "stderr": "Cannot find module 'x'"},
            "ended before it was ready (exit code 3) (Cannot find module",
        ),
        ({"auth": "browser-login"}, "requires you to sign in first"),
        ({"version": 99}, "uses ACP version 99; Fourhands supports 1"),
    ],
)
async def test_an_agent_that_cannot_begin_says_why_and_the_workbench_goes_on(
    options: dict[str, Any], text: str
) -> None:
    async with new_home() as home:
        server = Server(home, "--agent", "claude", env=install(home, "claude-code-acp", **options))
        async with server:
            assert (await agent(home))["status"] == "failed"
            assert (await home.call("file.list"))["success"]
            server.process.terminate()
            said = await server.rest()
        assert f"claude cannot begin: claude {text}" in said
        assert "Traceback" not in said
