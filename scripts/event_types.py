"""Finds the structs of all events, by the modules that declare them."""

import re
from importlib import import_module
from pathlib import Path
from typing import get_args, get_type_hints

from msgspec import NODEFAULT, inspect

import fourhands
from fourhands.core.event import EventData

PACKAGE = Path(str(fourhands.__file__)).parent


def event_types() -> dict[str, type[EventData]]:
    """Return the struct of every kind of event, in the order of the kinds."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if re.search(r"^    event = |\(EventData,", path.read_text(), re.MULTILINE):
            import_module(".".join(("fourhands", *path.relative_to(PACKAGE).with_suffix("").parts)))
    found: dict[str, type[EventData]] = {}
    for struct in _subclasses(EventData):
        for kind in _kinds(struct):
            if kind in found:
                raise ValueError(f"{found[kind].__name__} and {struct.__name__} both declare the event {kind}")
            found[kind] = struct
    return dict(sorted(found.items()))


def unset_by_default(field: inspect.Field) -> bool:
    """Return True if a field is left out of the JSON unless it was set: its default is `UNSET`."""
    return not field.required and field.default is NODEFAULT and field.default_factory is NODEFAULT


def _subclasses(struct: type[EventData]) -> list[type[EventData]]:
    below = struct.__subclasses__()
    return [*below, *(inner for one in below for inner in _subclasses(one))]


def _kinds(struct: type[EventData]) -> tuple[str, ...]:
    """Return the kind that a struct names, or all that its own field `kind` may have; a base class has none."""
    if struct.event:
        return (struct.event,)
    return get_args(get_type_hints(struct)["kind"]) if "kind" in struct.__struct_fields__ else ()
