"""An example of a provider that does not come with Fourhands: programs run on this machine with low priority."""

import os
import shutil

from fourhands import FourhandsError, Isolation, Launch, Probe, Unavailable


class Nice:
    """Runs programs by `nice`, so that they give way to everything else; that isolates nothing, and it says so."""

    isolation = Isolation.NONE
    shells: tuple[str, ...] | None = None  # programs are this machine's

    def __init__(self) -> None:
        self.name = "nice"
        self._program = ""

    async def probe(self) -> Probe:
        """Look for the program."""
        found = shutil.which("nice", path=os.defpath)
        return Probe(found is not None, found or "the program `nice` is not installed")

    async def prepare(self, workspace: str, readable: tuple[str, ...]) -> None:
        """Refuse when the promise cannot be kept."""
        probe = await self.probe()
        if not probe.works:
            raise Unavailable(probe.detail, hint="install coreutils")
        self._program = probe.detail

    def wrap(self, launch: Launch, *, terminal: bool) -> Launch:
        """Return the same launch with `nice` in front of it."""
        argv = (self._program, "-n", "10", launch.program, *launch.argv[1:])
        return launch.replace(program=self._program, argv=argv)

    async def end(self, mark: str) -> None:
        """Nothing to do: the host sees every process."""

    async def explain(self, mark: str, exit_code: int, stderr: str) -> FourhandsError | None:
        """`nice` fails with 125 before it starts anything."""
        if exit_code == 125 and stderr.startswith("nice: "):
            return Unavailable(stderr.strip())
        return None

    async def clean_up(self) -> None:
        """Nothing to do."""
