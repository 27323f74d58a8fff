"""Statements that are typed into a database's client, and the client's own commands (C7)."""

import re

from fourhands.safety.input.code import code
from fourhands.safety.input.readers import Reader
from fourhands.safety.input.tables.clients import DANGEROUS_COMMANDS, MONGO, REDIS
from fourhands.safety.shell.classifier import LineClassifier
from fourhands.safety.shell.levels import FINE, Finding, dangerous, unknown, worst
from fourhands.safety.shell.parser.expansion import shown
from fourhands.safety.shell.statements import statement

_STRING = re.compile(r"[\"']([^\"'\n]{1,255})[\"']")
_VERB = re.compile(r"\s*([A-Za-z]+)")


def statements(
    text: str, reader: Reader, classifier: LineClassifier, *, before: str = "", certain: bool = True
) -> Finding:
    """Classify lines for a database's client; `before` are the lines of a statement that these go on with."""
    rules = reader.rules
    findings: list[Finding] = []
    rest: list[str] = []
    for line in text.split("\n"):
        plain = line.strip()
        if not plain:
            continue
        if found := _command(plain, reader.language):
            findings.append(found)
        elif certain and not before and rules.looks is not None and rules.looks.fullmatch(plain):
            findings.append(Finding(FINE.rank, "C7", f"{rules.label}: only looks"))
        else:
            rest.append(line)
    if rest:
        findings.extend(_statements("\n".join(rest), reader, classifier, before, certain=certain))
    if named := classifier.secret([*_STRING.findall(text), *text.split()]):
        findings.append(dangerous("C5.4", f"reads the secret file {shown(named)}"))
    return worst(Finding(FINE.rank, "C7", f"{rules.label}: only looks"), *findings)


def _statements(text: str, reader: Reader, classifier: LineClassifier, before: str, *, certain: bool) -> list[Finding]:
    rules = reader.rules
    if reader.language == "redis":
        return [_redis(line) for line in text.split("\n")]
    old = statement(before)
    # What was dangerous before these lines came was judged with its own input.
    found = statement(f"{before}\n{text}" if before and not old.rank else text, typed=certain and not old.rank)
    if found.rank:
        return [found._replace(reason=f"{rules.label}: {found.reason}")]
    if reader.language == "mongo":
        if risky := MONGO.search(text):
            return [dangerous("C7", f"deletes data or runs code in a database: {shown(risky.group())[:24]}")]
        return [code(text, reader, classifier, before=before, certain=certain)]
    verb = _VERB.match(text)
    what = f"{rules.label}: {verb[1].upper()}" if verb and len(verb[1]) < 16 else f"{rules.label} for a database"
    return [unknown("C7", what)]


def _command(plain: str, language: str) -> Finding | None:
    """Classify a client's own command that runs a program or writes a file; None for all else."""
    pattern = DANGEROUS_COMMANDS.get(language)
    found = pattern.search(plain) if pattern is not None else None
    if found is None:
        return None
    return dangerous(
        "C7", f"a database command that runs a program or writes a file: {shown(found.group().strip())[:24]}"
    )


def _redis(line: str) -> Finding:
    words = line.split()
    while words and words[0].lstrip("-").isdigit():  # how often
        words.pop(0)
    if not words:
        return FINE
    if not words[0].isalnum():
        return dangerous("C7", "a database command that is not written in plain letters")
    if words[0].lower() in REDIS or [word.lower() for word in words[:2]] in (["client", "kill"], ["config", "set"]):
        return dangerous("C7", f"deletes data or changes the server: {shown(words[0])[:24]}")
    return unknown("C7", f"Redis: {words[0].upper()[:24]}")
