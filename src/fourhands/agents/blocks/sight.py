"""A piece of text and the places in it that matter to markdown."""

import re
import sys

from fourhands.core.quote import MARK


class Sight:
    """One piece of text with the next places of the signs that matter, each looked up only once."""

    __slots__ = ("end", "mark", "text", "tick", "tilde")

    def __init__(self, text: str) -> None:
        self.text = text
        self.end = len(text)
        self.tick = self.tilde = self.mark = -1

    def look(self, pos: int) -> int:
        """Return the first place at or behind `pos` that matters to prose, or the end."""
        if self.tick < pos:
            self.tick = self._next("`", "`", pos)
        if self.tilde < pos:
            self.tilde = self._next("~", "~~~", pos)
        if self.mark < pos:
            self.mark = self._next("%", MARK, pos)
        return min(self.tick, self.tilde, self.mark)

    def _next(self, first: str, whole: str, pos: int) -> int:
        # One character is found several times faster than a word, and most text has not even that.
        place = self.text.find(first, pos)
        if place >= 0 and whole is not first:
            place = self.text.find(whole, place)
        return place if place >= 0 else self.end


def past(pattern: re.Pattern[str], text: str, pos: int, end: int = sys.maxsize) -> int:
    """Return the place behind the longest match at `pos`; these patterns match the empty text too."""
    match = pattern.match(text, pos, end)
    return match.end() if match else pos


def column_behind(column: int, text: str, start: int, end: int) -> int:
    """Return the column behind `text[start:end]`, with a tab stop every four columns."""
    if text.find("\t", start, end) < 0:
        return column + end - start
    lead = column % 4
    return column - lead + len((" " * lead + text[start:end]).expandtabs(4))
