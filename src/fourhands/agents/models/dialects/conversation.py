"""The conversation in a request: who says what in which message, and copies of messages with other words.

Each dialect has a `Shape` that knows its messages; it changes nothing that it is given. What it does not know is left
as it is and belongs to no side. Texts of a model are those that a client shows, in order: no thoughts, no tool calls.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

ClientMessage: TypeAlias = Any  # of a client, so of any form
Speaker: TypeAlias = Literal["model", "person", ""]
"""The speaker of a message: the model, or the other side with its words and the results of tools; else neither."""


class Shape(ABC):
    """The messages of one dialect."""

    member = "messages"

    def messages(self, body: dict[str, Any]) -> list[ClientMessage] | None:
        """Return the messages of a request; None if it has none that could be read."""
        found = body.get(self.member)
        return found if isinstance(found, list) else None

    def with_messages(self, body: dict[str, Any], messages: list[ClientMessage]) -> dict[str, Any]:
        """Return the request with other messages."""
        return {**body, self.member: messages}

    @abstractmethod
    def side(self, message: ClientMessage) -> Speaker:
        """Return who speaks."""

    @abstractmethod
    def parts(self, message: ClientMessage) -> list[Any] | str | None:
        """Return the content of a message: its parts, or a text."""

    @abstractmethod
    def with_parts(self, message: ClientMessage, parts: list[Any] | str) -> ClientMessage:
        """Return the message with another content."""

    @abstractmethod
    def is_text(self, part: Any) -> bool:
        """Return True for a part whose member `text` is said aloud."""

    @abstractmethod
    def is_result(self, part: Any) -> bool:
        """Return True for a part that is the result of a tool."""

    @abstractmethod
    def text_part(self, text: str, *, of_model: bool) -> dict[str, Any]:
        """Return a text as a part."""

    @abstractmethod
    def spoken(self, text: str) -> ClientMessage:
        """Return a text as a message of the model."""

    def texts(self, message: ClientMessage) -> list[str]:
        """Return the texts of a message."""
        parts = self.parts(message)
        if isinstance(parts, str):
            return [parts] if parts else []
        return [part["text"] for part in parts or () if self.is_text(part)]

    def results(self, message: ClientMessage) -> int:
        """Count the results of tools in a message."""
        parts = self.parts(message)
        return sum(map(self.is_result, parts)) if isinstance(parts, list) else 0

    def reworded(self, message: ClientMessage, texts: Sequence[str]) -> ClientMessage:
        """Return a message with other texts, as many as it has; parts whose text is gone go, unless they carry more."""
        parts = self.parts(message)
        if not texts:
            return message
        if isinstance(parts, str):
            return self.with_parts(message, texts[0])
        left = iter(texts)
        made: list[Any] = []
        for part in parts or ():
            if not self.is_text(part):
                made.append(part)
                continue
            text = next(left)
            if text or len(part) > 1 + ("type" in part):
                made.append({**part, "text": text})
        return self.with_parts(message, made)

    def led(self, turn: list[ClientMessage], text: str) -> list[ClientMessage]:
        """Return the model's turn, in which nothing is said aloud, with a text: behind thoughts, before all else."""
        first, *others = turn
        parts = self.parts(first)
        if not isinstance(parts, list):
            return [self.with_parts(first, text), *others]
        at = next((place for place, part in enumerate(parts) if not is_thought(part)), len(parts))
        part = self.text_part(text, of_model=True)
        return [self.with_parts(first, [*parts[:at], part, *parts[at:]]), *others]

    def told(self, message: ClientMessage, text: str) -> list[ClientMessage]:
        """Return a message of the other side that tells our text too: before its own words, behind results of tools."""
        parts = self.parts(message)
        if not isinstance(parts, list):
            return [self.with_parts(message, f"{text}\n\n{parts}" if parts else text)]
        at = max((place + 1 for place, part in enumerate(parts) if self.is_result(part)), default=0)
        return [self.with_parts(message, [*parts[:at], self.text_part(text, of_model=False), *parts[at:]])]


def is_thought(part: Any) -> bool:
    """Return True for a thought among the parts of a message."""
    if not isinstance(part, dict):
        return False
    return part.get("type") in ("thinking", "redacted_thinking") or part.get("thought") is True


def behind(shape: Shape, message: ClientMessage, text: str) -> ClientMessage:
    """Return the result of a tool with our text behind it."""
    parts = shape.parts(message)
    if isinstance(parts, list):
        return shape.with_parts(message, [*parts, shape.text_part(text, of_model=False)])
    return shape.with_parts(message, f"{parts}\n\n{text}" if parts else text)


class ChatShape(Shape):
    """Chat completions: results of tools are messages of their own."""

    def side(self, message: ClientMessage) -> Speaker:
        """Return who speaks."""
        role = message.get("role") if isinstance(message, dict) else None
        return "model" if role == "assistant" else "person" if role in ("user", "tool", "function") else ""

    def parts(self, message: ClientMessage) -> list[Any] | str | None:
        """Return the content of a message."""
        content = message.get("content")
        return content if isinstance(content, list | str) else None

    def with_parts(self, message: ClientMessage, parts: list[Any] | str) -> ClientMessage:
        """Return the message with another content."""
        return {**message, "content": parts}

    def is_text(self, part: Any) -> bool:
        """Return True for text."""
        return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)

    def is_result(self, part: Any) -> bool:
        """Return False: no part is one."""
        return False

    def results(self, message: ClientMessage) -> int:
        """Count a tool's message as one."""
        return int(message.get("role") in ("tool", "function"))

    def text_part(self, text: str, *, of_model: bool) -> dict[str, Any]:
        """Return a text as a part."""
        return {"type": "text", "text": text}

    def spoken(self, text: str) -> ClientMessage:
        """Return a text as a message of the model."""
        return {"role": "assistant", "content": text}

    def told(self, message: ClientMessage, text: str) -> list[ClientMessage]:
        """Return a message that tells our text too; behind a tool many servers take no message but the model's."""
        if not self.results(message):
            return super().told(message, text)
        return [behind(self, message, text)]


