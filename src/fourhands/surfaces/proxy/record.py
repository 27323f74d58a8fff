"""One exchange of a session with its model as the proxy remembers it, and all that is remembered of a session.

A record belongs to an answer: what the answer said with its blocks, and what we told in the request before it. Records
form trees: an answer that is made again, or a message that is edited, is another child of the answer before it. The
memory is bounded in bytes. The oldest records go first, many at once, since each time costs a server's prompt cache.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec import Struct

from fourhands.workbench.sessions import CommandResult

MOST_BYTES = 4 * 1024 * 1024
"""Bytes that are remembered of one session."""

MOST_ANSWER = 1024 * 1024
"""The texts of one answer that are remembered with their blocks."""

MOST_RESULT = 64 * 1024
"""A result that is kept for a conversation after another one was told it, as JSON."""

ENOUGH = 24
"""An answer of so many signs is known again wherever it stands; a shorter one by what stands before it."""


class AnswerRecord(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """One exchange. `turn` and `key` are digests: of what was said before the answer, and of the answer as shown."""

    id: str
    parent: str = ""
    turn: str = ""
    told: str = ""
    state: dict[str, str] = {}
    """The parts of the workbench's state that `told` tells."""
    system: str = ""
    tools: bool = False
    at: float = 0.0
    key: str = ""
    texts: list[tuple[str, str]] = []
    """The answer's texts, with blocks and as shown; empty if there is no difference."""
    calls: list[str] = []
    """The calls of the answer's blocks."""
    results: list[CommandResult] = []
    """Results of them that were told in another conversation, before this one went on."""
    ended: bool = False
    """The answer is there, also one that broke off."""
    broken: bool = False
    lost: bool = False
    """Its blocks were too large to be remembered."""
    remote: str = ""
    """The answer's id at the model's server."""
    chat: str = ""
    """The id of a conversation that the server keeps."""

    def answered(self, texts: Sequence[tuple[str, str]], *, broken: bool) -> None:
        """Note the answer."""
        self.ended, self.broken = True, broken
        self.key = key_of(shown for _, shown in texts)
        if broken or any(raw != shown for raw, shown in texts):
            self.lost = sum(len(raw) + len(shown) for raw, shown in texts) > MOST_ANSWER
            self.texts = [] if self.lost else list(texts)

    def keep(self, result: CommandResult) -> None:
        """Keep a result that is told in another conversation, for the one that this answer stands in."""
        try:
            fits = len(msgspec.json.encode(result, enc_hook=repr)) <= MOST_RESULT
        except (TypeError, ValueError, OverflowError, RecursionError):  # no JSON, so no file could hold it
            return
        if fits:
            self.results.append(result)

    @property
    def blocks_alone(self) -> bool:
        """True for an answer of which nothing is shown."""
        return not self.key and any(raw.strip() for raw, _ in self.texts)

    @property
    def size(self) -> int:
        """Its bytes, nearly."""
        texts = sum(len(raw) + len(shown) for raw, shown in self.texts)
        kept = sum(len(msgspec.json.encode(result, enc_hook=repr)) for result in self.results)
        return 400 + kept + len(self.told) + sum(map(len, self.state.values())) + texts + 40 * len(self.calls)


class Book:
    """The records of one session, oldest first."""

    def __init__(self, records: Iterable[AnswerRecord] = (), most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._records: dict[str, AnswerRecord] = {}
        self._children: dict[str, list[AnswerRecord]] = {}
        self._by_key: dict[str, list[AnswerRecord]] = {}
        for record in records:
            self.add(record)
            self.settle(record)

    def __iter__(self) -> Iterator[AnswerRecord]:
        return iter(self._records.values())

    def __contains__(self, id: str) -> bool:
        return id in self._records

    def add(self, record: AnswerRecord) -> None:
        """Add an exchange that begins."""
        self._records[record.id] = record
        self._children.setdefault(record.parent, []).append(record)

    def settle(self, record: AnswerRecord) -> None:
        """Make an answer that has come known by its words, and drop what is too old for the room."""
        if record.id in self._records:
            if record.key:
                self._by_key.setdefault(record.key, []).append(record)
            if sum(one.size for one in self) > self._most_bytes:
                self._drop()

    def remove(self, record: AnswerRecord) -> None:
        """Forget an exchange."""
        if self._records.pop(record.id, None) is not None:
            self._children[record.parent].remove(record)
            if record in self._by_key.get(record.key, ()):
                self._by_key[record.key].remove(record)

    def children(self, parent: str) -> list[AnswerRecord]:
        """Return the exchanges that followed an answer, the newest first."""
        return self._children.get(parent, [])[::-1]

    def gone(self, id: str) -> bool:
        """Return True for an answer that was remembered once, but no longer with its blocks."""
        return bool(id) and (id not in self._records or self._records[id].lost)

    def remote(self, id: str, chat: str) -> AnswerRecord | None:
        """Return an answer by its id at the model's server, or the last of a conversation that is kept there."""
        found = (one for one in reversed(list(self)) if (id and one.remote == id) or (chat and one.chat == chat))
        return next(found, None)

    def line(self, record: AnswerRecord) -> list[AnswerRecord]:
        """Return an answer with those before it, the first one first."""
        found = [record]
        while (before := self._records.get(found[-1].parent)) is not None:
            found.append(before)
        return found[::-1]

    def blocks_alone(self, parent: str, turn: str) -> AnswerRecord | None:
        """Return an answer of which a client has nothing to show, so that it may have left it out."""
        return next((one for one in self.children(parent) if one.turn == turn and one.blocks_alone), None)

    def find(self, parent: str, turn: str, texts: Sequence[str]) -> AnswerRecord | None:
        """Return the answer that a client's history has behind `parent`, in these words."""
        said, key = squeezed("".join(texts)), key_of(texts)
        kin = [one for one in self.children(parent) if one.ended and (parent or one.turn == turn)]
        same = [one for one in kin if one.key == key]
        if found := next((one for one in same if one.turn == turn), same[0] if same else None):
            return found
        for one in kin:
            shown = squeezed("".join(shown for _, shown in one.texts))
            if one.broken and said and shown and (shown.startswith(said) or said.startswith(shown)):
                return one
        elsewhere = reversed(self._by_key.get(key, ())) if key else ()
        return next((one for one in elsewhere if one.turn == turn or len(said) >= ENOUGH), None)

    def _drop(self) -> None:
        left = sum(one.size for one in self)
        for record in list(self)[:-1]:
            if left <= self._most_bytes // 2:
                break
            if record.ended:
                left -= record.size
                self.remove(record)


def squeezed(text: str) -> str:
    """Return a text without white space, which clients trim and join as they like."""
    return "".join(text.split())


def digest(text: str) -> str:
    """Return a text's digest."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def key_of(texts: Iterable[str]) -> str:
    """Return the digest of an answer's texts; nothing where nothing is shown."""
    said = squeezed("".join(texts))
    return digest(said) if said else ""
