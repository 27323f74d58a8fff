"""The three forms in which an answer comes over the wire: server-sent events, a JSON array in pieces, one JSON body.

All three have `feed`, `tick` and `close`, do no I/O, and leave alone what their translator does not change. JSON that
cannot be read passes unchanged, unless it holds a block's marker: then the block is cut out of it and nothing runs.
"""

import logging
import re
from typing import Protocol

from fourhands.agents.blocks.interceptor import Dropped, Interceptor
from fourhands.agents.blocks.parser import Braces
from fourhands.agents.models.dialects import payload, sse
from fourhands.agents.models.dialects.base import Fate, Filtered, Synthetic, Translator
from fourhands.core.errors import LimitReached

_MARKISH = re.compile(rb"(?:%|\\u0025){2}(?:O|\\u004[fF])(?:S|\\u0053)(?:\{|\\u007[bB])")

log = logging.getLogger(__name__)


class ResponseFilter(Protocol):
    """Takes the bytes of one answer and gives back those for the agent, with the commands that were in them."""

    def feed(self, data: bytes) -> Filtered:
        """Take the next bytes, cut anywhere."""

    def tick(self) -> Filtered:
        """Let blocks that stalled for 5 s go."""

    def close(self) -> Filtered:
        """End the answer, also one that was cut off."""

    @property
    def waiting(self) -> bool:
        """True while a block is open, so that `tick` has something to watch."""

    @property
    def texts(self) -> list[tuple[str, str]]:
        """The texts of the answer so far: as they came, and as they are shown."""

    @property
    def message_id(self) -> str:
        """The answer's id, as far as the server has told it."""


class _Framing:
    def __init__(self, translator: Translator) -> None:
        self._translator = translator
        self._limits = translator.limits
        self._out: list[bytes] = []

    @property
    def waiting(self) -> bool:
        """True while a block is open, so that `tick` has something to watch."""
        return self._translator.waiting

    @property
    def texts(self) -> list[tuple[str, str]]:
        """The texts of the answer so far: as they came, and as they are shown."""
        return self._translator.texts

    @property
    def message_id(self) -> str:
        """The answer's id, as far as the server has told it."""
        return self._translator.message_id

    def _give(self) -> Filtered:
        translator = self._translator
        given = Filtered(b"".join(self._out), translator.taken, translator.dropped)
        self._out, translator.taken, translator.dropped = [], [], []
        return given

    def _synthetics(self) -> list[Synthetic]:
        made, self._translator.before = self._translator.before, []
        return made

    def _scrub(self, data: bytes) -> bytes:
        """Return JSON that could not be read, without any block in it."""
        if not _MARKISH.search(data):
            return data
        log.warning("the model's server sent JSON that cannot be read, with a block in it: %r", data[:200])
        self._translator.dropped.append(Dropped("in JSON that cannot be read", data[:120].decode("utf-8", "replace")))
        interceptor = Interceptor()
        pieces = interceptor.feed(data.decode("utf-8", "surrogateescape")), interceptor.close()
        rest = "".join(piece.visible for piece in pieces).encode("utf-8", "surrogateescape")
        return b"" if _MARKISH.search(rest) else rest


class EventFilter(_Framing):
    """Filters an answer that streams as server-sent events."""

    def __init__(self, translator: Translator) -> None:
        super().__init__(translator)
        self._events = sse.SseParser(translator.limits.event)
        self._ending = b"\n"
        self._sent = True  # the last event was passed on

    def feed(self, data: bytes) -> Filtered:
        """Take the next bytes, cut anywhere."""
        for lines in self._events.feed(data):
            if lines is sse.LATE:
                if self._sent:
                    self._out.append(b"\n")
            else:
                self._event(lines)
        return self._give()

    def tick(self) -> Filtered:
        """Let blocks that stalled for 5 s go."""
        self._translator.tick()
        self._insert()
        return self._give()

    def close(self) -> Filtered:
        """End the answer, also one that was cut off in the middle of an event."""
        rest = self._events.close()
        data = sse.data_of(rest)
        whole = data is not None and payload.members(data) is not None
        if not whole:
            # Half an event stays half, and so the last one: clients do not read it.
            self._translator.finish()
            self._insert()
        if rest:
            self._event(rest)
        if whole:
            self._translator.finish()
            if self._translator.before and self._sent:
                self._out.append(self._ending * 2)
            self._insert()
        return self._give()

    def _event(self, lines: list[bytes]) -> None:
        self._sent = True
        data = sse.data_of(lines)
        if data is None:
            self._out += lines
            return
        self._ending = sse.ending_of(lines[0]) or self._ending
        message = payload.members(data)
        if message is None:
            if data.strip() == b"[DONE]":
                self._translator.finish()
                self._insert()
                self._out += lines
                return
            clean = self._scrub(data)
            self._sent = bool(clean) or clean == data
            self._out += lines if clean == data else [sse.with_data(lines, clean)] if clean else []
            return
        fate = self._translator.event(message)
        self._insert()
        if fate is Fate.PASS:
            self._out += lines
        elif fate is Fate.CHANGE:
            self._out.append(sse.with_data(lines, bytes(payload.encode(message))))
        else:
            self._sent = False

    def _insert(self) -> None:
        for made in self._synthetics():
            if made.event:
                self._out += [b"event: ", made.event.encode(), self._ending]
            self._out += [b"data: ", bytes(payload.encode(made.members)), self._ending * 2]


