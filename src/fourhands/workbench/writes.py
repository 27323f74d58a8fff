"""Which of the workbench's own writes to files are under way, so that nobody takes one for somebody else's."""

from types import TracebackType


class Writes:
    """Held (`with bench.writes:`) from before a file is written until its editor knows the new version."""

    def __init__(self) -> None:
        self._begun = 0
        self._open = 0

    def __enter__(self) -> None:
        self._begun += 1
        self._open += 1

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open -= 1

    def since(self) -> int | None:
        """A mark of this moment, the same for as long as nothing is written; None while something is."""
        return None if self._open else self._begun
