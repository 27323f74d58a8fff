"""The scanner of shell text: tokens as bash reads them, with here-documents and continuations.

The grammar (structure.py) sees only the skeleton that is left. Scripts inside substitutions are scanned here too and
collected in `Scan.inner`, so nothing that bash would run is left inside a word. What cannot be scanned sets
`Scan.broken`; the caller never calls such text safe.
"""

import re

from fourhands.safety.shell.parser.quoting import backquoted
from fourhands.safety.shell.parser.tokens import (
    ARITHMETIC,
    DEPTH_LIMIT,
    LIT,
    MOST_TOKENS,
    OPERATOR,
    PLAIN,
    REDIRECT,
    RESERVED,
    WORD,
    Redirect,
    Scan,
    Script,
    Token,
    Word,
    WordPart,
)
from fourhands.safety.shell.parser.word_scanner import ScriptTooLong, TooDeep, WordScanner

_TOKEN = re.compile(
    r"[ \t]*+(?:"
    r"(?P<plain>[\w./:=,@%+~^-]++|[\[\]])(?=[ \t\n;&|)]|\Z)"
    r"|(?P<comment>\#[^\n]*)"
    r"|(?P<process>[<>]\()"
    r"|(?P<redirect>(?:\d+|\{\w+\})?(?:<<<|<<-|<<|<&|<>|>>|>&|>\||<|>)|&>>|&>)"
    r"|(?P<operator>;;&|;;|;&|\|\||\|&|&&|[;&|()\n])"
    r"|(?P<end>\Z)"
    r"|(?P<word>))",
    re.ASCII,
)
_OPENERS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "{", "!", "time", "coproc"})
_CLOSERS = frozenset({"fi", "done", "esac", "}"})
_RESERVED = _OPENERS | _CLOSERS | {"for", "select", "case", "function"}
_DEEPER = re.compile(r"[( \t]+")
_GROUP = re.compile(r"[ \t]+[{(]")
# A whole command of plain words up to its end: one match instead of one per word. The look ahead comes first, or
# `if if if …` would be read to its end from every word.
_SIGNS = r"[\w./:=,@%+~^-]"
_STARTERS = "|".join(sorted(word for word in _RESERVED if word.isalpha()))
_WHOLE = rf"[ \t]*+((?!(?:{_STARTERS}|-p)(?!{_SIGNS}))(?:[\w./:,@%+~^-]++|\[(?=[ \t]))(?:[ \t]++(?:{_SIGNS}++|\]))*+)"
_COMMAND = re.compile(_WHOLE + r"(?=[ \t]*+(?:[;\n|)]|&&|\Z))", re.ASCII)
_ALONE = re.compile(_WHOLE + r"[ \t]*+\)", re.ASCII)


def scan(text: str, depth: int = 0, left: int = MOST_TOKENS) -> Scan:
    """Scan `text`, at most `left` words and signs of it; line continuations are removed where bash removes them."""
    scanner = _Scanner(text, depth)
    result = scanner.whole(left)
    if scanner.continuations and not result.too_deep and result.left >= 0:
        cuts = [0, *(cut + 2 for cut in scanner.continuations)]
        ends = [*scanner.continuations, len(text)]
        text = "".join(text[start:end] for start, end in zip(cuts, ends, strict=True))
        result = _Scanner(text, depth).whole(left)
    return result


