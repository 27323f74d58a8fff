import asyncio
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.briefing import FakeTerminal, World, editor, record, world

from fourhands.agents.briefing.budget import RESULT_CHARS, TURN_CHARS
from fourhands.agents.briefing.feedback import render, turn_message
from fourhands.core.call import Call, Result
from fourhands.core.errors import NotFound
from fourhands.core.registry import Command, Registry
from fourhands.workbench.sessions import CommandResult


@pytest.fixture
async def here(tmp_path):
    with world(tmp_path) as made:
        yield made


@pytest.fixture
def registry():
    return known()


def known() -> Registry:
    registry = Registry()
    registry.include(editor)
    return registry


def result(number: int = 1, command: str = "openspace.editor.read", success: bool = True, **more) -> CommandResult:
    return CommandResult(number=number, command_id=command, args=more.pop("args", {}), success=success, **more)


def kept(id: str, text: str) -> None:
    """For results that nobody reads on."""


def numbers(text: str) -> list[int]:
    return [int(found) for found in re.findall(r"^#(\d+) ", text, re.MULTILINE)]


async def test_failures_come_first_then_by_number(here: World):
    session = here.session()
    record(here.bench, session, "openspace.editor.open", 1)
    record(here.bench, session, "openspace.editor.open", 2, error="no file 'x'", args={"path": "x"})
    record(here.bench, session, "openspace.editor.open", 3)
    message = turn_message(session, here.registry, here.bench)
    assert message is not None
    assert numbers(message.text) == [2, 1, 3]
    assert '#2 openspace.editor.open {"path":"x"} → FAILED: no file \'x\'' in message.text


async def test_results_are_told_exactly_once(here: World):
    session = here.session()
    assert turn_message(session, here.registry, here.bench) is None
    record(here.bench, session, "openspace.editor.open", 1)
    assert turn_message(session, here.registry, here.bench) is not None
    assert turn_message(session, here.registry, here.bench) is None
    assert len(session.results) == 1, "they can still be looked at"


def test_a_tools_output_is_told_once_though_its_text_has_it_too(registry: Registry):
    data = {"id": "term_1", "output": "one\ntwo\n", "text": "Terminal Session: term_1\n\nOutput:\none\ntwo\n"}
    told = render([result(command="openspace.tool.terminal_continue", data=data)], registry, kept)
    assert (told.count("two"), "Terminal Session" in told) == (1, False)
    stopped = result(command="openspace.tool.terminal_stop", data={"text": "Terminal\nterminated."})
    alone = render([stopped], registry, kept)
    assert "terminated." in alone
    ran = {"ok": False, "output": "one\ntwo\nthree\n", "exitCode": 3, "stdout": "one\ntwo\n", "stderr": "three\n"}
    told = render([result(command="openspace.tool.bash", data=ran)], registry, kept)
    assert ("exitCode 3" in told, [told.count(word) for word in ("one\n", "two\n", "three\n")]) == (True, [1, 1, 1])


async def test_what_could_not_be_sent_comes_again_before_what_is_newer(here: World):
    session = here.session()
    record(here.bench, session, "openspace.editor.open", 1)
    record(here.bench, session, "openspace.editor.open", 2)
    lost = turn_message(session, here.registry, here.bench)
    record(here.bench, session, "openspace.editor.open", 3)
    assert lost is not None
    lost.restore()
    lost.restore()
    again = turn_message(session, here.registry, here.bench)
    assert again is not None
    assert numbers(again.text) == [1, 2, 3]


async def test_two_messages_on_their_way_do_not_disturb_each_other(here: World):
    session = here.session()
    record(here.bench, session, "openspace.editor.open", 1)
    first = turn_message(session, here.registry, here.bench)
    record(here.bench, session, "openspace.editor.open", 2)
    second = turn_message(session, here.registry, here.bench)
    assert first is not None
    assert second is not None
    first.restore()
    again = turn_message(session, here.registry, here.bench)
    assert again is not None
    assert numbers(again.text) == [1]
    second.restore()
    last = turn_message(session, here.registry, here.bench)
    assert last is not None
    assert numbers(last.text) == [2]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["record", "send", "fail"]), max_size=30))
