"""JSON of which only the path to a changed text is taken apart; every other value keeps its exact bytes.

Numbers, spacing inside values and unknown members of an upstream's message must come out as they went in, so values
stay `msgspec.Raw` until their inside is needed.
"""

import json
from typing import Any

import msgspec
from msgspec import Raw

_OBJECT = msgspec.json.Decoder(dict[str, Raw])
_ARRAY = msgspec.json.Decoder(list[Raw])
_TEXT = msgspec.json.Decoder(str)
_NUMBER = msgspec.json.Decoder(int)

NULL = Raw(b"null")


def members(value: bytes | Raw | None) -> dict[str, Raw] | None:
    """Return the members of a JSON object, or None if it is none."""
    if value is None:
        return None
    try:
        return _OBJECT.decode(value)
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # Half a surrogate pair, half a character, NaN: real upstreams send them, and the standard library reads them.
        found = lenient(value)
        return {name: encode(part) for name, part in found.items()} if isinstance(found, dict) else None


def elements(value: bytes | Raw | None) -> list[Raw] | None:
    """Return the elements of a JSON array, or None if it is none."""
    if value is None:
        return None
    try:
        return _ARRAY.decode(value)
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = lenient(value)
        return [encode(part) for part in found] if isinstance(found, list) else None


def text(value: Raw | None) -> str | None:
    """Return a JSON string's text, or None if it is none."""
    if value is None:
        return None
    try:
        return _TEXT.decode(value)
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError):
        found = lenient(value)
        return found if isinstance(found, str) else None


def number(value: Raw | None) -> int:
    """Return a JSON integer, or 0 if it is none: an index that is missing means the first."""
    try:
        return _NUMBER.decode(value) if value is not None else 0
    except (msgspec.DecodeError, UnicodeDecodeError):
        return 0


def present(value: Raw | None) -> bool:
    """Return True if a member is there and is not null."""
    return value is not None and bytes(value).strip() != b"null"


def encode(value: Any) -> Raw:
    """Write a value, in which parts may still be raw, as JSON."""
    try:
        return Raw(msgspec.json.encode(value))
    except UnicodeEncodeError:
        return Raw(json.dumps(value, separators=(",", ":"), default=_plain).encode())


def _plain(value: object) -> Any:
    if isinstance(value, Raw):
        return lenient(value)
    raise TypeError(f"cannot write {type(value).__name__} as JSON")


def decode(data: bytes) -> Any:
    """Return a JSON value, also of JSON as `lenient` reads it; None if it is no JSON."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return lenient(data)


def lenient(value: bytes | Raw) -> Any:
    """Read JSON of which half a character is missing, or that has numbers that are none; None if it is no JSON."""
    try:
        return json.loads(bytes(value).decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