class ArrayFilter(_Framing):
    """Filters an answer that streams as the elements of one JSON array; a lone object is a whole answer."""

    def __init__(self, translator: Translator) -> None:
        super().__init__(translator)
        self._gap = ""  # between two elements; as Latin-1, in which a character is a byte
        self._parts: list[str] = []
        self._size = 0
        self._braces: Braces | None = None
        self._array = False
        self._sent = False  # an element was passed on, so the next one needs its comma
        self._lost_first = False  # none was, and the comma behind the first must go

    def feed(self, data: bytes) -> Filtered:
        """Take the next bytes, cut anywhere."""
        text = data.decode("latin-1")
        pos = 0
        while pos < len(text):
            if self._braces is None:
                start = text.find("{", pos)
                self._pass_gap(text[pos : start if start >= 0 else len(text)])
                if start < 0:
                    break
                pos, self._braces = start, Braces()
            end = self._braces.feed(text, pos, len(text))
            self._parts.append(text[pos : end if end >= 0 else len(text)])
            self._size += len(self._parts[-1])
            if self._size > self._limits.event:
                raise LimitReached(
                    f"an element of the model's stream is larger than {self._limits.event} bytes", hint="it was cut off"
                )
            if end < 0:
                break
            pos = end
            self._element(self._take())
        return self._give()

    def tick(self) -> Filtered:
        """Let blocks that stalled for 5 s go."""
        self._translator.tick()
        self._insert()
        return self._give()

    def close(self) -> Filtered:
        """End the answer, also one that was cut off in the middle of an element."""
        self._translator.finish()
        self._insert()
        self._out += [self._gap.encode("latin-1"), self._scrub(self._take())]
        self._gap = ""
        return self._give()

    def _take(self) -> bytes:
        value = "".join(self._parts).encode("latin-1")
        self._parts, self._size, self._braces = [], 0, None
        return value

    def _pass_gap(self, gap: str) -> None:
        self._array = self._array or "[" in gap
        if self._lost_first and "," in gap:
            gap = gap.replace(",", "", 1)
            self._lost_first = False
        if "]" in gap:
            self._translator.finish()
            self._insert()
            self._out.append((self._gap + gap).encode("latin-1"))
            self._gap = ""
            return
        self._gap += gap
        if len(self._gap) > self._limits.gap:
            raise LimitReached(f"more than {self._limits.gap} bytes between two elements of the model's stream")

    def _element(self, value: bytes) -> None:
        message = payload.members(value)
        if message is None:
            value = self._scrub(value)
            fate = Fate.PASS if value else Fate.DROP
        elif self._array:
            fate = self._translator.event(message)
        else:
            fate = self._translator.body(message)
        self._insert()
        if fate is Fate.DROP:
            if self._sent:
                self._gap = ""
            else:
                self._lost_first = True
            return
        if message is not None and fate is Fate.CHANGE:
            value = bytes(payload.encode(message))
        self._out += [self._gap.encode("latin-1"), value]
        self._gap, self._sent = "", True

    def _insert(self) -> None:
        for made in self._synthetics():
            value = bytes(payload.encode(made.members))
            if self._sent:
                self._out += [b",\r\n", value]
            else:
                self._out += [self._gap.encode("latin-1"), value]
                # The comma that waits behind a lost first element is wanted after all.
                self._gap, self._sent = "" if self._lost_first else ",\r\n", True
                self._lost_first = False


class BodyFilter(_Framing):
    """Filters an answer that is one JSON body; nothing comes out before its end."""

    def __init__(self, translator: Translator) -> None:
        super().__init__(translator)
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Filtered:
        """Keep the next bytes."""
        self._size += len(data)
        if self._size > self._limits.body:
            raise LimitReached(
                f"an answer of the model is larger than {self._limits.body} bytes", hint="it was cut off"
            )
        self._parts.append(data)
        return Filtered()

    def tick(self) -> Filtered:
        """Do nothing: no part of a body waits for another."""
        return Filtered()

    def close(self) -> Filtered:
        """Return the whole body."""
        data = b"".join(self._parts)
        self._parts, self._size = [], 0
        message = payload.members(data)
        if message is None:
            self._out.append(self._scrub(data))
        elif self._translator.body(message) is Fate.PASS:
            self._out.append(data)
        else:
            self._out.append(bytes(payload.encode(message)))
        return self._give()
