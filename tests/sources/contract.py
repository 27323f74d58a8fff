"""What the source documents ask for, item by item, in their own calls; what became of each is played, not claimed.

A document's file holds its literal JSON, calls, configuration and examples as data, and for each item a function that
plays it against a running server. An item is in one of four states:

- works: the literal call does what the document says;
- differs: on purpose; the function checks the answer that a literal client gets instead, which says what to do;
- not here: Windows, and what only that needs; the function, if any, checks what is said to whoever asks for it;
- to come: the function plays the literal call, and must fail. As soon as it works, the item has to say so.

`docs/sources.md` is written from the items by `make docs`.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import pytest
from _pytest.mark import ParameterSet
from tests.sources.doors import Doors, Refused

State: TypeAlias = Literal["works", "differs", "not here", "to come"]
Play: TypeAlias = Callable[[Doors], Awaitable[None]]

STATES: tuple[State, ...] = ("works", "differs", "not here", "to come")


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that a document asks for."""

    id: str
    """As in requirements.md or in the document: AC-3.1.1, GAP-2, T6; where an id is used twice, with its section."""
    says: str
    """The literal call, JSON, setting or name, shortened; no prose of the document."""
    state: State
    here: str
    """What happens here, in our words; where it differs, why and what a literal client gets."""
    play: Play | None


class Document:
    """One source document: its ids, and its items in order."""

    def __init__(self, number: str, title: str, ids: Iterable[str]) -> None:
        self.number = number
        self.title = title
        self.ids = tuple(ids)
        self.items: list[Item] = []

    def works(self, id: str, says: str, here: str) -> Callable[[Play], Play]:
        """An item that does what the document says; `here` names the door and what came of it."""
        return self._adder(id, says, "works", here)

    def differs(self, id: str, says: str, *, because: str, answer: str) -> Callable[[Play], Play]:
        """An item that is otherwise on purpose; the function checks the `answer` that a literal client gets."""
        return self._adder(id, says, "differs", f"{because} A literal client gets: {answer}")

    def not_here(self, id: str, says: str, *, because: str, play: Play | None = None) -> None:
        """An item that only Windows needs."""
        self._add(Item(id, says, "not here", because, play))

    def to_come(self, id: str, says: str, *, until_then: str) -> Callable[[Play], Play]:
        """An item that is not built yet; the function plays it as if it were, and must fail until it is."""
        return self._adder(id, says, "to come", until_then)

    def _adder(self, id: str, says: str, state: State, here: str) -> Callable[[Play], Play]:
        def add(play: Play) -> Play:
            self._add(Item(id, says, state, here, play))
            return play

        return add

    def _add(self, item: Item) -> None:
        if any((one.id, one.says) == (item.id, item.says) for one in self.items):
            raise ValueError(f"{self.number}: {item.id} {item.says!r} is there twice")
        self.items.append(item)

    def played(self) -> list[ParameterSet]:
        """The items that can be played, for `pytest.mark.parametrize`."""
        return [
            pytest.param(item, id=f"{number:03}-{item.id.replace(', ', '+').replace(' ', '-')}")
            for number, item in enumerate(self.items)
            if item.play is not None
        ]

    def missing(self) -> list[str]:
        """The document's ids that no item has."""
        covered = {id for item in self.items for id in item.id.split(", ")}
        return [id for id in self.ids if id not in covered]


async def play(item: Item, doors: Doors) -> None:
    """Play one item: it must do what its state says."""
    assert item.play is not None
    if item.state != "to come":
        await item.play(doors)
        return
    try:
        await item.play(doors)
    except (Refused, AssertionError):
        return
    pytest.fail(f"{item.id} {item.says!r} works now: say so in its state")
