import asyncio

import pytest
from tests.kit.gate import AGENT, PERSON, Timers

from fourhands.core.call import Actor
from fourhands.core.errors import BadArgument, Conflict, Denied, NoAnswer, NotFound
from fourhands.core.event import Event, EventBus
from fourhands.core.form import FieldValue
from fourhands.core.question import DECISIONS, Answer, Answered, Question, Questions


class Asking:
    """Questions with timers by hand and everything that was published."""

    def __init__(self, *, wait: bool = False) -> None:
        self.timers = Timers()
        self.events = EventBus()
        self.heard: list[Event] = []
        self.events.published.subscribe(self.heard.append)
        self.questions = Questions(self.events, wait_for_audience=wait, now=self.timers.time, later=self.timers.later)

    def start(self, group: asyncio.TaskGroup, question: Question) -> "asyncio.Task[Answered | NoAnswer]":
        return group.create_task(self._ask(question))

    async def _ask(self, question: Question) -> Answered | NoAnswer:
        try:
            return await self.questions.ask(question)
        except NoAnswer as error:
            return error

    def kinds(self) -> list[str]:
        return [event.kind for event in self.heard]


def question(**more: object) -> Question:
    parts: dict[str, object] = {"kind": "confirmation", "session": "s1", "text": "May it?"}
    parts["options"] = ("once", "edit", "deny")
    return Question(**{**parts, **more})  # type: ignore[arg-type]


async def test_the_first_answer_wins_and_the_second_hears_so():
    asking = Asking()
    asking.questions.attend()
    async with asyncio.TaskGroup() as group:
        task = asking.start(group, asked := question())
        await asyncio.sleep(0)
        assert [one.id for one in asking.questions.open()] == [asked.id]
        asking.questions.answer(asked.id, Answer(choice="once"), PERSON)
        with pytest.raises(Conflict, match="answered by you: once"):
            asking.questions.answer(asked.id, Answer(choice="deny"), Actor.person("p2", "other"))
    assert task.result() == Answered(Answer(choice="once"), PERSON)
    assert asking.questions.open() == []
    assert asking.kinds() == ["question.asked", "question.answered"]


async def test_nobody_there_fails_at_once():
    asking = Asking()
    with pytest.raises(NoAnswer, match="no one is available") as caught:
        await asking.questions.ask(question())
    assert caught.value.code == "no-answer"
    assert asking.kinds() == []


async def test_one_who_can_answer_for_another_session_is_nobody():
    asking = Asking()
    asking.questions.attend("s2")
    with pytest.raises(NoAnswer):
        await asking.questions.ask(question())
    assert asking.questions.audience("s2") == 1


async def test_with_the_setting_it_waits_for_somebody_and_counts_from_then():
    asking = Asking(wait=True)
    async with asyncio.TaskGroup() as group:
        task = asking.start(group, asked := question(limit_s=10.0))
        await asyncio.sleep(0)
        asking.timers.advance(3600)
        assert asking.kinds() == []
        asking.questions.attend("s2")
        assert asking.kinds() == []
        asking.questions.attend("s1")
        assert asking.questions.open()[0].deadline == asking.timers.now + 10
        asking.timers.advance(9.9)
        assert not task.done()
        asking.questions.answer(asked.id, Answer(choice="once"), PERSON)
    assert isinstance(task.result(), Answered)
    assert len(asking.timers) == 0


async def test_no_answer_in_time_is_neither_yes_nor_no():
    asking = Asking()
    asking.questions.attend()
    async with asyncio.TaskGroup() as group:
        task = asking.start(group, asked := question(limit_s=10.0))
        await asyncio.sleep(0)
        asking.timers.advance(10)
    result = task.result()
    assert isinstance(result, NoAnswer)
    assert "within 10 s" in result.message
    assert asking.kinds() == ["question.asked", "question.expired"]
    with pytest.raises(Conflict, match="expired"):
        asking.questions.answer(asked.id, Answer(choice="once"), PERSON)


async def test_leaving_does_not_close_an_open_question():
    asking = Asking()
    leave = asking.questions.attend()
    async with asyncio.TaskGroup() as group:
        task = asking.start(group, asked := question())
        await asyncio.sleep(0)
        leave()
        leave()
        await asyncio.sleep(0)
        assert not task.done()
        asking.questions.attend()
        assert [one.id for one in asking.questions.open("s1")] == [asked.id]
        assert asking.questions.open("s2") == []
        asking.questions.answer(asked.id, Answer(choice="once"), PERSON)
    assert asking.kinds().count("question.asked") == 1


async def test_an_agent_cannot_answer():
    asking = Asking()
    asking.questions.attend()
    async with asyncio.TaskGroup() as group:
        asking.start(group, asked := question())
        await asyncio.sleep(0)
        with pytest.raises(Denied):
            asking.questions.answer(asked.id, Answer(choice="once"), AGENT)
        asking.questions.answer(asked.id, Answer(choice="deny"), PERSON)


