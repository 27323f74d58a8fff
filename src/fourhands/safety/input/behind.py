"""The shell behind a program: it gets what the program leaves unread.

What would be dangerous there is dangerous as input too, but not for reasons that only a shell's line can have: prose
and code are full of words that no one means for a shell, such as `6*7`.
"""

import fnmatch
import re
from dataclasses import replace

from fourhands.safety.shell import ClassifierRules, Verdict, VerdictPart, classify
from fourhands.safety.shell.program_classifier import SUSPECTS
from fourhands.safety.shell.tables.system import WINDOWS

_WINDOWS = re.compile(rf"\b(?:{'|'.join(WINDOWS)})\b", re.IGNORECASE)
_KEYWORDS = (("pass",),)  # which are also names of programs
_PATTERN = "the command name is a pattern"
_WORDS = ("C1", "C2", "C3")  # rules about how a shell's line is written, not about what it does


def left_unread(text: str, rules: ClassifierRules, *, code: bool, cwd: str = "") -> Verdict | None:
    """Return the verdict on a text as a shell's line, if it would be dangerous there; else None.

    `code`: a program reads this as its code for sure, as far as anyone can tell. Then only what a command does counts,
    and not how a line would be understood that was never meant for a shell.
    """
    verdict = classify(_WINDOWS.sub("x", text), rules, cwd=cwd)
    if verdict.level != "dangerous":
        return None
    dangerous = [part for part in verdict.parts if part.level == "dangerous"]
    serious = [part for part in dangerous if not _idle(part, code)]
    if serious:
        return replace(verdict, reason=serious[0].reason, rule=serious[0].rule)
    if code:  # what is left is a scan of words that no grammar fits, and of code they are none
        return verdict if verdict.rule == "rules" else None
    rest = text
    for part in dangerous:
        rest = rest.replace(part.text.split()[0], "x")  # the name alone: what stands behind it counts
    return verdict if not dangerous else left_unread(rest, rules, code=False, cwd=cwd) if rest != text else None


def _idle(part: VerdictPart, code: bool) -> bool:
    """Return True if a dangerous part is so only for what a shell would make of text that is none of its lines."""
    if code:
        assigns = part.words[1:2] == ("=",)
        return part.rule.startswith(_WORDS) or not part.words or assigns or part.words in _KEYWORDS
    if not part.reason.startswith(_PATTERN) or "/" in part.words[0]:
        return False
    # The names of files take the place of a pattern: one of them may be a program's.
    return len(part.words) == 1 or not any(fnmatch.fnmatchcase(name, part.words[0]) for name in SUSPECTS)
