"""A provider that gives a stream instead of a launch: a cloud's machine, a service, anything that is no program here.

The host starts a small process of ours (`bridge.py`) in the place of the program; it comes to this server's socket with
a ticket, and from then on the stream and its terminal talk to each other. So everything that holds for programs holds
for streams: the log, the screen, waits, sizes, exit codes. A stream lives in the server: it ends with it.
"""

import asyncio
import contextlib
import logging
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field
from typing import Any

from fourhands.core.bounded import BoundedDict
from fourhands.core.errors import FourhandsError, Unavailable
from fourhands.host import processes
from fourhands.providers import bridge
from fourhands.providers.base import Isolation, Launch, Probe, Stream, StreamProvider

log = logging.getLogger(__name__)

MOST_EXPECTED = 1000
"""Launches that have not come for their stream yet; of more, the oldest never will."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A launch that has not come for its stream yet."""

    launch: Launch
    terminal: bool


@dataclass(slots=True, eq=False)
class _Live:
    """A stream from its ticket to its end."""

    over: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)


class Streamed:
    """A `StreamProvider` as the workbench wants its providers."""

    def __init__(self, provider: StreamProvider, *, name: str) -> None:
        self.name = name
        self.provider = provider
        self._expected: BoundedDict[str, _Wanted] = BoundedDict(MOST_EXPECTED)
        self._live: dict[str, _Live] = {}
        self._failed: BoundedDict[str, FourhandsError] = BoundedDict(MOST_EXPECTED)
        self._server: asyncio.AbstractServer | None = None
        self._directory = ""

    @property
    def isolation(self) -> Isolation:
        """The level that the provider gives."""
        return self.provider.isolation

    @property
    def shells(self) -> tuple[str, ...] | None:
        """The shells that the provider has."""
        return self.provider.shells

    @property
    def shares_files(self) -> bool:
        """True if its programs see this machine's workspace, and the files that make a shell mark its commands."""
        return self.provider.shares_files

    async def probe(self) -> Probe:
        """Ask the provider."""
        return await self.provider.probe()

    async def prepare(self, workspace: str, readable: tuple[str, ...]) -> None:
        """Get the provider ready, and listen for those who come for its streams."""
        await self.provider.prepare(workspace, readable)
        if self._server is None:
            self._directory = tempfile.mkdtemp(prefix="fourhands-")  # closed to other users
            self._server = await asyncio.start_unix_server(self._come, self.path)

    @property
    def path(self) -> str:
        """Path of the socket to which bridges come."""
        return os.path.join(self._directory, "streams")

    def wrap(self, launch: Launch, *, terminal: bool) -> Launch:
        """Return the launch of a bridge to a stream in which the given launch runs."""
        ticket = secrets.token_urlsafe(24)
        self._expected[ticket] = _Wanted(launch, terminal)
        kind = "terminal" if terminal else "pipes"
        env = {bridge.VARIABLE: f"{ticket}:{self.path}"}
        if processes.MARK in launch.env:
            env[processes.MARK] = launch.env[processes.MARK]
        # Started by its path, so that the package is not imported; -P leaves out the directory that it is in.
        argv = (sys.executable, "-P", "-I", "-S", bridge.__file__, kind)
        return Launch(argv[0], argv, launch.cwd, env)

    async def end(self, mark: str) -> None:
        """End the stream of a launch, and wait for that."""
        for ticket, wanted in list(self._expected.items()):
            if wanted.launch.env.get(processes.MARK) == mark:
                del self._expected[ticket]
        if (live := self._live.get(mark)) is not None:
            live.over.set()
            await live.gone.wait()

    async def explain(self, mark: str, exit_code: int, stderr: str) -> FourhandsError | None:
        """Why there was no stream, or why it broke."""
        return self._failed.pop(mark, None)

    async def clean_up(self) -> None:
        """End all streams, listen no longer, and let the provider clean up."""
        if self._server is not None:
            self._server.close()
            self._server = None
            for mark in list(self._live):
                await self.end(mark)
            shutil.rmtree(self._directory, ignore_errors=True)
        await self.provider.clean_up()

    # -- one stream ------------------------------------------------------------------------------------------------

    async def _come(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a bridge that has connected, if its ticket is known."""
        try:
            kind, ticket = await _frame(reader)
            expected = self._expected.pop(ticket.decode("ascii", "replace"), None) if kind == b"h" else None
            if expected is not None:
                await self._attend(expected, reader, writer)
        except (OSError, EOFError):
            pass  # it has gone
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _attend(self, wanted: _Wanted, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        mark = wanted.launch.env.get(processes.MARK) or secrets.token_hex()
        live = self._live[mark] = _Live()
        try:
            size = bridge.SIZE.unpack((await _frame(reader))[1]) if wanted.terminal else None
            async with self._opened(wanted.launch, size, live) as stream:
                try:
                    await _first(_talk(stream, writer), _listen(stream, reader), live.over.wait())
                except Exception as error:  # noqa: BLE001 - as below
                    await self._fail(mark, error, writer)
                writer.close()  # its terminal need not wait for the end of what is behind it
        except Exception as error:  # noqa: BLE001 - whatever a provider raises concerns this stream alone
            await self._fail(mark, error, writer)
        finally:
            del self._live[mark]
            live.gone.set()

    @contextlib.asynccontextmanager
    async def _opened(self, launch: Launch, size: tuple[int, int] | None, live: _Live) -> AsyncIterator[Stream]:
        """Open the provider's stream; it is closed at the end, whatever happens."""
        streams: list[Stream] = []

        async def begin() -> None:
            streams.append(await self.provider.open(launch, size))

        try:
            await _first(begin(), live.over.wait())
            if not streams:
                raise Unavailable(f"the stream of {self.name} was abandoned before it opened")
            yield streams[0]
        finally:
            for stream in streams:
                await stream.close()

    async def _fail(self, mark: str, error: Exception, writer: asyncio.StreamWriter) -> None:
        """Report why there is no stream, or no more: to those who wait for it, or else to the log."""
        gone = writer.is_closing()
        if not isinstance(error, FourhandsError) and not (gone and isinstance(error, OSError | EOFError)):
            log.warning("a stream of provider %s broke", self.name, exc_info=error)
        if gone:
            return
        why = error if isinstance(error, FourhandsError) else Unavailable(f"the stream of {self.name} broke: {error!r}")
        self._failed[mark] = why
        with contextlib.suppress(OSError):
            writer.write(bridge.frame(b"e", str(why).encode("utf-8", "replace")))
            await writer.drain()


async def _first(*work: Coroutine[Any, Any, Any]) -> None:
    """Wait for the first of several things, and give the others up; what fails raises, as it is."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one) for one in work]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None


async def _frame(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    kind, length = bridge.HEAD.unpack(await reader.readexactly(bridge.HEAD.size))
    if length > bridge.LARGEST:
        raise EOFError("no bridge of ours")
    return kind, await reader.readexactly(length)


async def _listen(stream: Stream, reader: asyncio.StreamReader) -> None:
    """Hand input and sizes to the stream, until the bridge has gone."""
    while True:
        try:
            kind, data = await _frame(reader)
        except (EOFError, ConnectionError):
            return
        with contextlib.suppress(ConnectionError):  # input that the program has not read when it ended is lost
            if kind == b"s":
                await stream.resize(*bridge.SIZE.unpack(data))
            elif kind == b"i":
                await stream.write(data)


async def _talk(stream: Stream, writer: asyncio.StreamWriter) -> None:
    """Hand output to the bridge, and the exit code at the end."""
    while (output := await stream.read()) is not None:
        for start in range(0, len(output.data), bridge.LARGEST):
            piece = output.data[start : start + bridge.LARGEST]
            writer.write(bridge.frame(b"2" if output.is_error else b"1", piece))
            await writer.drain()  # a slow reader holds up this stream only
    writer.write(bridge.frame(b"x", bridge.CODE.pack(await stream.wait())))
    await writer.drain()
