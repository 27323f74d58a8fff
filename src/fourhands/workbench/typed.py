"""What stands on a shell's line after an agent has typed: the lines it submits, what is left, and keys that hide them.

An agent may type a line in pieces; each piece is judged together with what stood there before. Text between the marks
of a bracketed paste is taken literally, so a newline inside it submits nothing.
"""

from dataclasses import dataclass, field

PASTE_BEGIN, PASTE_END = "\x1b[200~", "\x1b[201~"
_CLEAR = "\x03\x15"  # Ctrl-C and Ctrl-U: the line is gone


@dataclass(slots=True)
class Typed:
    """The effect of some keys at a prompt.

    `lines` were submitted with Enter, `rest` stands on the line, `completed` says that Tab was pressed and `hidden`
    names a control key after which nobody can say what the line is.
    """

    lines: list[str] = field(default_factory=list)
    rest: str = ""
    completed: bool = False
    hidden: str = ""


def typed(before: str, text: str) -> Typed:
    """Play keys on a line on which `before` stands."""
    result = Typed(rest=before)
    pasting = False
    at = 0
    while at < len(text):
        if not pasting and text.startswith(PASTE_BEGIN, at):
            pasting, at = True, at + len(PASTE_BEGIN)
            continue
        if pasting and text.startswith(PASTE_END, at):
            pasting, at = False, at + len(PASTE_END)
            continue
        character = text[at]
        at += 1
        if pasting:
            result.rest += "\n" if character == "\r" else character
        elif character in "\r\n":
            result.lines.append(result.rest)
            result.rest = ""
        elif character in _CLEAR:
            result.rest = ""
        elif character == "\t":
            result.completed = True
            result.rest += character
        elif character == "\x7f" or character == "\b":
            result.rest = result.rest[:-1]
        elif ord(character) < 0x20 or 0x80 <= ord(character) < 0xA0:
            result.hidden = result.hidden or f"U+{ord(character):04X}"
        else:
            result.rest += character
    return result
