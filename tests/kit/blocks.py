"""A slow and obvious reading of the rules for `%%OS{…}%%` blocks, to hold the fast one against.

It sees the whole text at once and goes through it from left to right. `pauses` are the places in the text where five
seconds passed, `limit` is how many bytes an open block may hold.
"""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

_FENCE = re.compile(r"((?:[ \t>]|[-*+](?=[ \t])|[0-9]{1,9}[.)](?=[ \t]))*)(`{3,}|~{3,})(.*)", re.DOTALL)
_CLOSE = re.compile(r"([ \t>]*)(`+|~+)[ \t]*\r?\n")


def read(text: str, pauses: Collection[int] = (), limit: int = 1 << 23) -> tuple[str, list[dict[str, Any]]]:
    """Return what a person sees of the text, and the commands in it."""
    shown: list[str] = []
    commands: list[dict[str, Any]] = []
    lines = Lines()
    i = 0
    while i < len(text):
        end = i + 1
        if i == 0 or text[i - 1] == "\n":
            coded = lines.read(line_at(text, i))
            closed = fence(text, i)
            if closed:
                lines.before = "fence"
            end = closed or (i + len(line_at(text, i)) if coded else end)
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
                start, i = i, block(text, i, commands, pauses, limit)
                inside = re.search(r"\n([ \t]*\r?)\n\Z", text[start:i])
                lines.before = "blank" if inside else "text"
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


def line_at(text: str, start: int) -> str:
    """Return the line at `start`, with its end."""
    end = text.find("\n", start)
    return text[start:] if end < 0 else text[start : end + 1]


@dataclass
class Lines:
    """Which lines are indented code: CommonMark's containers, as far as they matter here.

    A container is "quote", or the column where the content of a list item begins. `before` is what the line before
    was: "blank", "text", "code" or "fence"; `around` is how many quotations its paragraph stands in.
    """

    before: str = "blank"
    around: int = 0
    open: list[str | int] = field(default_factory=list)

    def read(self, line: str) -> bool:
        """Take the next line; return whether it is indented code."""
        rest = line.removesuffix("\n")
        rest = rest.removesuffix("\r") if line.endswith("\n") else rest
        cells = cells_of(rest)
        at, from_, fresh, opened = 0, 0, False, False
        matched: list[str | int] = []
        for container in self.open:
            mark = blanks(cells, at)
            if container == "quote":
                if cells[mark : mark + 1] != [">"] or mark - from_ > 3:
                    break
                at, from_ = mark + 1, mark + 2
            elif isinstance(container, int):
                if mark < container and mark < len(cells):
                    break
                at, from_ = min(container, mark), container
            matched.append(container)
        kept = len(matched) == len(self.open)
        while True:
            mark = blanks(cells, at)
            if mark >= len(cells):
                return self._blank(matched, opened)
            if mark - from_ >= 4:
                break
            if cells[mark] == ">":
                if fresh:
                    matched[-1] = mark
                matched.append("quote")
                at, from_, fresh, opened, kept = mark + 1, mark + 2, False, True, False
                continue
            bullet = re.match(r"([-*+]|([0-9]{1,9})[.)])[ \t]", "".join(cells[mark:]))
            starts = bullet is not None and (not bullet[2] or int(bullet[2]) == 1)
            if not bullet or (kept and self.before == "text" and not starts):
                break
            if fresh:
                matched[-1] = mark
            at = mark + len(bullet[1])
            from_, fresh, opened, kept = at + 1, True, True, False
            matched.append(from_)
        quotes = matched.count("quote")
        if mark - from_ >= 4 and (opened or self.before in ("blank", "code")):
            self.open, self.before, self.around = matched, "code", quotes
            return True
        if fresh:
            matched[-1] = mark
        elif self.before == "text" and not opened:
            return False  # the paragraph goes on
        self.open, self.before, self.around = matched, "text", quotes
        return False

    def _blank(self, matched: list[str | int], opened: bool) -> bool:
        self.around = matched.count("quote")
        if opened:
            self.open = matched
        else:
            # What is blank leaves the items open that stand in the quotations it has.
            while self.open.count("quote") > self.around:
                self.open.pop()
        self.before = "blank"
        return False


def cells_of(line: str) -> list[str]:
    """Return a line as its columns: a tab is blanks up to its stop."""
    cells: list[str] = []
    for sign in line:
        cells += [" "] * (4 - len(cells) % 4) if sign == "\t" else [sign]
    return cells


def blanks(cells: list[str], at: int) -> int:
    """Return the first column at or behind `at` that is not blank."""
    while at < len(cells) and cells[at] == " ":
        at += 1
    return at


def span(text: str, start: int) -> int:
    """Return the end of the code whose backquotes stand at `start`."""
    opening = re.compile(r"`+").match(text, start)
    assert opening
    size = len(opening[0])
    ending = re.compile(r"\n(?=[ \t]*\r?\n)" if size > 2 else r"\n").search(text, start)
    stop = ending.start() if ending else len(text)
    for run in re.compile(r"`+").finditer(text, opening.end(), stop):
        if len(run[0]) == size or (size > 2 and len(run[0]) > size):
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