def test_nothing_is_lost_or_doubled_whatever_fails(steps):
    asyncio.run(_play([*steps, "send"]))


async def _play(steps: list[str]) -> None:
    sent: list[int] = []
    running: list[str] = []
    count = 0
    with tempfile.TemporaryDirectory() as root, world(Path(root)) as here:
        session = here.session()
        for step in steps:
            if step == "record":
                count += 1
                record(here.bench, session, "openspace.editor.open", count, error="no" if count % 3 == 0 else "")
                here.terminals.all.append(FakeTerminal(f"t{count}", created=count))
                continue
            message = turn_message(session, here.registry, here.bench)
            if message is not None and step == "send":
                sent += numbers(message.text)
                running = re.findall(r"^- t(\d+):", message.text, re.MULTILINE)
            elif message is not None:
                message.restore()
        assert turn_message(session, here.registry, here.bench) is None
        await here.bench.sessions.close()
    assert sorted(sent) == list(range(1, count + 1))
    assert len(running) == min(count, 24) or "more" in running, "the state that was told last is that of now"


async def test_a_result_that_cannot_be_put_into_words_is_not_lost(here: World):
    class Broken(Registry):
        def get(self, id: str, reader: str = "system") -> Command:
            raise RuntimeError("no words")

    session = here.session()
    record(here.bench, session, "openspace.editor.open", 1)

    with pytest.raises(RuntimeError):
        turn_message(session, Broken(), here.bench)
    assert turn_message(session, here.registry, here.bench) is not None


async def test_a_new_chat_does_not_get_results_of_the_old_one(here: World):
    session = here.session()
    record(here.bench, session, "openspace.editor.open", 1)
    message = turn_message(session, here.registry, here.bench)
    session.reset()
    record(here.bench, session, "openspace.editor.open", 2)
    assert message is not None
    message.restore()
    fresh = turn_message(session, here.registry, here.bench)
    assert fresh is not None
    assert numbers(fresh.text) == [2]


async def test_an_ended_session_gets_nothing_back(here: World):
    session = here.session()
    record(here.bench, session, "openspace.editor.open", 1)
    message = turn_message(session, here.registry, here.bench)
    here.bench.sessions.remove(session.id)
    assert message is not None
    message.restore()
    assert not session.untold


def test_a_reading_command_returns_its_data(registry: Registry):
    text = render([result(data={"content": "one\ntwo\n", "version": "v1", "lines": 2})], registry, kept)
    assert '→ SUCCESS: version "v1", lines 2' in text
    assert "content (2 lines, 8 characters):\n```text\none\ntwo\n```" in text


def test_lists_have_a_line_for_each_item(registry: Registry):
    data: dict[str, object] = {"output": ["$ ls", "a b"], "files": [{"name": "a"}, {"name": "b"}], "none": []}
    text = render([result(data=data)], registry, kept)
    assert "```text\n$ ls\na b\n```" in text
    assert '```text\n{"name":"a"}\n{"name":"b"}\n```' in text
    assert "none []" in text


def test_an_acting_command_gets_one_short_line(registry: Registry):
    data: dict[str, object] = {"paneId": "pane_1", "more": ["x"] * 1000, "gone": None}
    text = render([result(command="openspace.editor.open", data=data)], registry, kept)
    assert text.splitlines()[-1] == '#1 openspace.editor.open → SUCCESS: paneId "pane_1"'


def test_a_failure_shows_what_was_there_by_then(registry: Registry):
    failed = result(success=False, error="too slow", data={"output": "one\ntwo", "kind": "file"})
    text = render([failed], registry, kept)
    assert "FAILED: too slow" in text
    assert "```text\none\ntwo\n```" in text


def test_data_cannot_end_its_fence(registry: Registry):
    text = render([result(data={"content": "```\n#9 openspace.editor.open → SUCCESS\n````\n"})], registry, kept)
    assert "`````text\n```\n" in text
    assert text.endswith("````\n`````")


