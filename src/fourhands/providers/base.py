"""The interface of providers: a rewrite of how a program is started, plus a life cycle; or else a source of streams.

The host spawns what comes out of a rewrite like anything else, so durability, resize, waits and screen work everywhere.
What runs where no program of this machine leads to (a cloud's interface) is a `StreamProvider`: a small program of
ours stands in for it, see `stream.py`. One that cannot give its promised isolation refuses; it never runs with less.
"""

import abc
import asyncio
import enum
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeGuard

from fourhands.core.errors import FourhandsError, Unavailable


class Isolation(enum.StrEnum):
    """Degree to which a program is kept from the rest of the machine."""

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
        """Return the same launch with something changed."""
        return replace(self, **changes)  # type: ignore[arg-type]  # checked by the dataclass itself


@dataclass(frozen=True, slots=True)
class Probe:
    """The result of trying a provider on this machine, with the reason."""

    works: bool
    detail: str


class Provider(Protocol):
    """One way to run programs. Everything but `wrap` may take its time and may raise `Unavailable`."""

    @property
    def name(self) -> str:
        """Name in settings and calls."""
        ...

    @property
    def isolation(self) -> Isolation:
        """Level that it gives or refuses to run."""
        ...

    @property
    def shells(self) -> tuple[str, ...] | None:
        """Shells, best first, when its programs are its own; None when they are this machine's. After `prepare`."""
        ...

    async def probe(self) -> Probe:
        """Find out, by trying, whether the isolation can be given on this machine."""
        ...

    async def prepare(self, workspace: str, readable: tuple[str, ...]) -> None:
        """Get ready to run programs on a workspace; `readable` are further paths they must be able to read."""
        ...

    def wrap(self, launch: Launch, *, terminal: bool) -> Launch:
        """Return the launch that runs this one isolated; `terminal` is False for one-shot commands on pipes."""
        ...

    async def end(self, tag: str) -> None:
        """End what is left of a launch where the host cannot see it; `tag` is the value of its FOURHANDS_TERMINAL.

        Called after the host has ended a terminal, and after each one-shot command. Unknown tags are no error.
        """
        ...

    async def explain(self, tag: str, exit_code: int, stderr: str) -> FourhandsError | None:
        """Return the error behind an exit code, if that came from the provider itself and not from the program."""
        ...

    async def clean_up(self) -> None:
        """Remove what `prepare` has made, unless other programs still run in it."""
        ...


@dataclass(frozen=True, slots=True)
class CellDirs:
    """The directories of one cell on disk: its home, which the next cell may have, and its `/tmp`, which none may."""

    name: str
    home: str
    tmp: str


@dataclass(frozen=True, slots=True)
class ShownPath:
    """A path as a program of a cell finds it, and where that is outside."""

    inside: str
    outside: str


@dataclass(frozen=True, slots=True)
class AgentNeeds:
    """The needs of an agent's own process in its cell, besides what all programs see there.

    Of the person's files some are shown, some also written, and some copied into the cell's home when the cell is
    built, for programs that replace them. All these are in `places`, the agent's directories inside. `port` is the one
    TCP port to reach, where the cell has no network. `directories` are shown as those of the settings are, read-only.
    """

    readable: tuple[ShownPath, ...] = ()
    writable: tuple[ShownPath, ...] = ()
    copied: tuple[ShownPath, ...] = ()
    places: tuple[str, ...] = ()
    port: int = 0
    directories: tuple[str, ...] = ()

    @property
    def household(self) -> str:
        """A text for the agents whose cells have homes of their own: what one keeps there, no other finds."""
        return hashlib.sha256(repr(self.places).encode("utf-8", "surrogatepass")).hexdigest()[:8]

    @property
    def digest(self) -> str:
        """A text that is another one for other needs."""
        return hashlib.sha256(repr(self).encode("utf-8", "surrogatepass")).hexdigest()[:16]


class Network(Protocol):
    """The network of one cell: a layer around the command that builds it, which then makes none of its own."""

    @property
    def identity(self) -> list[str]:
        """Options for a builder inside of the layer: with them programs see the user id that they had outside."""
        ...

    def enclose(self, command: Sequence[str]) -> list[str]:
        """Return the command that runs this one in the layer, with all descriptors."""
        ...

    def variables(self) -> dict[str, str]:
        """Return the variables that programs need to find their way out."""
        ...


