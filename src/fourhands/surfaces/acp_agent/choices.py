"""An agent's modes and options in the form that ACP has for them."""

from collections.abc import Iterable
from typing import Any

from fourhands.workbench.agent_options import AgentOption, Choosable, Described


def modes_on_wire(described: Described) -> dict[str, Any] | None:
    """Return the modes that an editor can offer; None where there are none, or none is chosen."""
    if not described.modes or not described.mode:
        return None
    return {"currentModeId": described.mode, "availableModes": [_named(one, "id") for one in described.modes]}


def options_on_wire(options: Iterable[AgentOption]) -> list[dict[str, Any]]:
    """Return the options that an editor can offer."""
    return [
        {
            "id": option.id,
            "name": option.name,
            "type": option.kind,
            "currentValue": option.value,
            **({"description": option.description} if option.description else {}),
            **({"category": option.category} if option.category else {}),
            **({"options": [_named(one, "value") for one in option.choices]} if option.kind == "select" else {}),
        }
        for option in options
    ]


def _named(one: Choosable, key: str) -> dict[str, str]:
    return {key: one.id, "name": one.name, **({"description": one.description} if one.description else {})}
