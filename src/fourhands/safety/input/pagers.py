"""Keys for pagers and monitors: what turns pages and what starts programs."""

import re

from fourhands.safety.shell.levels import FINE, Finding, dangerous, unknown
from fourhands.safety.shell.parser.expansion import shown

_RULE = "C6.5"
_TURNS = r"0-9 \nbfdujkygGnNpePhHrRzwF=%,<>"
_PAGES = re.compile(rf"[{_TURNS}{{}}()\[\]qQ\x0c\x06\x02\x15\x04\x0e\x10]*")
_ARROW = re.compile(r"\x1b(?:\[|O)[0-9;]*[A-Z~]")
# Only where keys that turn pages stand before it: others take the next key as their operand.
_SEARCH = re.compile(rf"^[{_TURNS}]*[/?&][^\n\x00-\x1f\x7f]*(?:\n|\Z)", re.MULTILINE)
_COMMAND = {
    "!": "starts a program",
    "|": "pipes into a program",
    "v": "opens an editor, which can start programs",
    "#": "starts a program",
    "s": "writes a file",
    "o": "writes a file",
    "O": "writes a file",
    "+": "stores a command that runs later",
    "E": "opens another file",
    "\x18": "opens another file",
    "_": "changes how it works",
}
_KILLS = re.compile(r"(?:^|[^\x1b\[O])[kr]|\x1b(?:\[18~|\[20~|\[19~|OR|O[S])")


def pager(keys: str) -> Finding:
    """Classify keys for a pager; the text of a search is no command."""
    plain = _ARROW.sub("", keys)
    plain = plain.replace("\r", "\n")
    # Keys that edit the text of a search may take its start away, so that the rest is commands.
    searched = plain if re.search(r"[\x00-\x08\x0b\x0e-\x1f\x7f]", plain) else _SEARCH.sub("", plain)
    for sign, reason in _COMMAND.items():
        if sign in searched:
            found = searched[searched.index(sign) :].split("\n")[0]
            return dangerous(_RULE, f"a pager's key that {reason}: {shown(found)[:40]}")
    if ":" in searched:
        return unknown(_RULE, "a pager's command")
    quits = re.search(r"[qQ]", searched)
    alone = quits is None or "\n" not in searched[quits.start() :]
    if searched == plain and _PAGES.fullmatch(plain) and alone:
        return Finding(FINE.rank, _RULE, "keys that turn pages")
    return unknown(_RULE, "keys for a pager")


def monitor(keys: str) -> Finding:
    """Classify keys for a program such as `top`."""
    plain = _ARROW.sub("", keys)
    if plain == "" or plain in ("q", "Q"):
        return Finding(FINE.rank, _RULE, "keys that only move")
    if re.search(r"[krsWLl!]", plain) or re.search(r"\x1b\[(?:17|18|19|20)~", keys):
        return dangerous(_RULE, f"a key that may end or change processes: {shown(plain)[:24]}")
    return unknown(_RULE, "keys for a monitor of processes")
