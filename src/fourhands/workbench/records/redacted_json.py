"""Values as the journal stores them: plain JSON, with every text redacted and bounded."""

import json
import math
from collections.abc import Callable, Mapping

Redact = Callable[[str], str]
"""Removes secrets from a text. A pure function, since the journal's thread calls it."""

TEXT_LIMIT = 64 << 10
"""Characters kept of one text: the journal is a record, not a copy of every file."""

_OVERLAP = 4096  # read beyond the limit, so that a secret which the limit cuts is still recognised


def redacted_json(value: object, redact: Redact, limit: int) -> str:
    """Return a value as JSON of about `limit` characters at most; what there is no room for is counted."""
    return json.dumps(_clean(value, _Pen(redact, limit)), separators=(",", ":"), ensure_ascii=False)


def storable(text: str) -> str:
    """Return text that SQLite can store: lone surrogates cannot be encoded."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


class _Pen:
    """The room that is left for texts, and what redacts them."""

    def __init__(self, redact: Redact, room: int) -> None:
        self.redact = redact
        self.room = room

    def text(self, text: str, prefix: str = "") -> str:
        """Return a text, as far as there is room; the prefix helps to recognise a secret and is not kept."""
        if not text:
            return text
        limit = max(0, min(TEXT_LIMIT, self.room))
        seen = storable(self.redact(f"{prefix}{text[: limit + _OVERLAP]}")).removeprefix(prefix)
        if len(text) > limit:
            seen = f"{seen[:limit]}…[{len(text)} characters]"
        self.room -= len(seen)
        return seen


def _clean(value: object, pen: _Pen, name: str = "") -> object:
    """Return a value as plain JSON; what there is no room for is counted."""
    pen.room -= 4
    if isinstance(value, str):
        return pen.text(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, Mapping):
        if set(value) == {"name", "value"}:  # an environment variable as ACP writes it
            known = storable(str(value["name"]))
            return {"name": _clean(value["name"], pen), "value": _assigned(known, value["value"], pen)}
        inside = {storable(str(key)): item for key, item in value.items()}
        kept: dict[str, object] = {}
        for key, item in inside.items():
            if pen.room <= 0 and len(inside) > len(kept) + 1:
                kept["…"] = f"[{len(inside) - len(kept)} more]"
                break
            pen.room -= len(key)
            kept[key] = _assigned(key, item, pen) if name == "env" else _clean(item, pen, key)
        return kept
    if isinstance(value, list | tuple | set | frozenset):
        items = list(value)
        if all(isinstance(item, str) for item in items) and any("PRIVATE KEY" in item for item in items):
            items = pen.redact("\n".join(items)).split("\n")  # a key is known by all of its lines only
        listed: list[object] = []
        for item in items:
            if pen.room <= 0:
                listed.append(f"…[{len(items) - len(listed)} more]")
                break
            listed.append(_clean(item, pen, name))
        return listed
    return pen.text(repr(value))


def _assigned(name: str, value: object, pen: _Pen) -> object:
    """Redact a variable's value as part of `NAME=value`, since its name may tell that it is a secret."""
    return pen.text(value, f"{name}=") if isinstance(value, str) else _clean(value, pen)
