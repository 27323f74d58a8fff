"""A cloud in this process: a provider that gives streams, with real programs on terminals and pipes behind them."""

import asyncio
import contextlib
import fcntl
import os
import signal
import subprocess
import termios

from fourhands import Isolation, Launch, Output, Probe, Stream
from fourhands.core.errors import Unavailable
from fourhands.host import processes, pty
from fourhands.providers import bridge
from fourhands.providers.termination import carriers


class Cloud:
    """Runs this machine's programs, as a cloud would run its own; `broken` is why it does not."""

    isolation = Isolation.CONTAINER
    shells: tuple[str, ...] | None = None
    shares_files = True

    def __init__(self) -> None:
        self.broken = ""
        self.opened: list[_Program] = []
        self.cleaned = 0

    async def probe(self) -> Probe:
        return Probe(not self.broken, self.broken or "a cloud in this process")

    async def prepare(self, workspace: str, readable: tuple[str, ...]) -> None:
        if self.broken == "prepare":
            raise Unavailable("no cloud today")

    async def open(self, launch: Launch, size: tuple[int, int] | None) -> Stream:
        if self.broken:
            raise Unavailable(self.broken, hint="wait for better weather")
        program = _Program(launch, size)
        self.opened.append(program)
        return program

    async def clean_up(self) -> None:
        self.cleaned += 1


class _Program:
    def __init__(self, launch: Launch, size: tuple[int, int] | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._mark = launch.env[processes.MARK]
        self._ready: asyncio.Queue[Output | Exception | None] = asyncio.Queue()
        self.closed = 0
        self._sources: dict[int, bool] = {}
        if size is not None:
            self._master, slave = os.openpty()
            pty.set_size(slave, *size)
            ends: dict[str, int] = dict.fromkeys(("stdin", "stdout", "stderr"), slave)
        else:
            theirs, self._master = os.pipe()
            out, their_out = os.pipe()
            err, their_err = os.pipe()
            ends = {"stdin": theirs, "stdout": their_out, "stderr": their_err}
            self._sources = {out: False, err: True}

        def take_terminal() -> None:
            if size is not None:
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        try:
            self._process = subprocess.Popen(
                launch.argv,
                executable=launch.program,
                cwd=launch.cwd,
                env=dict(launch.env),
                start_new_session=True,
                preexec_fn=take_terminal,
                **ends,  # type: ignore[call-overload]  # the three are descriptors
            )
        finally:
            for end in set(ends.values()):
                os.close(end)
        if size is not None:
            self._sources = {self._master: False}
        for source in self._sources:
            self._loop.add_reader(source, self._heard, source)

    def _heard(self, source: int) -> None:
        try:
            data = os.read(source, 1 << 16)
        except OSError:  # nobody has the terminal open any more
            data = b""
        if data:
            self._ready.put_nowait(Output(data, self._sources[source]))
            return
        self._loop.remove_reader(source)
        if source != self._master:
            os.close(source)
        del self._sources[source]
        if not self._sources:
            self._ready.put_nowait(None)

    def fail(self, error: Exception) -> None:
        """The connection to the cloud breaks."""
        self._ready.put_nowait(error)

    async def read(self) -> Output | None:
        found = await self._ready.get()
        if isinstance(found, Exception):
            raise found
        return found

    async def write(self, data: bytes) -> None:
        if not data:
            os.close(self._master)
            self._master = -1
        while data:
            data = data[await asyncio.to_thread(os.write, self._master, data) :]

    async def resize(self, cols: int, rows: int) -> None:
        pty.set_size(self._master, cols, rows)

    async def wait(self) -> int:
        return await asyncio.to_thread(self._process.wait)

    async def close(self) -> None:
        self.closed += 1
        assert self.closed == 1
        began = self._loop.time()
        while found := [one for one in carriers(self._mark) if one.name != bridge.NAME]:  # that one is not the cloud's
            numbers = (signal.SIGHUP, signal.SIGTERM) if self._loop.time() < began + 1 else (signal.SIGKILL,)
            for one in found:
                processes.send_signals(one, list(numbers))
            await asyncio.sleep(0.02)  # until they have gone
        await asyncio.to_thread(self._process.wait)
        for source in self._sources:
            self._loop.remove_reader(source)
        for fd in {*self._sources, self._master} - {-1}:
            with contextlib.suppress(OSError):
                os.close(fd)
