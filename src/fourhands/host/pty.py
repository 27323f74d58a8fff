"""Opening a pseudo-terminal and starting a program on it, as the sandbox's spawner does too; looks at terminals.

`posix_spawn` instead of `fork`: it takes 0.4 ms however large this process is.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import resource
import select
import struct
import sys
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fourhands.host.spawner import SpawnError, on_terminal, start

__all__ = ["SpawnError", "Spawned"]

_IUTF8 = 0x4000  # on Linux and macOS; Python 3.11 has no name for it
_TIOCGPTPEER, _TIOCGPTN, _TIOCSPTLCK = 0x5441, 0x80045430, 0x40045431  # of Linux, for which Python has no names
_DEVPTS = 0x1CD1  # its file system's number
_PTMX = os.makedev(5, 2)


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


def open_peer(master: int, tty_path: str = "") -> int:
    """Open the other side of a terminal: by its master, since in a sandbox its path is another terminal's out here.

    `tty_path` is for systems that cannot do that, which have no sandboxes either.
    """
    flags = os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return fcntl.ioctl(master, _TIOCGPTPEER, flags)
    except (OSError, ValueError):
        if not tty_path:
            raise
        return os.open(tty_path, flags)


def device(master: int, tty_path: str = "") -> int:
    """Return the number of a terminal's device."""
    fd = open_peer(master, tty_path)
    try:
        return os.fstat(fd).st_rdev
    finally:
        os.close(fd)


def unread(master: int, tty_path: str = "") -> int:
    """Return the number of bytes typed that no program has read yet; in canonical mode those of whole lines only.

    What is written to a terminal reaches its line discipline by way of a kernel thread, and is nowhere to be seen until
    then. A poll of a terminal with nothing to read waits for that: 0 means that all has been read.
    """
    try:
        fd = open_peer(master, tty_path)
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
        tty_path, tty = os.ttyname(slave), _set_up(slave, cols, rows)
        pid = start(program, argv, env, cwd, on_terminal(tty_path), descriptor_limit)
        os.set_blocking(master, False)
        return Spawned(pid, master, tty_path, tty)
    except BaseException:
        os.close(master)
        raise
    finally:
        os.close(slave)


def open_in(directory: int, cols: int, rows: int) -> Spawned:
    """Open a terminal among those of a sandbox, whose program is still to be started; `directory` is its `/dev/pts`.

    The host opens it, and never takes one that was opened inside: the opener can make the host's reads block.
    """
    master = os.open("ptmx", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        if os.fstat(master).st_rdev != _PTMX:
            raise OSError(errno.ENOTTY, "the sandbox has no terminals")
        (number,) = struct.unpack("i", fcntl.ioctl(master, _TIOCGPTN, b"\0" * 4))
        fcntl.ioctl(master, _TIOCSPTLCK, b"\0" * 4)
        slave = open_peer(master)
        try:
            return Spawned(0, master, f"/dev/pts/{number}", _set_up(slave, cols, rows))
        finally:
            os.close(slave)
    except BaseException:
        os.close(master)
        raise


def holds_terminals(directory: int) -> bool:
    """Return True if a descriptor is that of a file system of terminals."""
    found = ctypes.create_string_buffer(256)
    function = ctypes.CDLL(None).fstatfs
    return function(directory, found) == 0 and int.from_bytes(found.raw[:4], sys.byteorder) == _DEVPTS


def _set_up(slave: int, cols: int, rows: int) -> int:
    """Set the modes and size of a new terminal; returns its device."""
    attributes = termios.tcgetattr(slave)
    attributes[0] |= _IUTF8  # erase whole characters in canonical mode
    termios.tcsetattr(slave, termios.TCSANOW, attributes)
    set_size(slave, cols, rows)
    return os.fstat(slave).st_rdev


def is_hangup(error: OSError) -> bool:
    """Return True if a read failed because no process has the other side of the terminal open any more."""
    return error.errno == errno.EIO
