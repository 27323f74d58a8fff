import asyncio

import msgspec
import pytest
from tests.kit.gate import AGENT, PERSON, World

from fourhands.core.call import Actor, Call
from fourhands.core.errors import Unavailable
from fourhands.core.event import Event


async def test_a_persons_call_runs_and_is_recorded_told_and_numbered():
    world = World(consent=True)
    result = await world.gate.run(world.call("rm everything", actor=PERSON, origin="socket"))
    assert result.to_wire() == {"success": True, "didWhat": "rm everything"}
    assert result.number == 1
    [entry] = world.journal.recorded
    assert (entry.call.actor, entry.result) == (PERSON, result)
    assert entry.verdict.level == ""
    assert world.judged == []
    assert world.kinds() == ["call.started", "call.finished"]
    assert world.results == []
    assert (await world.gate.run(world.call("safe", actor=PERSON))).number == 2


async def test_the_finish_is_an_event_with_a_severity():
    world = World()
    call = world.call("safe")
    await world.gate.run(call)
    finished = world.heard[-1]
    assert finished.actor == AGENT
    assert finished.data["command"] == "openspace.thing.do"
    assert (finished.data["ok"], finished.data["code"], finished.data["severity"]) == (True, "", "info")
    assert (finished.data["session"], finished.data["callId"]) == ("s1", call.id)
    await world.gate.run(world.call(command="fail"))
    await world.gate.run(Call(command="openspace.no.where", actor=AGENT))
    assert [e.data["severity"] for e in world.heard if e.kind == "call.finished"] == ["info", "warning", "error"]


async def test_an_agent_gets_the_same_result_and_its_feedback():
    world = World()
    result = await world.gate.run(world.call("safe"))
    assert result.data == {"didWhat": "safe"}
    assert [number.number for _, number in world.results] == [1]


REFUSED: list[tuple[object, object, str, str]] = [
    ("", {}, "bad-argument", "non-empty"),
    ("  ", {}, "bad-argument", "non-empty"),
    (None, {}, "bad-argument", "not null"),
    (7, {}, "bad-argument", "not 7"),
    ("x" * 5000, {}, "bad-argument", "200 printable ASCII"),
    ("openspace.\ud800", {}, "bad-argument", "ASCII"),
    ("openspace.thing.d\x1bo", {}, "bad-argument", "ASCII"),
    ("openspace.thing.dö", {}, "bad-argument", "ASCII"),
    ("openspace.thing.do", [], "bad-argument", "must be an object, not []"),
    ("openspace.thing.do", None, "bad-argument", "not null"),
    ("openspace.thing.do", {1: 2}, "bad-argument", "must be an object"),
    ("workbench.action.quit", {}, "denied", "no command outside"),
    ("openspacex.thing.do", {}, "denied", "no command outside"),
    ("openspace.thing.du", {}, "not-found", "no command 'openspace.thing.du'"),
    ("openspace.thing.do", {}, "bad-argument", "missing argument text"),
    ("openspace.thing.do", {"text": 3}, "bad-argument", "must be text, not 3"),
    ("openspace.thing.do", {"text": "a", "txt": "b"}, "bad-argument", 'no argument "txt"'),
    ("openspace.thing.look", {"a": 1}, "bad-argument", 'no argument "a"'),
    ("openspace.thing.save", {}, "denied", "not for agents"),
]


@pytest.mark.parametrize(("command", "args", "code", "message"), REFUSED)
async def test_what_is_wrong_is_refused_recorded_and_said(command: object, args: object, code: str, message: str):
    world = World()
    call = Call(command=command, args=args, actor=AGENT, origin="block")  # type: ignore[arg-type]
    result = await world.gate.run(call)
    assert (result.success, result.code) == (False, code)
    assert message in result.error
    assert result.hint
    [entry] = world.journal.recorded
    assert entry.result == result
    assert isinstance(entry.call.args, dict)
    assert entry.call.command.isascii()
    assert world.bench.started == []
    assert len(world.results) == 1


async def test_hints_name_the_nearest():
    world = World()
    result = await world.gate.run(Call(command="openspace.thing.lok", actor=AGENT))
    assert "did you mean 'openspace.thing.look'" in result.hint
    result = await world.gate.run(Call(command="openspace.thing.do", args={"txt": ""}, actor=AGENT))
    assert "did you mean 'text'" in result.hint


@pytest.mark.parametrize("actor", [Actor("ghost", "g", "g"), Actor.agent("")])  # type: ignore[arg-type]
async def test_an_actor_of_no_kind_is_refused(actor: Actor):
    world = World()
    assert (await world.gate.run(world.call(actor=actor))).code == "bad-argument"
    assert (await world.gate.run(world.call(origin="moon"))).code == "bad-argument"  # type: ignore[arg-type]


async def test_hostile_shapes_are_refused_quickly():
    world = World()
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    cycle: list[object] = []
    cycle.append(cycle)
    wide: object = []
    for _ in range(60):
        wide = [wide, wide]
    for value in (deep, cycle, wide):
        result = await world.gate.run(Call(command="openspace.thing.do", args={"text": value}, actor=AGENT))
        assert result.code == "bad-argument"


