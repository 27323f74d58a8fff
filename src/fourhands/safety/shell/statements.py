"""Statements for databases, on a command line or typed into a client: what deletes, runs programs or touches files."""

import re

from fourhands.safety.shell.levels import FINE, Finding, dangerous
from fourhands.safety.shell.tables.services import CLIENT_RUNS, SQL, SQL_PAIRS, SQL_REACHES

_DELETES = re.compile(SQL, re.IGNORECASE | re.DOTALL)
_RUNS = re.compile(CLIENT_RUNS, re.IGNORECASE)
_REACHES = re.compile(SQL_REACHES, re.IGNORECASE)
_TEXT = re.compile(r"'[^'\n]*'")
# With one of these it is not certain where a text ends: other quotes, escapes, comments.
_UNCLEAR = re.compile(r"[\"`\\$\[#]|--|/\*")
_PAIRS = [(re.compile(one, re.IGNORECASE), re.compile(two, re.IGNORECASE)) for one, two in SQL_PAIRS.items()]
_UPDATE = re.compile(r"\s*(?:with\b[^;]*?\)\s*)?update\b", re.IGNORECASE)
_WHERE = re.compile(r"\bwhere\b", re.IGNORECASE)


def statement(text: str, *, typed: bool = False) -> Finding:
    """Classify the statements in a text; fine, where nothing in them is known to be dangerous.

    `typed`: they are whole, as a client reads them, so that what stands between quotes is no statement.
    """
    code = _without_texts(text) if typed else text
    if found := _DELETES.search(code):
        return dangerous("C7", f"deletes data: {found.group()[:24]}")
    if _RUNS.search(code) or _REACHES.search(code) or any(map(_has_pair, code.split(";"))):
        return dangerous("C7", "a database command that runs a program or writes a file")
    *whole, _ = code.split(";")
    if any(_UPDATE.match(one) and not _WHERE.search(one) for one in whole):
        return dangerous("C7", "rewrites every row: UPDATE without WHERE")
    return FINE


def _without_texts(code: str) -> str:
    """Return statements without what stands between quotes, if it is certain where that begins and ends."""
    lines = code.split("\n")
    clear = _UNCLEAR.search(code) is None and all(line.count("'") % 2 == 0 for line in lines)
    return _TEXT.sub("''", code) if clear else code


def _has_pair(one: str) -> bool:
    """Return True if two words that are dangerous together stand in one statement."""
    found = ((first.search(one), second) for first, second in _PAIRS)
    return any(start is not None and second.search(one, start.end()) for start, second in found)
