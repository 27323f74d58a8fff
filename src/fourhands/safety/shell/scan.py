"""Cut shell text into tokens the way bash does: quotes, expansions, here-documents, continuations.

The grammar (grammar.py) sees only the skeleton that is left. Scripts inside substitutions are scanned here too and
collected in `Scan.inner`, so nothing that bash would run is left inside a word. What cannot be scanned sets
`Scan.broken`; the caller never calls such text safe.
"""

import re

from fourhands.safety.characters import blanks
from fourhands.safety.shell.levels import dangerous
from fourhands.safety.shell.quoting import ansi_c, backquoted
from fourhands.safety.shell.tokens import (
    ARITH,
    ARITHMETIC,
    LIT,
    OPERATOR,
    PARAM,
    PLAIN,
    PROC,
    REDIRECT,
    RESERVED,
    SUB,
    VAR,
    WORD,
    Param,
    Piece,
    Redirect,
    Scan,
    Script,
    Token,
    Word,
)

DEPTH_LIMIT = 64
# Looking ahead for the end of `((` may fail again and again; this bounds the sum of all attempts.
_LOOKAHEAD = 100_000

_TOKEN = re.compile(
    r"(?P<blank>[ \t]+)"
    r"|(?P<plain>[\w./:=,@%+~^-]+)(?=[ \t\n;&|)]|\Z)"
    r"|(?P<comment>\#[^\n]*)"
    r"|(?P<process>[<>]\()"
    r"|(?P<redirect>(?:\d+|\{\w+\})?(?:<<<|<<-|<<|<&|<>|>>|>&|>\||<|>)|&>>|&>)"
    r"|(?P<operator>;;&|;;|;&|\|\||\|&|&&|[;&|()\n])",
    re.ASCII,
)
_PLAIN = re.compile(r"[\w./:=,@%+~^\[\]-]+", re.ASCII)
_RUN = re.compile(r"[^ \t\n;&|()<>'\"\\$`!]+")
_DOUBLE = re.compile(r'[^"\\$`]+')
_PARAMETER = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]", re.ASCII)
_PARAM_HEAD = re.compile(r"([!#]?)([A-Za-z_]\w*|\d+|[@*#?$!-])", re.ASCII)
_PARAM_RUN = re.compile(r"[^}'\"\\$`]+")
_ARITH_RUN = re.compile(r"[^()\[\]'\"\\$`]+")
_NO_ARITHMETIC = re.compile(r"\w\s+[\w.~]|\.")
_INDEX = re.compile(r"\[([^\]$`'\"\\\[]*)\]")
_LOOK = re.compile(r"[()]|\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_ARRAY = re.compile(r"[A-Za-z_]\w*(\[[^\]]*\])?\+?=\Z", re.ASCII)
_OPENERS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "{", "!", "time", "coproc"})
_CLOSERS = frozenset({"fi", "done", "esac", "}"})
_RESERVED = _OPENERS | _CLOSERS | {"for", "select", "case", "function"}
_GROUP = re.compile(r"[ \t]+[{(]")
# A whole command of plain words up to its end: one match instead of one per word. The look ahead comes first, or
# `if if if …` would be read to its end from every word.
_SIGNS = r"[\w./:=,@%+~^-]"
_STARTERS = "|".join(sorted(word for word in _RESERVED if word.isalpha()))
_COMMAND = re.compile(
    rf"(?!(?:{_STARTERS}|-p)(?!{_SIGNS}))[\w./:,@%+~^-]++(?:[ \t]++{_SIGNS}++)*+(?=[ \t]*+(?:[;\n|]|&&|\Z))", re.ASCII
)
_AFTER_HISTORY = " \t\n=("


class TooDeep(Exception):
    """Substitutions are nested deeper than anybody writes."""


def scan(text: str, depth: int = 0) -> Scan:
    """Scan `text`; line continuations count as nothing, where bash says so."""
    scanner = _Scanner(text, depth)
    result = scanner.whole()
    if scanner.continuations and not result.too_deep:
        cuts = [0, *(cut + 2 for cut in scanner.continuations)]
        ends = [*scanner.continuations, len(text)]
        text = "".join(text[start:end] for start, end in zip(cuts, ends, strict=True))
        result = _Scanner(text, depth).whole()
    return result


