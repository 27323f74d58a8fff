"""A program on pipes, started in the same way on every event loop.

The loops' own ways differ in what the program finds. uvloop gives it sockets, which cannot be opened by the name
`/dev/stderr`, and copies of them under other numbers, so that one that goes into the background and closes its output
keeps it open all the same. Here it gets pipes, and nothing else of ours; the exit and the end of the pipes are two
things. Starting is one step without an `await`: there is no half-started program that a cancelled call could leave.
"""

import abc
import asyncio
import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

Take = Callable[[bytes], object]
"""Is given what a program prints, piece by piece, and b"" at the end."""

_PIECE = 1 << 16


class Pipe(asyncio.ReadTransport):
    """The reading end of a pipe; a slow reader may pause it, and then the program waits."""

    def __init__(self, file: IO[bytes], take: Take) -> None:
        super().__init__()
        os.set_blocking(file.fileno(), False)
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._file = file
        self._take = take
        self._paused = False
        self.resume_reading()

    def read_on(self) -> bool:
        """Take what is there now; whether there was anything."""
        if self._file.closed:
            return False
        try:
            data = os.read(self._file.fileno(), _PIECE)
        except BlockingIOError:
            return False
        if not data:
            self.close()
            return False
        self._take(data)
        return True

    def is_closing(self) -> bool:
        """Return True after its end."""
        return self._file.closed

    def is_reading(self) -> bool:
        """Return True while it is read and not paused."""
        return not self._paused and not self._file.closed

    def pause_reading(self) -> None:
        """Read nothing until told to go on."""
        self._paused = True
        if not self._file.closed:
            self.ended.get_loop().remove_reader(self._file.fileno())

    def resume_reading(self) -> None:
        """Read again."""
        self._paused = False
        if not self._file.closed:
            self.ended.get_loop().add_reader(self._file.fileno(), self.read_on)

    def close(self) -> None:
        """Stop reading; a program that still writes gets a broken pipe."""
        if self._file.closed:
            return
        self.pause_reading()
        self._file.close()
        self._take(b"")
        if not self.ended.done():
            self.ended.set_result(None)


