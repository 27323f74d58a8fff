"""An agent's elicitation/create as a form or a link that the person answers, and what becomes of it.

Nothing is answered for the person: what no one answers, or a turn that ends meanwhile, is "cancel". What they typed
goes to this agent and nowhere else: neither into events nor into the journal, which has the choices that they made.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from fourhands.agents.acp.elicitation.form import read_form
from fourhands.agents.acp.elicitation.link import read_link
from fourhands.agents.acp.elicitation.values import fitting
from fourhands.agents.acp.errors import decode_params
from fourhands.agents.acp.jsonrpc import RpcListener
from fourhands.core.bounded import BoundedDict
from fourhands.core.call import Call, Decision, JournalEntry, Result
from fourhands.core.context import CONCEALED
from fourhands.core.errors import BadArgument, Denied, FourhandsError, LimitReached, NoAnswer
from fourhands.core.form import FieldValue, FormField
from fourhands.core.ids import new_id
from fourhands.core.question import Answered, Question, QuestionCompleted
from fourhands.safety.shell import visible
from fourhands.workbench.events import AgentNoted
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench

REQUEST: Final = "elicitation/create"
COMPLETE: Final = "elicitation/complete"
CAPABILITIES: Final[Mapping[str, object]] = {"form": {}, "url": {}}
"""The offer of `initialize`."""

MOST_OPEN: Final = 20
LONGEST_MESSAGE: Final = 20_000
_LINKS = 100
_CHOSEN = ("boolean", "choice", "choices")

log = logging.getLogger(__name__)


class ElicitationRequest(Struct, frozen=True, rename="camel"):
    """Params of elicitation/create."""

    mode: str
    message: str
    tool_call_id: Any = None
    requested_schema: Any = None
    elicitation_id: Any = None
    url: Any = None


class AcpElicitations:
    """The open elicitations of one agent, and the links that it has yet to call done."""

    def __init__(self, bench: Workbench, session: Session) -> None:
        self._bench = bench
        self._session = session
        self._open: set[str] = set()
        self._links: BoundedDict[str, Question] = BoundedDict(_LINKS)  # by the agent's own id
        self._limits: dict[asyncio.Timeout, float] = {}

    @property
    def notifications(self) -> dict[str, RpcListener]:
        """The notifications that a connection takes."""
        return {COMPLETE: self.complete}

    async def ask(self, params: dict[str, Any]) -> dict[str, object]:
        """Ask the person, and answer what they have filled in or decided."""
        question, link = self._question(decode_params(params, ElicitationRequest))
        if len(self._open) >= MOST_OPEN:
            raise LimitReached(f"{MOST_OPEN} elicitations wait for the person already", hint="wait for an answer")
        if link:
            self._links[link] = question
        asked, answered = time.time(), None
        answer: dict[str, object] = {"action": "cancel"}
        self._begin(question.id)
        try:
            answered = await self._bench.questions.ask(question, check=lambda values: fitting(question.fields, values))
            answer = _answer(question, answered)
        except (NoAnswer, Denied) as error:
            log.info("%s gets no answer: %s", self._session.name, error)
        finally:
            self._end(question.id)
            if link and answer["action"] != "accept":
                self._links.pop(link, None)
        await self._record(question, asked, answer, answered)
        return answer

    def complete(self, params: Mapping[str, Any]) -> None:
        """Take note that what the person was sent to a link for is done; of other links nothing is known."""
        # Not at once: the request that it is about may have come a moment ago, and not have begun.
        asyncio.get_running_loop().call_soon(self._completed, params.get("elicitationId"))

    def _completed(self, id: object) -> None:
        question = self._links.pop(id, None) if isinstance(id, str) else None
        if question is None or question.link is None:
            return
        if question.id in self._open:
            self._withdraw(question.id, "it is done already")
            return
        self._bench.events.emit(QuestionCompleted(id=question.id, session=self._session.id))
        text = f"{self._session.title or self._session.name}: what was to be done at {question.link.host} is done."
        self._bench.events.emit(AgentNoted(session=self._session.id, text=text), actor=self._session.actor)

    def cancel(self) -> None:
        """Take all of them back; each is answered with "cancel"."""
        for id in list(self._open):
            self._withdraw(id, "the turn was cancelled")

    @contextlib.asynccontextmanager
    async def timed(self, seconds: float) -> AsyncIterator[None]:
        """Limit a block to this time, in which the time for which a person is asked does not count."""
        async with asyncio.timeout(None if self._open else seconds) as limit:
            self._limits[limit] = seconds
            try:
                yield
            finally:
                del self._limits[limit]

    # -- one request -----------------------------------------------------------------------------------------------

    def _question(self, request: ElicitationRequest) -> tuple[Question, str]:
        """Return the question of a request, and of a link the agent's id for it."""
        if not request.message.strip() or len(request.message) > LONGEST_MESSAGE:
            long = f"{len(request.message):,}"
            raise BadArgument(f"message has 1 to {LONGEST_MESSAGE:,} characters, not {long}", hint="say what it is for")
        fields: tuple[FormField, ...] = ()
        link, id = None, ""
        if request.mode == "form":
            fields = read_form(request.requested_schema)
        elif request.mode == "url":
            link, id = read_link(request.url), self._link_id(request.elicitation_id)
        else:
            raise BadArgument(f"no mode {request.mode!r:.100}", hint="modes: form, url")
        step = request.tool_call_id
        question = Question(
            id=new_id("question"),
            kind="form" if link is None else "link",
            session=self._session.id,
            text=visible(request.message.strip()),
            options=("once", "deny", "dismiss"),
            command=REQUEST,
            shown=link.url if link is not None else "",
            fields=fields,
            link=link,
            detail={"toolCall": {"toolCallId": step}} if isinstance(step, str) and step else {},
            actor=self._session.actor,
        )
        return question, id

    def _link_id(self, id: object) -> str:
        if not isinstance(id, str) or not 0 < len(id) <= 1000:
            raise BadArgument(f"elicitationId has 1 to 1000 characters, not {id!r:.100}")
        if id in self._links:
            raise BadArgument(f"the elicitation {id!r:.100} is open already", hint="give each of them an id of its own")
        return id

    def _begin(self, id: str) -> None:
        self._open.add(id)
        for limit in self._limits:
            if not limit.expired():
                limit.reschedule(None)

    def _end(self, id: str) -> None:
        self._open.discard(id)
        if self._open:
            return
        now = asyncio.get_running_loop().time()
        for limit, seconds in self._limits.items():
            if not limit.expired():
                limit.reschedule(now + seconds)

    def _withdraw(self, id: str, reason: str) -> None:
        with contextlib.suppress(FourhandsError):
            self._bench.questions.withdraw(id, reason)

    async def _record(
        self, question: Question, asked: float, answer: Mapping[str, object], answered: Answered | None
    ) -> None:
        """Keep in the journal what was asked and decided."""
        about = {"message": question.text, **_asked(question)}
        content = answer.get("content")
        data = {"action": answer["action"], **({"content": _kept(question.fields, content)} if content else {})}
        verdict = Decision() if answered is None else Decision(choice=answered.answer.choice, by=answered.by.id)
        await self._bench.journal.record(
            JournalEntry(
                call=Call(command=REQUEST, args=about, actor=self._session.actor, origin="acp"),
                verdict=verdict,
                result=Result(success=True, data=data),
                asked=asked,
                finished=time.time(),
            )
        )


def _answer(question: Question, answered: Answered) -> dict[str, object]:
    match answered.answer.choice:
        case "deny":
            return {"action": "decline"}
        case "dismiss":
            return {"action": "cancel"}
    if question.kind == "link":
        return {"action": "accept"}
    return {"action": "accept", "content": fitting(question.fields, answered.answer.values or {})}


def _asked(question: Question) -> dict[str, object]:
    if question.link is not None:
        # What follows the path may be a secret of the agent's: the state of a sign-in, say.
        return {"url": question.link.url.partition("#")[0].partition("?")[0]}
    return {"fields": [field.name for field in question.fields]}


def _kept(fields: Sequence[FormField], content: Any) -> dict[str, FieldValue]:
    """Return the answer as the journal may have it: choices from the agent's own list, and nothing typed."""
    kinds = {field.name: field.kind for field in fields}
    return {name: value if kinds[name] in _CHOSEN else CONCEALED for name, value in content.items()}
