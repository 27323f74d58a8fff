"""Verdicts, their parts, and the rules a user adds."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from fourhands.core.call import RiskLevel
from fourhands.core.errors import BadArgument
from fourhands.safety.redaction.file_names import SecretNames
from fourhands.safety.regex import Patterns
from fourhands.safety.shell.effects import LineEffects

_MOST_RULES = 1000
_RANKS = {"safe": 0, "unknown": 1, "dangerous": 2}
_NAME = re.compile(r"[^\s/;&|<>()$`'\"\\*?\[\]{}=]+")


NO_EFFECTS = LineEffects()


class VerdictPart(NamedTuple):
    """One simple command: its text, level, reason, rule of the policy, and resolved words."""

    text: str
    level: RiskLevel
    reason: str
    rule: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The classification of a command line; its level is that of its worst part."""

    level: RiskLevel
    reason: str
    rule: str
    parts: list[VerdictPart] = field(default_factory=list)
    effects: LineEffects = NO_EFFECTS


def at_least_unknown(verdict: Verdict, reason: str) -> Verdict:
    """Return the verdict, with a safe one made unknown for this reason."""
    return replace(verdict, level="unknown", reason=reason) if verdict.level == "safe" else verdict


def worst_of(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst verdict, the first of equals."""
    return max(verdicts, key=lambda verdict: _RANKS[verdict.level])


@dataclass(frozen=True)
class ClassifierRules:
    """A user's rules: names that are safe, regular expressions that are dangerous, other secret names.

    `workspace` is the absolute path of the workspace; without it only relative paths count as inside.
    """

    safe_commands: tuple[str, ...] = ()
    dangerous_commands: tuple[str, ...] = ()
    secret_names: SecretNames | None = None
    workspace: str = ""
    own_directories: tuple[str, ...] = ()  # of Fourhands itself, besides the usual ones
    patterns: Patterns = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        safe = _texts("safeCommands", self.safe_commands)
        for name in safe:
            if not _NAME.fullmatch(name):
                raise BadArgument(
                    f"safeCommands: {name!r} is not a command's name",
                    hint="one name without path, blanks or options, such as 'just'",
                )
        expressions = _texts("dangerousCommands", self.dangerous_commands)
        try:
            patterns = Patterns(expressions)
        except BadArgument as error:
            raise BadArgument(f"dangerousCommands: {error.message}", hint=error.hint) from None
        if wide := patterns.found_in(""):
            raise BadArgument(
                f"dangerousCommands: {wide!r} matches everything", hint="write one that matches some command"
            )
        if self.secret_names is not None and not isinstance(self.secret_names, SecretNames):
            raise BadArgument(f"secretNames: {self.secret_names!r} is not a SecretNames")
        object.__setattr__(self, "safe_commands", safe)
        object.__setattr__(self, "dangerous_commands", expressions)
        object.__setattr__(self, "patterns", patterns)


def _texts(kind: str, given: Iterable[str]) -> tuple[str, ...]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise BadArgument(f"{kind}: {given!r} is not a list", hint="a list of texts")
    texts = tuple(given)
    if len(texts) > _MOST_RULES:
        raise BadArgument(f"{kind}: {len(texts)} entries are too many", hint=f"at most {_MOST_RULES}")
    for text in texts:
        if not isinstance(text, str) or not text or len(text) > 1000:
            raise BadArgument(f"{kind}: {text!r} is not a text of 1 to 1000 characters")
    return texts