async def test_a_mistake_in_a_handler_is_internal_and_leaks_nothing(caplog: pytest.LogCaptureFixture):
    world = World()
    call = world.call(command="boom")
    result = await world.gate.run(call)
    assert result.code == "internal"
    assert "secret detail" not in str(result.to_wire())
    assert call.id in result.hint
    assert "secret detail" in caplog.text
    assert call.id in caplog.text
    assert (await world.gate.run(world.call(command="odd"))).code == "internal"


async def test_an_error_on_purpose_keeps_its_code_hint_and_data():
    world = World()
    result = await world.gate.run(world.call(command="fail"))
    assert (result.code, result.hint, result.data) == ("conflict", "look again", {"diff": "-a +b"})


async def test_an_error_on_purpose_is_found_inside_a_task_groups_wrapping():
    world = World()
    world.bench.mistake = ExceptionGroup("unhandled", [ExceptionGroup("more", [Unavailable("no docker")])])
    assert (await world.gate.run(world.call(command="boom"))).code == "unavailable"


async def test_a_cancellation_inside_a_handler_does_not_reach_the_caller():
    world = World()
    world.bench.mistake = asyncio.CancelledError()
    assert (await world.gate.run(world.call(command="boom"))).code == "internal"


async def test_the_system_may_use_what_is_the_persons_only():
    world = World()
    assert (await world.gate.run(world.call(command="save", actor=Actor.system()))).success
    assert (await world.gate.run(world.call(command="save", actor=PERSON))).success


async def test_undo_before_contents_and_isolation_reach_their_places():
    world = World()
    call = world.call("undoable")
    result = await world.gate.run(call)
    assert result.isolation == "sandbox"
    assert world.journal.kept == [(call.id, "a.txt", b"old")]
    [(undone, undos)] = world.undos
    assert undone is call
    await undos[0].inverse()
    assert world.bench.looked == -1


async def test_what_changes_things_and_takes_its_time_is_noted_while_it_runs():
    world = World()
    await world.gate.run(world.call("safe"))  # over before anything else can happen: its record says it all
    await world.gate.run(world.call(command="look"))
    assert world.journal.noted == []
    assert world.bench.looked == 1
    world.bench.entered.clear()
    async with asyncio.TaskGroup() as group:
        group.create_task(world.gate.run(world.call(wait_for="a word")))
        await world.bench.entered.wait()
        await asyncio.sleep(0)  # its beginning is noted a turn later
        [entry] = world.journal.noted
        assert (entry.call.command, entry.result) == ("openspace.thing.do", None)
        world.bench.release("a word")


async def test_an_agents_deed_that_cannot_be_recorded_is_not_acknowledged(caplog: pytest.LogCaptureFixture):
    world = World()
    world.journal.broken = OSError("no space left")
    result = await world.gate.run(world.call("safe"))
    assert (result.success, result.code) == (False, "unavailable")
    assert result.to_wire()["recorded"] is False
    mine = await world.gate.run(world.call("safe", actor=PERSON))
    assert mine.success
    assert mine.to_wire()["recorded"] is False
    assert world.heard[-1].data["recorded"] is False
    assert "cannot record call" in caplog.text
    world.journal.broken = None
    mine = await world.gate.run(world.call("safe", actor=PERSON))
    assert "recorded" not in mine.to_wire()
    assert world.heard[-1].data["recorded"] is True


async def test_a_sink_that_fails_harms_nobody(caplog: pytest.LogCaptureFixture):
    def broken(call: Call, result: object) -> None:
        raise RuntimeError("sink")

    world = World(results=broken)
    assert (await world.gate.run(world.call("safe"))).success
    assert "cannot pass on the result" in caplog.text


async def test_a_caller_that_goes_away_frees_its_place_and_leaves_a_trace():
    world = World()
    async with asyncio.TaskGroup() as group:
        gone = group.create_task(world.gate.run(world.block(wait_for="never")))
        await world.bench.entered.wait()
        after = group.create_task(world.gate.run(world.block("safe")))
        gone.cancel()
    assert gone.cancelled()
    assert after.result().success
    assert [entry.result.code for entry in world.journal.noted if entry.result] == ["cancelled"]
    assert [result.code for _, result in world.results] == ["cancelled", ""]
    assert world.gate.pending("s1") == 0


async def test_blocks_wait_for_each_other_and_a_kill_passes_them_by():
    world = World()
    async with asyncio.TaskGroup() as group:
        first = group.create_task(world.gate.run(world.block("safe 1", wait_for="a")))
        second = group.create_task(world.gate.run(world.block("safe 2")))
        await world.bench.entered.wait()
        assert (await world.gate.run(world.call("safe kill"))).success
        assert (await world.gate.run(world.call("safe", actor=PERSON))).success
        assert not second.done()
        world.bench.release("a")
    assert first.result().number < second.result().number
    assert [call.args["text"] for call in world.bench.started] == ["safe 1", "safe kill", "safe", "safe 2"]
    assert len(world.slept) == 1


