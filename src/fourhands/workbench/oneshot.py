"""One-shot commands on pipes: standard output and error apart, an exit code, a deadline, and nobody left behind.

The exit of the program decides, not the end of its pipes: a child that keeps them open is named in the result and
does not hold the call up. On a deadline the whole tree is ended, and what was printed until then is returned.
"""

import asyncio
import codecs
import contextlib
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field

from fourhands.core.errors import BadArgument, CommandNotFound, ExecDenied
from fourhands.host import tree
from fourhands.providers.base import Launch

KEPT = 8 * 1024 * 1024
"""Bytes of each stream that are kept from its beginning, and again from its end."""

DRAIN_S = 0.2
"""How long the pipes are read after the exit when somebody else still holds them."""

GRACE_S = 1.0


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a one-shot command. `error` and `code` are set when it could not run or not finish."""

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


@dataclass(slots=True)
class _Stream:
    """One stream's bytes: the beginning and the end of them, the middle given up when it is too much."""

    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    lost: int = 0

    def add(self, data: bytes) -> None:
        room = KEPT - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        self.tail += data
        if len(self.tail) > 2 * KEPT:
            self.lost += len(self.tail) - KEPT
            del self.tail[:-KEPT]

    def text(self) -> str:
        if not self.lost:
            return (self.head + self.tail).decode("utf-8", "replace")
        gap = f"\n[… {self.lost} bytes left out …]\n"
        return self.head.decode("utf-8", "replace") + gap + self.tail.decode("utf-8", "replace")


class _Merged:
    """Both streams in the order in which they arrived; characters are decoded per stream."""

    def __init__(self) -> None:
        self.size = 0
        self.parts: list[str] = []
        self._decoders = {n: codecs.getincrementaldecoder("utf-8")("replace") for n in (1, 2)}

    def add(self, number: int, data: bytes, *, final: bool = False) -> None:
        text = self._decoders[number].decode(data, final)
        if self.size < 2 * KEPT:
            self.parts.append(text)
            self.size += len(text)


def find_program(name: str, path: str, cwd: str) -> str:
    """The absolute path of a program, as a shell with this PATH would find it."""
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


async def execute(launch: Launch, *, input_data: bytes | None, timeout_s: float, isolation: str, mark: str) -> Done:
    """Run a launch to its end. `mark` is the value of the environment variable by which its tree is found."""
    environment = {**launch.env, tree.MARK: mark}
    try:
        process = await asyncio.create_subprocess_exec(
            *launch.argv,
            executable=launch.program,
            cwd=launch.cwd,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL if input_data is None else asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError:
        return failed(CommandNotFound(f"command not found: {launch.argv[0]!r}"), isolation)
    except PermissionError:
        return failed(ExecDenied(f"permission denied: {launch.argv[0]!r}"), isolation)
    except OSError as error:
        return failed(ExecDenied(f"cannot run {launch.argv[0]!r}: {error.strerror}"), isolation)
    return await _attend(process, input_data, timeout_s, isolation, mark)


async def _attend(
    process: asyncio.subprocess.Process, input_data: bytes | None, timeout_s: float, isolation: str, mark: str
) -> Done:
    streams = {1: _Stream(), 2: _Stream()}
    merged = _Merged()

    async def pump(number: int, reader: asyncio.StreamReader | None) -> None:
        while reader is not None and (data := await reader.read(65536)):
            streams[number].add(data)
            merged.add(number, data)

    async def feed() -> None:
        if input_data is None or process.stdin is None:
            return
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it need not read all of it
            process.stdin.write(input_data)
            await process.stdin.drain()
            process.stdin.close()

    timed_out = False
    holders: tuple[int, ...] = ()
    try:
        async with asyncio.TaskGroup() as group:
            pumps = [group.create_task(pump(1, process.stdout)), group.create_task(pump(2, process.stderr))]
            feeder = group.create_task(feed())
            try:
                async with asyncio.timeout(timeout_s):
                    await process.wait()
            except TimeoutError:
                timed_out = True
                await end_tree(process, mark)
            _, late = await asyncio.wait(pumps, timeout=DRAIN_S)
            if late:
                holders = tuple(sorted(p.pid for p in _members(process.pid, mark)))
            for task in (*late, feeder):
                task.cancel()
    except asyncio.CancelledError:
        await asyncio.shield(end_tree(process, mark))
        raise
    finally:
        process._transport.close()  # type: ignore[attr-defined]  # pipes that others hold would stay open
    for number in (1, 2):
        merged.add(number, b"", final=True)
    status = process.returncode
    code = status if status is not None and status >= 0 else None
    name = signal.Signals(-status).name if status is not None and status < 0 else None
    return Done(
        ok=code == 0 and not timed_out,
        output="".join(merged.parts),
        stdout=streams[1].text(),
        stderr=streams[2].text(),
        exit_code=None if timed_out else code,
        signal=name,
        error=f"the command did not finish within {timeout_s:g} s and was ended" if timed_out else None,
        code="timeout" if timed_out else None,
        truncated=any(stream.lost for stream in streams.values()),
        isolation=isolation,
        held_open_by=holders,
    )


def failed(error: CommandNotFound | ExecDenied | BadArgument, isolation: str) -> Done:
    """The result of a command that could not be started."""
    return Done(False, "", "", "", None, error=str(error), code=error.code, isolation=isolation)


def _members(pid: int, mark: str) -> list[tree.Process]:
    return tree.members(tree.scan(), main=pid, tty=0, terminal=mark, ancestor=1)


async def end_tree(process: asyncio.subprocess.Process, mark: str) -> None:
    """End a program with everything that stems from it: politely, then firmly."""
    deadline = asyncio.get_running_loop().time() + GRACE_S
    number = signal.SIGTERM
    while True:
        found = _members(process.pid, mark)
        if not tree.HAVE_PROC:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        for member in found:
            tree.send_signal(member, number)
        if number == signal.SIGKILL and not found:
            break
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await process.wait()
            if not _members(process.pid, mark):
                break
        if asyncio.get_running_loop().time() >= deadline:
            number = signal.SIGKILL
    await process.wait()


def script_environment(env: Mapping[str, str], changes: Mapping[str, str | None] | None) -> dict[str, str]:
    """An environment with changes; None removes a variable."""
    result = dict(env)
    for name, value in (changes or {}).items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = value
    return result
