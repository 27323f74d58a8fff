"""The three levels, and findings: a level, the rule of the policy, and the reason for a person."""

from typing import NamedTuple

from fourhands.core.call import RiskLevel

LEVELS: tuple[RiskLevel, ...] = ("safe", "unknown", "dangerous")
SAFE, UNKNOWN, DANGEROUS = 0, 1, 2


class Finding(NamedTuple):
    """A level with its rule and reason."""

    rank: int
    rule: str
    reason: str


ROUTINE = "read-only or routine"
"""The reason of every safe line: reading, tests, builds and new directories."""

READ_ONLY = "read-only"

FINE = Finding(SAFE, "C7", ROUTINE)


def unknown(rule: str, reason: str) -> Finding:
    """Return a finding that a person should see."""
    return Finding(UNKNOWN, rule, reason)


def dangerous(rule: str, reason: str) -> Finding:
    """Return a finding that a person must approve."""
    return Finding(DANGEROUS, rule, reason)


def worst(*findings: Finding) -> Finding:
    """Return the worst finding, the first of equals."""
    result = findings[0]
    for finding in findings:
        if finding.rank > result.rank:
            result = finding
    return result
