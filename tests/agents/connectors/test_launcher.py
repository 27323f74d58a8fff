"""What a person writes behind `--agent`, and what is started for it."""

import dataclasses
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from tests.kit.briefing import no_briefing
from tests.kit.workbench import open_app

from fourhands.agents.connectors.launcher import LaunchContext, Launcher
from fourhands.agents.opencode.connector import OpenCodeConnector
from fourhands.app.connectors import register_all
from fourhands.core.errors import BadArgument, CommandNotFound, NotFound
from fourhands.settings import Settings, UpstreamSettings

UPSTREAMS = {
    "openai": UpstreamSettings(url="http://127.0.0.1:9"),
    "anthropic": UpstreamSettings(url="http://127.0.0.1:9"),
}


def made(launcher: Launcher, *specs: str) -> list[dict[str, Any]]:
    """How OpenCode would be started for each of these."""
    found = []
    for spec in specs:
        session = launcher.bench.begin_session("robo", "opencode")
        agent = launcher.kinds["opencode"](launcher, session, spec)
        assert isinstance(agent, OpenCodeConnector)
        options = {"url": agent.url, "command": agent.command, "model": agent.model, "gateway": agent.gateway}
        found.append({name: value for name, value in options.items() if value})
    return found


@pytest.fixture
async def connections(request) -> AsyncIterator[Launcher]:
    upstreams = getattr(request, "param", {})
    async with open_app(msgspec.structs.replace(Settings(), upstreams=upstreams)) as app:
        wiring = LaunchContext(
            briefing=no_briefing,
            issue_token=lambda session: "token",
            url="http://127.0.0.1:1",
            env={},
        )
        launcher = Launcher(app.bench, app.tasks, wiring)
        register_all(launcher)
        yield launcher


async def test_opencode_alone_is_the_persons_own(connections):
    joined = "opencode:http://127.0.0.1:4096"
    assert made(connections, "opencode", "opencode#acme/large", joined, f"{joined}#acme/large") == [
        {"command": ("opencode",)},
        {"command": ("opencode",), "model": "acme/large"},
        {"url": "http://127.0.0.1:4096"},
        {"url": "http://127.0.0.1:4096", "model": "acme/large"},
    ]


@pytest.mark.parametrize("connections", [UPSTREAMS], indirect=True)
async def test_agents_by_acp_take_no_name_away(connections):
    found = made(connections, "opencode", "opencode#gpt-x", "opencode:http://127.0.0.1:4096")
    assert [sorted(options) for options in found] == [["command"], ["command", "gateway"], ["url"]]
    connections.wiring = dataclasses.replace(connections.wiring, env={"PATH": "/nowhere"})
    with pytest.raises(CommandNotFound, match="opencode"):
        await connections.start("opencode acp")


async def test_a_model_that_nobody_serves_is_refused_with_what_to_do(connections):
    with pytest.raises(BadArgument, match="no model server is configured for 'gpt-x'") as caught:
        await connections.start("opencode#gpt-x")
    assert "[upstreams.openai]" in caught.value.hint
    assert "opencode alone" in caught.value.hint
    assert connections.connectors == {}
    assert not len(connections.bench.sessions)


@pytest.mark.parametrize("connections", [UPSTREAMS], indirect=True)
async def test_with_an_upstream_its_model_is_behind_the_proxy(connections):
    found = made(connections, "opencode#gpt-x", "opencode#vendor/claude-y", "opencode")
    first, second = found[0]["gateway"], found[1]["gateway"]
    assert (first.model, first.family, first.token) == ("gpt-x", "openai", "token")
    assert (second.model, second.family) == ("vendor/claude-y", "anthropic")
    assert found[2] == {"command": ("opencode",)}


@pytest.mark.parametrize("spec", ["", "nobody", "tuor", "ftp://x#y"])
async def test_an_agent_that_is_none_is_named(connections, spec):
    with pytest.raises(NotFound, match="no agent"):
        await connections.start(spec)


@pytest.mark.parametrize("spec", ["http://127.0.0.1:11434/v1", "anthropic:http://127.0.0.1:9", "anthropic:x.test#m"])
async def test_a_model_needs_an_address_and_a_name(connections, spec):
    with pytest.raises(BadArgument):
        await connections.start(spec)
    assert not len(connections.bench.sessions)
