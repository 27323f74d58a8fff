"""The calls that wait for an answer: from a question back to exactly the call that was classified for it."""

from dataclasses import dataclass

from msgspec import Struct

from fourhands.core.approval import Assessment, Policy
from fourhands.core.bounded import BoundedDict
from fourhands.core.call import Call
from fourhands.core.call_events import CallFinished
from fourhands.core.event import Event, EventBus
from fourhands.core.question import Question
from fourhands.core.registry import Command

_MOST = 2000


@dataclass(frozen=True, slots=True)
class AssessedCall:
    """A call as the policy was given it, and the text that a person is shown for it."""

    call: Call
    command: Command
    args: Struct
    shown: str


class PendingCalls:
    """The calls of agents that were classified and have not ended yet."""

    def __init__(self, events: EventBus) -> None:
        self._calls: BoundedDict[str, AssessedCall] = BoundedDict(_MOST)
        self._dispose = events.published.subscribe(self._heard)

    def close(self) -> None:
        """Hear of no more calls."""
        self._dispose()

    def watching(self, policy: Policy) -> Policy:
        """Return the policy, with each call that it assesses remembered here."""

        def assess(call: Call, command: Command, args: Struct | None) -> Assessment | None:
            assessment = policy(call, command, args)
            if assessment is not None and args is not None and call.session is not None:
                known = self._calls.get(call.id)
                # Other arguments under the same id are a text that a person tries in place of the call's own.
                if known is None or known.call.args == call.args:
                    self._calls[call.id] = AssessedCall(call, command, args, assessment.shown)
            return assessment

        return assess

    def of(self, question: Question) -> AssessedCall | None:
        """Return the call that a question is about; None if there is none, or several that differ."""
        wanted = (question.session, question.command, question.shown)
        found = [one for one in self._calls.values() if (one.call.session, one.command.id, one.shown) == wanted]
        return found[0] if found and all(one.call.args == found[0].call.args for one in found) else None

    def forget(self, call_id: str) -> None:
        """Drop a call that was asked about before it came."""
        self._calls.pop(call_id, None)

    def _heard(self, event: Event) -> None:
        if isinstance(event.payload, CallFinished) and isinstance(event.payload.call_id, str):
            self.forget(event.payload.call_id)
