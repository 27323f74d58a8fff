"""Opening a pseudo-terminal and starting a program on it.

`posix_spawn` instead of `fork`: it takes 0.4 ms however large this process is. It has no working directory of its
own, so this process, which has one thread, changes to the directory, spawns and changes back.
"""

import contextlib
import errno
import fcntl
import os
import resource
import select
import signal
import struct
import termios
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_IUTF8 = 0x4000  # on Linux and macOS; Python 3.11 has no name for it

_DEFAULT_SIGNALS = [
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGCHLD,
    signal.SIGTSTP,
    signal.SIGTTIN,
    signal.SIGTTOU,
    signal.SIGALRM,
    signal.SIGUSR1,
    signal.SIGUSR2,
]


class SpawnError(OSError):
    """A program that could not be started; `stage` is "cwd" or "program", which was at fault."""

    def __init__(self, stage: str, error: OSError) -> None:
        super().__init__(error.errno, error.strerror, error.filename)
        self.stage = stage


@dataclass(slots=True)
class Spawned:
    """A running program and the master side of its terminal."""

    pid: int
    master: int
    tty_path: str
    tty: int


def set_size(fd: int, cols: int, rows: int) -> None:
    """Set the size of a terminal; the kernel signals the foreground group when it changed."""
    if not (0 < cols <= 0xFFFF and 0 < rows <= 0xFFFF):
        raise ValueError(f"no terminal has {cols} columns and {rows} rows: each is from 1 to 65535")
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))


def get_size(fd: int) -> tuple[int, int]:
    """Return columns and rows."""
    rows, cols, _, _ = struct.unpack("HHHH", fcntl.ioctl(fd, termios.TIOCGWINSZ, b"\0" * 8))
    return cols, rows


def modes(fd: int) -> tuple[bool, bool]:
    """Return two flags: the terminal echoes; it reads whole lines (canonical mode)."""
    flags = termios.tcgetattr(fd)[3]
    return bool(flags & termios.ECHO), bool(flags & termios.ICANON)


def unread(tty_path: str) -> int:
    """Return the number of bytes typed that no program has read yet; in canonical mode those of whole lines only.

    What is written to a terminal reaches its line discipline by way of a kernel thread, and is nowhere to be seen until
    then. A poll of a terminal with nothing to read waits for that: 0 means that all has been read.
    """
    try:
        fd = os.open(tty_path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        waiting = select.poll()
        waiting.register(fd, select.POLLIN)
        waiting.poll(0)
        return int(struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, b"\0" * 4))[0])
    finally:
        os.close(fd)


def raise_descriptor_limit() -> tuple[int, int]:
    """Allow this process as many descriptors as it may have; returns the limits for its children."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return soft, hard


@contextlib.contextmanager
def _limited(limit: tuple[int, int] | None) -> Iterator[None]:
    """Return to the old descriptor limit for a moment: set in a child that already runs it would be too late."""
    now = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit is None or limit == now:
        yield
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit[0], now[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, now)


def spawn(
    program: str,
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: str,
    *,
    cols: int,
    rows: int,
    descriptor_limit: tuple[int, int] | None = None,
) -> Spawned:
    """Start a program in a session of its own with a new terminal as its controlling one."""
    master, slave = os.openpty()
    try:
        tty_path = os.ttyname(slave)
        attributes = termios.tcgetattr(slave)
        attributes[0] |= _IUTF8  # erase whole characters in canonical mode
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        set_size(slave, cols, rows)
        tty = os.fstat(slave).st_rdev
        here = os.open(".", os.O_RDONLY | os.O_CLOEXEC)
        try:
            try:
                os.chdir(cwd)
            except OSError as error:
                raise SpawnError("cwd", error) from error
            try:
                with _limited(descriptor_limit):
                    pid = os.posix_spawn(
                        program,
                        list(argv),
                        env,
                        # The first terminal that a new session opens becomes its controlling one.
                        file_actions=[
                            (os.POSIX_SPAWN_CLOSE, 0),
                            (os.POSIX_SPAWN_OPEN, 0, tty_path, os.O_RDWR, 0),
                            (os.POSIX_SPAWN_DUP2, 0, 1),
                            (os.POSIX_SPAWN_DUP2, 0, 2),
                        ],
                        setsid=True,
                        setsigmask=[],
                        setsigdef=_DEFAULT_SIGNALS,
                    )
            except OSError as error:
                raise SpawnError("program", error) from error
            finally:
                os.fchdir(here)
        finally:
            os.close(here)
        os.set_blocking(master, False)
        return Spawned(pid, master, tty_path, tty)
    except BaseException:
        os.close(master)
        raise
    finally:
        os.close(slave)


def is_hangup(error: OSError) -> bool:
    """Return True if a read failed because no process has the other side of the terminal open any more."""
    return error.errno == errno.EIO
