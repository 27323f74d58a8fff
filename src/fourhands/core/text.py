"""Short forms of text: for messages, titles and lists, where a long value would hide the rest."""

ELLIPSIS = "…"


def truncate(text: str, limit: int) -> str:
    """Return the beginning of a text in at most `limit` characters, with an ellipsis where something is missing."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + ELLIPSIS[: max(limit, 0)]


def truncate_middle(text: str, limit: int, gap: str = ELLIPSIS, *, head: float = 0.5) -> str:
    """Return the beginning and the end of a text, with `gap` between them where something is missing.

    `limit` counts the characters of the text itself, of which `head` is the part that its beginning gets. So
    `len(text) - limit` characters are missing, which `gap` may report.
    """
    if len(text) <= limit:
        return text
    front = int(max(limit, 0) * head)
    return text[:front] + gap + text[len(text) - (max(limit, 0) - front) :]


def one_line(text: str, limit: int, *, unprintable: str = "?") -> str:
    """Return a text of any origin as one printable line of at most `limit` characters.

    Runs of white space become one space. Other characters that do not print, such as escape sequences, marks that
    reverse the direction and halves of surrogate pairs, become `unprintable`, one character.
    """
    line = " ".join(text.split())
    return truncate("".join(sign if sign.isprintable() else unprintable for sign in line[: limit + 1]), limit)


def quote(value: object, limit: int = 80) -> str:
    """Return a value as it may stand in a message: as Python writes it, in at most `limit` characters."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # endless nesting, a number of more digits than Python writes
        text = f"<{type(value).__name__}>"
    return truncate_middle(text, limit - 1, head=2 / 3) if len(text) > limit else text