class Sink(asyncio.WriteTransport):
    """The writing end of a pipe. What is written to a program that has closed its input, or has gone, is lost."""

    # Not the loop's `connect_write_pipe`: uvloop closes the descriptor and then the file, whose number may by then be
    # in use for another file.

    def __init__(self, file: IO[bytes], protocol: asyncio.BaseProtocol) -> None:
        super().__init__()
        os.set_blocking(file.fileno(), False)
        self._loop = asyncio.get_running_loop()
        self._file = file
        self._protocol = protocol
        self._left = bytearray()
        self._closing = self._full = False
        protocol.connection_made(self)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write, at once or when there is room."""
        if self._closing:
            return
        waits = bool(self._left)
        self._left += data
        if not waits and self._left:
            self._flow()
        if not self._full and len(self._left) > _PIECE:
            self._full = True
            self._protocol.pause_writing()

    def close(self) -> None:
        """Write what is left, and then its end."""
        self._closing = True
        if not self._left:
            self.abort()

    def abort(self) -> None:
        """End it here and now."""
        self._end(None)

    def _end(self, error: OSError | None) -> None:
        self._closing = True
        if not self._file.closed:
            self._loop.remove_writer(self._file.fileno())
            self._file.close()
            self._left.clear()
            self._loop.call_soon(self._protocol.connection_lost, error)

    def is_closing(self) -> bool:
        """Return True once nothing more can be written."""
        return self._closing

    def get_write_buffer_size(self) -> int:
        """Bytes that wait for room."""
        return len(self._left)

    def can_write_eof(self) -> bool:
        """Return True: a pipe has an end."""
        return True

    def write_eof(self) -> None:
        """Close the pipe: it has only this direction."""
        self.close()

    def _flow(self) -> None:
        try:
            with memoryview(self._left) as view:
                written = os.write(self._file.fileno(), view[:_PIECE])
        except BlockingIOError:
            written = 0
        except OSError as error:  # the reader has gone
            self._end(error)
            return
        del self._left[:written]
        if self._left:
            self._loop.add_writer(self._file.fileno(), self._flow)
            return
        self._loop.remove_writer(self._file.fileno())
        if self._full:
            self._full = False
            self._protocol.resume_writing()
        if self._closing:
            self.abort()


class PipedChild(abc.ABC):
    """A program that runs somewhere and that is reached by pipes."""

    pid: int
    reason = ""
    """The reason, in words, of an end that was not the program's own; empty where there is none."""

    def __init__(
        self, stdin: IO[bytes] | None, stdout: IO[bytes], stderr: IO[bytes] | None, out: Take, err: Take | None
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self._stdin = stdin
        self._input: Sink | None = None
        self.out = Pipe(stdout, out)
        self.err = None if stderr is None or err is None else Pipe(stderr, err)

    @property
    @abc.abstractmethod
    def code(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""

    @abc.abstractmethod
    def kill(self) -> None:
        """End it at once."""

    @property
    def pipes(self) -> list[Pipe]:
        """The pipe that it prints to."""
        return [self.out] if self.err is None else [self.out, self.err]

    def give(self, data: bytes) -> None:
        """Write all of its input, and then its end; it need not read it."""
        sink = self._open_input(asyncio.BaseProtocol())
        sink.write(data)
        sink.close()

    def writer(self) -> asyncio.StreamWriter:
        """Its input, to be written to as long as it runs."""
        # Its reader is never fed: this protocol is the one of the standard library that can wait for a full pipe.
        flow = asyncio.StreamReaderProtocol(asyncio.StreamReader())
        return asyncio.StreamWriter(self._open_input(flow), flow, None, self._loop)

    def _open_input(self, protocol: asyncio.BaseProtocol) -> Sink:
        assert self._stdin is not None, "started without input"
        self._input = Sink(self._stdin, protocol)
        return self._input

    def close(self) -> None:
        """Hear no more of it; if it still runs, it is killed."""
        if self.code is None:
            self.kill()
        for pipe in self.pipes:
            pipe.close()
        if self._input is not None:
            self._input.abort()


class Child(PipedChild):
    """A program that has been started. Raises OSError when it cannot be."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: str | None,
        env: Mapping[str, str],
        out: Take,
        err: Take | None,
        program: str | None = None,
        with_input: bool = False,
    ) -> None:
        """`err` None puts standard error into standard output; `program` is the file, if `argv[0]` is only its name."""
        self._started = subprocess.Popen(
            list(argv),
            executable=program,
            cwd=cwd,
            env=dict(env),
            bufsize=0,
            stdin=subprocess.PIPE if with_input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if err is None else subprocess.PIPE,
            start_new_session=True,  # it leads a group, and has no terminal of ours to ask at
        )
        self.pid = self._started.pid
        assert self._started.stdout is not None
        super().__init__(self._started.stdin, self._started.stdout, self._started.stderr, out, err)
        self._watch()

    @property
    def code(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self._started.returncode

    def kill(self) -> None:
        """End it at once, and nothing of what it has started."""
        self._started.kill()  # it knows when there is no such process any more

    def _watch(self) -> None:
        """Have `ended` done at its exit."""
        try:
            fd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):  # not Linux, or an old one, or no descriptor left
            threading.Thread(target=self._wait, name=f"exit of {self.pid}", daemon=True).start()
        else:
            self._loop.add_reader(fd, self._exited, fd)

    def _wait(self) -> None:
        self._started.wait()
        with contextlib.suppress(RuntimeError):  # the loop has gone meanwhile
            self._loop.call_soon_threadsafe(self._exited)

    def _exited(self, fd: int = -1) -> None:
        if fd >= 0:
            self._loop.remove_reader(fd)
            os.close(fd)
        self._started.poll()
        if not self.ended.done():
            self.ended.set_result(None)


def into(reader: asyncio.StreamReader) -> Take:
    """For what wants to read a stream: `reader.set_transport` of the pipe lets a slow one hold the program up."""
    return lambda data: reader.feed_data(data) if data else reader.feed_eof()


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of a program, and its output."""

    code: int
    out: str
    err: str


async def run(argv: Sequence[str], *, env: Mapping[str, str], timeout_s: float, cwd: str | None = None) -> Finished:
    """Run a program until it exits, and no longer: not until its own children have closed its output.

    After `timeout_s` it is killed, which is a TimeoutError.
    """
    out, err = bytearray(), bytearray()
    child = Child(argv, cwd=cwd, env=env, out=out.extend, err=err.extend)
    try:
        async with asyncio.timeout(timeout_s):
            await asyncio.shield(child.ended)
        for pipe in child.pipes:
            while pipe.read_on():
                pass
    finally:
        if child.code is None:
            child.kill()
            await asyncio.shield(child.ended)
        child.close()
    return Finished(child.code or 0, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def signal_name(code: int | None) -> str | None:
    """Return the name of the signal that ended a program, by its exit code; None if it exited by itself."""
    if code is None or code >= 0:
        return None
    try:
        return signal.Signals(-code).name
    except ValueError:  # one of the real-time signals, most of which have no name
        return f"SIG{-code}"
