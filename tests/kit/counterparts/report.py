"""What came of the errands of one counterpart."""

from dataclasses import dataclass

from tests.kit.counterparts.errands import DANGER, DANGEROUS, ERRANDS, Errands


@dataclass
class Report:
    """The errands when all is over; `asked` is what a person was asked and answered, None where nobody was there."""

    errands: Errands
    output: str
    seconds: float
    asked: list[str] | None = None

    def problem(self, errand: str) -> str:
        """Return what went wrong with an errand; "" if nothing did."""
        for outcome in self.errands.outcomes:
            if outcome.errand == errand:
                if errand == DANGER and not outcome.problem and self.asked not in (None, ["consent", DANGEROUS]):
                    return f"the person was asked about {self.asked}"
                return outcome.problem
        stopped = "; ".join(outcome.problem for outcome in self.errands.outcomes if not outcome.errand)
        return f"not reached: {stopped or self.output[-1500:]}"

    @property
    def problems(self) -> dict[str, str]:
        """Everything that went wrong, by the errand."""
        return {errand: problem for errand in ERRANDS if (problem := self.problem(errand))}
