"""What a person writes behind `--agent`, and what is started for it."""

import dataclasses
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from tests.kit.workbench import open_app

from fourhands.agents.acp.connector import register
from fourhands.agents.connectors import launcher
from fourhands.agents.connectors.launcher import LaunchContext, Launcher
from fourhands.core.errors import BadArgument, CommandNotFound, NotFound
from fourhands.settings import Settings, UpstreamSettings

UPSTREAMS = {
    "openai": UpstreamSettings(url="http://127.0.0.1:9"),
    "anthropic": UpstreamSettings(url="http://127.0.0.1:9"),
}


class Recorded:
    """An OpenCode that only remembers how it was made."""

    made: list[dict[str, Any]]
    memory = None

    def __init__(self, bench: object, session: object, tasks: object, **options: Any) -> None:
        options.pop("instructions", None)
        options.pop("memory")
        self.made.append({name: value for name, value in options.items() if value})

    async def open(self) -> None:
        """Nothing to open."""


@pytest.fixture
def made(monkeypatch) -> list[dict[str, Any]]:
    Recorded.made = []
    monkeypatch.setattr(launcher, "OpenCodeConnector", Recorded)
    return Recorded.made


@pytest.fixture
async def connections(request) -> AsyncIterator[Launcher]:
    upstreams = getattr(request, "param", {})
    async with open_app(msgspec.structs.replace(Settings(), upstreams=upstreams)) as app:
        wiring = LaunchContext(instructions=str, issue_token=lambda session: "token", url="http://127.0.0.1:1", env={})
        yield Launcher(app.bench, app.tasks, wiring)


async def test_opencode_alone_is_the_persons_own(connections, made):
    await connections.start("opencode")
    await connections.start("opencode#acme/large")
    await connections.start("opencode:http://127.0.0.1:4096")
    await connections.start("opencode:http://127.0.0.1:4096#acme/large")
    assert made == [
        {"command": ("opencode",)},
        {"command": ("opencode",), "model": "acme/large"},
        {"url": "http://127.0.0.1:4096"},
        {"url": "http://127.0.0.1:4096", "model": "acme/large"},
    ]


@pytest.mark.parametrize("connections", [UPSTREAMS], indirect=True)
async def test_agents_by_acp_take_no_name_away(connections, made):
    register(connections)
    for spec in ("opencode", "opencode#gpt-x", "opencode:http://127.0.0.1:4096"):
        await connections.start(spec)
    assert [sorted(options) for options in made] == [["command"], ["command", "gateway"], ["url"]]
    connections.wiring = dataclasses.replace(connections.wiring, env={"PATH": "/nowhere"})
    with pytest.raises(CommandNotFound, match="opencode"):
        await connections.start("opencode acp")


async def test_a_model_that_nobody_serves_is_refused_with_what_to_do(connections, made):
    with pytest.raises(BadArgument, match="no model server is configured for 'gpt-x'") as caught:
        await connections.start("opencode#gpt-x")
    assert "[upstreams.openai]" in caught.value.hint
    assert "opencode alone" in caught.value.hint
    assert made == []
    assert not len(connections.bench.sessions)


@pytest.mark.parametrize("connections", [UPSTREAMS], indirect=True)
async def test_with_an_upstream_its_model_is_behind_the_proxy(connections, made):
    await connections.start("opencode#gpt-x")
    await connections.start("opencode#vendor/claude-y")
    await connections.start("opencode")
    first, second = made[0]["gateway"], made[1]["gateway"]
    assert (first.model, first.family, first.token) == ("gpt-x", "openai", "token")
    assert (second.model, second.family) == ("vendor/claude-y", "anthropic")
    assert made[2] == {"command": ("opencode",)}


@pytest.mark.parametrize("spec", ["", "nobody", "tuor", "ftp://x#y"])
async def test_an_agent_that_is_none_is_named(connections, spec):
    with pytest.raises(NotFound, match="no agent"):
        await connections.start(spec)


@pytest.mark.parametrize("spec", ["http://127.0.0.1:11434/v1", "anthropic:https://x.test", "anthropic:x.test#m"])
async def test_a_model_needs_an_address_and_a_name(connections, spec):
    with pytest.raises(BadArgument):
        await connections.start(spec)
    assert not len(connections.bench.sessions)
