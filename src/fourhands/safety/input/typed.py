"""Text that is typed for a program: what is known of it, and which part of it a shell behind that program reads."""

import re
from dataclasses import dataclass

from fourhands.safety.input.readers import KEYED, PromptSeen, Reader, end_of, leaves

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Keys that stand for no character."""

_KEY_THAT_ENDS = re.compile("[\x03\x04\x1a\x1c](?=.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TypedInput:
    """Text for a program, as far as it is known what stood there before it.

    `text` are its lines, each with its line end, what stands behind the last one, and for a program that takes keys one
    by one all keys. `before` are submitted lines of a statement that still wants its rest.
    """

    text: str
    before: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()  # lines that the program may not have read, so that a shell would get them too
    prompt: PromptSeen = "ready"
    hidden: str = ""  # a key that makes a line unknowable, in words
    ended: bool = False  # what ends the program was typed before


def lines_of(text: str) -> list[str]:
    """Return the lines of a text; a key that may end its program ends a line as well."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    return _KEY_THAT_ENDS.sub(r"\g<0>\n", plain).split("\n")


def goes_on_behind(typed: TypedInput, reader: Reader) -> bool:
    """Return True if a part of a text is for the shell behind its program."""
    if reader.kind in KEYED:
        end = end_of(reader, typed.text)
        rest = typed.text[end:] if end >= 0 else ""
        return typed.ended or ("\n" in rest.replace("\r", "\n") and bool(rest.strip()))
    return typed.ended or bool(divided(typed, reader)[1].strip())


def divided(typed: TypedInput, reader: Reader) -> tuple[str, str]:
    """Divide a text into what its program reads, and what a shell reads if one of the lines ends the program."""
    if reader.kind in KEYED:
        return typed.text, ""
    lines = lines_of(typed.text)
    last = next((number for number, line in enumerate(lines, 1) if leaves(reader, line)), len(lines))
    return CONTROL.sub("", "\n".join(lines[:last])), CONTROL.sub("", "\n".join(lines[last:]))
