"""An agent's process on pipes: its messages on stdin and stdout, its words on stderr in our log, and a sure end.

Some agents do not leave when their input ends, and most start children. So the end is: close its input, wait, then end
it and what stems from it. One that is a child of ours leads a session (`providers.termination`); one in a cell is ended
by the host, which knows its children by their tag.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Protocol

from fourhands.core.child import Child, PipedChild, Take, into, signal_name
from fourhands.core.errors import CommandNotFound, ExecDenied, Unavailable
from fourhands.core.tasks import Tasks
from fourhands.providers.termination import session_of, terminate

log = logging.getLogger(__name__)

GRACE_S = 2.0
"""Seconds that an agent may take to exit once its input is closed; half of that again after SIGTERM."""

WORDS_S = 1.0
"""Seconds that the last lines of its stderr may take to arrive."""

_BUFFER = 1 << 20
_LONGEST_LOG_LINE = 2000
_LAST_WORDS = 20


class AgentStarter(Protocol):
    """Starts one agent's process, and ends it with everything that stems from it."""

    async def start(self, out: Take, err: Take | None) -> PipedChild:
        """Start it; without `err` its words go where its output goes. Once it runs, this returns without a wait."""
        ...

    async def end(self, child: PipedChild, grace_s: float) -> None:
        """End it and its tree: politely, then firmly."""
        ...


class ChildStarter:
    """Starts an agent as a child of this process, with the rights of the person."""

    def __init__(self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], with_input: bool = True) -> None:
        self._argv = tuple(argv)
        self._cwd = cwd
        self._env = env
        self._with_input = with_input

    async def start(self, out: Take, err: Take | None) -> PipedChild:
        """Start it, in one step that cannot be cancelled; `argv[0]` is found in the PATH of its environment."""
        name = self._argv[0]
        try:
            return Child(self._argv, cwd=self._cwd, env=self._env, out=out, err=err, with_input=self._with_input)
        except FileNotFoundError as error:
            raise CommandNotFound(f"command not found: {name!r}", hint="install it, or check PATH") from error
        except PermissionError as error:
            raise ExecDenied(f"permission denied: {name!r}") from error
        except OSError as error:
            raise Unavailable(f"cannot start {name!r}: {error.strerror}") from error

    async def end(self, child: PipedChild, grace_s: float) -> None:
        """End the session that it leads, and what stems from that."""
        assert isinstance(child, Child)
        if left := await terminate(lambda: session_of(child), grace_s, leader=child):
            log.error("cannot end %s: processes %s are left", self._argv[0], left)


class AgentProcess:
    """A running agent. Made by `launch`."""

    writer: asyncio.StreamWriter

    def __init__(self, starter: AgentStarter, name: str) -> None:
        self.name = name
        self.reader = asyncio.StreamReader(limit=_BUFFER)
        self.last_words: deque[str] = deque(maxlen=_LAST_WORDS)
        self._heard = asyncio.Event()
        self._stderr = asyncio.StreamReader(limit=_BUFFER)
        self._starter = starter
        self._child: PipedChild

    async def start(self) -> None:
        """Start it; called once."""
        self._child = await self._starter.start(into(self.reader), into(self._stderr))
        for stream, pipe in zip((self.reader, self._stderr), self._child.pipes, strict=True):
            stream.set_transport(pipe)
        self.writer = self._child.writer()

    @property
    def pid(self) -> int:
        """Its process id, as this machine sees it."""
        return self._child.pid

    @property
    def exit_code(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self._child.code

    @property
    def ending(self) -> str:
        """The way it ended, in words."""
        code = self.exit_code
        if code is None:
            return "it has closed its output"
        if self._child.reason:
            return f"its sandbox has ended: {self._child.reason}"
        return signal_name(code) or f"exit code {code}"

    async def words(self) -> str:
        """Return the last lines of its stderr, for an error message. Waits up to `WORDS_S` for them."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(WORDS_S):
                await self._heard.wait()
        return "; ".join(list(self.last_words)[-3:])[:500]

    async def drain(self) -> None:
        """Read what it writes to stderr, or it would block one day; the last lines are kept for an error message."""
        try:
            await self._drain()
        finally:
            self._heard.set()

    async def _drain(self) -> None:
        rest = b""
        while data := await self._stderr.read(1 << 16):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._hear(line)
            if len(rest) > _LONGEST_LOG_LINE:
                self._hear(rest)
                rest = b""
        if rest:
            self._hear(rest)

    def _hear(self, line: bytes) -> None:
        text = line[:_LONGEST_LOG_LINE].decode("utf-8", "replace").rstrip()
        if text:
            self.last_words.append(text)
            log.info("%s: %r", self.name, text)

    async def end(self, grace_s: float = GRACE_S) -> None:
        """Close its input and wait for its exit; then end it if it stays, and with it all that it has started."""
        with contextlib.suppress(OSError, RuntimeError):
            self.writer.close()
        patience_s = 0.0  # when cancelled meanwhile, it has no more time
        try:
            await self._left(grace_s)
            patience_s = grace_s / 2
        finally:
            try:
                await self._starter.end(self._child, patience_s)
            finally:
                self._child.close()  # a process that got away may hold the pipes

    async def _left(self, limit_s: float) -> bool:
        """Return True if it has exited within this time."""
        try:
            async with asyncio.timeout(limit_s):
                await asyncio.shield(self._child.ended)
        except TimeoutError:
            return self.exit_code is not None
        return True


async def launch(starter: AgentStarter, tasks: Tasks, name: str) -> AgentProcess:
    """Start an agent, and hear what it says on stderr."""
    process = AgentProcess(starter, name)
    await process.start()
    tasks.start(process.drain(), f"the words of {name}")
    return process
