"""The tool calls of one answer, put together from their pieces.

Servers count in many ways: some leave out the index or give every call the same one, some give no id, some repeat the
name with each piece. A new id begins a new call; so does a name where no index says otherwise.
"""

import contextlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from fourhands.agents.models.dialects.deltas import CallPiece, whole_characters
from fourhands.core.errors import LimitReached
from fourhands.core.ids import ulid

MOST_CALLS = 64
"""Tool calls of one answer that are kept; real answers have a few."""

MOST_ARGUMENTS = 16 * 1024 * 1024
"""Characters of the arguments of all calls of one answer."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call; `problem` says why its arguments cannot be used, and is empty where they can."""

    id: str
    name: str
    arguments: dict[str, object]
    problem: str = ""
    cut: bool = False
    """True where the arguments end in the middle."""


@dataclass(slots=True)
class _Call:
    id: str
    name: str
    place: int | None
    parts: list[str] = field(default_factory=list)


class CallCollector:
    """Puts the calls of one answer together."""

    def __init__(self) -> None:
        self.passed = 0
        """Calls that were too many to keep."""
        self._calls: list[_Call] = []
        self._size = 0
        self._skipping = False

    def __len__(self) -> int:
        return len(self._calls)

    def take(self, piece: CallPiece) -> None:
        """Add a piece to its call."""
        call = self._find(piece)
        if call is None:
            if len(self._calls) >= MOST_CALLS:
                self.passed += not self._skipping or bool(piece.id or piece.name)
                self._skipping = True
                return
            call = _Call(piece.id, piece.name, piece.place)
            self._calls.append(call)
        call.id, call.name = call.id or piece.id, call.name or piece.name
        self._size += len(piece.text)
        if self._size > MOST_ARGUMENTS:
            raise LimitReached(f"the tool calls of an answer have more than {MOST_ARGUMENTS} characters")
        call.parts.append(piece.text)

    def finish(self, taken: Iterable[str] = ()) -> list[ToolCall]:
        """Return the calls, in their order; each has an id of its own, in the whole conversation."""
        made: list[ToolCall] = []
        known = set(taken)  # some servers begin to count anew with each answer
        for call in self._calls:
            id = call.id if call.id and call.id not in known else f"call_{ulid()}"
            known.add(id)
            made.append(_made(id, call.name, "".join(call.parts)))
        return made

    def _find(self, piece: CallPiece) -> _Call | None:
        if piece.id:
            for call in self._calls:
                if call.id == piece.id:
                    return call
        last = next((call for call in reversed(self._calls) if call.place == piece.place), None)
        if piece.place is None and last is None and self._calls:
            last = self._calls[-1]  # a server that counts at times only
        if last is None or (piece.id and last.id):
            return None
        if piece.name and last.name and last.parts and piece.place is None:
            return None
        return last


def _read(text: str) -> object:
    """Read JSON such that it can be written again: without numbers that are none, and half characters replaced."""
    given = json.loads(text)
    again = json.dumps(given, ensure_ascii=False, allow_nan=False)
    return given if again.isascii() or (whole := whole_characters(again)) == again else json.loads(whole)


def _made(id: str, name: str, text: str) -> ToolCall:
    if not text.strip():
        return ToolCall(id, name, {})
    try:
        given = _read(text)
    except json.JSONDecodeError as error:
        problem = f"the arguments are no JSON: {error}; they begin {text[:80]!r}"
        cut = error.msg.startswith("Unterminated") or error.pos >= len(text.rstrip()) - 1
        return ToolCall(id, name, {}, problem, cut=cut)
    except (ValueError, RecursionError) as error:
        return ToolCall(id, name, {}, f"the arguments are no JSON: {str(error) or 'nested too deep'}"[:200])
    if isinstance(given, str):  # JSON in JSON: some servers write the object's text as a text
        with contextlib.suppress(ValueError, RecursionError):
            given = _read(given)
    if given is None:
        return ToolCall(id, name, {})
    if not isinstance(given, dict):
        return ToolCall(id, name, {}, f"the arguments must be an object, not {type(given).__name__}: {text[:80]!r}")
    return ToolCall(id, name, given)
