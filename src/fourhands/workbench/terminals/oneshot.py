"""One-shot commands on pipes: standard output and error apart, an exit code, a deadline, and no process left behind.

The exit of the program decides, not the end of its pipes: a child that keeps them open is named in the result and
does not hold the call up. On a deadline the whole tree is ended, and what was printed until then is returned.
"""

import asyncio
import codecs
import functools
import os
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from fourhands.core.child import Child, PipedChild, Take, signal_name
from fourhands.core.errors import BadArgument, BadCwd, CommandNotFound, ExecDenied
from fourhands.host import processes as tree
from fourhands.host.errors import CellLost, HostLost
from fourhands.providers.base import Launch
from fourhands.providers.termination import terminate
from fourhands.workbench.terminals.cells import HOST_GONE, CellChild, SessionCells

DRAIN_S = 0.2
"""Seconds for which the pipes are read after the exit while another process still holds them."""

GRACE_S = 1.0

OnOutput = Callable[[int, bytes], None]
"""Takes what a program prints as it comes: 1 or 2 for the stream, and its bytes, none at its end."""


@dataclass(frozen=True, slots=True)
class OneShotLimits:
    """The bounds of what is kept of a one-shot command's output; tests pass other ones."""

    kept: int = 8 * 1024 * 1024
    """Bytes of each stream that are kept from its beginning, and again from its end."""


@dataclass(frozen=True, slots=True)
class ExecResult:
    """The result of a one-shot command. `error` and `code` are set when it could not run or not finish."""

    ok: bool
    output: str
    stdout: str
    stderr: str
    exit_code: int | None
    signal: str | None = None
    error: str | None = None
    code: str | None = None
    truncated: bool = False
    isolation: str = "none"
    held_open_by: tuple[int, ...] = ()
    left_out: int = 0  # characters missing from the middle of `output`, because it was too much
    lines_left_out: int = 0


@dataclass(slots=True)
class _Stream:
    """One stream's bytes: the beginning and the end of them, the middle given up when it is too much."""

    kept: int
    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    lost: int = 0

    def add(self, data: bytes) -> None:
        room = self.kept - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        self.tail += data
        if len(self.tail) > 2 * self.kept:
            self.lost += len(self.tail) - self.kept
            del self.tail[: -self.kept]

    def text(self) -> str:
        if not self.lost:
            return (self.head + self.tail).decode("utf-8", "replace")
        gap = f"\n[… {self.lost} bytes left out …]\n"
        return self.head.decode("utf-8", "replace") + gap + self.tail.decode("utf-8", "replace")


