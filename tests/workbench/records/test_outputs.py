"""Outputs whose answers were cropped."""

import pytest

from fourhands.core.errors import BadArgument, NotFound
from fourhands.workbench.records.outputs import Outputs


def test_a_piece_and_the_whole_length() -> None:
    outputs = Outputs()
    outputs.put("one", "agent1", "0123456789")
    assert outputs.read("one", "agent1", 2, 3) == ("234", 10)
    assert outputs.read("one", "agent1", 10, 3) == ("", 10)
    assert outputs.read("one", None, 0, 100) == ("0123456789", 10)
    with pytest.raises(BadArgument, match="11"):
        outputs.read("one", "agent1", 11, 1)


def test_somebody_elses_does_not_exist() -> None:
    outputs = Outputs()
    outputs.put("one", "agent1", "text")
    with pytest.raises(NotFound) as error:
        outputs.get("one", "agent2")
    assert error.value.hint == "outputs here: none"


def test_the_oldest_goes_first() -> None:
    outputs = Outputs(most=2, most_characters=10)
    outputs.put("one", "a", "1")
    outputs.put("two", "a", "2")
    outputs.put("three", "a", "3")
    with pytest.raises(NotFound, match="one"):
        outputs.get("one", "a")
    outputs.put("four", "a", "4" * 20)
    assert outputs.get("four", "a") == "4" * 10
    with pytest.raises(NotFound, match="three"):
        outputs.get("three", "a")


def test_a_sessions_outputs_go_with_it() -> None:
    outputs = Outputs()
    outputs.put("one", "a", "1")
    outputs.put("two", "b", "2")
    outputs.forget("a")
    assert outputs.get("two", "b") == "2"
    with pytest.raises(NotFound, match="one"):
        outputs.get("one", "a")
