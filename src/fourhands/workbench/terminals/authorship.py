"""The authors of a terminal's output and its ranges that agents may not see, both by position.

Never what was typed: so nothing that a person types can leak from here. Each change is one line appended to a file
beside the terminal's log, so the next server knows it too; the newest ones are kept.
"""

import contextlib
import logging
import os
import time
from bisect import bisect_right
from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec import Struct

KEPT = 10_000
"""Changes of author, and hidden ranges, that are kept of one terminal."""

SUFFIX = ".ink"
_LARGEST = 4 * 1024 * 1024

log = logging.getLogger(__name__)

AuthorKind = Literal["person", "agent"]


class AuthorSpan(Struct, frozen=True, rename="camel"):
    """From this position on, until the next one, what was printed follows what this actor typed."""

    position: int
    actor: str
    kind: AuthorKind
    time: float


class _Hidden(Struct, frozen=True, array_like=True, tag="hidden"):
    start: int
    end: int | None  # None: not over yet


class _Written(Struct, frozen=True, array_like=True, tag="ink"):
    position: int
    actor: str
    kind: AuthorKind
    time: float


_decoder = msgspec.json.Decoder(_Written | _Hidden)


class Authorship:
    """The authors and the hidden ranges of one terminal; without a path they last as long as this object."""

    def __init__(self, path: str | None = None, *, kept: int = KEPT) -> None:
        self._kept = kept
        self.marks: list[AuthorSpan] = []
        self.hidden_from: int | None = None
        self._hidden: list[tuple[int, int]] = []
        self._path = path
        self._appended = 0
        self._line_over = False
        if path is not None:
            self._load(path)

    def mark(self, position: int, actor: str, kind: AuthorKind, *, ends_line: bool = False) -> None:
        """From here on this actor has typed; once per line, so that each has its time."""
        last = self.marks[-1] if self.marks else None
        begins_line, self._line_over = self._line_over, ends_line
        if last is not None and (last.actor, last.kind) == (actor, kind) and not begins_line:
            return
        ink = AuthorSpan(position, actor, kind, time.time())
        self._add(ink)
        self._append(_Written(ink.position, ink.actor, ink.kind, ink.time))

    def hide(self, position: int) -> None:
        """From here on agents see nothing."""
        self.hidden_from = position
        self._append(_Hidden(position, None))

    def reveal(self, position: int) -> None:
        """From here on they see again."""
        if self.hidden_from is not None:
            hidden = (self.hidden_from, max(position, self.hidden_from))
            self._close(*hidden)
            self._append(_Hidden(*hidden))

    def author(self, position: int) -> AuthorSpan | None:
        """Return the last author before this position."""
        at = bisect_right(self.marks, position, key=lambda ink: ink.position)
        return self.marks[at - 1] if at else None

    def hidden(self, end: int) -> tuple[tuple[int, int], ...]:
        """Return the ranges before `end` that agents may not see, in order; for use in any thread."""
        still = () if self.hidden_from is None else ((self.hidden_from, max(end, self.hidden_from)),)
        return (*self._hidden, *still)

    def visible(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return the parts of a range that an agent may see."""
        return visible_parts(self.hidden(end), start, end)

    def forget(self) -> None:
        """Delete the file: the terminal is closed."""
        if self._path is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
            self._path = None

    # -- inside ----------------------------------------------------------------------------------------------------

    def _add(self, ink: AuthorSpan) -> None:
        if self.marks and self.marks[-1].position == ink.position:
            self.marks.pop()
        self.marks.append(ink)
        del self.marks[: -self._kept]

    def _close(self, start: int, end: int) -> None:
        self.hidden_from = None
        if end > start:
            self._hidden.append((start, end))
            del self._hidden[: -self._kept]

    def _load(self, path: str) -> None:
        try:
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(max(0, size - _LARGEST))
                lines = file.read(_LARGEST).split(b"\n")
        except FileNotFoundError:
            return
        except OSError as error:
            log.warning("who typed before is not known: %s", error)
            return
        for line in lines:
            try:
                item = _decoder.decode(line)
            except msgspec.DecodeError:
                continue  # half a line, of a crash or of a full disk
            self._appended += 1
            if isinstance(item, _Written):
                self._add(AuthorSpan(item.position, item.actor, item.kind, item.time))
            elif item.end is None:
                self.hidden_from = item.start
            else:
                self._close(item.start, item.end)

    def _append(self, item: _Written | _Hidden) -> None:
        if self._path is None:
            return
        self._appended += 1
        if self._appended > 4 * self._kept:
            self._rewrite(self._path)
        else:
            self._write(self._path, os.O_APPEND, [item])

    def _rewrite(self, path: str) -> None:
        """Only what is still kept, in a new file that takes the old one's place at once."""
        items: list[_Written | _Hidden] = [_Written(i.position, i.actor, i.kind, i.time) for i in self.marks]
        items += [_Hidden(*hidden) for hidden in self._hidden]
        if self.hidden_from is not None:
            items.append(_Hidden(self.hidden_from, None))
        if self._write(f"{path}.new", os.O_TRUNC, items):
            with contextlib.suppress(OSError):
                os.replace(f"{path}.new", path)
            self._appended = len(items)

    def _write(self, path: str, flag: int, items: Iterable[_Written | _Hidden]) -> bool:
        data = b"".join(msgspec.json.encode(item) + b"\n" for item in items)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | flag, 0o600)
            try:
                os.write(descriptor, data)
            finally:
                os.close(descriptor)
        except OSError as error:
            log.warning("who typed cannot be stored: %s", error)
            return False
        return True


def visible_parts(hidden: Iterable[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    """Return the parts of a range that lie in none of the hidden ranges, which are in order."""
    parts: list[tuple[int, int]] = []
    for low, high in hidden:
        if high <= start or low >= end:
            continue
        if low > start:
            parts.append((start, low))
        start = max(start, high)
    if start < end:
        parts.append((start, end))
    return parts


def sweep(directory: str, known: Iterable[str]) -> None:
    """Delete the files of terminals that exist no longer."""
    kept = {f"{terminal}{SUFFIX}" for terminal in known}
    for name in os.listdir(directory):
        if name.startswith("term_") and name.endswith(SUFFIX) and name not in kept:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(directory, name))
