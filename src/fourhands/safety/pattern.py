"""Regular expressions that come from others, matched in linear time.

An agent's or a plugin's pattern runs on the server's loop over megabytes of output; Python's own engine can be sent
into exponential backtracking by accident. RE2 cannot.
"""

from typing import Protocol

import re2

from fourhands.core.errors import BadArgument

LONGEST = 4096


class Found(Protocol):
    """A match."""

    def start(self) -> int:
        """Where it begins."""
        ...

    def end(self) -> int:
        """Where it ends."""
        ...


class Pattern(Protocol):
    """A compiled pattern."""

    def search(self, text: str) -> Found | None:
        """The first match in a text."""
        ...


def compile_pattern(text: str, *, ignore_case: bool = False) -> Pattern:
    """Compile a pattern, or say what is wrong with it."""
    if not isinstance(text, str) or not text:
        raise BadArgument(f"a pattern must be a text that is not empty, not {text!r}")
    if len(text) > LONGEST:
        raise BadArgument(f"the pattern has {len(text)} characters, at most {LONGEST} are allowed")
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignore_case
    try:
        return re2.compile(text, options)  # type: ignore[no-any-return]  # the library has no types
    except re2.error as error:
        reason = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
        raise BadArgument(
            f"the pattern {text!r} cannot be used: {reason}",
            hint="syntax is RE2's: no look-around, no back-references; see https://github.com/google/re2/wiki/Syntax",
        ) from error
