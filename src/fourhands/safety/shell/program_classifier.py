"""The classifier of one program by its resolved arguments: wrappers, the program's handler or its table entry.

Most verdicts come from here. What a program changes for later commands (variables, the directory, downloads) is stored
here too.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache

from fourhands.safety.redaction.file_names import SecretNames
from fourhands.safety.shell import lookalikes as raw_text
from fourhands.safety.shell.context import CommandContext, ProgramHandler
from fourhands.safety.shell.file_rules import device, is_outside, is_protected, normal, own, secret, written
from fourhands.safety.shell.levels import DANGEROUS, FINE, SAFE, UNKNOWN, Finding, dangerous, unknown, worst
from fourhands.safety.shell.options import Tool, read, ruled
from fourhands.safety.shell.options import words as words_of
from fourhands.safety.shell.parser.expansion import COMMAND, DYNAMIC, Value, is_static, literal, shown
from fourhands.safety.shell.parser.tokens import DEPTH_LIMIT
from fourhands.safety.shell.programs.files import FILES
from fourhands.safety.shell.programs.filters import FILTERS
from fourhands.safety.shell.programs.git import git
from fourhands.safety.shell.programs.interpreters import CODE, VERSIONED, interpreter, names_variable
from fourhands.safety.shell.programs.network import NETWORK
from fourhands.safety.shell.programs.packages import PACKAGES
from fourhands.safety.shell.programs.services import SERVICES
from fourhands.safety.shell.programs.wrappers import unwrap, wrapper_name
from fourhands.safety.shell.tables.arguments import suspicious
from fourhands.safety.shell.tables.names import (
    HARMLESS_PAGERS,
    HELPFUL,
    PRIVILEGE,
    SECRET_PARTS,
    WRAPPERS,
)
from fourhands.safety.shell.tables.readers import READERS
from fourhands.safety.shell.tables.services import DATABASE_TOOLS
from fourhands.safety.shell.tables.system import SYSTEM, SYSTEM_PREFIXES, WINDOWS
from fourhands.safety.shell.tables.tools import PROJECT
from fourhands.safety.shell.verdict import ClassifierRules
from fourhands.safety.variables import changes_execution, names_program

_DECLARE = frozenset({"export", "declare", "typeset", "readonly", "local"})
_NAMES = (
    frozenset({"test", "[", "[[", "printf", "read", "let", "unset", "mapfile", "readarray", "wait", "getopts"})
    | _DECLARE
)
SECRET_VARIABLE = re.compile(rf"(?:\A|_)(?:{'|'.join(sorted(SECRET_PARTS))})(?:_|\Z)", re.IGNORECASE)
_SYSTEM_BIN = re.compile(
    r"/(?:usr/(?:local/)?)?s?bin/[^/]+|/opt/homebrew/bin/[^/]+|/snap/bin/[^/]+|/lib(?:32|"
    r"64)?/(?:[\w-]+/)?ld[^/]*\.so[^/]*"
)
_PROGRAM = re.compile(r"[\w./+-]+(?: +-[\w=-]+)*")
_COMPRESSORS = words_of("gzip pigz bzip2 pbzip2 lbzip2 xz pixz zstd pzstd lz4 lzop lzip compress")
_REPOSITORY = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"})
# What arithmetic would run if a variable had it as its value (C2.5).
_HIDDEN = re.compile(r"\A\s*\w+\[[^\]]*(?:\$\(|`)")
_MOST_WRAPPERS = 32
_MOST_SEARCHED = 200  # words
_MOST_PLACES = 32
_LONGEST_PLACE = 512
_LONGEST_COMPARED = 20_000
# Which operands a program writes, by what the table says of them.
_WRITTEN = {"write": slice(None), "last": slice(-1, None), "second": slice(1, 2)}

HANDLERS: dict[str, ProgramHandler] = {**PACKAGES, **SERVICES, **NETWORK, **FILES, **FILTERS, **CODE, "git": git}
TABLE: Mapping[str, Tool] = {**READERS, **SYSTEM, **PROJECT}
# Programs that are classified by a table alone: what they read makes no difference.
UNFED = frozenset(
    name for name, tool in TABLE.items() if name not in HANDLERS and tool.operands not in ("write", "last")
)
# The lexical scan of text that cannot be parsed looks at these only: no other name is dangerous by itself.
SUSPECTS = frozenset((*HANDLERS, *TABLE, *WRAPPERS, *PRIVILEGE, *DATABASE_TOOLS, *WINDOWS))


class ProgramClassifier(ABC):
    """The classifier of programs; what one changes counts for the next."""

    def __init__(self, rules: ClassifierRules) -> None:
        self.rules = rules
        self.names: SecretNames | None = rules.secret_names
        self.cwd = ""
        self.places: list[str] = []  # every directory that the line has gone to
        self.revisiting = False
        self.hidden = FINE  # what the values of variables hide
        self.inside = 0
        self.searching = False
        self.downloads: set[str] = set()
        self.variables: dict[str, Value | None] = {}
        self.older: dict[str, list[Value | None]] = {}
        self.functions: set[str] = set()
        self.forwarders: set[str] = set()

    @abstractmethod
    def script(self, text: str, what: str) -> Finding:
        """Classify a text that a shell will run later; text that is not static is dangerous."""

    @abstractmethod
    def lexical(self, text: str) -> Finding:
        """Search for dangerous commands in a text that no grammar fits."""

    def argv(self, argv: list[str], context: CommandContext) -> Finding:
        """Classify resolved arguments: wrappers first, then the program inside them."""
        if self.inside >= DEPTH_LIMIT:
            found = FINE if self.searching else self._search(argv[-_MOST_SEARCHED:])
            return worst(unknown("C4", "too many nested programs"), found)
        self.inside += 1
        try:
            return self._argv(argv, context)
        finally:
            self.inside -= 1

    def _search(self, argv: list[str]) -> Finding:
        """Search words nested too deeply to follow for dangerous commands; any of them may start one."""
        self.searching = True  # what is nested in these is not searched again
        try:
            found = self.lexical(" ".join(argv))
            for start, word in enumerate(argv):
                if found.rank == DANGEROUS:
                    return found
                if word.rsplit("/", 1)[-1] in SUSPECTS:
                    found = self._argv(argv[start:], CommandContext(self))
        finally:
            self.searching = False
        return found if found.rank == DANGEROUS else FINE

    def _argv(self, argv: list[str], context: CommandContext) -> Finding:
        findings = [FINE]
        if argv:
            findings.append(self.everywhere(argv))
        for _ in range(_MOST_WRAPPERS):
            if not argv:
                return worst(*findings)
            program = literal(argv[0])
            name = program if "/" not in program else normal(program).rsplit("/", 1)[-1]
            if not program.isascii() and is_static(program) and (found := raw_text.name(program)):
                findings.append(found)
            if name in PRIVILEGE and argv[1:] not in (["--version"], ["--help"]):
                return worst(*findings, dangerous("C4", f"runs with other privileges: {name}"))
            if "/" in program and not _SYSTEM_BIN.fullmatch(normal(program)):
                findings.append(self._local(program))
            wrapper = wrapper_name(name)
            if wrapper is None or argv[1:] in (["--help"], ["--version"]):
                break
            argv, finding = unwrap(wrapper, argv if argv[0] == name else [name, *argv[1:]], context)
            findings.append(finding)
        else:
            return worst(
                *findings, unknown("C4", "too many wrappers around a command"), self.lexical(" ".join(argv[-200:]))
            )
        if not is_static(argv[0]):
            # The name itself was classified where the word is known, but not inside a wrapper.
            findings.append(unknown("C3.3", "the command name is only known at run time"))
        elif program in WINDOWS and program not in self.functions and argv[1:] not in (["--help"], ["--version"]):
            findings.append(dangerous("C5.1", f"{WINDOWS[program]} on Windows: {program}"))
        else:
            findings.append(self._program(name, argv, context))
        if argv and self.rules.patterns:
            findings.append(self.user_rules(argv))
        return worst(*findings)

    def everywhere(self, argv: list[str]) -> Finding:
        """Classify what is dangerous whatever the program."""
        text, name = "\n".join(argv), argv[0]
        if "/dev/tcp/" in text or "/dev/udp/" in text:
            return dangerous("C7", "opens a connection: /dev/tcp")
        if "fourhands" in text and name not in ("echo", "printf") and (found := own(argv)):
            return dangerous("C7", f"touches a directory of Fourhands itself: {shown(found)}")
        return FINE

    def _local(self, program: str) -> Finding:
        path = normal(program, self.cwd)
        if path in self.downloads or normal(program) in self.downloads:
            return dangerous("C7", f"runs the download {shown(program)}")
        return unknown("C6.1", f"runs the program {shown(program)}")

    def _program(self, name: str, argv: list[str], context: CommandContext) -> Finding:
        """Classify one program by its handler or its table entry."""
        argv = argv if argv[0] == name else [name, *argv[1:]]
        rest = argv[1:]
        if (
            len(rest) == 1
            and rest[0] in ("--help", "--version")
            and (name in TABLE or name in HANDLERS or name in HELPFUL or name in PRIVILEGE or wrapper_name(name))
        ):
            return FINE
        finding = FINE
        if name in _NAMES:
            finding = worst(names_variable(argv, context), *(self.setting(word, None) for word in _set_by(name, rest)))
            self._builtin(name, argv)
            if name in _DECLARE:
                finding = worst(finding, *(self.setting(*_split(word)) for word in rest if "=" in word))
                if any(word.startswith("-") and "p" in word for word in rest[:1]):
                    finding = worst(finding, self._printenv(rest))
        elif name == "printenv":
            return self._printenv(rest)
        elif name == "set" and rest:
            self._positional(rest)
        elif name == "hash" and "-p" in rest:
            return dangerous("C3.4", "changes what a name runs")
        handler = _handler(name)
        if handler is not None:
            finding = worst(finding, handler(argv, context))
        elif (tool := TABLE.get(name)) is not None:
            own_finding = self.plain(tool, rest, context)
            if own_finding.rank and name not in own_finding.reason:
                own_finding = own_finding._replace(reason=f"{own_finding.reason}: {name}")
            finding = worst(finding, own_finding)
            if tool.operands in ("write", "last") and context.from_network:
                self.downloads.update(normal(word, self.cwd) for word in rest if not word.startswith("-"))
        else:
            finding = worst(finding, self._unlisted(name, argv, context))
        finding = worst(finding, *suspicious(name, rest))
        if finding.rank == UNKNOWN and name in self.rules.safe_commands:
            return Finding(SAFE, "rules", f"{name} is in your list of safe commands")
        return finding

    def _unlisted(self, name: str, argv: list[str], context: CommandContext) -> Finding:
        if name in DATABASE_TOOLS:
            return dangerous("C7", f"deletes a database: {name}")
        for prefix, reason in SYSTEM_PREFIXES.items():
            if name.startswith(prefix):
                return dangerous("C5.5", f"{reason}: {name}")
        if name in self.functions:
            if name in self.forwarders and len(argv) > 1:
                return self.argv(argv[1:], context)
            if any(_HIDDEN.search(word) for word in argv[1:]):
                return dangerous("C2.5", f"a command hidden in an argument of {name}")
            return Finding(SAFE, "C2.2", f"calls the function {name}, whose commands are classified")
        if found := self.secret(argv[1:]):
            return dangerous("C5.4", f"could read the secret file {shown(found)}")
        return unknown("C7", f"unknown program: {shown(name)}")

    def plain(self, tool: Tool, rest: list[str], context: CommandContext) -> Finding:
        """Classify arguments by a table entry alone."""
        args = read(rest, tool)
        kind = tool.operands
        if kind == "name" and not args.options:
            return tool.finding
        findings = [tool.finding]
        for option, value in args.options:
            if option in tool.danger:
                rule, reason = ruled(tool.danger[option], tool.rule)
                findings.append(dangerous(rule, f"{reason}: {option}"))
            elif option in tool.ask:
                findings.append(unknown(tool.rule, f"{tool.ask[option]}: {option}"))
            if value is None:
                continue
            if option in tool.writes and value not in ("-", ""):
                findings.append(written(value, self.cwd))
            elif option in tool.runs:
                findings.append(_runs(option, value))
        if kind == "name":
            return worst(*findings)
        skip = 0 if tool.unskip and args.has(*tool.unskip) else tool.skip
        operands = args.operands[skip:]
        if kind == "made":
            bad = [word for word in operands if is_protected(word, self.cwd)]
            return worst(*findings, *(dangerous("C5.2", f"changes {shown(word)}: a protected path") for word in bad))
        targets = operands[_WRITTEN[kind]] if kind in _WRITTEN else []
        findings += [written(word, self.cwd) for word in targets if word != "-"]
        read_words = operands
        if args.options:
            texts = {value for option, value in args.options if option in tool.texts and value}
            texts.update(args.operands[:skip])
            read_words = [*operands, *(value for option, value in args.options if value and option not in tool.texts)]
            read_words += [
                word
                for word in rest
                if word[:1] == "-" and word[1:2] != "-" and not any(word.endswith(text) for text in texts)
            ]
        if found := self.secret(read_words):
            findings.append(dangerous("C5.4", f"reads the secret file {shown(found)}"))
        if kind == "read" and (found := device(operands, self.cwd)):
            findings.append(dangerous("C5.4", f"reads the whole device {shown(found)}"))
        if tool.deep and args.has(*tool.deep):
            findings.extend(
                unknown("C5.4", f"reads every file below {shown(word)}, secrets too")
                for word in operands
                if is_outside(word, self.cwd, self.rules.workspace)
            )
        places = [self.cwd, *operands] if operands else []
        if tool.rank == SAFE and kind == "read" and any(DYNAMIC in word or COMMAND in word for word in places):
            findings.append(unknown("C3.1", "reads a file whose name is only known at run time"))
        return worst(*findings)

    def enter(self, directory: str) -> Finding:
        """Follow a change of directory; earlier directories still count, since the change may fail."""
        if self.revisiting:
            return FINE
        there = normal(directory, self.cwd)
        if len(there) > _LONGEST_PLACE:
            return dangerous("C5.4", "changes to a directory that is nested too deeply")
        if there not in self.places:
            if len(self.places) >= _MOST_PLACES:
                return unknown("C5.4", "changes to too many directories")
            self.places.append(there)
        self.cwd = there
        return FINE

    def secret(self, argv: list[str]) -> str:
        """Return the first argument that names a secret file, or nothing."""
        return secret(argv, self.cwd, self.names)

    def user_rules(self, argv: list[str]) -> Finding:
        """Classify resolved arguments by the user's own expressions."""
        text = " ".join(map(shown, argv))
        if pattern := self.rules.patterns.found_in(text[:_LONGEST_COMPARED]):
            return dangerous("rules", f"matches your dangerous command {pattern!r}")
        if len(text) > _LONGEST_COMPARED:
            return unknown("rules", "too long to compare with your dangerous commands")
        return FINE

    def _builtin(self, name: str, argv: list[str]) -> None:
        if name in ("read", "mapfile", "readarray"):
            for word in argv[1:]:
                if not word.startswith("-"):
                    self.set(word, DYNAMIC)
        elif name in _DECLARE:
            for word in argv[1:]:
                variable, equals, value = word.partition("=")
                if equals and variable.isidentifier() and not value.startswith("("):
                    self.set(variable, value)

    def _positional(self, rest: list[str]) -> None:
        if "--" in rest:
            values = rest[rest.index("--") + 1 :]
            self.set("@", list(values))
            for number, value in enumerate(values[:9], 1):
                self.set(str(number), value)

    def _printenv(self, rest: list[str]) -> Finding:
        names = [word for word in rest if not word.startswith("-")]
        if not names:
            return unknown("C4", "prints the environment")
        for word in names:
            if SECRET_VARIABLE.search(word) or not is_static(word):
                return dangerous("C5.4", f"prints the secret variable {shown(word)}")
        return FINE

    def set(self, name: str, value: Value | None) -> None:
        """Set a variable; its earlier values in this line still count."""
        if any(_HIDDEN.search(text) for text in ([value] if isinstance(value, str) else value or ())):
            self.hidden = dangerous("C2.5", f"a command hidden in the value of {name}")
        if name in self.variables and self.variables[name] != value:
            older = self.older.setdefault(name, [])
            if len(older) < 64 and self.variables[name] not in older:
                older.append(self.variables[name])
        self.variables[name] = value

    def setting(self, name: str, value: Value | None) -> Finding:
        """Classify the assignment of a variable (C3.4)."""
        if name == "PROMPT_COMMAND" and isinstance(value, str):
            return worst(dangerous("C3.4", "sets PROMPT_COMMAND: runs before every prompt"), self.script(value, name))
        if name.endswith("_PAGER") and name != "GIT_PAGER" and value in ("", "cat"):
            return FINE  # how pagers are switched off
        if changes_execution(name) or (name == "path" and isinstance(value, list)):  # zsh's PATH
            return dangerous("C3.4", f"sets {name}: changes what programs run")
        text = value if isinstance(value, str) else DYNAMIC
        if names_program(name, literal(text)):
            known = is_static(text)
            return Finding(DANGEROUS if known else UNKNOWN, "C3.4", f"sets {name}: changes what programs run")
        if name in _REPOSITORY:
            return unknown("C7", f"git uses another repository: {name}")
        if name.startswith("GIT_TRACE") and text.startswith("/"):
            return written(text)
        return FINE


