"""The classifier of one program by its resolved arguments: wrappers, the program's handler or its table entry.

Most verdicts come from here. What a program changes for later commands (variables, the directory, downloads) is stored
here too.
"""

import re
from abc import abstractmethod
from collections.abc import Mapping
from functools import lru_cache

from fourhands.safety.redaction.file_names import SecretNames
from fourhands.safety.shell import lookalikes as raw_text
from fourhands.safety.shell.arithmetic import is_number
from fourhands.safety.shell.assignments import DECLARE, HIDDEN, NAMES
from fourhands.safety.shell.context import CommandContext, ProgramHandler
from fourhands.safety.shell.effects import EffectsRecord
from fourhands.safety.shell.expansions import SECRET_VARIABLE, Expansions
from fourhands.safety.shell.file_rules import NULL, device, is_outside, is_protected, normal, own, secret, written
from fourhands.safety.shell.globs import has_glob, reading
from fourhands.safety.shell.levels import DANGEROUS, FINE, SAFE, UNKNOWN, Finding, dangerous, unknown, worst
from fourhands.safety.shell.options import Tool, read, ruled
from fourhands.safety.shell.options import words as words_of
from fourhands.safety.shell.parser.expansion import (
    BRACKET,
    COMMAND,
    DYNAMIC,
    MARK,
    STAR,
    is_static,
    literal,
    shown,
)
from fourhands.safety.shell.parser.tokens import DEPTH_LIMIT
from fourhands.safety.shell.programs.files import FILES
from fourhands.safety.shell.programs.filters import FILTERS
from fourhands.safety.shell.programs.git import git
from fourhands.safety.shell.programs.interpreters import CODE, VERSIONED, interpreter, names_variable
from fourhands.safety.shell.programs.network import NETWORK
from fourhands.safety.shell.programs.packages import PACKAGES
from fourhands.safety.shell.programs.services import SERVICES
from fourhands.safety.shell.programs.wrappers import unwrap, wrapper_name
from fourhands.safety.shell.recursion import recursive
from fourhands.safety.shell.tables.arguments import suspicious
from fourhands.safety.shell.tables.harmless import HARMLESS, unlisted
from fourhands.safety.shell.tables.names import (
    HARMLESS_PAGERS,
    HELPFUL,
    PRIVILEGE,
    WRAPPERS,
)
from fourhands.safety.shell.tables.readers import READERS
from fourhands.safety.shell.tables.services import DATABASE_TOOLS
from fourhands.safety.shell.tables.shell import called_by_shell, shell_settings
from fourhands.safety.shell.tables.system import SYSTEM, SYSTEM_PREFIXES, WINDOWS
from fourhands.safety.shell.tables.tools import PROJECT
from fourhands.safety.shell.verdict import ClassifierRules

_SYSTEM_BIN = re.compile(
    r"/(?:usr/(?:local/)?)?s?bin/[^/]+|/opt/homebrew/bin/[^/]+|/snap/bin/[^/]+|/lib(?:32|"
    r"64)?/(?:[\w-]+/)?ld[^/]*\.so[^/]*"
)
_PROGRAM = re.compile(r"[\w./+-]+(?: +-[\w=-]+)*")
_COMPRESSORS = words_of("gzip pigz bzip2 pbzip2 lbzip2 xz pixz zstd pzstd lz4 lzop lzip compress")
_READ = frozenset({"read", "last", "second"})  # what a table says of operands that are read
_PROJECT_TOOLS = words_of("cargo go make gmake npm pnpm yarn bun python python3")
# Handlers of programs that classify every word by themselves, or whose words are no options.
_OWN_WORDS = words_of("cd chdir pushd kill alias eval trap source . mapfile readarray complete compgen bind")
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


