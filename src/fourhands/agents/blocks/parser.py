"""The inside of one `%%OS{…}%%` block: where its braces end, and which command it holds.

Nothing here knows of the text around a block; `stream.py` owns that.
"""

import json
import math
import re
from bisect import bisect_left
from typing import Any

MAX_DEPTH = 128

# A brace, a whole string, or the start of a string that ends later.
_OUTSIDE = re.compile(r'[{}]|"(?:[^"\\]*+(?:\\.[^"\\]*+)*+")?', re.DOTALL)
_INSIDE = re.compile(r'["\\]')
_TOKEN = re.compile(r'["\\{}]')
_NESTING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


class BadBlock(ValueError):
    """A complete block whose content is no command; the message says why."""


class Block(dict[str, Any]):
    """A command as a block gave it: all its members, and the text of the whole block."""

    __slots__ = ("text",)

    def __init__(self, members: dict[str, Any], text: str) -> None:
        super().__init__(members)
        self.text = text


class Braces:
    """Finds the brace that balances the first one, in text that comes in pieces."""

    __slots__ = ("_depth", "_escape", "_string")

    def __init__(self) -> None:
        self._depth = 0
        self._string = False
        self._escape = False

    def feed(self, text: str, pos: int, end: int) -> int:
        """Read `text[pos:end]`; return the place right behind the balancing brace, or -1 while it is missing."""
        if self._string:
            pos = self._leave(text, pos, end)
            if self._string:
                return -1
        depth = self._depth
        for match in _OUTSIDE.finditer(text, pos, end):
            sign = match[0]
            if sign == "{":
                depth += 1
            elif sign == "}":
                depth -= 1
                if not depth:
                    return match.end()
            elif sign == '"':
                self._string = True
                self._leave(text, match.end(), end)
                break
        self._depth = depth
        return -1

    def _leave(self, text: str, pos: int, end: int) -> int:
        """Read to the end of the string that is open at `pos`, if it is there."""
        if self._escape and pos < end:
            self._escape = False
            pos += 1
        while match := _INSIDE.search(text, pos, end):
            pos = match.end()
            if match[0] == '"':
                self._string = False
                return pos
            self._escape = pos == end
            pos += 1
        return end


class Closers:
    """Knows, for every `{` of a text at or behind `start`, where a block that begins with it would end.

    Built in one pass from right to left, so that a text full of unfinished blocks costs no more than any other:
    for each token it keeps the closing brace seen from outside a string and from inside one.
    """

    def __init__(self, text: str, start: int) -> None:
        places = [match.start() for match in _TOKEN.finditer(text, start)]
        count = len(places)
        outside = [-1] * (count + 1)
        inside = [-1] * (count + 1)
        for index in range(count - 1, -1, -1):
            sign = text[places[index]]
            behind = index + 1
            inside[index] = inside[behind]
            if sign == "}":
                outside[index] = index
            elif sign == "{":
                inner = outside[behind]
                outside[index] = outside[inner + 1] if inner >= 0 else -1
            elif sign == '"':
                outside[index] = inside[behind]
                inside[index] = outside[behind]
            else:
                outside[index] = outside[behind]
                if behind < count and places[behind] == places[index] + 1:
                    inside[index] = inside[behind + 1]
        self._places = places
        self._outside = outside

    def end(self, brace: int) -> int:
        """Return the place right behind the brace that balances the one at `brace`, or -1."""
        closer = self._outside[bisect_left(self._places, brace) + 1]
        return self._places[closer] + 1 if closer >= 0 else -1


def command(content: str) -> dict[str, Any]:
    """Read the content of a complete block, braces included; raise `BadBlock` if it is no command."""
    if content.count("{") + content.count("[") > MAX_DEPTH and _depth(content) > MAX_DEPTH:
        raise BadBlock(f"nested more than {MAX_DEPTH} deep")
    try:
        value = json.loads(_joined(content), parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError) as problem:
        raise BadBlock(f"not strict JSON: {problem}") from None
    name = value.get("cmd") if isinstance(value, dict) else None
    if not isinstance(name, str) or not name.strip():
        raise BadBlock('no member "cmd" with a text that is not blank')
    members: dict[str, Any] = value
    return members


def _depth(content: str) -> int:
    deepest = depth = 0
    for match in _NESTING.finditer(content):
        sign = match[0]
        if sign in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif sign in "}]":
            depth -= 1
    return deepest


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _finite(digits: str) -> float:
    # 1e999 is well-formed, but it would turn into an Infinity that no later JSON may carry.
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"number {digits[:40]} is too large")
    return number


def _joined(content: str) -> str:
    # Some upstreams escape a character as two surrogates and cut between them; together they are one character again.
    if content.isascii():
        return content
    return content.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
