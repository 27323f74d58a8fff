"""The parts that all commands share: the form of their arguments, and undo of a change of the layout."""

from typing import Annotated

from msgspec import Meta, Struct

from fourhands.core.call import Call
from fourhands.core.effects import Effects
from fourhands.workbench.layout.snapshot import Transition
from fourhands.workbench.layout.undo import turn
from fourhands.workbench.workbench import Workbench

From0 = Annotated[int, Meta(ge=0)]
From1 = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(ge=0)]


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Arguments of a command: unknown names are refused, names on the wire are camelCase."""


class Nothing(Struct, frozen=True):
    """An empty result: the command worked."""


def owner_of(call: Call) -> str:
    """Return the owner of what a call makes: the agent's session, or the person."""
    return call.actor.id


def record_step(bench: Workbench, effects: Effects, description: str, step: Transition) -> None:
    """Make a change of the layout undoable, if it changed anything. Only what agents do is listed for undo."""
    if step.change is not None:
        effects.undo(description, turn(bench.state, step))
