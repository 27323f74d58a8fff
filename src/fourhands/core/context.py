"""One call on its way through the gate: what is known of it so far."""

from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from fourhands.core.call import Call, Decision
from fourhands.core.effects import Effects
from fourhands.core.queue import QueueSlot, SessionQueue
from fourhands.core.registry import Command

CONCEALED = "[not kept]"
"""The placeholder, in the journal and in events, of an argument that may be a person's secret."""


@dataclass(slots=True)
class CallContext:
    """The state of one call; owned by `Gate.run`. Each step of the gate fills in its own part only."""

    call: Call  # with other arguments once a person has edited them
    asked: float
    number: int
    effects: Effects
    command: Command | None = None
    args: Struct | None = None
    verdict: Decision = field(default_factory=Decision)
    queue: SessionQueue | None = None
    slot: QueueSlot | None = None
    duration_ms: float = 0.0
    stood: str = ""  # where the text of the call's block stood in data that its session was given
    turn: str = ""
    checkpoint: str = ""  # the one before it
    noted: dict[str, object] = field(default_factory=dict)  # fields of the result besides the handler's own data

    @property
    def recorded(self) -> Call:
        """The call as it may be stored and reported: without a person's arguments that may be secret."""
        call, command = self.call, self.command
        if command is None or not command.conceals or call.actor.kind == "agent":
            return call
        # A misspelt name is concealed too: it may stand for one that is secret.
        plain = set(command.args_type.__struct_encode_fields__ if command.args_type else ()) - set(command.conceals)
        args = {name: value if name in plain else CONCEALED for name, value in call.args.items()}
        return replace(call, args=args)
