"""JSON Schemas in a short form that draft 7 and 2020-12 read alike: a model pays for each word.

`items: false` beside `prefixItems` forbids all in draft 7, so it is not used. What an argument is that may be left out
is said without null; it is taken all the same. What comes out has no defaults.
"""

from fourhands.core import schema
from fourhands.core.registry import Command
from fourhands.core.schema import JsonSchema

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_FAILURE = ["error", "code", "hint"]
"""The members of every failure beside `success`: all texts. `data` may come with them."""

_REFERENCE = "#/$defs/"


def arguments(command: Command, *, inlined: bool = False) -> JsonSchema:
    """Return the schema of a command's arguments; the command itself is described beside it.

    `inlined`: a part that is used once stands where it is used, since some models' APIs follow no references.
    """
    shape = _short(schema.schema(command.args_type), out=False)
    shape = _inlined(shape) if inlined else shape
    shape.pop("description", None)
    # A word of this dialect alone; without it both drafts read the same.
    return {"$schema": DIALECT, **shape} if "$defs" in shape else shape


def results(command: Command) -> JsonSchema | None:
    """Return the schema of a command's result, failures included; None if it is content rather than data."""
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
    """Write that a value may be null into its type, if it has one, or leave it out."""
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


def _inlined(shape: JsonSchema) -> JsonSchema:
    """Put each part in the place of the only reference to it; one that is used more often stays a part."""
    parts = _object(shape.get("$defs", {}))
    used: dict[str, int] = {}
    _count(shape, used)
    single = {name for name in parts if used.get(name, 0) == 1 and not _holds(_object(parts[name]), name)}
    if not single:
        return shape
    rest = {name: part for name, part in parts.items() if name not in single}
    whole = _filled({**shape, "$defs": rest}, {name: _object(parts[name]) for name in single})
    if not rest:
        del whole["$defs"]
    return whole


def _count(value: object, used: dict[str, int]) -> None:
    if isinstance(value, dict):
        if isinstance(reference := value.get("$ref"), str):
            name = reference.removeprefix(_REFERENCE)
            used[name] = used.get(name, 0) + 1
        for inner in value.values():
            _count(inner, used)
    elif isinstance(value, list):
        for inner in value:
            _count(inner, used)


def _holds(part: JsonSchema, name: str) -> bool:
    used: dict[str, int] = {}
    _count(part, used)
    return name in used


def _filled(shape: JsonSchema, parts: dict[str, JsonSchema]) -> JsonSchema:
    name = str(shape.get("$ref", "")).removeprefix(_REFERENCE)
    if name in parts:
        part = {word: value for word, value in parts[name].items() if word != "description"}
        return {**_filled(part, parts), **{word: value for word, value in shape.items() if word != "$ref"}}
    return {word: _filled_in(value, parts) for word, value in shape.items()}


def _filled_in(value: object, parts: dict[str, JsonSchema]) -> object:
    if isinstance(value, dict):
        return _filled(value, parts)
    return [_filled_in(inner, parts) for inner in value] if isinstance(value, list) else value
