"""The model interfaces that agents speak: each adds instructions to a request, and filters or reads an answer.

Nothing here does I/O. A proxy, which stands between an agent and its model, filters:

    dialect = DIALECTS["anthropic"]
    request = dialect.instruct(request, instructions)
    answer = dialect.filter(content_type)
    for data in upstream:
        filtered = answer.feed(data)     # .data for the agent, .commands for the gate, .dropped for the page

A connector, which is the model's only client, writes and reads: `ANTHROPIC.body(request)`, and
`ANTHROPIC.reader(content_type).feed(data)`, which yields text, thoughts, tool calls and the reason of the end.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fourhands.agents.models.dialects import (
    anthropic,
    anthropic_client,
    chat_client,
    chat_completions,
    gemini,
    responses,
)
from fourhands.agents.models.dialects.base import DEFAULT, Clock, DialectLimits, Filtered, Synthetic, Taken, Translator
from fourhands.agents.models.dialects.deltas import AnswerReader, MessageReader
from fourhands.agents.models.dialects.framing import ArrayFilter, BodyFilter, EventFilter, ResponseFilter
from fourhands.agents.models.history import ModelRequest

__all__ = [
    "ANTHROPIC",
    "CHAT",
    "DIALECTS",
    "ChatDialect",
    "Dialect",
    "DialectLimits",
    "Filtered",
    "ResponseFilter",
    "Synthetic",
    "Taken",
    "Translator",
]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One model interface."""

    name: str
    instruct: Callable[[dict[str, Any], str], dict[str, Any]]
    translator: Callable[[Clock, DialectLimits], Translator]
    arrays: bool = False  # true if an answer of type application/json may be an array that streams

    def filter(self, content_type: str, now: Clock = time.monotonic, limits: DialectLimits = DEFAULT) -> ResponseFilter:
        """Return a filter for one answer of this content type; its bytes must not be compressed."""
        translator = self.translator(now, limits)
        if content_type.split(";")[0].strip().lower() == "text/event-stream":
            return EventFilter(translator)
        return ArrayFilter(translator) if self.arrays else BodyFilter(translator)


@dataclass(frozen=True, slots=True)
class ChatDialect(Dialect):
    """A model interface that connectors speak, too: requests can be written, and answers read as deltas."""

    path: str = field(kw_only=True)
    headers: Callable[[str], dict[str, str]] = field(kw_only=True)
    body: Callable[[ModelRequest], dict[str, object]] = field(kw_only=True)
    deltas: MessageReader = field(kw_only=True)

    def reader(self, content_type: str, limits: DialectLimits = DEFAULT) -> AnswerReader:
        """Return a reader for one answer of this content type; its bytes must not be compressed."""
        return AnswerReader(self.deltas, content_type, limits)


CHAT = ChatDialect(
    "chat",
    chat_completions.instruct,
    chat_completions.ChatTranslator,
    path=chat_client.PATH,
    headers=chat_client.headers,
    body=chat_client.body,
    deltas=chat_client.deltas,
)
ANTHROPIC = ChatDialect(
    "anthropic",
    anthropic.instruct,
    anthropic.AnthropicTranslator,
    path=anthropic_client.PATH,
    headers=anthropic_client.headers,
    body=anthropic_client.body,
    deltas=anthropic_client.deltas,
)

DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        CHAT,
        Dialect("responses", responses.instruct, responses.ResponsesTranslator),
        ANTHROPIC,
        Dialect("gemini", gemini.instruct, gemini.GeminiTranslator, arrays=True),
    )
}