class ProgramClassifier(Expansions):
    """The classifier of programs; what one changes counts for the next."""

    def __init__(self, rules: ClassifierRules) -> None:
        super().__init__()
        self.rules = rules
        self.effects = EffectsRecord()
        self.names: SecretNames | None = rules.secret_names
        self.cwd = ""
        self.places: list[str] = []  # every directory that the line has gone to
        self.revisiting = False
        self.inside = 0
        self.searching = False
        self.downloads: set[str] = set()
        self.forwarders: set[str] = set()

    def start_in(self, directory: str) -> None:
        """Begin in another directory than the workspace's root."""
        home = self.rules.workspace.rstrip("/")
        if directory and home and (directory.rstrip("/") + "/").startswith(home + "/"):
            directory = directory[len(home) :].strip("/")
        self.cwd = normal(directory) if directory else ""
        self.places = [self.cwd] if self.cwd else []

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
            if program[:1] == "=" and len(program) > 1 and is_static(program):  # zsh: the program of that name
                argv = [program[1:], *argv[1:]]
                program = argv[0]
            name = program if "/" not in program else normal(program).rsplit("/", 1)[-1]
            name = name.removeprefix("zf_")  # zsh's own forms of rm, mv and others
            if not program.isascii() and is_static(program) and (found := raw_text.name(program)):
                findings.append(found)
            if name in PRIVILEGE and argv[1:] not in (["--version"], ["--help"]):
                self.effects.program(name, argv[1:], DANGEROUS, self.cwd)
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
        elif (
            program.lower() in WINDOWS and program not in self.functions and argv[1:] not in (["--help"], ["--version"])
        ):
            findings.append(dangerous("C5.1", f"{WINDOWS[program.lower()]} on Windows: {program}"))
        else:
            findings.append(self._program(name, argv, context))
            self.effects.program(name, argv[1:], findings[-1].rank, self.cwd)
        if argv and self.rules.patterns:
            findings.append(self.user_rules(argv))
        return worst(*findings)

    def everywhere(self, argv: list[str]) -> Finding:
        """Classify what is dangerous whatever the program."""
        text, name = "\n".join(argv), argv[0]
        if "/dev/tcp/" in text or "/dev/udp/" in text:
            return dangerous("C7", "opens a connection: /dev/tcp")
        inside = "fourhands" in text or "fourhands" in self.cwd
        if inside and name not in ("echo", "printf") and (found := own(argv, self.cwd, self.rules.own_directories)):
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
        if name in NAMES:
            finding = worst(names_variable(argv, context), self.builtin(name, argv))
            if name in DECLARE and any(word.startswith("-") and "p" in word for word in rest[:1]):
                finding = worst(finding, self._printenv(rest))
        elif name == "printenv":
            return self._printenv(rest)
        elif name in ("set", "shopt", "setopt") and rest:
            self._positional(rest)
            finding = worst(
                finding, shell_settings(name, [literal(word) if is_static(word) else word for word in rest])
            )
        elif name == "hash" and "-d" in rest and len(rest) > 1:
            finding = unknown("C3.4", "changes what ~NAME means")
        elif name == "hash" and any((word[:1] == "-" and "p" in word) or "=" in word for word in rest):
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
        if finding.rank == SAFE and name not in self.functions:
            findings = [unlisted(name, rest, TABLE.get(name)), self._foreign(name, rest), _injected(name, rest)]
            finding = worst(finding, *findings)
        if finding.rank == UNKNOWN and name in self.rules.safe_commands:
            return Finding(SAFE, "rules", f"{name} is in your list of safe commands")
        return finding

    def _foreign(self, name: str, rest: list[str]) -> Finding:
        """Classify a routine task's operands: outside the workspace it runs what is not the project."""
        if name not in PROJECT and name not in _PROJECT_TOOLS:
            return FINE
        if is_outside(self.cwd, "", self.rules.workspace) or self.cwd.startswith(("/tmp", "/var/tmp")):
            home = self.rules.workspace.rstrip("/")
            if not home or not (self.cwd + "/").startswith(home + "/"):
                return unknown("C6.6", f"{name} runs code outside the workspace: in {shown(self.cwd)}")
        for word in rest:
            path = normal(word.partition("=")[2] or word, self.cwd) if "/" in word or word[:2] == ".." else ""
            if path[:1] in ("/", "~") or path == ".." or path.startswith("../"):
                home = self.rules.workspace.rstrip("/")
                if not home or not (path + "/").startswith(home + "/"):
                    return unknown("C6.6", f"{name} runs code outside the workspace: {shown(word)}")
        return FINE

    def _unlisted(self, name: str, argv: list[str], context: CommandContext) -> Finding:
        if name in DATABASE_TOOLS:
            return dangerous("C7", f"deletes a database: {name}")
        for prefix, reason in SYSTEM_PREFIXES.items():
            if name.startswith(prefix):
                return dangerous("C5.5", f"{reason}: {name}")
        if name in self.functions:
            if name in self.forwarders and len(argv) > 1:
                return self.argv(argv[1:], context)
            if any(HIDDEN.search(word) for word in argv[1:]):
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
        if kind == "write" and targets and all(normal(word, self.cwd) == NULL for word in targets):
            return worst(FINE, *findings[1:])  # tee /dev/null
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
        if kind in _READ and (globbed := [word for word in operands if has_glob(word)]):
            findings.extend(self.globbed(word) for word in globbed)
        if kind == "read" and (found := device(operands, self.cwd)):
            findings.append(dangerous("C5.4", f"reads the whole device {shown(found)}"))
        if tool.deep:
            findings.extend(recursive(tool, args, operands, self.cwd, self.rules.workspace))
        places = [self.cwd, *operands] if operands else []
        if tool.rank == SAFE and kind == "read" and any(DYNAMIC in word or COMMAND in word for word in places):
            findings.append(unknown("C3.1", "reads a file whose name is only known at run time"))
        return worst(*findings)

    def globbed(self, word: str) -> Finding:
        """Classify a pattern whose files are read."""
        return reading(word, normal(word, self.cwd), self.rules.workspace, self.rules.own_directories, self.names)

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


def is_known(function: str) -> bool:
    """Return True if a function takes the place of a program with rules of its own, or the shell calls it by itself."""
    return (function in SUSPECTS and function not in WINDOWS) or called_by_shell(function)


def _injected(name: str, rest: list[str]) -> Finding:
    """Classify words that the text does not decide: for a program with dangerous options they may be such options."""
    tool = TABLE.get(name)
    risky = name in HARMLESS or (name in HANDLERS and name not in _OWN_WORDS)
    if not (risky or (tool and (tool.writes or tool.runs or tool.danger or tool.ask))):
        return FINE
    for word in rest:
        if word == "--":
            break
        if word[:1] in (DYNAMIC, COMMAND) and not is_number(word):
            return unknown("C3.1", f"{name} with a word that may be an option: {shown(word)[:40]}")
        if word[:1] in (STAR, MARK, BRACKET) and (tool is None or tool.runs or name in HARMLESS):
            return unknown("C3.1", f"{name} with a pattern that may match a file named like an option: {shown(word)}")
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