@lru_cache(maxsize=1024)
def _handler(name: str) -> ProgramHandler | None:
    return HANDLERS.get(name) or (interpreter if VERSIONED.fullmatch(name) else None)


def _runs(option: str, value: str) -> Finding:
    program = literal(value)
    name = program.split(" ", 1)[0].rsplit("/", 1)[-1]
    if (
        _PROGRAM.fullmatch(program)
        and (name in HARMLESS_PAGERS or name in _COMPRESSORS)
        and "/" not in program.removeprefix("/usr").removeprefix("/bin/")
    ):
        return FINE
    return dangerous("C6.5", f"runs a program: {option} {shown(value)[:40]}")


def _set_by(name: str, rest: list[str]) -> list[str]:
    """Return the variables that a builtin sets by name, without an assignment."""
    if name in ("read", "mapfile", "readarray"):
        return [word for word in rest if not word.startswith("-")]
    if name == "printf":
        return [rest[at + 1] for at, word in enumerate(rest[:-1]) if word == "-v"]
    if name in ("declare", "typeset", "local") and any(word.startswith("-") and "n" in word for word in rest):
        return [word.partition("=")[2] for word in rest]
    return []


def _split(word: str) -> tuple[str, str]:
    name, _, value = word.partition("=")
    return name.removesuffix("+"), value
