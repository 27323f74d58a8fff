"""Values that a person has filled in, held to the fields of the form before they go to the agent."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final
from urllib.parse import urlsplit

from fourhands.agents.acp.elicitation.form import is_number
from fourhands.core.errors import BadArgument
from fourhands.core.form import FieldFormat, FieldKind, FieldValue, FormField
from fourhands.safety.regex import compile_pattern

LONGEST_TEXT: Final = 100_000
_MAIL = re.compile(r"[^\s@]+@[^\s@]+")


def fitting(fields: Sequence[FormField], values: Mapping[str, FieldValue]) -> dict[str, FieldValue]:
    """Return the values that go to the agent; what was left empty is left out.

    Raises `BadArgument` with the name of the field as `field` where a value does not fit.
    """
    known = {field.name: field for field in fields}
    if unknown := next((name for name in values if name not in known), None):
        raise BadArgument(f"the form has no field {unknown!r:.100}", hint=f"fields: {', '.join(known)}", field=unknown)
    found: dict[str, FieldValue] = {}
    for field in fields:
        value = values.get(field.name)
        if value is None or value == "" or (value == [] and not field.required):
            if field.required:
                raise _bad(field, "has to be filled in")
            continue
        found[field.name] = _CHECKS[field.kind](field, value)
    return found


def _text(field: FormField, value: Any) -> FieldValue:
    if not isinstance(value, str):
        raise _bad(field, "is a text")
    if len(value) > LONGEST_TEXT:
        raise _bad(field, f"has {len(value):,} characters, of at most {LONGEST_TEXT:,}")
    _within(field, len(value), "character")
    if field.pattern and compile_pattern(field.pattern).search(value) is None:
        raise _bad(field, f"has to match {field.pattern}")
    if field.format:
        fits, example = _FORMATS[field.format]
        if not fits(value):
            raise _bad(field, f"is {example}")
    return value


def _number(field: FormField, value: Any) -> FieldValue:
    if not is_number(value):
        raise _bad(field, "is a number")
    if field.kind == "integer":
        if value != int(value):
            raise _bad(field, "is a whole number")
        value = int(value)
    number: int | float = value
    if field.least is not None and number < field.least:
        raise _bad(field, f"is at least {field.least:g}")
    if field.most is not None and number > field.most:
        raise _bad(field, f"is at most {field.most:g}")
    return number


def _boolean(field: FormField, value: Any) -> FieldValue:
    if not isinstance(value, bool):
        raise _bad(field, "is true or false")
    return value


def _choice(field: FormField, value: Any) -> FieldValue:
    if not isinstance(value, str) or value not in [one.value for one in field.choices]:
        raise _bad(field, f"is one of {', '.join(one.value for one in field.choices)}"[:500])
    return value


def _choices(field: FormField, value: Any) -> FieldValue:
    known = [one.value for one in field.choices]
    if not isinstance(value, list) or len(set(map(repr, value))) < len(value) or any(one not in known for one in value):
        raise _bad(field, f"is a list of some of {', '.join(known)}"[:500])
    _within(field, len(value), "choice")
    return value


def _within(field: FormField, size: int, unit: str) -> None:
    if field.least is not None and size < field.least:
        raise _bad(field, f"needs at least {field.least:g} {unit}{'s' * (field.least != 1)}")
    if field.most is not None and size > field.most:
        raise _bad(field, f"has at most {field.most:g} {unit}{'s' * (field.most != 1)}")


def _bad(field: FormField, what: str) -> BadArgument:
    return BadArgument(f"{field.title} {what}", field=field.name)


def _is_date(text: str) -> bool:
    try:
        return len(text) == len("2026-01-31") and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _is_moment(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _is_address(text: str) -> bool:
    try:
        return bool(urlsplit(text).scheme) and not re.search(r"\s", text)
    except ValueError:
        return False


_FORMATS: dict[FieldFormat, tuple[Callable[[str], bool], str]] = {
    "email": (lambda text: _MAIL.fullmatch(text) is not None, "an address such as ann@example.org"),
    "uri": (_is_address, "an address such as https://example.org/"),
    "date": (_is_date, "a date such as 2026-01-31"),
    "date-time": (_is_moment, "a date and a time with its zone, such as 2026-01-31T12:00:00Z"),
}
_CHECKS: dict[FieldKind, Callable[[FormField, Any], FieldValue]] = {
    "text": _text,
    "number": _number,
    "integer": _number,
    "boolean": _boolean,
    "choice": _choice,
    "choices": _choices,
}
