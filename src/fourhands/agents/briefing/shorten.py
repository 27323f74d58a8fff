"""Shortening text for a model: the beginning and the end stay, and what is missing is said exactly.

All cuts are between whole characters. A shortened text never exceeds its limit, the note about the gap included.
"""

import re

HEAD_PART = 0.4
"""The share of the room for the beginning; the end gets more, since errors and results tend to stand there."""

_TICKS = re.compile("`{3,}")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


def clean(text: str) -> str:
    """Make a text that can be sent: halves of surrogate pairs are joined, or replaced where the other is missing."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def one_line(text: str, limit: int) -> str:
    """Put a text of unknown origin on one line: no control characters, no code marks, at most `limit` characters."""
    flat = " ".join(_UNSAFE.sub(" ", clean(text[: limit * 4])).replace("`", "'").split())
    return flat if len(flat) <= limit and len(text) <= limit * 4 else flat[: max(limit - 1, 0)] + "…"[:limit]


def fence(text: str) -> str:
    """Return a fence of backquotes that is longer than any in the text, so that no text can end it."""
    return "`" * max([3, *(len(run) + 1 for run in _TICKS.findall(text))])


def shorten(text: str, limit: int, *, first_line: int = 1, how: str = "") -> str:
    """Return `text` in at most `limit` characters, its middle replaced by a line that tells what is missing.

    The line names characters and lines left out, both totals, and `how` to read the rest. Lines count from
    `first_line`, so that they are the file's own where only a part of it was read.
    """
    text = clean(text)
    total = len(text)
    if total <= limit:
        return text
    note = _note(text, total, 0, 0, first_line, how)
    room = limit - len(note) - 2 - 2 * len(str(total))  # a gap further back may need more digits than the one measured
    if room < 20:
        bare = f"[{total} characters left out]"
        return bare if len(bare) <= limit else "…"[: max(limit, 0)]
    head = _back_to_line(text, int(room * HEAD_PART))
    tail = _on_to_line(text, total - (room - int(room * HEAD_PART)))
    note = _note(text, total, head, total - tail, first_line, how)
    before = "" if text[head - 1 : head] in ("", "\n") else "\n"
    return f"{text[:head]}{before}{note}\n{text[tail:]}"


def _note(text: str, total: int, head: int, tail_length: int, first_line: int, how: str) -> str:
    tail = total - tail_length
    lines = text.count("\n") + (not text.endswith("\n"))
    first = first_line + text.count("\n", 0, head)
    last = first_line + text.count("\n", 0, tail) - (text[tail - 1 : tail] == "\n")
    gap = f"[… {tail - head} of {total} characters left out, in lines {first} to {last} of {first_line + lines - 1}"
    return f"{gap}; {how} …]" if how else f"{gap} …]"


def _back_to_line(text: str, cut: int) -> int:
    """Move a cut back behind a line's end, unless that would cost more than half of what stands before it."""
    found = text.rfind("\n", cut // 2, cut)
    return cut if found < 0 else found + 1


def _on_to_line(text: str, cut: int) -> int:
    """Move a cut on to a line's beginning, unless that would cost more than half of what stands behind it."""
    if text[cut - 1] == "\n":
        return cut
    found = text.find("\n", cut, cut + (len(text) - cut) // 2)
    return cut if found < 0 else found + 1
