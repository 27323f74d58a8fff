"""Lines that an agent runs in a process of its own and asks about: the same rule decides as for all its other lines."""

from fourhands.commands.policy import WorkbenchPolicy
from fourhands.core.approval import Assessment
from fourhands.providers.base import Isolation
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench


class OwnLines:
    """The lines of one session's agent."""

    def __init__(self, bench: Workbench, session: Session) -> None:
        self._bench = bench
        self._session = session
        self._policy = WorkbenchPolicy(bench)

    def assess(self, line: str) -> Assessment:
        """Return the assessment of a line, in the place where the agent runs it."""
        return self._policy.own_line(self._session.actor, line)

    async def run_unasked(self, found: Assessment) -> bool:
        """Return True if nobody is asked: the agent may run programs, and these would run unasked by every door."""
        session = self._session
        if "run" not in self._bench.gate.consent.scopes(session.id, session.name):
            return False
        if found.level == "safe":
            return True
        walled = session.place is not None and session.place.isolation != Isolation.NONE
        return bool(found.unasked) and walled and (found.secure is None or not await found.secure())
