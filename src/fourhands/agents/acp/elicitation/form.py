"""The restricted JSON Schema of an elicitation as fields of a form, and back again.

An agent's schema comes from outside: it is bounded, and what is wrong with it is said. A default that does not fit is
left out, as the protocol wants; so is a field of a type of somebody's own, unless it has to be filled in. A pattern
that cannot be checked in linear time is not checked here: the agent checks again.
"""

import math
import re
from collections.abc import Mapping
from typing import Any, Final, get_args

import msgspec

from fourhands.core.errors import BadArgument
from fourhands.core.form import FieldChoice, FieldFormat, FieldKind, FieldValue, FormField
from fourhands.safety.regex import compile_pattern
from fourhands.safety.shell import visible

MOST_FIELDS: Final = 100
MOST_CHOICES: Final = 500
LARGEST_BYTES: Final = 128 << 10
_LONGEST_NAME = 200
_LARGEST = 1 << 63

_TYPES: Final[Mapping[str, FieldKind]] = {
    "string": "text",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
    "array": "choices",
}
_BOUNDS: Final[Mapping[FieldKind, tuple[str, str]]] = {
    "text": ("minLength", "maxLength"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
    "choices": ("minItems", "maxItems"),
}
_FORMATS: Final[Mapping[str, FieldFormat]] = {one: one for one in get_args(FieldFormat)}
_SECRET = re.compile(
    r"passw(?:or)?d|passphrase|passcode|secret|token|credential|one[ -]time code|recovery[ _-]?code|card number"
    r"|(?:api|access|private|ssh)[ _-]?key|\b(?:pin|cvv|cvc|otp|iban)\b",
    re.IGNORECASE,
)


def read_form(schema: object) -> tuple[FormField, ...]:
    """Return the fields of a requested schema; raises `BadArgument` for one that is none, or too large."""
    members = _object(schema, "requestedSchema")
    if (size := _size(members)) > LARGEST_BYTES:
        raise BadArgument(f"the form is too large: {size:,} bytes", hint=f"at most {LARGEST_BYTES:,}; ask for less")
    if (type_ := members.get("type", "object")) != "object":
        raise BadArgument(f"a form's schema has the type 'object', not {type_!r:.100}")
    properties = _object(members.get("properties") or {}, "properties")
    if len(properties) > MOST_FIELDS:
        raise BadArgument(f"the form has {len(properties):,} fields", hint=f"at most {MOST_FIELDS}; ask in several")
    required = members.get("required") or []
    if not isinstance(required, list) or not all(isinstance(one, str) for one in required):
        raise BadArgument("required is a list of the names of fields")
    if unknown := next((one for one in required if one not in properties), None):
        raise BadArgument(f"required names {unknown!r:.100}, which is no field of the form")
    fields = (_field(name, spec, name in required) for name, spec in properties.items())
    return tuple(field for field in fields if field is not None)


def schema_of(fields: tuple[FormField, ...]) -> dict[str, object]:
    """Return the schema of a form, for another client that shows it."""
    return {
        "type": "object",
        "properties": {field.name: _property(field) for field in fields},
        "required": [field.name for field in fields if field.required],
    }


def _field(name: str, spec: object, required: bool) -> FormField | None:
    if not name or len(name) > _LONGEST_NAME:
        raise BadArgument(f"the name of a field has 1 to {_LONGEST_NAME} characters, not {len(name):,}")
    about = _object(spec, f"field {name!r}")
    type_ = about.get("type")
    kind = _TYPES.get(type_) if isinstance(type_, str) else None
    if kind is None:
        if isinstance(type_, str) and type_.startswith("_") and not required:
            return None
        raise BadArgument(f"field {name!r} has the type {type_!r:.100}", hint=f"types: {', '.join(_TYPES)}; no others")
    choices: tuple[FieldChoice, ...] = ()
    if kind == "text" and (about.get("enum") is not None or about.get("oneOf") is not None):
        kind, choices = "choice", _choices(name, about, "oneOf")
    elif kind == "choices":
        choices = _choices(name, _object(about.get("items"), f"the items of field {name!r}"), "anyOf")
    title, description = _words(about.get("title")), _words(about.get("description"))
    least, most = _bounds(name, kind, about)
    field = FormField(
        name=name,
        kind=kind,
        title=title or visible(name),
        description=description,
        required=required,
        choices=choices,
        least=least,
        most=most,
        pattern=_pattern(about.get("pattern")) if kind == "text" else "",
        format=_FORMATS.get(str(about.get("format")), "") if kind == "text" else "",
        secret=kind == "text" and (bool(_SECRET.search(f"{name} {title} {description}")) or _says_secret(about)),
    )
    return msgspec.structs.replace(field, default=_default(field, about.get("default")))


def _choices(name: str, about: Mapping[str, Any], titled: str) -> tuple[FieldChoice, ...]:
    """Return the choices of a field: with titles, or the plain values of `enum`."""
    listed = about.get(titled) if about.get(titled) is not None else about.get("enum")
    if not isinstance(listed, list) or not listed:
        raise BadArgument(f"field {name!r} needs its choices", hint=f"a list of texts in enum, or {titled} with const")
    if len(listed) > MOST_CHOICES:
        raise BadArgument(f"field {name!r} has {len(listed):,} choices", hint=f"at most {MOST_CHOICES}")
    found: dict[str, FieldChoice] = {}
    for one in listed:
        about_one = one if isinstance(one, dict) else {"const": one}
        value = about_one.get("const")
        if not isinstance(value, str):
            raise BadArgument(f"field {name!r} has a choice that is no text: {value!r:.100}")
        words = _words(about_one.get("title")) or visible(value)
        found.setdefault(value, FieldChoice(value=value, title=words, description=_words(about_one.get("description"))))
    return tuple(found.values())


def _bounds(name: str, kind: FieldKind, about: Mapping[str, Any]) -> tuple[float | None, float | None]:
    names = _BOUNDS.get(kind)
    if names is None:
        return None, None
    least, most = (_bound(name, one, about.get(one), whole=kind != "number") for one in names)
    if least is not None and most is not None and least > most:
        raise BadArgument(f"no value fits field {name!r}: {names[0]} is {least:g}, {names[1]} is {most:g}")
    return least, most


def _bound(name: str, bound: str, value: Any, *, whole: bool) -> float | None:
    if value is None:
        return None
    if not is_number(value) or (whole and value != int(value)) or (bound.startswith(("minL", "minI")) and value < 0):
        raise BadArgument(f"{bound} of field {name!r} is a {'whole ' if whole else ''}number, not {value!r:.100}")
    number: float = int(value) if whole else value
    return number


def is_number(value: Any) -> bool:
    """Return True for a number that JSON and every reader of it can hold."""
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST


def _pattern(pattern: object) -> str:
    if not isinstance(pattern, str) or not pattern:
        return ""
    try:
        compile_pattern(pattern)
    except BadArgument:
        return ""
    return pattern


def _default(field: FormField, value: Any) -> FieldValue | None:
    known = {choice.value for choice in field.choices}
    match field.kind:
        case "boolean":
            return value if isinstance(value, bool) else None
        case "number" | "integer":
            return value if is_number(value) and (field.kind == "number" or value == int(value)) else None
        case "choices":
            return [one for one in value if one in known] if isinstance(value, list) else None
        case "choice":
            return value if isinstance(value, str) and value in known else None
        case _:
            return value if isinstance(value, str) else None


def _property(field: FormField) -> dict[str, object]:
    listed = [
        {"const": one.value, "title": one.title, **({"description": one.description} if one.description else {})}
        for one in field.choices
    ]
    least, most = _BOUNDS.get(field.kind, ("", ""))
    told = {
        "type": next((type_ for type_, kind in _TYPES.items() if kind == field.kind), "string"),
        "title": field.title,
        "description": field.description or None,
        "oneOf": listed if field.kind == "choice" else None,
        "items": {"anyOf": listed} if field.kind == "choices" else None,
        least: field.least,
        most: field.most,
        "pattern": field.pattern or None,
        "format": field.format or None,
        "default": field.default,
    }
    return {name: value for name, value in told.items() if value is not None}


def _object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadArgument(f"{what} is an object, not {value!r:.100}")
    return value


def _size(members: Mapping[str, Any]) -> int:
    try:
        return len(msgspec.json.encode(members))
    except (RecursionError, OverflowError, UnicodeEncodeError) as error:
        raise BadArgument(f"the form cannot be read: {error}") from None


def _words(value: object) -> str:
    return visible(value).strip() if isinstance(value, str) else ""


def _says_secret(about: Mapping[str, Any]) -> bool:
    """Return True if the agent itself marks a field as secret, as Codex does, or some MCP servers."""
    meta = about.get("_meta")
    codex = meta.get("codex") if isinstance(meta, dict) else None
    return about.get("format") == "password" or (isinstance(codex, dict) and codex.get("isSecret") is True)
