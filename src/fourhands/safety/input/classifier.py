"""The classifier of typed text: the reader's own rules, and those of the shell behind it."""

import re
from dataclasses import dataclass

from fourhands.core.errors import BadArgument
from fourhands.safety.input.behind import left_unread
from fourhands.safety.input.code import code
from fourhands.safety.input.debuggers import debugger
from fourhands.safety.input.editors import editor
from fourhands.safety.input.pagers import monitor, pager
from fourhands.safety.input.python import NOT_CODE, python
from fourhands.safety.input.readers import KEYED, PromptSeen, Reader, ReaderKind, end_of, leaves
from fourhands.safety.input.statements import statements
from fourhands.safety.shell import ClassifierRules, Verdict
from fourhands.safety.shell.classifier import LineClassifier
from fourhands.safety.shell.effects import LineEffects
from fourhands.safety.shell.levels import DANGEROUS, LEVELS, Finding, dangerous, unknown, worst
from fourhands.safety.shell.lookalikes import raw

_DEFAULT = ClassifierRules()
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_KEY_THAT_ENDS = re.compile("[\x03\x04\x1a\x1c](?=.)", re.DOTALL)
_ASKS = ", which does not show its prompt"
LONGEST = 100_000
"""Characters of one input; more than that is dangerous, since no one can look at it."""


@dataclass(frozen=True, slots=True)
class TypedInput:
    """Text for a program, as far as it is known what stood there before it.

    `text` are its lines, each with its line end, what stands behind the last one, and for a program that takes keys one
    by one all keys. `before` are submitted lines of a statement that still wants its rest.
    """

    text: str
    before: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()  # lines that the program may not have read, so that a shell would get them too
    prompt: PromptSeen = "ready"
    hidden: str = ""  # a key that makes a line unknowable, in words
    ended: bool = False  # what ends the program was typed before


def classify_input(
    given: TypedInput | str, reader: Reader, rules: ClassifierRules | None = None, *, cwd: str = ""
) -> Verdict:
    """Classify text that is typed into a program; a plain text counts as typed at the program's own prompt."""
    if not isinstance(given, TypedInput | str):
        raise BadArgument(f"input must be text, not {type(given).__name__}")
    rules = rules or _DEFAULT
    typed = given if isinstance(given, TypedInput) else TypedInput(given)
    if len(typed.text) > LONGEST:
        return Verdict("dangerous", f"input of more than {LONGEST:,} characters", "C2.1")
    own, shell = _divided(typed, reader)
    certain = bool(typed.prompt or reader.rules.promptless) and reader.repl and not typed.ended
    finding = _read(own, typed, reader, LineClassifier(rules), certain=certain)
    read = certain and finding.rank < DANGEROUS and finding.rule != NOT_CODE
    if not certain and finding.rank < DANGEROUS and reader.kind not in KEYED:
        finding = unknown("C6.2", f"input for {reader.program}{_ASKS if reader.repl else ''}")
    findings = [*raw(_CONTROL.sub("", typed.text)), finding]
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


def _lines(text: str) -> list[str]:
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    return _KEY_THAT_ENDS.sub(r"\g<0>\n", plain).split("\n")


def goes_on_behind(typed: TypedInput, reader: Reader) -> bool:
    """Return True if a part of a text is for the shell behind its program."""
    if reader.kind in KEYED:
        end = end_of(reader, typed.text)
        rest = typed.text[end:] if end >= 0 else ""
        return typed.ended or ("\n" in rest.replace("\r", "\n") and bool(rest.strip()))
    return typed.ended or bool(_divided(typed, reader)[1].strip())


def _divided(typed: TypedInput, reader: Reader) -> tuple[str, str]:
    """Divide a text into what its program reads, and what a shell reads if one of the lines ends the program."""
    if reader.kind in KEYED:
        return typed.text, ""
    lines = _lines(typed.text)
    last = next((number for number, line in enumerate(lines, 1) if leaves(reader, line)), len(lines))
    return _CONTROL.sub("", "\n".join(lines[:last])), _CONTROL.sub("", "\n".join(lines[last:]))


def _read(own: str, typed: TypedInput, reader: Reader, classifier: LineClassifier, *, certain: bool) -> Finding:
    """Classify a text as its program reads it."""
    before = "\n".join(typed.before) if typed.prompt == "more" else ""
    match reader.kind:
        case ReaderKind.CODE if reader.language in ("python", "ipython"):
            magics = reader.language == "ipython"
            return python(own, classifier, before=before, certain=certain, magics=magics)
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
        whole = _CONTROL.sub("", "\n".join(_lines(own)[:-1]))
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