class _Merged:
    """Both streams in the order in which they arrived; characters are decoded per stream."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self.left_out = self.lines_left_out = 0
        self._head: list[str] = []
        self._tail: deque[str] = deque()
        self._head_size = self._tail_size = 0
        self._decoders = {n: codecs.getincrementaldecoder("utf-8")("replace") for n in (1, 2)}

    def add(self, number: int, data: bytes, *, final: bool = False) -> None:
        text = self._decoders[number].decode(data, final)
        if self._head_size < self._kept:
            self._head.append(text)
            self._head_size += len(text)
            return
        self._tail.append(text)
        self._tail_size += len(text)
        while self._tail_size - len(self._tail[0]) > self._kept:
            lost = self._tail.popleft()
            self._tail_size -= len(lost)
            self.left_out += len(lost)
            self.lines_left_out += lost.count("\n")

    def text(self) -> str:
        gap = [f"\n[… {self.left_out} characters left out …]\n"] if self.left_out else []
        return "".join([*self._head, *gap, *self._tail])


def find_program(name: str, path: str, cwd: str) -> str:
    """Return the absolute path of a program, as a shell with this PATH would find it."""
    if not name or "\0" in name:
        raise BadArgument(f"not a program name: {name!r}")
    if "/" in name:
        candidates = [os.path.join(cwd, name)]
    else:
        candidates = [os.path.join(cwd, directory, name) for directory in path.split(":") if directory]
    denied = None
    for candidate in candidates:
        if os.path.isfile(candidate):
            if os.access(candidate, os.X_OK):
                return os.path.normpath(candidate)
            denied = candidate
    if denied is not None or ("/" in name and os.path.isdir(candidates[0])):
        raise ExecDenied(f"permission denied: {name!r} is not executable", hint=f"try: chmod +x {name}")
    raise CommandNotFound(f"command not found: {name!r}", hint="check the spelling and PATH, or install it")


class Starter(Protocol):
    """Starts a program on pipes, and ends it with everything that stems from it."""

    async def start(self, launch: Launch, mark: str, out: Take, err: Take, *, with_input: bool) -> PipedChild:
        """Start it; `mark` is its tag. Raises OSError or a `FourhandsError`."""
        ...

    async def end(self, child: PipedChild, mark: str) -> None:
        """End it and its tree: politely, then firmly."""
        ...


class Here:
    """Programs that are children of this process."""

    async def start(self, launch: Launch, mark: str, out: Take, err: Take, *, with_input: bool) -> PipedChild:
        """Start it, in one step that cannot be cancelled."""
        env = {**launch.env, tree.MARK: mark}
        return Child(
            launch.argv, program=launch.program, cwd=launch.cwd, env=env, out=out, err=err, with_input=with_input
        )

    async def end(self, child: PipedChild, mark: str) -> None:
        """End its tree, which is found by its mark."""
        assert isinstance(child, Child)
        await end_tree(child, mark)


HERE = Here()


class InCell:
    """Programs in one cell, which the host starts and ends."""

    def __init__(self, cells: SessionCells, name: str) -> None:
        self._cells = cells
        self._name = name

    async def start(self, launch: Launch, mark: str, out: Take, err: Take, *, with_input: bool) -> PipedChild:
        """Have the host start it."""
        return await self._cells.run(self._name, launch, mark, out, err, with_input=with_input)

    async def end(self, child: PipedChild, mark: str) -> None:
        """Have the host end it."""
        assert isinstance(child, CellChild)
        await child.end()


class _Watch:
    """A program that runs, with what it has printed so far."""

    child: PipedChild

    def __init__(self, limits: OneShotLimits, on_output: OnOutput | None) -> None:
        self.began = asyncio.get_running_loop().time()  # before the program is made: its whole life counts
        self.streams = {number: _Stream(limits.kept) for number in (1, 2)}
        self.merged = _Merged(limits.kept)
        self._on_output = on_output

    async def start(self, starter: Starter, launch: Launch, mark: str, *, with_input: bool) -> None:
        out, err = functools.partial(self.heard, 1), functools.partial(self.heard, 2)
        self.child = await starter.start(launch, mark, out, err, with_input=with_input)

    def heard(self, number: int, data: bytes) -> None:
        self.streams[number].add(data)
        self.merged.add(number, data, final=not data)
        if self._on_output is not None:
            self._on_output(number, data)


async def execute(
    launch: Launch,
    *,
    input_data: bytes | None,
    timeout_s: float,
    isolation: str,
    mark: str,
    starter: Starter = HERE,
    limits: OneShotLimits = OneShotLimits(),  # noqa: B008 - it is frozen
    on_output: OnOutput | None = None,
) -> ExecResult:
    """Run a launch to its end. `mark` is the value of the environment variable by which its tree is found."""
    watch = _Watch(limits, on_output)
    try:
        await watch.start(starter, launch, mark, with_input=input_data is not None)
    except (CommandNotFound, ExecDenied, BadCwd) as error:
        return failed(error, isolation)
    except FileNotFoundError:
        return failed(CommandNotFound(f"command not found: {launch.argv[0]!r}"), isolation)
    except PermissionError:
        return failed(ExecDenied(f"permission denied: {launch.argv[0]!r}"), isolation)
    except OSError as error:
        return failed(ExecDenied(f"cannot run {launch.argv[0]!r}: {error.strerror}"), isolation)
    if input_data is not None:
        watch.child.give(input_data)
    try:
        return await _attend(watch, starter, timeout_s, isolation, mark)
    except asyncio.CancelledError:
        await asyncio.shield(starter.end(watch.child, mark))
        raise
    finally:
        watch.child.close()  # pipes that others hold would stay open


async def _attend(watch: _Watch, starter: Starter, timeout_s: float, isolation: str, mark: str) -> ExecResult:
    child, timed_out = watch.child, False
    holders: tuple[int, ...] = ()
    try:
        async with asyncio.timeout_at(watch.began + timeout_s):
            await asyncio.shield(child.ended)
    except TimeoutError:
        timed_out = True
        await starter.end(child, mark)
    _, held = await asyncio.wait([pipe.ended for pipe in child.pipes], timeout=DRAIN_S)
    if held:
        holders = tuple(sorted(member.pid for member in _members(child, mark)))
    child.close()
    error, code = _no_end_of_its_own(child)
    if timed_out:
        error, code = f"the command did not finish within {timeout_s:g} s and was ended", "timeout"
    return ExecResult(
        ok=child.code == 0 and not timed_out,
        output=watch.merged.text(),
        stdout=watch.streams[1].text(),
        stderr=watch.streams[2].text(),
        exit_code=child.code if child.code is not None and child.code >= 0 and not timed_out else None,
        signal=signal_name(child.code),
        error=error,
        code=code,
        truncated=any(stream.lost for stream in watch.streams.values()),
        isolation=isolation,
        held_open_by=holders,
        left_out=watch.merged.left_out,
        lines_left_out=watch.merged.lines_left_out,
    )


def _no_end_of_its_own(child: PipedChild) -> tuple[str | None, str | None]:
    """Return the words and the code for a program that was ended because its sandbox was; None for every other."""
    if not child.reason:
        return None, None
    text = f"it was ended with its sandbox: {child.reason}; run it again in a new one"
    return text, HostLost.code if child.reason == HOST_GONE else CellLost.code


def failed(error: CommandNotFound | ExecDenied | BadArgument | BadCwd, isolation: str) -> ExecResult:
    """Return the result of a command that could not be started."""
    return ExecResult(False, "", "", "", None, error=str(error), code=error.code, isolation=isolation)


def _members(child: PipedChild, mark: str) -> list[tree.Process]:
    """Return a program's tree: what stems from us, and orphans, which have gone to init."""
    processes, alive = tree.scan(), child.code is None
    found: dict[int, tree.Process] = {}
    for ancestor in (1, os.getpid()):
        table = tree.Table(processes, ancestor)
        members = table.members(main=child.pid, tty=0, terminal=mark, alive=alive, marks=tree.TagIndex())
        found |= {member.pid: member for member in members}
    return list(found.values())


async def end_tree(child: Child, mark: str) -> None:
    """End a program with everything that stems from it: politely, then firmly."""
    await terminate(lambda: _members(child, mark), GRACE_S, leader=child)


def script_environment(env: Mapping[str, str], changes: Mapping[str, str | None] | None) -> dict[str, str]:
    """Return an environment with changes; None removes a variable."""
    result = dict(env)
    for name, value in (changes or {}).items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = value
    return result
