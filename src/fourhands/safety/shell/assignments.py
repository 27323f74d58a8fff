"""Variables of a line: their values, which of them are numbers, and what setting them changes.

Builtins that take a variable's name or an expression are classified here too: the shell evaluates both (C2.5, C3.4).
"""

import itertools
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable

from fourhands.safety.shell.arithmetic import data_in, data_in_pieces, is_number
from fourhands.safety.shell.file_rules import written
from fourhands.safety.shell.levels import FINE, Finding, dangerous, unknown, worst
from fourhands.safety.shell.options import read
from fourhands.safety.shell.parser.expansion import (
    COUNTERS,
    DYNAMIC,
    Value,
    assigned,
    assignment,
    is_static,
    literal,
    shown,
)
from fourhands.safety.shell.parser.tokens import LIT, Param, Word, WordPart
from fourhands.safety.shell.tables.readers import READERS
from fourhands.safety.shell.tables.variables import passes
from fourhands.safety.variables import changes_execution, changes_names, guides_programs, names_program

DECLARE = frozenset({"export", "declare", "typeset", "readonly", "local", "integer", "float"})
NAMES = (
    frozenset({"test", "[", "[[", "printf", "read", "let", "unset", "mapfile", "readarray", "wait", "getopts"})
    | DECLARE
)
_SET = FINE._replace(rule="C3.4", reason="sets variables")
_COMPARES = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_REPOSITORY = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"})
# The shell evaluates whatever these are given, and gives those a value itself, from data.
_INTEGERS = frozenset({"RANDOM", "SRANDOM", "SECONDS", "LINENO", "HISTCMD", "OPTIND", "BASHPID", "EPOCHSECONDS"})
_FROM_DATA = frozenset({"_", "REPLY", "MAPFILE", "BASH_REMATCH", "OPTARG", "BASH_ARGV0", "MATCH", "match", "reply"})
_MOST_EXPORTED = 64
_ZSH_PATHS = frozenset({"path", "cdpath", "fpath", "manpath", "mailpath", "module_path"})  # the same as in capitals
_ELEMENT = re.compile(r"(?:\A|[(\s])\[(.*?)\]\+?=", re.DOTALL)
_ITEM = re.compile(r"(\w+)\[(.*)\]", re.ASCII | re.DOTALL)
# What arithmetic would run if a variable had it as its value (C2.5).
HIDDEN = re.compile(r"\A\s*\w+\[[^\]]*(?:\$\(|`)")


