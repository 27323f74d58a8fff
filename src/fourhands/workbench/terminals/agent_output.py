"""A terminal's output as agents may see it: the one way from bytes to what any agent reads, whatever its surface.

Two things are taken out: ranges that were printed while a secret was read (`Authorship`), and secrets that programs
print (`Redactor`). A read may begin in the middle of a private key or of a token; therefore what stands before it is
read too, hidden ranges left out, and redacted together with it.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from fourhands.host.log import LogReader
from fourhands.safety.redaction.patterns import placeholder
from fourhands.safety.redaction.redactor import LONGEST_KEY, Redactor, begun_value, redact, redact_lines
from fourhands.safety.sanitizer.sanitizer import sanitize
from fourhands.workbench.terminals import output
from fourhands.workbench.terminals.authorship import visible_parts
from fourhands.workbench.terminals.output import EnoughText, OutputMatch, Slice, read_range
from fourhands.workbench.terminals.screen import rows_without

KEY = placeholder("private-key")
PART_OF_KEY = 16
"""Characters of a row that may be a part of a key's line, which a narrow screen has folded."""

_BEGUN_LINE = re.compile(r"[A-Za-z0-9+/=]{1,40}")

LOOK_BACK = 4 * LONGEST_KEY
"""Visible bytes before a read that are redacted with it: the longest key, with colours around each line of it."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """The secrets that are taken out of text for agents; `values` are texts known to be secret.

    `at_once` is how many lines of a search are redacted together.
    """

    values: tuple[str, ...] = ()
    enabled: bool = True
    at_once: int = output.REDACTED_AT_ONCE

    def knowing(self, *values: str) -> "Redaction":
        """Return this with more texts that are secret, such as our own token."""
        fresh = (text for text in values if text and text not in self.values)
        return replace(self, values=(*self.values, *fresh))

    def text(self, text: str) -> str:
        """Return a whole text without secrets."""
        return redact(text, self.values) if self.enabled else text

    def lines(self, lines: Iterable[str]) -> list[str]:
        """Return lines that follow each other without secrets, as many as there were."""
        return redact_lines(list(lines), self.values) if self.enabled else list(lines)


@dataclass(frozen=True, slots=True)
class LastLines:
    """The last lines of a terminal, the position behind them, and whether something was hidden from the reader."""

    lines: list[str]
    position: int
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class AgentOutput:
    """The output up to `head`, as it may be seen at one moment. It is read in any thread and asks nothing else.

    `hidden` are the ranges that agents may not see; `closed` says that nothing more will come.
    """

    log: LogReader
    head: int
    hidden: tuple[tuple[int, int], ...]
    redaction: Redaction
    closed: bool = False

    def since(self, position: int, limit: int = output.READ_LIMIT) -> Slice:
        """Return the output from a position on; a hidden range in it is its gap."""
        piece = output.raw_since(self.log, position, self.head, limit=limit, closed=self.closed)
        gap = piece.gap
        if self.hides(piece.start, piece.end):
            parts = self._visible(piece.start, piece.end)
            gap = (parts[0][1], parts[-1][0] if len(parts) > 1 else piece.end) if parts else (piece.start, piece.end)
        return Slice(self.text(piece.start, piece.data), piece.start, piece.end, gap, piece.truncated)

    def text(self, start: int, data: bytes, *, keep_lines: bool = False) -> str:
        """Return the text of output that begins at a position: the part of it that may be seen, without secrets."""
        parts = self._visible(start, min(start + len(data), self.head))
        shown = "".join(sanitize(data[low - start : high - start]) for low, high in parts)
        text = self._redacted(start, shown, keep_lines=keep_lines)
        return self._without_begun(text) if start + len(data) >= self.head else text

    def _without_begun(self, text: str) -> str:
        """Return the text up to the head without the beginning of a value that is still being printed."""
        if self.closed or not self.redaction.enabled:
            return text
        return text[: len(text) - begun_value(text, self.redaction.values)]

    def lines(self, count: int) -> LastLines:
        """Return the last lines, at most 10,000."""
        output.check_count(count)
        count = min(count, output.MOST_LINES)
        window = max(self.log.floor, self.head - output.READ_LIMIT)
        hides = self.hides(window, self.head)
        if hides:
            text = self.since(window).text
        else:
            text, start, _ = output.last(self.log, count * 100, EnoughText(lines=count), self.head)
            text = self._without_begun(self._redacted(start, text, keep_lines=True))
        found = text.removesuffix("\n").split("\n")[-count:] if text else []
        return LastLines(found, self.head, hides)

    def tail(self, limit_bytes: int) -> Slice:
        """Return at least the last bytes of the text, redacted; the caller cuts it to size."""
        if limit_bytes <= 0:
            return Slice("", self.head, self.head, truncated=self.head > 0)
        text, start, whole = output.last(self.log, limit_bytes, EnoughText(size=limit_bytes), self.head)
        if self.hides(start, self.head):
            text = self.text(start, read_range(self.log, start, self.head).data)
        else:
            text = self._without_begun(self._redacted(start, text))
        return Slice(text, start, self.head, truncated=not whole)

    def search(self, pattern: str, limit: int) -> list[OutputMatch]:
        """Return the newest lines in which a pattern is found, in what may be seen of them."""
        redactor = Redactor(self.redaction.values, keep_lines=True) if self.redaction.enabled else None
        return output.search(
            self.log,
            pattern,
            limit,
            head=self.head,
            shows=lambda low, high: not self.hides(low, high),
            redactor=redactor,
            at_once=self.redaction.at_once,
        )

    def screen_rows(self, rows: list[str], cols: int) -> list[str]:
        """Return as many rows of a screen without secrets; they may begin in the middle of a private key."""
        shown = rows_without(rows, cols, self.redaction.lines)
        before = self._before(self.head) if self.redaction.enabled else b""
        if b"PRIVATE" not in before:
            return shown
        printed = sanitize(before).split("\n")
        secret = [old for old, new in zip(printed, self.redaction.lines(printed), strict=True) if new == KEY != old]
        whole, joined = set(secret), "\n".join(secret)
        for index, row in enumerate(map(str.strip, rows)):
            if row in whole or (len(row) >= PART_OF_KEY and row in joined):
                shown[index] = KEY
        return shown

    def hides(self, start: int, end: int) -> bool:
        """Return True if some of a range is hidden."""
        return start < end and self._visible(start, end) != [(start, end)]

    def _visible(self, start: int, end: int) -> list[tuple[int, int]]:
        return visible_parts(self.hidden, start, end)

    def _redacted(self, start: int, text: str, *, keep_lines: bool = False) -> str:
        """Return the text that begins at a position without secrets, also those that begin before it."""
        if not text or not self.redaction.enabled:
            return text
        before = self._before(start)
        in_key = b"PRIVATE" in before
        *past, begun = sanitize(before if in_key else before[before.rfind(b"\n") + 1 :]).split("\n")
        if not in_key and not keep_lines:
            return _behind(self.redaction.text(begun), self._clean(begun + text, self.redaction.text))
        whole = self._clean("\n".join([*past, begun + text]), self._keeping_lines)
        lines = whole.split("\n")[len(past) :]
        first = _behind(self.redaction.lines([*past, begun])[-1], lines[0])
        return "\n".join([first, *lines[1:]])

    def _keeping_lines(self, text: str) -> str:
        return "\n".join(self.redaction.lines(text.split("\n")))

    def _clean(self, text: str, redacted: Callable[[str], str]) -> str:
        """Return a text without secrets, also where it ends in the middle of a line of a key.

        The beginning of such a line is too short to be known by itself: it counts as one if more of it would.
        """
        last = text[text.rfind("\n") + 1 :]
        if "PRIVATE" in text and _BEGUN_LINE.fullmatch(last):
            longer = redacted(text + "A" * PART_OF_KEY * 2)
            if longer.endswith(KEY):
                return longer
        return redacted(text)

    def _before(self, start: int) -> bytes:
        """Return the visible bytes before a position, as far as a key in which it lies may begin."""
        found: list[bytes] = []
        left = LOOK_BACK
        for low, high in reversed(self._visible(self.log.floor, start)):
            found.append(read_range(self.log, max(low, high - left), high).data)
            left -= len(found[-1])
            if left <= 0:
                break
        return b"".join(reversed(found))


def _behind(begun: str, whole: str) -> str:
    """Return what of a redacted text stands behind its beginning, which was redacted by itself.

    If it cannot be told apart, a secret lies across the two: then all of it is returned, which shows no more.
    """
    rest = whole.removeprefix(begun)
    return rest if whole.startswith(begun) and (rest or not begun) else whole
