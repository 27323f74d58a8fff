"""What a person has just allowed by an agent's own request: the same line is not asked about a second time.

An agent asks with session/request_permission, then runs the line by terminal/create, where the gate asks again. The
gate's question is then answered in the name of the same person, so that the journal says who allowed it. One
permission answers one question, for a short while, and only if what would run is the line that was shown.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from fourhands.commands.exec import as_line
from fourhands.core.call import Actor
from fourhands.core.errors import FourhandsError
from fourhands.core.event import Event
from fourhands.core.question import Answer
from fourhands.safety.shell import visible
from fourhands.safety.variables import changes_execution
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench

KEPT_S = 60.0
_MOST = 50


class Approvals:
    """The lines that were allowed and not yet run, by session."""

    def __init__(self, bench: Workbench, now: Callable[[], float] = time.monotonic) -> None:
        self._bench = bench
        self._now = now
        self._lines: dict[tuple[str, str], tuple[float, Actor]] = {}

    def add(self, session: Session, line: str, by: Actor) -> None:
        """A person has allowed this line once."""
        self._lines[session.id, line] = (self._now(), by)
        while len(self._lines) > _MOST:
            del self._lines[next(iter(self._lines))]

    @contextlib.contextmanager
    def answering(
        self, session: Session, command: str, args: Sequence[str] | None, env: Mapping[str, str]
    ) -> Iterator[None]:
        """For the length of a call that runs this, answer the gate's question about it if it was allowed."""
        line = as_line(command, args, {})
        when, person = self._lines.pop((session.id, line), (-KEPT_S, Actor.system()))
        # Variables come with the call only: the person has seen the line without them.
        if self._now() - when > KEPT_S or any(changes_execution(name) for name in env):
            yield
            return
        questions, wanted = self._bench.questions, visible(as_line(command, args, env))
        used = False

        def answer(id: str) -> None:
            with contextlib.suppress(FourhandsError):  # somebody was quicker
                questions.answer(id, Answer(choice="once", reason="allowed when the agent asked for it"), person)

        def asked(event: Event) -> None:
            nonlocal used
            data = event.data
            if event.kind != "question.asked" or data.get("session") != session.id or used:
                return
            used = data.get("command") == "openspace.terminal.exec" and data.get("shown") == wanted
            if used:
                # Not at once: whoever shows questions must hear of it before it is answered.
                asyncio.get_running_loop().call_soon(answer, str(data["id"]))

        forget = self._bench.events.published.subscribe(asked)
        try:
            yield
        finally:
            forget()
