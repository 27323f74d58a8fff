"""Real MCP clients, set up and called by the very text of the manual, with the scripted model behind them.

Attended: a workbench runs, a person is at its page. Unattended: nothing runs but what the client starts.
"""

import asyncio
import contextlib
import json
import os
import shlex
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.kit import npm_agents, own_models
from tests.kit.counterparts.errands import DANGEROUS, PROMPT, ByTools, Errands
from tests.kit.counterparts.recipes import Recipe, recipe
from tests.kit.counterparts.report import Report
from tests.kit.model import Model, Request
from tests.kit.own_models import OwnModel
from tests.kit.program import Home, Server, new_home
from tests.kit.tokens import compact

LIMIT_S = 150
"""Clients need 2 to 10 s where nothing else runs."""

REFUSAL = "no one is asked in this session (--ask-by never)"
FOURHANDS = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m fourhands "$@"\n'
REPOSITORY = "git init --quiet"  # Codex works nowhere else unasked
LOOP = Path(__file__).parent / "python_client.py"


@dataclass(frozen=True)
class McpClient:
    """A client: its heading in the manual, its package in the lock, its programs, and how it is called by a person.

    Without a line for that, the recipe has one.
    """

    name: str
    package: str
    programs: dict[str, Callable[[], str]]
    line: str
    voice: ByTools
    model: OwnModel
    files: bool = True  # of the recipe for a person are written; else its lines are typed instead

    def ours(self, requests: list[Request]) -> str:
        """What the model reads of our server in the first request: tools, and each line of text that is about it."""
        if not requests:
            return ""
        body = requests[0].body
        tools = [tool for group in body.get("tools") or () for tool in group.get("functionDeclarations", [group])]
        mark = self.voice.prefix or self.voice.namespace
        texts = {name: value for name, value in body.items() if name != "tools"} if mark else {}
        lines = [line for text in _texts(texts) for line in text.splitlines() if "fourhands" in line]
        return "\n".join([*(compact(tool) for tool in tools if mark in json.dumps(tool)), *lines])


def python_environment(url: str, home: Path) -> dict[str, str]:
    """What the loop of the Python client needs."""
    return {"MODEL_URL": url, "NO_PROXY": "127.0.0.1"}


CLIENTS = (
    McpClient(
        "OpenCode",
        "opencode-ai",
        {"opencode": npm_agents.opencode},
        f'opencode run "{PROMPT}"',
        ByTools("fourhands_"),
        own_models.opencode,
    ),
    McpClient(
        "Claude Code",
        "@agentclientprotocol/claude-agent-acp/node_modules/@anthropic-ai/claude-agent-sdk",
        {"claude": npm_agents.claude_code},
        f'claude -p "{PROMPT}" --allowedTools mcp__fourhands',
        ByTools("mcp__fourhands__", loader="ToolSearch"),
        own_models.claude,
        files=False,
    ),
    McpClient(
        "Codex",
        "@openai/codex",
        {"codex": npm_agents.codex},
        "",
        ByTools(namespace="mcp__fourhands"),
        own_models.codex,
    ),
    McpClient(
        "Gemini CLI",
        "@google/gemini-cli",
        {"gemini": npm_agents.gemini},
        f'GEMINI_CLI_TRUST_WORKSPACE=true gemini -p "{PROMPT}"',
        ByTools("mcp_fourhands_"),
        partial(own_models.gemini, trusting=False),
    ),
    McpClient(
        "Python",
        "mcp",
        {},
        f"{shlex.quote(sys.executable)} {shlex.quote(str(LOOP))} recipe.py",
        ByTools(),
        python_environment,
    ),
)


@dataclass
class AtThePage:
    """A person before the page: lets everybody in and allows once whatever is asked; keeps what that was."""

    home: Home
    asked: list[str] = field(default_factory=list)

    @contextlib.asynccontextmanager
    async def there(self) -> AsyncIterator["AtThePage"]:
        """Sit there for the length of the block."""
        async with self.home.page() as socket, asyncio.TaskGroup() as group:

            async def answer() -> None:
                async for message in socket:
                    event = json.loads(message).get("event") or {}
                    if event.get("kind") == "question.asked":
                        group.create_task(self._answer(event["data"]))

            task = group.create_task(answer())
            try:
                yield self
            finally:
                task.cancel()

    async def _answer(self, question: dict[str, Any]) -> None:
        consent = question["kind"] == "consent"
        args = {"questionId": question["id"], "choice": "session" if consent else "once"}
        done = await self.home.call("workbench.answer", args, f"{question['text']}\n{question['shown']}")
        if done["success"]:  # nobody else was quicker
            self.asked.append("consent" if consent else question["shown"])


async def run(client: McpClient, *, attended: bool) -> Report:
    """Let a client run the errands."""
    told = recipe(client.name if attended else f"{client.name} in CI")
    async with contextlib.AsyncExitStack() as stack:
        home = await stack.enter_async_context(new_home(own_state=False))
        errands = Errands(client.voice, "" if attended else REFUSAL)
        errands.lay_out(home.work)
        model = await stack.enter_async_context(Model(errands))
        env = _environment(home, client, model.url)
        person = AtThePage(home)
        if attended:
            await stack.enter_async_context(Server(home))
            await stack.enter_async_context(person.there())
        lines = _follow(told, client, home, attended=attended)
        await _type(REPOSITORY, home, env)
        began = time.monotonic()
        output = "".join([await _type(line, home, env) for line in lines])
        asked = (person.asked, ["consent", DANGEROUS]) if attended else ([], [])
        return Report(errands, output, time.monotonic() - began, *asked, ours=client.ours(errands.requests))


async def python_recipe(home: Home) -> str:
    """Run the manual's own program; returns what it printed."""
    client = next(client for client in CLIENTS if client.name == "Python")
    env = _environment(home, client, "")
    recipe(client.name).write(home)
    await _type(REPOSITORY, home, env)
    return await _type(f"{shlex.quote(sys.executable)} recipe.py", home, env)


def _follow(told: Recipe, client: McpClient, home: Home, *, attended: bool) -> list[str]:
    """Write the files; returns the lines to type."""
    if client.files or not attended:
        told.write(home)
    return [*told.lines, client.line] if client.line and (attended or told.python) else told.lines


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def _environment(home: Home, client: McpClient, url: str) -> dict[str, str]:
    """A person's variables, with a path on which our program and the client's lie."""
    bin = home.root / "bin"
    bin.mkdir()
    (bin / "fourhands").write_text(FOURHANDS)
    (bin / "fourhands").chmod(0o755)
    for name, find in client.programs.items():
        (bin / name).symlink_to(os.path.realpath(find()))
    return {**home.env, **client.model(url, Path(home.env["HOME"])), "PATH": f"{bin}:{home.env['PATH']}"}


async def _type(line: str, home: Home, env: dict[str, str]) -> str:
    """Run a line of shell to its end; returns what it printed."""
    process = await asyncio.create_subprocess_exec(
        *("/bin/bash", "-c", line), cwd=home.work, env=env, stdin=-3, stdout=-1, stderr=-2, start_new_session=True
    )
    try:
        async with asyncio.timeout(LIMIT_S):
            out, _ = await process.communicate()
    except TimeoutError:
        os.killpg(process.pid, signal.SIGKILL)
        out, _ = await process.communicate()
        return f"{out.decode(errors='replace')}\n{line}: not done after {LIMIT_S} s"
    return f"{out.decode(errors='replace')}\nexit {process.returncode}\n"
