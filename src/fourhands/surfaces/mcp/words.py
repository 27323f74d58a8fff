"""Values of ours as text and plain JSON for MCP."""

import msgspec


def json_text(value: object) -> str:
    """A value as JSON; what has no JSON form as Python shows it."""
    return msgspec.json.encode(value, enc_hook=repr).decode()


def plain(value: dict[str, object]) -> dict[str, object]:
    """The same object with JSON's own types only."""
    return msgspec.json.decode(json_text(value), type=dict[str, object])
