"""The terminals that an editor sees in steps of an agent: their text now, and a word when it has changed."""

from collections.abc import Callable, Mapping, Sequence

from fourhands.core.errors import FourhandsError
from fourhands.core.event import Dispose
from fourhands.core.timing import Throttle
from fourhands.surfaces.acp_agent.session_updates import LONGEST_OUTPUT
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench

INTERVAL_S = 0.5
"""A step's output is told at most this often while it grows."""


class ShownTerminals:
    """Follows terminals of one session; `renew` is called with the step in which one has something new."""

    def __init__(self, bench: Workbench, session: Session, renew: Callable[[str], None]) -> None:
        self._bench = bench
        self._session = session
        self._renew = renew
        self._followed: dict[str, tuple[Throttle, list[Dispose]]] = {}

    def text(self, terminal_id: str) -> str | None:
        """Return the end of what a terminal has printed, as agents see it; None where it is gone."""
        try:
            terminal = self._bench.terminal(terminal_id)
            return self._bench.agent_seat(self._session.actor, terminal).tail_now(LONGEST_OUTPUT).text
        except FourhandsError:
            return None

    def follow(self, steps: Mapping[str, Sequence[str]]) -> None:
        """Follow the terminals of these steps from now on, and no others."""
        for step in self._followed.keys() - steps.keys():
            self._drop(step)
        for step, terminals in steps.items():
            if step not in self._followed:
                self._begin(step, terminals)

    def flush(self) -> None:
        """Tell what has not been told yet: a turn is about to end."""
        for throttle, _ in list(self._followed.values()):
            throttle.flush()

    def close(self) -> None:
        """Follow none any more."""
        for step in list(self._followed):
            self._drop(step)

    def _begin(self, step: str, terminals: Sequence[str]) -> None:
        throttle = Throttle(lambda: self._renew(step), INTERVAL_S)
        stops: list[Dispose] = []
        for id in terminals:
            try:
                stops.append(self._bench.terminal(id).listen(throttle.request))
            except FourhandsError:
                continue
        self._followed[step] = throttle, stops

    def _drop(self, step: str) -> None:
        throttle, stops = self._followed.pop(step)
        throttle.cancel()
        for stop in stops:
            stop()
