"""This machine, without isolation."""

from fourhands.providers.base import Isolation, Launch, Probe


class Local:
    """Runs programs as they are."""

    name = "local"
    isolation = Isolation.NONE

    async def probe(self) -> Probe:
        """Always possible."""
        return Probe(True, "programs run as you, with no isolation")

    async def prepare(self, workspace: str, readable: tuple[str, ...]) -> None:
        """Nothing to do."""

    def wrap(self, launch: Launch, *, terminal: bool) -> Launch:
        """The launch itself."""
        return launch

    async def clean_up(self) -> None:
        """Nothing to do."""
