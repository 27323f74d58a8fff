"""The classifier of a command line: every command in it, and the scripts inside those.

It follows variables, the directory, functions and downloads through one line, so that a command is classified by what
the shell will run, not by how it is written.
"""

import re

from fourhands.safety.shell.context import CommandContext, Stdin
from fourhands.safety.shell.file_rules import NULL, device, normal, written
from fourhands.safety.shell.globs import has_glob, lists_narrowly
from fourhands.safety.shell.levels import DANGEROUS, FINE, LEVELS, Finding, dangerous, unknown, worst
from fourhands.safety.shell.lexical import chunks, fork_bomb
from fourhands.safety.shell.parser.expansion import (
    BRACKET,
    GLOBS,
    assignment,
    is_static,
    joined,
    literal,
    output,
    resolve_all,
    shown,
)
from fourhands.safety.shell.parser.scanner import scan
from fourhands.safety.shell.parser.structure import CommandScope, Simple, structure
from fourhands.safety.shell.parser.tokens import (
    DEPTH_LIMIT,
    LIT,
    MOST_TOKENS,
    PARAM,
    RESERVED,
    VAR,
    Param,
    Redirect,
    Script,
    Word,
    WordPart,
)
from fourhands.safety.shell.program_classifier import SUSPECTS, UNFED, ProgramClassifier, is_known
from fourhands.safety.shell.programs.network import NETWORK
from fourhands.safety.shell.tables.system import SYSTEM_PREFIXES
from fourhands.safety.shell.verdict import ClassifierRules, VerdictPart

_WORDS_OF_THEIR_OWN = ("case", "for", "select", "foreach")  # their words belong to no command
_NOTHING_PRINTED = (["cat", NULL], ["printf", ""], ["echo", "-n"], ["echo", "-n", ""], ["exec"])


