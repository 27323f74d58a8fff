"""Questions to the person as session/request_permission, for those who sit in an editor and look at no page.

Every page that attends is asked too; the first answer counts, and the other side's question is withdrawn. A form or a
link goes to an editor that has announced elicitation; to others it is not shown, and only the page asks.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from fourhands.agents.acp.elicitation.form import schema_of
from fourhands.agents.acp.elicitation.requests import COMPLETE
from fourhands.agents.acp.elicitation.requests import REQUEST as ELICITATION
from fourhands.agents.acp.jsonrpc import RpcConnection
from fourhands.core.bounded import BoundedDict
from fourhands.core.call import Actor
from fourhands.core.errors import BadArgument, FourhandsError
from fourhands.core.event import Dispose, Event
from fourhands.core.question import (
    DECISIONS,
    Answer,
    Choice,
    Question,
    QuestionClosed,
    QuestionCompleted,
    QuestionKind,
)
from fourhands.core.tasks import Tasks
from fourhands.workbench.workbench import Workbench

_OPTIONS: dict[Choice, tuple[str, str]] = {
    "once": ("Allow", "allow_once"),
    "session": ("Allow for this session", "allow_always"),
    "always": ("Always allow", "allow_always"),
    "never": ("Never allow", "reject_always"),
    "deny": ("Refuse", "reject_once"),
}
_ACTIONS: Final[dict[object, Choice]] = {"accept": "once", "decline": "deny", "cancel": "dismiss"}
_MODES: Final[dict[str, QuestionKind]] = {"form": "form", "url": "link"}
_LINKS: Final = 100


class EditorQuestions:
    """The questions of some sessions, asked over one connection. `about` gives what is known of a question's step."""

    def __init__(
        self,
        bench: Workbench,
        tasks: Tasks,
        peer: RpcConnection,
        about: Callable[[Question], Mapping[str, object]] = lambda _: {},
    ) -> None:
        self.client = "editor"
        self._bench = bench
        self._tasks = tasks
        self._peer = peer
        self._about = about
        self._shown = DECISIONS
        self._kinds: dict[str, frozenset[QuestionKind]] = {}  # that can be shown, by session
        self._links: BoundedDict[str, None] = BoundedDict(_LINKS)  # that were opened in the editor
        self._leave: dict[str, Dispose] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._forget = bench.events.published.subscribe(self._happened)

    def introduced(self, capabilities: object) -> None:
        """Take note of what the other side can show, as it says in `clientCapabilities`."""
        offered = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
        modes = offered if isinstance(offered, dict) else {}
        self._shown = DECISIONS | {kind for mode, kind in _MODES.items() if modes.get(mode) not in (None, False)}

    def attend(self, session: str) -> None:
        """Ask the questions of this session from now on, and those that are open."""
        if session in self._leave:
            return
        self._kinds[session] = self._shown
        self._leave[session] = self._bench.questions.attend(session, self._shown)
        for question in self._bench.questions.open(session):
            self._begin(question)

    def leave(self, session: str) -> None:
        """Ask no more questions of this session."""
        self._kinds.pop(session, None)
        self._leave.pop(session, lambda: None)()
        for question in self._bench.questions.open(session):
            self._end(question.id)

    def close(self) -> None:
        """Leave all sessions: the connection has ended."""
        self._forget()
        for leave in self._leave.values():
            leave()
        self._leave.clear()
        for id in list(self._asking):
            self._end(id)

    def _happened(self, event: Event) -> None:
        data = event.payload
        if isinstance(data, Question) and data.session in self._leave:
            question = next((one for one in self._bench.questions.open() if one.id == data.id), None)
            if question is not None:
                self._begin(question)
        elif isinstance(data, Question | QuestionClosed):
            self._end(data.id)  # Answered elsewhere: the editor is told to withdraw it.
        elif isinstance(data, QuestionCompleted) and data.id in self._links:
            del self._links[data.id]
            self._peer.notify(COMPLETE, {"elicitationId": data.id})

    def _begin(self, question: Question) -> None:
        if question.id not in self._asking and question.kind in self._kinds[question.session]:
            self._asking[question.id] = self._tasks.start(self._ask(question), "a question to an editor")

    def _end(self, id: str) -> None:
        asking = self._asking.pop(id, None)
        if asking is not None:
            asking.cancel()

    async def _ask(self, question: Question) -> None:
        try:
            answer = await (self._decide(question) if question.kind in DECISIONS else self._elicit(question))
        except FourhandsError:
            self._deaf(question)
            return
        self._asking.pop(question.id, None)
        questions = self._bench.questions
        with contextlib.suppress(FourhandsError):
            if answer is None:
                questions.withdraw(question.id, f"{self.client} gave no answer")
                return
            try:
                questions.answer(question.id, answer, Actor.person("acp", self.client))
            except BadArgument as error:  # the form is gone there: it cannot be corrected
                questions.withdraw(question.id, f"{self.client} sent values that do not fit: {error.message}")

    async def _decide(self, question: Question) -> Answer | None:
        options = [
            {"optionId": choice, "name": _OPTIONS[choice][0], "kind": _OPTIONS[choice][1]}
            for choice in question.options
            if choice in _OPTIONS
        ]
        step: dict[str, object] = {
            "toolCallId": question.id,
            "title": question.text,
            "kind": "execute",
            "status": "pending",
        }
        if question.shown:
            step["rawInput"] = {"command": question.shown}
        if question.facts:
            step["content"] = [{"type": "content", "content": {"type": "text", "text": "\n".join(question.facts)}}]
        step |= self._about(question)
        params = {"sessionId": question.session, "toolCall": step, "options": options}
        answer = await self._peer.request("session/request_permission", params)
        outcome = answer.get("outcome") if isinstance(answer, dict) else None
        chosen = outcome.get("optionId") if isinstance(outcome, dict) else None
        choice = next((choice for choice in question.options if choice == chosen), None)
        return None if choice is None else Answer(choice=choice)

    async def _elicit(self, question: Question) -> Answer | None:
        params = {"sessionId": question.session, "message": question.text, **self._about(question)}
        if question.link is None:
            params |= {"mode": "form", "requestedSchema": schema_of(question.fields)}
        else:
            params |= {"mode": "url", "elicitationId": question.id, "url": question.link.url}
        given: Any = await self._peer.request(ELICITATION, params)
        choice = _ACTIONS.get(given.get("action")) if isinstance(given, dict) else None
        if choice is None:
            return None
        if choice != "once":
            return Answer(choice=choice)
        if question.link is not None:
            self._links[question.id] = None
            return Answer(choice=choice)
        content = given.get("content")
        return Answer(choice=choice, values=content if isinstance(content, dict) else {})

    def _deaf(self, question: Question) -> None:
        """Stop counting the other side as an audience: it cannot be asked. Its question stays open for others only."""
        self._asking.pop(question.id, None)
        self._leave.pop(question.session, lambda: None)()
        questions = self._bench.questions
        if question.kind not in DECISIONS and not self._peer.closed:  # it can still say yes or no
            self._kinds[question.session] = DECISIONS
            self._leave[question.session] = questions.attend(question.session, DECISIONS)
        if not questions.audience(question.session, question.kind):
            with contextlib.suppress(FourhandsError):
                questions.withdraw(question.id, "no one is available to approve this")
