"""Removal of secrets from text before an agent or a log gets it (safety-policy.md R).

`Redactor` takes text in pieces of any size with the same result; `redact` takes it whole. A secret becomes
`[redacted:KIND]`: neither its length nor any part of it is stored or logged.

The unit is the line, since a secret seldom has a line end in it. Held back are the last line while its end is missing
(a line longer than `RedactorLimits.line` goes in parts, none of which ends inside a secret) and, from its first line
on, a block that may be a private key.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from fourhands.core.errors import BadArgument
from fourhands.safety.redaction.patterns import placeholder, without_secrets

LONGEST_KEY = 1 << 14
SHORTEST_VALUE = 8
_SHORTEST_BEGUN = 3  # fewer characters of a value are no part of it that matters


@dataclass(frozen=True, slots=True)
class RedactorLimits:
    """Bounds of what a redactor holds back, in characters: a line, and a block that may be a private key."""

    line: int = 1 << 15
    key: int = LONGEST_KEY


DEFAULT_LIMITS = RedactorLimits()

_KEY = placeholder("private-key")
_VALUE = placeholder("environment")
_begin = re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_end = re.compile(r"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
# Behind a quotation mark the line is a constant in a program, unless a key follows all the same.
_constant = re.compile(r"[\"'`)]")
_long_run = re.compile(r"[A-Za-z0-9+/]{40}")
# The inside of a key whose end is missing; ordinary words are shorter.
_inside = re.compile(r"(?:\s|\\[nr]|(?:Proc-Type|DEK-Info|Version|Comment): [^\n]*+|[A-Za-z0-9+/=]{20,}+)*+")
# A line that cannot be inside a key, neither as such nor quoted in a program: then no end is waited for.
_outside = re.compile(
    r"^(?![ \t\r]*$)(?!.*[A-Za-z0-9+/=]{20})(?![ \t]*[A-Za-z0-9+/=]++[ \t\r]*$)(?![\w-]++: )(?!.*-----END ).*\n",
    re.MULTILINE,
)
_run = re.compile(r"[A-Za-z0-9+/=]*+")
_word = re.compile(r"[^\s\"']*+")


def redact(text: str, values: Iterable[str] = (), limits: RedactorLimits = DEFAULT_LIMITS) -> str:
    """Replace every secret in a text; `values` are texts known to be secret."""
    redactor = Redactor(values, limits=limits)
    return redactor.feed(text) + redactor.close()


def redact_lines(lines: Sequence[str], values: Iterable[str] = ()) -> list[str]:
    """Replace every secret in consecutive lines and return as many; each line of a key becomes one placeholder."""
    redactor = Redactor(values, keep_lines=True)
    return (redactor.feed("\n".join(lines)) + redactor.close()).split("\n") if lines else []


def begun_value(text: str, values: Sequence[str]) -> int:
    """Return how many characters at the end of a text may be the beginning of one of the values."""
    for size in range(min(len(text), max(map(len, values), default=0) - 1), _SHORTEST_BEGUN - 1, -1):
        end = text[-size:]
        if any(len(value) > size and value.startswith(end) for value in values):
            return size
    return 0


class Redactor:
    """Redaction of a stream: feed pieces of any size, then close. With `keep_lines` a key keeps its line ends."""

    def __init__(
        self, values: Iterable[str] = (), *, keep_lines: bool = False, limits: RedactorLimits = DEFAULT_LIMITS
    ) -> None:
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise BadArgument(f"secret values must be a list of texts, not {type(values).__name__}")
        self._values = _usable(tuple(values))
        self._keep_lines = keep_lines
        self._limits = limits
        self._reset()

    @property
    def held(self) -> int:
        """The number of characters held back; at most `RedactorLimits.line`."""
        return len(self._held)

    def feed(self, text: str) -> str:
        """Take more text and return what is certain to be free of secrets."""
        if not isinstance(text, str):
            raise BadArgument(f"only text can be redacted, not {type(text).__name__}")
        out: list[str] = []
        at = 0
        while at < len(text):
            part = text[at : at + self._limits.line - len(self._held)]
            at += len(part)
            self._held += part
            self._advance(out, closing=False)
        return "".join(out)

    def close(self) -> str:
        """Return the rest and start anew."""
        out: list[str] = []
        self._advance(out, closing=True)
        self._reset()
        return "".join(out)

    def _reset(self) -> None:
        self._held = ""
        self._within_line = False
        self._key_open = False
        self._swallow: re.Pattern[str] | None = None

    def _advance(self, out: list[str], *, closing: bool) -> None:
        if self._swallow:
            self._held = self._held[_end_of(self._swallow, self._held) :]
            if not self._held:
                return
            self._swallow = None
        self._take_keys(out, closing=closing)
        if self._key_open:
            return
        end = len(self._held) if closing else self._held.rfind("\n") + 1
        self._release(out, self._held[:end])
        self._held = self._held[end:]
        if len(self._held) >= self._limits.line:
            self._split_line(out)

    def _take_keys(self, out: list[str], *, closing: bool) -> None:
        """Replace blocks that are private keys; each block starts a part of its own, even if it proves to be no key."""
        self._key_open = False
        after = 0
        while "PRIVATE KEY-" in self._held or "PRIVATE KEY BLOCK-" in self._held:
            begin = _begin.search(self._held, after)
            if begin is None:
                return
            self._release(out, self._held[: begin.start()])
            self._held = self._held[begin.start() :]
            after = begin.end() - begin.start()
            end = self._end_of_key(after, closing=closing)
            if end is None:
                self._key_open = True
                return
            if end:
                out.append("\n".join([_KEY] * (1 + self._keep_lines * self._held.count("\n", 0, end))))
                self._within_line = True
                self._held = self._held[end:]
                after = 0
                if end == self._limits.key:
                    self._swallow = _run
                    self._advance(out, closing=closing)
                    return

    def _end_of_key(self, start: int, *, closing: bool) -> int | None:
        """Return the end of the key at the beginning of the held text: 0 if it is none, None if more text is needed."""
        held, longest = self._held, self._limits.key
        line_end = held.find("\n", start)
        outside = _outside.search(held, line_end + 1, longest) if line_end >= 0 else None
        stop = outside.start() if outside else min(len(held), longest)
        end = _end.search(held, start, stop)
        if end:
            constant = _constant.match(held, start) and not _long_run.search(held, start, end.start())
            return 0 if constant else end.end()
        if not outside and not closing and len(held) < longest:
            return None
        inside = _end_of(_inside, held, start, stop)
        return inside if _long_run.search(held, start, inside) else 0

    def _split_line(self, out: list[str]) -> None:
        """Release the first part of a line that is too long to hold, cut where no secret is."""
        held, whole = self._held, self._clean(self._held)
        for cut in _places_to_cut(held, self._limits.line):
            within = self._within_line
            parts: list[str] = []
            self._release(parts, held[:cut])
            first = "".join(parts)
            self._release(parts, held[cut:])
            self._within_line = within
            if "".join(parts) == whole:
                out.append(first)
                self._within_line = True
                self._held = held[cut:]
                return
        out.append(whole)
        self._within_line = True
        self._held = ""
        if whole.endswith("]") and not held.endswith("]"):
            self._swallow = _word  # the secret goes on

    def _release(self, out: list[str], text: str) -> None:
        if text:
            out.append(self._clean(text))
            self._within_line = text[-1] != "\n"

    def _clean(self, text: str) -> str:
        for value in self._values:
            if value in text:
                text = text.replace(value, _VALUE)
        if self._within_line:
            # Any sign that is neither blank nor part of a word: what follows is not the start of a line.
            return without_secrets("." + text)[1:]
        return without_secrets(text)


@lru_cache(maxsize=16)
def _usable(values: tuple[str, ...]) -> tuple[str, ...]:
    lines: set[str] = set()
    for value in values:
        if not isinstance(value, str):
            raise BadArgument(f"a secret value must be text, not {type(value).__name__}")
        # A value of several lines is looked for line by line; the frame of a key is not secret.
        lines.update(line.strip() for line in value.splitlines() if not line.startswith("-----"))
    usable = [line for line in lines if len(line) >= SHORTEST_VALUE and line not in _VALUE]
    return tuple(sorted(usable, key=lambda line: (-len(line), line)))


def _end_of(pattern: re.Pattern[str], text: str, start: int = 0, stop: int | None = None) -> int:
    found = pattern.match(text, start, len(text) if stop is None else stop)
    return found.end() if found else start


def _places_to_cut(text: str, longest: int) -> list[int]:
    first, last = longest // 4, longest * 3 // 4
    for sign in (r"\s", r"[^\w.~+/=-]"):
        places = [found.end() for found in re.finditer(sign, text[first:last])]
        if places:
            # Evenly over the whole, the last first.
            step = max(1, len(places) // 8)
            places = [first + place for place in places[::-1][::step]]
            return [place for place in places if "-----BEGIN" not in text[place - 64 : place]]
    return [last, longest // 2, first]
