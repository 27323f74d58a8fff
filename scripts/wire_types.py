"""Write `web/src/wire/types.ts` from the Python structs: the one declaration of what crosses the wire.

Run by `make types`; `tests/test_types.py` fails when the file is stale. Structs keep their names, which are
unique in the whole package; `Commands` maps each command to its arguments and result, `Events` each kind of event
to its data, and `Event` is the union of all events, told apart by `kind`.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct, inspect

from fourhands.app import CONTRIBUTIONS
from fourhands.core.event import Event
from fourhands.workbench.terminals.authorship import AuthorSpan
from scripts.event_types import event_types, unset_by_default

TARGET = Path(__file__).parent.parent / "web" / "src" / "wire" / "types.ts"

_EVENT_FIELDS = {"kind": "Kind", "data": "Events[Kind]"}

HEAD = """// Written by scripts/wire_types.py from the Python structs (make types). Do not change by hand.
"""

EXTRAS: tuple[type[Struct], ...] = (AuthorSpan,)
"""Sent in messages, returned by no command."""

EVENT = """export type Event = { [Kind in keyof Events]: EventOf<Kind> }[keyof Events];
"""


def generate() -> str:
    """Return the text of the file."""
    names: dict[type, str] = {}
    commands = sorted((command for part in CONTRIBUTIONS for command in part.commands), key=lambda c: c.id)
    for command in commands:
        for root in (command.args_type, command.result_type):
            if root is not None:
                _collect(inspect.type_info(root), names)
    events = event_types()
    for extra in (*EXTRAS, *events.values(), Event):
        _collect(inspect.type_info(extra), names)
    _check(names)
    parts = [_interface(struct, names) for struct in sorted(names, key=names.__getitem__)]
    lines = []
    for command in commands:
        args = names[command.args_type] if command.args_type else "Record<string, never>"
        result = names[command.result_type] if command.result_type else "Record<string, never>"
        lines.append(f'  "{command.id}": {{ args: {args}; result: {result} }};')
    parts.append("export interface Commands {\n" + "\n".join(lines) + "\n}\n")
    kinds = [f'  "{kind}": {names[struct]};' for kind, struct in events.items()]
    parts.append("export interface Events {\n" + "\n".join(kinds) + "\n}\n")
    parts.append(EVENT)
    return HEAD + "\n" + "\n".join(parts)


def _collect(type_: inspect.Type, names: dict[type, str]) -> None:
    if isinstance(type_, inspect.StructType):
        if type_.cls not in names:
            names[type_.cls] = type_.cls.__name__
            for field in type_.fields:
                _collect(field.type, names)
        return
    for inner in _inside(type_):
        _collect(inner, names)


def _inside(type_: inspect.Type) -> Iterable[inspect.Type]:
    match type_:
        case inspect.Metadata():
            yield type_.type
        case inspect.UnionType():
            yield from type_.types
        case inspect.ListType() | inspect.VarTupleType():
            yield type_.item_type
        case inspect.TupleType():
            yield from type_.item_types
        case inspect.DictType():
            yield type_.value_type


def _check(names: dict[type, str]) -> None:
    taken: dict[str, type] = {}
    for struct, name in names.items():
        if name in taken:
            raise ValueError(f"{taken[name]} and {struct} would both be called {name}")
        taken[name] = struct


def _interface(struct: type, names: dict[type, str]) -> str:
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    lines = []
    if info.tag_field:
        lines.append(f"  {info.tag_field}: {_literal(info.tag)};")
    sent = not info.forbid_unknown_fields and not struct.__struct_config__.omit_defaults  # type: ignore[attr-defined]
    for field in info.fields:
        optional = "?" if unset_by_default(field) or not (field.required or sent) else ""
        typed = _EVENT_FIELDS.get(field.name) if struct is Event else None
        lines.append(f"  {field.encode_name}{optional}: {typed or _text(field.type, names)};")
    doc = (struct.__doc__ or "").strip().split("\n\n")[0].replace("\n    ", " ")
    name = "EventOf<Kind extends keyof Events>" if struct is Event else names[struct]
    head = f"/** {doc} */\nexport interface {name} {{"
    return head + ("\n" + "\n".join(lines) + "\n}\n" if lines else "}\n")


def _text(type_: inspect.Type, names: dict[type, str]) -> str:
    match type_:
        case inspect.Metadata():
            return _text(type_.type, names)
        case inspect.StrType():
            return "string"
        case inspect.BoolType():
            return "boolean"
        case inspect.IntType() | inspect.FloatType():
            return "number"
        case inspect.NoneType():
            return "null"
        case inspect.LiteralType():
            return " | ".join(_literal(value) for value in type_.values)
        case inspect.ListType() | inspect.VarTupleType():
            inner = _text(type_.item_type, names)
            return f"({inner})[]" if " " in inner else f"{inner}[]"
        case inspect.TupleType():
            return "[" + ", ".join(_text(item, names) for item in type_.item_types) + "]"
        case inspect.DictType():
            return f"Record<string, {_text(type_.value_type, names)}>"
        case inspect.StructType():
            return names[type_.cls]
        case inspect.UnionType():
            return " | ".join(_text(item, names) for item in type_.types)
    return "unknown"


def _literal(value: object) -> str:
    return msgspec.json.encode(value).decode()


if __name__ == "__main__":
    text = generate()
    if TARGET.is_file() and TARGET.read_text() == text:
        print(f"{TARGET.name} is up to date")
    else:
        TARGET.parent.mkdir(parents=True, exist_ok=True)
        TARGET.write_text(text)
        print(f"wrote {TARGET.name}", file=sys.stderr)
