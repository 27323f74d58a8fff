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


def record_step(bench: Workbench, call: Call, effects: Effects, description: str, step: Transition) -> None:
    """Make a change of the layout undoable; what changed nothing is not listed."""
    if step.change is not None and call.actor.kind == "agent":
        effects.undo(description, turn(bench.state, step))
