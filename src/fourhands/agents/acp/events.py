"""The events that only ACP agents cause. Values that come from the agent have whatever type it sent."""

from msgspec import UNSET

from fourhands.core.call_events import SessionEvent


class AgentExited(SessionEvent, frozen=True, kw_only=True):
    """An agent's process has ended; `code` is null where a signal ended it."""

    event = "agent.exited"
    code: int | None
    error: str
    hint: str


class AgentPlanned(SessionEvent, frozen=True, kw_only=True):
    """An agent's plan is this now."""

    event = "agent.planned"
    entries: object


class AgentOffered(SessionEvent, frozen=True, kw_only=True):
    """An agent knows these commands in messages to it."""

    event = "agent.offered"
    commands: object


class AgentUsed(SessionEvent, frozen=True, kw_only=True):
    """An agent has used so much of its context, and so much money."""

    event = "agent.used"
    used: object
    size: object
    cost: object


class AgentSwitched(SessionEvent, frozen=True, kw_only=True):
    """An agent is in another mode; at its start it also lists its modes."""

    event = "agent.switched"
    mode: object
    modes: object = UNSET


class OptionsOffered(SessionEvent, frozen=True, kw_only=True):
    """An agent's options, with their values, are these now."""

    event = "agent.configured"
    options: object


class AgentTitled(SessionEvent, frozen=True, kw_only=True):
    """An agent has found a title for its chat."""

    event = "agent.titled"
    title: str
