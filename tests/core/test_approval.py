import asyncio
from typing import Literal

import pytest
from msgspec import Struct
from tests.kit.gate import PERSON, World

from fourhands.core.approval import Assessment
from fourhands.core.call import Call, Result
from fourhands.core.errors import Denied, NotFound
from fourhands.core.question import Answer
from fourhands.core.registry import Command


async def asked(world: World, line: str, choice: str, **more: object) -> Result:
    """Run a call that is asked about, and answer."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(world.gate.run(world.call(line)))
        question = await world.question()
        world.questions.answer(question.id, Answer(choice=choice, **more), PERSON)  # type: ignore[arg-type]
    return task.result()


async def test_a_safe_call_is_not_asked_about():
    world = World()
    assert (await world.gate.run(world.call("safe"))).success
    assert world.journal.recorded[0].verdict.level == "safe"


async def test_a_dangerous_call_shows_what_was_judged_and_has_no_time_limit():
    world = World()
    world.questions.attend()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(world.gate.run(world.call("rm x")))
        question = await world.question()
        assert (question.shown, question.level, question.reason) == ("rm x", "dangerous", "it is dangerous")
        assert question.options == ("once", "edit", "deny")
        assert question.rule == ""
        assert [part.text for part in question.parts] == ["rm x"]
        assert question.deadline is None
        world.timers.advance(1e9)
        await world.reply("once")
    assert task.result().success
    verdict = world.journal.recorded[0].verdict
    assert (verdict.level, verdict.choice, verdict.by) == ("dangerous", "once", "person")


async def test_an_unknown_call_expires_after_ten_seconds():
    world = World()
    world.questions.attend()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(world.gate.run(world.call("what")))
        question = await world.question()
        assert question.deadline == world.timers.now + 10
        world.timers.advance(10)
    assert task.result().code == "no-answer"
    assert world.bench.started == []
    assert world.journal.recorded[0].verdict.choice == "no-answer"


async def test_a_refusal_carries_its_reason():
    world = World()
    world.questions.attend()
    result = await asked(world, "rm x", "deny", reason="I need it")
    assert result.code == "denied"
    assert "I need it" in result.error
    assert world.bench.started == []
    assert world.journal.recorded[0].verdict.choice == "deny"


async def test_nobody_there_refuses_clearly():
    world = World()
    result = await world.gate.run(world.call("rm x"))
    assert result.code == "no-answer"
    assert "no one is available" in result.error


async def test_a_session_rule_is_narrow_and_revocable():
    world = World()
    world.questions.attend()
    assert (await asked(world, "what a", "session")).success
    assert world.gate.rules.list("s1") == {"what a": "exactly 'what a'"}
    assert (await world.gate.run(world.call("what a"))).success
    assert world.journal.recorded[-1].verdict.choice == "rule"
    assert (await asked(world, "what a b", "deny")).code == "denied"
    world.gate.rules.remove("s1", "what a")
    assert (await asked(world, "what a", "deny")).code == "denied"


async def test_no_rule_ever_covers_a_dangerous_call():
    world = World()
    world.questions.attend()
    world.gate.rules.add("s1", "rm x", "by mistake")
    assert (await asked(world, "rm x", "deny")).code == "denied"


@pytest.mark.parametrize("text", ["what", "rm x"])
async def test_a_call_that_may_run_unasked_is_not_asked_about_unless_something_speaks_against_it(text: str):
    world = World()
    world.unasked = "sandbox"
    assert (await world.gate.run(world.call(text))).success
    assert world.journal.recorded[0].verdict.choice == "unasked"
    world.against = "there is no checkpoint"
    assert (await world.gate.run(world.call(text))).code == "no-answer"


async def test_a_place_that_changes_while_a_person_thinks_is_asked_about_anew():
    world = World()
    world.questions.attend()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(world.gate.run(world.call("what x")))
        first = await world.question()
        assert "outside" not in first.text
        world.outside = True
        await world.reply("once")
        second = await world.question()
        assert "outside the sandbox" in second.text
        await world.reply("deny")
    assert task.result().code == "denied"


@pytest.mark.parametrize(("text", "level"), [("safe ls", "safe"), ("what y", "unknown"), ("rm y", "dangerous")])
async def test_an_edited_call_is_judged_by_its_own_class_and_not_asked_about_twice(text: str, level: str):
    world = World()
    world.questions.attend()
    result = await asked(world, "what x", "edit", text=text)
    assert result.data == {"didWhat": text, "editedArgs": {"text": text}}
    entry = world.journal.recorded[0]
    assert (entry.verdict.level, entry.verdict.choice) == (level, "edit")
    assert entry.verdict.original == {"text": "what x"}
    assert entry.call.args == {"text": text}
    assert world.kinds().count("question.asked") == 1


async def test_a_text_is_reviewed_before_it_is_the_answer_and_nothing_of_that_stays():
    world = World()
    world.questions.attend()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(world.gate.run(world.call("rm all")))
        question = await world.question()
        for text, level in [("rm some", "dangerous"), ("what is this", "unknown"), ("ls", "safe")]:
            review = await world.questions.review(question.id, text)
            assert (review.level, review.shown, review.reason) == (level, text, f"it is {level}")
        with pytest.raises(NotFound):
            await world.questions.review("nobody", "ls")
        await world.reply("once")
    assert task.result().data["didWhat"] == "rm all"
    assert world.journal.recorded[0].verdict.original is None


async def test_edited_arguments_pass_the_schema_again():
    world = World()
    world.questions.attend()
    assert (await asked(world, "what x", "edit", args={"txt": "y"})).code == "bad-argument"
    assert (await asked(world, "what x", "edit", args={"text": "y"})).success
    assert [call.args for call in world.bench.started] == [{"text": "y"}]


async def test_what_changed_while_the_person_thought_is_asked_about_again():
    world = World()
    world.questions.attend()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(world.gate.run(world.call("what x")))
        await world.question()
        world.line = "rm -rf / "
        await world.reply("once")
        await asyncio.sleep(0)
        question = await world.question()
        assert (question.shown, question.level) == ("rm -rf / what x", "dangerous")
        await world.reply("deny")
    assert task.result().code == "denied"
    assert world.bench.started == []


async def test_what_became_safe_meanwhile_runs():
    world = World()
    world.questions.attend()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(world.gate.run(world.call("what x")))
        await world.question()
        world.line = "safe "
        await world.reply("once")
    assert task.result().success


async def test_a_line_that_never_rests_is_given_up():
    world = World()
    world.questions.attend()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(world.gate.run(world.call("what x")))
        for number in range(5):
            question = await world.question()
            world.line = f"what {number} "
            world.questions.answer(question.id, Answer(choice="once"), PERSON)
            await asyncio.sleep(0)
    assert task.result().code == "conflict"


async def test_a_judge_that_fails_lets_nothing_through(caplog: pytest.LogCaptureFixture):
    def broken(call: Call, command: Command, args: Struct | None) -> Assessment | None:
        raise RuntimeError("secret detail")

    world = World(policy=broken)
    result = await world.gate.run(world.call("safe"))
    assert result.code == "internal"
    assert "secret detail" not in str(result)
    assert world.bench.started == []


async def test_a_judge_may_refuse_outright():
    def strict(call: Call, command: Command, args: Struct | None) -> Assessment | None:
        raise Denied("never")

    world = World(policy=strict)
    assert (await world.gate.run(world.call("safe"))).code == "denied"


async def test_a_preview_is_shown_and_a_failing_one_is_left_out(caplog: pytest.LogCaptureFixture):
    async def good() -> dict[str, object]:
        return {"files": 3}

    async def bad() -> dict[str, object]:
        raise OSError("no")

    for preview, detail in ((good, {"files": 3}), (bad, {})):
        assessment = Assessment("dangerous", "rm x", preview=preview)
        world = World(policy=lambda call, command, args, found=assessment: found)
        world.questions.attend()
        async with asyncio.TaskGroup() as group:
            group.create_task(world.gate.run(world.call("rm x")))
            question = await world.question()
            assert question.detail == detail
            assert question.options == ("once", "deny")
            await world.reply("deny")
    assert "no preview of 'rm x'" in caplog.text


async def test_a_call_that_became_dangerous_while_the_person_looked_is_asked_about_anew():
    levels: list[Literal["unknown", "dangerous"]] = ["unknown", "dangerous", "dangerous"]

    def worse(call: Call, command: Command, args: Struct | None) -> Assessment | None:
        return Assessment(levels.pop(0), "the same line")

    world = World(policy=worse)
    world.questions.attend()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(world.gate.run(world.call("what")))
        assert (await world.question()).level == "unknown"
        await world.reply("once")
        assert (await world.question()).level == "dangerous"
        assert world.bench.started == []
        await world.reply("deny")
    assert task.result().code == "denied"


async def test_a_preview_that_does_not_come_is_not_waited_for():
    async def never() -> dict[str, object]:
        await asyncio.Event().wait()
        return {}

    assessment = Assessment("dangerous", "rm x", preview=never)
    world = World(policy=lambda call, command, args: assessment, preview_s=0.0)
    world.questions.attend()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(world.gate.run(world.call("rm x")))
        assert (await world.question()).detail == {}
        await world.reply("deny")
    assert task.result().code == "denied"
