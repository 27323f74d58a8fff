"""Agents in the format of the public registry, out of the user's configuration directory."""

import json
import platform
from pathlib import Path
from typing import Any

import pytest
from tests.kit.workbench import open_app

from fourhands.agents.acp import registry
from fourhands.agents.acp.catalogue import recipes
from fourhands.agents.connectors.launcher import LaunchContext, Launcher
from fourhands.app.connectors import register_all
from fourhands.core.errors import CommandNotFound

PLATFORM = f"{platform.system().lower()}-{ {'arm64': 'aarch64'}.get(platform.machine(), platform.machine()) }"


def put(config: Path, name: str, content: Any) -> None:
    path = config / "fourhands" / "agents" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def agent(id: str, **ways: Any) -> dict[str, Any]:
    return {"id": id, "name": id.title(), "version": "1", "description": "d", "distribution": ways}


def test_each_way_of_distribution_becomes_a_command_and_a_way_to_install(tmp_path: Path) -> None:
    """And what cannot be used is passed over, with a word in the log."""
    env = {"XDG_CONFIG_HOME": str(tmp_path), "PATH": str(tmp_path / "node" / "bin")}
    package = tmp_path / "node" / "lib" / "node_modules" / "@x" / "known"
    package.mkdir(parents=True)
    (tmp_path / "node" / "bin").mkdir()
    (package / "package.json").write_text('{"bin": {"known-program": "dist/index.js"}}')
    binary = {"archive": "https://x/y.tar.gz", "cmd": "./bin/tool", "args": ["serve"]}
    listed = [
        agent("one", npx={"package": "@x/one@1.2.3", "args": ["--acp"], "env": {"A": "b"}}),
        agent("named", npx={"package": "@x/named", "cmd": "its-program"}),
        agent("known", npx={"package": "@x/known@2"}),
        agent("py", uvx={"package": "py-agent[acp]==3.0", "args": ["acp"]}),
        agent("tool", binary={PLATFORM: binary}),
        agent("gemini", npx={"package": "@google/gemini-cli@9", "cmd": "gemini", "args": ["--acp"]}),
        agent("elsewhere", binary={"windows-x86_64": binary}),
        agent("tour", npx={"package": "x"}),
        agent("../x", npx={"package": "x"}),
        {"id": "no-way"},
        {"id": "wrong", "distribution": {"npx": "x"}},
        7,
    ]
    put(tmp_path, "registry.json", {"version": "1.0.0", "agents": listed})
    put(tmp_path, "single/agent.json", agent("single", npx={"package": "single"}))
    put(tmp_path, "broken.json", "{")
    put(tmp_path, "deep.json", "[" * 100_000)
    found = registry.registered(recipes({}), env)
    assert {id: (one.command, one.install) for id, one in found.items()} == {
        "one": (("one", "--acp"), "npm install -g @x/one@1.2.3"),
        "named": (("its-program",), "npm install -g @x/named"),
        "known": (("known-program",), "npm install -g @x/known@2"),
        "py": (("py-agent", "acp"), "uv tool install py-agent[acp]==3.0"),
        "tool": (
            ("tool", "serve"),
            f"download https://x/y.tar.gz and unpack it in {tmp_path}/fourhands/agents/tool, or put tool on your PATH",
        ),
        "gemini": (("gemini", "--acp"), "npm install -g @google/gemini-cli@9"),
        "single": (("single",), "npm install -g single"),
    }
    assert found["one"].env == {"A": "b"}
    assert found["gemini"].missing_file_is_empty  # what is odd about the known one still holds
    assert {"claude", "one"} <= set(recipes(env))


async def test_one_is_started_by_its_id_and_nothing_is_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "mine.json", agent("mine", npx={"package": "@x/mine", "cmd": "no-such-program"}))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    async with open_app() as app:
        wiring = LaunchContext(briefing=lambda *_, **__: "", issue_token=lambda _: "t", url="", env=app.terminals.env)
        launcher = Launcher(app.bench, app.tasks, wiring)
        register_all(launcher)
        with pytest.raises(CommandNotFound) as caught:
            await launcher.start("mine")
        assert caught.value.hint == "install it: npm install -g @x/mine"


async def test_the_older_program_of_an_agent_serves_where_only_that_is_installed(tmp_path: Path) -> None:
    older = tmp_path / "claude-code-acp"
    older.write_text("#!/bin/sh\nexit 1\n")
    older.chmod(0o755)
    async with open_app() as app:
        env = {**app.terminals.env, "PATH": str(tmp_path)}
        launcher = Launcher(app.bench, app.tasks, LaunchContext(lambda *_, **__: "", lambda _: "t", "", env))
        register_all(launcher)
        session = await launcher.start("claude")
        assert str(older) in session.arrival.bond
        with pytest.raises(CommandNotFound, match="claude-agent-acp"):
            await launcher.start("acp claude-agent-acp")  # asked for by its name, no other will do
