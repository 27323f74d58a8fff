"""The model interfaces that agents speak, each with two abilities: add instructions to a request, filter an answer.

Nothing here does I/O; a proxy drives it:

    dialect = DIALECTS["anthropic"]
    request = dialect.instruct(request, instructions)
    answer = dialect.filter(content_type)
    for data in upstream:
        filtered = answer.feed(data)     # .data for the agent, .commands for the gate, .dropped for the page
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fourhands.agents.models.dialects import anthropic, chat_completions, gemini, responses
from fourhands.agents.models.dialects.base import DEFAULT, Clock, DialectLimits, Filtered, Synthetic, Taken, Translator
from fourhands.agents.models.dialects.framing import ArrayFilter, BodyFilter, EventFilter, ResponseFilter

__all__ = ["DIALECTS", "Dialect", "DialectLimits", "Filtered", "ResponseFilter", "Synthetic", "Taken", "Translator"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One model interface."""

    name: str
    instruct: Callable[[dict[str, Any], str], dict[str, Any]]
    translator: Callable[[Clock, DialectLimits], Translator]
    arrays: bool = False  # whether an answer of type application/json may be an array that streams

    def filter(self, content_type: str, now: Clock = time.monotonic, limits: DialectLimits = DEFAULT) -> ResponseFilter:
        """Return a filter for one answer of this content type; its bytes must not be compressed."""
        translator = self.translator(now, limits)
        if content_type.split(";")[0].strip().lower() == "text/event-stream":
            return EventFilter(translator)
        return ArrayFilter(translator) if self.arrays else BodyFilter(translator)


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect("chat", chat_completions.instruct, chat_completions.ChatTranslator),
        Dialect("responses", responses.instruct, responses.ResponsesTranslator),
        Dialect("anthropic", anthropic.instruct, anthropic.AnthropicTranslator),
        Dialect("gemini", gemini.instruct, gemini.GeminiTranslator, arrays=True),
    )
}