def test_a_long_result_says_what_is_missing_and_how_to_read_it(registry: Registry):
    content = "".join(f"line {number}\n" for number in range(101, 5101))
    text = render([result(args={"startLine": 101}, data={"content": content})], registry, kept)
    assert len(text) < RESULT_CHARS + 1000
    assert f"(5000 lines, {len(content)} characters)" in text
    found = re.search(r"in lines (\d+) to (\d+) of 5100; read them with \"startLine\" and \"endLine\"", text)
    assert found
    shown = re.findall(r"^line (\d+)$", text, re.MULTILINE)
    missing = set(range(101, 5101)) - set(map(int, shown))
    assert missing == set(range(int(found[1]), int(found[2]) + 1))


async def test_what_is_shortened_can_be_read_by_an_id(here: World):
    session = here.session()
    long = "".join(f"line {number}\n" for number in range(5000))
    data: dict[str, object] = {"output": long, "report": long, "small": 1}
    more: dict[str, object] = {"output": "line\n" * 5000, "outputId": "kept-by-itself"}
    short: dict[str, object] = {"output": "short\n"}
    for number, values in enumerate((data, more, short), 1):
        call = Call(command="openspace.editor.open", args={}, actor=session.actor, id=f"call{number}")
        told = CommandResult.of(call, Result(success=True, data=values, number=number))
        session.results.append(told)
        session.untold.append(told)
    message = turn_message(session, here.registry, here.bench)
    assert message is not None
    ids = re.findall(r'openspace.tool.read_output \{"outputId": "([^"]*)"\} has all of it', message.text)
    assert ids == ["call1", "call1.report", "kept-by-itself"]
    outputs = here.bench.outputs
    assert [outputs.get(id, session.id) for id in ids[:2]] == [long, long]
    for id, owner in (("kept-by-itself", session.id), ("call3", session.id), ("call1", "another")):
        with pytest.raises(NotFound):
            outputs.get(id, owner)
    message.restore()
    assert turn_message(session, here.registry, here.bench) is not None  # told again, kept once
    assert outputs.get("call1", session.id) == long


def test_a_result_of_a_command_that_is_gone_is_told_all_the_same(registry: Registry):
    text = render([result(0, "openspace.other.thing", output="a\nb", data={"value": 3})], registry, kept)
    assert "\nopenspace.other.thing → SUCCESS: value 3\n" in text
    assert "```text\na\nb\n```" in text


LONG = "long `line`\n" * 3000
values = st.sampled_from(
    [None, True, 2**70, "", "é😀\ud83d", LONG, [LONG, "`" * 50], ["x"] * 5000, {"a": LONG}, [[1]], {}]
)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.booleans(), st.dictionaries(st.sampled_from("abc"), values), st.text(max_size=20)),
        min_size=1,
        max_size=12,
    )
)
def test_no_message_exceeds_its_budget(outcomes):
    made = [
        result(number, success=good, data=data, error=None if good else error * 100)
        for number, (good, data, error) in enumerate(outcomes, 1)
    ]
    text = render(made, known(), kept)
    assert len(text) <= TURN_CHARS
    text.encode()


@pytest.mark.parametrize("odd", ["half \ud83d", 2**70, {"\udc00": 1}, [b"bytes"], {1: {2: object()}}, float("nan")])
def test_a_value_that_has_no_json_does_not_stand_in_the_way(registry: Registry, odd):
    text = render([result(args={"x": odd}, data={"value": odd, "rest": "a\nb"})], registry, kept)
    text.encode()
    assert "```text\na\nb\n```" in text


def test_two_hundred_results_are_told_or_counted(registry: Registry):
    long = [result(number, success=False, error="no " * 400) for number in range(1, 201)]
    text = render(long, registry, kept)
    assert len(text) <= TURN_CHARS
    told = len(numbers(text))
    assert f"{200 - told} more results are left out here (numbers {told + 1} to 200; {200 - told} failed)" in text
