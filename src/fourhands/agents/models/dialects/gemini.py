"""The dialect of Gemini's generateContent, streamed as events or as a JSON array, or whole.

Text stands in `candidates[i].content.parts[].text`; parts marked as thought and function calls are never read. The
parts of one candidate are one text up to the next function call.
"""

from collections.abc import Callable
from typing import Any

from msgspec import Raw

from fourhands.agents.models.dialects import payload
from fourhands.agents.models.dialects.base import Fate, Synthetic, Translator
from fourhands.agents.models.dialects.framed import framed

_NOT_COPIED = {"candidates", "usageMetadata", "promptFeedback"}


def instruct(body: dict[str, Any], instructions: str) -> dict[str, Any]:
    """Return the request with the instructions as a further part of its system instruction."""
    if not instructions:
        return body
    name = "system_instruction" if "system_instruction" in body else "systemInstruction"
    own = body.get(name)
    part = {"text": framed(instructions)}
    if isinstance(own, str):  # client libraries take a plain text, and some servers do too
        return {**body, name: {"parts": [{"text": own}, part]}}
    if not isinstance(own, dict):
        return {**body, name: {"parts": [part]}}
    parts = own.get("parts")
    parts = parts if isinstance(parts, list) else [parts] if isinstance(parts, dict) else []
    return {**body, name: {**own, "parts": [*parts, part]}}


class GeminiTranslator(Translator):
    """Takes the blocks out of one answer."""

    choices = True

    def event(self, message: dict[str, Raw]) -> Fate:
        """Deal with one chunk."""
        return self._message(message, whole=False)

    def body(self, message: dict[str, Raw]) -> Fate:
        """Deal with a whole answer."""
        return self._message(message, whole=True)

    def _message(self, message: dict[str, Raw], *, whole: bool) -> Fate:
        self.identify(message.get("responseId"))
        candidates = payload.elements(message.get("candidates")) or []
        copied = {name: value for name, value in message.items() if name not in _NOT_COPIED}
        idle = not (payload.present(message.get("usageMetadata")) or payload.present(message.get("promptFeedback")))
        changed = False
        for place, raw in enumerate(candidates):
            candidate = payload.members(raw)
            if candidate is None:
                continue
            over = whole or payload.present(candidate.get("finishReason"))
            index = payload.number(candidate["index"]) if "index" in candidate else place
            fate = self._candidate(candidate, index, copied, over=over)
            idle = idle and fate is Fate.DROP and not over
            if fate is not Fate.PASS:
                candidates[place] = payload.encode(candidate)
                changed = True
        if not changed:
            return Fate.PASS
        message["candidates"] = payload.encode(candidates)
        return Fate.DROP if idle else Fate.CHANGE

    def _candidate(self, candidate: dict[str, Raw], index: int, copied: dict[str, Raw], *, over: bool) -> Fate:
        content = payload.members(candidate.get("content")) or {}
        key, carry = (index, 0), _carrier(copied, index)
        changed = False
        parts: list[Any] = []
        last = -1  # the last text of the answer among the parts
        for raw in payload.elements(content.get("parts")) or []:
            part = payload.members(raw)
            said = payload.text(part.get("text")) if part is not None else None
            if part is None or (said is not None and _is_thought(part)):
                parts.append(raw)
            elif said is None:
                held = self._end(key)
                if held:
                    parts.append({"text": held})
                    changed = True
                parts.append(raw)
                last = -1
            else:
                visible = self._hear(key, said, carry)
                last = len(parts)
                parts.append(raw if visible == said else {**part, "text": visible})
                changed = changed or visible != said
        if over:
            if last >= 0:
                held = self._end(key)
                if held:
                    part = parts[last] if isinstance(parts[last], dict) else payload.members(parts[last]) or {}
                    said = part["text"] if isinstance(part["text"], str) else payload.text(part["text"])
                    parts[last] = {**part, "text": f"{said}{held}"}
                    changed = True
            else:
                self._flush(key)
        if not changed:
            return Fate.PASS
        # An empty part is an error to some clients; the last one must stay, as the server's own last chunk has it.
        kept = [part for part in parts if part != {"text": ""}]
        content["parts"] = payload.encode(kept or [{"text": ""}])
        candidate["content"] = payload.encode(content)
        candidate.pop("logprobsResult", None)  # it spells the text once more
        return Fate.CHANGE if kept else Fate.DROP


def _is_thought(part: dict[str, Raw]) -> bool:
    return bytes(part.get("thought", payload.NULL)).strip() == b"true"


def _carrier(copied: dict[str, Raw], index: int) -> Callable[[str], Synthetic]:
    def carry(text: str) -> Synthetic:
        candidate = {"content": {"parts": [{"text": text}], "role": "model"}, "index": index}
        return Synthetic("", {"candidates": [candidate], **copied})

    return carry
