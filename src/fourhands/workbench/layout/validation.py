"""Checks on the words and numbers that callers put into the workbench state.

The state is encoded as JSON and shown in a page, so text must be encodable and plain, and numbers must be real.
"""

import difflib
import math
from collections.abc import Iterable

from fourhands.core.errors import BadArgument

LARGEST = 2**31 - 1  # what Monaco and every JSON reader hold exactly


def shown(value: object) -> str:
    """Return a bad value as it may stand in a message: quoted, and short however large it is."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def encodable(kind: str, value: object) -> str:
    """Return `value` if it is text that UTF-8 can carry; a lone surrogate would break every snapshot."""
    if not isinstance(value, str):
        raise BadArgument(f"{kind} must be text, not {shown(value)}")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise BadArgument(f"{kind} {shown(value)} is not valid Unicode text", hint="it has a lone surrogate") from error
    return value


def words(kind: str, value: object, limit: int) -> str:
    """Return `value` if it is one line of plain text with something in it."""
    text = encodable(kind, value)
    if not text.strip():
        raise BadArgument(f"{kind} is empty")
    if len(text) > limit:
        raise BadArgument(f"{kind} {shown(text)} has {len(text)} characters", hint=f"at most {limit}")
    if any(map(_control, text)):
        raise BadArgument(f"{kind} {shown(text)} has control characters", hint="plain text in one line")
    return text


def plain(text: str, limit: int) -> str:
    """Make any text fit to be a title: one line, no control characters, not too long, not blank."""
    line = "".join("\N{REPLACEMENT CHARACTER}" if _control(c) else c for c in text)
    line = line if len(line) <= limit else f"{line[: limit - 1]}…"
    return line if line.strip() else repr(line)


def whole(kind: str, value: object, least: int = 1) -> int:
    """Return `value` if it is a whole number from `least` up."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST:
        raise BadArgument(f"{kind} must be a whole number from {least} to {LARGEST}, not {shown(value)}")
    return value


def percent(kind: str, value: object) -> float:
    """Return `value` as a float if it is above 0 and at most 100."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not math.isfinite(value)
        or not 0 < value <= 100
    ):
        raise BadArgument(f"{kind} must be a percentage above 0 and up to 100, not {shown(value)}")
    return float(value)


def choice(kind: str, value: object, accepted: Iterable[str]) -> str:
    """Return `value` if it is one of the accepted words; the error names them and the nearest."""
    known = list(accepted)
    if isinstance(value, str) and value in known:
        return value
    near = difflib.get_close_matches(value[:100].lower(), known, n=1) if isinstance(value, str) else []
    guess = f"did you mean {near[0]!r}? " if near else ""
    raise BadArgument(f"no {kind} {shown(value)}", hint=f"{guess}{kind} is one of: {', '.join(known)}")


def _control(c: str) -> bool:
    return c < " " or "\x7f" <= c < "\xa0" or c in "\u2028\u2029"
