import asyncio

import pytest
from tests.kit.gate import PERSON, World

from fourhands.core.call import Actor, Call, Result
from fourhands.core.consent import AllowRules, Arrival, Consent, MemoryConsentStore
from fourhands.core.errors import BadArgument
from fourhands.core.event import EventBus
from fourhands.core.question import Answer, Questions


async def test_the_first_command_asks_and_the_next_ones_do_not():
    world = World(consent=True)
    world.questions.attend()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(world.gate.run(world.call()))
        question = await world.question()
        assert (question.kind, question.options) == ("consent", ("session", "always", "deny"))
        assert question.limit_s is None
        assert "Ada" in question.text
        await world.reply("session")
    assert task.result().success
    assert (await world.gate.run(world.call())).success
    assert world.kinds().count("question.asked") == 1
    assert world.gate.consent.state("s1") == "granted"


async def test_many_calls_at_once_make_one_question():
    world = World(consent=True)
    world.questions.attend()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(world.gate.run(world.call())) for _ in range(5)]
        await world.reply("session")
    assert all(task.result().success for task in tasks)
    assert world.kinds().count("question.asked") == 1


async def test_a_refusal_is_a_result_and_holds():
    world = World(consent=True)
    world.questions.attend()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(world.gate.run(world.call())) for _ in range(3)]
        await world.reply("deny", reason="not now")
    assert [task.result().code for task in tasks] == ["denied"] * 3
    assert "not now" in tasks[0].result().error
    again = await world.gate.run(world.call())
    assert (again.code, again.error) == ("denied", "Ada may not work here")
    assert world.kinds().count("question.asked") == 1
    assert world.bench.started == []
    world.gate.consent.grant("s1")
    assert (await world.gate.run(world.call())).success


async def test_remembered_consent_covers_later_sessions_until_it_is_revoked():
    world = World(consent=True)
    world.questions.attend()
    async with asyncio.TaskGroup() as group:
        group.create_task(world.gate.run(world.call()))
        await world.reply("always")
    later = world.call(actor=Actor.agent("s2", "Ada"))
    assert (await world.gate.run(later)).success
    await world.gate.consent.revoke_agent("s2", "Ada")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(world.gate.run(world.call(actor=Actor.agent("s3", "Ada"))))
        await world.reply("deny")
    assert task.result().code == "denied"


async def test_revoked_consent_is_asked_for_again():
    world = World(consent=True)
    leave = world.questions.attend()
    world.gate.consent.grant("s1")
    assert (await world.gate.run(world.call())).success
    world.gate.consent.revoke("s1")
    leave()
    result: Result = await world.gate.run(world.call())
    assert result.code == "no-answer"
    assert world.gate.consent.state("s1") == "unasked"


async def test_an_asker_that_goes_away_leaves_the_question_to_the_next():
    world = World(consent=True)
    world.questions.attend()
    async with asyncio.TaskGroup() as group:
        first = group.create_task(world.gate.run(world.call()))
        asked = await world.question()
        second = group.create_task(world.gate.run(world.call()))
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert (await world.question()).id != asked.id
        await world.reply("session")
    assert second.result().success


async def test_what_is_outside_the_consent_is_refused_and_says_what_is_inside():
    world = World(consent=True)
    world.questions.attend()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(world.gate.run(world.call()))
        question = await world.question()
        assert question.scopes == ("see", "arrange", "write", "run")
        await world.reply("session", scopes=("see", "write"))
    refused = task.result()
    assert refused.code == "denied"
    assert "type in terminals and run programs" in refused.error
    assert refused.error == "Ada may not type in terminals and run programs; granted: see, write"
    assert refused.data == {"scope": "run", "granted": ("see", "write")}
    assert world.bench.started == []
    assert (await world.gate.run(world.call(command="look"))).success
    assert world.kinds().count("question.asked") == 1
    consented = [event.data for event in world.heard if event.kind == "agent.consented"]
    assert consented == [{"session": "s1", "consent": "granted", "scopes": ["see", "write"], "allowedBy": ""}]
    world.gate.consent.grant("s1", ["run"])
    assert (await world.gate.run(world.call())).success
    assert (await world.gate.run(world.call(command="look"))).code == "denied"


