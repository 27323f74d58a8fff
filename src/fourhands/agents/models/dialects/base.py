"""The base of all dialects: one interceptor for each text of an answer, and the account of what was taken.

A `Translator` reads the messages of one answer of one dialect and changes their text in place. It knows nothing of
bytes on the wire; `framing.py` cuts them into messages and puts them together again.
"""

import enum
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from msgspec import Raw, Struct

from fourhands.agents.blocks.interceptor import Dropped, Intercepted, Interceptor
from fourhands.agents.models.dialects import payload
from fourhands.core.errors import LimitReached

Clock = Callable[[], float]
Key = tuple[int, int]  # the place of a text in an answer: choice, block or item, and part of it


@dataclass(frozen=True, slots=True)
class DialectLimits:
    """The limits of one answer, in bytes where nothing else is said."""

    texts: int = 4096
    """Texts of one answer; real answers have a few."""
    event: int = 32 * 1024 * 1024
    """One server-sent event, or one element of an array."""
    body: int = 32 * 1024 * 1024
    gap: int = 1024 * 1024
    """Between two elements of an array."""


DEFAULT = DialectLimits()


class Taken(Struct, frozen=True):
    """A command from an answer; message and ordinal together name it, once and for all."""

    message_id: str
    ordinal: int
    command: dict[str, Any]


class Filtered(Struct, frozen=True):
    """The outcome of one call: bytes to pass on, commands in order, and blocks that were dropped."""

    data: bytes = b""
    commands: list[Taken] = []
    dropped: list[Dropped] = []


class Synthetic(Struct, frozen=True):
    """A message of our own that carries text which had been held back."""

    event: str  # the name of a server-sent event; empty if the dialect names none
    members: dict[str, Any]


class Fate(enum.Enum):
    """The fate of a message."""

    PASS = enum.auto()  # byte for byte
    CHANGE = enum.auto()
    DROP = enum.auto()  # nothing is left in it


@dataclass(slots=True)
class Voice:
    """One text of an answer while it is being spoken."""

    interceptor: Interceptor
    carry: Callable[[str], Synthetic]  # wraps text in a message of the same shape as its last one
    silent: bool = False  # of a further choice: its blocks are taken out, and run nothing
    heard: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)


class Translator(ABC):
    """Takes the blocks out of the messages of one answer."""

    choices: ClassVar[bool] = False  # whether the first part of a key counts choices, of which only the first acts

    def __init__(self, now: Clock = time.monotonic, limits: DialectLimits = DEFAULT) -> None:
        self.limits = limits
        self.message_id = ""
        self.before: list[Synthetic] = []  # to be sent before the message at hand; the sender empties it
        self.taken: list[Taken] = []
        self.dropped: list[Dropped] = []
        self._now = now
        self._count = 0
        self._voices: dict[Key, Voice] = {}
        self._texts: list[tuple[str, str]] = []  # of the first choice, those that have ended

    @property
    def texts(self) -> list[tuple[str, str]]:
        """The texts of the first choice so far, in order: as they came, and as they are shown."""
        open_ones = [voice for voice in self._voices.values() if not voice.silent]
        return [*self._texts, *(("".join(voice.heard), "".join(voice.shown)) for voice in open_ones)]

    @abstractmethod
    def event(self, message: dict[str, Raw]) -> Fate:
        """Deal with one message of a stream, changing it in place."""

    @abstractmethod
    def body(self, message: dict[str, Raw]) -> Fate:
        """Deal with a whole answer in one message, changing it in place."""

    def finish(self) -> None:
        """Release the text that is still held back, at the end of the answer."""
        for key in list(self._voices):
            self._flush(key)

    def tick(self) -> None:
        """Let blocks that stalled for 5 s go."""
        for voice in self._voices.values():
            visible = self._note(voice, voice.interceptor.tick())
            if visible:
                self.before.append(voice.carry(visible))

    @property
    def waiting(self) -> bool:
        """True while a block is open somewhere, so that `tick` has something to watch."""
        return any(voice.interceptor.waiting for voice in self._voices.values())

    def identify(self, value: Raw | None) -> None:
        """Remember the answer's id when a message tells it."""
        self.message_id = self.message_id or payload.text(value) or ""

    def _hear(self, key: Key, text: str, carry: Callable[[str], Synthetic]) -> str:
        """Feed text to the interceptor of its own; return what may be shown now."""
        voice = self._voices.get(key)
        if voice is None:
            if len(self._voices) >= self.limits.texts:
                raise LimitReached(
                    f"an answer of the model has more than {self.limits.texts} texts", hint="it was cut off"
                )
            voice = self._voices[key] = Voice(Interceptor(now=self._now), carry, silent=self.choices and key[0] > 0)
        voice.carry = carry
        voice.heard.append(text)
        return self._note(voice, voice.interceptor.feed(text))

    def _end(self, key: Key) -> str:
        """End one text; return what was held back of it."""
        voice = self._voices.get(key)
        if voice is None:
            return ""
        visible = self._note(voice, voice.interceptor.close())
        self._forget(key, voice)
        return visible

    def _forget(self, key: Key, voice: Voice) -> None:
        del self._voices[key]
        if not voice.silent:
            self._texts.append(("".join(voice.heard), "".join(voice.shown)))

    def _flush(self, key: Key) -> None:
        voice = self._voices.get(key)
        visible = self._end(key)
        if voice is not None and visible:
            self.before.append(voice.carry(visible))

    def _whole(self, text: str, choice: int = 0) -> str:
        """Read a text that came in one piece."""
        interceptor, silent = Interceptor(now=self._now), self.choices and choice > 0
        shown = self._account(interceptor.feed(text), silent) + self._account(interceptor.close(), silent)
        if not silent:
            self._texts.append((text, shown))
        return shown

    def _note(self, voice: Voice, piece: Intercepted) -> str:
        if piece.visible:
            voice.shown.append(piece.visible)
        return self._account(piece, voice.silent)

    def _account(self, piece: Intercepted, silent: bool) -> str:
        if silent:
            return piece.visible
        for command in piece.commands:
            self.taken.append(Taken(self.message_id, self._count, command))
            self._count += 1
        self.dropped += piece.dropped
        return piece.visible
