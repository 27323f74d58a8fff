"""The dialect of Anthropic's messages.

Text stands in `content_block_delta` with a `text_delta` (streamed) and in `content[]` of type `text`; tool input,
tool results and thinking are never read. Each content block is a text of its own.
"""

from collections.abc import Callable
from typing import Any

from msgspec import Raw

from fourhands.agents.models.dialects import payload
from fourhands.agents.models.dialects.base import Fate, Synthetic, Translator
from fourhands.agents.models.dialects.framed import framed

# Stands for an answer of commands alone: the server refuses a history with an empty text.
DONE = "(commands sent)"


def instruct(body: dict[str, Any], instructions: str) -> dict[str, Any]:
    """Return the request with the instructions behind its own system prompt, and without texts that we emptied.

    They go last, so that a prompt cache of what stands before them still holds.
    """
    body = _mended(body)
    if not instructions:
        return body
    system = body.get("system")
    text = framed(instructions)
    if isinstance(system, list):
        return {**body, "system": [*system, {"type": "text", "text": text}]}
    return {**body, "system": f"{system}\n\n{text}" if isinstance(system, str) and system else text}


def _mended(body: dict[str, Any]) -> dict[str, Any]:
    """Take empty texts out of the agent's own turns: an answer of blocks alone leaves one behind in its history."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        return body
    mended = [_mended_turn(turn) for turn in messages]
    return {**body, "messages": mended} if any(a is not b for a, b in zip(mended, messages, strict=True)) else body


def _mended_turn(turn: Any) -> Any:
    if not isinstance(turn, dict) or turn.get("role") != "assistant":
        return turn
    content = turn.get("content")
    if content == "":
        return {**turn, "content": DONE}
    if not isinstance(content, list):
        return turn
    kept = [part for part in content if not _is_blank(part)]
    if len(kept) == len(content):
        return turn
    return {**turn, "content": kept or [{"type": "text", "text": DONE}]}


def _is_blank(part: Any) -> bool:
    return (
        isinstance(part, dict)
        and part.get("type") == "text"
        and isinstance(part.get("text"), str)
        and not part["text"].strip()
    )


class AnthropicTranslator(Translator):
    """Takes the blocks out of one message."""

    def event(self, message: dict[str, Raw]) -> Fate:
        """Deal with one event."""
        kind = payload.text(message.get("type"))
        if kind == "message_start":
            self.identify((payload.members(message.get("message")) or {}).get("id"))
        elif kind == "content_block_start":
            return self._text(message, "content_block", "text")
        elif kind == "content_block_delta":
            return self._text(message, "delta", "text_delta")
        elif kind == "content_block_stop":
            self._flush((payload.number(message.get("index")), 0))
        elif kind in ("message_delta", "message_stop"):
            self.finish()
        return Fate.PASS

    def body(self, message: dict[str, Raw]) -> Fate:
        """Deal with a whole message."""
        self.identify(message.get("id"))
        content = payload.elements(message.get("content")) or []
        changed = False
        for place, raw in enumerate(content):
            block = payload.members(raw)
            said = payload.text(block.get("text")) if block is not None else None
            if block is None or not said or payload.text(block.get("type")) != "text":
                continue
            visible = self._whole(said)
            if visible != said:
                content[place] = payload.encode({**block, "text": visible})
                changed = True
        if changed:
            message["content"] = payload.encode(content)
        return Fate.CHANGE if changed else Fate.PASS

    def _text(self, message: dict[str, Raw], holder: str, kind: str) -> Fate:
        part = payload.members(message.get(holder))
        said = payload.text(part.get("text")) if part is not None else None
        if part is None or not said or payload.text(part.get("type")) != kind:
            return Fate.PASS
        index = payload.number(message.get("index"))
        visible = self._hear((index, 0), said, _carrier(index))
        if visible == said:
            return Fate.PASS
        if not visible and kind == "text_delta":
            return Fate.DROP
        message[holder] = payload.encode({**part, "text": visible})
        return Fate.CHANGE


def _carrier(index: int) -> Callable[[str], Synthetic]:
    def carry(text: str) -> Synthetic:
        delta = {"type": "text_delta", "text": text}
        return Synthetic("content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta})

    return carry