async def test_remembered_consent_keeps_its_scopes_and_follows_a_change():
    world = World(consent=True)
    world.questions.attend()
    async with asyncio.TaskGroup() as group:
        group.create_task(world.gate.run(world.call(command="look")))
        await world.reply("always", scopes=("see",))
    later = Actor.agent("s2", "Ada")
    assert (await world.gate.run(world.call(actor=later))).code == "denied"
    assert world.gate.consent.scopes("s2", "Ada") == ("see",)
    await world.gate.consent.grant_agent("s2", "Ada", ["see", "run"])
    assert world.gate.consent.scopes("s3", "Ada") == ("see", "run")
    assert (await world.gate.run(world.call(actor=Actor.agent("s3", "Ada")))).success


async def test_consent_to_nothing_is_no_answer():
    world = World(consent=True)
    world.questions.attend()
    async with asyncio.TaskGroup() as group:
        group.create_task(world.gate.run(world.call()))
        question = await world.question()
        with pytest.raises(BadArgument, match="some of its scopes"):
            world.questions.answer(question.id, Answer(choice="session", scopes=()), PERSON)
        await world.reply("deny")


def test_rules_are_narrow_and_end_with_their_session():
    rules = AllowRules()
    rules.add("s1", "npm install", "exactly npm install")
    assert rules.allows("s1", "npm install")
    assert not rules.allows("s1", "npm install x")
    assert not rules.allows("s2", "npm install")
    assert not rules.allows("s1", None)
    assert rules.list("s1") == {"npm install": "exactly npm install"}
    rules.remove("s1", "npm install")
    rules.remove("s2", "npm install")
    assert rules.list("s1") == {}
    rules.add("s1", "a", "a")
    rules.end("s1")
    assert not rules.allows("s1", "a")


async def test_a_store_forgets():
    store = MemoryConsentStore()
    await store.remember("Ada", frozenset({"see"}))
    assert store.remembered("Ada") == {"see"}
    await store.forget("Ada")
    assert not store.remembered("Ada")


async def test_consent_for_a_session_is_not_that_of_the_agents_next_one():
    world = World(consent=True)
    leave = world.questions.attend()
    async with asyncio.TaskGroup() as group:
        group.create_task(world.gate.run(world.call()))
        await world.reply("session")
    leave()
    assert world.gate.consent.state("s2", "Ada") == "unasked"
    assert (await world.gate.run(world.call(actor=Actor.agent("s2", "Ada")))).code == "no-answer"


async def test_a_name_that_a_client_chose_inherits_no_consent():
    bus, store = EventBus(), MemoryConsentStore()
    questions = Questions(bus)
    questions.attend()
    arrivals = {
        "s1": Arrival("started claude /usr/bin/claude"),
        "s2": Arrival(words="calls itself claude"),
        "s4": Arrival(),
    }
    arrivals["s3"] = arrivals["s1"]
    arrivals["s5"] = Arrival("started claude /home/me/project/claude")
    consent = Consent(questions, store, lambda *_: None, lambda session, agent: arrivals[session])

    async def offered(session, choice):
        call = Call(command="openspace.pane.list", actor=Actor.agent(session, "claude"))
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(consent.require(call, "run"))
            while not questions.open() and not asking.done():  # noqa: ASYNC110 - there is nothing to wait for
                await asyncio.sleep(0)
            if not questions.open():
                return None
            [question] = questions.open()
            questions.answer(question.id, Answer(choice=choice), PERSON)
        return question

    first = await offered("s1", "always")
    assert first.options == ("session", "always", "deny")
    assert await offered("s3", "always") is None  # it came the same way
    client = await offered("s2", "session")
    assert (client.options, client.reason) == (("session", "deny"), "calls itself claude")
    other = await offered("s5", "session")
    assert "always" in other.options  # the same name, another program
    await store.remember("claude", frozenset(("run",)))  # as an earlier version stored it
    assert await offered("s4", "session") is not None
