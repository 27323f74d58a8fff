"""Classification of shell command lines: safe, unknown or dangerous, with the reason a person reads.

    >>> classify("rm -rf build").reason
    'deletes files: rm with 1 operand'

The policy is safety-policy.md, section C. The text goes through `lookalikes` (deceiving characters), `parser` (words,
quotes, here-documents, structure, what the shell would make of them) and `classifier` with its programs and tables.
Nothing is executed, read from disk or sent.
"""

import contextlib

from fourhands.core.collecting import uncollected
from fourhands.core.errors import BadArgument
from fourhands.safety.shell.history import recalls
from fourhands.safety.shell.levels import DANGEROUS, FINE, LEVELS, dangerous, worst
from fourhands.safety.shell.lookalikes import raw, visible
from fourhands.safety.shell.verdict import ClassifierRules, Verdict, VerdictPart

__all__ = ["ClassifierRules", "Rules", "Verdict", "VerdictPart", "classify", "parse", "visible"]

Rules = ClassifierRules  # the former name, for one release

_DEFAULT = ClassifierRules()
_LONG = 10_000


def classify(
    line: str, rules: ClassifierRules | None = None, *, interactive: bool | str = False, cwd: str = ""
) -> Verdict:
    """Classify a command line; the worst of its parts decides.

    `cwd` is the directory where it will run, if that is not the workspace: absolute, or relative to the workspace.
    `interactive` is for a line that is typed into a shell with history expansion: its name, or True for any.
    """
    from fourhands.safety.shell.classifier import LineClassifier  # late: its tables are large, and the first line later

    if not isinstance(line, str):
        raise BadArgument(f"a command line must be text, not {type(line).__name__}")
    rules = rules or _DEFAULT
    text = line.replace("\r\n", "\n")
    with uncollected() if len(text) > _LONG else contextlib.nullcontext():  # a hundred thousand tokens, all in use
        classifier = LineClassifier(rules)
        classifier.start_in(cwd)
        finding, parts = classifier.line(text)
    finding = worst(*raw(text), finding)
    if finding.rank < DANGEROUS and rules.patterns and rules.patterns.found_in(text):
        finding = dangerous("rules", "matches your list of dangerous commands")
    if interactive and finding.rank < DANGEROUS and recalls(text, interactive if isinstance(interactive, str) else ""):
        finding = dangerous("C2.6", "history expansion (! or ^) may insert earlier commands")
    reason = finding.reason if finding is not FINE or parts else "nothing to run"
    return Verdict(LEVELS[finding.rank], reason, finding.rule, parts, classifier.effects.final(finding.kinds))


def parse(line: str) -> list[str]:
    """Return the individual commands of a compound line, those inside substitutions last."""
    return [part.text for part in classify(line).parts]
