"""The part of the gate that the workbench, its commands and its surfaces use."""

from typing import Protocol

from fourhands.core.call import Call, Decision, Result
from fourhands.core.consent import AllowRules, Consent
from fourhands.core.quote import Given


class GateControl(Protocol):
    """The part of the gate that commands about agents need."""

    consent: Consent
    rules: AllowRules
    given: Given

    async def run(self, call: Call, *, block: str = "") -> Result:
        """Pass a call, and say of which block."""
        ...

    async def permit(self, call: Call) -> Decision:
        """Decide about a call before it comes."""
        ...

    async def record(self, call: Call, result: Result, verdict: Decision | None = None) -> Result:
        """Store and report a call that was decided before the gate."""
        ...

    def pause(self, session: str) -> None:
        """Hold a session's queue."""
        ...

    def resume(self, session: str) -> None:
        """Let it go on."""
        ...

    def paused(self, session: str) -> bool:
        """Return True if it is held."""
        ...

    def pending(self, session: str) -> int:
        """Return how many calls wait or run."""
        ...

    def stop(self, session: str, reason: str = ...) -> int:
        """Drop what waits, cancel what runs."""
        ...

    def end(self, session: str) -> None:
        """Forget a session."""
        ...
