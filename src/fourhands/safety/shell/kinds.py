"""Kinds of danger: what a person would lose, show or set going. The asking table goes by them (docs/classifier.md)."""

import re
from enum import StrEnum
from functools import lru_cache


class RiskKind(StrEnum):
    """One kind of danger."""

    DESTROYS = "destroys"
    """Deletes, overwrites or resets."""
    EXPOSES = "exposes"
    """Secrets, environment, variables that change what runs, inline code, other processes."""
    REACHES = "reaches"
    """Sends, publishes, takes privileges, changes services or the machine."""
    DECEIVES = "deceives"
    """Text that is not what it looks like."""
    FOURHANDS = "fourhands"
    """Fourhands itself: its commands, directories and addresses."""
    LISTED = "listed"
    """On the person's own list of dangerous commands."""


_RULES = (
    ("rules", RiskKind.LISTED),
    ("C1", RiskKind.DECEIVES),
    ("C2", RiskKind.EXPOSES),
    ("C3", RiskKind.EXPOSES),
    ("C5.1", RiskKind.DESTROYS),
    ("C5.2", RiskKind.DESTROYS),
    ("C5.3", RiskKind.DESTROYS),
    ("C5.4", RiskKind.EXPOSES),
    ("C6", RiskKind.EXPOSES),
)
# Rules that are about several kinds: the verbs with which our own reasons begin. What fits none reaches out, the kind
# that is asked about most.
_VERBS = (
    (re.compile(r".*Fourhands"), RiskKind.FOURHANDS),
    (
        re.compile(r"deletes (?:something|in the cloud|or overwrites what)|overwrites or deletes what"),
        RiskKind.REACHES,
    ),
    (
        re.compile(
            r"deletes?\b|discards|may discard|empties|clears|rewrites|copies raw|destroys|git \w+ \w+ deletes|"
            r"overwrites|"
            r"forces|changes references|removes packages from the cache|rewrites"
        ),
        RiskKind.DESTROYS,
    ),
    (
        re.compile(
            r"runs (?!with other|on other)|lets git|makes (?:git|the download)|downloads|installs from|"
            r"git (?:runs|with)|"
            r"ends processes|kills|xargs|parallel (?:runs|builds)|find|fd|loads|builds|prints|starts a browser|"
            r"a database command|curl reads|may change"
        ),
        RiskKind.EXPOSES,
    ),
)


@lru_cache(maxsize=4096)
def kind_of(rule: str, reason: str) -> RiskKind:
    """Return the kind of a dangerous finding by the rule of the policy, else by the verb of its reason."""
    for start, kind in _RULES:
        if rule.startswith(start):
            return kind
    return next((kind for verb, kind in _VERBS if verb.match(reason)), RiskKind.REACHES)