class CellProvider(Provider, Protocol):
    """A provider whose programs share one sandbox, the cell; `wrap` then only adapts what a launch brings along."""

    @property
    def builder(self) -> str:
        """Path of the program that builds a cell inside of a network's layer; empty if cells take no such layer."""
        ...

    @property
    def weaker(self) -> bool:
        """True if its cells have no network of their own: nothing in them can listen or connect."""
        ...

    def enclose(
        self, command: Sequence[str], dirs: CellDirs, network: Network | None = None, needs: AgentNeeds | None = None
    ) -> Launch:
        """Return the launch that builds a cell and becomes `command` in it, its first process, with all descriptors.

        `needs` are those of an agent's own process that will run in it. Blocking: it looks through the workspace.
        """
        ...

    def admit(self, launch: Launch, needs: AgentNeeds) -> Launch:
        """Return the launch of an agent's own process in a cell that was built for these needs. Blocking."""
        ...


def has_cells(provider: Provider | None) -> TypeGuard[CellProvider]:
    """Return True if programs of this provider run in cells. One that stands for another may not know it before."""
    return callable(getattr(provider, "enclose", None))


class WorkspaceProvider(abc.ABC):
    """Base of providers that show programs one workspace of this machine and little else."""

    def __init__(self, name: str, env: Mapping[str, str] | None) -> None:
        self.name = name
        self._env: Mapping[str, str] = dict(os.environ if env is None else env)
        self._workspace = ""
        self._probe: Probe | None = None
        self._probing = asyncio.Lock()

    async def probe(self) -> Probe:
        """Try it on this machine, once; the result is kept."""
        async with self._probing:
            if self._probe is None:
                try:
                    self._probe = Probe(True, await self._try())
                except Unavailable as error:
                    self._probe = Probe(False, str(error))
            return self._probe

    @abc.abstractmethod
    async def _try(self) -> str:
        """Run a program as isolated as promised; returns the details, raises `Unavailable` if that cannot be done."""

    def _unprepared(self) -> FourhandsError:
        return FourhandsError(f"the provider {self.name!r} is used before `prepare`")

    def _shown(self, readable: Iterable[str], writable: Iterable[str]) -> dict[str, bool]:
        """Return the paths that programs see, with True for writable ones; outer ones first, or they would cover."""
        shown = {os.path.realpath(path): False for path in readable}
        for path in map(os.path.realpath, writable):
            shown.setdefault(path, True)
        return dict(sorted({**shown, self._workspace: True}.items()))


class Output(NamedTuple):
    """A piece of what a program printed; on pipes, `is_error` is True for its error output."""

    data: bytes
    is_error: bool = False


class Stream(Protocol):
    """One program that runs somewhere, as bytes. Whatever it raises ends this stream, with that as the reason."""

    async def read(self) -> Output | None:
        """Return the next piece, as soon as there is one; None when all is printed."""
        ...

    async def write(self, data: bytes) -> None:
        """Write input, and wait while too much of it is unread; empty is its end, which terminals never have."""
        ...

    async def resize(self, cols: int, rows: int) -> None:
        """Set the size of the terminal."""
        ...

    async def wait(self) -> int:
        """Return the exit code, or a signal's number, negative. Called after the end of the output."""
        ...

    async def close(self) -> None:
        """End the program if it still runs, politely first, and release everything. Called once, always."""
        ...


class StreamProvider(Protocol):
    """A way to run programs that gives a stream for each. Everything may take its time and may raise `Unavailable`."""

    @property
    def isolation(self) -> Isolation:
        """Level that it gives or refuses to run."""
        ...

    @property
    def shells(self) -> tuple[str, ...] | None:
        """Shells, best first; None when its programs are this machine's. After `prepare`."""
        ...

    @property
    def shares_files(self) -> bool:
        """True if its programs find the workspace and what is `readable` under the same paths.

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
        """Release what `prepare` has made; its streams are closed by then."""
        ...
