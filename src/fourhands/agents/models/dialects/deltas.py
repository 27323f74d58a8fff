"""The answer of a model read as deltas: text, thoughts, and the reason of its end.

A dialect's own file reads one message as deltas; the reader here cuts the bytes of an answer, streamed or in one piece,
into such messages. It does no I/O. A message that is not of the dialect is skipped; whether any was understood, and how
the answer began, is known at its end.
"""

import logging
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias

from fourhands.agents.models.dialects import payload
from fourhands.agents.models.dialects.base import DEFAULT, DialectLimits
from fourhands.agents.models.dialects.sse import SseParser, data_of
from fourhands.core.errors import Unavailable
from fourhands.core.text import one_line

EXCERPT = 200
"""Most bytes or characters of a message that cannot be read, in a log or an error."""

_IDLE = (b"", b"[DONE]")  # data of an event that holds no message

DeltaKind: TypeAlias = Literal["text", "thought", "stop"]
Delta: TypeAlias = tuple[DeltaKind, str]
MessageReader: TypeAlias = Callable[[Any], list[Delta] | None]
"""A dialect's function from one decoded message, streamed or whole, to its deltas; None if it is of another dialect."""

log = logging.getLogger(__name__)


class AnswerReader:
    """The deltas of one answer, whose bytes come in chunks cut anywhere."""

    def __init__(self, read: MessageReader, content_type: str, limits: DialectLimits = DEFAULT) -> None:
        self.understood = False
        """True as soon as a message was of the dialect."""
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
            yield from self._sound(found)

    def excerpt(self) -> str:
        """Return the beginning of the answer on one line."""
        return one_line(b"".join(self._chunks).decode("utf-8", "replace"), EXCERPT)

    def _event(self, lines: list[bytes]) -> Iterator[Delta]:
        data = data_of(lines)
        if data is None or data.strip() in _IDLE:
            return
        if (found := self._read(payload.decode(data))) is None:
            log.warning("an event of the model cannot be read: %r", data[:EXCERPT])
            return
        yield from self._sound(found)

    def _sound(self, found: list[Delta]) -> Iterator[Delta]:
        """Yield deltas in which halves of surrogate pairs, which cannot be encoded, are replaced."""
        self.understood = True
        for kind, text in found:
            yield kind, text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def reported(problem: Any) -> Unavailable:
    """Return the error that a model's answer reports, ready to be raised."""
    return Unavailable(f"the model reports an error: {error_text(problem)}")


def error_text(problem: Any) -> str:
    """Return the message of a model's error, on one line."""
    message = problem.get("message") if isinstance(problem, dict) else None
    return one_line(message if isinstance(message, str) and message else str(problem), 500)
