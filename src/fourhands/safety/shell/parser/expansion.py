"""Expansion of words into the arguments a program would get, as far as the text alone decides them.

A resolved argument is a plain string in which private-use characters stand for what is not plain: `DYNAMIC` for text
that only the running shell knows, `NUMBER` for such text that is a number, `COMMAND` and `PROCESS` for the output of a
substitution, and one for each unquoted pattern sign. `shown` turns them back for people.
"""

import re
from collections.abc import Iterable, Mapping

from fourhands.safety.shell.parser.quoting import unescaped
from fourhands.safety.shell.parser.tokens import (
    ARITH,
    LIT,
    OPERATOR,
    PARAM,
    PLAIN,
    PROC,
    REDIRECT,
    SUB,
    VAR,
    WORD,
    Param,
    Script,
    Word,
    WordPart,
)

DYNAMIC, STAR, MARK, BRACKET = "\ue000", "\ue001", "\ue002", "\ue003"
_OPEN, _CLOSE, _COMMA, _SPLIT = "\ue004", "\ue005", "\ue006", "\ue007"
COMMAND, PROCESS, NUMBER = "\ue008", "\ue009", "\ue00a"
GLOBS = frozenset({STAR, MARK, BRACKET})

Value = str | list[str]
Variables = Mapping[str, Value | None]

_PATTERN = str.maketrans({"*": STAR, "?": MARK, "[": BRACKET, "{": _OPEN, "}": _CLOSE, ",": _COMMA})
_VALUE = str.maketrans({"*": STAR, "?": MARK, "[": BRACKET, " ": _SPLIT, "\t": _SPLIT, "\n": _SPLIT})
_SHOWN = str.maketrans(
    {
        DYNAMIC: "…",
        NUMBER: "…",
        COMMAND: "$(…)",
        PROCESS: "<(…)",
        STAR: "*",
        MARK: "?",
        BRACKET: "[",
        _OPEN: "{",
        _CLOSE: "}",
        _COMMA: ",",
    }
)
_LITERAL = str.maketrans({STAR: "*", MARK: "?", BRACKET: "[", _OPEN: "{", _CLOSE: "}", _COMMA: ","})
_BACK = str.maketrans({_OPEN: "{", _CLOSE: "}", _COMMA: ","})
_RANGE = re.compile(r"(-?\d{1,6})\.\.(-?\d{1,6})|([A-Za-z])\.\.([A-Za-z])")
_COUNTING = re.compile(r"wc -[lwcm]|nproc(?: --all)?|date \+%[sNHMSdmYju]|id -[ug]")
_TOP_LEVEL = ["git", "rev-parse", "--show-toplevel"]
_MOST_WORDS = 512
LONGEST_VALUE = 1_000
_SUBSCRIPT = re.compile(r"\w+\[(.*?)\]\+?=", re.ASCII | re.DOTALL)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^\]]*\])?(\+?)=", re.ASCII)
# Their values are known well enough to classify paths.
# The shell itself counts these.
COUNTERS = frozenset(
    [
        "#",
        "?",
        "$",
        "!",
        "RANDOM",
        "SRANDOM",
        "SECONDS",
        "EPOCHSECONDS",
        "LINENO",
        "UID",
        "EUID",
        "PPID",
        "BASHPID",
        "SHLVL",
    ]
)
_KNOWN = {"HOME": "~", "PWD": ".", "TMPDIR": "/tmp"}


def shown(text: str) -> str:
    """Return a resolved argument as a person would write it."""
    return text if text.isascii() else text.translate(_SHOWN)


def literal(text: str) -> str:
    """Return a resolved argument with its pattern signs as the plain characters they were."""
    return text if text.isascii() else _replaced(text, _LITERAL)


def _replaced(text: str, table: dict[int, str]) -> str:
    """Translate a text that has something to translate; searching is far cheaper than translating."""
    return text.translate(table) if any(chr(sign) in text for sign in table) else text


def is_static(text: str) -> bool:
    """Return True if the text alone decides this argument (patterns do not count)."""
    return text.isascii() or not (DYNAMIC in text or COMMAND in text or PROCESS in text or NUMBER in text)


