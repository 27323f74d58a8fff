"""Commands' types as JSON Schemas that every MCP client can use.

Some clients check with the rules of draft 7, others with those of 2020-12: what these read differently is not used.
"""

from fourhands.core import schema
from fourhands.core.registry import Command
from fourhands.core.schema import JsonSchema

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_FAILURE = ["error", "code", "hint"]
"""What a failure always has beside `success`: all texts. `data` may come with them."""


def input_schema(command: Command) -> JsonSchema:
    """A command's arguments; the command itself is described beside them."""
    shape = _short(schema.schema(command.args_type), out=False)
    shape.pop("description", None)
    # A word of this dialect alone; without it both drafts read the same.
    return {"$schema": DIALECT, **shape} if "$defs" in shape else shape


def output_schema(command: Command) -> JsonSchema | None:
    """A command's result as it is sent, a failure included; None where it is content rather than data."""
    shape = _short(schema.schema(command.result_type), out=True)
    members = _object(shape.get("properties", {}))
    if _object(members.get("content", {})).get("type") == "array":
        return None
    required = shape.get("required", [])
    whole: JsonSchema = {
        "type": "object",
        "properties": {"success": {"type": "boolean"}, **members},
        "required": ["success"],
    }
    if required:
        whole["anyOf"] = [{"required": required}, {"required": _FAILURE}]
    return {**whole, "$defs": shape["$defs"]} if "$defs" in shape else whole


def _object(value: object) -> JsonSchema:
    return value if isinstance(value, dict) else {}


def _short(shape: JsonSchema, *, out: bool) -> JsonSchema:
    """The same schema in few words, which both drafts read alike: a model pays for each of them.

    `items: false` beside `prefixItems` forbids all in draft 7. What an argument is that may be left out is said
    without null; it is taken all the same. What comes out has no defaults.
    """
    short: JsonSchema = {}
    for word, value in shape.items():
        if word in ("properties", "$defs"):
            short[word] = {name: _short(_object(inner), out=out) for name, inner in _object(value).items()}
        elif word in ("anyOf", "prefixItems") and isinstance(value, list):
            short[word] = [_short(_object(inner), out=out) for inner in value]
        elif isinstance(value, dict) and word != "default":
            short[word] = _short(value, out=out)
        elif word == "description" and out and "properties" in shape:
            continue  # the names say what it is, and the tool's own description why
        elif word != "title" and value != [] and not (word == "default" and (out or value is None)):
            short[word] = value
    if isinstance(kinds := short.pop("prefixItems", None), list):
        short["items"] = kinds[0] if all(kind == kinds[0] for kind in kinds) else {"anyOf": kinds}
    optional = not out and "default" in shape and shape["default"] is None
    return _without_null(short, optional=optional)


def _without_null(short: JsonSchema, *, optional: bool) -> JsonSchema:
    """Say that something may be null with its type, where it has one, or not at all."""
    options = short.get("anyOf")
    if not isinstance(options, list) or {"type": "null"} not in options:
        return short
    others = [option for option in options if option != {"type": "null"}]
    rest = {word: value for word, value in short.items() if word != "anyOf"}
    if optional:
        return {**others[0], **rest} if len(others) == 1 else {"anyOf": others, **rest}
    if len(others) == 1 and isinstance(kind := others[0].get("type"), str) and "enum" not in others[0]:
        return {**others[0], "type": [kind, "null"], **rest}
    return short
