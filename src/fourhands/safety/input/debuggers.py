"""Commands of debuggers: those that look, those that run the program under them, and those that start others."""

import re

from fourhands.safety.input.code import code
from fourhands.safety.input.python import python
from fourhands.safety.input.readers import Reader
from fourhands.safety.shell.classifier import LineClassifier
from fourhands.safety.shell.levels import FINE, Finding, dangerous, unknown, worst
from fourhands.safety.shell.options import words
from fourhands.safety.shell.parser.expansion import shown

_RULE = "C6.2"
_MOST_LINES = 1_000
_LOOKS = Finding(FINE.rank, _RULE, "a debugger's command that only looks")
# gdb and lldb: unique beginnings of a command's name do as well as the whole.
_GDB_LOOKS = words(
    "bt backtrace where info i inf list l frame f up down help h apropos show x ptype whatis disas disassemble "
    "output tbreak break b br brea display undisplay watch rwatch awatch delete disable enable tb hbreak condition "
    "ignore q quit exit thread layout tui focus refresh echo pwd"
)
_GDB_RUNS = words(
    "run r start starti continue c cont next n step s stepi si nexti ni finish fin until u advance jump j kill k "
    "detach return call print p inspect set signal"
)
_GDB_SETS = re.compile(
    r"(?:logging|exec-\w+|startup-with-shell|environment|env|auto-load|sysroot|debug-file-directory|"
    r"solib\S*|script\S*|args?\b.*[;&|<>`$]|history|remote\S*|editing|prompt|style)\b",
    re.IGNORECASE,
)
_EVALUATES = re.compile(r"\w\s*\(|\$_\w+|[^=!<>]=[^=]|\+\+|--")
_CALLS_OUT = re.compile(
    r"\b(?:system|popen|exec\w*|fork|vfork|posix_spawn\w*|unlink\w*|remove|rename\w*|rmdir|kill|dlopen|mprotect|mmap|"
    r"open\w*|fopen\w*|creat|write|chmod|chown|truncate|symlink|link|connect|socket|syscall|_exit|abort|setuid|"
    r"_gdb_\w+|_shell|python|_exitcode)\s*\("
)
_BREAKPOINTS = re.compile(r"\A[\w:.*&/~<>, -]*\Z")
_PDB_LOOKS = words("h help w where bt d down u up l list ll longlist a args undisplay")
_PDB_RUNS = words(
    "n next s step c cont continue r return unt until j jump b break tbreak cl clear disable enable ignore condition "
    "q quit exit run restart retval rv"
)
_PDB_SHOWS = words("p pp whatis display print source exceptions")
_PLACES = re.compile(r"[\w., :/-]*")


def debugger(text: str, reader: Reader, classifier: LineClassifier, *, certain: bool = True) -> Finding:
    """Classify the lines of a text as a debugger's commands."""
    findings = [_LOOKS]
    if text.count("\n") > _MOST_LINES:
        return dangerous("C2.1", f"too long to check: more than {_MOST_LINES:,} lines")
    for line in filter(None, map(str.strip, text.split("\n"))):
        match reader.language:
            case "gdb":
                findings.append(_gdb(line))
            case "python debugger":
                findings.append(_pdb(line, classifier))
            case _:
                findings.append(_other(line, reader, classifier, certain=certain))
    return worst(*findings)


def _gdb(line: str) -> Finding:
    """Classify a command of gdb or lldb."""
    name, _, rest = line.partition(" ")
    name, rest = name.partition("/")[0].lower(), rest.strip()
    if line.startswith("#"):
        return FINE
    if risky := _CALLS_OUT.search(line):
        return dangerous(_RULE, f"the debugger calls {shown(risky.group())[:24]}")
    if name in _GDB_LOOKS and "|" not in rest and "!" not in rest:
        breaks = name.startswith(("b", "tb", "hb", "watch", "rw", "aw", "cond", "ign")) and name not in (
            "bt",
            "backtrace",
        )
        if breaks or name in ("x", "output", "display", "frame", "f", "list", "l", "info", "i", "inf", "thread"):
            if name.startswith(("thread", "frame")) and rest.startswith("apply"):
                return _gdb(rest.partition(" ")[2].strip().partition(" ")[2].strip() or "x")
            return (
                unknown(_RULE, f"the debugger evaluates an expression: {name}") if _EVALUATES.search(rest) else _LOOKS
            )
        return _LOOKS
    if name in ("print", "p", "inspect") and not _EVALUATES.search(rest):
        return _LOOKS
    if name == "set" and _GDB_SETS.match(rest):
        return dangerous(_RULE, "changes what the debugger starts or writes")
    if name in _GDB_RUNS and not (name in ("run", "r", "start", "starti") and re.search(r"[;&|<>`$]", rest)):
        return unknown(_RULE, f"the debugger goes on with its program: {name}")
    # Everything else may start a program, run a script or write a file: shell, pipe, make, python, source, dump …
    return dangerous(_RULE, f"a debugger's command that may run programs or write files: {shown(name)[:24]}")


def _pdb(line: str, classifier: LineClassifier) -> Finding:
    """Classify a command of Python's debugger; what is none of them is Python."""
    if ";;" in line:
        return worst(*(_pdb(part.strip(), classifier) for part in line.split(";;")))
    name, _, rest = line.partition(" ")
    if name in _PDB_LOOKS and _PLACES.fullmatch(rest) and not rest.strip().startswith((",", ":")):
        return _LOOKS
    if name in _PDB_SHOWS:
        return python(rest.strip(), classifier)
    if name in _PDB_RUNS and not rest.strip().startswith(("=", ".", "(", "[")):
        conditional = rest.partition(",")[2] if name in ("b", "break", "tbreak") else ""
        conditional = conditional or (rest.strip().partition(" ")[2] if name == "condition" else "")
        found = python(conditional.strip(), classifier) if conditional.strip() else FINE
        if name in ("b", "break", "tbreak", "cl", "clear", "disable", "enable", "q", "quit", "exit"):
            return worst(_LOOKS, found)
        return worst(unknown(_RULE, f"the debugger goes on with its program: {name}"), found)
    if name in ("interact", "debug", "commands", "alias", "unalias"):
        found = python(rest, classifier) if name in ("debug", "alias") else FINE
        return worst(unknown(_RULE, f"a debugger's command: {name}"), found)
    return python(line.removeprefix("!").strip(), classifier)


def _other(line: str, reader: Reader, classifier: LineClassifier, *, certain: bool) -> Finding:
    """Classify a line for another debugger by the calls of its language."""
    return worst(unknown(_RULE, "a debugger's command"), code(line, reader, classifier, certain=certain))
