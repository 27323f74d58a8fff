"""What a provider is: a rewrite of how a program is started, plus a life cycle; or else something that gives streams.

The host spawns what comes out of a rewrite like anything else, so durability, resize, waits and screen work everywhere.
What runs where no program of this machine leads to (a cloud's interface) is a `StreamProvider`: a small program of
ours stands in for it, see `stream.py`. One that cannot give its promised isolation refuses; it never runs with less.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

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


class Output(NamedTuple):
    """A piece of what a program printed; on pipes, whether to its error output."""

    data: bytes
    is_error: bool = False


class Stream(Protocol):
    """One program that runs somewhere, as bytes. Whatever it raises ends this stream, with that as the reason."""

    async def read(self) -> Output | None:
        """The next piece, as soon as there is one; None when all is printed."""
        ...

    async def write(self, data: bytes) -> None:
        """Hand input over, and wait while too much of it is unread; empty is its end, which terminals never have."""
        ...

    async def resize(self, cols: int, rows: int) -> None:
        """The terminal has another size."""
        ...

    async def wait(self) -> int:
        """The exit code, or a signal's number, negative. Asked for after the end of the output."""
        ...

    async def close(self) -> None:
        """End the program if it still runs, politely first, and let go of everything. Called once, always."""
        ...


class StreamProvider(Protocol):
    """A way to run programs that gives a stream for each. Everything may take its time and may raise `Unavailable`."""

    @property
    def isolation(self) -> Isolation:
        """The level that it gives or refuses to run."""
        ...

    @property
    def shells(self) -> tuple[str, ...] | None:
        """Its shells, best first; None when its programs are this machine's. After `prepare`."""
        ...

    @property
    def shares_files(self) -> bool:
        """Whether its programs find the workspace and what is `readable` under the same paths.

        If not, it maps directories as it likes, and its shells do not mark their commands.
        """
        ...

    async def probe(self) -> Probe:
        """Find out, by trying, whether it works."""
        ...

    async def prepare(self, workspace: str, readable: tuple[str, ...]) -> None:
        """Get ready to run programs on a workspace; `readable` are further paths they should be able to read."""
        ...

    async def open(self, launch: Launch, size: tuple[int, int] | None) -> Stream:
        """Start a program: on a terminal of so many columns and rows, or, without a size, on pipes."""
        ...

    async def clean_up(self) -> None:
        """Let go of what `prepare` has made; its streams are closed by then."""
        ...
