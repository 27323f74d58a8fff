"""Programs that read typed text: known by their names and words, with their prompts and what ends them."""

import posixpath
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from fourhands.core.errors import BadArgument
from fourhands.safety.input.tables.languages import ENDS, LANGUAGES, Language
from fourhands.safety.input.tables.programs import (
    DEBUGGERS,
    EDITORS,
    LANGUAGE_OF,
    MODULES_THAT_READ,
    MONITORS,
    PAGERS,
)
from fourhands.safety.shell.options import Tool, read
from fourhands.safety.shell.tables.names import INTERPRETERS, SHELLS

PromptSeen = Literal["", "ready", "more"]
"""The prompt at the end of a program's output: none that is known, for a new statement, for the rest of one."""

_VERSION = re.compile(r"(?<=[a-zA-Z])[-_]?\d+(?:\.\d+)*\Z")
_LONGEST = 10_000
_ENDING_KEYS = re.compile("[\x03\x04\x1a\x1c]")  # interrupt, end of input, stop, quit
_ENDS_ANY = re.compile(r"^\s*[:.\\/]?(?:exit|quit|q|bye|logout)\b", re.IGNORECASE | re.MULTILINE)


class ReaderKind(StrEnum):
    """The way in which a program takes what is typed."""

    CODE = "code"
    """A line is code of its language."""
    STATEMENTS = "statements"
    """A line is a part of a database's statement, or a command of its client."""
    DEBUGGER = "debugger"
    """A line is a debugger's command."""
    PAGER = "pager"
    EDITOR = "editor"
    MONITOR = "monitor"
    """Each key is a command, as in `top`."""
    PROGRAM = "program"
    """A program of which it is not known what it makes of a line."""


KEYED = (ReaderKind.PAGER, ReaderKind.EDITOR, ReaderKind.MONITOR)
"""The kinds that take keys one by one."""


_KEYED_ENDS: dict[str, re.Pattern[str]] = {
    ReaderKind.PAGER: re.compile(r"q|Q|ZZ|:e"),
    ReaderKind.MONITOR: re.compile(r"[qQ\x1b]"),
    "vim": re.compile(r":[^\r\n]*(?:q|x|clo|exi|cq|st|sus|sh|ter)[^\r\n]*(?:\r\n?|\n|\Z)|Z[ZQ]"),
    "ed": re.compile(r"[qQ][^\r\n]*(?:\r\n?|\n|\Z)"),
}
_OTHER_EDITORS_ENDS = re.compile("[\x18\x11\x0b]")


@dataclass(frozen=True, slots=True)
class Reader:
    """A program that reads what is typed; `repl`: it was started to read code, and not with a script."""

    program: str
    kind: ReaderKind = ReaderKind.PROGRAM
    language: str = ""  # a key of `LANGUAGES`
    repl: bool = False

    @property
    def rules(self) -> Language:
        """The language's entry; an empty one where there is none."""
        return LANGUAGES.get(self.language, _NO_LANGUAGE)


_NO_LANGUAGE = Language("")


def reader_of(program: str, words: Sequence[str] = ()) -> Reader:
    """Return what reads for a program of this name that was started with these words, its own first.

    The words may be missing, where the system does not tell them: then it is not known whether it runs a script.
    """
    name = _plain(program)
    rest = [*words[1:]] if words else None
    main = _plain(words[0]) if words else ""
    if main != name and main in LANGUAGE_OF:
        # A script by its first line, such as ipython: its name is the program's, and the interpreter comes first.
        at = next((at for at, word in enumerate(words) if at and word[:1] != "-"), 0)
        script = _plain(words[at])
        if script in _KNOWN and name in (script, main):
            name, rest = script, [*words[at + 1 :]]
        elif name not in _KNOWN:
            name = main
    if name in PAGERS:
        return Reader(program, ReaderKind.PAGER)
    if name in EDITORS:
        return Reader(program, ReaderKind.EDITOR, EDITORS[name])
    if name in MONITORS:
        return Reader(program, ReaderKind.MONITOR)
    if name in DEBUGGERS:
        return Reader(program, ReaderKind.DEBUGGER, DEBUGGERS[name], repl=True)
    language = LANGUAGE_OF.get(name)
    if language is None:
        return Reader(program)
    return _by_words(program, language, rest)