class LineClassifier(ProgramClassifier):
    """The classifier of one line; what one command changes counts for the next."""

    def __init__(self, rules: ClassifierRules) -> None:
        super().__init__(rules)
        self.depth = 0
        self.budget = 0
        self.left = MOST_TOKENS
        self.substituted = False
        self.baits: dict[int, str] = {}
        self.loads: set[int] = set()
        self.narrow: set[int] = set()  # pipelines that list no secret names
        self.cache: dict[tuple[object, ...], Finding] = {}

    # Texts ---------------------------------------------------------------------------------------------------

    def line(self, text: str) -> tuple[Finding, list[VerdictPart]]:
        """Classify a text that the shell reads: the worst finding, and the commands with theirs."""
        if not self.depth:
            self.budget = 4 * len(text) + 65_536
        found = scan(text, self.depth, self.left)
        self.left = found.left
        result = worst(FINE, *found.findings)
        broken = found.broken or found.too_deep
        parts: list[VerdictPart] = []
        for script in (found.script, *found.inner):
            if not script.tokens:
                continue
            shape = structure(script)
            broken = broken or shape.broken or shape.too_deep
            argvs: list[list[str]] = []
            outer = self.baits, self.loads, self.narrow, self.substituted
            self.baits, self.loads, self.narrow, self.substituted = {}, set(), set(), script is not found.script
            for number, command in enumerate(shape.commands):
                finding, argv = self.simple(command, number, argvs)
                argvs.append(argv)
                if command.place.piped and argv:
                    self._remember(command, number, argv)
                result = worst(result, finding)
                if not command.compound or finding.rank:
                    parts.append(_part(script, command, finding, argv))
            if any(token.kind == RESERVED and token.value in _WORDS_OF_THEIR_OWN for token in script.tokens):
                words = [token.value for token in script.tokens if isinstance(token.value, Word)]
                result = worst(result, *self.expansions([*words]))
            self.baits, self.loads, self.narrow, self.substituted = outer
        if self.left < 0:
            result = worst(dangerous("C2.1", f"too long to check: more than {MOST_TOKENS:,} words and signs"), result)
        elif broken:
            deep = "nested too deeply" if found.too_deep else "invalid shell syntax"
            result = worst(unknown("C2.1", f"cannot be parsed: {deep}"), result, self.lexical(text))
        return result, parts

    def script(self, text: str, what: str) -> Finding:
        """Classify a text that a shell will run later; text that is not static is dangerous."""
        if not is_static(text):
            return dangerous("C2.4", f"{what} runs text that is only known at run time")
        self.budget -= len(text)
        if self.depth >= DEPTH_LIMIT or self.budget < 0:
            return worst(unknown("C2.4", f"{what}: nested too deeply"), self.lexical(text))
        self.depth += 1
        cwd, places = self.cwd, [*self.places]
        finding, _ = self.line(text)
        if what != "eval":  # another process has a directory of its own
            self.cwd, self.places = cwd, places
        self.depth -= 1
        return finding._replace(reason=f"{what}: {finding.reason}"[:200]) if finding.rank else finding

    def lexical(self, text: str) -> Finding:
        """Search for dangerous commands in a text that no grammar fits."""
        result = fork_bomb(text)
        if result.rank:
            return result
        context = CommandContext(self)
        for words in chunks(text):
            name = words[0].rsplit("/", 1)[-1]
            if not (name in SUSPECTS or name.startswith(tuple(SYSTEM_PREFIXES))):
                continue
            if self.depth >= DEPTH_LIMIT + 2:
                break
            self.depth += 1
            result = worst(result, self._argv(words[:2000], context))
            self.depth -= 1
            if result.rank == DANGEROUS:
                return result
        return result if result.rank == DANGEROUS else FINE

    # Commands ------------------------------------------------------------------------------------------------

    def simple(self, command: Simple, number: int, argvs: list[list[str]]) -> tuple[Finding, list[str]]:
        """Classify one simple command of a script, wherever the line may have gone before."""
        finding, argv = self._here(command, number, argvs)
        others = [place for place in self.places if place != self.cwd]
        if others and not self.revisiting and argv[:1] not in (["cd"], ["pushd"]):
            here, self.revisiting = self.cwd, True
            for place in others:
                self.budget -= 64
                if self.budget < 0:
                    finding = worst(finding, unknown("C5.4", "changes to too many directories"))
                    break
                self.cwd = place
                finding = worst(finding, self._here(command, number, argvs)[0])
            self.cwd, self.revisiting = here, False
        return finding, argv

    def _here(self, command: Simple, number: int, argvs: list[list[str]]) -> tuple[Finding, list[str]]:
        """Classify one simple command in the directory where the line is now."""
        loop = FINE if command.loop is None else self.loop(command.loop)
        words, place = command.words, command.place
        if (
            words
            and not command.redirects
            and not place.functions
            and not place.inputs
            and not (place.endless or command.arithmetic or self.exported)
        ):
            quick = self._quick(words, self._fed(place, number, argvs))
            if quick is not None:
                return quick, words  # type: ignore[return-value]  # quick findings are for plain words only
        finding, argv = self._classified(command, number, argvs)
        finding = worst(finding, loop, self.hidden)
        if self.older and any(isinstance(word, Word) for word in words):
            finding = worst(finding, self._with_older(command, number, argvs))
        return finding, argv

    def _fed(self, place: CommandScope, number: int, argvs: list[list[str]]) -> str:
        """Return the kind of input: `nothing`, `data` whose content makes no difference, or `more` than that."""
        start = place.fed_from
        if start < 0:
            return "nothing"
        known = start == number - 1 and output(argvs[start]) is not None
        return "more" if known or start in self.loads or start in self.narrow or self.baits.get(start) else "data"

    def _quick(self, words: list[str | Word], fed: str) -> Finding | None:
        """Classify plain words by a table alone, which is enough for most commands of most lines."""
        for word in words:
            if type(word) is not str:
                return None
        name = words[0]
        assert isinstance(name, str)
        if "=" in name or name in ("cd", "chdir", "pushd", "popd") or (fed == "more" and name not in UNFED):
            return None
        # What earlier commands of the line changed counts too, and so does the nesting: at its limit less is found.
        key = (fed, self.cwd, len(self.downloads), len(self.functions), self.depth, self.inside, *words)
        finding = self.cache.get(key)
        if finding is None:
            context = CommandContext(self, Stdin("data", source="|")) if fed == "data" else CommandContext(self)
            finding = self.argv(words, context)  # type: ignore[arg-type]  # all are str
            if self.rules.patterns:
                finding = worst(finding, self.user_rules(words))  # type: ignore[arg-type]  # all are str
            self.cache[key] = finding
        return finding

    def _classified(self, command: Simple, number: int, argvs: list[list[str]]) -> tuple[Finding, list[str]]:
        findings = [FINE]
        words = command.words
        if command.arithmetic:
            inside = [self.evaluation(word.pieces) for word in words if isinstance(word, Word)]
            return worst(FINE, *inside, *self.expansions(words)), []
        before = 0
        for word in words:
            sign = assignment(word)
            if sign is None:
                break
            before += 1
            findings.append(self.assign(word, sign[0], sign[1]))
        findings.extend(self.expansions(words))
        rest = words[before:]
        argv = resolve_all(rest, self.variables)
        context = self._case(command, number, argvs)
        if before and rest:
            findings.append(self.in_front(words[:before], argv))
        if rest and self.exported:
            findings.append(self.inherited(argv))
        if rest:
            named = self._name(rest[0], argv, command)
            if named is not None:
                findings.append(named)
        if argv and (is_static(argv[0]) or len(argv) > 1):
            findings.append(self.argv(argv, context))
        findings.append(self._position(command, argv))
        if command.redirects:
            places = (re.fullmatch(r"\{(\w+)\[(.*)\]\}", literal(word)) for word in argv)  # {a[i]}<f
            findings.extend(self.subscript(place[1], place[2]) for place in places if place)
            findings.extend(self._redirect(redirect, argv, command, context) for redirect in command.redirects)
            if not (words or command.compound or self.substituted) and any(r.op == "<" for r in command.redirects):
                # bash does nothing then, and zsh starts a pager with it.
                findings.append(unknown("C3.3", "no command: the shell decides what reads the file"))
        if rest and self.rules.patterns:
            findings.append(self.user_rules(argv))
        return worst(*findings), argv

    def _with_older(self, command: Simple, number: int, argvs: list[list[str]]) -> Finding:
        """Classify a command again with the other values its variables were given in this line."""
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
                self.budget -= 16 + len(value or "")
                if self.budget < 0:
                    result = worst(result, unknown("C3.2", f"${name} has too many values"))
                    break
                self.variables[name] = value
                result = worst(result, self._classified(command, number, argvs)[0])
            self.variables[name] = newest
        return result

    def _case(self, command: Simple, number: int, argvs: list[list[str]]) -> CommandContext:
        start = command.place.fed_from
        context = CommandContext(self)
        if start >= 0:
            context.bait, context.from_network = self.baits.get(start, ""), start in self.loads
            context.narrow = start in self.narrow
            text = output(argvs[start]) if start == number - 1 else None
            context.stdin = Stdin("data", source="|") if text is None else Stdin("text", text, "|")
        for redirect in (*command.place.inputs, *command.redirects):
            if redirect.body is not None:
                text = joined(redirect.body, self.variables)
                context.stdin = (
                    Stdin("text", text, redirect.op[:3].rstrip("-")) if is_static(text) else Stdin("data", source="<<")
                )
            elif redirect.op in ("<", "<>") and redirect.fd in ("", "0"):
                context.stdin = Stdin("data", source="<")
        return context

    def _remember(self, command: Simple, number: int, argv: list[str]) -> None:
        """Record what a pipeline's later stages must know of this one."""
        start = command.place.fed_from if command.place.fed_from >= 0 else number
        if argv[0] in NETWORK:
            self.loads.add(start)
        if lists_narrowly(argv):
            self.narrow.add(start)
        if start not in self.baits and (found := self.secret(argv[1:])):
            self.baits[start] = found

    def _name(self, word: str | Word, argv: list[str], command: Simple) -> Finding | None:
        """Classify a command name that the text does not decide (C3.3)."""
        if isinstance(word, str) or not argv:
            return None
        name = argv[0]
        if is_static(name):
            if not GLOBS.isdisjoint(name) and name not in ("[", BRACKET):
                return dangerous("C3.3", f"the command name is a pattern: {shown(name)}")
            return None
        pieces = [piece for piece in word.pieces if piece.text or piece.kind != LIT]
        if len(pieces) == 1 and (pieces[0].kind == VAR or _is_plain(pieces[0])):
            if command.place.functions and (pieces[0].text in ("@", "*") or pieces[0].text.isdigit()):
                self.forwarders.add(command.place.functions[-1])
            return unknown("C3.3", f"the command name is only known at run time: ${pieces[0].text or '{…}'}")
        return dangerous("C3.3", "the command name is built at run time")

    def _position(self, command: Simple, argv: list[str]) -> Finding:
        place = command.place
        if place.endless and place.background:
            return dangerous("C2.7", "an endless loop that starts background jobs")
        if place.functions:
            called = place.functions[-1]
            self.functions.add(called)
            finding = unknown("C3.4", f"changes what {shown(called)} does") if is_known(called) else FINE
            if argv and argv[0] in place.functions and (place.piped or place.background):
                return dangerous("C2.7", f"a function that keeps starting itself: {shown(argv[0])}")
            return finding
        return FINE

    # Redirections --------------------------------------------------------------------------------------------

    def _redirect(self, redirect: Redirect, argv: list[str], command: Simple, context: CommandContext) -> Finding:
        op, target = redirect.op, redirect.target
        findings: list[Finding] = []
        if redirect.body is not None:
            self._pieces(redirect.body, findings)
            return worst(FINE, *findings)
        findings.extend(self.expansions([target]))
        if redirect.fd[:1] == "{":
            name, _, index = redirect.fd.strip("{}").partition("[")
            findings.append(worst(self.setting(name, "3"), self.subscript(name, index.rstrip("]")) if index else FINE))
        resolved = resolve_all([target], self.variables)
        path = resolved[0] if resolved else ""
        if op in (">&", "<&") and re.fullmatch(r"\d*-?", path):
            return worst(FINE, *findings)
        findings.append(self.everywhere([path]))
        if op in ("<", "<&"):
            if found := self.secret([path]) or device([path], self.cwd):
                findings.append(dangerous("C5.4", f"reads the secret file {shown(found)}"))
            elif not is_static(path) and path[:1] != "\ue009":
                findings.append(unknown("C3.1", "reads a file whose name is only known at run time"))
            elif has_glob(path):
                findings.append(self.globbed(path))
            return worst(FINE, *findings)
        if path[:1] == "\ue009":
            return worst(FINE, *findings)
        target_finding = written(path, self.cwd)
        findings.append(target_finding)
        empties = op in (">", ">|", "&>", ">&") and not command.compound
        nothing = not argv or argv in ([":"], ["true"], *_NOTHING_PRINTED[:4])
        if target_finding.rank and empties and nothing:
            findings.append(dangerous("C5.1", f"empties {shown(path)}"))
            self.effects.lose([path], self.cwd)
        if context.from_network or (argv and argv[0] in NETWORK):
            self.downloads.add(normal(path, self.cwd))
        return worst(FINE, *findings)


def _is_plain(piece: WordPart) -> bool:
    inner = piece.inner
    return piece.kind == PARAM and isinstance(inner, Param) and not (inner.op or inner.lead or inner.index)


def _part(script: Script, command: Simple, finding: Finding, argv: list[str]) -> VerdictPart:
    text = script.text[command.start : command.end]
    reason = finding.reason if finding.rank else "safe: " + finding.reason
    words = tuple(map(shown, argv))
    return VerdictPart(text, LEVELS[finding.rank], reason, finding.rule, words)
