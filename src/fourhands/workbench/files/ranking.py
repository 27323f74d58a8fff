"""Ranking paths against a few typed letters: the whole name, its beginning, a part, then letters in order."""

import re
from collections.abc import Iterable

_SEPARATORS = re.compile(r"[\s/]+")
_WORD_START = re.compile(r"(?:^|(?<=[/_\-. ]))[^/_\-. ]|(?<=[a-z0-9])[A-Z]")


def rank(query: str, paths: Iterable[str]) -> list[str]:
    """Return the paths whose names fit the query, best first; capital letters do not matter."""
    words = [word for word in _SEPARATORS.split(query.casefold()) if word]
    if not words:
        return []
    # One pass that rejects nearly everything: the letters occur in this order at all.
    candidate = re.compile("".join(f"[^{re.escape(letter)}]*{re.escape(letter)}" for letter in words[-1]))
    scored: list[tuple[int, int, str]] = []
    for path in paths:
        folded = path.casefold()
        if candidate.match(folded) is None:
            continue
        score = _score(words, path, folded)
        if score is not None:
            scored.append((score, len(path), path))
    scored.sort()
    return [path for _, _, path in scored]


def _score(words: list[str], path: str, folded: str) -> int | None:
    """Rate a path, smaller is better; the last word concerns the file's name, those before it the way there."""
    *way, last = words
    if any(word not in folded for word in way):
        return None
    name = folded.rpartition("/")[2]
    if name == last:
        return 0
    if name.partition(".")[0] == last or name.rpartition(".")[0] == last:
        return 1
    if name.startswith(last):
        return 2
    at = name.find(last)
    if at > 0:
        return 4 if name[at - 1].isalnum() else 3
    if last in folded:
        return 5
    if len(last) < 2:
        return None
    if _initials(last, path.rpartition("/")[2]):
        return 6
    if _dense(last, name):
        return 7
    return 8 if _initials(last, path) else None


def _initials(word: str, path: str) -> bool:
    """Return True if the letters can be found each at the start of a word or right behind the one before."""
    folded = path.casefold()
    if len(folded) != len(path):
        return False  # folding moved the places; such names are rare
    starts = [found.start() for found in _WORD_START.finditer(path)]
    ends = {start for start in starts if folded[start] == word[0]}
    for letter in word[1:]:
        if not ends:
            return False
        first = min(ends)
        ends = {end + 1 for end in ends if folded[end + 1 : end + 2] == letter} | {
            start for start in starts if start > first and folded[start] == letter
        }
    return bool(ends)


def _dense(word: str, name: str) -> bool:
    """Return True if the letters occur in order within twice their length: vowels left out, letters forgotten."""
    start = name.find(word[0])
    while start >= 0:
        end = start
        for letter in word[1:]:
            end = name.find(letter, end + 1)
            if end < 0:
                return False
        if end - start < 2 * len(word):
            return True
        start = name.find(word[0], start + 1)
    return False
