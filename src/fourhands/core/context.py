"""One call on its way through the gate: what has been learned of it so far, for the stations that come after."""

from dataclasses import dataclass, field

from msgspec import Struct

from fourhands.core.call import Call, Decision
from fourhands.core.effects import Effects
from fourhands.core.queue import QueueSlot, SessionQueue
from fourhands.core.registry import Command


@dataclass(slots=True)
class CallContext:
    """Owned by `Gate.run`; a station fills in its own part and leaves the rest alone."""

    call: Call  # with other arguments once a person has edited them
    asked: float
    number: int
    effects: Effects
    command: Command | None = None
    args: Struct | None = None
    verdict: Decision = field(default_factory=Decision)
    lane: SessionQueue | None = None
    ticket: QueueSlot | None = None
    duration_ms: float = 0.0
    stood: str = ""  # where the text of the call's block stood in data that its session was given
    noted: dict[str, object] = field(default_factory=dict)  # what the result says besides the handler's own data
