"""A model that writes thousands of blocks in one answer is told once that this is too much."""

import logging
from types import SimpleNamespace
from typing import Any, cast

from fourhands.agents.blocks.answer import MOST, ResponseBlocks
from fourhands.agents.blocks.interceptor import Dropped
from fourhands.agents.blocks.runner import BlockRunner


class Recorder:
    """As much of a runner as an answer uses."""

    def __init__(self) -> None:
        self.session = SimpleNamespace(id="session_1")
        self.ran: list[tuple[str, str]] = []
        self.told: list[Dropped] = []

    def run(self, commands: Any, answer_id: str) -> list[str]:
        self.ran += [(command["cmd"], answer_id) for command in commands]
        return [f"call_{command['cmd']}" for command in commands]

    def dropped(self, dropped: Any) -> list[str]:
        self.told += dropped
        return ["call_dropped" for _ in dropped]


def made() -> tuple[Recorder, ResponseBlocks]:
    recorder = Recorder()
    return recorder, ResponseBlocks(cast(BlockRunner, recorder))


def test_commands_of_one_answer_have_one_id_that_no_other_answer_has():
    recorder, answer = made()
    answer.take("msg_1", [{"cmd": "a"}])
    answer.take("told late", [{"cmd": "b"}])
    other = ResponseBlocks(cast(BlockRunner, recorder))
    other.take("msg_1", [{"cmd": "c"}])
    ids = dict(recorder.ran)
    assert ids["a"] == ids["b"] != ids["c"]
    assert ids["a"].startswith("msg_1:")
    assert answer.calls == ["call_a", "call_b"]


def test_only_the_first_one_too_many_is_handed_on(caplog):
    recorder, answer = made()
    for number in range(300):
        answer.take("m", [{"cmd": f"{number}"}] * 3)
    answer.drop([Dropped("bad", "")] * 500)
    with caplog.at_level(logging.WARNING):
        answer.close()
    assert len(recorder.ran) == len(recorder.told) == MOST == 11
    assert "889 further blocks" in caplog.text
    assert "489 further unreadable" in caplog.text


def test_a_stopped_answer_runs_nothing_more():
    recorder, answer = made()
    answer.take("m", [{"cmd": "a"}])
    answer.stop()
    answer.take("m", [{"cmd": "b"}])
    answer.drop([Dropped("bad", "")])
    answer.close()
    assert [name for name, _ in recorder.ran] == ["a"]
    assert recorder.told == []
