"""The tokens, and the money, that a chat model uses: told with each answer, and summed for the session."""

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from fourhands.agents.models.dialects.deltas import Used
from fourhands.core.call_events import SessionEvent
from fourhands.settings.models import ModelPrice
from fourhands.workbench.sessions import SessionUsage

_PER = 1_000_000


class AgentUsage(SessionEvent, frozen=True, kw_only=True):
    """A model has answered, and used so many tokens; `cost` is told where the endpoint says it or a price is set.

    `total` is that of the session so far.
    """

    event = "agent.usage"
    model: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost: float | UnsetType = UNSET
    total: SessionUsage


def merged(before: Used, now: Used) -> Used:
    """Return what is known of one answer: what a later message tells replaces what an earlier one told."""
    told = {name: value for name in now.__struct_fields__ if (value := getattr(now, name)) is not None}
    return replace(before, **told)


def cost_of(used: Used, price: ModelPrice | None) -> float | None:
    """Return the cost of an answer: what the endpoint says, else by the price that is set; None if neither is."""
    if used.cost is not None or price is None:
        return used.cost
    cached = min(used.cached or 0, used.read or 0)
    fresh = (used.read or 0) - cached
    for_cached = price.input if price.cached is None else price.cached
    return (fresh * price.input + cached * for_cached + (used.written or 0) * price.output) / _PER


def added(total: SessionUsage, used: Used, cost: float | None) -> SessionUsage:
    """Return the session's usage with that of one more answer."""
    return SessionUsage(
        requests=total.requests + 1,
        input_tokens=total.input_tokens + (used.read or 0),
        output_tokens=total.output_tokens + (used.written or 0),
        cached_tokens=total.cached_tokens + (used.cached or 0),
        cost=total.cost if cost is None else (total.cost or 0.0) + cost,
    )
