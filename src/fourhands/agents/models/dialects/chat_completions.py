"""The dialect of OpenAI's chat completions, which most other servers speak too.

Text stands in `choices[i].delta.content` (streamed) and `choices[i].message.content`; as a list of parts, in those of
type `text`. Log probabilities spell the text once more, so they go when the text changed.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import Raw

from fourhands.agents.models.dialects import payload
from fourhands.agents.models.dialects.base import Fate, Synthetic, Translator
from fourhands.agents.models.dialects.framed import framed

_NOT_COPIED = {"choices", "usage", "obfuscation"}


def instruct(body: dict[str, Any], instructions: str) -> dict[str, Any]:
    """Return the request with the instructions behind its own system prompt, or as one."""
    messages = body.get("messages")
    if not instructions or not isinstance(messages, list):
        return body
    lead = 0
    while (
        lead < len(messages)
        and isinstance(messages[lead], dict)
        and messages[lead].get("role") in ("system", "developer")
    ):
        lead += 1
    text = framed(instructions)
    if lead:
        # Many chat templates allow one system message only, so the last of them grows.
        content = messages[lead - 1].get("content")
        grown = [*content, {"type": "text", "text": text}] if isinstance(content, list) else _grown(content, text)
        messages = [*messages[: lead - 1], {**messages[lead - 1], "content": grown}, *messages[lead:]]
    else:
        messages = [{"role": "system", "content": text}, *messages]
    return {**body, "messages": messages}


def _grown(content: object, text: str) -> str:
    return f"{content}\n\n{text}" if isinstance(content, str) and content else text


class ChatTranslator(Translator):
    """Takes the blocks out of one chat completion."""

    choices = True

    def event(self, message: dict[str, Raw]) -> Fate:
        """Deal with one chunk."""
        self.identify(message.get("id"))
        choices = payload.elements(message.get("choices")) or []
        copied = {name: value for name, value in message.items() if name not in _NOT_COPIED}
        changed, idle = False, not payload.present(message.get("usage"))
        for place, raw in enumerate(choices):
            choice = payload.members(raw)
            if choice is None:
                continue
            index = payload.number(choice.get("index"))
            delta = payload.members(choice.get("delta")) or {}
            over = payload.present(choice.get("finish_reason"))
            key, carry = (index, 0), _carrier(copied, index)
            altered = self._speak(delta, partial(self._hear, key, carry=carry))
            if over:
                content = payload.text(delta.get("content"))
                if content:
                    held = self._end(key)
                    if held:
                        delta["content"] = payload.encode((payload.text(delta["content"]) or "") + held)
                        altered = True
                else:
                    self._flush(key)
            if altered:
                changed = True
                choice["delta"] = payload.encode(delta)
                if "logprobs" in choice:
                    choice["logprobs"] = payload.NULL
                choices[place] = payload.encode(choice)
            empty = altered and delta.keys() == {"content"} and payload.text(delta["content"]) == ""
            idle = idle and empty and not over
        if not changed:
            return Fate.PASS
        message["choices"] = payload.encode(choices)
        return Fate.DROP if idle else Fate.CHANGE

    def body(self, message: dict[str, Raw]) -> Fate:
        """Deal with a whole completion."""
        self.identify(message.get("id"))
        choices = payload.elements(message.get("choices")) or []
        changed = False
        for place, raw in enumerate(choices):
            choice = payload.members(raw)
            spoken = payload.members(choice.get("message")) if choice is not None else None
            if choice is None or spoken is None:
                continue
            index = payload.number(choice["index"]) if "index" in choice else place
            if not self._whole_message(spoken, index):
                continue
            changed = True
            choice["message"] = payload.encode(spoken)
            if "logprobs" in choice:
                choice["logprobs"] = payload.NULL
            choices[place] = payload.encode(choice)
        if changed:
            message["choices"] = payload.encode(choices)
        return Fate.CHANGE if changed else Fate.PASS

    def _whole_message(self, spoken: dict[str, Raw], place: int) -> bool:
        """Read a message whose parts, if it has any, are one text; return whether it changed."""
        if payload.text(spoken.get("content")) is not None:
            return self._speak(spoken, partial(self._whole, choice=place))
        key = (place, 0)
        changed = self._speak(spoken, partial(self._hear, key, carry=_carrier({}, place)))
        held = self._end(key)
        if held:
            parts = payload.elements(spoken.get("content")) or []
            spoken["content"] = payload.encode([*parts, {"type": "text", "text": held}])
        return changed or bool(held)

    def _speak(self, holder: dict[str, Raw], read: Callable[[str], str]) -> bool:
        """Read the content of a delta or message; return whether it changed."""
        content = payload.text(holder.get("content"))
        if content is not None:
            visible = read(content)
            if visible == content:
                return False
            holder["content"] = payload.encode(visible)
            return True
        parts = payload.elements(holder.get("content")) or []
        changed = False
        for place, raw in enumerate(parts):
            part = payload.members(raw)
            said = payload.text(part.get("text")) if part is not None else None
            if part is None or said is None or payload.text(part.get("type")) != "text":
                continue
            visible = read(said)
            if visible != said:
                parts[place] = payload.encode({**part, "text": visible})
                changed = True
        if changed:
            holder["content"] = payload.encode(parts)
        return changed


def _carrier(copied: dict[str, Raw], index: int) -> Callable[[str], Synthetic]:
    def carry(text: str) -> Synthetic:
        choice = {"index": index, "delta": {"content": text}, "finish_reason": None}
        return Synthetic("", {**copied, "choices": [choice]})

    return carry
