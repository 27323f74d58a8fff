"""An agent's process on pipes: its messages on stdin and stdout, its words on stderr in our log, and a sure end.

Some agents do not leave when their input ends, and most start children. So the process leads a session of its own, and
the end is: close its input, wait, then end the session and what stems from it (`providers.termination`).
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Mapping, Sequence

from fourhands.core.child import Child, into, signal_name
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


class AgentProcess:
    """A running agent. Made by `launch`."""

    def __init__(self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str], name: str) -> None:
        self.name = name
        self.reader = asyncio.StreamReader(limit=_BUFFER)
        self.last_words: deque[str] = deque(maxlen=_LAST_WORDS)
        self._heard = asyncio.Event()
        self._stderr = asyncio.StreamReader(limit=_BUFFER)
        self._child = Child(argv, cwd=cwd, env=env, out=into(self.reader), err=into(self._stderr), with_input=True)
        for stream, pipe in zip((self.reader, self._stderr), self._child.pipes, strict=True):
            stream.set_transport(pipe)
        self.writer = self._child.writer()

    @property
    def pid(self) -> int:
        """Its process id, which is its group's too."""
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
                await terminate(lambda: session_of(self._child), patience_s, leader=self._child)
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


def launch(argv: Sequence[str], *, cwd: str, env: Mapping[str, str], tasks: Tasks, name: str) -> AgentProcess:
    """Start an agent; `argv[0]` is found in the PATH of `env`."""
    try:
        process = AgentProcess(argv, cwd=cwd, env=env, name=name)
    except FileNotFoundError as error:
        raise CommandNotFound(f"command not found: {argv[0]!r}", hint="install it, or check PATH") from error
    except PermissionError as error:
        raise ExecDenied(f"permission denied: {argv[0]!r}") from error
    except OSError as error:
        raise Unavailable(f"cannot start {argv[0]!r}: {error.strerror}") from error
    tasks.start(process.drain(), f"the words of {name}")
    return process
