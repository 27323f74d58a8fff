"""Regular expressions of agents, plugins and users, matched in linear time.

An agent's or a plugin's pattern runs on the server's loop over megabytes of output; Python's own engine can be sent
into exponential backtracking by accident. RE2 cannot, and patterns that would still take it long are refused: its
time grows with the text's length times the pattern's steps, where a repetition counts as often as it repeats.
"""

import contextlib
from collections.abc import Sequence
from typing import Protocol

import re2

from fourhands.core.errors import BadArgument

LONGEST = 4096

MOST_STEPS = 1250
"""A letter is one step, any character about eight, any letter of any script 1,201."""


class RegexMatch(Protocol):
    """A match."""

    def start(self) -> int:
        """Return the offset of its first character."""
        ...

    def end(self) -> int:
        """Return the offset behind its last character."""
        ...


class Pattern(Protocol):
    """A compiled pattern."""

    def search(self, text: str) -> RegexMatch | None:
        """Return the first match in a text, or None."""
        ...


def compile_pattern(text: str, *, ignore_case: bool = False, lines: bool = False) -> Pattern:
    """Compile a pattern, or raise BadArgument with the reason. With `lines`, `^` and `$` match at line ends."""
    if not isinstance(text, str) or not text:
        raise BadArgument(f"a pattern must be a non-empty text, not {text!r}")
    if len(text) > LONGEST:
        raise BadArgument(f"the pattern has {len(text)} characters; the limit is {LONGEST}")
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignore_case
    try:
        pattern = re2.compile(text, options)  # unchanged, so that the error is about the text that was given
        if lines:
            pattern = re2.compile(f"(?m){text}", options)
    except re2.error as error:
        reason = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
        raise BadArgument(
            f"the pattern {text!r} is invalid: {reason}",
            hint="syntax is RE2's: no look-around, no back-references; see https://github.com/google/re2/wiki/Syntax",
        ) from error
    if pattern.programsize > MOST_STEPS:
        raise BadArgument(
            f"the pattern {text!r} is too complex: {pattern.programsize} steps; the limit is {MOST_STEPS}",
            hint="repeat less: a{500} counts as 500 letters",
        )
    return pattern  # type: ignore[no-any-return]  # the library has no types


class Patterns:
    """Several patterns that are compared with a text at once."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._each = [(text, compile_pattern(text)) for text in texts]
        self._any: Pattern | None = None
        # A quotation that is not closed would continue into the next pattern.
        if len(texts) > 1 and not any("\\Q" in text for text in texts):
            options = re2.Options()
            options.log_errors = False
            options.max_mem = 64 << 20
            with contextlib.suppress(re2.error):  # too many for one
                self._any = re2.compile("|".join(f"(?:{text})" for text in texts), options)

    def __bool__(self) -> bool:
        return bool(self._each)

    def found_in(self, text: str) -> str:
        """Return the first pattern found in a text, or nothing."""
        text = text.encode("utf-8", "replace").decode()  # bytes that are not text are nothing to RE2
        if self._any is not None and self._any.search(text) is None:
            return ""
        return next((name for name, pattern in self._each if pattern.search(text) is not None), "")
