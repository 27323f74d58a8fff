"""A person who answers questions, and an agent they let in: for tests through a whole workbench."""

import asyncio
from collections import deque

from fourhands.app import App
from fourhands.core.call import Actor
from fourhands.core.event import Event
from fourhands.core.question import Answer, Choice, Question
from fourhands.workbench.sessions import Session, SessionSettings

PERSON = Actor.person()


def let_in(app: App, name: str = "helper", **state: object) -> Session:
    """An agent that has the person's consent."""
    session = app.bench.begin_session(name, "test")
    session.state = SessionSettings(**state)  # type: ignore[arg-type]
    app.gate.consent.grant(session.id)
    return session


async def until_settled() -> None:
    """Return when answers that were due at once have been given: none can come without something else happening."""
    for _ in range(10):
        await asyncio.sleep(0)


class Person:
    """Attends, sees each question once, and answers it."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.leave = app.questions.attend()
        self.ended: list[Event] = []
        self._asked: deque[str] = deque()
        self._news = asyncio.Event()
        app.events.published.subscribe(self._see)

    def _see(self, event: Event) -> None:
        if event.kind == "question.asked":
            self._asked.append(str(event.data["id"]))
            self._news.set()
        elif event.kind.startswith("question."):
            self.ended.append(event)

    async def question(self, limit_s: float | None = 40) -> Question:
        """The next question."""
        async with asyncio.timeout(limit_s):
            while not self._asked:
                self._news.clear()
                await self._news.wait()
        id = self._asked.popleft()
        return next(question for question in self.app.questions.open() if question.id == id)

    def answer(self, question: Question, choice: Choice, *, text: str | None = None, reason: str = "") -> None:
        """Give an answer."""
        self.app.questions.answer(question.id, Answer(choice=choice, text=text, reason=reason), PERSON)

    @property
    def was_asked(self) -> bool:
        """Whether a question waits that nobody has looked at."""
        return bool(self._asked)
