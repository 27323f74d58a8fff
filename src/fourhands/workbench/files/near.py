"""Near matches of a text that is not in a file: a line with other blanks, or with one word wrong.

It costs one pass over the file and a few comparisons of short lines, whatever the size; of a very large file only the
beginning is looked through.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

LOOKED_AT = 2_000_000
"""Characters of a file that are looked through."""

_LINES = 400  # of the text that is looked for
_COMPARED = 40  # lines that are compared letter by letter, at each of so many places
_CANDIDATES = 6
_LONGEST = 200  # characters of a line that are compared
_AROUND = 3  # a line more or less shifts those behind it
_SHOWN = 160  # characters of a line that are told
_LIKE = 0.6

_WORD = re.compile(r"\w+")
# What editors and models put in place of plain signs.
_ALIKE = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‐": "-", "‑": "-", "…": "..."})


@dataclass(frozen=True, slots=True)
class Near:
    """Lines of a file that are like the wanted text, and the first one that differs: as it is and as it was wanted."""

    words: str
    start_line: int
    end_line: int
    line: int
    found: str
    wanted: str


def nearest(text: str, wanted: str) -> Near | None:
    """Return the most similar place, if any is similar enough. Both texts have plain line feeds."""
    lines, ours = text[:LOOKED_AT].split("\n"), wanted.removesuffix("\n").split("\n")[:_LINES]
    for normal, why in ((_blanks, "blanks"), (_signs, "blanks, capitals or special characters")):
        start = _same(lines, ours, normal)
        if start is not None:
            return _near(lines, ours, start, f"it differs only in {why} from")
    found = [(_likeness(lines, ours, start), start) for start in _candidates(lines, ours)]
    likeness, start = max(found, key=lambda one: one[0], default=(0.0, 0))
    return _near(lines, ours, start, "it is nearly") if likeness >= _LIKE else None


def _blanks(line: str) -> str:
    return " ".join(line.split())


def _signs(line: str) -> str:
    return _blanks(unicodedata.normalize("NFKC", line).translate(_ALIKE)).casefold()


def _same(lines: Sequence[str], ours: Sequence[str], normal: Callable[[str], str]) -> int | None:
    """Return the first line where the lines match in their normal form; the first and last may match in part."""
    wanted = [normal(line) for line in ours]
    if not any(wanted):
        return None
    theirs = [normal(line) for line in lines]
    if len(wanted) == 1:
        return next((n for n, line in enumerate(theirs) if wanted[0] in line), None)
    inner = wanted[1:-1]
    for n in range(len(theirs) - len(wanted) + 1):
        if (
            theirs[n].endswith(wanted[0])
            and theirs[n + len(wanted) - 1].startswith(wanted[-1])
            and theirs[n + 1 : n + 1 + len(inner)] == inner
        ):
            return n
    return None


def _candidates(lines: Sequence[str], ours: Sequence[str]) -> list[int]:
    """Return the lines at which the text could begin: by shared lines, and by words of its longest line."""
    places: dict[str, list[int]] = {}
    for n, line in enumerate(ours):
        if (key := line.strip()) and len(places.setdefault(key, [])) < 4:
            places[key].append(n)
    votes: Counter[int] = Counter()
    longest = max(range(len(ours)), key=lambda n: len(ours[n].strip()))
    words = set(_WORD.findall(ours[longest][:_LONGEST]))
    shared: Counter[int] = Counter()
    for n, line in enumerate(lines):
        for at in places.get(line.strip(), ()):
            votes[n - at] += 1
        if words and (common := len(words.intersection(_WORD.findall(line[:_LONGEST])))):
            shared[n - longest] = common
    found = [start for start, _ in votes.most_common(_CANDIDATES)]
    found += [start for start, _ in shared.most_common(_CANDIDATES)]
    return [start for start in dict.fromkeys(found) if -len(ours) < start]


def _likeness(lines: Sequence[str], ours: Sequence[str], start: int) -> float:
    """Return how much of the text is in the lines from `start` on, from 0 to 1."""
    around = {line.strip() for line in lines[max(start - _AROUND, 0) : start + len(ours) + _AROUND]}
    likeness = total = 0.0
    for n, line in enumerate(ours[:_COMPARED]):
        weight = min(len(line), _LONGEST)
        total += weight
        if line.strip() in around:
            likeness += weight
        elif 0 <= start + n < len(lines):
            likeness += weight * _ratio(line[:_LONGEST], lines[start + n][: 4 * _LONGEST])
    return likeness / max(total, 1.0)


def _ratio(line: str, other: str) -> float:
    """Return how much of a line is in another, which may be longer."""
    matcher = SequenceMatcher(None, other, line, autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks() if block.size > 2) / max(len(line), 1)


def _near(lines: Sequence[str], ours: Sequence[str], start: int, like: str) -> Near:
    last = min(start + len(ours), len(lines))
    first = max(start, 0)
    where = f"line {first + 1}" if last - first <= 1 else f"lines {first + 1} to {last}"
    for n, line in enumerate(ours):
        other = lines[start + n] if 0 <= start + n < len(lines) else ""
        edge = n in (0, len(ours) - 1) and bool(line) and line in other
        if other != line and not edge:
            at = _first_difference(other, line)
            found, wanted = _excerpt(other, at), _excerpt(line, at)
            number = min(max(start + n, 0), len(lines) - 1) + 1
            words = f"{like} {where}: line {number} is {found!r}, and old has {wanted!r}"
            return Near(words, first + 1, last, number, found, wanted)
    return Near(f"{like} {where}, but for a line end at its end", first + 1, last, last, "", "")


def _first_difference(one: str, other: str) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _excerpt(line: str, at: int) -> str:
    if len(line) <= _SHOWN:
        return line
    begin = max(0, min(at - _SHOWN // 2, len(line) - _SHOWN))
    return ("…" if begin else "") + line[begin : begin + _SHOWN] + ("…" if begin + _SHOWN < len(line) else "")
