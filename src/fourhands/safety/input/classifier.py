"""The classifier of typed text: the reader's own rules, and those of the shell behind it."""

from fourhands.core.errors import BadArgument
from fourhands.safety.input.behind import left_unread
from fourhands.safety.input.code import code
from fourhands.safety.input.debuggers import debugger
from fourhands.safety.input.editors import editor
from fourhands.safety.input.pagers import monitor, pager
from fourhands.safety.input.python import NOT_CODE, python
from fourhands.safety.input.readers import KEYED, Reader, ReaderKind
from fourhands.safety.input.statements import statements
from fourhands.safety.input.typed import CONTROL, TypedInput, divided, lines_of
from fourhands.safety.shell import ClassifierRules, Verdict
from fourhands.safety.shell.classifier import LineClassifier
from fourhands.safety.shell.effects import LineEffects
from fourhands.safety.shell.levels import DANGEROUS, LEVELS, Finding, dangerous, unknown, worst
from fourhands.safety.shell.lookalikes import raw

_DEFAULT = ClassifierRules()
_ASKS = ", which does not show its prompt"
LONGEST = 100_000
"""Characters of one input; more than that is dangerous, since no one can look at it."""


def verdict_on(
    given: TypedInput | str, reader: Reader, rules: ClassifierRules | None = None, *, cwd: str = ""
) -> Verdict:
    """Classify text that is typed into a program; a plain text counts as typed at the program's own prompt."""
    if not isinstance(given, TypedInput | str):
        raise BadArgument(f"input must be text, not {type(given).__name__}")
    rules = rules or _DEFAULT
    typed = given if isinstance(given, TypedInput) else TypedInput(given)
    if len(typed.text) > LONGEST:
        return Verdict("dangerous", f"input of more than {LONGEST:,} characters", "C2.1")
    own, shell = divided(typed, reader)
    certain = bool(typed.prompt or reader.rules.promptless) and reader.repl and not typed.ended
    finding = _read(own, typed, reader, LineClassifier(rules), certain=certain)
    read = certain and finding.rank < DANGEROUS and finding.rule != NOT_CODE
    if not certain and finding.rank < DANGEROUS and reader.kind not in KEYED:
        finding = unknown("C6.2", f"input for {reader.program}{_ASKS if reader.repl else ''}")
    findings = [*raw(CONTROL.sub("", typed.text)), finding]
    if typed.hidden:
        findings.append(dangerous("C1.1", f"{typed.hidden} makes the resulting line unpredictable"))
    if rules.patterns and rules.patterns.found_in(typed.text):
        findings.append(dangerous("rules", "matches your list of dangerous commands"))
    if shell.strip():
        findings.append(unknown("C2.4", f"what stands behind the end of {reader.program} is for a shell"))
    elif typed.ended:
        findings.append(unknown("C2.4", f"{reader.program} may have ended, and a shell may read this"))
    result = worst(*findings)
    behind = _behind(own, shell, typed, reader, rules, cwd, code=read)
    effects = _effects(result, reader, behind)
    if behind is not None and result.rank < DANGEROUS:
        reason = f"a shell behind {reader.program} may read it: {behind.reason}"
        return Verdict("dangerous", reason, behind.rule, behind.parts, effects)
    return Verdict(LEVELS[result.rank], result.reason, result.rule, [], effects)


def _read(own: str, typed: TypedInput, reader: Reader, classifier: LineClassifier, *, certain: bool) -> Finding:
    """Classify a text as its program reads it."""
    before = "\n".join(typed.before) if typed.prompt == "more" else ""
    match reader.kind:
        case ReaderKind.CODE if reader.language in ("python", "ipython"):
            magics = reader.language == "ipython"
            return python(own, classifier, before=before, script=not reader.repl, magics=magics)
        case ReaderKind.CODE if reader.repl or typed.prompt:
            return code(own, reader, classifier, before=before, certain=certain)
        case ReaderKind.STATEMENTS:
            return statements(own, reader, classifier, before=before, certain=certain)
        case ReaderKind.DEBUGGER:
            return debugger(own, reader, classifier, certain=certain)
        case ReaderKind.PAGER:
            return pager(own)
        case ReaderKind.MONITOR:
            return monitor(own)
        case ReaderKind.EDITOR:
            return editor(own, reader.language, classifier)
    return unknown("C7", f"input for {reader.program}")


def _behind(
    own: str, shell: str, typed: TypedInput, reader: Reader, rules: ClassifierRules, cwd: str, *, code: bool
) -> Verdict | None:
    """Return the verdict of a shell that gets this, if it is dangerous there."""
    whole = own
    if reader.kind in KEYED:  # only a whole line can run, and keys are none
        whole = CONTROL.sub("", "\n".join(lines_of(own)[:-1]))
    readings = [(whole, code), (shell, False)]
    if typed.unread and whole and not code:
        readings.append(("\n".join([*typed.unread, whole]), False))
    found = [left_unread(text, rules, code=read, cwd=cwd) for text, read in readings if text.strip()]
    return next((verdict for verdict in found if verdict is not None), None)


def _effects(result: Finding, reader: Reader, behind: Verdict | None) -> LineEffects:
    """Return the effects of what a program does by itself; without kinds where nobody knows where it would be done.

    A program may hand on what it reads to another place, and a shell behind it runs whatever it gets.
    """
    if behind is not None or not reader.repl or reader.kind not in (ReaderKind.CODE, ReaderKind.STATEMENTS):
        return LineEffects(all_known=False)
    works = "works in a database" if reader.kind is ReaderKind.STATEMENTS else ""
    return LineEffects(result.kinds, all_known=False, irreversible=works)
