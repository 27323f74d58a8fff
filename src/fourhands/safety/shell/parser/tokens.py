"""The scanner's results: words made of pieces, redirections, operators, and scripts made of those."""

from dataclasses import dataclass, field
from typing import NamedTuple

from fourhands.safety.shell.levels import Finding

DEPTH_LIMIT = 64
"""The deepest nesting that is followed; deeper text is never safe."""

MOST_TOKENS = 12_000
"""The most words and signs of a line; a longer one is dangerous as such, since it cannot be reviewed."""

LIT, VAR, PARAM, SUB, PROC, ARITH = range(6)
"""Kinds of pieces: text, `$x`, another `${…}`, `$(…)`, `<(…)`, `$((…))`."""


class WordPart(NamedTuple):
    """One part of a word; `quoted` pieces are not split and match no file names."""

    kind: int
    text: str
    quoted: bool
    inner: "Param | Script | Word | None" = None


@dataclass(slots=True)
class Param:
    """A parameter expansion: `${name[index]op operand}`; `lead` is `!`, `#` or empty."""

    name: str
    lead: str
    index: str
    op: str
    operand: list[WordPart]


@dataclass(slots=True)
class Word:
    """A word that is not plain text; `elements` are the words of an array assignment."""

    pieces: list[WordPart]
    elements: "list[str | Word] | None" = None


@dataclass(slots=True)
class Redirect:
    """`fd op target`; a here-document or here-string has its text in `body`."""

    op: str
    fd: str
    target: "str | Word"
    body: list[WordPart] | None = None


class Token(NamedTuple):
    """One token of a script: a word, a redirection, an operator or a reserved word."""

    kind: int
    value: "str | Word | Redirect"
    start: int
    end: int


WORD, REDIRECT, OPERATOR, RESERVED, ARITHMETIC, PLAIN = range(6)
"""Kinds of tokens; a `PLAIN` one is a whole simple command of words without any quoting."""


@dataclass(slots=True)
class Script:
    """A piece of shell: its tokens and the text they were cut from."""

    text: str
    tokens: list[Token] = field(default_factory=list)


@dataclass(slots=True)
class Scan:
    """Everything found in a text: its own script, the scripts inside it, and what is wrong with it."""

    script: Script
    inner: list[Script] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    broken: bool = False
    too_deep: bool = False
    left: int = MOST_TOKENS  # how many more may be read; below zero the rest was not
