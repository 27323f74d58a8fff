"""The lexical scan of text that no grammar fits: pieces that may be commands, and functions that start themselves."""

import itertools
import re
from collections.abc import Iterator

from fourhands.safety.shell.levels import FINE, Finding, dangerous
from fourhands.safety.shell.parser.expansion import shown

_SEPARATORS = re.compile(r"[;&|()`\n<>]+|\$[({]|[{}](?=\s|\Z)")
_QUOTES = re.compile(r"[\"'\\]")
# What may stand in front of a command's name.
_LEADS = re.compile(r"then|do|else|if|while|until|!|time|\w+=.*", re.DOTALL)
# The head of a function, as bash and as zsh take it: `f(){`, `function f{`; the name of the first stands before it.
_FUNCTION = re.compile(r"\([ \t]*\)\s*\{|\bfunction[ \t]+([^\s(){}|&;<>]{1,64})\s*\{")
_NAME = re.compile(r"([^\s(){}|&;<>\"'`$\\]{1,64})[ \t]*\Z")
_BODY = 1_000  # characters of a function in which it is looked for


def chunks(text: str) -> Iterator[list[str]]:
    """Return the words of each different piece that may be a command, without what may stand in front of one."""
    for chunk in dict.fromkeys(_SEPARATORS.split(_QUOTES.sub("", text))):
        if words := [*itertools.dropwhile(_LEADS.fullmatch, chunk.split())]:
            yield words


def fork_bomb(text: str) -> Finding:
    """Find a function that starts itself, also where only some shells take it for one (`:(){:|:&};:` in zsh)."""
    for head in _FUNCTION.finditer(text):
        found = head if head[1] else _NAME.search(text[max(0, head.start() - 80) : head.start()])
        if found is None:
            continue
        name, body = re.escape(found[1]), text[head.end() : head.end() + _BODY]
        if re.match(rf"(?:[^{{}}]*[\s;&|(])?{name}\s*(?:\|&?\s*{name}|&(?!&))", body):
            return dangerous("C2.7", f"a function that keeps starting itself: {shown(found[1])}")
    return FINE
