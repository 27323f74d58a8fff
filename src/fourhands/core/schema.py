"""The readings of a struct: its JSON Schema, its arguments in plain words, and errors that teach.

`decode` is the schema check of the gate. The sender of the arguments is often a model that will try again, so an error
names the bad value, what is accepted, and the nearest accepted name.
"""

import builtins
import difflib
import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import NODEFAULT, Struct, inspect

from fourhands.core.errors import BadArgument
from fourhands.core.text import truncate

JsonSchema = dict[str, object]
_S = TypeVar("_S", bound=Struct)
_SHOWN = 80
MOST_TYPES = 4096
"""The number of readings that are stored: types may be made at run time, from schemas that come from outside."""

_PATH = re.compile(r" - at (?:`key` in )?`\$(?P<path>[^`]*)`$")
_STEP = re.compile(r"\.(?P<name>[^.\[\]]+)|\[(?P<index>\d+|\.\.\.)\]")
_UNKNOWN = re.compile(r"^Object contains unknown field `(?P<name>.*)`$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(?P<name>.*)`$", re.DOTALL)


class Argument(NamedTuple):
    """One argument as a person, or a small model, reads it."""

    name: str
    type: str
    required: bool
    description: str
    default: object


@functools.lru_cache(MOST_TYPES)
def schema(type_: type[Struct] | None) -> JsonSchema:
    """Return the JSON Schema of a struct with its root inlined (None: an object without members). Do not change it."""
    if type_ is None:
        return {"type": "object", "properties": {}, "additionalProperties": False}
    whole = msgspec.json.schema(type_, schema_hook=_anything)
    rest: dict[str, JsonSchema] = dict(whole.get("$defs", {}))
    name = str(whole["$ref"]).removeprefix("#/$defs/")
    root = dict(rest[name])
    if f'"#/$defs/{name}"'.encode() not in msgspec.json.encode(rest):  # kept where the type holds itself
        del rest[name]
    root.pop("title", None)
    return {**root, "$defs": rest} if rest else root


def components(types: Iterable[type[Struct]], place: str) -> tuple[dict[type[Struct], JsonSchema], JsonSchema]:
    """Return a reference to each struct, and all structs by name as they are to stand at `place` of one document."""
    distinct = list(dict.fromkeys(types))
    references, parts = msgspec.json.schema_components(
        distinct, schema_hook=_anything, ref_template=f"#{place}/{{name}}"
    )
    return dict(zip(distinct, references, strict=True)), dict(parts)


@functools.lru_cache(MOST_TYPES)
def describe(type_: type[Struct] | None) -> tuple[Argument, ...]:
    """Return the arguments of a struct, required ones first, in words."""
    if type_ is None:
        return ()
    arguments = []
    for member in _fields(type_):
        default = None if member.default is NODEFAULT else member.default
        if member.default_factory is not NODEFAULT:
            default = msgspec.to_builtins(member.default_factory())
        text = words(member.type)
        if not member.required and default is None:
            text = text.removesuffix(" or null")  # leaving it out says the same, and is easier to understand
        arguments.append(Argument(member.encode_name, text, member.required, _description(member.type), default))
    return tuple(sorted(arguments, key=lambda argument: not argument.required))


def decode(args: Mapping[str, object], type_: type[_S]) -> _S:
    """Check `args` against a struct and return it; raise `BadArgument` with the value, the accepted and the nearest."""
    if type_.__struct_config__.forbid_unknown_fields:
        known = _names(type_)
        for name in args:
            if name not in known:
                raise unknown("argument", str(name), known)
    missing = [argument.name for argument in describe(type_) if argument.required and argument.name not in args]
    if missing:
        raise _missing(missing, inspect.type_info(type_))
    try:
        return msgspec.convert(args, type_)
    except msgspec.ValidationError as error:
        raise _explain(str(error), args, type_) from None
    except RecursionError:
        raise BadArgument("the arguments are nested too deeply", hint="send flat values") from None


