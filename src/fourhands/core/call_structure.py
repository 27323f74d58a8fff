"""The structure of a call, checked before anything else looks at it."""

from collections.abc import Iterable, Mapping
from typing import get_args

from fourhands.core import schema
from fourhands.core.call import ActorKind, Call, CallOrigin

ID_LENGTH = 200
"""The longest id of a command, in characters."""

_NESTING = 64
_BREADTH = 1_000_000


def structure_problem(call: Call) -> str:
    """Return what is wrong with the structure of a call; an empty text where nothing is."""
    if not isinstance(call.command, str) or not call.command.strip():
        return f"the command must be a non-empty text, not {schema.show(call.command)}"
    if len(call.command) > ID_LENGTH or not call.command.isascii() or not call.command.isprintable():
        return f"the command must be up to {ID_LENGTH} printable ASCII characters, not {schema.show(call.command)}"
    if not isinstance(call.args, Mapping) or not all(isinstance(name, str) for name in call.args):
        return f"the arguments must be an object, not {schema.show(call.args)}"
    if call.actor.kind not in get_args(ActorKind) or not call.actor.id:
        return f"the actor must be a person, an agent or the system, with an id, not {call.actor}"
    if call.origin not in get_args(CallOrigin):
        return f"the origin must be one of {', '.join(get_args(CallOrigin))}, not {schema.show(call.origin)}"
    level: list[object] = list(call.args.values())
    for _ in range(_NESTING):
        if len(level) > _BREADTH:
            return f"the arguments hold more than {_BREADTH} values on one level"
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return ""
    return f"the arguments are nested deeper than {_NESTING} levels"


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()
