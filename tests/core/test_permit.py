"""Calls that are asked about before they come: a permit is for the very same call, once, and for a short while."""

import asyncio

import pytest
from msgspec.structs import replace
from tests.kit.gate import AGENT, PERSON, World

from fourhands.core.call import Actor, Call, Decision
from fourhands.core.errors import BadArgument, Denied, NoAnswer
from fourhands.core.question import Answer


async def permitted(world: World, call: Call, choice: str = "once", **more: object) -> Decision:
    """Ask about a call that is to come, and answer."""
    leave = world.questions.attend()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(world.gate.permit(call))
        question = await world.question()
        world.questions.answer(question.id, Answer(choice=choice, **more), PERSON)  # type: ignore[arg-type]
    leave()  # whatever is asked from here on fails at once
    return task.result()


async def came(world: World, call: Call) -> str:
    """Let the call come, under an id of its own; the choice by which it ran, or its error's code."""
    result = await world.gate.run(replace(call, id=f"{call.id}-come"))
    return world.journal.recorded[-1].verdict.choice if result.success else result.code


async def test_what_was_allowed_before_it_came_runs_unasked_once():
    for line in ("what a", "rm x"):
        world = World()
        decided = await permitted(world, world.call(line))
        assert (decided.choice, decided.by) == ("once", "person")
        assert world.bench.started == []
        assert await came(world, world.call(line)) == "once"
        assert world.journal.recorded[-1].verdict.by == "person"
        assert await came(world, world.call(line)) == "no-answer"


async def test_a_permit_is_for_the_same_call_of_the_same_session():
    other = Actor.agent("s2", "Ada")
    for come in (
        lambda world: world.call("rm y"),
        lambda world: world.call("rm x "),
        lambda world: Call(command="openspace.thing.do", args={"text": "rm x", "mode": "firm"}, actor=AGENT),
        lambda world: world.call("rm x", actor=other),
    ):
        world = World()
        await permitted(world, world.call("rm x"))
        assert await came(world, come(world)) == "no-answer"
        assert await came(world, world.call("rm x")) == "once"  # the permit is still there for its own call


async def test_a_permit_is_for_what_was_shown():
    world = World()
    await permitted(world, world.call("rm x"))
    world.line = "rm -r "  # what stands on the line has become another text meanwhile
    assert await came(world, world.call("rm x")) == "no-answer"
    await permitted(world, world.call("rm x"))
    world.outside = True
    assert await came(world, world.call("rm x")) == "no-answer"


async def test_a_permit_ends():
    world = World(permit_s=-1)
    await permitted(world, world.call("rm x"))
    assert await came(world, world.call("rm x")) == "no-answer"


async def test_a_block_that_stood_in_what_the_agent_read_has_no_permit():
    world = World()
    await permitted(world, world.call("rm x"))
    text = '%%OS{"cmd":"openspace.thing.do","args":{"text":"rm x"}}%%'
    world.gate.given.quote("s1", text, "file README.md")
    assert (await world.gate.run(world.call("rm x", origin="block"), block=text)).code == "no-answer"


async def test_what_is_refused_is_not_permitted():
    world = World()
    with pytest.raises(ExceptionGroup) as caught:
        await permitted(world, world.call("rm x"), "deny", reason="use the trash")
    (error,) = caught.value.exceptions
    assert isinstance(error, Denied)
    assert error.data["reason"] == "use the trash"
    world = World()
    assert await came(world, world.call("rm x")) == "no-answer"


async def test_the_question_is_the_gates_but_offers_no_editing():
    world = World()
    world.questions.attend()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(world.gate.permit(world.call("what a")))
        question = await world.question()
        assert question.options == ("once", "session", "deny")
        assert (question.command, question.shown, question.level) == ("openspace.thing.do", "what a", "unknown")
        assert question.deadline is None  # an agent takes no answer for the end of its turn
        await world.reply("session")
    assert task.result().choice == "session"
    assert world.gate.rules.list("s1") == {"what a": "exactly 'what a'"}
    for _ in range(2):
        assert (await world.gate.run(world.call("what a"))).success


async def test_what_would_run_unasked_is_not_asked_about_before():
    world = World()  # no one is there
    for call in (world.call("safe"), world.call(command="look")):
        assert (await world.gate.permit(call)).choice == ""
    world.unasked = "runs in a sandbox"
    assert (await world.gate.permit(world.call("rm x"))).choice == "unasked"
    world.unasked = ""
    with pytest.raises(NoAnswer):
        await world.gate.permit(world.call("rm x"))
    assert (world.bench.started, world.journal.recorded, world.results) == ([], [], [])


async def test_what_the_gate_would_refuse_is_refused_before():
    world = World(consent=True)
    bad: list[dict[str, object]] = [{"text": 5}, {"text": "a", "no": 1}, {}]
    for wrong in bad:
        with pytest.raises(BadArgument):
            await world.gate.permit(Call(command="openspace.thing.do", args=wrong, actor=AGENT))
    with pytest.raises(Denied):
        await world.gate.permit(world.call(command="save"))
    world.gate.consent.grant("s1", ("see",))
    with pytest.raises(Denied, match="may not"):
        await world.gate.permit(world.call("safe"))


async def test_consent_is_asked_for_first_and_once():
    world = World(consent=True)
    world.questions.attend()
    async with asyncio.TaskGroup() as group:
        group.create_task(world.gate.permit(world.call("safe")))
        assert (await world.question()).kind == "consent"
        await world.reply("session")
    assert (await world.gate.run(world.call("safe"))).success
