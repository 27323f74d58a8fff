"""Arithmetic and subscripts, which the shell evaluates again: data that is no number may hold a command (C2.5).

bash takes the value of a variable in an expression for an expression too, down to `a[$(…)]`. So an expression is
harmless only if all of its parts are known to be numbers.
"""

import re
from collections.abc import Callable

from fourhands.safety.shell.parser.expansion import COMMAND, DYNAMIC, NUMBER, numeric
from fourhands.safety.shell.parser.tokens import ARITH, LIT, PARAM, SUB, VAR, Param, Script, Word, WordPart

_TERM = re.compile(r"\d[\w#@]*|([A-Za-z_]\w*)|[\ue000-\ue00a]+", re.ASCII)
_SETS = re.compile(r"\s*(?:[-+*/%&^|]|<<|>>)?=(?!=)")
_COUNTED = re.compile(rf"(?:-?\d+|{COMMAND}?{NUMBER})+")

NumberTest = Callable[[str], bool]
"""Says of a variable's name whether its value is known to be a number."""


def is_number(text: str) -> bool:
    """Return True if a resolved argument is a number, whatever it is."""
    return _COUNTED.fullmatch(text) is not None


def data_in(text: str, known: NumberTest, assigned: set[str]) -> str:
    """Return the first part of a resolved expression that may be no number, else nothing.

    Variables that it gives a value to are added to `assigned`: whatever they were, they are numbers afterwards.
    """
    for term in _TERM.finditer(text):
        name = term[1]
        if name is None:
            if not (term[0][0].isdigit() or is_number(term[0])):
                return term[0]
        elif (sign := _SETS.match(text, term.end())) and sign[0].strip() == "=":
            assigned.add(name)
        elif name not in assigned and not known(name):
            return name
    return ""


def data_in_pieces(pieces: list[WordPart], known: NumberTest, assigned: set[str], *, functions: bool = False) -> str:
    """Return the same for the pieces of an expression; with `functions` a program's name says nothing."""
    texts: list[str] = []
    for kind, text, _, inner in pieces:
        if kind == LIT:
            texts.append(text)
        elif kind == VAR:
            texts.append(NUMBER if known(text) else DYNAMIC)
        elif kind == PARAM and isinstance(inner, Param):
            plain = not (inner.op or inner.index) and known(inner.name)
            texts.append(NUMBER if inner.lead == "#" or (plain and not inner.lead) else DYNAMIC)
        elif kind == SUB and isinstance(inner, Script):
            texts.append(NUMBER if numeric(inner) and not functions else COMMAND)
        elif kind == ARITH and isinstance(inner, Word):
            if found := data_in_pieces(inner.pieces, known, assigned, functions=functions):
                return found
            texts.append(NUMBER)
        else:
            texts.append(DYNAMIC)
    return data_in("".join(texts), known, assigned)
