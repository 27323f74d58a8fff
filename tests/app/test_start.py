"""What a start loads before its first answer, and what goes on meanwhile: seen at real processes, not by the clock."""

import asyncio
import contextlib
import gc
import json
import re
import resource
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.kit.program import Home, Server, new_home

from fourhands.app.loading import loading
from fourhands.host import owner

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

TRACED = [sys.executable, "-X", "importtime", "-c", "from fourhands.app import main; main()"]
UNATTENDED = ("--name", "ci", "--allow", "see,run", "--ask-by", "never", "--provider", "local")
INFO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}

SDK = {"mcp", "mcp_types", "pydantic"}
SERVER = {"starlette", "uvicorn", "sqlite3", "fourhands.app.wiring", "fourhands.core.gate", "fourhands.settings"}
SELDOM = {"httpx", "rich", "pygments", "prometheus_client", "fourhands.safety.shell.classifier"}
SELDOM |= {"fourhands.app.launching", "fourhands.agents.acp.connector", "fourhands.agents.connectors.chat_model"}
"""Slow to load, and needed by few workbenches, or by none before its first command."""


def modules(traced: str) -> set[str]:
    """Return the modules that a process has imported, from what it said by `-X importtime`."""
    return set(re.findall(r"^import time: +\d+ \| +\d+ \| *(\S+)$", traced, re.M))


class Client:
    """A client on the pipes of a `fourhands mcp` that tells what it imports."""

    def __init__(self, process: asyncio.subprocess.Process, traced: Path) -> None:
        self._process = process
        self._traced = traced

    async def ask(self, id: int, method: str, **params: object) -> dict[str, object]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        request = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        while (answer := json.loads(await self._process.stdout.readline())).get("id") != id:
            pass
        result: dict[str, object] = answer["result"]
        return result

    async def gone(self) -> set[str]:
        """Leave, and return the modules that were imported from the beginning to the end."""
        await self._process.communicate(b"")  # which closes its standard input
        return modules(self._traced.read_text())


@contextlib.asynccontextmanager
async def client(home: Home, name: str) -> AsyncIterator[Client]:
    traced = home.root / name
    with traced.open("wb") as file:  # more than a pipe holds
        process = await asyncio.create_subprocess_exec(
            *TRACED, "mcp", str(home.work), *UNATTENDED, env=home.env, stdin=-1, stdout=-1, stderr=file
        )
    try:
        async with asyncio.timeout(60):
            yield Client(process, traced)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def test_the_first_answer_comes_before_what_it_does_not_need_and_a_joining_client_only_passes_on() -> None:
    async with new_home() as home, client(home, "first") as first:
        assert "serverInfo" in await first.ask(1, "initialize", **INFO)
        async with client(home, "second") as second:
            assert "serverInfo" in await second.ask(1, "initialize", **INFO)
            assert "tools" in await second.ask(2, "tools/list")
            joined = await second.gone()
        assert "tools" in await first.ask(2, "tools/list")
        started = await first.gone()
    assert {"fourhands.app.wiring", "mcp"} <= started
    assert started & SELDOM == set()
    assert "websockets.asyncio.client" in joined
    assert joined & (SDK | SERVER | SELDOM) == set()
    assert len([name for name in joined if name.startswith("fourhands")]) < 40


async def test_the_list_of_commands_is_shown_without_any_of_them() -> None:
    async with new_home() as home:
        process = await asyncio.create_subprocess_exec(*TRACED, "--help", env=home.env, stdout=-1, stderr=-1)
        out, told = await process.communicate()
    assert b"terminal      List, run, attach to, read and end terminals." in out
    found = modules(told.decode())
    assert "click" in found
    assert found & (SDK | SERVER | SELDOM | {"asyncio", "fourhands.surfaces.cli.terminal"}) == set()


async def test_the_host_listens_when_the_server_is_loaded_and_the_collector_has_rested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with new_home() as home:
        for name, value in home.env.items():
            monkeypatch.setenv(name, value)
        before = gc.get_freeze_count()
        try:
            async with loading(str(home.work)):
                assert not gc.isenabled()
            assert gc.isenabled()
            assert gc.get_freeze_count() > before
        finally:
            gc.unfreeze()
        assert owner.answers(home.places.socket)
        host, children = owner.living(home.places), resource.getrusage(resource.RUSAGE_CHILDREN)
        async with loading(str(home.work)):
            pass
        gc.unfreeze()
        assert owner.living(home.places) == host is not None
        assert resource.getrusage(resource.RUSAGE_CHILDREN) == children, "another one was started in vain"


async def test_what_is_wrong_with_host_or_settings_is_told_once_and_only_by_a_server_that_needs_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with new_home() as home:
        for name, value in home.env.items():
            monkeypatch.setenv(name, value)
        settings = home.work / ".fourhands/settings.toml"
        settings.parent.mkdir()
        async with Server(home):
            settings.write_text("colour = 1\n")
            async with loading(str(home.work)) as found:
                assert found is None
            gc.unfreeze()
            code, out, told = await home.run("--no-open")
            assert (code, "Already running" in out) == (0, True), told
        code, _, told = await home.run("mcp", str(home.work))
        assert (code, told.count("colour")) == (1, 1), told
        settings.write_text("[safety]\nunaskedInSandbox = true\n")
        code, _, told = await home.run("mcp", str(home.work))
        assert (code, told.count("no setting any more")) == (0, 1), told
        await home.run("stop")
        settings.unlink()
        shutil.rmtree(home.root / "state/fourhands")
        (home.root / "state/fourhands").write_text("no directory")
        async with loading(str(home.work)) as found:
            assert found is not None
        gc.unfreeze()
        code, _, told = await home.run("mcp", str(home.work))
        assert (code, "state/fourhands" in told, "Traceback" in told) == (3, True, False), told
