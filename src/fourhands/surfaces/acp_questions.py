"""Questions to the person as session/request_permission, for those who sit in an editor and look at no page.

Every page that attends is asked too; the first answer counts, and the other side's question is withdrawn.
"""

import asyncio
import contextlib
from collections.abc import Callable, Mapping

from fourhands.agents.acp.jsonrpc import RpcConnection
from fourhands.core.call import Actor
from fourhands.core.errors import FourhandsError
from fourhands.core.event import Dispose, Event
from fourhands.core.question import Answer, Choice, Question, QuestionClosed
from fourhands.core.tasks import Tasks
from fourhands.workbench.workbench import Workbench

_OPTIONS: dict[Choice, tuple[str, str]] = {
    "once": ("Allow", "allow_once"),
    "session": ("Allow for this session", "allow_always"),
    "always": ("Always allow", "allow_always"),
    "never": ("Never allow", "reject_always"),
    "deny": ("Refuse", "reject_once"),
}


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
        self._leave: dict[str, Dispose] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._forget = bench.events.published.subscribe(self._happened)

    def attend(self, session: str) -> None:
        """Ask the questions of this session from now on, and those that are open."""
        if session in self._leave:
            return
        self._leave[session] = self._bench.questions.attend(session)
        for question in self._bench.questions.open(session):
            self._begin(question)

    def leave(self, session: str) -> None:
        """Ask no more questions of this session."""
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

    def _begin(self, question: Question) -> None:
        if question.id not in self._asking:
            self._asking[question.id] = self._tasks.start(self._ask(question), "a question to an editor")

    def _end(self, id: str) -> None:
        asking = self._asking.pop(id, None)
        if asking is not None:
            asking.cancel()

    async def _ask(self, question: Question) -> None:
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
        try:
            answer = await self._peer.request("session/request_permission", params)
        except FourhandsError:
            self._deaf(question)
            return
        outcome = answer.get("outcome") if isinstance(answer, dict) else None
        chosen = outcome.get("optionId") if isinstance(outcome, dict) else None
        choice = next((choice for choice in question.options if choice == chosen), None)
        self._asking.pop(question.id, None)
        with contextlib.suppress(FourhandsError):
            if choice is None:
                self._bench.questions.withdraw(question.id, f"{self.client} gave no answer")
            else:
                self._bench.questions.answer(question.id, Answer(choice=choice), Actor.person("acp", self.client))

    def _deaf(self, question: Question) -> None:
        """Stop counting the other side as an audience: it cannot be asked. Its question stays open for others only."""
        self._asking.pop(question.id, None)
        self._leave.pop(question.session, lambda: None)()
        if not self._bench.questions.audience(question.session):
            with contextlib.suppress(FourhandsError):
                self._bench.questions.withdraw(question.id, "no one is available to approve this")
