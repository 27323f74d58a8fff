"""A call of an MCP client answers its own questions only."""

import asyncio

from tests.kit.workbench import open_app

from fourhands.core.call import Actor, Call
from fourhands.core.question import Answer, Question
from fourhands.surfaces.mcp.pending_call import CURRENT, PendingCall


async def test_a_question_that_is_not_open_in_the_call_is_not_answered_by_it() -> None:
    async with open_app() as app:
        app.questions.attend()
        session = app.bench.begin_session("Ada", "mcp")
        call = Call(command="openspace.pane.list", args={}, actor=session.actor, origin="mcp")
        pending = PendingCall(app.bench, call, "a client", attends=False)
        question = Question(
            kind="confirmation", session="of-another", text="May it?", options=("once", "deny"), actor=session.actor
        )
        with app.events.subscribe(["question.asked"]) as asked:
            async with asyncio.TaskGroup() as group:
                asking = group.create_task(app.questions.ask(question))
                await anext(asked)
                assert pending.open == {}
                pending.answer(question, Answer(choice="once"))
                pending.answer(question, None)
                await asyncio.sleep(0)
                assert not asking.done()
                app.questions.answer(question.id, Answer(choice="deny"), Actor.person())
        assert asking.result().answer.choice == "deny"


async def test_a_form_is_not_shown_to_the_client_of_a_call() -> None:
    """It says yes or no only: what an agent wants to be filled in, the page shows, also when the call started it."""
    async with open_app() as app:
        app.questions.attend()
        session = app.bench.begin_session("Ada", "mcp")
        call = Call(command="openspace.pane.list", args={}, actor=session.actor, origin="mcp")
        pending = PendingCall(app.bench, call, "a client", attends=True)
        form = Question(kind="form", session=session.id, text="Who?", options=("once", "dismiss"))
        sure = Question(kind="confirmation", session=session.id, text="Sure?", options=("once", "deny"))
        token = CURRENT.set(pending)
        with app.events.subscribe(["question.asked"]) as asked:
            async with asyncio.TaskGroup() as group:
                for question in (form, sure):
                    group.create_task(app.questions.ask(question))
                    await anext(asked)
                assert list(pending.open) == [sure.id]
                CURRENT.reset(token)
                app.questions.answer(form.id, Answer(choice="dismiss"), Actor.person())
                app.questions.answer(sure.id, Answer(choice="deny"), Actor.person())
        pending.retire()
