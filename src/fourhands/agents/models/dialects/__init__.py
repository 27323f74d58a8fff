"""The model interfaces that agents speak: each adds instructions to a request, and filters or reads an answer.

Nothing here does I/O. A proxy, which stands between an agent and its model, filters:

    dialect = DIALECTS["anthropic"]
    request = dialect.instruct(request, instructions)
    answer = dialect.filter(content_type)
    for data in upstream:
        filtered = answer.feed(data)     # .data for the agent, .commands for the gate, .dropped for the page

A connector, which is the model's only client, reads: `ANTHROPIC.reader(content_type).feed(data)` yields text, thoughts
and the reason of the end.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fourhands.agents.models.dialects import anthropic, chat_completions, gemini, responses
from fourhands.agents.models.dialects.base import DEFAULT, Clock, DialectLimits, Filtered, Synthetic, Taken, Translator
from fourhands.agents.models.dialects.deltas import AnswerReader, MessageReader
from fourhands.agents.models.dialects.framing import ArrayFilter, BodyFilter, EventFilter, ResponseFilter

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
    """A model interface that connectors speak, too: its answers can be read as deltas."""

    deltas: MessageReader = field(kw_only=True)

    def reader(self, content_type: str, limits: DialectLimits = DEFAULT) -> AnswerReader:
        """Return a reader for one answer of this content type; its bytes must not be compressed."""
        return AnswerReader(self.deltas, content_type, limits)


CHAT = ChatDialect("chat", chat_completions.instruct, chat_completions.ChatTranslator, deltas=chat_completions.deltas)
ANTHROPIC = ChatDialect("anthropic", anthropic.instruct, anthropic.AnthropicTranslator, deltas=anthropic.deltas)

DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect
    for dialect in (
        CHAT,
        Dialect("responses", responses.instruct, responses.ResponsesTranslator),
        ANTHROPIC,
        Dialect("gemini", gemini.instruct, gemini.GeminiTranslator, arrays=True),
    )
}