def reader_of_command(command: str) -> Reader:
    """Return what reads for a program by the line that starts it: `python3`, `psql app`. Raises `BadArgument`."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadArgument(f"the program {command[:100]!r} cannot be read: {error}") from None
    name = posixpath.basename(words[0]) if words else ""
    if not name:
        raise BadArgument("the program has no name", hint="the line that starts it, such as python3 or 'psql app'")
    if name.lstrip("-") in SHELLS:
        raise BadArgument(f"{name} is a shell", hint="leave the program out: a line for a shell is classified as such")
    return reader_of(name, words)


def _plain(program: str) -> str:
    name = posixpath.basename(program).lstrip("-").partition(" ")[0]
    return name if name in _KNOWN else _VERSION.sub("", name)


_KNOWN = frozenset((*PAGERS, *EDITORS, *MONITORS, *DEBUGGERS, *LANGUAGE_OF))


def _by_words(program: str, language: str, rest: list[str] | None) -> Reader:
    """Return an interpreter or a database's client by the words behind its name; None: they are not known."""
    rules = LANGUAGES[language]
    kind = ReaderKind.STATEMENTS if rules.statements else ReaderKind.CODE
    if rest is None:
        return Reader(program, kind, language)
    if rules.statements or rules.always:
        return Reader(program, kind, language, repl=True)
    if rules.debugs and any(re.fullmatch(rules.debugs, word) for word in rest):
        return Reader(program, ReaderKind.DEBUGGER, f"{language} debugger", repl=True)
    if rules.modules and (module := _module(rest)) is not None:
        other = MODULES_THAT_READ.get(module, "")
        if other in DEBUGGERS.values():
            return Reader(program, ReaderKind.DEBUGGER, other, repl=True)
        return Reader(program, kind, other or language, repl=bool(other))
    args = read(rest, INTERPRETERS.get(rules.tool, Tool()), stop=True)
    operands = [word for word in args.operands if word != "-"]
    texts = INTERPRETERS[rules.tool].texts if rules.tool in INTERPRETERS else frozenset[str]()
    asked = not rules.starts or any(re.fullmatch(rules.starts, word) for word in rest)
    plain = not operands or operands == ["repl"]
    return Reader(program, kind, language, repl=asked and plain and not args.has(*texts))


def _module(rest: list[str]) -> str | None:
    for at, word in enumerate(rest):
        if word == "-m":
            return rest[at + 1] if at + 1 < len(rest) else ""
        if word[:1] != "-":
            return None
    return None


def prompt_of(reader: Reader, row: str, line: str = "") -> PromptSeen:
    """Return the prompt on the last row of a program's output, with nothing behind it but the text typed so far."""
    rules = reader.rules
    found: tuple[tuple[PromptSeen, str], ...] = (("ready", rules.ready), ("more", rules.more))
    for seen, pattern in found:
        prompt = re.match(pattern, row) if pattern else None
        if prompt is not None and row[prompt.end() :].strip() == line.strip():
            return seen
    return ""


def leaves(reader: Reader, text: str) -> bool:
    """Return True if a program may end, stop or hand over the keyboard after this, so that a shell reads the rest."""
    return end_of(reader, text) >= 0


def end_of(reader: Reader, text: str) -> int:
    """Return the place behind the first part of a text that may end its program, or -1 if there is none."""
    if reader.kind in KEYED:
        ends = _KEYED_ENDS.get(reader.language or reader.kind, _OTHER_EDITORS_ENDS)
    else:
        ends = ENDS if reader.repl else _ENDS_ANY
    found = [match.end() for match in (_ENDING_KEYS.search(text), ends.search(text)) if match is not None]
    return min(found, default=-1)
