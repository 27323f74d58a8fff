"""The scanner of one word of shell text, as bash reads it: quotes, backslashes, expansions, arithmetic, patterns.

A word is a list of pieces. Scripts inside it (`$(…)`, backquotes, `<(…)`) are read by the scanner of scripts, which is
built on this one.
"""

import re
from abc import ABC, abstractmethod

from fourhands.safety.shell.levels import dangerous, unknown
from fourhands.safety.shell.parser.quoting import ansi_c
from fourhands.safety.shell.parser.tokens import (
    ARITH,
    DEPTH_LIMIT,
    LIT,
    PARAM,
    PROC,
    SUB,
    VAR,
    Param,
    Scan,
    Script,
    Word,
    WordPart,
)
from fourhands.safety.unicode import blanks

# Looking ahead for the end of `((` may fail again and again; this bounds the sum of all attempts.
_LOOKAHEAD = 100_000

_PLAIN = re.compile(r"[\w./:=,@%+~^\[\]-]+", re.ASCII)
_SUBSCRIPTED = re.compile(r"\w+\[[^\]]*\]\+?=|\[\[?\Z", re.ASCII)
# What zsh takes for conditions on files behind a pattern: some of them run code.
_QUALIFIERS = re.compile(r"[^|()*?\[\]]*(?:\[-?\d+(?:,-?\d+)?\])?")
_QUALIFIER_RUNS = re.compile(r"e[^\w\s]|[oO]e|\+\w")
_RUN = re.compile(r"[^ \t\n;&|()<>'\"\\$`!]+")
_DOUBLE = re.compile(r'[^"\\$`]+')
_PARAMETER = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]", re.ASCII)
_ZSH_PARAMETER = re.compile(r"[~=^+]+[A-Za-z_]\w*", re.ASCII)  # plain text in bash
_PARAM_HEAD = re.compile(r"([!#]?)([A-Za-z_]\w*|\d+|[@*#?$!-])", re.ASCII)
_PARAM_RUN = re.compile(r"[^}'\"\\$`]+")
_ARITH_RUN = re.compile(r"[^()\[\]'\"\\$`]+")
_NO_ARITHMETIC = re.compile(r"\w\s+[\w.~]|\.")
_INDEX = re.compile(r"\[([^\]$`'\"\\\[]*)\]")
_LOOK = re.compile(r"[()]|\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_ARRAY = re.compile(r"[A-Za-z_]\w*(\[[^\]]*\])?\+?=\Z", re.ASCII)
_AFTER_HISTORY = " \t\n=("


class TooDeep(Exception):
    """Substitutions nested deeper than `DEPTH_LIMIT`."""


class ScriptTooLong(Exception):
    """A script with more words and signs than `MOST_TOKENS`."""


