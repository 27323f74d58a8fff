"""This machine, without isolation."""

from fourhands.core.errors import FourhandsError
from fourhands.providers.base import Isolation, Launch, Probe


class Local:
    """Runs programs as they are."""

    isolation = Isolation.NONE
    shells: tuple[str, ...] | None = None

    def __init__(self, *, name: str = "local") -> None:
        self.name = name

    async def probe(self) -> Probe:
        """Return success: it is always possible."""
        return Probe(True, "programs run as you, with no isolation")

    async def prepare(self, workspace: str, readable: tuple[str, ...]) -> None:
        """Nothing to do."""

    def wrap(self, launch: Launch, *, terminal: bool) -> Launch:
        """Return the launch unchanged."""
        return launch

    async def end(self, mark: str) -> None:
        """Nothing to do: the host sees every process."""

    async def explain(self, mark: str, exit_code: int, stderr: str) -> FourhandsError | None:
        """Never: nothing stands between the host and the program."""
        return None

    async def clean_up(self) -> None:
        """Nothing to do."""
