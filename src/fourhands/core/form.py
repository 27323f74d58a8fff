"""Parts of a question that asks for more than a choice: the fields of a form to fill in, a link to open."""

from typing import Literal, TypeAlias

from msgspec import Struct

FieldKind = Literal["text", "number", "integer", "boolean", "choice", "choices"]
FieldFormat = Literal["", "email", "uri", "date", "date-time"]
FieldValue: TypeAlias = str | int | float | bool | list[str]
"""The value of one field: of `choices` the chosen ones, as a list."""


class FieldChoice(Struct, frozen=True, kw_only=True, rename="camel"):
    """One of the values that a field accepts."""

    value: str
    title: str
    description: str = ""


class FormField(Struct, frozen=True, kw_only=True, rename="camel"):
    """One field of a form. `least` and `most` bound a number, the length of a text, the count of choices."""

    name: str
    kind: FieldKind
    title: str
    description: str = ""
    required: bool = False
    default: FieldValue | None = None
    choices: tuple[FieldChoice, ...] = ()
    least: float | None = None
    most: float | None = None
    pattern: str = ""
    format: FieldFormat = ""
    secret: bool = False  # it seems to ask for one


class OfferedLink(Struct, frozen=True, kw_only=True, rename="camel"):
    """An address that a person is asked to open, its host, and what is odd about it."""

    url: str
    host: str
    warnings: tuple[str, ...] = ()
