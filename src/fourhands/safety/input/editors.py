"""Keys for editors: what may start programs, and the commands behind a colon of vi and its kin."""

import re
from collections.abc import Iterator

from fourhands.safety.shell.classifier import LineClassifier
from fourhands.safety.shell.file_rules import written
from fourhands.safety.shell.levels import DANGEROUS, Finding, dangerous, unknown, worst
from fourhands.safety.shell.options import words
from fourhands.safety.shell.parser.expansion import shown

_RULE = "C6.5"
# Keys by which other editors start programs, run code or stop.
_KEYS = {
    "nano": {
        "\x14": "runs a command (Ctrl-T)",
        "\x1b|": "pipes into a command (Alt-|)",
        "\x1bX": "changes how it works",
        "\x12\x18": "inserts the output of a command (Ctrl-R Ctrl-X)",
        "\x1a": "stops, so that the shell reads on (Ctrl-Z)",
    },
    "emacs": {
        "\x1b!": "runs a command (M-!)",
        "\x1b|": "pipes into a command (M-|)",
        "\x1b&": "runs a command (M-&)",
        "\x1bx": "runs a command of its own by name (M-x)",
        "\x1b:": "evaluates code (M-:)",
        "\x18\x05": "evaluates code (C-x C-e)",
        "\x18e": "runs a macro (C-x e)",
        "\x1a": "stops, so that the shell reads on (Ctrl-Z)",
    },
    "other": {
        "\x02": "runs a command (Ctrl-B)",
        "\x05": "runs a command of its own by name (Ctrl-E)",
        "\x0b!": "runs a command (Ctrl-K !)",
        "\x1b!": "runs a command (Esc !)",
        "\x1bx": "runs a command of its own by name (Esc x)",
        ":sh": "runs a command",
        ":pipe": "pipes into a command",
        ":!": "runs a command",
        "!": "may run a command",
        "|": "may pipe into a command",
        "\x1a": "stops, so that the shell reads on (Ctrl-Z)",
    },
}
_INSERTS = re.compile(r"\d*(?:[iaoIAOsSRC]|c(?:[wWeEbB$0^Gc]|[ia][\w\"'`(){}\[\]<>])|gi)")
_RANGE = re.compile(
    r"\s*(?:(?:\d+|[.$%*]|'[\w<>]|/(?:[^/\n\\]|\\.)*/|\?(?:[^?\n\\]|\\.)*\?|\\[/?&])?(?:[+-]\d*)*[,;]?)*\s*"
)
_NAME = re.compile(r"([a-zA-Z]+|[&<>=#~@*]*)(!?)\s*(.*)", re.DOTALL)
# Commands of vi behind a colon that edit, move, show or leave.
_EX = words(
    "w wr wri writ write wq x xit exi exit wa wall wqa wqall xa xall q qu qui quit qa qall quita quitall cq "
    "cquit up update s su sub substitute & && ~ d del delete y ya yank m mo move t co copy j join > >> < << p "
    "pr print P Print nu number # l list = k ma mark marks u un undo red redo noh nohl nohlsearch e ed edit vi "
    "visual vie view r re read sp split vs vsplit new vne vnew on only clo close hid hide b bu buf buffer bn "
    "bnext bp bprev bprevious bd bdelete ls buffers files tabe tabedit tabnew tabn tabnext tabp tabprevious "
    "tabc tabclose n ne next N prev previous first rew rewind last ar args f fi file pw pwd h he help ve "
    "version reg registers di display ju jumps changes se set setl setlocal sy syn syntax retab ret sor sort "
    "fo fold foldo foldc g global v vglobal cd lcd sav saveas pu put z ce center le left ri right wn wnext"
)
_OPTIONS = re.compile(
    r"(?:(?:no|inv)?(?:nu|number|rnu|relativenumber|hls|hlsearch|is|incsearch|ic|ignorecase|scs|smartcase|paste|et|expandtab|"
    r"wrap|list|ai|autoindent|si|smartindent|cuc|cul|cursorline|spell|ro|readonly|ma|modifiable|ruler|ru|sw|shiftwidth|ts|"
    r"tabstop|sts|softtabstop|tw|textwidth|ff|fileformat|ft|filetype|fenc|fileencoding|bg|background|so|scrolloff|mouse|all)"
    r"(?:[!?&]|[=:][\w-]*)?\s*)*"
)
_WRITES = words(
    "w wr wri writ write wq x sav saveas up update r re read e ed edit vie view sp split vs vsplit tabe "
    "tabedit tabnew new vne vnew"
)
_THEN = words("g global v vglobal")


def editor(keys: str, language: str, classifier: LineClassifier) -> Finding:
    """Classify keys for an editor."""
    plain = keys.replace("\r", "\n")
    if language == "vim":
        return worst(unknown(_RULE, "keys for an editor"), *_vim(plain, classifier))
    if language == "ed":
        return worst(unknown(_RULE, "commands for an editor"), *(_line_editor(one) for one in plain.split("\n")))
    for sign, reason in _KEYS[language].items():
        if sign in plain:
            return dangerous(_RULE, f"a key by which the editor {reason}")
    return unknown(_RULE, "keys for an editor")


