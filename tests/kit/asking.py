"""An agent's calls, and the questions that they ask a person."""

import asyncio

from tests.kit.person import Person

from fourhands.app import App
from fourhands.core.call import Result
from fourhands.core.question import Choice, Question
from fourhands.workbench.sessions import Session


async def call(app: App, session: Session, verb: str, **args: object) -> Result:
    """What comes of an agent's call."""
    return await app.call(f"openspace.{verb}", args, actor=session.actor)


async def asked(
    app: App, session: Session, person: Person, choice: Choice, verb: str, **args: object
) -> tuple[Question, Result]:
    """The question that a call asks, and the call's result after this answer."""
    async with asyncio.TaskGroup() as group:
        calling = group.create_task(call(app, session, verb, **args))
        question = await person.question()
        person.answer(question, choice)
    return question, calling.result()
