"""An agent's process on pipes: its messages on stdin and stdout, its words on stderr in our log, and a sure end.

Some agents do not leave when their input ends, and most start children. So the process leads a group of its own, and
the end is: close its input, wait, ask the group to leave, wait, kill the group.
"""

import asyncio
import contextlib
import logging
import os
import signal
import subprocess
from collections import deque
from collections.abc import Mapping, Sequence

from fourhands.core.errors import CommandNotFound, ExecDenied, Unavailable
from fourhands.core.tasks import Tasks

log = logging.getLogger(__name__)

GRACE_S = 2.0
"""How long it may take to leave by itself once its input is closed; half of it again after SIGTERM."""

WORDS_S = 1.0
"""How long its last words may take to arrive."""

_BUFFER = 1 << 20
_LONGEST_LOG_LINE = 2000
_LAST_WORDS = 20


class AgentProcess:
    """A running agent. Made by `launch`."""

    def __init__(
        self,
        transport: asyncio.SubprocessTransport,
        protocol: asyncio.subprocess.SubprocessStreamProtocol,
        name: str,
    ) -> None:
        assert protocol.stdin is not None
        assert protocol.stdout is not None
        assert protocol.stderr is not None
        self.name = name
        self.writer: asyncio.StreamWriter = protocol.stdin
        self.reader: asyncio.StreamReader = protocol.stdout
        self.last_words: deque[str] = deque(maxlen=_LAST_WORDS)
        self._heard = asyncio.Event()
        self._stderr = protocol.stderr
        self._transport = transport
        self._process = asyncio.subprocess.Process(transport, protocol, asyncio.get_running_loop())
        self._group = transport.get_pid()

    @property
    def pid(self) -> int:
        """Its process id, which is its group's too."""
        return self._group

    @property
    def exit_code(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self._transport.get_returncode()

    @property
    def ending(self) -> str:
        """How it ended, in words."""
        code = self.exit_code
        if code is None:
            return "it has closed its output"
        return f"exit code {code}" if code >= 0 else signal.Signals(-code).name

    async def words(self) -> str:
        """The last lines of its stderr, for an error message; of one that has gone, really the last."""
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
        """Close its input and see it out; firmly, with all its group, if it stays."""
        with contextlib.suppress(OSError, RuntimeError):
            self.writer.close()
        try:
            if not await self._left(grace_s):
                self._signal(signal.SIGTERM)
                await self._left(grace_s / 2)
        finally:
            self._signal(signal.SIGKILL)  # its children too, also when it has left itself
            try:
                await self._left(grace_s)
            finally:
                self._transport.close()  # a child that went to another group may hold the pipes

    async def _left(self, limit_s: float) -> bool:
        """Whether it has exited within this time."""
        try:
            async with asyncio.timeout(limit_s):
                await self._process.wait()
        except TimeoutError:
            return self.exit_code is not None
        return True

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._group, number)


async def launch(argv: Sequence[str], *, cwd: str, env: Mapping[str, str], tasks: Tasks, name: str) -> AgentProcess:
    """Start an agent; `argv[0]` is found in the PATH of `env`."""
    loop = asyncio.get_running_loop()
    # A task of its own, since a start that is cancelled kills the first process only and waits for all others that
    # hold its pipes.
    starting = asyncio.ensure_future(  # noqa: TID251 - waited for here, whatever happens
        loop.subprocess_exec(
            lambda: asyncio.subprocess.SubprocessStreamProtocol(limit=_BUFFER, loop=loop),
            *argv,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    )
    try:
        transport, protocol = await asyncio.shield(starting)
    except FileNotFoundError as error:
        raise CommandNotFound(f"command not found: {argv[0]!r}", hint="install it, or check PATH") from error
    except PermissionError as error:
        raise ExecDenied(f"permission denied: {argv[0]!r}") from error
    except OSError as error:
        raise Unavailable(f"cannot start {argv[0]!r}: {error.strerror}") from error
    except asyncio.CancelledError:
        await asyncio.shield(_abandon(starting, name))
        raise
    process = AgentProcess(transport, protocol, name)
    tasks.start(process.drain(), f"the words of {name}")
    return process


async def _abandon(
    starting: asyncio.Future[tuple[asyncio.SubprocessTransport, asyncio.subprocess.SubprocessStreamProtocol]], name: str
) -> None:
    """End an agent that is just being started, with all its group."""
    with contextlib.suppress(OSError):
        transport, protocol = await starting
        await AgentProcess(transport, protocol, name).end(0.0)