async def test_a_question_holds_the_blocks_behind_it_and_nobody_else():
    world = World()
    world.questions.attend()
    async with asyncio.TaskGroup() as group:
        group.create_task(world.gate.run(world.block("rm 1")))
        second = group.create_task(world.gate.run(world.block("safe 2")))
        await world.question()
        assert (await world.gate.run(world.call("safe 3"))).success
        assert not second.done()
        await world.reply("once")
    assert [call.args["text"] for call in world.bench.started] == ["safe 3", "rm 1", "safe 2"]


async def test_sessions_do_not_wait_for_each_other():
    world = World()
    other = world.call("safe", actor=Actor.agent("s2"), origin="block")
    async with asyncio.TaskGroup() as group:
        group.create_task(world.gate.run(world.block(wait_for="a")))
        await world.bench.entered.wait()
        assert (await world.gate.run(other)).success
        world.bench.release("a")


async def test_the_eleventh_command_of_an_answer_is_refused():
    world = World()
    results = [await world.gate.run(world.block(answer_id="r1")) for _ in range(12)]
    assert [result.success for result in results] == [True] * 10 + [False] * 2
    assert results[10].code == "limit"
    assert (await world.gate.run(world.block(answer_id="r2"))).success
    assert len(world.journal.recorded) == 13


async def test_the_fifty_first_waiting_call_is_refused():
    world = World()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(world.gate.run(world.call(wait_for="a"))) for _ in range(50)]
        while world.gate.pending("s1") < 50:
            await world.bench.entered.wait()
            await asyncio.sleep(0)
        assert (await world.gate.run(world.call())).code == "limit"
        assert (await world.gate.run(world.call(actor=PERSON))).success
        world.bench.release("a")
    assert all(task.result().success for task in tasks)


async def test_pause_holds_what_has_not_started_and_loses_nothing():
    world = World()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(world.gate.run(world.block(wait_for="a")))
        await world.bench.entered.wait()
        world.gate.pause("s1")
        assert world.gate.paused("s1")
        held = [group.create_task(world.gate.run(world.block())), group.create_task(world.gate.run(world.call()))]
        world.bench.release("a")
        assert (await running).success
        assert (await world.gate.run(world.call(actor=PERSON))).success
        assert not any(task.done() for task in held)
        world.gate.resume("s1")
    assert all(task.result().success for task in held)
    assert [kind for kind in world.kinds() if kind.startswith("agent.")] == ["agent.paused", "agent.resumed"]


async def test_stop_drops_what_waits_and_cancels_what_runs_and_keeps_consent():
    world = World()
    world.gate.consent.grant("s1")
    world.questions.attend()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(world.gate.run(world.block(wait_for="never")))
        waiting = group.create_task(world.gate.run(world.block()))
        asking = group.create_task(world.gate.run(world.call("rm x")))
        await world.question()
        await world.bench.entered.wait()
        assert world.gate.stop("s1") == 3
    assert [task.result().code for task in (running, waiting, asking)] == ["stopped"] * 3
    assert world.questions.open() == []
    assert world.bench.running == []
    assert world.gate.consent.state("s1") == "granted"
    assert (await world.gate.run(world.block())).success
    assert world.gate.stop("nobody") == 0


async def test_the_end_of_a_session_forgets_it_once_its_last_call_has_left():
    world = World()
    world.gate.consent.grant("s1")
    world.gate.rules.add("s1", "k", "k")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(world.gate.run(world.block(wait_for="never")))
        await world.bench.entered.wait()
        world.gate.end("s1")
        late = await world.gate.run(world.call())
    assert running.result().code == "stopped"
    assert late.code == "conflict"
    assert world.gate.consent.state("s1") == "unasked"
    assert world.gate.rules.list("s1") == {}
    assert world.gate.queues == 0
    assert (await world.gate.run(world.call())).number == 1
    world.gate.end("never there")
    assert world.gate.queues == 1


async def test_numbers_go_on_after_a_restart():
    world = World()
    world.gate.restore("s1", 41)
    assert (await world.gate.run(world.call())).number == 42
    world.gate.restore("s1", 3)
    assert (await world.gate.run(world.call())).number == 43


async def test_the_gap_is_real_without_a_fake():
    world = World(gap_s=0.001, sleep=asyncio.sleep)
    assert [(await world.gate.run(world.block())).success for _ in range(3)] == [True] * 3


async def test_a_failing_listener_does_not_fail_the_call(caplog: pytest.LogCaptureFixture):
    world = World()

    def broken(event: Event) -> None:
        raise RuntimeError("listener")

    world.events.published.subscribe(broken)
    assert (await world.gate.run(world.call())).success


async def test_events_of_a_call_carry_its_arguments_whole_or_cut():
    world = World()
    await world.gate.run(world.call("safe"))
    assert world.heard[-1].data["args"] == {"text": "safe"}
    assert "argsCut" not in world.heard[-1].data
    for text in ("x" * 20_000, "\ud800"):
        await world.gate.run(world.call(text))
        data = world.heard[-1].data
        assert data["argsCut"] is True
        assert len(str(data["args"])) < 300
        assert msgspec.json.encode(data)