def _line_editor(line: str) -> Finding:
    found = re.match(r"[\d,.$%;'+/?\w-]*?\s*(?:[erw]\s*)?!|.*\|", line)
    return dangerous(_RULE, f"the editor runs a command: {shown(line)[:40]}") if found else unknown(_RULE, "a command")


def _vim(keys: str, classifier: LineClassifier) -> Iterator[Finding]:
    """Yield the findings of keys for vi; before the first Esc, in which mode it is is not known."""
    if "\x1a" in keys:
        yield dangerous(_RULE, "stops the editor, so that the shell reads on (Ctrl-Z)")
    for number, piece in enumerate(keys.split("\x1b")):
        inserts = _INSERTS.match(piece)
        if inserts is not None:
            yield from _inserted(piece[inserts.end() :])
        else:
            yield from _normal(piece, classifier, sure=number > 0)


def _inserted(text: str) -> Iterator[Finding]:
    """Classify text that is inserted: only keys that leave the mode or evaluate matter."""
    if re.search(r"[\x0f\x12\x18\x16]", text):
        yield dangerous(_RULE, "a control key in an editor's text, which may run its commands")


def _normal(piece: str, classifier: LineClassifier, *, sure: bool) -> Iterator[Finding]:
    """Classify keys that may be commands; `sure`: they are, since Esc stands before them."""
    first, *behind = re.split(r":([^\n]*)\n?", piece)
    yield from _chunk(first, sure=True)
    for command, chunk in zip(behind[::2], behind[1::2], strict=True):
        yield from _ex(command, classifier)
        yield from _chunk(chunk, sure=sure)


def _chunk(keys: str, *, sure: bool) -> Iterator[Finding]:
    """Classify keys that are commands by themselves, if they are no text."""
    if "\x12=" in keys:
        yield dangerous(_RULE, "the editor evaluates an expression")
    if "!" in keys and (sure or keys.startswith("!")):
        yield dangerous(_RULE, f"filters text through a program: {shown(keys[keys.index('!') :])[:40]}")
    if re.search(r"(?:\A|[^\"'`\w])@[\w:\"@+*]", keys):
        yield dangerous(_RULE, "runs a recorded macro, which nobody sees here")
    if sure and re.search(r"g[xQ]|Q\Z|\AK\Z", keys):
        yield dangerous(_RULE, f"a key that may start a program: {shown(keys)[:24]}")


def _ex(line: str, classifier: LineClassifier) -> Iterator[Finding]:
    """Classify what stands behind a colon."""
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f]", line):
        yield dangerous(_RULE, "a control key in an editor's command, which may evaluate code")
        return
    rest = line.lstrip(": \t")
    range_ = _RANGE.match(rest)
    rest = rest[range_.end() :] if range_ is not None else rest
    found = _NAME.match(rest)
    assert found is not None  # it matches anything
    name, force, operand = found.groups()
    if not name and force:
        yield dangerous(_RULE, f"the editor runs a command: {shown(operand)[:40]}")
        return
    if not name:
        return
    if name not in _EX and _SUBSTITUTES.match(rest) is None:
        yield dangerous(_RULE, f"the editor runs a command that may start programs: {shown(rest)[:40]}")
        return
    if operand.startswith("!") or (name in ("r", "re", "read") and force):
        yield dangerous(_RULE, f"the editor runs a command: {shown(operand.lstrip('! '))[:40]}")
    elif _SUBSTITUTES.match(rest):
        if re.search(r"\\=", rest):
            yield dangerous(_RULE, "the editor evaluates an expression")
        yield from _chained(rest[1:], classifier)
    elif name in _THEN:
        sign = operand[:1]
        parts = re.split(rf"(?<!\\){re.escape(sign)}", operand[1:], maxsplit=1) if sign else [operand]
        yield from _ex(parts[1] if len(parts) > 1 else "", classifier)
    elif name in ("se", "set", "setl", "setlocal"):
        if not _OPTIONS.fullmatch(operand):
            yield dangerous(_RULE, f"changes how the editor works: {shown(operand)[:40]}")
    elif name in ("pu", "put") and "=" in operand:
        yield dangerous(_RULE, "the editor evaluates an expression")
    elif name in _WRITES:
        yield from _file(name, operand, classifier)
    else:
        yield from _chained(operand, classifier)


_SUBSTITUTES = re.compile(r"(?:s|su|sub|substitute|&&?|~)(?=[^\w\s\"|]|\Z|\s)")


def _chained(text: str, classifier: LineClassifier) -> Iterator[Finding]:
    """Classify the commands behind bars."""
    for part in re.split(r"(?<!\\)\|", text)[1:]:
        yield from _ex(part, classifier)


def _file(name: str, operand: str, classifier: LineClassifier) -> Iterator[Finding]:
    """Classify a file that is written or opened."""
    path, *_ = re.split(r"(?<!\\)\|", operand)
    path = re.sub(r"\A(?:\+\S*\s+|\+\+\S+\s+|>>\s*)*", "", path).strip()
    if re.search(r"[`$]|\A\+", operand) or "://" in path:
        yield dangerous(_RULE, f"opens what only the editor can tell: {shown(operand)[:40]}")
    elif path:
        if classifier.secret([path]):
            yield dangerous("C5.4", f"opens the secret file {shown(path)}")
        if name[0] in "wsux" and (found := written(path)).rank == DANGEROUS:
            yield found
    yield from _chained(operand, classifier)
