"""The two kinds of quoting that change characters: `$'…'` and backquotes."""

import re

_ANSI = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))|([^\\']+)|(')|(\\)",
    re.DOTALL,
)
_NAMED = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_BACKQUOTED = re.compile(r"[^`\\]+|\\.|\\\Z", re.DOTALL)


def ansi_c(text: str, pos: int) -> tuple[str, int, bool]:
    """Decode `$'…'` from behind its first quote: the value, where it ends, and whether it was closed."""
    out: list[str] = []
    while found := _ANSI.match(text, pos):
        pos = found.end()
        if found.group(8):
            return "".join(out), pos, True
        out.append(_decoded(found))
    return "".join(out), len(text), False


def unescaped(text: str) -> str:
    """Decode the escapes that `echo -e` and `printf` know."""
    return "".join("'" if found.group(8) else _decoded(found) for found in _ANSI.finditer(text))


def _decoded(found: re.Match[str]) -> str:
    hexadecimal, short, long, octal, control, named, plain, _, last = found.groups()
    for digits, base in ((hexadecimal, 16), (short, 16), (long, 16), (octal, 8)):
        if digits:
            number = int(digits, base)
            return chr(number) if 0 < number < 0x110000 else ""
    if control:
        return chr(ord(control) & 0x1F)
    if named:
        return _NAMED.get(named, named if named in "\\'\"?" else "\\" + named)
    return plain or last or ""


def backquoted(text: str, pos: int, quoted: bool) -> tuple[str, int, bool]:
    """Undo one level of backquoting from behind the first one: the script, where it ends, whether it was closed."""
    out: list[str] = []
    while found := _BACKQUOTED.match(text, pos):
        piece = found.group()
        if piece[0] == "\\" and piece[1:] in ("`", "\\", "$", *('"' if quoted else "")):
            piece = piece[1:]
        out.append(piece)
        pos = found.end()
    return "".join(out), pos + 1, pos < len(text)