def assignment(word: str | Word) -> tuple[str, str] | None:
    """Return name and `=` or `+=` if `word` is an assignment."""
    if isinstance(word, str):
        if "=" not in word:
            return None
        text = word
    else:
        first = word.pieces[0] if word.pieces else None
        if first is None or first.kind != LIT or first.quoted:
            return None
        text = first.text
        if "[" in text and "=" not in text:  # a[$x]=…: the pieces behind the bracket hold the rest
            text = "".join(piece.text if piece.kind == LIT and not piece.quoted else "0" for piece in word.pieces)
    found = _ASSIGNMENT.match(text)
    return (found.group(1), found.group(3) + "=") if found else None


def assigned(word: str | Word, variables: Variables) -> Value:
    """Return the value that an assignment gives its variable."""
    if isinstance(word, str):
        return word.partition("=")[2]
    if word.elements is not None:
        return resolve_all(word.elements, variables)
    text = _joined(word.pieces, variables, value=True).partition("=")[2]
    return _replaced(text, _BACK) if len(text) <= LONGEST_VALUE else DYNAMIC


def subscript(word: str | Word, variables: Variables) -> str | None:
    """Return the subscript of an assignment `name[…]=`, or nothing."""
    text = word if isinstance(word, str) else _joined(word.pieces, variables, value=True)
    found = _SUBSCRIPT.match(text)
    return found[1] if found else None


def resolve_all(words: Iterable[str | Word], variables: Variables) -> list[str]:
    """Resolve words one after the other."""
    out: list[str] = []
    for word in words:
        if isinstance(word, str):
            out.append(word)
        else:
            out.extend(resolve(word, variables))
    return out


def resolve(word: Word, variables: Variables) -> list[str]:
    """Return the arguments that one word becomes: several by braces and splitting, none if it is empty."""
    text = _joined(word.pieces, variables)
    if word.elements is not None:
        text += "(" + " ".join(resolve_all(word.elements, variables)) + ")"
    texts = _braces(text) if _OPEN in text else [text]
    if _SPLIT in text:
        texts = [part for text in texts for part in text.split(_SPLIT) if part]
    elif not text and not any(piece.quoted for piece in word.pieces):
        return []
    return [_replaced(text, _BACK) for text in texts]


def joined(pieces: list[WordPart], variables: Variables) -> str:
    """Return the text of quoted pieces, such as a here-document's body."""
    return _joined(pieces, variables, value=True)


def _joined(pieces: list[WordPart], variables: Variables, value: bool = False) -> str:
    out: list[str] = []
    for piece in pieces:
        kind, text, quoted, inner = piece
        if kind == LIT:
            out.append(text if quoted or value else text.translate(_PATTERN))
            continue
        quoted = quoted or value
        if kind == VAR:
            known = variables.get(text, _KNOWN.get(text))
            if text in COUNTERS and text not in variables:
                out.append(NUMBER)
            elif isinstance(known, list) and text in ("@", "*"):
                out.append(_SPLIT.join(known))
            else:
                out.append(_expanded(known, quoted))
        elif kind == PARAM and isinstance(inner, Param):
            out.append(_parameter(inner, variables, quoted))
        elif kind == SUB and isinstance(inner, Script):
            result = _substituted(inner, variables)
            if result is None:
                out.append(COMMAND + NUMBER if numeric(inner) else COMMAND)
            else:
                out.append(_expanded(result, quoted))
        elif kind == PROC:
            out.append(PROCESS)
        elif kind == ARITH:
            out.append(NUMBER)
    return "".join(out)


def _expanded(value: Value | None, quoted: bool) -> str:
    if value is None:
        return DYNAMIC
    if isinstance(value, list):
        value = value[0] if value else ""
    return value if quoted else value.translate(_VALUE)


def _parameter(param: Param, variables: Variables, quoted: bool) -> str:
    value = variables.get(param.name, _KNOWN.get(param.name))
    if param.lead == "#" and param.name:
        return NUMBER
    if value is None or param.lead or (param.op and param.op not in ("-", ":-", "=", ":=")):
        return DYNAMIC
    if param.index in ("@", "*") and isinstance(value, list):
        return _SPLIT.join(part if quoted else part.translate(_VALUE) for part in value)
    if param.index.isdigit() and isinstance(value, list):
        at = int(param.index[:6])
        return _expanded(value[at] if at < len(value) else "", quoted)
    return DYNAMIC if param.index else _expanded(value, quoted)


