"""The front matter of a `SKILL.md`: the little of YAML that its two fields need, read strictly.

Read are texts at the top level: plain, quoted, over several lines, or as a block (`|`, `>`). Lists, mappings and
whatever else YAML has are passed over. A plain text may have a colon in it, which YAML forbids and many files have.
"""

import re
from collections.abc import Sequence

FENCE = "---"
_ENDS = (FENCE, "...")
_KEY = re.compile(r"([A-Za-z0-9_.-]+)[ \t]*:(?:[ \t]+(.*))?")
_BLOCK = re.compile(r"([|>])[-+0-9]{0,2}[ \t]*(?:#.*)?")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"[ \t]*(?:#.*)?')
_SINGLE = re.compile(r"'((?:[^']|'')*)'[ \t]*(?:#.*)?")
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", '"': '"', "\\": "\\", "/": "/", " ": " "}
_OTHER = "[{&*!%@`"
"""The first characters of values that are no text: lists, mappings, anchors, tags."""


class BadFrontMatter(ValueError):
    """The front matter cannot be read; the text says why."""


def front_matter(text: str) -> dict[str, str]:
    """Return the texts of a file's front matter by their keys. Raises `BadFrontMatter`."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != FENCE:
        raise BadFrontMatter(f"it does not begin with a line {FENCE}")
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() in _ENDS), 0)
    if not end:
        raise BadFrontMatter(f"its front matter has no end: a second line {FENCE}")
    return _texts(lines[1:end])


def _texts(lines: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    seen: set[str] = set()
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _KEY.fullmatch(line.rstrip())
        if match is None:
            raise BadFrontMatter(f"line {at + 1} is not of the form key: value")
        key = match.group(1)
        if key in seen:
            raise BadFrontMatter(f"{key} stands in it twice")
        seen.add(key)
        more = at
        while more < len(lines) and (not lines[more].strip() or lines[more][0] in " \t" or _is_item(lines[more])):
            more += 1
        value = _value(key, (match.group(2) or "").strip(), lines[at:more])
        at = more
        if value is not None:
            found[key] = value
    return found


def _is_item(line: str) -> bool:
    return line == "-" or line.startswith("- ")


def _value(key: str, first: str, rest: Sequence[str]) -> str | None:
    """Return a text; None for what is no text."""
    if block := _BLOCK.fullmatch(first):
        return _block(rest, folded=block.group(1) == ">")
    whole = " ".join(filter(None, (first, *(line.strip() for line in rest))))
    if first[:1] in ('"', "'"):
        quoted = (_DOUBLE if first[0] == '"' else _SINGLE).fullmatch(whole)
        if quoted is None:
            raise BadFrontMatter(f"the quoted text of {key} has no end, or something behind it")
        return _unescaped(key, quoted.group(1)) if first[0] == '"' else quoted.group(1).replace("''", "'")
    if first[:1] and first[0] in _OTHER:
        return None
    if not first or first.startswith("#"):
        inner = [line.strip() for line in rest if line.strip()]
        if not inner or _is_item(inner[0]) or _KEY.fullmatch(inner[0]):
            return None
        whole = " ".join(inner)
    return re.split(r"[ \t]#", whole, maxsplit=1)[0].strip()


def _block(lines: Sequence[str], *, folded: bool) -> str:
    depth = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    inner = "\n".join(line[depth:].rstrip() for line in lines).strip("\n")
    return re.sub(r"(?<!\n)\n(?!\n)", " ", inner) if folded else inner


def _unescaped(key: str, text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        *codes, sign = match.groups()
        if sign is not None and sign not in _ESCAPES:
            raise BadFrontMatter(f"the quoted text of {key} has an unknown escape \\{sign}")
        code = int(next(filter(None, codes)), 16) if sign is None else 0
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise BadFrontMatter(f"the quoted text of {key} has an escape that is no character")
        return chr(code) if sign is None else _ESCAPES[sign]

    return _ESCAPE.sub(plain, text)
