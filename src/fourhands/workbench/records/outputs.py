"""The full text of what was cropped, kept for a while so that the rest can be read: outputs of one-shot commands, and
results that were shortened for a model's next turn.

Bounded in number and in characters, the oldest goes first; a session's go with it. They do not outlive the server.
"""

from collections import OrderedDict
from dataclasses import dataclass

from fourhands.core.errors import BadArgument, NotFound

MOST = 100
MOST_CHARACTERS = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Output:
    owner: str
    text: str


class Outputs:
    """Outputs by id; everybody reads their own, and `owner` None reads all."""

    def __init__(self, most: int = MOST, most_characters: int = MOST_CHARACTERS) -> None:
        self._most = most
        self._most_characters = most_characters
        self._kept: OrderedDict[str, _Output] = OrderedDict()
        self._characters = 0

    def put(self, id: str, owner: str, text: str) -> None:
        """Keep an output under an id of its own; what is too long by itself keeps its beginning."""
        text = text[: self._most_characters]
        if id in self._kept:
            self._drop(id)
        self._kept[id] = _Output(owner, text)
        self._characters += len(text)
        while len(self._kept) > self._most or self._characters > self._most_characters:
            self._drop(next(iter(self._kept)))

    def get(self, id: str, owner: str | None) -> str:
        """The text of an output; what belongs to somebody else does not exist."""
        output = self._kept.get(id)
        if output is None or owner not in (None, output.owner):
            mine = [name for name, kept in self._kept.items() if owner in (None, kept.owner)]
            raise NotFound.of("output", id[:100], mine)
        return output.text

    def read(self, id: str, owner: str | None, offset: int, limit: int) -> tuple[str, int]:
        """A piece of an output, and its whole length."""
        text = self.get(id, owner)
        if offset > len(text):
            raise BadArgument(f"offset {offset} is behind the end", hint=f"the output has {len(text)} characters")
        return text[offset : offset + limit], len(text)

    def forget(self, owner: str) -> None:
        """Drop everything of one owner."""
        for id in [id for id, output in self._kept.items() if output.owner == owner]:
            self._drop(id)

    def _drop(self, id: str) -> None:
        self._characters -= len(self._kept.pop(id).text)
