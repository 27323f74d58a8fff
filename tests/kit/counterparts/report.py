"""What came of the errands of one counterpart."""

from dataclasses import dataclass, field

from tests.kit.counterparts.errands import DANGER, ERRANDS, Errands


@dataclass
class Report:
    """The errands when all is over, and what the client printed.

    `asked` is what the person was asked, and `to_be_asked` what they should have been. `ours` is what the model read of
    our tools and instructions in its first request, where that is counted.
    """

    errands: Errands
    output: str
    seconds: float
    asked: list[str] = field(default_factory=list)
    to_be_asked: list[str] = field(default_factory=list)
    ours: str = ""

    def problem(self, errand: str) -> str:
        """Return what went wrong with an errand; "" if nothing did."""
        for outcome in self.errands.outcomes:
            if outcome.errand == errand:
                wrongly = errand == DANGER and self.asked != self.to_be_asked
                return outcome.problem or (f"the person was asked {self.asked}" if wrongly else "")
        stopped = "; ".join(outcome.problem for outcome in self.errands.outcomes if not outcome.errand)
        return f"not reached: {stopped or self.output[-1500:]}"

    @property
    def problems(self) -> dict[str, str]:
        """Everything that went wrong, by the errand."""
        return {errand: problem for errand in ERRANDS if (problem := self.problem(errand))}