class _Scanner(WordScanner):
    def __init__(self, text: str, depth: int, outer: WordScanner | None = None) -> None:
        super().__init__(text, depth, outer)
        self.pending: list[tuple[Redirect, str, bool, bool]] = []

    def whole(self, left: int) -> Scan:
        self.scan.left = left
        try:
            self.tokens(self.scan.script, "")
        except TooDeep:
            self.scan.too_deep = True
        except ScriptTooLong:
            self.scan.broken = True
        return self.scan

    def tokens(self, script: Script, closer: str) -> None:
        """Read tokens up to `closer` (`)` or the end of the text)."""
        text, out, match = self.text, script.tokens, _TOKEN.match
        nest: list[str] = []  # "(" for a subshell; "subject", "pattern", "body" for a case
        fresh, loop = True, 0  # fresh: a command may start here; loop: words seen since `for`
        while self.pos < len(text):
            self.count()
            if fresh and not loop and (not nest or nest[-1] in ("(", "body")):
                whole = _COMMAND.match(text, self.pos)
                if whole:
                    start, self.pos = whole.span(1)
                    out.append(Token(PLAIN, whole[1], start, self.pos))
                    fresh = False
                    continue
            found = match(text, self.pos)
            assert found is not None  # an empty word fits anywhere
            kind = found.lastgroup
            assert kind is not None
            start, self.pos = found.span(kind)
            if kind == "comment" or kind == "end":
                continue
            if kind == "plain":
                word = found[kind]
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
                fresh = (reserved and word in _OPENERS) or (
                    len(out) > 1 and out[-2].kind == RESERVED and self._still_fresh(out)
                )
                continue
            if kind == "operator":
                sign = found[kind]
                if sign == ")":
                    if nest and nest[-1] == "pattern":
                        nest[-1] = "body"
                    elif nest and nest[-1] == "(":
                        nest.pop()
                    elif closer:
                        return
                elif sign == "(":
                    if len(nest) > DEPTH_LIMIT and nest[-1] == "(":
                        # Too deep to be followed: the rest of the run only has to be closed again.
                        self.scan.broken = True
                        run = _DEEPER.match(text, self.pos)
                        self.pos = run.end() if run else self.pos
                        nest.extend("(" * text.count("(", start + 1, self.pos))
                    elif (fresh or _is(out, "for")) and text.startswith("((", start) and self.arithmetic(out, start):
                        fresh, loop = False, 0
                        continue
                    if not (nest and nest[-1] == "pattern"):
                        nest.append("(")
                elif sign[0] == ";" and len(sign) > 1 and nest and nest[-1] == "body":
                    nest[-1] = "pattern"
                out.append(Token(OPERATOR, sign, start, self.pos))
                fresh, loop = True, 0
                if sign == "\n" and self.pending:
                    self.bodies()
                continue
            if kind == "redirect":
                self.redirect(found[kind], out, start)
                # A redirection in front leaves the command's name still to come.
                continue
            self.pos = start
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

    def _still_fresh(self, out: list[Token]) -> bool:
        """Return True if a command may start behind the word just read: `time -p`, `function f`, `coproc NAME {`."""
        before = out[-2].value
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

    def nested(self) -> Script:
        """Read the script behind `$(` or `<(`."""
        if self.depth >= DEPTH_LIMIT:
            raise TooDeep
        self.count()
        self.depth += 1
        script = Script(self.text)
        self.scan.inner.append(script)
        if alone := _ALONE.match(self.text, self.pos):
            script.tokens.append(Token(PLAIN, alone[1], *alone.span(1)))
            self.pos = alone.end()
            self.depth -= 1
            return script
        pending, self.pending = self.pending, []
        self.tokens(script, ")")
        self.pending = pending
        self.depth -= 1
        return script

    def backquote(self, quoted: bool) -> Script:
        """Read the script between backquotes."""
        if self.depth >= DEPTH_LIMIT:
            raise TooDeep
        body, self.pos, closed = backquoted(self.text, self.pos + 1, quoted)
        self.scan.broken |= not closed
        script = Script(body)
        self.scan.inner.append(script)
        _Scanner(body, self.depth + 1, self).tokens(script, "")
        return script

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
            pieces = target.pieces if isinstance(target, Word) else [WordPart(LIT, target, False)]
            delimiter = "".join(piece.text if piece.kind == LIT else "$" + piece.text for piece in pieces)
            quoted = any(sign in raw for sign in "'\"\\")
            redirect.body = []
            self.pending.append((redirect, delimiter, quoted, op == "<<-"))
        elif op == "<<<":
            redirect.body = target.pieces if isinstance(target, Word) else [WordPart(LIT, target, True)]
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
                redirect.body = [WordPart(LIT, body, True)]
                continue
            if self.depth >= DEPTH_LIMIT:
                raise TooDeep
            inner = _Scanner(body, self.depth + 1, self)
            redirect.body = []
            inner.double(redirect.body, end="")
        # The next command starts right behind; the line end was already a token.


def _is(out: list[Token], word: str) -> bool:
    return bool(out) and out[-1].kind == RESERVED and out[-1].value == word
