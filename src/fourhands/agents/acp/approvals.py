"""Lines that a person has just allowed by an agent's own request, so that they are not asked about them twice.

An agent asks with session/request_permission, then runs the line by terminal/create, where the gate asks again. The
gate's question is then answered in the name of the same person, so that the journal says who allowed it. One
permission answers one question, for a short while, and only if what would run is the line that was shown.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fourhands.commands.exec import as_line
from fourhands.core.bounded import BoundedDict
from fourhands.core.call import Actor
from fourhands.core.errors import FourhandsError
from fourhands.core.event import Event
from fourhands.core.question import Answer, Question
from fourhands.safety.shell import visible
from fourhands.safety.variables import changes_execution
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench

KEPT_S = 60.0
_MOST = 50


@dataclass(frozen=True, slots=True)
class _Permission:
    """One permission: when it was given, and by which person."""

    at: float
    by: Actor


class Approvals:
    """The lines that were allowed and not yet run, by session. `now` is a clock in seconds that never goes back."""

    def __init__(self, bench: Workbench, now: Callable[[], float] = time.monotonic) -> None:
        self._bench = bench
        self._now = now
        self._lines: BoundedDict[tuple[str, str], _Permission] = BoundedDict(_MOST)

    def add(self, session: Session, line: str, by: Actor) -> None:
        """Remember that this person has allowed this line once."""
        self._lines[session.id, line] = _Permission(self._now(), by)

    @contextlib.contextmanager
    def answering(
        self, session: Session, command: str, args: Sequence[str] | None, env: Mapping[str, str]
    ) -> Iterator[None]:
        """For the length of a call that runs this, answer the gate's question about it if it was allowed."""
        given = self._lines.pop((session.id, as_line(command, args, {})), None)
        # Variables come with the call only: the person has seen the line without them.
        if given is None or self._now() - given.at > KEPT_S or any(changes_execution(name) for name in env):
            yield
            return
        questions, wanted = self._bench.questions, visible(as_line(command, args, env))
        used = False

        def answer(id: str) -> None:
            with contextlib.suppress(FourhandsError):  # a person was quicker
                questions.answer(id, Answer(choice="once", reason="allowed when the agent asked for it"), given.by)

        def asked(event: Event) -> None:
            nonlocal used
            question = event.payload
            if not isinstance(question, Question) or question.session != session.id or used:
                return
            used = question.command == "openspace.terminal.exec" and question.shown == wanted
            if used:
                # Not at once: the surfaces that show questions must hear of this one before it is answered.
                asyncio.get_running_loop().call_soon(answer, question.id)

        forget = self._bench.events.published.subscribe(asked)
        try:
            yield
        finally:
            forget()
