"""Takes `%%OS{…}%%` blocks out of an agent's text while it streams: clean text for the person, commands for the gate.

The rules are the project's policy for blocks: code is never scanned, a marker outside code is never shown, and as
little as possible is dropped. The result does not depend on how the text was cut. An `Interceptor` belongs to one text
stream (one message, choice or content block) and is driven by its owner alone; it starts nothing and waits for nothing,
so the owner calls `tick` now and then while text may stall.

What is held back: a part of a marker (at most four characters), or an open block (at most 8 MiB).
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from fourhands.agents.blocks.markdown import MarkdownScanner
from fourhands.agents.blocks.parser import BadBlock, Block, Braces, Closers, command
from fourhands.agents.blocks.sight import Sight
from fourhands.core.errors import BadArgument
from fourhands.core.quote import MARK

_END = "}%%"
_EXCERPT = 120
_NO_END = "no %% behind the closing brace"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InterceptorLimits:
    """The limits of one stream."""

    held: int = 8 * 1024 * 1024
    """Bytes of UTF-8 in an open block."""
    repeats: int = 1000
    """The most times that the limit above may cause text to be scanned again."""
    repeated: int = 64 * 1024 * 1024
    """Characters that may be scanned again."""
    pause_s: float = 5.0
    """Seconds that an open block may wait for more text."""


DEFAULT = InterceptorLimits()


class Dropped(Struct, frozen=True):
    """A block that ran nothing, for the page to show as a failed step."""

    reason: str
    excerpt: str


class Intercepted(
    Struct, frozen=True, gc=False
):  # made for every chunk, and in no circle that a collector would look for
    """The outcome of one call: text to show, commands to run in order, and blocks that were dropped."""

    visible: str = ""
    commands: list[dict[str, Any]] = []
    dropped: list[Dropped] = []


class Interceptor:
    """Splits one stream of text into what a person sees and the commands in it."""

    def __init__(self, now: Callable[[], float] = time.monotonic, limits: InterceptorLimits = DEFAULT) -> None:
        self._now = now
        self._limits = limits
        self._reset()

    def feed(self, text: str) -> Intercepted:
        """Take the next piece of text, cut anywhere."""
        if self._quick and "%" not in text and "`" not in text and "\n" not in text and "\\" not in text:
            return Intercepted(text)
        if not isinstance(text, str):
            raise BadArgument(f"text is {type(text).__name__}, not str", hint="decode bytes before they come here")
        if self._parts and self._overdue():
            self._settle("no end for 5 s")
        if text:
            self._scan(text)
            if self._parts:
                self._last = self._now()
        return self._give()

    def tick(self) -> Intercepted:
        """Drop a block that has waited too long for more text; without one, do nothing."""
        if self._parts and self._overdue():
            self._settle("no end for 5 s")
        return self._give()

    def close(self) -> Intercepted:
        """End the stream: a part of a marker is text after all, an open block is dropped. A new stream may follow."""
        if self._parts:
            self._settle("no end before the end of the text")
        self._visible.append(self._prose.carry[self._prose.shown :])
        piece = self._give()
        self._reset()
        return piece

    @property
    def waiting(self) -> bool:
        """True while a block is open, so that `tick` has something to watch."""
        return bool(self._parts)

    def _reset(self) -> None:
        self._prose = MarkdownScanner()
        self._quick = False
        self._visible: list[str] = []
        self._commands: list[dict[str, Any]] = []
        self._dropped: list[Dropped] = []
        self._parts: list[str] = []  # the open block from its marker on; empty when none is open
        self._size = 0  # of the parts, in bytes of UTF-8
        self._braces = Braces()
        self._signs = -1  # how many signs of the end mark stand behind the balancing brace; -1 before that brace
        self._last = 0.0
        self._repeats = 0
        self._repeated = 0

    def _give(self) -> Intercepted:
        self._quick = not self._parts and self._prose.plain
        piece = Intercepted("".join(self._visible), self._commands, self._dropped)
        self._visible, self._commands, self._dropped = [], [], []
        return piece

    def _overdue(self) -> bool:
        # Counted from the last text: a long block from a slow model is not a broken one.
        return self._now() - self._last >= self._limits.pause_s

    def _scan(self, text: str) -> None:
        """Read text that may end anywhere; blocks may stay open."""
        pos = 0
        prose = self._prose
        sight = Sight(text)
        if self._parts:
            pos = self._read_block(text, 0, 0)
            if self._parts:
                return
        while True:
            shown = pos
            if prose.carry:
                text = prose.carry + text[pos:]
                pos, shown = 0, prose.shown
                prose.carry, prose.shown = "", 0
                sight = Sight(text)
            mark = prose.find(sight, pos)
            if mark < 0:
                self._visible.append(text[shown : len(text) - prose.unshown])
                return
            self._visible.append(text[shown:mark])
            self._braces = Braces()
            self._signs = -1
            pos = self._read_block(text, mark, mark + len(MARK) - 1)
            if self._parts or pos == len(text):
                return

    def _read_block(self, text: str, start: int, pos: int) -> int:
        """Read on in the block whose next unsaved text starts at `start`; return where prose goes on.

        The block stays open if it is undecided at the end of the text. The size limit counts character by character,
        so that it falls at the same place however the text was cut.
        """
        while True:
            window = min(len(text), start + self._limits.held - self._size + 1)  # a character has at least one byte
            decided, pos = self._decide(text, pos, window)
            # The character that decides is not held: what was held before it counts.
            weight = _weight(text, start, pos - 1 if decided and self._signs == 2 else pos)
            if self._size + weight <= self._limits.held:
                break
            start = pos = self._overflow(text, start)
            if not self._parts:
                return pos
        self._parts.append(text[start:pos])
        if not decided:
            self._size += weight
            return pos
        block = self._take()
        if self._signs == 2:
            self._finish(block)
        else:
            if self._signs:
                self._visible.append("%")
                block = block[:-1]
            self._drop(_NO_END, block)
        self._prose.resume()
        return pos

    def _decide(self, text: str, pos: int, end: int) -> tuple[bool, int]:
        """Look for the end of the block in `text[pos:end]`: whether it is decided, and how far the block reaches."""
        if self._signs < 0:
            pos = self._braces.feed(text, pos, end)
            if pos < 0:
                return False, end
            self._signs = 0
        while self._signs < 2:
            if pos == end:
                return False, end
            if text[pos] != "%":
                break
            self._signs += 1
            pos += 1
        return True, pos

    def _take(self) -> str:
        block = "".join(self._parts)
        self._parts = []
        self._size = 0
        return block

    def _finish(self, block: str) -> None:
        try:
            found = command(block[len(MARK) - 1 : -2])
        except BadBlock as problem:
            self._drop(str(problem), block)
            return
        log.debug("took the command %r (%d characters)", found["cmd"], len(block))
        self._commands.append(Block(found, block))

    def _drop(self, reason: str, block: str) -> None:
        excerpt = block if len(block) <= _EXCERPT else block[: _EXCERPT - 1] + "…"
        log.warning("dropped a block of %d characters: %s: %r", len(block), reason, excerpt)
        self._dropped.append(Dropped(reason, excerpt))

    def _overflow(self, text: str, start: int) -> int:
        """Drop as little as possible of an open block that is too large; a block in the rest may stay open."""
        cut = start + _fitting(text, start, self._limits.held - self._size) + 1
        self._parts.append(text[start:cut])
        held = self._take()
        end = held.find(_END)
        reason = f"larger than {self._limits.held} bytes"
        rest = held[end + len(_END) :] if end >= 0 else ""
        self._repeats += 1
        self._repeated += len(rest)
        if end >= 0 and (self._repeats > self._limits.repeats or self._repeated > self._limits.repeated):
            reason, rest, end = f"{reason}, and too often so", "", -1
        self._drop(reason, held[: len(held) - len(rest)])
        self._prose.resume(held if end < 0 else "")
        if rest:
            self._scan(rest)
        return cut

    def _settle(self, reason: str) -> None:
        """Drop an open block that will not end, through its first end mark; the rest leaves no block open.

        No place is read twice: what is dropped or shown is behind us, and `Closers` answers where each block ends.
        """
        held = self._take()
        sight = Sight(held)
        closers: Closers | None = None
        start = 0
        while True:
            end = held.find(_END, start)
            if end < 0:
                self._drop(reason, held[start:])
                self._prose.resume(held[start:])
                return
            pos = end + len(_END)
            self._drop(reason, held[start:pos])
            self._prose.resume()
            while True:
                start = self._prose.find(sight, pos)
                if start < 0:
                    self._visible.append(held[pos : len(held) - self._prose.unshown])
                    return
                self._visible.append(held[pos:start])
                closers = closers or Closers(held, start)
                pos = closers.end(start + len(MARK) - 1)
                if pos < 0 or pos == len(held) or (pos == len(held) - 1 and held[pos] == "%"):
                    break  # open to the end
                if held.startswith("%%", pos):
                    pos += 2
                    self._finish(held[start:pos])
                else:
                    self._drop(_NO_END, held[start:pos])
                self._prose.resume()


def _weight(text: str, start: int, end: int) -> int:
    """Return the size of `text[start:end]` in bytes of UTF-8."""
    if text.isascii():
        return end - start
    return len(text[start:end].encode("utf-8", "surrogatepass"))


def _fitting(text: str, start: int, room: int) -> int:
    """Return how many characters of `text[start:]` fit into `room` bytes of UTF-8."""
    if text.isascii():
        return room
    encoded = text[start : start + room + 1].encode("utf-8", "surrogatepass")
    while room and encoded[room : room + 1] and 0x80 <= encoded[room] < 0xC0:
        room -= 1
    return len(encoded[:room].decode("utf-8", "surrogatepass"))
