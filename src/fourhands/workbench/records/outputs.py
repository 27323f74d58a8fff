"""Full texts of shortened outputs: those of one-shot commands, and results shortened for a model's next turn.

Bounded in number and in characters, the oldest goes first; a session's go with it. They do not outlive the server.
Each has two names: the id under which it was put, and a short one, `output:7`, since a model pays for long ones.
"""

import itertools
from dataclasses import dataclass

from fourhands.core.bounded import BoundedDict
from fourhands.core.errors import BadArgument, NotFound

MOST = 100
MOST_CHARACTERS = 32 * 1024 * 1024
SHORT = "output:"
"""The beginning of a short name."""


@dataclass(frozen=True, slots=True)
class _Output:
    owner: str
    text: str
    name: str


class Outputs:
    """Outputs by id. An owner reads its own; `owner` None reads all."""

    def __init__(self, most: int = MOST, most_characters: int = MOST_CHARACTERS) -> None:
        self._most_characters = most_characters
        self._numbers = itertools.count(1)
        self._kept: BoundedDict[str, _Output] = BoundedDict(
            most_characters, size=lambda id, output: len(output.text), most=most
        )

    def put(self, id: str, owner: str, text: str) -> str:
        """Store an output under an id of its own; of one that is too long by itself, the beginning.

        Returns its short name.
        """
        known = self._kept.get(id)
        name = f"{SHORT}{next(self._numbers)}" if known is None else known.name
        self._kept[id] = _Output(owner, text[: self._most_characters], name)
        return name

    def get(self, id: str, owner: str | None) -> str:
        """Return the text of an output. Raises `NotFound`, also for one of another owner."""
        if id.startswith(SHORT):
            output = next((kept for kept in self._kept.values() if kept.name == id), None)
        else:
            output = self._kept.get(id)
        if output is None or owner not in (None, output.owner):
            mine = [kept.name for kept in self._kept.values() if owner in (None, kept.owner)]
            raise NotFound.of("output", id[:100], mine)
        return output.text

    def read(self, id: str, owner: str | None, offset: int, limit: int) -> tuple[str, int]:
        """Return a part of an output, and the length of the whole."""
        text = self.get(id, owner)
        if offset > len(text):
            raise BadArgument(f"offset {offset} is past the end", hint=f"the output has {len(text)} characters")
        return text[offset : offset + limit], len(text)

    def forget(self, owner: str) -> None:
        """Drop everything of one owner."""
        for id in [id for id, output in self._kept.items() if output.owner == owner]:
            del self._kept[id]
