"""Judge every command of a line, the scripts inside it included, and keep what earlier commands changed.

The judge follows variables, the directory, functions and downloads through one line, so that a command is judged by
what the shell will run, not by how it is written.
"""

import re
from collections.abc import Mapping

from fourhands.safety.secretnames import SecretNames
from fourhands.safety.shell import text as raw_text
from fourhands.safety.shell.case import Case, Handler, Stdin
from fourhands.safety.shell.grammar import Simple, structure
from fourhands.safety.shell.judge_code import CODE, VERSIONED, interpreter, names_variable
from fourhands.safety.shell.judge_files import FILES
from fourhands.safety.shell.judge_git import git
from fourhands.safety.shell.judge_network import NETWORK
from fourhands.safety.shell.judge_packages import PACKAGES
from fourhands.safety.shell.levels import DANGEROUS, FINE, LEVELS, SAFE, UNKNOWN, Finding, dangerous, unknown, worst
from fourhands.safety.shell.options import Tool, read, ruled
from fourhands.safety.shell.options import words as words_of
from fourhands.safety.shell.places import NULL, is_protected, normal, own, secret, written
from fourhands.safety.shell.scan import scan
from fourhands.safety.shell.tables_names import (
    HARMLESS_PAGERS,
    HELPFUL,
    HOOK_PREFIXES,
    HOOKS,
    PRIVILEGE,
    SECRET_PARTS,
    WRAPPERS,
)
from fourhands.safety.shell.tables_readers import READERS
from fourhands.safety.shell.tables_system import SYSTEM, SYSTEM_PREFIXES
from fourhands.safety.shell.tables_tools import DATABASE_TOOLS, PROJECT
from fourhands.safety.shell.tokens import DEPTH_LIMIT, LIT, PARAM, VAR, Param, Piece, Redirect, Script, Word
from fourhands.safety.shell.verdict import Part, Rules
from fourhands.safety.shell.words import (
    COMMAND,
    DYNAMIC,
    GLOBS,
    Value,
    assigned,
    assignment,
    is_static,
    joined,
    literal,
    output,
    resolve_all,
    shown,
)
from fourhands.safety.shell.wrappers import unwrap, wrapper_name

_DECLARE = frozenset({"export", "declare", "typeset", "readonly", "local"})
_NAMES = frozenset({"test", "[", "[[", "printf", "read", "let", "unset", "mapfile", "readarray"}) | _DECLARE
_SECRET_VARIABLE = re.compile(rf"(?:\A|_)(?:{'|'.join(sorted(SECRET_PARTS))})(?:_|\Z)", re.IGNORECASE)
_SYSTEM_BIN = re.compile(
    r"/(?:usr/(?:local/)?)?s?bin/[^/]+|/opt/homebrew/bin/[^/]+|/snap/bin/[^/]+|/lib(?:32|"
    r"64)?/(?:[\w-]+/)?ld[^/]*\.so[^/]*"
)
_PROGRAM = re.compile(r"[\w./+-]+(?: +-[\w=-]+)*")
_COMPRESSORS = words_of("gzip pigz bzip2 pbzip2 lbzip2 xz pixz zstd pzstd lz4 lzop lzip compress")
_MOST_WRAPPERS = 32
_NOTHING_PRINTED = (["cat", NULL], ["printf", ""], ["echo", "-n"], ["echo", "-n", ""], ["exec"])

HANDLERS: dict[str, Handler] = {**PACKAGES, **NETWORK, **FILES, **CODE, "git": git}
TABLE: Mapping[str, Tool] = {**READERS, **SYSTEM, **PROJECT}
# Programs that are judged by a table alone: what they read makes no difference.
UNFED = frozenset(
    name for name, tool in TABLE.items() if name not in HANDLERS and tool.operands not in ("write", "last")
)
# The lexical scan of text that cannot be parsed looks at these only: no other name is dangerous by itself.
SUSPECTS = frozenset(HANDLERS) | frozenset(TABLE) | frozenset(WRAPPERS) | PRIVILEGE | DATABASE_TOOLS