class Assignments(ABC):
    """The variables of one line."""

    def __init__(self) -> None:
        self.hidden = FINE  # what the values of variables hide
        self.variables: dict[str, Value | None] = {}
        self.older: dict[str, list[Value | None]] = {}
        self.functions: set[str] = set()
        self.numbers: set[str] = set()  # given a number somewhere in the line
        self.texts: set[str] = set()  # given something else
        self.integers: set[str] = {*_INTEGERS}  # what they are given is evaluated
        self.exported: dict[str, None] = {}  # programs get them
        self.associative: set[str] = set()  # their subscripts are plain text

    @abstractmethod
    def script(self, text: str, what: str) -> Finding:
        """Classify a text that a shell will run later; text that is not static is dangerous."""

    def set(self, name: str, value: Value | None) -> None:
        """Set a variable; its earlier values in this line still count."""
        values = [value] if isinstance(value, str) else value or ()
        if any(HIDDEN.search(text) for text in values):
            self.hidden = dangerous("C2.5", f"a command hidden in the value of {name}")
        if name in self.variables and self.variables[name] != value:
            older = self.older.setdefault(name, [])
            if len(older) < 64 and self.variables[name] not in older:
                older.append(self.variables[name])
        self.variables[name] = value
        if value is not None and all(map(is_number, values)) and not self.functions:
            self.numbers.add(name)
            return
        self.texts.add(name)
        if name in self.integers:
            self.hidden = worst(self.hidden, _evaluated(f"the integer {name} is given a value that may be no number"))

    def is_number(self, name: str) -> bool:
        """Return True if the value of a variable is a number, wherever the line has gone before."""
        if name in _FROM_DATA:
            return False
        if name in self.numbers:
            return name not in self.texts
        return name in COUNTERS and name not in self.variables

    def evaluation(self, pieces: list[WordPart]) -> Finding:
        """Classify an arithmetic expression: what it reads must be numbers; what it sets is one."""
        given: set[str] = set()
        found = data_in_pieces(pieces, self.is_number, given, functions=bool(self.functions))
        return self._computed(found, given)

    def expression(self, text: str) -> Finding:
        """Classify an expression that is a resolved argument."""
        given: set[str] = set()
        found = data_in(text, self.is_number, given)
        return self._computed(found, given)

    def _computed(self, found: str, given: Iterable[str]) -> Finding:
        """Classify an expression by what in it may be no number, and by the variables that it sets."""
        self.numbers.update(given)
        finding = _evaluated(_unnumbered(found)) if found else FINE
        return worst(finding, *(self.setting(name, "0") for name in given))

    def subscript(self, name: str, index: str) -> Finding:
        """Classify an assignment through a subscript (C3.4)."""
        if name in self.associative or is_number(index) or index in ("@", "*"):
            return FINE
        finding = self.expression(index)
        if finding.rank and not is_static(index):
            return dangerous("C3.4", f"sets {name} through a subscript that is only known at run time")
        return finding

    def elements(self, name: str, text: str) -> Finding:
        """Classify the subscripts in a list of elements, as in `a=([i]=1)`."""
        return worst(FINE, *(self.subscript(name, found[1]) for found in _ELEMENT.finditer(literal(text))))

    def _items(self, names: list[str]) -> list[Finding]:
        """Classify the subscripts of variables that a builtin takes by name, as in `unset a[i]`."""
        found = (_ITEM.match(literal(word)) for word in names)
        return [self.subscript(item[1], item[2]) for item in found if item]

    def index(self, param: Param) -> Finding:
        """Classify a subscript or an offset, which the shell evaluates."""
        if param.index:
            plain = param.index in ("@", "*") or param.name in self.associative
            return FINE if plain else self.evaluation([WordPart(LIT, param.index, False)])
        if param.op.startswith("["):
            inside = [*itertools.takewhile(lambda piece: "]" not in piece.text, param.operand)]
            return FINE if param.name in self.associative else self.evaluation(inside)
        return self.evaluation(param.operand) if param.op == ":" else FINE

    def in_front(self, words: list[str | Word], argv: list[str]) -> Finding:
        """Classify the variables in front of a command: what its program makes of them must be known (C3.4)."""
        for word in words:
            sign = assignment(word)
            value = assigned(word, self.variables)
            if sign and not passes(sign[0], value if isinstance(value, str) else DYNAMIC, argv):
                return unknown("C3.4", f"sets {sign[0]} for {shown(argv[0]) if argv else 'a program'}")
        return FINE

    def inherited(self, argv: list[str]) -> Finding:
        """Classify the variables that were exported earlier in the line, like those in front of a command."""
        if len(self.exported) > _MOST_EXPORTED:
            return unknown("C3.4", "too many variables are exported")
        for name in self.exported:
            value = self.variables.get(name)
            if not passes(name, value if isinstance(value, str) else DYNAMIC, argv):
                return unknown("C3.4", f"{name} is set for {shown(argv[0]) if argv else 'a program'}")
        return FINE

    def builtin(self, name: str, argv: list[str]) -> Finding:
        """Classify what a builtin evaluates or sets by name, and remember what it sets."""
        rest = argv[1:]
        if name in DECLARE and any("A" in word for word in rest if word[:1] == "-"):
            self.associative.update(word.partition("=")[0] for word in rest if word[:1] != "-")
        findings = [FINE, *self._evaluates(name, rest)]
        findings += [self.setting(word, None) for word in _set_by(name, rest)]
        if name in DECLARE:
            flags = "".join(word[1:] for word in rest if word[:1] == "-")
            names = [word.partition("=")[0] for word in rest if word[:1] != "-"]
            if "i" in flags or name in ("integer", "float"):
                self.integers.update(names)
            if (name == "export" and not {"n", "f", "p"} & {*flags}) or "x" in flags:
                self.exported.update(dict.fromkeys(names))
            findings += [self.setting(*_split(word)) for word in rest if "=" in word]
        elif name == "unset" and (
            removed := next((word for word in rest if changes_execution(word) or word == "HOME"), "")
        ):
            findings.append(unknown("C3.4", f"removes {removed}: programs do something else without it"))
        self._given(name, rest)
        return worst(*findings, self.hidden)  # what an integer was given just now, too

    def _evaluates(self, name: str, rest: list[str]) -> list[Finding]:
        """Return the findings about names and expressions in a builtin's arguments."""
        if name in ("test", "[", "[["):
            findings = [
                _evaluated(f"looks for a variable whose name is only known at run time: {shown(rest[at + 1])[:40]}")
                for at, word in enumerate(rest[:-1])
                if word in ("-v", "-R") and not is_static(rest[at + 1])
            ]
            findings += self._items([rest[at + 1] for at, word in enumerate(rest[:-1]) if word in ("-v", "-R")])
            if name == "[[":
                for at, word in enumerate(rest):
                    if word in _COMPARES:
                        findings += [
                            self.expression(side) for side in (*rest[max(0, at - 1) : at], *rest[at + 1 : at + 2])
                        ]
            return findings
        if name == "let":
            return [self.expression(word) for word in rest]
        names = _set_by(name, rest)
        findings = []
        if name in DECLARE:
            names = [_split(word)[0] for word in rest if word[:1] != "-"]
            findings = [self.elements(*_split(word)) for word in rest if "=(" in word]
            if any(word[:1] == "-" and "n" in word for word in rest):
                names += [word.partition("=")[2] for word in rest if "=" in word]
        elif name in ("unset", "getopts", "wait"):
            names = [word for word in rest if word[:1] != "-"]
        elif name == "read":  # zsh evaluates how long and how much
            counts = read(rest, READERS[name]).values("-t", "-n", "-N", "-k", "-u")
            findings = [self.expression(count) for count in counts if not count.replace(".", "").isdigit()]
        findings += [
            _evaluated(f"{name} with a variable's name that is only known at run time: {shown(word)[:40]}")
            for word in names
            if not is_static(word) and not is_number(word)
        ]
        return findings + self._items(names)

    def _given(self, name: str, rest: list[str]) -> None:
        if name in ("read", "mapfile", "readarray") or name == "printf":
            for word in _set_by(name, rest):
                self.set(literal(word).partition("[")[0], DYNAMIC)
        elif name in DECLARE:
            for word in rest:
                variable, equals, value = word.partition("=")
                if equals and variable.isidentifier() and not value.startswith("("):
                    self.set(variable, value)
        elif name == "getopts":
            for word in rest[1:2]:
                self.set(literal(word).partition("[")[0], DYNAMIC)

    def setting(self, name: str, value: Value | None) -> Finding:
        """Classify the assignment of a variable (C3.4)."""
        name = literal(name).partition("[")[0]
        if name == "PROMPT_COMMAND" and isinstance(value, str):
            return worst(dangerous("C3.4", "sets PROMPT_COMMAND: runs before every prompt"), self.script(value, name))
        if name.endswith("_PAGER") and name != "GIT_PAGER" and value in ("", "cat"):
            return FINE  # how pagers are switched off
        if name in _ZSH_PATHS and isinstance(value, list):
            name = name.upper()
        if changes_execution(name):
            return dangerous("C3.4", f"sets {name}: changes what programs run")
        if changes_names(name):
            return dangerous("C3.4", f"sets {name}: changes what a name runs")
        text = value if isinstance(value, str) else DYNAMIC
        if names_program(name, literal(text)):
            level = dangerous if is_static(text) else unknown
            return level("C3.4", f"sets {name}: changes what programs run")
        if name in _REPOSITORY:
            return unknown("C7", f"git uses another repository: {name}")
        if name.startswith("GIT_TRACE") and text.startswith("/"):
            return written(text)
        if guides_programs(name):
            return unknown("C3.4", f"sets {name}: programs read other files because of it")
        return _SET


def _evaluated(reason: str) -> Finding:
    return unknown("C2.5", reason)


def _unnumbered(found: str) -> str:
    return f"evaluates what may be no number: {shown(found)[:40]}"


def _set_by(name: str, rest: list[str]) -> list[str]:
    """Return the variables that a builtin sets by name, without an assignment."""
    if name in ("read", "mapfile", "readarray"):
        args = read(rest, READERS[name])
        return [*args.operands, *args.values("-a")]
    if name == "printf":
        joined = [word[2:] for word in rest[:1] if word[:2] == "-v" and len(word) > 2]
        return joined + [rest[at + 1] for at, word in enumerate(rest[:-1]) if word == "-v"]
    if name == "getopts":
        return rest[1:2]
    if name in ("declare", "typeset", "local") and any(word.startswith("-") and "n" in word for word in rest):
        return [word.partition("=")[2] for word in rest]
    return []


def _split(word: str) -> tuple[str, str]:
    name, _, value = word.partition("=")
    return name.removesuffix("+"), value
