"""A slow and obvious reading of the rules for `%%OS{…}%%` blocks, to hold the fast one against.

It sees the whole text at once and goes through it from left to right. `pauses` are the places in the text where five
seconds passed, `limit` is how many bytes an open block may hold.
"""

import json
import re
from collections.abc import Collection
from typing import Any

_FENCE = re.compile(r"((?:[ \t>]|[-*+](?=[ \t])|[0-9]{1,9}[.)](?=[ \t]))*)(`{3,}|~{3,})(.*)", re.DOTALL)
_CLOSE = re.compile(r"([ \t>]*)(`+|~+)[ \t]*\r?\n")


def read(text: str, pauses: Collection[int] = (), limit: int = 1 << 23) -> tuple[str, list[dict[str, Any]]]:
    """Return what a person sees of the text, and the commands in it."""
    shown: list[str] = []
    commands: list[dict[str, Any]] = []
    i = 0
    while i < len(text):
        end = i + 1
        if i == 0 or text[i - 1] == "\n":
            end = fence(text, i) or end
        if end > i + 1 or text[i] not in "\\`%":
            shown.append(text[i:end])
            i = end
            # A fence ends behind its last newline, and so at the start of a line.
            continue
        if text[i] == "\\":
            end = i + 2 if text[i + 1 : i + 2] in ("\\", "`") else i + 1
        elif text[i] == "`":
            end = span(text, i)
        else:
            while text[end : end + 1] == "%":
                end += 1
            if end - i == 2 and text.startswith("OS{", end):
                i = block(text, i, commands, pauses, limit)
                continue
        shown.append(text[i:end])
        i = end
    return "".join(shown), commands


def fence(text: str, start: int) -> int:
    """Return the end of the fence that opens in the line at `start`, or 0."""
    lines = text[start:].splitlines(keepends=True) if "\r" not in text[start:] else None
    if lines is None or any(c in text for c in "\v\f\x1c\x1d\x1e\x85\u2028\u2029"):
        lines = re.findall(r"[^\n]*\n|[^\n]+", text[start:])
    opening = _FENCE.match(lines[0].removesuffix("\n"))
    if not opening or ("`" in opening[2] and "`" in opening[3]):
        return 0
    sign, size = opening[2][0], len(opening[2])
    end = start + len(lines[0])
    for line in lines[1:]:
        end += len(line)
        closing = _CLOSE.fullmatch(line)
        if (
            closing
            and closing[2][0] == sign
            and len(closing[2]) >= size
            and len(closing[1].expandtabs(4)) <= len(opening[1].expandtabs(4)) + 3
            and closing[1].count(">") <= opening[1].count(">")
        ):
            return end
    return len(text)


def span(text: str, start: int) -> int:
    """Return the end of the code span whose backquotes stand at `start`."""
    opening = re.compile(r"`+").match(text, start)
    assert opening
    stop = text.find("\n", start)
    stop = len(text) if stop < 0 else stop
    for run in re.compile(r"`+").finditer(text, opening.end(), stop):
        if len(run[0]) == len(opening[0]):
            return run.end()
    return stop


def block(text: str, start: int, commands: list[dict[str, Any]], pauses: Collection[int], limit: int) -> int:
    """Deal with the block whose marker stands at `start`; return where reading goes on."""
    depth, string, escape, balanced = 0, False, False, 0
    for i in range(start + 4, len(text) + 1):
        held = text[start:i]
        too_large = len(held) > limit or (not held.isascii() and len(held.encode("utf-8", "surrogatepass")) > limit)
        if i == len(text) or too_large or (i in pauses and i >= start + 5):
            end = held.find("}%%")
            return start + end + 3 if end >= 0 else i
        sign = text[i]
        if balanced:
            if sign != "%":
                return balanced
            if i == balanced:
                continue
            found = parse(text[start + 4 : balanced])
            if found is not None:
                commands.append(found)
            return i + 1
        if string:
            if escape:
                escape = False
            elif sign == "\\":
                escape = True
            elif sign == '"':
                string = False
        elif sign == '"':
            string = True
        elif sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
            if depth == 0:
                balanced = i + 1
    raise AssertionError("the loop always returns")


def parse(content: str) -> dict[str, Any] | None:
    """Return the command in the content of a block, if it is one."""

    def refuse(word: str) -> None:
        raise ValueError(word)

    try:
        value = json.loads(content, parse_constant=refuse)
    except (ValueError, RecursionError):
        return None
    if depth_of(value) > 128 or not isinstance(value.get("cmd"), str) or not value["cmd"].strip():
        return None
    return dict(value)


def depth_of(value: object) -> int:
    """Return how deep a JSON value is nested; a plain value is 0 deep."""
    if isinstance(value, dict):
        return 1 + max((depth_of(v) for v in value.values()), default=0)
    if isinstance(value, list):
        return 1 + max((depth_of(v) for v in value), default=0)
    return 0