class Judge:
    """The judge of one line: what it learns in one command counts for the next."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.names: SecretNames | None = rules.secret_names
        self.cwd = ""
        self.downloads: set[str] = set()
        self.variables: dict[str, Value | None] = {}
        self.older: dict[str, list[Value | None]] = {}
        self.functions: set[str] = set()
        self.forwarders: set[str] = set()
        self.depth = 0
        self.budget = 0
        self.baits: dict[int, str] = {}
        self.loads: set[int] = set()
        self.cache: dict[tuple[str | Word, ...], Finding] = {}

    # Texts ---------------------------------------------------------------------------------------------------

    def line(self, text: str) -> tuple[Finding, list[Part]]:
        """Judge a text that the shell reads: the worst finding, and the commands with theirs."""
        if not self.depth:
            self.budget = 4 * len(text) + 65_536
        found = scan(text, self.depth)
        result = worst(FINE, *found.findings)
        broken = found.broken or found.too_deep
        parts: list[Part] = []
        for script in (found.script, *found.inner):
            if not script.tokens:
                continue
            shape = structure(script)
            broken = broken or shape.broken or shape.too_deep
            argvs: list[list[str]] = []
            outer = self.baits, self.loads
            self.baits, self.loads = {}, set()
            for number, command in enumerate(shape.commands):
                finding, argv = self.simple(command, number, argvs)
                argvs.append(argv)
                if command.place.piped and argv:
                    self._remember(command, number, argv)
                if finding.rank > result.rank:
                    result = finding
                if not command.compound or finding.rank:
                    parts.append(_part(script, command, finding, argv))
            self.baits, self.loads = outer
        if broken:
            deep = "nested too deeply to follow" if found.too_deep else "the shell grammar does not fit"
            result = worst(unknown("C2.1", f"not understood: {deep}"), result, self.lexical(text))
        return result, parts

    def script(self, text: str, what: str) -> Finding:
        """Judge a text that a shell will run later; text that is not static is dangerous."""
        if not is_static(text):
            return dangerous("C2.4", f"{what} runs text that is not wholly known here")
        self.budget -= len(text)
        if self.depth >= DEPTH_LIMIT or self.budget < 0:
            return worst(unknown("C2.4", f"{what}: too deep to follow"), self.lexical(text))
        self.depth += 1
        cwd = self.cwd
        finding, _ = self.line(text)
        self.cwd = cwd
        self.depth -= 1
        return finding._replace(reason=f"{what}: {finding.reason}"[:200]) if finding.rank else finding

    def lexical(self, text: str) -> Finding:
        """Look for dangerous commands in a text that no grammar fits."""
        result = FINE
        case = Case(self)
        seen: set[str] = set()
        for chunk in re.split(r"[;&|()`\n<>]+|\$[({]|[{}](?=\s|\Z)", re.sub(r"[\"'\\]", "", text)):
            words = chunk.split()
            while words and (
                words[0] in ("then", "do", "else", "if", "while", "until", "!", "time") or re.match(r"\w+=", words[0])
            ):
                words = words[1:]
            name = words[0].rsplit("/", 1)[-1] if words else ""
            if chunk in seen or not (name in SUSPECTS or name.startswith(tuple(SYSTEM_PREFIXES))):
                continue
            seen.add(chunk)
            if self.depth >= DEPTH_LIMIT + 2:
                break
            self.depth += 1
            result = worst(result, self.argv(words[:2000], case))
            self.depth -= 1
            if result.rank == DANGEROUS:
                return result
        return result if result.rank == DANGEROUS else FINE

    # Commands ------------------------------------------------------------------------------------------------

    def simple(self, command: Simple, number: int, argvs: list[list[str]]) -> tuple[Finding, list[str]]:
        """Judge one simple command of a script."""
        if command.loop is not None:
            self._loop(command.loop)
        words, place = command.words, command.place
        if (
            words
            and not command.redirects
            and not place.functions
            and not place.inputs
            and not (place.endless or command.arithmetic)
        ):
            quick = self._quick(words, place.fed_from < 0)
            if quick is not None:
                return quick, words  # type: ignore[return-value]  # quick findings are for plain words only
        finding, argv = self._judged(command, number, argvs)
        if self.older and any(isinstance(word, Word) for word in words):
            finding = worst(finding, self._with_older(command, number, argvs))
        return finding, argv

    def _quick(self, words: list[str | Word], alone: bool) -> Finding | None:
        """Judge plain words that need nothing but a look into a table; most commands of most lines do."""
        for word in words:
            if type(word) is not str:
                return None
        name = words[0]
        if "=" in name or self.rules.patterns:  # type: ignore[operator]  # all are str
            return None
        key = tuple(words)
        finding = self.cache.get(key)
        if finding is None and (alone or name in UNFED) and name not in ("cd", "chdir", "pushd"):
            finding = self.cache[key] = self.argv(words, Case(self))  # type: ignore[arg-type]  # all are str
        elif finding is not None and not alone and name not in UNFED:
            return None
        return finding

    def _judged(self, command: Simple, number: int, argvs: list[list[str]]) -> tuple[Finding, list[str]]:
        findings = [FINE]
        words = command.words
        if command.arithmetic:
            return worst(FINE, *self._expansions(words)), []
        before = 0
        for word in words:
            sign = assignment(word)
            if sign is None:
                break
            before += 1
            findings.append(self._assign(word, sign[0], sign[1]))
        findings.extend(self._expansions(words))
        rest = words[before:]
        argv = resolve_all(rest, self.variables)
        case = self._case(command, number, argvs)
        if rest:
            named = self._name(rest[0], argv, command)
            if named is not None:
                findings.append(named)
        if argv and (is_static(argv[0]) or len(argv) > 1):
            findings.append(self.argv(argv, case))
        findings.append(self._position(command, argv))
        findings.extend(self._redirect(redirect, argv, command, case) for redirect in command.redirects)
        if rest and self.rules.patterns:
            findings.append(self._user_rules(argv))
        return worst(*findings), argv

    def _with_older(self, command: Simple, number: int, argvs: list[list[str]]) -> Finding:
        """Judge a command again with the other values its variables were given in this line."""
        pieces = [piece for word in command.words if isinstance(word, Word) for piece in word.pieces]
        used = {
            piece.inner.name if isinstance(piece.inner, Param) else piece.text
            for piece in pieces
            if piece.kind in (VAR, PARAM)
        }
        result = FINE
        for name in used & self.older.keys():
            newest = self.variables.get(name)
            for value in self.older[name]:
                self.variables[name] = value
                result = worst(result, self._judged(command, number, argvs)[0])
            self.variables[name] = newest
        return result

    def _case(self, command: Simple, number: int, argvs: list[list[str]]) -> Case:
        start = command.place.fed_from
        case = Case(self)
        if start >= 0:
            case.bait, case.from_network = self.baits.get(start, ""), start in self.loads
            text = output(argvs[start]) if start == number - 1 else None
            case.stdin = Stdin("data", source="|") if text is None else Stdin("text", text, "|")
        for redirect in (*command.place.inputs, *command.redirects):
            if redirect.body is not None:
                text = joined(redirect.body, self.variables)
                case.stdin = (
                    Stdin("text", text, redirect.op[:3].rstrip("-")) if is_static(text) else Stdin("data", source="<<")
                )
            elif redirect.op in ("<", "<>") and redirect.fd in ("", "0"):
                case.stdin = Stdin("data", source="<")
        return case

    def _remember(self, command: Simple, number: int, argv: list[str]) -> None:
        """Keep what a pipeline's later stages must know of this one."""
        start = command.place.fed_from if command.place.fed_from >= 0 else number
        if argv[0] in NETWORK:
            self.loads.add(start)
        if start not in self.baits and (found := self.secret(argv[1:])):
            self.baits[start] = found

    def _name(self, word: str | Word, argv: list[str], command: Simple) -> Finding | None:
        """Judge a command name that the text does not decide (C3.3)."""
        if isinstance(word, str) or not argv:
            return None
        name = argv[0]
        if is_static(name):
            if not GLOBS.isdisjoint(name) and name[:1] not in ("[", "\ue003"):
                return dangerous("C3.3", f"a command name that is a pattern: {shown(name)}")
            return None
        pieces = [piece for piece in word.pieces if piece.text or piece.kind != LIT]
        if len(pieces) == 1 and (pieces[0].kind == VAR or _is_plain(pieces[0])):
            if command.place.functions and (pieces[0].text in ("@", "*") or pieces[0].text.isdigit()):
                self.forwarders.add(command.place.functions[-1])
            return unknown("C3.3", f"a command name that only the shell knows: ${pieces[0].text or '{…}'}")
        return dangerous("C3.3", "a command name that is put together while it runs")

    def _position(self, command: Simple, argv: list[str]) -> Finding:
        place = command.place
        if place.functions:
            self.functions.add(place.functions[-1])
            if argv and argv[0] in place.functions and (place.piped or place.background):
                return dangerous("C2.7", f"a function that starts itself again and again: {shown(argv[0])}")
        if place.endless and place.background:
            return dangerous("C2.7", "an endless loop that starts background jobs")
        return FINE

    def _loop(self, loop: list[str | Word]) -> None:
        name, *words = loop
        if not isinstance(name, str):
            return
        values = resolve_all(words[:64], self.variables)
        for value in values[:64] if values else [None]:
            self._set(name, value)

    def _set(self, name: str, value: Value | None) -> None:
        if name in self.variables and self.variables[name] != value:
            older = self.older.setdefault(name, [])
            if len(older) < 64 and self.variables[name] not in older:
                older.append(self.variables[name])
        self.variables[name] = value

    def _assign(self, word: str | Word, name: str, sign: str) -> Finding:
        value = assigned(word, self.variables)
        before = self.variables.get(name)
        if sign == "+=" and isinstance(before, str) and isinstance(value, str):
            value = (before + value)[:10_000]
        elif sign == "+=" and isinstance(before, list) and isinstance(value, list):
            value = [*before, *value][:1_000]
        elif sign == "+=" and name not in self.variables:
            value = DYNAMIC
        self._set(name, value)
        return self.setting(name, value)

    def setting(self, name: str, value: Value | None) -> Finding:
        """Judge the assignment of a variable (C3.4)."""
        if name == "PROMPT_COMMAND" and isinstance(value, str):
            return worst(dangerous("C3.4", "sets PROMPT_COMMAND: runs before every prompt"), self.script(value, name))
        if name in HOOKS or name.startswith(HOOK_PREFIXES):
            return dangerous("C3.4", f"sets {name}: changes what programs run")
        return FINE

    def _expansions(self, words: list[str | Word]) -> list[Finding]:
        findings: list[Finding] = []
        for word in words:
            if isinstance(word, Word):
                self._pieces(word.pieces, findings)
                if word.elements:
                    findings.extend(self._expansions(word.elements))
            elif not word.isascii() and (found := raw_text.hosts(word)):
                findings.append(found)
        return findings

    def _pieces(self, pieces: list[Piece], findings: list[Finding], depth: int = 0) -> None:
        for piece in pieces:
            name, kept = piece.text, True
            if piece.kind == PARAM and isinstance(piece.inner, Param):
                name = piece.inner.name
                kept = piece.inner.op not in ("+", ":+") and piece.inner.lead != "#"
                if depth < DEPTH_LIMIT:
                    self._pieces(piece.inner.operand, findings, depth + 1)
            elif piece.kind != VAR:
                if piece.kind == LIT and not piece.text.isascii() and (found := raw_text.hosts(piece.text)):
                    findings.append(found)
                continue
            if name == "IFS":
                findings.append(dangerous("C3.3", "$IFS stands for a blank that nobody sees"))
            elif kept and name not in self.variables and _SECRET_VARIABLE.search(name):
                findings.append(dangerous("C5.4", f"expands the secret variable ${name}"))

    # Arguments -----------------------------------------------------------------------------------------------

    def argv(self, argv: list[str], case: Case) -> Finding:
        """Judge resolved arguments: wrappers first, then the program inside them."""
        findings = [FINE]
        if argv:
            findings.append(self._everywhere(argv))
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
            argv, finding = unwrap(wrapper, argv if argv[0] == name else [name, *argv[1:]], case)
            findings.append(finding)
        else:
            return worst(
                *findings, unknown("C4", "too many wrappers around a command"), self.lexical(" ".join(argv[-200:]))
            )
        if not is_static(argv[0]):
            # The name itself was judged where the word is known; inside a wrapper nobody did.
            findings.append(unknown("C3.3", "a command name that only the shell knows"))
        else:
            findings.append(self._program(name, argv, case))
        if argv and self.rules.patterns:
            findings.append(self._user_rules(argv))
        return worst(*findings)

    def _everywhere(self, argv: list[str]) -> Finding:
        """Judge what is dangerous whatever the program."""
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

    def _program(self, name: str, argv: list[str], case: Case) -> Finding:
        """Judge one program by its handler or its table entry."""
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
            finding = worst(names_variable(argv, case), *(self.setting(word, None) for word in _set_by(name, rest)))
            self._builtin(name, argv)
            if name in _DECLARE:
                finding = worst(finding, *(self.setting(*_split(word)) for word in rest if "=" in word))
                if any(word.startswith("-") and "p" in word for word in rest[:1]) and len(rest) == 1:
                    finding = worst(finding, unknown("C5.4", "prints all variables"))
        elif name == "printenv":
            return self._printenv(rest)
        elif name == "set" and rest:
            self._positional(rest)
        elif name == "hash" and "-p" in rest:
            return dangerous("C3.4", "changes what a name runs")
        handler = HANDLERS.get(name)
        if handler is None and VERSIONED.fullmatch(name):
            handler = interpreter
        if handler is not None:
            finding = worst(finding, handler(argv, case))
        elif (tool := TABLE.get(name)) is not None:
            own_finding = self.plain(tool, rest, case)
            if own_finding.rank and name not in own_finding.reason:
                own_finding = own_finding._replace(reason=f"{own_finding.reason}: {name}")
            finding = worst(finding, own_finding)
            if tool.operands in ("write", "last") and case.from_network:
                self.downloads.update(normal(word, self.cwd) for word in rest if not word.startswith("-"))
        else:
            finding = worst(finding, self._unlisted(name, argv, case))
        if finding.rank == UNKNOWN and name in self.rules.safe_commands:
            return Finding(SAFE, "rules", f"{name} is in your list of safe commands")
        return finding

    def _unlisted(self, name: str, argv: list[str], case: Case) -> Finding:
        if name in DATABASE_TOOLS:
            return dangerous("C7", f"deletes a database: {name}")
        for prefix, reason in SYSTEM_PREFIXES.items():
            if name.startswith(prefix):
                return dangerous("C5.5", f"{reason}: {name}")
        if name in self.functions:
            if name in self.forwarders and len(argv) > 1:
                return self.argv(argv[1:], case)
            return Finding(SAFE, "C2.2", f"calls the function {name}, whose commands are judged")
        if found := self.secret(argv[1:]):
            return dangerous("C5.4", f"could read the secret file {shown(found)}")
        return unknown("C7", f"not in any list: {shown(name)}")

    def plain(self, tool: Tool, rest: list[str], case: Case) -> Finding:
        """Judge arguments by a table entry alone."""
        args = read(rest, tool)
        findings = [Finding(tool.rank, tool.rule, tool.reason)]
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
        kind = tool.operands
        if kind == "name":
            return worst(*findings)
        skip = 0 if tool.unskip and args.has(*tool.unskip) else tool.skip
        operands = args.operands[skip:]
        if kind == "made":
            bad = [word for word in operands if is_protected(word, self.cwd)]
            return worst(*findings, *(dangerous("C5.2", f"changes {shown(word)}: a protected place") for word in bad))
        targets = (
            operands
            if kind == "write"
            else operands[-1:]
            if kind == "last"
            else operands[1:2]
            if kind == "second"
            else []
        )
        findings.extend(written(word, self.cwd) for word in targets if word != "-")
        texts = {value for option, value in args.options if option in tool.texts and value} | set(args.operands[:skip])
        read_words = [*operands, *(value for option, value in args.options if value and option not in tool.texts)]
        read_words += [
            word
            for word in rest
            if word[:1] == "-" and word[1:2] != "-" and not any(word.endswith(text) for text in texts)
        ]
        if found := self.secret(read_words):
            findings.append(dangerous("C5.4", f"reads the secret file {shown(found)}"))
        if tool.rank == SAFE and kind == "read" and any(DYNAMIC in word or COMMAND in word for word in operands):
            findings.append(unknown("C3.1", "reads a file whose name is not in the text"))
        return worst(*findings)

    def secret(self, argv: list[str]) -> str:
        """Return the first argument that names a secret file, or nothing."""
        return secret(argv, self.cwd, self.names)

    def _user_rules(self, argv: list[str]) -> Finding:
        text = " ".join(map(shown, argv))
        for pattern in self.rules.patterns:
            if pattern.search(text[:20_000]):
                return dangerous("rules", f"matches your dangerous command {pattern.pattern!r}")
        return FINE

    # Builtins that change what later words mean --------------------------------------------------------------

    def _builtin(self, name: str, argv: list[str]) -> None:
        if name in ("read", "mapfile", "readarray"):
            for word in argv[1:]:
                if not word.startswith("-"):
                    self._set(word, DYNAMIC)
        elif name in _DECLARE:
            for word in argv[1:]:
                variable, equals, value = word.partition("=")
                if equals and variable.isidentifier() and not value.startswith("("):
                    self._set(variable, value)

    def _positional(self, rest: list[str]) -> None:
        if "--" in rest:
            values = rest[rest.index("--") + 1 :]
            self._set("@", list(values))
            for number, value in enumerate(values[:9], 1):
                self._set(str(number), value)

    def _printenv(self, rest: list[str]) -> Finding:
        names = [word for word in rest if not word.startswith("-")]
        if not names:
            return unknown("C4", "prints the environment")
        for word in names:
            if _SECRET_VARIABLE.search(word) or not is_static(word):
                return dangerous("C5.4", f"prints the secret variable {shown(word)}")
        return FINE

    # Redirections --------------------------------------------------------------------------------------------

    def _redirect(self, redirect: Redirect, argv: list[str], command: Simple, case: Case) -> Finding:
        op, target = redirect.op, redirect.target
        findings: list[Finding] = []
        if redirect.body is not None:
            self._pieces(redirect.body, findings)
            return worst(FINE, *findings)
        findings.extend(self._expansions([target]))
        resolved = resolve_all([target], self.variables)
        path = resolved[0] if resolved else ""
        if op in (">&", "<&") and re.fullmatch(r"\d*-?", path):
            return worst(FINE, *findings)
        findings.append(self._everywhere([path]))
        if op in ("<", "<&"):
            if found := self.secret([path]):
                findings.append(dangerous("C5.4", f"reads the secret file {shown(found)}"))
            elif not is_static(path) and path[:1] != "\ue009":
                findings.append(unknown("C3.1", "reads a file whose name is not in the text"))
            return worst(FINE, *findings)
        if path[:1] == "\ue009":
            return worst(FINE, *findings)
        target_finding = written(path, self.cwd)
        findings.append(target_finding)
        empties = op in (">", ">|", "&>", ">&") and not command.compound
        nothing = not argv or argv in ([":"], ["true"], *_NOTHING_PRINTED[:4])
        if target_finding.rank and empties and nothing:
            findings.append(dangerous("C5.1", f"empties {shown(path)}"))
        if case.from_network or (argv and argv[0] in NETWORK):
            self.downloads.add(normal(path, self.cwd))
        return worst(FINE, *findings)


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


def _is_plain(piece: Piece) -> bool:
    inner = piece.inner
    return piece.kind == PARAM and isinstance(inner, Param) and not (inner.op or inner.lead or inner.index)


def _split(word: str) -> tuple[str, str]:
    name, _, value = word.partition("=")
    return name.removesuffix("+"), value


def _part(script: Script, command: Simple, finding: Finding, argv: list[str]) -> Part:
    text = script.text[command.start : command.end]
    reason = finding.reason if finding.rank else "safe: " + finding.reason
    words = tuple(map(shown, argv))
    return Part(text, LEVELS[finding.rank], reason, finding.rule, words)
