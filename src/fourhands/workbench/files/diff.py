"""The difference of two states of a file, as a unified diff that is small enough to be sent and read."""

import difflib

from fourhands.workbench.files.encoding import decoded

LINES = 200
CHARACTERS = 20_000

LARGEST = 200_000
"""Bytes of a file that is still compared line by line."""


def unified(path: str, old: bytes | None, new: bytes | None) -> str:
    """Return a unified diff from `old` to `new` (None: no file); a long one is cut, and states how much is missing."""
    sizes = f"{_size(old)}, then {_size(new)}"
    if len(old or b"") > LARGEST or len(new or b"") > LARGEST:
        return f"{path} is too large to be compared: {sizes}\n"
    before, after = (decoded(data or b"", path=path, version="") for data in (old, new))
    if before.binary or after.binary:
        return f"{path} is binary: {sizes}\n"
    names = ("/dev/null" if old is None else f"a/{path}", "/dev/null" if new is None else f"b/{path}")
    lines = list(difflib.unified_diff(_lines(before.text), _lines(after.text), *names, lineterm=""))
    shown, room = [], CHARACTERS
    for line in lines[:LINES]:
        shown.append(line if len(line) <= room else f"{line[:room]}…")
        room -= len(line)
        if room <= 0:
            break
    if len(shown) < len(lines):
        shown.append(f"… {len(lines) - len(shown)} more lines")
    return "\n".join(shown) + "\n"


def _lines(text: str) -> list[str]:
    """Lines as a diff shows them: one that ends the file without a line feed says so."""
    lines = text.split("\n")
    if not lines[-1]:
        return lines[:-1]
    return [*lines[:-1], f"{lines[-1]}\n\\ No newline at end of file"]


def _size(data: bytes | None) -> str:
    return "no file" if data is None else f"{len(data)} bytes"
