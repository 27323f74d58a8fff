"""What a provider is: a rewrite of how a program is started, plus a life cycle.

The host spawns what comes out like anything else, so durability, resize, waits and screen work everywhere. A
provider that cannot give its promised isolation refuses; it never runs with less.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from fourhands.core.errors import FourhandsError


class Isolation(enum.StrEnum):
    """How far a program is kept from the rest of the machine."""

    NONE = "none"
    SANDBOX = "sandbox"
    CONTAINER = "container"


@dataclass(frozen=True, slots=True)
class Launch:
    """A program about to be started: absolute program path, arguments with the name first, directory, environment."""

    program: str
    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]

    def replace(self, **changes: object) -> "Launch":
        """The same launch with something changed."""
        return replace(self, **changes)  # type: ignore[arg-type]  # checked by the dataclass itself


@dataclass(frozen=True, slots=True)
class Probe:
    """Whether a provider can keep its promise here, and why not."""

    works: bool
    detail: str


class Provider(Protocol):
    """One way to run programs. Everything but `wrap` may take its time and may raise `Unavailable`."""

    @property
    def name(self) -> str:
        """The name in settings and calls."""
        ...

    @property
    def isolation(self) -> Isolation:
        """The level that it gives or refuses to run."""
        ...

    @property
    def shells(self) -> tuple[str, ...] | None:
        """Its shells, best first, when its programs are its own; None when they are this machine's. After `prepare`."""
        ...

    async def probe(self) -> Probe:
        """Find out, by trying, whether the isolation can be given on this machine."""
        ...

    async def prepare(self, workspace: str, readable: tuple[str, ...]) -> None:
        """Get ready to run programs on a workspace; `readable` are further paths they must be able to read."""
        ...

    def wrap(self, launch: Launch, *, terminal: bool) -> Launch:
        """The launch that runs this one isolated; `terminal` is False for one-shot commands on pipes."""
        ...

    async def end(self, mark: str) -> None:
        """End what is left of a launch where the host cannot see it; `mark` is the value of its FOURHANDS_TERMINAL.

        Called after the host has ended a terminal, and after each one-shot command. Unknown marks are no error.
        """
        ...

    async def explain(self, mark: str, exit_code: int, stderr: str) -> FourhandsError | None:
        """The error behind an exit code that came from the provider itself and not from the program, if it did."""
        ...

    async def clean_up(self) -> None:
        """Remove what `prepare` has made, unless programs of somebody else still run in it."""
        ...