class WordScanner(ABC):
    """A position in a text from which words are read; scripts and findings go to `scan`."""

    def __init__(self, text: str, depth: int, outer: "WordScanner | None" = None) -> None:
        self.text, self.depth, self.pos = text, depth, 0
        self.scan: Scan = outer.scan if outer else Scan(Script(text))
        self.continuations: list[int] = []
        self.lookahead: int = outer.lookahead if outer else _LOOKAHEAD

    @abstractmethod
    def nested(self) -> Script:
        """Read the script behind `$(` or `<(`."""

    @abstractmethod
    def backquote(self, quoted: bool) -> Script:
        """Read the script between backquotes."""

    def count(self) -> None:
        """Count one word or sign, and stop at the limit."""
        self.scan.left -= 1
        if self.scan.left < 0:
            raise ScriptTooLong

    def word(self) -> str | Word:
        """Read one word that is not plain; it may turn out to be."""
        self.count()
        text, pieces = self.text, list[WordPart]()
        elements: list[str | Word] | None = None
        begin = self.pos
        while self.pos < len(text):
            found = _RUN.match(text, self.pos)
            if found:
                run = found.group()
                if not run.isascii() and (blank := blanks.search(run)):
                    self.scan.findings.append(
                        dangerous("C1.4", f"a blank that is not a space (U+{ord(blank.group()):04X}) outside quotes")
                    )
                pieces.append(WordPart(LIT, run, False))
                self.pos = found.end()
                continue
            sign = text[self.pos]
            if sign in " \t\n;&|)":
                break
            if sign == "(":
                if self.pos > begin and text[self.pos - 1] in "?*+@!" and pieces:
                    self._extglob(pieces)
                elif len(pieces) == 1 and pieces[0].kind == LIT and _ARRAY.match(pieces[0].text) and elements is None:
                    elements = self._array()
                else:
                    break
            elif sign in "<>":
                if not text.startswith("(", self.pos + 1):
                    break
                self.pos += 2
                pieces.append(WordPart(PROC, sign, False, self.nested()))
            elif sign == "!":
                self._history(pieces)
            else:
                self.piece(pieces, sign)
        if self.pos == begin:  # a lone `)` or `<` where no word can be
            self.pos += 1
            self.scan.broken = True
            return text[begin : self.pos]
        if len(pieces) == 1 and elements is None and pieces[0].kind == LIT and _PLAIN.fullmatch(text, begin, self.pos):
            plain = pieces[0].text
            if not _has_class(plain) or _SUBSCRIPTED.match(plain):
                return plain
        return Word(pieces, elements)

    def piece(self, pieces: list[WordPart], sign: str, quoted: bool = False) -> None:
        """Read what a quote, backslash, dollar or backquote starts."""
        text = self.text
        if sign == "'":
            end = text.find("'", self.pos + 1)
            if end < 0:
                self.scan.broken = True
                end = len(text)
            pieces.append(WordPart(LIT, text[self.pos + 1 : end], True))
            self.pos = end + 1
        elif sign == '"':
            self.pos += 1
            pieces.append(WordPart(LIT, "", True))
            self.double(pieces)
        elif sign == "\\":
            following = text[self.pos + 1 : self.pos + 2]
            if following == "\n":
                self.continuations.append(self.pos)
            else:
                pieces.append(WordPart(LIT, following or "\\", True))
            self.pos += 2
        elif sign == "`":
            pieces.append(WordPart(SUB, "", quoted, self.backquote(quoted)))
        else:
            self._dollar(pieces, quoted)

    def double(self, pieces: list[WordPart], end: str = '"') -> None:
        """Read the inside of double quotes, or with no `end` the body of a here-document."""
        text = self.text
        while self.pos < len(text):
            found = _DOUBLE.match(text, self.pos)
            if found:
                pieces.append(WordPart(LIT, found.group(), True))
                self.pos = found.end()
                continue
            sign = text[self.pos]
            if sign == '"':
                self.pos += 1
                if end:
                    return
                pieces.append(WordPart(LIT, '"', True))
            elif sign == "\\":
                following = text[self.pos + 1 : self.pos + 2]
                if following == "\n":
                    self.continuations.append(self.pos)
                else:
                    kept = following if following and following in '$`"\\' else "\\" + following
                    pieces.append(WordPart(LIT, kept, True))
                self.pos += 2
            else:
                self.piece(pieces, sign, quoted=True)
        if end:
            self.scan.broken = True

    def _history(self, pieces: list[WordPart]) -> None:
        text, at = self.text, self.pos
        while text.startswith("!!", self.pos):
            self.pos += 1
        following = text[at + 1 : at + 2]
        if following and following not in _AFTER_HISTORY and not (at and text[at - 1] == "["):
            shown = text[at : at + 12].split()[0]
            self.scan.findings.append(dangerous("C2.6", f"history expansion {shown} runs an earlier command"))
        pieces.append(WordPart(LIT, "!", False))
        self.pos += 1

    def _extglob(self, pieces: list[WordPart]) -> None:
        begin = self.pos
        self._group(pieces)
        inside, behind = self.text[begin + 1 : self.pos - 1], self.text[self.pos : self.pos + 1]
        if behind in ("", *" \t\n;&|)<>"):
            if _QUALIFIER_RUNS.search(inside) and "|" not in inside.partition(":")[0]:
                self.scan.findings.append(dangerous("C2.4", "zsh runs code in a pattern's qualifiers"))
            elif _QUALIFIERS.fullmatch(inside):
                self.scan.findings.append(unknown("C5.4", "zsh takes the parentheses for conditions on files"))

    def _group(self, pieces: list[WordPart]) -> None:
        self.pos += 1
        pieces.append(WordPart(LIT, "(", False))
        level = 1
        while level and self.pos < len(self.text):
            sign = self.text[self.pos]
            if sign in "'\"\\$`":
                self.piece(pieces, sign)
                continue
            level += (sign == "(") - (sign == ")")
            pieces.append(WordPart(LIT, sign, False))
            self.pos += 1
        if level:
            self.scan.broken = True

    def _array(self) -> list[str | Word]:
        if self.depth >= DEPTH_LIMIT:
            raise TooDeep
        self.depth += 1
        elements: list[str | Word] = []
        self.pos += 1
        while self.pos < len(self.text):
            sign = self.text[self.pos]
            if sign in " \t\n":
                self.pos += 1
            elif sign == ")":
                self.pos += 1
                self.depth -= 1
                return elements
            elif sign == "#":
                end = self.text.find("\n", self.pos)
                self.pos = len(self.text) if end < 0 else end
            else:
                elements.append(self.word())
        self.depth -= 1
        self.scan.broken = True
        return elements

    def _dollar(self, pieces: list[WordPart], quoted: bool) -> None:
        text, at = self.text, self.pos
        following = text[at + 1 : at + 2]
        if following == "(":
            if text.startswith("((", at + 1) and self.closes(at + 1) is not None:
                self.pos = at + 3
                inside = self.arith(")")
                self.pos += 1
                pieces.append(WordPart(ARITH, "", quoted, Word(inside)))
            else:
                self.pos = at + 2
                pieces.append(WordPart(SUB, "", quoted, self.nested()))
        elif following == "{":
            self.pos = at + 2
            pieces.append(WordPart(PARAM, "", quoted, self.param()))
        elif following == "[":
            self.pos = at + 2
            inside = self.arith("]")
            pieces.append(WordPart(ARITH, "", quoted, Word(inside)))
        elif following == "'" and not quoted:
            value, self.pos, closed = ansi_c(text, at + 2)
            self.scan.broken |= not closed
            pieces.append(WordPart(LIT, value, True))
        elif following == '"' and not quoted:
            self.pos = at + 1
        elif found := _PARAMETER.match(text, at + 1) or _ZSH_PARAMETER.match(text, at + 1):
            self.pos = found.end()
            pieces.append(WordPart(VAR, found.group().lstrip("~=^+"), quoted))
        else:
            self.pos = at + 1
            pieces.append(WordPart(LIT, "$", True))

    def param(self) -> Param:
        """Read the inside of `${…}`."""
        if self.depth >= DEPTH_LIMIT:
            raise TooDeep
        self.depth += 1
        text = self.text
        head = _PARAM_HEAD.match(text, self.pos)
        # `${#}` and `${!}` are parameters of their own.
        lead, name = head.groups() if head else ("", "")
        self.pos = head.end() if head else self.pos
        index = ""
        if found := _INDEX.match(text, self.pos):
            index, self.pos = found.group(1), found.end()
        pieces: list[WordPart] = []
        while self.pos < len(text) and text[self.pos] != "}":
            found = _PARAM_RUN.match(text, self.pos)
            if found:
                pieces.append(WordPart(LIT, found.group(), False))
                self.pos = found.end()
            else:
                self.piece(pieces, text[self.pos])
        if self.pos >= len(text) or not name:
            self.scan.broken = True
        self.pos += 1
        self.depth -= 1
        op = ""
        if pieces and pieces[0].kind == LIT and not pieces[0].quoted:
            sign = re.match(r":?[-=+?]|[#%/^,:@\[]+", pieces[0].text)
            op = sign.group() if sign else "?"
            pieces[0] = WordPart(LIT, pieces[0].text[len(op) :], False)
        elif pieces:
            op = "?"
        if op.startswith("[") and any("$(" in piece.text or "`" in piece.text for piece in pieces if piece.quoted):
            self.scan.findings.append(dangerous("C2.5", "a quoted command hidden in a subscript"))
        if op.startswith("@") and pieces[0].text.startswith("P"):
            self.scan.findings.append(dangerous("C2.5", "${…@P} runs commands that are hidden in a value"))
        return Param(name, lead, index, op, pieces)

    def arith(self, end: str) -> list[WordPart]:
        """Read an arithmetic expression up to its closing sign; substitutions in it count."""
        if self.depth >= DEPTH_LIMIT:
            raise TooDeep
        self.depth += 1
        text, pieces, level = self.text, list[WordPart](), 0
        opening = "(" if end == ")" else "["
        while self.pos < len(text):
            found = _ARITH_RUN.match(text, self.pos)
            if found:
                # `((rm -rf x))` is no arithmetic, and other shells take it for a command.
                self.scan.broken |= _NO_ARITHMETIC.search(found.group()) is not None
                pieces.append(WordPart(LIT, found.group(), False))
                self.pos = found.end()
                continue
            sign = text[self.pos]
            if sign in "'\"\\$`":
                before = self.pos
                self.piece(pieces, sign)
                if sign == "'" and ("$(" in text[before : self.pos] or "`" in text[before : self.pos]):
                    self.scan.findings.append(dangerous("C2.5", "a quoted command hidden in an arithmetic expression"))
                continue
            self.pos += 1
            if sign == opening:
                level += 1
                self.scan.too_deep |= level > DEPTH_LIMIT
            elif sign == end:
                if not level:
                    self.depth -= 1
                    return pieces
                level -= 1
            pieces.append(WordPart(LIT, sign, False))
        self.depth -= 1
        self.scan.broken = True
        return pieces

    def closes(self, start: int) -> int | None:
        """Find the `))` that ends the `((` at `start`, or nothing if it opens two subshells."""
        if self.lookahead < 0:
            return None
        level, before = 0, start
        for found in _LOOK.finditer(self.text, start):
            self.lookahead -= found.end() - before
            if self.lookahead < 0:
                return None
            before = found.end()
            sign = found.group()
            if sign == "(":
                level += 1
                if level > 2 * DEPTH_LIMIT:
                    return None
            elif sign == ")":
                level -= 1
                if level == 1:
                    return found.end() if self.text.startswith("))", found.start()) else None
        self.lookahead -= len(self.text) - before
        return None


def _has_class(plain: str) -> bool:
    """Return True if a word has `[x]` in it: a pattern, unless it is a subscript."""
    start = plain.find("[")
    return start >= 0 and plain.rfind("]") > start + 1
