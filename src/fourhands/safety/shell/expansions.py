"""The parts of words that the shell replaces: variables, defaults, subscripts and arithmetic (C2.2, C2.5, C5.4)."""

import re

from fourhands.safety.shell import lookalikes as raw_text
from fourhands.safety.shell.assignments import Assignments
from fourhands.safety.shell.levels import FINE, Finding, dangerous, unknown, worst
from fourhands.safety.shell.parser.expansion import (
    DYNAMIC,
    LONGEST_VALUE,
    assigned,
    is_static,
    joined,
    resolve_all,
    subscript,
)
from fourhands.safety.shell.parser.tokens import ARITH, DEPTH_LIMIT, LIT, PARAM, VAR, Param, Word, WordPart
from fourhands.safety.shell.tables.names import SECRET_PARTS

SECRET_VARIABLE = re.compile(rf"(?:\A|_)(?:{'|'.join(sorted(SECRET_PARTS))})(?:_|\Z)", re.IGNORECASE)


class Expansions(Assignments):
    """The words of one line, and the variables that they read and set."""

    def loop(self, loop: list[str | Word]) -> Finding:
        """Classify the values that a loop gives its variable."""
        name, *words = loop
        if not isinstance(name, str):
            return FINE
        values = resolve_all(words[:64], self.variables)
        result = FINE
        for value in values[:64] if values else [None]:
            self.set(name, value)
            result = worst(result, self.setting(name, value))
        return result

    def assign(self, word: str | Word, name: str, sign: str) -> Finding:
        """Classify an assignment, and follow it."""
        value = assigned(word, self.variables)
        index = subscript(word, self.variables)
        before = self.variables.get(name)
        if sign == "+=" and isinstance(before, str) and isinstance(value, str):
            value = before + value if len(before) + len(value) <= LONGEST_VALUE else DYNAMIC
        elif sign == "+=" and isinstance(before, list) and isinstance(value, list):
            value = [*before, *value][:1_000]
        elif sign == "+=" and name not in self.variables:
            value = DYNAMIC
        self.set(name, value)
        finding = self.setting(name, value)
        if isinstance(word, Word) and word.elements:
            inside = (
                element if isinstance(element, str) else joined(element.pieces, self.variables)
                for element in word.elements
            )
            finding = worst(finding, *(self.elements(name, text) for text in inside))
        return finding if index is None else worst(finding, self.subscript(name, index))

    def expansions(self, words: list[str | Word]) -> list[Finding]:
        """Return the findings about what the shell replaces in words."""
        findings: list[Finding] = []
        for word in words:
            if isinstance(word, Word):
                self._pieces(word.pieces, findings)
                if word.elements:
                    findings.extend(self.expansions(word.elements))
            elif not word.isascii() and (found := raw_text.hosts(word)):
                findings.append(found)
        return findings

    def _pieces(self, pieces: list[WordPart], findings: list[Finding], depth: int = 0) -> None:
        for piece in pieces:
            name, kept = piece.text, True
            if piece.kind == PARAM and isinstance(piece.inner, Param):
                name = piece.inner.name
                kept = piece.inner.op not in ("+", ":+") and piece.inner.lead != "#"
                if piece.inner.lead == "!" and not (piece.inner.index or piece.inner.op):
                    pointed = self.variables.get(name)
                    if isinstance(pointed, str) and is_static(pointed):
                        name = pointed
                    else:
                        findings.append(
                            unknown("C5.4", f"expands a variable whose name is only known at run time: ${{!{name}}}")
                        )
                findings.append(self.index(piece.inner))
                if piece.inner.op in ("=", ":=") and not piece.inner.lead:
                    value = joined(piece.inner.operand, self.variables)
                    self.set(name, value)
                    findings.append(worst(self.setting(name, value), self.hidden))
                if depth < DEPTH_LIMIT:
                    self._pieces(piece.inner.operand, findings, depth + 1)
            elif piece.kind == ARITH and isinstance(piece.inner, Word):
                findings.append(self.evaluation(piece.inner.pieces))
                if depth < DEPTH_LIMIT:
                    self._pieces(piece.inner.pieces, findings, depth + 1)
                continue
            elif piece.kind != VAR:
                if piece.kind == LIT and not piece.text.isascii() and (found := raw_text.hosts(piece.text)):
                    findings.append(found)
                continue
            if name == "IFS":
                findings.append(dangerous("C3.3", "$IFS is used to hide a space"))
            elif kept and name not in self.variables and SECRET_VARIABLE.search(name):
                findings.append(dangerous("C5.4", f"expands the secret variable ${name}"))