class AnthropicShape(ChatShape):
    """Anthropic's messages: results of tools are parts of the user's."""

    def is_result(self, part: Any) -> bool:
        """Return True for a tool's result."""
        return isinstance(part, dict) and str(part.get("type", "")).endswith("tool_result")

    def results(self, message: ClientMessage) -> int:
        """Count the results of tools in a message."""
        return Shape.results(self, message)

    def told(self, message: ClientMessage, text: str) -> list[ClientMessage]:
        """Return a message that tells our text too; results of tools must come first."""
        return Shape.told(self, message, text)


class GeminiShape(Shape):
    """Gemini's contents."""

    member = "contents"

    def side(self, message: ClientMessage) -> Speaker:
        """Return who speaks."""
        if not isinstance(message, dict):
            return ""
        return "model" if message.get("role") == "model" else "person"

    def parts(self, message: ClientMessage) -> list[Any] | str | None:
        """Return the parts of a message."""
        parts = message.get("parts")
        return [parts] if isinstance(parts, dict) else parts if isinstance(parts, list | str) else None

    def with_parts(self, message: ClientMessage, parts: list[Any] | str) -> ClientMessage:
        """Return the message with other parts."""
        return {**message, "parts": [{"text": parts}] if isinstance(parts, str) else parts}

    def is_text(self, part: Any) -> bool:
        """Return True for text that is no thought."""
        return isinstance(part, dict) and isinstance(part.get("text"), str) and part.get("thought") is not True

    def is_result(self, part: Any) -> bool:
        """Return True for a function's response."""
        return isinstance(part, dict) and ("functionResponse" in part or "function_response" in part)

    def text_part(self, text: str, *, of_model: bool) -> dict[str, Any]:
        """Return a text as a part."""
        return {"text": text}

    def spoken(self, text: str) -> ClientMessage:
        """Return a text as a message of the model."""
        return {"role": "model", "parts": [{"text": text}]}


class ResponsesShape(Shape):
    """OpenAI's responses: a list of items, of which only some are messages."""

    member = "input"

    def messages(self, body: dict[str, Any]) -> list[ClientMessage] | None:
        """Return the items; a plain text is one."""
        found = body.get("input")
        return [{"role": "user", "content": found}] if isinstance(found, str) else super().messages(body)

    def side(self, message: ClientMessage) -> Speaker:
        """Return who speaks; calls and thoughts are the model's."""
        if not isinstance(message, dict):
            return ""
        kind = message.get("type", "message")
        if kind == "message":
            role = message.get("role")
            return "model" if role == "assistant" else "person" if role == "user" else ""
        if not isinstance(kind, str):
            return ""
        return "person" if kind.endswith("_output") else "model" if kind.endswith(("_call", "reasoning")) else ""

    def parts(self, message: ClientMessage) -> list[Any] | str | None:
        """Return the content of a message, or the output of a tool."""
        content = message.get(self._content(message))
        return content if isinstance(content, list | str) else None

    def with_parts(self, message: ClientMessage, parts: list[Any] | str) -> ClientMessage:
        """Return the item with another content."""
        return {**message, self._content(message): parts}

    def is_text(self, part: Any) -> bool:
        """Return True for text of either side."""
        kinds = ("output_text", "input_text", "text")
        return isinstance(part, dict) and part.get("type") in kinds and isinstance(part.get("text"), str)

    def is_result(self, part: Any) -> bool:
        """Return False: no part is one."""
        return False

    def results(self, message: ClientMessage) -> int:
        """Count a tool's output as one."""
        return int(self._content(message) == "output")

    def text_part(self, text: str, *, of_model: bool) -> dict[str, Any]:
        """Return a text as a part."""
        return {"type": "output_text" if of_model else "input_text", "text": text}

    def spoken(self, text: str) -> ClientMessage:
        """Return a text as a message of the model."""
        return {"role": "assistant", "content": text}

    def led(self, turn: list[ClientMessage], text: str) -> list[ClientMessage]:
        """Return the model's items with a message of its own before its calls."""
        at = next((place for place, item in enumerate(turn) if item.get("type") != "reasoning"), len(turn))
        if at < len(turn) and turn[at].get("type", "message") == "message":
            return [*turn[:at], *super().led(turn[at:], text)]
        return [*turn[:at], self.spoken(text), *turn[at:]]

    def told(self, message: ClientMessage, text: str) -> list[ClientMessage]:
        """Return an item that tells our text too; an output that is no text is followed by one that does."""
        if not self.results(message):
            return super().told(message, text)
        if self.parts(message) is None:
            return [message, {"role": "user", "content": text}]
        return [behind(self, message, text)]

    def _content(self, message: ClientMessage) -> str:
        return "output" if str(message.get("type", "")).endswith("_output") else "content"


SHAPES: dict[str, Shape] = {
    "chat": ChatShape(),
    "responses": ResponsesShape(),
    "anthropic": AnthropicShape(),
    "gemini": GeminiShape(),
}
