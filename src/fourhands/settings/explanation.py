"""Errors of settings: the key, its value, and what it may be."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct, inspect

from fourhands.core.errors import BadArgument
from fourhands.core.text import quote


def explained(raw: dict[str, Any], where: str, text: str, settings: type[Struct]) -> BadArgument:
    """Return the error for settings that do not fit their declaration; `text` is msgspec's own."""
    place = re.search(r" - at `\$\.?(.*)`$", text)
    names = re.findall(r"[^.\[\]]+|\[[^\]]*\]", place.group(1)) if place else []
    expected = text.removesuffix(place.group(0)) if place else text
    if "[...]" in names:
        names[names.index("[...]")] = _culprit(raw, names, settings)
    if unknown := re.search(r"unknown field `([^`]*)`", text):
        key = ".".join([*names, unknown.group(1)])
        known = _names_in(raw, names, settings)
        return BadArgument(
            f"{where} sets {key}, which is not a setting",
            hint=f"settings there: {', '.join(known)}" if known else "see docs/settings.md",
        )
    value, kind = _at(raw, inspect.type_info(settings), names)
    if names[-1:] == ["type"]:
        expected = f"it must be one of: {', '.join(_tags(settings, names[0]))}"
    allowed = _allowed(kind) or expected.replace("`", "").replace("object", "table")
    return BadArgument(
        f"{'.'.join(names).replace('.[', '[')} = {quote(value, 100)} in {where} is wrong: {allowed}",
        hint="see docs/settings.md",
    )


def _at(value: Any, kind: inspect.Type, names: list[str]) -> tuple[Any, inspect.Type | None]:
    """Return the value under these names and its declared type, as far as they can be followed."""
    declared: inspect.Type | None = kind
    for name in names:
        if name.startswith("["):
            number = name[1:-1]
            value = value[int(number)] if number.isdecimal() and isinstance(value, list) else value
            declared = getattr(declared, "item_type", None)
            continue
        value = value.get(name) if isinstance(value, dict) else value
        if isinstance(declared, inspect.DictType):
            declared = declared.value_type
            if isinstance(declared, inspect.UnionType) and isinstance(value, dict):
                tagged = [one for one in declared.types if isinstance(one, inspect.StructType)]
                declared = next((one for one in tagged if one.tag == value.get("type")), declared)
            continue
        fields = declared.fields if isinstance(declared, inspect.StructType) else ()
        declared = next((field.type for field in fields if field.encode_name == name), None)
    return value, declared


def _tags(settings: type[Struct], group: str) -> Iterator[str]:
    """Yield the types that a table of this group may have."""
    kind = _at({}, inspect.type_info(settings), [group])[1]
    values = kind.value_type if isinstance(kind, inspect.DictType) else None
    for one in values.types if isinstance(values, inspect.UnionType) else ():
        if isinstance(one, inspect.StructType):
            yield str(one.tag)


def _culprit(raw: dict[str, Any], names: list[str], settings: type[Struct]) -> str:
    """Return the name of the table in a group that is wrong; the error itself does not have it."""
    group = next(field for field in msgspec.structs.fields(settings) if field.encode_name == names[0])
    for name, value in raw[names[0]].items():
        try:
            msgspec.convert({name: value}, group.type)
        except msgspec.ValidationError:
            return str(name)
    return "[...]"


def _names_in(raw: dict[str, Any], names: list[str], settings: type[Struct]) -> list[str]:
    _, kind = _at(raw, inspect.type_info(settings), names)
    return [field.encode_name for field in kind.fields] if isinstance(kind, inspect.StructType) else []


def _allowed(kind: inspect.Type | None) -> str:
    """Return what a value may be, in words; an empty text where msgspec's own words are enough."""
    if isinstance(kind, inspect.Metadata):
        words = (kind.extra_json_schema or {}).get("description")
        return f"it must be {words}" if words else _allowed(kind.type)
    if isinstance(kind, inspect.UnionType):  # of a value that may be left out, and that is all TOML knows of null
        return next((words for one in kind.types if (words := _allowed(one))), "")
    if isinstance(kind, inspect.IntType | inspect.FloatType):
        what = "a whole number" if isinstance(kind, inspect.IntType) else "a number"
        if kind.gt is not None:
            return f"it must be {what} above {kind.gt:g} and up to {kind.le}"
        return f"it must be {what} from {kind.ge} to {kind.le}" if kind.ge is not None else f"it must be {what}"
    if isinstance(kind, inspect.BoolType):
        return "it must be true or false"
    if isinstance(kind, inspect.StrType):
        return "it must be a text with something in it" if kind.min_length else "it must be a text"
    if isinstance(kind, inspect.LiteralType):
        return f"it must be one of: {', '.join(repr(value) for value in kind.values)}"
    return ""
