"""A JSON Schema from outside as a struct of ours, so that its arguments are checked and explained like any others.

Read are type, properties, required, items, enum, lengths, ranges and additionalProperties: what says which arguments
there are and what they look like. Whatever else a schema says (patterns, references, conditions) is not checked here;
the program that announced the command may. Unknown names are refused unless the schema allows more in so many words:
an argument that is misspelt would otherwise be left out in silence.
"""

import functools
import operator
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from fourhands.core import schema
from fourhands.core.errors import BadArgument

MOST_PROPERTIES = 100
_DEPTH = 6
_MOST_CHOICES = 200
_KINDS = ("string", "integer", "number", "boolean", "null", "array", "object")


def struct_of(name: str, given: Mapping[str, object] | None) -> type[Struct]:
    """Return the struct called `name` for a schema; None takes whatever comes. `BadArgument` says what is no schema."""
    if given is None:
        return msgspec.defstruct(name, [], kw_only=True, frozen=True)
    if given.get("type", "object") != "object":
        raise BadArgument(f"arguments are an object, not {schema.show(given['type'])}", hint='give "type": "object"')
    try:
        made = _struct(name, given, _DEPTH)
        schema.schema(made)  # what cannot be explained should fail here, not when it is asked for
        schema.describe(made)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        if isinstance(error, BadArgument):
            raise
        raise BadArgument(
            f"the schema cannot be read: {error}", hint="describe the arguments in simpler words"
        ) from None
    return made


def _struct(name: str, given: Mapping[str, object], depth: int) -> type[Struct]:
    properties, required = given.get("properties", {}), given.get("required", [])
    if not isinstance(properties, Mapping):
        raise BadArgument(f"properties are an object of names and schemas, not {schema.show(properties)}")
    if not isinstance(required, list) or not all(isinstance(one, str) for one in required):
        raise BadArgument(f"required is a list of names, not {schema.show(required)}")
    names = list(dict.fromkeys([*properties, *required]))
    if len(names) > MOST_PROPERTIES:
        raise BadArgument(f"{len(names)} properties", hint=f"describe at most {MOST_PROPERTIES}")
    fields: list[Any] = []
    renamed: dict[str, str] = {}
    for number, member in enumerate(names):
        inner = properties.get(member, {})
        own = f"field_{number}"  # a name may be anything; the struct's own ones must be Python's
        renamed[own] = member
        kind: Any = _kind(f"{name}_{number}", inner, depth - 1)
        words = inner.get("description") if isinstance(inner, Mapping) else None
        about = Meta(description=words) if isinstance(words, str) and words else None
        if member in required:
            fields.append((own, Annotated[kind, about] if about else kind))
        else:
            kind = Annotated[kind | None, about] if about else kind | None
            fields.append((own, kind, None))
    more = given.get("additionalProperties", not names)
    return msgspec.defstruct(
        name, fields, kw_only=True, frozen=True, forbid_unknown_fields=more is False, rename=renamed
    )


def _kind(name: str, given: object, depth: int) -> Any:
    """Return the type of a value; `object`, which accepts anything, where the schema has nothing to check."""
    if not isinstance(given, Mapping) or depth <= 0:
        return object
    choices = given.get("enum")
    if isinstance(choices, list) and 0 < len(choices) <= _MOST_CHOICES:
        # Of other values than texts and whole numbers no choice can be made; true is no number.
        plain = all(isinstance(one, str) or type(one) is int or one is None for one in choices)
        return _sound(Literal[tuple(choices)]) if plain else object
    kinds = given.get("type")
    several = kinds if isinstance(kinds, list) else [kinds]
    if not several or not all(kind in _KINDS for kind in several):
        return object
    if "number" in several:
        several = [kind for kind in several if kind != "integer"]
    made = [_one(name, str(kind), given, depth) for kind in dict.fromkeys(several)]
    return object if object in made else _sound(functools.reduce(operator.or_, made))


def _one(name: str, kind: str, given: Mapping[str, object], depth: int) -> Any:
    match kind:
        case "string":
            return _measured(str, min_length=_count(given, "minLength"), max_length=_count(given, "maxLength"))
        case "integer" | "number":
            limits = {"ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum", "lt": "exclusiveMaximum"}
            found = {word: _number(given, member) for word, member in limits.items()}
            if found["gt"] is not None:
                del found["ge"]
            if found["lt"] is not None:
                del found["le"]
            return _measured(int if kind == "integer" else float, **found)
        case "boolean":
            return bool
        case "null":
            return None
        case "array":
            items: Any = list.__class_getitem__(_kind(f"{name}_item", given.get("items"), depth - 1))
            return _measured(items, min_length=_count(given, "minItems"), max_length=_count(given, "maxItems"))
        case _:
            if not given.get("properties"):
                return dict[str, object]
            return _struct(name, given, depth)


def _measured(type_: Any, **limits: Any) -> Any:
    known = {word: value for word, value in limits.items() if value is not None}
    return _sound(Annotated[type_, Meta(**known)], otherwise=type_) if known else type_


def _sound(type_: Any, otherwise: Any = object) -> Any:
    """Return the type, or a wider one where msgspec cannot check it."""
    try:
        msgspec.convert(None, type_)
    except msgspec.ValidationError:
        return type_
    except (TypeError, ValueError, OverflowError, RecursionError):
        return otherwise
    return type_


def _count(given: Mapping[str, object], name: str) -> int | None:
    value = given.get(name)
    return value if type(value) is int and value >= 0 else None


def _number(given: Mapping[str, object], name: str) -> float | None:
    value = given.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 2**53:
        return None
    return value
