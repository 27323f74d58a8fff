"""One permission answers one question: that of the line which was shown, soon, in the name of the person who gave it.

Each question here waits until an answer that was due has been given, so a wrong one cannot lose a race to the test's.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import pytest
from tests.kit.person import let_in, until_settled
from tests.kit.workbench import open_app

from fourhands.agents.acp.approvals import Approvals
from fourhands.app import App
from fourhands.core.call import Actor
from fourhands.core.question import Answer, Answered, Question
from fourhands.safety.shell import visible

pytestmark = pytest.mark.timeout(60)

ANN = Actor(kind="person", id="ann", name="Ann")
LINE = "rm -rf victim"


class Desk:
    """An agent's session, and permissions with a clock."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.session = let_in(app)
        self.now = 0.0
        self.approvals = Approvals(app.bench, now=lambda: self.now)
        app.questions.attend()

    def running(
        self, command: str = LINE, args: Sequence[str] | None = None, env: Mapping[str, str] | None = None
    ) -> AbstractContextManager[None]:
        """The block around a call that runs this."""
        return self.approvals.answering(self.session, command, args, env or {})

    async def ask(self, shown: str = LINE, **members: Any) -> Answered | None:
        """Ask as the gate does; the answer that comes of itself, if one does."""
        given = {"session": self.session.id, "command": "openspace.terminal.exec", **members}
        question = Question(kind="confirmation", text="?", options=("once", "deny"), shown=shown, **given)
        asking = self.app.tasks.start(self.app.questions.ask(question), "a question")
        await until_settled()
        if asking.done():
            return asking.result()  # type: ignore[no-any-return]
        assert question.id in [one.id for one in self.app.questions.open()]
        asking.cancel()
        await asyncio.wait([asking])
        return None


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with open_app() as app:
        yield Desk(app)


@pytest.mark.parametrize("start", [0.0, 12345.0])
@pytest.mark.parametrize("later_s", [0.0, 59.0])
async def test_what_was_allowed_is_answered_by_the_person_who_did(desk: Desk, start: float, later_s: float) -> None:
    desk.now = start
    desk.approvals.add(desk.session, LINE, ANN)
    desk.now += later_s
    with desk.running():
        answered = await desk.ask()
    assert answered is not None
    assert (answered.answer.choice, answered.by) == ("once", ANN)
    assert answered.answer.reason


@pytest.mark.parametrize("now", [-100.0, -60.0, 0.0, 1.0, 59.0, 1e9])
async def test_what_was_never_allowed_is_not_answered_at_any_time(desk: Desk, now: float) -> None:
    desk.now = now
    with desk.running():
        assert await desk.ask() is None


async def test_it_is_for_one_run(desk: Desk) -> None:
    desk.approvals.add(desk.session, LINE, ANN)
    with desk.running():
        assert await desk.ask()
    with desk.running():
        assert await desk.ask() is None


async def test_it_is_for_one_question(desk: Desk) -> None:
    desk.approvals.add(desk.session, LINE, ANN)
    with desk.running():
        assert await desk.ask()
        assert await desk.ask() is None


async def test_it_ends_with_the_run(desk: Desk) -> None:
    desk.approvals.add(desk.session, LINE, ANN)
    with desk.running():
        pass
    assert await desk.ask() is None


async def test_it_is_for_a_minute(desk: Desk) -> None:
    desk.approvals.add(desk.session, LINE, ANN)
    desk.now = 60.5
    with desk.running():
        assert await desk.ask() is None


async def test_it_is_for_the_same_line(desk: Desk) -> None:
    desk.approvals.add(desk.session, LINE, ANN)
    with desk.running("rm -rf other"):
        assert await desk.ask("rm -rf other") is None
    with desk.running():  # what is asked about has become another line meanwhile
        assert await desk.ask("rm -rf victim other") is None


async def test_it_is_for_the_same_session(desk: Desk) -> None:
    other = let_in(desk.app, "other")
    desk.approvals.add(other, LINE, ANN)
    with desk.running():
        assert await desk.ask() is None
    desk.approvals.add(desk.session, LINE, ANN)
    with desk.running():
        assert await desk.ask(session=other.id) is None


async def test_it_is_for_running_it(desk: Desk) -> None:
    desk.approvals.add(desk.session, LINE, ANN)
    with desk.running():
        assert await desk.ask(command="openspace.file.delete") is None


async def test_words_are_the_line_that_they_make(desk: Desk) -> None:
    desk.approvals.add(desk.session, "rm -rf 'a b'", ANN)
    with desk.running("rm", ["-rf", "a b"]):
        assert await desk.ask("rm -rf 'a b'")


@pytest.mark.parametrize(("name", "answered"), [("CLAUDECODE", True), ("LD_PRELOAD", False), ("BASH_ENV", False)])
async def test_variables_that_change_what_runs_are_not_covered(desk: Desk, name: str, answered: bool) -> None:
    desk.approvals.add(desk.session, LINE, ANN)
    with desk.running(env={name: "1"}):
        assert (await desk.ask(visible(f"export {name}=1\n{LINE}")) is not None) is answered


async def test_a_person_who_is_quicker_has_decided(desk: Desk) -> None:
    def deny(event: Any) -> None:
        if event.kind == "question.asked":
            desk.app.questions.answer(str(event.data["id"]), Answer(choice="deny"), ANN)

    desk.approvals.add(desk.session, LINE, ANN)
    with desk.running():
        desk.app.events.published.subscribe(deny)
        answered = await desk.ask()
    assert answered is not None
    assert answered.answer.choice == "deny"


async def test_only_the_newest_fifty_are_remembered(desk: Desk) -> None:
    for number in range(51):
        desk.approvals.add(desk.session, f"rm {number}", ANN)
    with desk.running("rm 0"):
        assert await desk.ask("rm 0") is None
    with desk.running("rm 1"):
        assert await desk.ask("rm 1")
