"""The calls of the operating system that can fail or lie, in one object that tests replace."""

import contextlib
import ctypes
import errno
import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import Protocol

from fourhands.host import processes
from fourhands.host.processes import Process

_PUNCH_HOLE_KEEP_SIZE = 0x03


class System(Protocol):
    """The kernel, as logs and the reaper use it."""

    def monotonic(self) -> float:
        """Return the time by a clock that never goes back."""
        ...

    def pwrite(self, fd: int, data: memoryview, position: int) -> int:
        """Write at a position; returns the number of bytes written."""
        ...

    def punch(self, fd: int, start: int, length: int) -> None:
        """Return the pages of a range to the disk; raises OSError where that cannot be done."""
        ...

    def scan(self) -> dict[int, Process]:
        """Return every process of the machine that is not a zombie."""
        ...

    def send_signals(self, process: Process, numbers: Iterable[int]) -> None:
        """Signal exactly this process, and no later one with its number."""
        ...

    def killpg(self, group: int, number: int) -> None:
        """Signal a process group, if it is there and may be signalled."""
        ...


class Kernel:
    """The `System` of this machine."""

    def __init__(self, platform: str = sys.platform) -> None:
        self._fallocate = _load_fallocate() if platform.startswith("linux") else None

    def monotonic(self) -> float:
        """Return the time by a clock that never goes back."""
        return time.monotonic()

    def pwrite(self, fd: int, data: memoryview, position: int) -> int:
        """Write at a position; returns the number of bytes written."""
        return os.pwrite(fd, data, position)

    def punch(self, fd: int, start: int, length: int) -> None:
        """Return the pages of a range to the disk; raises OSError where that cannot be done."""
        if self._fallocate is None:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        if self._fallocate(fd, _PUNCH_HOLE_KEEP_SIZE, start, length) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    def scan(self) -> dict[int, Process]:
        """Return every process of the machine that is not a zombie."""
        return processes.scan()

    def send_signals(self, process: Process, numbers: Iterable[int]) -> None:
        """Signal exactly this process, and no later one with its number."""
        processes.send_signals(process, numbers)

    def killpg(self, group: int, number: int) -> None:
        """Signal a process group, if it is there and may be signalled."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def _load_fallocate() -> Callable[[int, int, int, int], int] | None:
    """Return the C library's fallocate: the standard library only has posix_fallocate, which cannot punch."""
    library = ctypes.CDLL(None, use_errno=True)
    function = getattr(library, "fallocate64", None) or getattr(library, "fallocate", None)
    if function is None:
        return None
    function.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    function.restype = ctypes.c_int
    found: Callable[[int, int, int, int], int] = function
    return found


KERNEL = Kernel()
