"""The answer of a model read as deltas: text, thoughts, pieces of tool calls, what it used, and the reason of its end.

A dialect's own file reads one message as deltas; the reader here cuts the bytes of an answer, streamed or in one piece,
into such messages. It does no I/O. A message that is not of the dialect is skipped; whether any was understood, whether
the answer has ended or was cut, and how it began, is known at its end.
"""

import logging
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from fourhands.agents.models.dialects import payload
from fourhands.agents.models.dialects.base import DEFAULT, DialectLimits
from fourhands.agents.models.dialects.sse import SseParser, data_of
from fourhands.core.errors import Unavailable
from fourhands.core.text import one_line

EXCERPT = 200
"""Most bytes or characters of a message that cannot be read, in a log or an error."""

_DONE = b"[DONE]"  # the data of the last event of many servers
_MOST_TOKENS = 10**12


class Text(Struct, frozen=True):
    """Text of the answer."""

    text: str


class Thought(Struct, frozen=True):
    """Text of a thought."""

    text: str


class CallPiece(Struct, frozen=True):
    """A piece of a tool call. Which call it belongs to is found out by `calls.py`: servers count in many ways."""

    text: str  # of the arguments
    place: int | None = None
    id: str = ""
    name: str = ""


class Stop(Struct, frozen=True):
    """The reason for which the answer ended: end_turn, tool_use, max_tokens, refusal, or the server's own word."""

    text: str


class Used(Struct, frozen=True):
    """Tokens that were used, as far as the server tells; a later one replaces what an earlier one said."""

    read: int | None = None  # those of the request, with those that came from a cache
    written: int | None = None
    cached: int | None = None
    cost: float | None = None


Delta: TypeAlias = Text | Thought | CallPiece | Stop | Used
MessageReader: TypeAlias = Callable[[Any], list[Delta] | None]
"""A dialect's function from one decoded message, streamed or whole, to its deltas; None if it is of another dialect."""

log = logging.getLogger(__name__)


class AnswerReader:
    """The deltas of one answer, whose bytes come in chunks cut anywhere."""

    def __init__(self, read: MessageReader, content_type: str, limits: DialectLimits = DEFAULT) -> None:
        self.understood = False
        """True as soon as a message was of the dialect."""
        self.ended = False
        """True as soon as the server has said that the answer is over. One that is not was cut off."""
        self._read = read
        # Some servers do not stream, whatever they are asked for.
        self._whole = content_type == "application/json"
        self._limits = limits
        self._chunks: list[bytes] = []  # of a whole answer all of them, of a stream the first
        self._size = 0
        self._events = SseParser(limits.event)

    def feed(self, chunk: bytes) -> Iterator[Delta]:
        """Yield the deltas that the next bytes complete. Raises `Unavailable` for an error that the model reports."""
        if self._whole:
            self._size += len(chunk)
            if self._size > self._limits.body:
                raise Unavailable(f"the model's answer is larger than {self._limits.body} bytes")
            self._chunks.append(chunk)
            return
        if not self._chunks and chunk:
            self._chunks.append(chunk)
        for lines in self._events.feed(chunk):
            yield from self._event(lines)

    def close(self) -> Iterator[Delta]:
        """Yield the deltas of a whole answer, or of a last event without its empty line."""
        if not self._whole:
            yield from self._event(self._events.close())
        elif (found := self._read(payload.decode(b"".join(self._chunks)))) is not None:
            self.ended = True
            yield from self._sound(found)

    def excerpt(self) -> str:
        """Return the beginning of the answer on one line."""
        return one_line(b"".join(self._chunks).decode("utf-8", "replace"), EXCERPT)

    def _event(self, lines: list[bytes]) -> Iterator[Delta]:
        data = data_of(lines)
        if data is None or not (bare := data.strip()):
            return
        if bare == _DONE:
            self.ended = self.understood
            return
        if (found := self._read(payload.decode(data))) is None:
            log.warning("an event of the model cannot be read: %r", data[:EXCERPT])
            return
        yield from self._sound(found)

    def _sound(self, found: list[Delta]) -> Iterator[Delta]:
        """Yield deltas in which halves of surrogate pairs are replaced."""
        self.understood = True
        for delta in found:
            self.ended = self.ended or isinstance(delta, Stop)
            text = "" if isinstance(delta, Used) else delta.text
            yield delta if isinstance(delta, Used) or text.isascii() else replace(delta, text=whole_characters(text))


def whole_characters(text: str) -> str:
    """Return a text in which halves of surrogate pairs, which cannot be encoded, are replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def count(value: object) -> int | None:
    """Return a number of tokens; None for what is none."""
    fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS
    return int(value) if fits and isinstance(value, int) else None


class Reported(Unavailable):
    """An error that stands in the answer itself; `kind` is the server's own word for it."""

    def __init__(self, message: str, kind: str = "", problem: object = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.problem = problem


def reported(problem: Any) -> Reported:
    """Return the error that a model's answer reports, ready to be raised."""
    return Reported(f"the model reports an error: {error_text(problem)}", error_kind(problem), problem)


def error_kind(problem: Any) -> str:
    """Return the type and code of a model's error, as far as it has some."""
    if not isinstance(problem, dict):
        return ""
    return " ".join(one[:100] for name in ("type", "code", "status") if isinstance(one := problem.get(name), str))


def error_text(problem: Any) -> str:
    """Return the message of a model's error, on one line."""
    message = problem.get("message") if isinstance(problem, dict) else None
    return one_line(message if isinstance(message, str) and message else str(problem), 500)
