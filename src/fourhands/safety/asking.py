"""When a person is asked about a line: the table of verdicts and places, as a pure function (docs/safety.md)."""

from enum import StrEnum
from typing import Literal

from fourhands.core.call import RiskLevel
from fourhands.safety.shell.effects import LineEffects
from fourhands.safety.shell.kinds import RiskKind


class Ground(StrEnum):
    """The place in which a line would run."""

    COVERED = "covered"
    """In the sandbox, and a checkpoint brings back what it takes away."""
    CELL = "cell"
    """In the sandbox, but something could not be brought back."""
    OUTSIDE = "outside"
    """It does its work outside the sandbox."""
    BARE = "bare"
    """There is no sandbox."""


class AskOutcome(StrEnum):
    """The outcome for a line, the mildest first."""

    RUN = "run"
    ASK_ONCE = "once"
    """Asked once per tool or host name."""
    ASK_OUTSIDE = "outside"
    """It fails in the sandbox; then a person is asked to let it run outside."""
    ASK = "ask"


AskSetting = Literal["dangerous", "irreversible"]

_ORDER = tuple(AskOutcome)
_RUN, _ONCE, _OUT, _ASK = _ORDER
_GROUNDS = tuple(Ground)
# One row for each verdict: covered, cell, outside, bare. None: the case does not exist.
_TABLE: dict[str, tuple[AskOutcome | None, ...]] = {
    "safe": (_RUN, _RUN, _ONCE, _RUN),
    "unknown": (_RUN, _RUN, _ASK, _ASK),
    RiskKind.DESTROYS: (_RUN, _ASK, _ASK, _ASK),
    RiskKind.EXPOSES: (_RUN, _RUN, _ASK, _ASK),
    RiskKind.REACHES: (_OUT, _OUT, _ASK, _ASK),
    RiskKind.DECEIVES: (_ASK, _ASK, _ASK, _ASK),
    RiskKind.FOURHANDS: (_ASK, _ASK, _ASK, _ASK),
    RiskKind.LISTED: (_ASK, _ASK, _ASK, _ASK),
    "host": (_ONCE, _ONCE, None, None),  # a new host name, or a port of this machine
    "typing": (None, None, _ASK, _ASK),  # into a terminal of the person's that has no sandbox
    "later": (_RUN, _RUN, None, None),  # a new file that runs by itself; shown at the end of the turn
}


def cell_of(row: str, ground: Ground, setting: AskSetting = "irreversible") -> AskOutcome | None:
    """Return one cell of the table; with `dangerous` every dangerous row asks, wherever it would run."""
    outcome = _TABLE[row][_GROUNDS.index(ground)]
    return _ASK if setting == "dangerous" and row in tuple(RiskKind) else outcome


def outcome_of(level: RiskLevel, effects: LineEffects, ground: Ground, setting: AskSetting = "dangerous") -> AskOutcome:
    """Return what happens with a line of this level and these effects."""
    rows: list[str] = [level]
    if level == "dangerous":
        rows = [*effects.kinds] or [RiskKind.REACHES]  # no kind: the one that is asked about most
    found = [cell_of(row, ground, setting) or _ASK for row in rows]
    return max(found, key=_ORDER.index)