def _substituted(script: Script, variables: Variables) -> str | None:
    """Return the output of `$(echo …)` or `$(printf …)`, if it is plain."""
    if not script.tokens or len(script.tokens) > 64:
        return None
    words: list[str | Word] = []
    for token in script.tokens:
        if token.kind == PLAIN and isinstance(token.value, str):
            words.extend(token.value.split())
        elif token.kind == WORD and isinstance(token.value, str | Word):
            words.append(token.value)
        else:
            return None
    if words == _TOP_LEVEL:
        return "."
    return output(resolve_all(words, variables)) if words[0] in ("echo", "printf") else None


def numeric(script: Script) -> bool:
    """Return True if a substitution prints one number: its last command counts and prints nothing else."""
    words: list[str] = []
    for token in script.tokens[-16:]:
        if token.kind == PLAIN and isinstance(token.value, str):
            words = [*words, *token.value.split()]
        elif token.kind == WORD and isinstance(token.value, str | Word):
            words.append(token.value if isinstance(token.value, str) else DYNAMIC)
        elif token.kind == OPERATOR and token.value == "|":
            words = []
        elif token.kind != REDIRECT:
            return False
    if len(script.tokens) > 16 or not words:
        return False
    name, rest = words[0], words[1:]
    if name == "grep":
        return rest[:1] == ["-c"] and len(rest) <= 3
    return _COUNTING.fullmatch(" ".join(words)) is not None if name == "date" or len(rest) < 2 else False


def output(argv: list[str]) -> str | None:
    """Return what an `echo` or `printf` of static text prints, else nothing."""
    if not argv or not all(map(is_static, argv)):
        return None
    rest = [literal(word) for word in argv[1:]]
    if argv[0] == "echo":
        escapes = False
        while rest and re.fullmatch(r"-[neE]+", rest[0]):
            escapes = escapes or "e" in rest.pop(0)
        text = " ".join(rest)
        return unescaped(text) if escapes else text
    if argv[0] == "printf" and rest and not rest[0].startswith("-"):
        template, values = unescaped(rest[0]), rest[1:]
        count = len(re.findall(r"%[sb]", template))
        if "%" in re.sub(r"%[sb]|%%", "", template) or (values and not count):
            return None
        rounds = max(1, -(-len(values) // count) if count else 1)
        queue = iter(values)
        return re.sub(
            r"%[sb]|%%", lambda m: "%" if m.group() == "%%" else unescaped(next(queue, "")), template * rounds
        )
    return None


def _braces(text: str) -> list[str]:
    """Expand `{a,b}` and `{1..3}`; what would become too much stays as dynamic text."""
    done: list[str] = []
    todo = [text]
    steps = 0
    while todo:
        steps += 1
        current = todo.pop()
        if len(todo) + len(done) > _MOST_WORDS or steps > 4 * _MOST_WORDS:
            return [DYNAMIC + text]
        group = _innermost(current)
        if group is None:
            done.append(current)
            continue
        begin, end = group
        inside = current[begin + 1 : end]
        choices = _choices(inside)
        if choices is None:
            # Not an expansion: keep the signs, out of the way of the search.
            todo.append(current[:begin] + "{" + inside.replace(_COMMA, ",") + "}" + current[end + 1 :])
        else:
            todo.extend(current[:begin] + choice + current[end + 1 :] for choice in reversed(choices))
    return done


def _innermost(text: str) -> tuple[int, int] | None:
    end = text.find(_CLOSE)
    while end >= 0:
        begin = text.rfind(_OPEN, 0, end)
        if begin >= 0:
            return begin, end
        end = text.find(_CLOSE, end + 1)
    return None


def _choices(inside: str) -> list[str] | None:
    if _COMMA in inside:
        return inside.split(_COMMA)
    found = _RANGE.fullmatch(inside)
    if not found:
        return None
    low, high, first, last = found.groups()
    if first:
        start, stop = ord(first), ord(last)
        step = 1 if stop >= start else -1
        return [chr(code) for code in range(start, stop + step, step)]
    start, stop = int(low), int(high)
    step = 1 if stop >= start else -1
    if abs(stop - start) > _MOST_WORDS:
        return [DYNAMIC]
    return [str(number) for number in range(start, stop + step, step)]
