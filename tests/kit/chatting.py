"""A chat model as an agent of a workbench without doors, and what the workbench says of it."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias

from tests.kit.model import Model

from fourhands.agents.briefing.hub import Hub
from fourhands.agents.connectors.chat_model import ChatModel
from fourhands.agents.connectors.endpoint import Endpoint
from fourhands.agents.connectors.traits import KnownEndpoints
from fourhands.app import App
from fourhands.core.event import Event

Interface: TypeAlias = Literal["openai", "anthropic"]


class Watched:
    """An app and what it said."""

    def __init__(self, app: App, stack: contextlib.AsyncExitStack) -> None:
        self.app = app
        self.stack = stack
        self.events: list[Event] = []
        self._news = asyncio.Event()
        app.events.published.subscribe(self._note)

    def _note(self, event: Event) -> None:
        self.events.append(event)
        self._news.set()

    def said(self) -> str:
        return "".join(str(event.data["text"]) for event in self.events if event.kind == "agent.said")

    def of(self, kind: str) -> list[dict[str, object]]:
        return [event.data for event in self.events if event.kind == kind]

    async def until(self, kind: str, **wanted: object) -> dict[str, object]:
        async with asyncio.timeout(60):  # the limit of the test itself is nearer, unless it is a slow one
            while True:
                for data in self.of(kind):
                    if wanted.items() <= data.items():
                        return data
                self._news.clear()
                await self._news.wait()


async def start(
    watched: Watched,
    model: Model,
    kind: Interface = "openai",
    *,
    known: KnownEndpoints | None = None,
    sleep: Callable[[float], Awaitable[None]] | None = None,
    **options: Any,
) -> ChatModel:
    """Start an agent behind a scripted model; waits for a busy endpoint take no time unless `sleep` is given."""
    app = watched.app
    session = app.bench.begin_session("bot", "model")
    app.gate.consent.grant(session.id)
    url = model.url if kind == "anthropic" else f"{model.url}/v1"
    endpoint = Endpoint(url=url, model="fake", kind=kind, key="k", **options)

    async def now(seconds: float) -> None:
        return None

    hub = Hub(app.bench, app.registry)
    chat = ChatModel(app.bench, session, endpoint, hub.briefing, sleep=sleep or now, known=known)
    return await watched.stack.enter_async_context(chat)


async def ask(chat: ChatModel, text: str) -> None:
    """Say something to the agent and return when it has answered."""
    await chat.prompt(text)
    await chat.idle()
