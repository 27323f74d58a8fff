"""Commands' types as JSON Schemas that every MCP client can use.

Some clients check with the rules of draft 7, others with those of 2020-12: what these read differently is not used.
"""

from fourhands.core import schema
from fourhands.core.registry import Command
from fourhands.core.schema import JsonSchema

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_TEXT: JsonSchema = {"type": "string"}
_FAILED: JsonSchema = {
    "properties": {
        "success": {"const": False},
        "error": _TEXT,
        "code": _TEXT,
        "hint": _TEXT,
        "data": {"type": "object"},
    },
    "required": ["success", "error", "code", "hint"],
}


def input_schema(command: Command) -> JsonSchema:
    """A command's arguments."""
    return {"$schema": DIALECT, **schema.schema(command.args_type)}


def output_schema(command: Command) -> JsonSchema | None:
    """A command's result as it is sent, a failure included; None where it is content rather than data."""
    shape = _object(_portable(schema.schema(command.result_type)))
    members = _object(shape.get("properties", {}))
    if _object(members.get("content", {})).get("type") == "array":
        return None
    required = shape.get("required", [])
    assert isinstance(required, list)
    done: JsonSchema = {
        "properties": {**members, "isolation": _TEXT, "success": {"const": True}},
        "required": ["success", *required],
    }
    whole: JsonSchema = {
        "type": "object",
        "properties": {"success": {"type": "boolean"}},
        "required": ["success"],
        "anyOf": [done, _FAILED],
    }
    return {**whole, "$defs": shape["$defs"]} if "$defs" in shape else whole


def _object(value: object) -> JsonSchema:
    return value if isinstance(value, dict) else {}


def _portable(value: object) -> object:
    """Fixed arrays in words that both drafts read alike: `items: false` beside `prefixItems` forbids all in draft 7."""
    if isinstance(value, list):
        return [_portable(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    converted = {name: _portable(inner) for name, inner in value.items()}
    if isinstance(kinds := converted.pop("prefixItems", None), list):
        converted["items"] = kinds[0] if all(kind == kinds[0] for kind in kinds) else {"anyOf": kinds}
    return converted
