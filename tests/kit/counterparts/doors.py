"""Counterparts at the other doors: agents that Fourhands starts, chat models, and clients behind the proxy.

All have the person's consent. Attended: a person allows once whatever is asked. Unattended: nobody is there.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from msgspec.structs import replace
from tests.kit import npm_agents, own_models
from tests.kit.chatting import Watched
from tests.kit.chatting import start as start_chat
from tests.kit.counterparts.errands import DANGEROUS, PROMPT, ByBlocks, ByTools, Errands, Voice
from tests.kit.counterparts.report import Report
from tests.kit.model import Model
from tests.kit.own_models import OwnModel
from tests.kit.person import PERSON
from tests.kit.real_agents import LIMIT_S, on_stage
from tests.kit.stage import stage
from tests.kit.workbench import open_app

from fourhands.agents.acp.catalogue import recipes
from fourhands.agents.opencode.connector import OpenCodeConnector
from fourhands.agents.opencode.server import Gateway
from fourhands.app import App
from fourhands.core.event import Event
from fourhands.core.question import Answer
from fourhands.workbench.sessions import Session

REFUSAL = "no one is available to approve this"
SANDBOX = "bubblewrap"
MOST_TURNS = 20


@dataclass(frozen=True)
class Door:
    """A counterpart: what it is, its package in a lock if it has one, and how it runs the errands."""

    name: str
    package: str
    run: Callable[[bool], Awaitable[Report]]


def errands(voice: Voice, *, attended: bool) -> Errands:
    """The errands of an agent that has consent."""
    return Errands(voice, "" if attended else REFUSAL)


def report(done: Errands, began: float, asked: list[str], *, attended: bool, output: str = "") -> Report:
    """What came of it; nobody is asked about more than the one dangerous line."""
    return Report(done, output, time.monotonic() - began, asked, [DANGEROUS] if attended else [])


@contextlib.contextmanager
def person(app: App, *, attended: bool) -> Iterator[list[str]]:
    """Somebody who allows once whatever is asked, if anybody; the lines that they were asked about."""
    asked: list[str] = []

    def answer(event: Event) -> None:
        if event.kind == "question.asked":
            asked.append(str(event.data["shown"]))
            id, said = str(event.data["id"]), Answer(choice="once")
            asyncio.get_running_loop().call_soon(app.questions.answer, id, said, PERSON)

    if attended:
        app.questions.attend()
        app.events.published.subscribe(answer)
    yield asked


def confine(session: Session) -> None:
    """Let its programs run in the sandbox, as they do where nothing else is set."""
    session.state = replace(session.state, provider=SANDBOX)


# -- agents by ACP -------------------------------------------------------------------------------------------------


def by_acp(
    name: str, package: str, recipe: str, command: Callable[[], list[str]], voice: Voice, model: OwnModel
) -> Door:
    """An agent that is started with ACP, and acts by our tools, which it is given by MCP."""

    async def run(attended: bool) -> Report:
        script = errands(voice, attended=attended)
        made = recipes()[recipe]
        async with on_stage(made, command(), script, model, provider=SANDBOX, attended=attended) as journey:
            script.lay_out(journey.root)
            began = time.monotonic()
            async with asyncio.timeout(LIMIT_S):
                await journey.agent.prompt(PROMPT)
                await journey.agent.idle()
            failed = "".join(str(data) for data in journey.of("agent.failed"))
            asked = [str(line) for line in journey.asked()]
            return report(script, began, asked, attended=attended, output=journey.said + failed)

    return Door(name, package, run)


# -- OpenCode's own server -----------------------------------------------------------------------------------------


async def _opencode_server(attended: bool) -> Report:
    script = errands(ByBlocks(), attended=attended)
    async with stage(script) as s:
        confine(s.session)
        script.lay_out(s.root)
        options: dict[str, Any] = {"gateway": Gateway(s.url, s.token, "fake")}
        profile = recipes()["opencode"].sandbox
        command = [npm_agents.opencode()]
        agent = OpenCodeConnector(s.app.bench, s.session, command=command, profile=profile, **options)
        with person(s.app, attended=attended) as asked:
            async with asyncio.timeout(LIMIT_S), agent:
                await agent.open()
                began = time.monotonic()
                await agent.prompt(PROMPT)
                await agent.idle()
        return report(script, began, asked, attended=attended)


# -- chat models ---------------------------------------------------------------------------------------------------


def chat_model(name: str, mode: str, voice: Voice, kind: Literal["openai", "anthropic"]) -> Door:
    """A chat model that Fourhands asks itself."""

    async def run(attended: bool) -> Report:
        script = errands(voice, attended=attended)
        async with open_app() as app, contextlib.AsyncExitStack() as stack, Model(script) as model:
            script.lay_out(Path(app.bench.root))
            chat = await start_chat(Watched(app, stack), model, kind, mode=mode)
            confine(chat.session)
            with person(app, attended=attended) as asked:
                began = time.monotonic()
                await chat.prompt(PROMPT)
                await chat.idle()
            return report(script, began, asked, attended=attended)

    return Door(name, "", run)


# -- clients behind the proxy --------------------------------------------------------------------------------------


def behind_the_proxy(name: str, package: str) -> Door:
    """An official client that talks to its model through the proxy, and says "go on" until all is done."""

    async def run(attended: bool) -> Report:
        script = errands(ByBlocks(), attended=attended)
        async with stage(script) as s:
            confine(s.session)
            script.lay_out(s.root)
            said = [{"role": "user", "content": PROMPT}]
            with person(s.app, attended=attended) as asked:
                began = time.monotonic()
                for _ in range(MOST_TURNS):
                    answer = await (_openai(s, said) if package == "openai" else _anthropic(s, said))
                    await s.journal()  # what its blocks do is done
                    if script.over:
                        break
                    said += [{"role": "assistant", "content": answer}, {"role": "user", "content": "Go on."}]
            return report(script, began, asked, attended=attended, output=str(said))

    return Door(name, package, run)


async def _openai(s: Any, said: list[dict[str, str]]) -> str:
    async with s.openai() as client:
        done = await client.chat.completions.create(model="fake", messages=cast("Any", said))
    return str(done.choices[0].message.content)


async def _anthropic(s: Any, said: list[dict[str, str]]) -> str:
    async with s.anthropic() as client:
        done = await client.messages.create(model="fake", max_tokens=1000, messages=cast("Any", said))
    return "".join(part.text for part in done.content if part.type == "text")


DOORS = (
    by_acp(
        "Claude Agent, by ACP",
        "@agentclientprotocol/claude-agent-acp",
        "claude",
        lambda: [npm_agents.claude_agent()],
        ByTools("mcp__fourhands__", loader="ToolSearch"),
        own_models.claude,
    ),
    by_acp(
        "Claude Code, by its older ACP adapter",
        "@zed-industries/claude-code-acp",
        "claude",
        lambda: [npm_agents.claude()],
        ByTools("mcp__fourhands__"),
        own_models.claude,
    ),
    by_acp(
        "Codex, by ACP",
        "@agentclientprotocol/codex-acp",
        "codex",
        lambda: [npm_agents.codex_agent()],
        ByTools(namespace="mcp__fourhands"),
        own_models.codex,
    ),
    by_acp(
        "Gemini CLI, by ACP",
        "@google/gemini-cli",
        "gemini",
        lambda: [npm_agents.gemini(), "--acp"],
        ByTools("mcp_fourhands_"),
        own_models.gemini,
    ),
    by_acp(
        "OpenCode, by ACP",
        "opencode-ai",
        "opencode",
        lambda: [npm_agents.opencode(), "acp"],
        ByTools("fourhands_"),
        own_models.opencode,
    ),
    Door("OpenCode's server, its model behind the proxy", "opencode-ai", _opencode_server),
    chat_model("a chat model, by its endpoint's tools", "tools", ByTools(), "openai"),
    chat_model("a chat model, by blocks", "blocks", ByBlocks(), "anthropic"),
    behind_the_proxy("OpenAI's Python client, behind the proxy", "openai"),
    behind_the_proxy("Anthropic's Python client, behind the proxy", "anthropic"),
)
