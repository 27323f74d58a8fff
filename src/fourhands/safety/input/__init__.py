"""Classification of what is typed into a running program, by what reads it.

    >>> classify_input("6*7", reader_of("python3", ["python3"])).reason
    'Python code: only reads and computes'

Code is judged by the rules for inline code, statements by those for databases, and what pagers and editors get as keys.
A shell stands behind each program and gets what it leaves unread: what would be dangerous there is dangerous here too.
Nothing is executed, read from disk or sent.
"""

from fourhands.safety.input.readers import (
    KEYED,
    PromptSeen,
    Reader,
    ReaderKind,
    leaves,
    prompt_of,
    reader_of,
    reader_of_command,
)
from fourhands.safety.input.typed import TypedInput, goes_on_behind
from fourhands.safety.shell import ClassifierRules, Verdict

__all__ = [
    "KEYED",
    "PromptSeen",
    "Reader",
    "ReaderKind",
    "TypedInput",
    "classify_input",
    "goes_on_behind",
    "leaves",
    "prompt_of",
    "reader_of",
    "reader_of_command",
]


def classify_input(
    given: TypedInput | str, reader: Reader, rules: ClassifierRules | None = None, *, cwd: str = ""
) -> Verdict:
    """Classify text that is typed into a program; a plain text counts as typed at the program's own prompt."""
    from fourhands.safety.input.classifier import verdict_on  # late: its tables are large, and the first input later

    return verdict_on(given, reader, rules, cwd=cwd)
