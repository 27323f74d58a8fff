"""Exchanging exact pieces of a text: all of the edits or none, each on what the earlier ones have left.

A piece is found by its characters alone. The one liberty is line ends: a line feed in what is looked for also finds
CR LF, and what is put in gets the line ends of the place where it goes, so that no file gets two kinds by an edit.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Annotated

from msgspec import Meta, Struct

from fourhands.core.errors import Ambiguous, BadArgument, Conflict
from fourhands.safety.paths.errors import FileTooLarge, shown
from fourhands.workbench.files.near import nearest

PLACES = 10
"""Places that are named of a piece found too often."""

COUNTED = 1000
"""The number of matches after which a search for a unique text stops."""

RANGES = 20
"""Ranges of lines that are told of one edit."""

MOST_MATCHES = 100_000
"""The most replacements of one edit; more is for programs."""


class NoMatch(Conflict):
    """The text that an edit replaces is not in the file; the hint says where it nearly is."""

    code = "no-match"


class ManyMatches(Ambiguous):
    """The text that an edit replaces is in the file more than once; the hint says where."""

    code = "many-matches"


class TextEdit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """One piece of text and what takes its place."""

    old: Annotated[str, Meta(description="Exact text of the file, found once; empty: the file is new or empty.")]
    new: Annotated[str, Meta(description="What takes its place.")]
    all: Annotated[bool, Meta(description="Replace it wherever it is found.")] = False


class LineRange(Struct, frozen=True, kw_only=True, rename="camel"):
    """Lines from 1, both ends included."""

    start_line: int
    end_line: int


class Replaced(Struct, frozen=True, kw_only=True, rename="camel"):
    """The outcome of one edit: how often, and the lines it touched as they are numbered now (the first 20 places)."""

    count: int
    ranges: tuple[LineRange, ...]


@dataclass(frozen=True, slots=True)
class Applied:
    """The text after all edits, and what each did."""

    text: str
    replaced: tuple[Replaced, ...]


def apply(path: str, text: str, edits: Sequence[TextEdit], *, most: int) -> Applied:
    """Make all edits, in their order; `most` is how many characters the text may have at any time."""
    first = text
    touched: list[tuple[int, list[tuple[int, int]]]] = []
    for index, edit in enumerate(edits):
        spans = _find(path, index, edit, text, first)
        pieces = _fitted(edit, text, spans)
        size = len(text) + sum(len(piece) - (end - start) for piece, (start, end) in zip(pieces, spans, strict=True))
        if size > most:
            raise FileTooLarge(
                f"edits[{index}] would make {shown(path)} {size} characters long: at most {most} are written",
                hint="replace less, or let a program in a terminal do it",
                path=path,
            )
        move = _Move(spans, pieces)
        touched = [(count, [(move.start(a), move.end(b)) for a, b in places]) for count, places in touched]
        text = _joined(text, spans, pieces)
        places = [(move.begins[n], move.begins[n] + len(piece)) for n, piece in enumerate(islice(pieces, RANGES))]
        touched.append((len(spans), places))
    ends = [found.start() for found in re.finditer("\n", text)]
    return Applied(text, tuple(Replaced(count=count, ranges=_ranges(ends, places)) for count, places in touched))


class _Move:
    """Return an offset of a text after some spans of it were exchanged; inside a span it becomes its edge."""

    def __init__(self, spans: Sequence[tuple[int, int]], pieces: Sequence[str]) -> None:
        self._spans = spans
        self._starts = [start for start, _ in spans]
        grown = accumulate(len(piece) - (end - start) for piece, (start, end) in zip(pieces, spans, strict=True))
        self._grown = [0, *grown]
        self.begins = [start + more for start, more in zip(self._starts, self._grown, strict=False)]

    def start(self, offset: int) -> int:
        return self._moved(offset, to_end=False)

    def end(self, offset: int) -> int:
        return self._moved(offset, to_end=True)

    def _moved(self, offset: int, *, to_end: bool) -> int:
        index = bisect_right(self._starts, offset) - 1
        if index < 0 or offset >= self._spans[index][1]:
            return offset + self._grown[index + 1]
        if offset == self._spans[index][0]:
            return offset + self._grown[index]
        return self._spans[index][1] + self._grown[index + 1] if to_end else self.begins[index]


def _find(path: str, index: int, edit: TextEdit, text: str, first: str) -> list[tuple[int, int]]:
    """Return the spans that an edit replaces."""
    if _plain(edit.old) == _plain(edit.new):
        raise BadArgument(
            f"edits[{index}] changes nothing: its old and new text are equal", hint="leave it out, or say what is new"
        )
    if not edit.old:
        if text:
            raise BadArgument(
                f"edits[{index}] has an empty old text, and {shown(path)} is not empty",
                hint="give text that stands where the new one goes, and repeat it in new",
            )
        return [(0, 0)]
    enough = MOST_MATCHES + 1 if edit.all else COUNTED
    spans = list(islice(_matches(text, edit.old, overlapping=not edit.all), enough))
    if not spans:
        raise _nowhere(path, index, edit, text, first)
    if len(spans) > 1 and not edit.all:
        places = [text.count("\n", 0, start) + 1 for start, _ in spans[:PLACES]]
        more = f" and {len(spans) - PLACES} more" if len(spans) > PLACES else ""
        often = f"{COUNTED} times or more" if len(spans) == COUNTED else f"{len(spans)} times"
        raise ManyMatches(
            f"edits[{index}]: its old text is found {often} in {shown(path)}, in lines "
            f"{', '.join(map(str, places))}{more}",
            hint='make old longer until it is found once, or give "all": true to replace it everywhere',
            index=index,
            count=len(spans),
            lines=places,
        )
    if len(spans) > MOST_MATCHES:
        raise FileTooLarge(
            f"edits[{index}]: its old text is found more than {MOST_MATCHES} times in {shown(path)}",
            hint="let a program in a terminal replace it, such as sed",
            path=path,
        )
    return spans


def _matches(text: str, old: str, *, overlapping: bool) -> Iterator[tuple[int, int]]:
    """Every place where it stands, from the left; with or without those that overlap an earlier one."""
    if "\r\n" not in text and "\r\n" not in old:
        step = 1 if overlapping else len(old)
        at = text.find(old)
        while at >= 0:
            yield at, at + len(old)
            at = text.find(old, at + step)
        return
    # `(?<!\r)` keeps a carriage return of the line before, which belongs to its end, out of a match.
    body = "\r?\n".join(map(re.escape, _plain(old).split("\n")))
    pattern = re.compile(f"(?<!\r){body}" if body.startswith("\r?\n") else body)
    found = pattern.search(text)
    while found is not None:
        yield found.span()
        found = pattern.search(text, found.start() + 1 if overlapping else found.end())


def _fitted(edit: TextEdit, text: str, spans: Sequence[tuple[int, int]]) -> list[str]:
    """Return the new text for each span, with the line ends in use there."""
    if "\n" not in edit.new:
        return [edit.new] * len(spans)
    if "\r\n" not in text:
        # A file without line ends yet takes what it is given.
        return [_plain(edit.new) if "\n" in text else edit.new] * len(spans)
    plain = _plain(edit.new)
    carried = plain.replace("\n", "\r\n")
    usual = text.count("\r\n") * 2 > text.count("\n")
    pieces = []
    for start, end in spans:
        at = text.find("\n", start, end)
        pieces.append(carried if (usual if at < 0 else text[at - 1 : at] == "\r") else plain)
    return pieces


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _joined(text: str, spans: Sequence[tuple[int, int]], pieces: Sequence[str]) -> str:
    parts, at = [], 0
    for (start, end), piece in zip(spans, pieces, strict=True):
        parts += [text[at:start], piece]
        at = end
    return "".join([*parts, text[at:]])


def _ranges(ends: Sequence[int], places: Sequence[tuple[int, int]]) -> tuple[LineRange, ...]:
    """Places as lines, by where the lines end; a line end at a place's end belongs to the line it ends."""
    return tuple(
        LineRange(start_line=bisect_left(ends, start) + 1, end_line=bisect_left(ends, max(start, end - 1)) + 1)
        for start, end in places
    )


def _nowhere(path: str, index: int, edit: TextEdit, text: str, first: str) -> NoMatch:
    message = f"edits[{index}]: its old text is not in {shown(path)}"
    if index and next(_matches(first, edit.old, overlapping=False), None):
        hint = "it was there before the earlier edits of this call changed it: give the text as they leave it"
        return NoMatch(message, hint=hint, index=index)
    near = nearest(_plain(text), _plain(edit.old))
    if near is None:
        hint = "nothing in the file is like it: read the file again, and copy the text from it exactly"
        return NoMatch(message, hint=hint, index=index)
    return NoMatch(
        message,
        hint=f"{near.words}; copy the file's text exactly",
        index=index,
        startLine=near.start_line,
        endLine=near.end_line,
        line=near.line,
        found=near.found,
        wanted=near.wanted,
    )
