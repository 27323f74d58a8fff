"""The three levels, and a finding: how bad, by which rule of the policy, and why in words for a person."""

from typing import NamedTuple

from fourhands.core.call import RiskLevel

LEVELS: tuple[RiskLevel, ...] = ("safe", "unknown", "dangerous")
SAFE, UNKNOWN, DANGEROUS = 0, 1, 2


class Finding(NamedTuple):
    """One judgement; findings compare by rank, and of equals the first one stays."""

    rank: int
    rule: str
    reason: str


ROUTINE = "reads only, or is routine"
"""Why something is safe: of what reads as of tests, builds and new directories, so that it is true of a whole line."""

READ_ONLY = "read-only"

FINE = Finding(SAFE, "C7", ROUTINE)


def unknown(rule: str, reason: str) -> Finding:
    """Return a finding that a person should look at."""
    return Finding(UNKNOWN, rule, reason)


def dangerous(rule: str, reason: str) -> Finding:
    """Return a finding that a person must confirm."""
    return Finding(DANGEROUS, rule, reason)


def worst(*findings: Finding) -> Finding:
    """Return the worst finding, the first of equals."""
    result = findings[0]
    for finding in findings:
        if finding.rank > result.rank:
            result = finding
    return result