async def test_an_answer_must_be_one_of_the_options_and_leaves_the_question_open():
    asking = Asking()
    asking.questions.attend()
    async with asyncio.TaskGroup() as group:
        asking.start(group, asked := question())
        await asyncio.sleep(0)
        with pytest.raises(BadArgument, match="accepted: once, edit, deny"):
            asking.questions.answer(asked.id, Answer(choice="session"), PERSON)
        with pytest.raises(BadArgument, match="new text"):
            asking.questions.answer(asked.id, Answer(choice="edit"), PERSON)
        assert len(asking.questions.open()) == 1
        asking.questions.answer(asked.id, Answer(choice="edit", text=""), PERSON)


async def test_a_question_can_be_taken_back():
    asking = Asking()
    asking.questions.attend()
    async with asyncio.TaskGroup() as group:
        task = asking.start(group, asked := question())
        await asyncio.sleep(0)
        asking.questions.withdraw(asked.id, "the terminal was closed")
    assert isinstance(task.result(), NoAnswer)
    assert "the terminal was closed" in str(task.result())
    with pytest.raises(NotFound):
        asking.questions.withdraw("question_none")


async def test_a_question_whose_asker_has_gone_disappears():
    asking = Asking()
    asking.questions.attend()
    async with asyncio.TaskGroup() as group:
        task = asking.start(group, asked := question(limit_s=10.0))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(Conflict, match="already been withdrawn"):
            asking.questions.answer(asked.id, Answer(choice="once"), PERSON)
        asking.timers.advance(10)
    assert asking.questions.open() == []
    assert asking.kinds() == ["question.asked", "question.withdrawn"]
    assert len(asking.timers) == 0


async def test_the_real_clock_ends_a_question_too():
    questions = Questions(EventBus())
    questions.attend()
    with pytest.raises(NoAnswer):
        await questions.ask(question(limit_s=0.01))


async def test_closed_questions_are_forgotten_in_the_end():
    asking = Asking()
    asking.questions.attend()
    ids: list[str] = []
    for _ in range(300):
        async with asyncio.TaskGroup() as group:
            asking.start(group, asked := question())
            await asyncio.sleep(0)
            asking.questions.answer(asked.id, Answer(choice="once"), PERSON)
            ids.append(asked.id)
    with pytest.raises(NotFound):
        asking.questions.answer(ids[0], Answer(choice="once"), PERSON)
    with pytest.raises(Conflict):
        asking.questions.answer(ids[-1], Answer(choice="once"), PERSON)


async def test_no_more_is_given_than_the_question_offers():
    asking = Asking()
    asking.questions.attend()
    async with asyncio.TaskGroup() as group:
        task = asking.start(group, asked := question(kind="consent", options=("session", "deny"), scopes=("see",)))
        await asyncio.sleep(0)
        with pytest.raises(BadArgument, match="some of its scopes"):
            asking.questions.answer(asked.id, Answer(choice="session", scopes=("see", "run")), PERSON)
        asking.questions.answer(asked.id, Answer(choice="session", scopes=("see",)), PERSON)
    assert isinstance(task.result(), Answered)


async def test_who_cannot_show_a_kind_of_question_is_nobody_for_it():
    asking = Asking(wait=True)
    form = question(kind="form", options=("once", "deny", "dismiss"))
    asking.questions.attend("s1", DECISIONS)
    assert (asking.questions.audience("s1"), asking.questions.audience("s1", "form")) == (1, 0)
    async with asyncio.TaskGroup() as group:
        task = asking.start(group, form)
        await asyncio.sleep(0)
        assert asking.kinds() == []
        asking.questions.attend("s1")
        assert asking.kinds() == ["question.asked"]
        asking.questions.answer(form.id, Answer(choice="dismiss"), PERSON)
    assert task.result() == Answered(Answer(choice="dismiss"), PERSON)
    asking.questions.ask_only("s1", "forms")
    asking.questions.attend("s2")
    assert asking.questions.audience("s1", "form") == 1


async def test_a_form_is_closed_by_values_that_pass_its_check_only():
    asking = Asking()
    asking.questions.attend()

    def check(values):
        if "name" not in values:
            raise BadArgument("the name is missing", field="name")

    form = question(kind="form", options=("once", "deny"))
    async with asyncio.TaskGroup() as group:
        task = group.create_task(asking.questions.ask(form, check=check))
        plain = asking.start(group, other := question())
        await asyncio.sleep(0)
        refused: list[dict[str, FieldValue] | None] = [None, {}, {"x": 1}]
        for values in refused:
            with pytest.raises(BadArgument, match="is missing"):
                asking.questions.answer(form.id, Answer(choice="once", values=values), PERSON)
        for id, given in (
            (form.id, Answer(choice="deny", values={"name": "x"})),
            (other.id, Answer(choice="once", values={"name": "x"})),
        ):
            with pytest.raises(BadArgument, match="values are for a form"):
                asking.questions.answer(id, given, PERSON)
        with pytest.raises(Denied):
            asking.questions.answer(form.id, Answer(choice="once", values={"name": "x"}), AGENT)
        asking.questions.answer(form.id, Answer(choice="once", values={"name": "x"}), PERSON)
        asking.questions.answer(other.id, Answer(choice="once"), PERSON)
    assert task.result().answer.values == {"name": "x"}
    assert isinstance(plain.result(), Answered)