def unknown(kind: str, name: str, known: Iterable[str], where: str = "") -> BadArgument:
    """Return the error for a name or value that is not among the `known`, with the nearest of them."""
    names = list(known)
    near = difflib.get_close_matches(name[:_SHOWN], names, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    accepted = ", ".join(names) or "none"
    return BadArgument(f"no {kind} {show(name)}{where}", hint=f"{guess}accepted: {accepted}", accepted=names)


def show(value: object) -> str:
    """Return a value as JSON, or as Python where it has none, cut to a length that fits a sentence."""
    try:
        text = msgspec.json.encode(value, enc_hook=repr).decode()
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return truncate(text, _SHOWN)


def words(type_: inspect.Type, depth: int = 4) -> str:
    """Return in plain words which values a type accepts; a type that holds itself is followed `depth` levels."""
    match type_:
        case inspect.Metadata():
            return words(type_.type, depth)
        case inspect.StrType():
            form = f" matching {type_.pattern}" if type_.pattern else ""
            return "text" + _length(type_.min_length, type_.max_length, "character") + form
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return "whole number" + _range(type_)
        case inspect.FloatType():
            return "number" + _range(type_)
        case inspect.NoneType():
            return "null"
        case inspect.LiteralType():
            return "one of " + ", ".join(show(value) for value in type_.values)
        case inspect.EnumType():
            return "one of " + ", ".join(show(member.value) for member in type_.cls)
        case inspect.ListType() | inspect.VarTupleType() | inspect.SetType() | inspect.FrozenSetType():
            return f"list of {_plural(type_.item_type, depth)}" + _length(type_.min_length, type_.max_length, "item")
        case inspect.DictType():
            return f"object of names and {_plural(type_.value_type, depth)}"
        case inspect.StructType():
            if depth == 0:
                return "object"
            members = [f"{m.encode_name}{'' if m.required else '?'}: {words(m.type, depth - 1)}" for m in type_.fields]
            tag = [f"{type_.tag_field}: {show(type_.tag)}"] if type_.tag_field else []
            return "object {" + ", ".join(tag + members) + "}"
        case inspect.UnionType():
            return " or ".join(words(member, depth) for member in type_.types)
        case inspect.AnyType() | inspect.CustomType(cls=builtins.object):
            return "anything"
    return type(type_).__name__.removesuffix("Type").lower()


def _anything(type_: type) -> JsonSchema:
    if type_ is object:
        return {"description": "Any JSON value."}
    raise NotImplementedError


def _plural(type_: inspect.Type, depth: int) -> str:
    text = words(type_, depth)
    if text in ("text", "whole number", "number"):
        return f"{text}s"
    return f"({text})" if " or " in text else text


def _range(type_: inspect.IntType | inspect.FloatType) -> str:
    low = type_.ge if type_.ge is not None else type_.gt
    high = type_.le if type_.le is not None else type_.lt
    if low is not None and high is not None:
        return f" from {low} to {high}" if type_.gt is None and type_.lt is None else f" between {low} and {high}"
    if low is not None:
        return f" from {low}" if type_.gt is None else f" above {low}"
    if high is not None:
        return f" up to {high}" if type_.lt is None else f" below {high}"
    return ""


def _length(least: int | None, most: int | None, unit: str) -> str:
    if most is not None:
        return f" of {least or 0} to {most} {unit}s"
    if least:
        return f" of at least {least} {unit}{'s' if least > 1 else ''}"
    return ""


def _description(type_: inspect.Type) -> str:
    if isinstance(type_, inspect.Metadata):
        return str((type_.extra_json_schema or {}).get("description", ""))
    if isinstance(type_, inspect.UnionType):
        return next((text for text in map(_description, type_.types) if text), "")
    return ""


@functools.lru_cache(MOST_TYPES)
def _fields(type_: type[Struct]) -> tuple[inspect.Field, ...]:
    info = inspect.type_info(type_)
    assert isinstance(info, inspect.StructType)
    return info.fields


@functools.lru_cache(MOST_TYPES)
def _names(type_: type[Struct]) -> tuple[str, ...]:
    return tuple(argument.name for argument in describe(type_))


def _missing(names: Sequence[str], type_: inspect.Type, where: str = "") -> BadArgument:
    plural = "s" if len(names) > 1 else ""
    needed = "; ".join(f"{m.encode_name}: {words(m.type)}" for m in _members(type_) if m.encode_name in names)
    return BadArgument(f"missing argument{plural} {', '.join(names)}{where}", hint=needed and f"give {needed}")


def _explain(message: str, args: Mapping[str, object], type_: type[Struct]) -> BadArgument:
    """Turn msgspec's message into a sentence about the value at the place it names."""
    place = _PATH.search(message)
    plain = message[: place.start()] if place else message
    path = place["path"].lstrip(".") if place else ""
    value, accepted, exact = _locate(place["path"] if place else "", args, inspect.type_info(type_))
    where = f" in {path!r}" if path else ""
    if found := _UNKNOWN.match(plain):
        return unknown("argument", found["name"], [member.encode_name for member in _members(accepted)], where)
    if found := _MISSING.match(plain):
        return _missing([found["name"]], accepted, where)
    choices = _choices(accepted)
    got = f", not {show(value)}" if exact else f": {plain}"
    error = BadArgument(f"argument {path!r} must be {_article(accepted)}{got}", hint=_description(accepted))
    if choices:
        near = difflib.get_close_matches(str(value)[:_SHOWN], choices, n=1)
        guess = f"did you mean {near[0]!r}? " if near else ""
        error.hint = f"{guess}accepted: {', '.join(choices)}"
        error.data["accepted"] = choices
    return error


def _article(type_: inspect.Type) -> str:
    text = words(type_)
    return (
        text
        if text.startswith(("text", "true", "one of", "null", "anything"))
        else f"a {text}".replace("a ob", "an ob")
    )


def _locate(path: str, value: object, type_: inspect.Type) -> tuple[object, inspect.Type, bool]:
    """Follow a path of msgspec through value and type; the flag says whether the value itself was found."""
    exact = True
    for step in _STEP.finditer(path):
        name, index = step["name"], step["index"]
        inner = _inner(type_, name)
        if inner is None:
            return value, type_, False
        type_ = inner
        if name is not None and isinstance(value, Mapping) and name in value:
            value = value[name]
        elif index is not None and index.isdigit() and isinstance(value, Sequence) and int(index) < len(value):
            value = value[int(index)]
        else:
            exact = False
    return value, type_, exact


def _inner(type_: inspect.Type, name: str | None) -> inspect.Type | None:
    for option in _options(type_):
        if isinstance(option, inspect.StructType) and name is not None:
            for member in option.fields:
                if member.encode_name == name:
                    return member.type
        elif isinstance(option, inspect.DictType) and name is None:
            return option.value_type
        elif isinstance(option, inspect.ListType | inspect.VarTupleType) and name is None:
            return option.item_type
    return None


def _options(type_: inspect.Type) -> Sequence[inspect.Type]:
    if isinstance(type_, inspect.Metadata):
        return _options(type_.type)
    if isinstance(type_, inspect.UnionType):
        return [inner for member in type_.types for inner in _options(member)]
    return [type_]


def _members(type_: inspect.Type) -> list[inspect.Field]:
    return [member for option in _options(type_) if isinstance(option, inspect.StructType) for member in option.fields]


def _choices(type_: inspect.Type) -> list[str]:
    choices: list[str] = []
    for option in _options(type_):
        if isinstance(option, inspect.LiteralType):
            choices += map(str, option.values)
        elif isinstance(option, inspect.EnumType):
            choices += [str(member.value) for member in option.cls]
    return choices
