"""Long texts for models: whole lines from the beginning and the end, with what is left out and how to read it."""

from dataclasses import dataclass

from fourhands.core.errors import BadArgument

MOST_LINES = 2000
"""Lines of one answer, unless the call names another number."""

MOST_CHARACTERS = 30_000
"""Characters of one answer: a model's window is small, and some clients cut what is longer without a word."""

LONGEST_LINE = 2_000
"""Characters of a line; the rest of it can be asked for by its column."""


def line_count(text: str) -> int:
    """Return the number of lines; what follows the last line end counts as one."""
    return text.count("\n") + (bool(text) and not text.endswith("\n"))


def cropped(text: str, limit: int, name: str) -> str:
    """Return a text of at most `limit` characters as it is, else its head and tail around a note.

    Both are whole lines where lines are not too long. The note tells which lines are missing, and that `name` has them.
    """
    if len(text) <= limit:
        return text
    front = limit // 2
    head, tail = text[:front], text[len(text) - (limit - front) :]
    head = head[: head.rfind("\n") + 1] or head
    cut = tail.find("\n") + 1
    tail = tail[cut:] if cut < len(tail) else tail
    total = line_count(text)
    first, last = head.count("\n") + 1, total - line_count(tail)
    if head.endswith("\n") or not head:
        missing = f"lines {first}–{last} of {total} left out: read {name} from {first}"
    else:
        left = len(text) - len(head) - len(tail)
        missing = f"{left} characters left out: read {name} from {first} column {len(head) + 1}"
        head += "\n"
    return f"{head}[… {missing} …]\n{tail}"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Some lines of a text, as they are; `cut` is how many of them are longer than what is shown of them."""

    text: str
    last: int
    cut: int


def excerpt(lines: list[str], first: int, column: int) -> Excerpt:
    """Return as many of these lines as fit into one answer; the first has the number `first`, and begins at `column`.

    Raises `BadArgument` if it has no such column.
    """
    shown: list[str] = []
    left, cut = MOST_CHARACTERS, 0
    for place, line in enumerate(lines):
        number, start = first + place, column if place == 0 else 1
        if start > max(len(line), 1):
            raise BadArgument(f"line {number} has {len(line)} characters, no column {start}")
        longest = MOST_CHARACTERS if start > 1 else LONGEST_LINE
        piece = line[start - 1 : start - 1 + longest]
        rest = len(line) - (start - 1) - len(piece)
        if rest:
            cut += 1
            piece += f" [… {rest} more characters: from {number} column {start + longest}]"
        left -= len(piece) + 1
        if shown and left < 0:
            return Excerpt("\n".join(shown), number - 1, cut - bool(rest))
        shown.append(piece)
    return Excerpt("\n".join(shown), first + len(shown) - 1, cut)
