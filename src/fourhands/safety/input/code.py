"""Code of languages that have no grammar here: dangerous by lists of calls, safe where it only has numbers."""

import re

from fourhands.safety.input.readers import Reader
from fourhands.safety.shell.classifier import LineClassifier
from fourhands.safety.shell.expansions import SECRET_VARIABLE
from fourhands.safety.shell.file_rules import own
from fourhands.safety.shell.levels import FINE, Finding, dangerous, unknown
from fourhands.safety.shell.parser.expansion import shown

_RULE = "C6.2"
_STRING = re.compile(r"[\"'`]([^\"'`\n]{1,255})[\"'`]")
_NUMBERS = re.compile(r"[\d\s.+\-*/%()^,;]*")
_VARIABLE = re.compile(r"\b(?:env|ENV|environ|getenv|Sys\.getenv)\b\W{0,3}(\w+)")
_JOINED = re.compile(r"`[^`\\$]*`")


def code(text: str, reader: Reader, classifier: LineClassifier, *, before: str = "", certain: bool = True) -> Finding:
    """Classify code by the lists of its language; `before` are the lines of a statement that this goes on with."""
    rules = reader.rules
    # In the middle of a statement, or of who knows what, it is not certain which quote opens a text.
    bare = without_texts(text, rules.quotes, rules.unclear) if certain and not before else text
    if rules.plain is not None:
        bare = rules.plain.sub(" ", bare)
    for pattern, line in [(rules.calls, one) for one in bare.split("\n")] + [(rules.imports, text)]:
        if pattern is not None and (risky := pattern.search(line)):
            return dangerous(_RULE, f"{rules.label} code: {shown(risky.group().strip())[:32]}")
    if named := classifier.secret(_STRING.findall(text)):
        return dangerous("C5.4", f"{rules.label} code: names the secret file {shown(named)}")
    if named := own(_STRING.findall(text), "", classifier.rules.own_directories):
        return dangerous("C7", f"works with Fourhands itself: {shown(named)}")
    if named := next((name for name in _VARIABLE.findall(text) if SECRET_VARIABLE.search(name)), ""):
        return dangerous("C5.4", f"{rules.label} code: reads the secret variable {shown(named)}")
    lines = [line.strip() for line in text.split("\n")]
    looks = [not line or _NUMBERS.fullmatch(line) or (rules.looks and rules.looks.fullmatch(line)) for line in lines]
    if certain and all(looks):
        return Finding(FINE.rank, _RULE, f"{rules.label}: only computes")
    return unknown(_RULE, f"{rules.label} code")


def without_texts(text: str, quotes: str, unclear: str) -> str:
    """Return code without what stands between quotes, if it is certain where each of these texts ends."""
    if not quotes or any(sign in text for sign in (*unclear, "\\")):
        return text
    bare: list[str] = []
    quote = ""
    for sign in text:
        if quote:
            if sign == quote:
                quote = ""
            elif sign == "\n" and quote != "`":
                return text
            elif sign == "$" and quote == "`":
                return _JOINED.sub("``", text) if text.count("`") == 2 else text
            else:
                continue
        elif sign in quotes:
            quote = sign
        bare.append(sign)
    return text if quote else "".join(bare)
