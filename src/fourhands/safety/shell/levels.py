"""The three levels, and findings: a level, the rule of the policy, and the reason for a person."""

from typing import NamedTuple

from fourhands.core.call import RiskLevel
from fourhands.safety.shell.kinds import RiskKind, kind_of

LEVELS: tuple[RiskLevel, ...] = ("safe", "unknown", "dangerous")
SAFE, UNKNOWN, DANGEROUS = 0, 1, 2
_KINDS = {kind: frozenset({kind}) for kind in RiskKind}


class Finding(NamedTuple):
    """A level with its rule and reason."""

    rank: int
    rule: str
    reason: str
    kinds: frozenset[RiskKind] = frozenset()  # of all that is dangerous here, not of this reason alone


READ_ONLY = "read-only"
"""The reason of a safe line that does nothing else; what does more says so."""

FINE = Finding(SAFE, "C7", READ_ONLY)


def unknown(rule: str, reason: str) -> Finding:
    """Return a finding that a person should see."""
    return Finding(UNKNOWN, rule, reason)


def dangerous(rule: str, reason: str) -> Finding:
    """Return a finding that a person must approve."""
    return Finding(DANGEROUS, rule, reason, _KINDS[kind_of(rule, reason)])


def worst(*findings: Finding) -> Finding:
    """Return the worst finding, the first of equals, with the kinds of all that are dangerous."""
    result = findings[0]
    for finding in findings:
        if finding.rank > result.rank:
            result = finding
        elif finding.rank == SAFE == result.rank:
            if result.reason is READ_ONLY:  # what does more than read says more
                result = finding
        elif finding.rank == DANGEROUS == result.rank and finding.kinds != result.kinds:
            result = result._replace(kinds=result.kinds | finding.kinds)
    return result
