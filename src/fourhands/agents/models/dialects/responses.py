"""The dialect of OpenAI's responses, which says every text up to five times.

Streamed as `response.output_text.delta`, then whole in `output_text.done`, `content_part.done`, `output_item.done` and
the last event's `response.output`. Commands are taken from the first telling; the others get the text that was shown.
"""

from collections.abc import Callable
from typing import Any

from msgspec import Raw

from fourhands.agents.blocks.interceptor import Interceptor
from fourhands.agents.models.dialects import payload
from fourhands.agents.models.dialects.base import Fate, Key, Synthetic, Translator, Voice
from fourhands.agents.models.dialects.framed import framed
from fourhands.core.errors import LimitReached

_DELTA = "response.output_text.delta"


def instruct(body: dict[str, Any], instructions: str) -> dict[str, Any]:
    """Return the request with the instructions behind its own."""
    if not instructions:
        return body
    own = body.get("instructions")
    text = framed(instructions)
    if isinstance(own, list):
        item = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": text}]}
        return {**body, "instructions": [*own, item]}
    return {**body, "instructions": f"{own}\n\n{text}" if isinstance(own, str) and own else text}


class ResponsesTranslator(Translator):
    """Takes the blocks out of one response."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._told: dict[Key, tuple[str, str]] = {}  # as it came, as it was shown
        self._streamed = False  # a whole text that was not streamed before then repeats what was, in other words

    def event(self, message: dict[str, Raw]) -> Fate:
        """Deal with one event."""
        kind = payload.text(message.get("type")) or ""
        key = (payload.number(message.get("output_index")), payload.number(message.get("content_index")))
        if kind == _DELTA:
            return self._delta(message, key)
        if kind == "response.output_text.done":
            return self._replace(message, "text", self._repeat(key, payload.text(message.get("text"))))
        if kind == "response.content_part.done":
            return self._nested(message, "part", lambda part: self._part(part, key))
        if kind == "response.output_item.done":
            return self._nested(message, "item", lambda item: self._item(item, key[0]))
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            self.finish()
        if kind.startswith("response.") and "response" in message:
            return self._nested(message, "response", self._response)
        return Fate.PASS

    def body(self, message: dict[str, Raw]) -> Fate:
        """Deal with a whole response."""
        return Fate.CHANGE if self._response(message) else Fate.PASS

    def _forget(self, key: Key, voice: Voice) -> None:
        super()._forget(key, voice)
        self._tell(key, "".join(voice.heard), "".join(voice.shown))

    def _delta(self, message: dict[str, Raw], key: Key) -> Fate:
        said = payload.text(message.get("delta"))
        if not said:
            return Fate.PASS
        self._streamed = True
        visible = self._hear(key, said, _carrier(message))
        if visible == said:
            return Fate.PASS
        return self._replace(message, "delta", visible) if visible else Fate.DROP

    def _repeat(self, key: Key, text: str | None) -> str | None:
        """Return what is to be shown for a text that is told whole."""
        if text is None:
            return None
        self._flush(key)
        if key not in self._told and not self._streamed:
            self._tell(key, text, self._whole(text))
        # Servers count the items of a stream and of the whole differently, so the same text counts, wherever it stands.
        told = self._told.get(key) or ("", "")
        shown = told[1] if told[0] == text else next((s for t, s in self._told.values() if t == text), None)
        if shown is not None:
            return shown
        # It differs from what was told before. Show no block of it, but run none either: those that ran were told.
        interceptor = Interceptor()
        return interceptor.feed(text).visible + interceptor.close().visible

    def _tell(self, key: Key, heard: str, shown: str) -> None:
        most = self.limits.texts
        if len(self._told) >= most:
            raise LimitReached(f"an answer of the model has more than {most} texts", hint="it was cut off")
        self._told[key] = heard, shown

    def _replace(self, holder: dict[str, Raw], name: str, visible: str | None) -> Fate:
        if visible is None or visible == payload.text(holder.get(name)):
            return Fate.PASS
        holder[name] = payload.encode(visible)
        if "logprobs" in holder:
            holder["logprobs"] = Raw(b"[]")
        return Fate.CHANGE

    def _nested(self, holder: dict[str, Raw], name: str, change: Callable[[dict[str, Raw]], bool]) -> Fate:
        inner = payload.members(holder.get(name))
        if inner is None or not change(inner):
            return Fate.PASS
        holder[name] = payload.encode(inner)
        return Fate.CHANGE

    def _part(self, part: dict[str, Raw], key: Key) -> bool:
        if payload.text(part.get("type")) != "output_text":
            return False
        return self._replace(part, "text", self._repeat(key, payload.text(part.get("text")))) is Fate.CHANGE

    def _item(self, item: dict[str, Raw], output_index: int) -> bool:
        if payload.text(item.get("type")) != "message" or payload.text(item.get("role")) not in (None, "assistant"):
            return False
        return self._list(item, "content", lambda part, place: self._part(part, (output_index, place)))

    def _response(self, response: dict[str, Raw]) -> bool:
        self.identify(response.get("id"))
        changed = self._list(response, "output", self._item)
        # Some servers add the convenience member of the client libraries.
        whole = payload.text(response.get("output_text"))
        if whole:
            shown = "".join(self._told[key][1] for key in sorted(self._told)) if changed else whole
            changed = self._replace(response, "output_text", shown) is Fate.CHANGE or changed
        return changed

    def _list(self, holder: dict[str, Raw], name: str, change: Callable[[dict[str, Raw], int], bool]) -> bool:
        entries = payload.elements(holder.get(name)) or []
        changed = False
        for place, raw in enumerate(entries):
            entry = payload.members(raw)
            if entry is not None and change(entry, place):
                entries[place] = payload.encode(entry)
                changed = True
        if changed:
            holder[name] = payload.encode(entries)
        return changed


def _carrier(message: dict[str, Raw]) -> Callable[[str], Synthetic]:
    # The number in the sequence is that of the last delta: inventing one would collide with the next event's.
    copied = {name: value for name, value in message.items() if name not in ("obfuscation", "logprobs")}

    def carry(text: str) -> Synthetic:
        return Synthetic(_DELTA, {**copied, "delta": text, "logprobs": []})

    return carry
