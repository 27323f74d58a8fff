"""One call on its way through the gate, and the questions it meets.

The call runs in a task of its own. In the older generation the request waits for it and asks its client meanwhile; in
the newer one the request is answered with what must be asked, the call stays where it is in the gate, before anything
has been done, and the client's next request finds it again by its id.
"""

import asyncio
import contextlib
import secrets
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar

from fourhands.core.call import Actor, Call, Result
from fourhands.core.errors import Conflict
from fourhands.core.event import Event
from fourhands.core.question import DECISIONS, Answer, Question, QuestionClosed
from fourhands.core.tasks import Tasks
from fourhands.surfaces.mcp.forms import Forms
from fourhands.surfaces.mcp.limits import DEFAULT, McpLimits
from fourhands.workbench.workbench import Workbench

CURRENT: ContextVar["PendingCall | None"] = ContextVar("CURRENT", default=None)
"""The exchange whose task this is: a question is asked inside the call that needs it."""


class PendingCall:
    """A call, its task, its open questions and what it has brought about; `changed` is set whenever there is news."""

    def __init__(
        self,
        bench: Workbench,
        call: Call,
        client: str,
        *,
        attends: bool,
        forms: Forms | None = None,
        limits: McpLimits = DEFAULT,
    ) -> None:
        self.id = secrets.token_urlsafe(18)
        self.call = call
        self.changed = asyncio.Event()
        self.on_change: Callable[[], None] | None = None
        self.open: dict[str, Question] = {}  # those that its client is asked
        self.asked: dict[str, Question] = {}  # all, also those that only the page shows
        self.caused: deque[Event] = deque(maxlen=limits.caused)
        self.followers = 0
        self.asker: object | None = None  # of several followers the one that asks the client
        self.task_id = ""  # if it is a task: messages about it name it
        self._bench = bench
        self._forms = forms or Forms()
        self._by = Actor.person(f"person-{call.actor.id}", f"you, in {client}")
        self._leave: Callable[[], None] | None = None
        if attends:
            self._leave = bench.questions.attend(call.session, DECISIONS)
            self._forms.opened(call.actor.id)
        self._unsubscribe = bench.events.published.subscribe(self._happened)
        self._deafen = bench.questions.private.subscribe(self._happened)
        self._task: asyncio.Task[Result] | None = None
        self._expiry: asyncio.TimerHandle | None = None

    def start(self, tasks: Tasks) -> None:
        """Begin; the task lives with `tasks`, not with the request."""
        token = CURRENT.set(self)
        try:
            self._task = tasks.start(self._bench.gate.run(self.call), f"MCP call {self.call.command}")
        finally:
            CURRENT.reset(token)
        self._task.add_done_callback(lambda _: self._ended())

    @property
    def result(self) -> Result | None:
        """The result, or None while the call runs."""
        if self._task is None or not self._task.done():
            return None
        if self._task.cancelled():
            return Result(success=False, error="the call was cancelled", code="cancelled")
        return self._task.result()

    async def news(self, timeout_s: float) -> None:
        """Wait for a result, a question or an event, at most so long."""
        try:
            async with asyncio.timeout(timeout_s):
                await self.changed.wait()
        except TimeoutError:
            pass
        if self.result is None:  # else it stays set, for all who follow
            self.changed.clear()

    def cancel(self) -> None:
        """Cancel the call."""
        if self._task is not None:
            self._task.cancel()

    def suspend(self, life_s: float) -> None:
        """Cancel the call unless the client returns within this time."""
        self.resume()
        self._expiry = asyncio.get_running_loop().call_later(life_s, self.cancel)

    def resume(self) -> None:
        """Drop the deadline of `suspend`: the client has returned."""
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None

    def answer(self, question: Question, given: Answer | None) -> None:
        """Pass on what the person chose in the client; None, nothing chosen, leaves it to others if there are any."""
        if question.id not in self.open:
            return  # Answered elsewhere, or too late.
        if given is not None:
            with contextlib.suppress(Conflict):  # its asker has just gone
                self._bench.questions.answer(question.id, given, self._by)
            return
        self.retire()
        self.open.pop(question.id, None)
        self._tell()
        # Its client's other calls show forms too, but none for this question.
        if self._bench.questions.audience(question.session) <= self._forms.count(self.call.actor.id):
            self._bench.questions.withdraw(question.id, "it was dismissed without an answer")

    def retire(self) -> None:
        """Its client takes no more questions."""
        if self._leave is not None:
            self._leave()
            self._leave = None
            self._forms.closed(self.call.actor.id)

    def _happened(self, event: Event) -> None:
        mine = CURRENT.get() is self
        if mine and self.followers:
            self.caused.append(event)
            self.changed.set()
        data = event.payload
        if isinstance(data, Question):
            if mine:
                self.asked[data.id] = data
                if self._leave is not None and data.kind in DECISIONS:  # its client can show it
                    self.open[data.id] = data
                self._tell()
        elif isinstance(data, QuestionClosed) and self.asked.pop(data.id, None) is not None:
            self.open.pop(data.id, None)
            self._tell()

    def _ended(self) -> None:
        self.retire()
        self.resume()
        self._unsubscribe()
        self._deafen()
        self.open.clear()
        self.asked.clear()
        self._tell()

    def _tell(self) -> None:
        self.changed.set()
        if self.on_change is not None:
            self.on_change()