class _Scanner:
    def __init__(self, text: str, depth: int, outer: "_Scanner | None" = None) -> None:
        self.text, self.depth, self.pos = text, depth, 0
        self.scan: Scan = outer.scan if outer else Scan(Script(text))
        self.continuations: list[int] = []
        self.pending: list[tuple[Redirect, str, bool, bool]] = []
        self.lookahead: int = outer.lookahead if outer else _LOOKAHEAD

    def whole(self) -> Scan:
        try:
            self.tokens(self.scan.script, "")
        except TooDeep:
            self.scan.too_deep = True
        return self.scan

    # Scripts -------------------------------------------------------------------------------------------------

    def tokens(self, script: Script, closer: str) -> None:
        """Read tokens up to `closer` (`)` or the end of the text)."""
        text, out, match = self.text, script.tokens, _TOKEN.match
        nest: list[str] = []  # "(" for a subshell; "subject", "pattern", "body" for a case
        fresh, loop = True, 0  # fresh: a command may start here; loop: words seen since `for`
        while self.pos < len(text):
            start = self.pos
            if fresh and not loop and (not nest or nest[-1] in ("(", "body")):
                whole = _COMMAND.match(text, start)
                if whole:
                    self.pos = whole.end()
                    out.append(Token(PLAIN, whole[0], start, self.pos))
                    fresh = False
                    continue
            found = match(text, start)
            kind = found.lastgroup if found else "word"
            if found and kind in ("blank", "comment"):
                self.pos = found.end()
                continue
            if found and kind == "plain":
                word = found.group()
                self.pos = found.end()
                if loop:
                    reserved = (loop == 2 and word == "in") or (loop >= 2 and word == "do")
                    loop = 0 if reserved else loop + 1
                elif nest and nest[-1] == "subject" and word == "in":
                    reserved = True
                    nest[-1] = "pattern"
                elif nest and nest[-1] == "pattern":
                    reserved = word == "esac" and fresh
                    if reserved:
                        nest.pop()
                else:
                    reserved = fresh and word in _RESERVED
                    if reserved:
                        loop = word in ("for", "select")
                        if word == "case":
                            nest.append("subject")
                        elif word == "esac" and nest and nest[-1] == "body":
                            nest.pop()
                out.append(Token(RESERVED if reserved else WORD, word, start, self.pos))
                fresh = (reserved and word in _OPENERS) or self.still_fresh(out)
                continue
            if found and kind == "operator":
                sign = found.group()
                if sign == ")":
                    if nest and nest[-1] == "pattern":
                        nest[-1] = "body"
                    elif nest and nest[-1] == "(":
                        nest.pop()
                    elif closer:
                        return
                elif sign == "(":
                    if (fresh or _is(out, "for")) and text.startswith("((", start) and self.arithmetic(out, start):
                        fresh, loop = False, 0
                        continue
                    if not (nest and nest[-1] == "pattern"):
                        nest.append("(")
                elif sign[0] == ";" and len(sign) > 1 and nest and nest[-1] == "body":
                    nest[-1] = "pattern"
                self.pos = found.end()
                out.append(Token(OPERATOR, sign, start, self.pos))
                fresh, loop = True, 0
                if sign == "\n" and self.pending:
                    self.bodies()
                continue
            if found and kind == "redirect":
                self.redirect(found.group(), out, start)
                # A redirection in front leaves the command's name still to come.
                continue
            if fresh and text.startswith("[[", start) and text[start + 2 : start + 3] in (" ", "\t", "\n"):
                self.test(out)
                fresh = False
                continue
            if text.startswith(("{", "}", "!"), start) and fresh and text[start + 1 : start + 2] in " \t\n;&|)":
                sign = text[start]
                if sign == "}" or text[start + 1 : start + 2] in (" ", "\t", "\n") or sign == "!":
                    self.pos += 1
                    out.append(Token(RESERVED, sign, start, self.pos))
                    fresh = sign != "}"
                    continue
            out.append(Token(WORD, self.word(), start, self.pos))
            loop += bool(loop)
            fresh = False
        if closer:
            self.scan.broken = True
        if self.pending:
            # The shell would wait for the body.
            self.pending.clear()
            self.scan.broken = True

    def still_fresh(self, out: list[Token]) -> bool:
        """Tell whether a command may start behind the word just read: `time -p`, `function f`, `coproc NAME {`."""
        before = out[-2].value if len(out) > 1 and out[-2].kind == RESERVED else None
        if before == "coproc":
            return _GROUP.match(self.text, self.pos) is not None
        return before == "function" or (before == "time" and out[-1].value == "-p")

    def test(self, out: list[Token]) -> None:
        """Read `[[ … ]]` as one command, whatever operators it has."""
        text = self.text
        out.append(Token(WORD, "[[", self.pos, self.pos + 2))
        self.pos += 2
        while self.pos < len(text):
            start = self.pos
            if text[start] in " \t\n":
                self.pos += 1
            elif text[start] in ";&|()<>" and not text.startswith(("<(", ">("), start):
                self.pos += 1
                out.append(Token(WORD, text[start], start, self.pos))
            else:
                word = self.word()
                out.append(Token(WORD, word, start, self.pos))
                if text[start : self.pos] == "]]":
                    return
        self.scan.broken = True

    def arithmetic(self, out: list[Token], start: int) -> bool:
        end = self.closes(start)
        if end is None:
            return False
        self.pos = start + 2
        pieces = self.arith(")")
        self.pos = min(self.pos + 1, len(self.text))
        out.append(Token(ARITHMETIC, Word(pieces), start, self.pos))
        return True

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
            elif sign == ")":
                level -= 1
                if level == 1:
                    return found.end() if self.text.startswith("))", found.start()) else None
        self.lookahead -= len(self.text) - before
        return None

    # Words ---------------------------------------------------------------------------------------------------

    def word(self) -> str | Word:
        """Read one word that is not plain; it may turn out to be."""
        text, pieces = self.text, list[Piece]()
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
                pieces.append(Piece(LIT, run, False))
                self.pos = found.end()
                continue
            sign = text[self.pos]
            if sign in " \t\n;&|)":
                break
            if sign == "(":
                if self.pos > begin and text[self.pos - 1] in "?*+@!" and pieces:
                    self.extglob(pieces)
                elif len(pieces) == 1 and pieces[0].kind == LIT and _ARRAY.match(pieces[0].text) and elements is None:
                    elements = self.array()
                else:
                    break
            elif sign in "<>":
                if not text.startswith("(", self.pos + 1):
                    break
                self.pos += 2
                pieces.append(Piece(PROC, sign, False, self.nested()))
            elif sign == "!":
                self.history(pieces)
            else:
                self.piece(pieces, sign)
        if self.pos == begin:  # a lone `)` or `<` where no word can be
            self.pos += 1
            self.scan.broken = True
            return text[begin : self.pos]
        if len(pieces) == 1 and elements is None and pieces[0].kind == LIT and _PLAIN.fullmatch(text, begin, self.pos):
            return pieces[0].text
        return Word(pieces, elements)

    def piece(self, pieces: list[Piece], sign: str, quoted: bool = False) -> None:
        """Read what a quote, backslash, dollar or backquote starts."""
        text = self.text
        if sign == "'":
            end = text.find("'", self.pos + 1)
            if end < 0:
                self.scan.broken = True
                end = len(text)
            pieces.append(Piece(LIT, text[self.pos + 1 : end], True))
            self.pos = end + 1
        elif sign == '"':
            self.pos += 1
            pieces.append(Piece(LIT, "", True))
            self.double(pieces)
        elif sign == "\\":
            following = text[self.pos + 1 : self.pos + 2]
            if following == "\n":
                self.continuations.append(self.pos)
            else:
                pieces.append(Piece(LIT, following or "\\", True))
            self.pos += 2
        elif sign == "`":
            self.backquote(pieces, quoted)
        else:
            self.dollar(pieces, quoted)

    def double(self, pieces: list[Piece], end: str = '"') -> None:
        """Read the inside of double quotes, or with no `end` the body of a here-document."""
        text = self.text
        while self.pos < len(text):
            found = _DOUBLE.match(text, self.pos)
            if found:
                pieces.append(Piece(LIT, found.group(), True))
                self.pos = found.end()
                continue
            sign = text[self.pos]
            if sign == '"':
                self.pos += 1
                if end:
                    return
                pieces.append(Piece(LIT, '"', True))
            elif sign == "\\":
                following = text[self.pos + 1 : self.pos + 2]
                if following == "\n":
                    self.continuations.append(self.pos)
                else:
                    kept = following if following and following in '$`"\\' else "\\" + following
                    pieces.append(Piece(LIT, kept, True))
                self.pos += 2
            else:
                self.piece(pieces, sign, quoted=True)
        if end:
            self.scan.broken = True

    def history(self, pieces: list[Piece]) -> None:
        text, at = self.text, self.pos
        while text.startswith("!!", self.pos):
            self.pos += 1
        following = text[at + 1 : at + 2]
        if following and following not in _AFTER_HISTORY and not (at and text[at - 1] == "["):
            shown = text[at : at + 12].split()[0]
            self.scan.findings.append(dangerous("C2.6", f"history expansion {shown}: runs what nobody sees here"))
        pieces.append(Piece(LIT, "!", False))
        self.pos += 1

    def extglob(self, pieces: list[Piece]) -> None:
        self.pos += 1
        pieces.append(Piece(LIT, "(", False))
        level = 1
        while level and self.pos < len(self.text):
            sign = self.text[self.pos]
            if sign in "'\"\\$`":
                self.piece(pieces, sign)
                continue
            level += (sign == "(") - (sign == ")")
            pieces.append(Piece(LIT, sign, False))
            self.pos += 1
        if level:
            self.scan.broken = True

    def array(self) -> list[str | Word]:
        elements: list[str | Word] = []
        self.pos += 1
        while self.pos < len(self.text):
            sign = self.text[self.pos]
            if sign in " \t\n":
                self.pos += 1
            elif sign == ")":
                self.pos += 1
                return elements
            elif sign == "#":
                end = self.text.find("\n", self.pos)
                self.pos = len(self.text) if end < 0 else end
            else:
                elements.append(self.word())
        self.scan.broken = True
        return elements

    # Expansions ----------------------------------------------------------------------------------------------

    def dollar(self, pieces: list[Piece], quoted: bool) -> None:
        text, at = self.text, self.pos
        following = text[at + 1 : at + 2]
        if following == "(":
            if text.startswith("((", at + 1) and self.closes(at + 1) is not None:
                self.pos = at + 3
                self.arith(")")
                self.pos += 1
                pieces.append(Piece(ARITH, "", quoted))
            else:
                self.pos = at + 2
                pieces.append(Piece(SUB, "", quoted, self.nested()))
        elif following == "{":
            self.pos = at + 2
            pieces.append(Piece(PARAM, "", quoted, self.param()))
        elif following == "[":
            self.pos = at + 2
            self.arith("]")
            pieces.append(Piece(ARITH, "", quoted))
        elif following == "'" and not quoted:
            value, self.pos, closed = ansi_c(text, at + 2)
            self.scan.broken |= not closed
            pieces.append(Piece(LIT, value, True))
        elif following == '"' and not quoted:
            self.pos = at + 1
        elif found := _PARAMETER.match(text, at + 1):
            self.pos = found.end()
            pieces.append(Piece(VAR, found.group(), quoted))
        else:
            self.pos = at + 1
            pieces.append(Piece(LIT, "$", True))

    def nested(self) -> Script:
        """Read the script behind `$(` or `<(`."""
        if self.depth >= DEPTH_LIMIT:
            raise TooDeep
        self.depth += 1
        script = Script(self.text)
        self.scan.inner.append(script)
        pending, self.pending = self.pending, []
        self.tokens(script, ")")
        self.pending = pending
        self.pos += 1
        self.depth -= 1
        return script

    def backquote(self, pieces: list[Piece], quoted: bool) -> None:
        if self.depth >= DEPTH_LIMIT:
            raise TooDeep
        body, self.pos, closed = backquoted(self.text, self.pos + 1, quoted)
        self.scan.broken |= not closed
        inner = _Scanner(body, self.depth + 1, self)
        script = Script(body)
        self.scan.inner.append(script)
        inner.tokens(script, "")
        pieces.append(Piece(SUB, "", quoted, script))

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
        pieces: list[Piece] = []
        while self.pos < len(text) and text[self.pos] != "}":
            found = _PARAM_RUN.match(text, self.pos)
            if found:
                pieces.append(Piece(LIT, found.group(), False))
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
            pieces[0] = Piece(LIT, pieces[0].text[len(op) :], False)
        elif pieces:
            op = "?"
        if op.startswith("@") and pieces[0].text.startswith("P"):
            self.scan.findings.append(dangerous("C2.5", "${…@P} runs commands that are hidden in a value"))
        return Param(name, lead, index, op, pieces)

    def arith(self, end: str) -> list[Piece]:
        """Read an arithmetic expression up to its closing sign; substitutions in it count."""
        if self.depth >= DEPTH_LIMIT:
            raise TooDeep
        self.depth += 1
        text, pieces, level = self.text, list[Piece](), 0
        opening = "(" if end == ")" else "["
        while self.pos < len(text):
            found = _ARITH_RUN.match(text, self.pos)
            if found:
                # `((rm -rf x))` is no arithmetic, and other shells take it for a command.
                self.scan.broken |= _NO_ARITHMETIC.search(found.group()) is not None
                pieces.append(Piece(LIT, found.group(), False))
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
            pieces.append(Piece(LIT, sign, False))
        self.depth -= 1
        self.scan.broken = True
        return pieces

    # Redirections --------------------------------------------------------------------------------------------

    def redirect(self, sign: str, out: list[Token], start: int) -> None:
        self.pos = start + len(sign)
        fd = "" if sign.startswith("&") else sign.rstrip("<>&|-")
        op = sign[len(fd) :]
        while self.text[self.pos : self.pos + 1] in (" ", "\t"):
            self.pos += 1
        begin = self.pos
        if begin >= len(self.text) or self.text[begin] in "\n;&|()":
            self.scan.broken = True
            target: str | Word = ""
        elif (plain := _TOKEN.match(self.text, begin)) and plain.lastgroup == "plain":
            target = plain.group()
            self.pos = plain.end()
        elif (plain and plain.lastgroup != "process") and self.text[begin] in "<>":
            self.scan.broken = True
            target = ""
            while self.text[self.pos : self.pos + 1] in ("<", ">"):
                self.pos += 1
        else:
            target = self.word()
        redirect = Redirect(op, fd, target)
        if op in ("<<", "<<-"):
            raw = self.text[begin : self.pos]
            pieces = target.pieces if isinstance(target, Word) else [Piece(LIT, target, False)]
            delimiter = "".join(piece.text if piece.kind == LIT else "$" + piece.text for piece in pieces)
            quoted = any(sign in raw for sign in "'\"\\")
            redirect.body = []
            self.pending.append((redirect, delimiter, quoted, op == "<<-"))
        elif op == "<<<":
            redirect.body = target.pieces if isinstance(target, Word) else [Piece(LIT, target, True)]
        out.append(Token(REDIRECT, redirect, start, self.pos))

    def bodies(self) -> None:
        """Read the here-documents that start behind this line end."""
        pending, self.pending = self.pending, []
        for redirect, delimiter, quoted, tabs in pending:
            lines: list[str] = []
            while True:
                if self.pos >= len(self.text):
                    self.scan.broken = True
                    break
                end = self.text.find("\n", self.pos)
                end = len(self.text) if end < 0 else end
                line = self.text[self.pos : end]
                begin, self.pos = self.pos, end + 1
                if tabs:
                    line = line.lstrip("\t")
                if line == delimiter:
                    break
                if not quoted and line.endswith("\\") and (len(line) - len(line.rstrip("\\"))) % 2:
                    self.continuations.append(begin + (end - begin) - 1)
                lines.append(line)
            self.pos = min(self.pos, len(self.text))
            body = "\n".join(lines) + "\n" if lines else ""
            if quoted:
                redirect.body = [Piece(LIT, body, True)]
                continue
            if self.depth >= DEPTH_LIMIT:
                raise TooDeep
            inner = _Scanner(body, self.depth + 1, self)
            redirect.body = []
            inner.double(redirect.body, end="")
        # The next command starts right behind; the line end was already a token.


def _is(out: list[Token], word: str) -> bool:
    return bool(out) and out[-1].kind == RESERVED and out[-1].value == word
