"""The contract kit itself: an item that is not as its state says fails, and so does a document with a gap."""

from typing import cast

import pytest
from scripts.contract import documents, sources_page
from tests.sources.contract import Document, Play, State, play
from tests.sources.doors import Doors, Refused, like, settings_of

from fourhands import FourhandsError

pytestmark = pytest.mark.timeout(60)  # all documents are read, and with them most of the program

NO_DOORS = cast(Doors, None)


async def passes(doors: Doors) -> None:
    """What an item plays where all is as it says."""


async def is_refused(doors: Doors) -> None:
    raise Refused({"success": False, "code": "not-found"})


async def is_wrong(doors: Doors) -> None:
    raise AssertionError


async def is_mistaken(doors: Doors) -> None:
    raise KeyError("a mistake of the test's own")


def tiny(state: State, play: Play) -> Document:
    document = Document("999", "Tiny", ids=("T1", "T2"))
    if state == "works":
        document.works("T1", "call {}", "HTTP.")(play)
    elif state == "differs":
        document.differs("T1", "call {}", because="So.", answer="an error.")(play)
    elif state == "to come":
        document.to_come("T1", "call {}", until_then="Nothing.")(play)
    else:
        document.not_here("T1", "call {}", because="Windows.", play=play)
    return document


async def happens(state: State, story: Play) -> bool:
    """Whether an item in this state passes when this comes of it."""
    [item] = tiny(state, story).items
    try:
        await play(item, NO_DOORS)
    except (Refused, AssertionError, pytest.fail.Exception):
        return False
    return True


@pytest.mark.asyncio
async def test_an_item_is_as_its_state_says() -> None:
    states: tuple[State, ...] = ("works", "differs", "not here")
    for state in states:
        assert [await happens(state, story) for story in (passes, is_refused, is_wrong)] == [True, False, False]
    assert [await happens("to come", story) for story in (passes, is_refused, is_wrong)] == [False, True, True]


@pytest.mark.asyncio
async def test_what_is_to_come_and_works_is_to_be_said() -> None:
    [item] = tiny("to come", passes).items
    with pytest.raises(pytest.fail.Exception, match=r"T1 'call {}' works now: say so in its state"):
        await play(item, NO_DOORS)


@pytest.mark.asyncio
async def test_a_mistake_in_an_item_is_not_taken_for_what_is_to_come() -> None:
    with pytest.raises(KeyError):
        await happens("to come", is_mistaken)


def test_an_id_without_an_item_is_missing() -> None:
    document = tiny("works", passes)
    assert document.missing() == ["T2"]
    document.works("T2, T1", "both {}", "HTTP.")(passes)
    assert document.missing() == []


def test_one_thing_is_said_once() -> None:
    document = tiny("works", passes)
    with pytest.raises(ValueError, match=r"999: T1 'call {}' is there twice"):
        document.works("T1", "call {}", "HTTP again.")(passes)


def test_only_what_can_be_played_is() -> None:
    document = tiny("works", passes)
    document.not_here("T2", "cmd.exe", because="Windows.")
    assert [one.id for one in document.played()] == ["000-T1"]


def test_every_item_stands_on_the_page() -> None:
    page = sources_page("note")
    for document in documents():
        heading = f"{document.number} · {document.title}"
        assert f"\n## {heading}\n" in page
        row = next(line for line in page.split("\n") if line.startswith(f"| [{heading}]"))
        counts = [int(cell) for cell in row.split("|")[2:-1]]
        assert counts[0] == sum(counts[1:]) == len(document.items)
        part = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
        assert sum(line.startswith("| ") for line in part.split("\n")) == len(document.items) + 1


@pytest.mark.parametrize(
    ("found", "wanted", "same"),
    [
        ({"a": 1, "more": 2}, {"a": int}, True),
        ({"a": "1"}, {"a": int}, False),
        ({}, {"a": int}, False),
        ([{"a": 1}, {"a": 2}], [{"a": int}], True),
        ([{"a": 1}, {"b": 2}], [{"a": int}], False),
        (["x"], [str], True),
        (["x", 1], [str], False),
        (["x"], ["y"], False),
        (None, {"a": int}, False),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, False),
    ],
)
def test_alike_is_what_has_everything_wanted(found: object, wanted: object, same: bool) -> None:
    try:
        like(found, wanted)
    except AssertionError:
        assert not same
    else:
        assert same


def test_a_settings_file_of_an_item_is_read_as_a_persons_is() -> None:
    assert settings_of("[terminal]\ncols = 99\n").terminal.cols == 99
    with pytest.raises(FourhandsError, match=r"settings\.toml"):
        settings_of("[terminal]\ncols = 'wide'\n")
