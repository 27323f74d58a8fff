"""Questions to a person: an event with an id and options, which any surface may show. The first answer wins.

No answer is neither yes nor no: it is the error `no-answer`; a refusal is `denied`. Decided here:

- No one attends: the question fails at once with `no-answer`, or, with `wait_for_audience`, it is kept open and its
  time limit starts when someone comes.
- Everyone leaves while it is open: it stays open until its deadline, or for good if it has none. A page that is being
  reloaded is away for a second, and open questions are shown again when it is back.
- An agent never answers: a surface that speaks for a person (a page, an ACP or MCP client) passes that person as `by`.
- A session may be asked about in one way only (`AskBy`): by forms alone, its questions are told to `private` listeners
  and to no page; by none, they are refused at once.
- Who can only say yes or no cannot fill in a form: they announce the kinds that they can show, and others wait.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct, field

from fourhands.core.ask_by import AskBy, unasked
from fourhands.core.bounded import BoundedDict
from fourhands.core.call import Actor, Scope
from fourhands.core.errors import BadArgument, Conflict, Denied, NoAnswer, NotFound
from fourhands.core.event import Dispose, Event, EventBus, EventData, Signal
from fourhands.core.form import FieldValue, FormField, OfferedLink
from fourhands.core.ids import new_id
from fourhands.core.timing import Later, Timer, call_later

Choice = Literal["once", "edit", "session", "always", "never", "deny", "dismiss"]
QuestionKind = Literal["consent", "confirmation", "browser", "network", "form", "link"]
DECISIONS: Final[frozenset[QuestionKind]] = frozenset({"consent", "confirmation", "browser", "network"})
"""The kinds that are answered by a choice alone. A form is filled in, a link is opened."""
_REMEMBERED = 256


class AssessedPart(Struct, frozen=True, rename="camel"):
    """One part of a classified line, with its own level and reason."""

    text: str
    level: str
    reason: str = ""


class Question(EventData, frozen=True, kw_only=True):
    """A question to a person, with everything they need to decide."""

    event = "question.asked"

    kind: QuestionKind
    session: str
    text: str  # the sentence
    options: tuple[Choice, ...]
    scopes: tuple[Scope, ...] = ()  # of a consent: what may be given
    command: str = ""  # the command's id
    terminal: str = ""  # id or title of the terminal that it is meant for
    shown: str = ""  # exactly what was classified, invisible characters made visible
    level: str = ""
    reason: str = ""
    parts: tuple[AssessedPart, ...] = ()
    rule: str = ""  # the narrow rule that "session" would save, in words
    facts: tuple[str, ...] = ()  # where it would run and whether it can be undone, in plain words
    detail: dict[str, object] = field(default_factory=dict)  # such as the deletion preview: files matched, bytes
    fields: tuple[FormField, ...] = ()  # of a form: what is to be filled in
    link: OfferedLink | None = None  # of a link: what is to be opened
    actor: Actor | None = None  # who wants it
    limit_s: float | None = field(default=None, name="limitSeconds")
    id: str = field(default_factory=lambda: new_id("question"))
    created: float = 0.0  # seconds since the epoch, as is the deadline
    deadline: float | None = None

    @property
    def seen(self) -> str:
        """The words that a person reads before they answer, which their browser signs with the answer."""
        return f"{self.text}\n{self.shown}"


class QuestionAnswered(EventData, frozen=True, kw_only=True):
    """A person has answered a question."""

    event = "question.answered"
    id: str
    session: str
    choice: Choice
    by: Actor
    reason: str


class QuestionExpired(EventData, frozen=True, kw_only=True):
    """A question was not answered in time."""

    event = "question.expired"
    id: str
    session: str


class QuestionWithdrawn(EventData, frozen=True, kw_only=True):
    """A question was withdrawn: no answer is wanted any more."""

    event = "question.withdrawn"
    id: str
    session: str
    reason: str


class QuestionHeld(EventData, frozen=True, kw_only=True):
    """A question waits without a time limit from now on: the person is looking into it."""

    event = "question.held"
    id: str
    session: str


QuestionClosed: TypeAlias = QuestionAnswered | QuestionExpired | QuestionWithdrawn
"""The events after which a question is no longer open."""


class QuestionCompleted(EventData, frozen=True, kw_only=True):
    """The errand of a link that a person opened is done, as the agent says; the question was answered before."""

    event = "question.completed"
    id: str
    session: str


class Answer(Struct, frozen=True, kw_only=True, rename="camel"):
    """A person's choice: `edit` brings a new text or new arguments, `deny` may bring a reason.

    Of the scopes that a question offers, all are meant where none are named. A form is sent by `once`, with its
    `values`; `dismiss` is neither yes nor no.
    """

    choice: Choice
    text: str | None = None
    args: dict[str, object] | None = None
    reason: str = ""
    scopes: tuple[Scope, ...] | None = None
    values: dict[str, FieldValue] | None = None


class Answered(Struct, frozen=True):
    """An answer and who gave it."""

    answer: Answer
    by: Actor


class Review(Struct, frozen=True, kw_only=True, rename="camel"):
    """The classification of a text that a person might put in place of the one they were asked about."""

    level: str
    reason: str = ""
    shown: str = ""
    parts: tuple[AssessedPart, ...] = ()
    facts: tuple[str, ...] = ()
    detail: dict[str, object] = field(default_factory=dict)


Reviewer = Callable[[str], Awaitable[Review]]
"""Classifies a text that a person may put in place of the asked one; raises `BadArgument` for one that cannot be."""

ValuesCheck = Callable[[dict[str, FieldValue]], object]
"""Looks at the values of a form that is sent; raises `BadArgument`, whose data name the field, if they do not fit."""


class _Open:
    """A question that waits, and the future its asker waits on."""

    def __init__(self, question: Question, reviewer: Reviewer | None, check: ValuesCheck | None) -> None:
        self.question = question
        self.reviewer = reviewer
        self.check = check
        self.future: asyncio.Future[Answered] = asyncio.get_running_loop().create_future()
        self.timer: Timer | None = None
        self.shown = False


class Questions:
    """The open questions and those who can answer them."""

    def __init__(
        self,
        events: EventBus,
        *,
        wait_for_audience: bool = False,
        now: Callable[[], float] = time.time,
        later: Later = call_later,
    ) -> None:
        self.wait_for_audience = wait_for_audience
        self.private: Signal[Event] = Signal()  # the events of questions that only a session's own client is shown
        self._ways: dict[str, AskBy] = {}
        self._events = events
        self._now = now
        self._later = later
        self._open: dict[str, _Open] = {}
        self._closed: BoundedDict[str, str] = BoundedDict(_REMEMBERED)  # how each ended
        self._audience: dict[object, tuple[str | None, Collection[QuestionKind] | None]] = {}

    def attend(self, session: str | None = None, kinds: Collection[QuestionKind] | None = None) -> Dispose:
        """Announce someone who can answer, for one session or for all, until the returned function is called.

        `kinds` are those of the questions that they can show; None for all.
        """
        token = object()
        self._audience[token] = session, kinds
        for waiting in list(self._open.values()):
            if not waiting.shown and self.audience(waiting.question.session, waiting.question.kind):
                self._show(waiting)

        def leave() -> None:
            self._audience.pop(token, None)

        return leave

    def audience(self, session: str | None = None, kind: QuestionKind | None = None) -> int:
        """Return how many could answer a question of this session, and of this kind."""
        way = self._ways.get(session or "")
        if way == "never":
            return 0
        able = [one for one, kinds in self._audience.values() if kind is None or kinds is None or kind in kinds]
        pages = sum(attended is None for attended in able) if way != "forms" else 0
        own = sum(attended == session for attended in able if attended is not None)
        return pages + (own if way != "page" else 0)

    def ask_only(self, session: str, way: AskBy | None) -> None:
        """Ask about this session in one way only from now on; None asks in every way."""
        if way is None:
            self._ways.pop(session, None)
        else:
            self._ways[session] = way

    def way(self, session: str) -> AskBy | None:
        """Return the one way in which this session is asked about; None if there are all."""
        return self._ways.get(session)

    def open(self, session: str | None = None, *, private: bool = False) -> list[Question]:
        """Return the open questions, oldest first; those that only their session's client is shown if asked for."""
        questions = [waiting.question for waiting in self._open.values()]
        shown = (one for one in questions if private or self._ways.get(one.session) != "forms")
        return [question for question in shown if session is None or question.session == session]

    def require_asking(self, session: str, about: str, text: str, kind: QuestionKind | None = None) -> None:
        """Return if this session's questions reach anyone; raises `Denied` at once where they never will."""
        way = self._ways.get(session)
        if way == "never" or (way == "forms" and not self.audience(session, kind)):
            raise unasked(way, about, text)

    async def ask(
        self, question: Question, reviewer: Reviewer | None = None, check: ValuesCheck | None = None
    ) -> Answered:
        """Wait for a person's answer; a refusal is an answer too. `NoAnswer` when none comes.

        The reviewer classifies the text of a person who edits; a form is closed only by values that pass the check.
        """
        self.require_asking(question.session, question.kind, question.text, question.kind)
        there = self.audience(question.session, question.kind)
        if not there and not self.wait_for_audience:
            raise NoAnswer(
                f"no one is available to approve this: {question.text}",
                hint="try again when the person has opened the workbench in a browser, or let them do this",
                reason="nobody",
            )
        waiting = _Open(msgspec.structs.replace(question, created=self._now()), reviewer, check)
        self._open[question.id] = waiting
        try:
            if there:
                self._show(waiting)
            return await waiting.future
        except asyncio.CancelledError:
            self._withdrawn(question, "no longer wanted")
            raise
        finally:
            if waiting.timer is not None:
                waiting.timer.cancel()

    def answer(self, id: str, answer: Answer, by: Actor) -> None:
        """Answer an open question; a later answer is a `Conflict`."""
        if by.kind in ("agent", "program"):
            raise Denied(f"{by.kind}s cannot answer a question", hint="let a person answer it on the page")
        waiting = self._find(id)
        question = waiting.question
        if answer.choice not in question.options:
            accepted = ", ".join(question.options)
            raise BadArgument(f"this question has no answer {answer.choice!r}", hint=f"accepted: {accepted}")
        if answer.choice == "edit" and answer.text is None and answer.args is None:
            raise BadArgument("an edit needs the new text or the new arguments", hint="pass text or args")
        if answer.scopes is not None and answer.choice != "deny":
            if not question.scopes:
                raise BadArgument("this question is not about scopes", hint="leave scopes out")
            if not answer.scopes or not set(answer.scopes) <= set(question.scopes):
                accepted = ", ".join(question.scopes)
                raise BadArgument("consent needs some of its scopes", hint=f"one or more of {accepted}; or choose deny")
        if answer.values is not None and (question.kind != "form" or answer.choice != "once"):
            raise BadArgument("values are for a form that is sent", hint="leave values out")
        if waiting.check is not None and answer.choice == "once":
            waiting.check(answer.values or {})
        told = QuestionAnswered(id=id, session=question.session, choice=answer.choice, by=by, reason=answer.reason)
        self._end(id, told, f"answered by {by.name}: {answer.choice}")
        waiting.future.set_result(Answered(answer, by))

    async def review(self, id: str, text: str) -> Review:
        """Return the classification of this text, if it took the place of what an open question asks about."""
        reviewer = self._find(id).reviewer
        if reviewer is None:
            raise BadArgument("the subject of this question cannot be edited", hint="answer it as it is, or deny it")
        return await reviewer(text)

    def hold(self, id: str) -> None:
        """Let an open question wait without a time limit, since a person is looking into it."""
        waiting = self._find(id)
        if waiting.timer is not None:
            waiting.timer.cancel()
            waiting.timer = None
        question = waiting.question
        if question.limit_s is not None:
            waiting.question = msgspec.structs.replace(question, limit_s=None, deadline=None)
            self._tell(QuestionHeld(id=id, session=question.session), question.session)

    def withdraw(self, id: str, reason: str = "withdrawn") -> None:
        """Withdraw a question; its asker gets `NoAnswer`."""
        waiting = self._find(id)
        self._withdrawn(waiting.question, reason)
        waiting.future.set_exception(NoAnswer(f"the question was withdrawn: {reason}", reason="withdrawn"))

    def _find(self, id: str) -> _Open:
        waiting = self._open.get(id)
        if waiting is not None:
            if waiting.future.done():  # its asker was cancelled and has not run yet to remove it
                raise Conflict(f"question {id} has already been withdrawn", hint="its answer has no effect any more")
            return waiting
        if id in self._closed:
            raise Conflict(f"question {id} is closed: {self._closed[id]}", hint="the first answer counted")
        raise NotFound.of("question", id, self._open)

    def _show(self, waiting: _Open) -> None:
        question = waiting.question
        limit_s = question.limit_s
        waiting.shown = True
        if limit_s is not None:
            waiting.question = question = msgspec.structs.replace(question, deadline=self._now() + limit_s)
            waiting.timer = self._later(limit_s, lambda: self._expire(waiting))
        self._tell(question, question.session, question.actor)

    def _expire(self, waiting: _Open) -> None:
        question = waiting.question
        if self._open.get(question.id) is waiting and not waiting.future.done():
            self._end(question.id, QuestionExpired(id=question.id, session=question.session), "expired")
            text = f"no answer within {question.limit_s:g} s: {question.text}"
            hint = "nothing was run; ask again when the person is here"
            waiting.future.set_exception(NoAnswer(text, hint=hint, reason="expired"))

    def _withdrawn(self, question: Question, reason: str) -> None:
        self._end(question.id, QuestionWithdrawn(id=question.id, session=question.session, reason=reason), "withdrawn")

    def _end(self, id: str, told: EventData, remember: str) -> None:
        waiting = self._open.pop(id, None)
        if waiting is None:
            return
        self._closed[id] = remember
        self._tell(told, waiting.question.session)

    def _tell(self, data: EventData, session: str, actor: Actor | None = None) -> None:
        if self._ways.get(session) == "forms":
            self.private.fire(Event.of(data, actor=actor))
        else:
            self._events.emit(data, actor=actor)
