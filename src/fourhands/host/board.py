"""The board: a page of memory that host and client share, by which a client learns which logs have grown.

It has one pending byte, and for each slot (one terminal's place) a dirty byte, which the host sets, and a watch byte,
which the client sets. The order of the steps is a contract. The host writes the log, sets the dirty byte, sets the
pending byte, wakes. The client undoes that in the opposite order: it takes the wake-up, clears the pending byte, clears
the dirty byte, and only then reads the log. In any other order a wake-up could be lost.
"""

import contextlib
import fcntl
import mmap
import os
import tempfile
from collections import deque
from collections.abc import Callable

BOARD_PENDING = 0
BOARD_DIRTY = 64
BOARD_SLOTS = 16 * 1024
BOARD_WATCH = BOARD_DIRTY + BOARD_SLOTS
BOARD_SIZE = BOARD_WATCH + BOARD_SLOTS

RESTING = 256
"""Number of freed slots that wait before the oldest of them is used again."""


class BoardSlots:
    """The slots of all boards of a host, and which of them are free."""

    def __init__(self, limit: int = BOARD_SLOTS, resting: int = RESTING) -> None:
        self._limit = limit
        self._resting = resting
        self._free: deque[int] = deque()
        self._used = 0

    def take(self) -> int:
        """Return a free slot; raises ValueError when there is none."""
        # A number rests for a while, or a client that is slow to forget one terminal would unwatch the next.
        if len(self._free) > self._resting or (self._free and self._used == self._limit):
            return self._free.popleft()
        if self._used == self._limit:
            raise ValueError(f"a host has at most {self._limit} terminals")
        self._used += 1
        return self._used - 1

    def free(self, slot: int) -> None:
        """Return a slot, for later use."""
        self._free.append(slot)


class BoardWriter:
    """The host's end of one client's board, and of its wake-up."""

    def __init__(self, mapped: Callable[[int, int], mmap.mmap] = mmap.mmap) -> None:
        with contextlib.ExitStack() as undo:
            self.fd = _new_board()
            undo.callback(os.close, self.fd)
            self._page = mapped(self.fd, BOARD_SIZE)
            undo.callback(self._page.close)
            if hasattr(os, "eventfd"):
                self._wake_fd = self.wake_there = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
            else:
                self.wake_there, self._wake_fd = os.pipe()
                os.set_blocking(self._wake_fd, False)
                os.set_blocking(self.wake_there, False)
            undo.pop_all()

    def wake(self, slot: int) -> None:
        """Report that the log in this slot has grown."""
        page = self._page
        page[BOARD_DIRTY + slot] = 1
        if page[BOARD_WATCH + slot] and not page[BOARD_PENDING]:
            page[BOARD_PENDING] = 1
            with contextlib.suppress(BlockingIOError):
                os.write(self._wake_fd, b"\1\0\0\0\0\0\0\0")

    def clear(self, slot: int) -> None:
        """Forget what was said of a slot, which is about to be freed."""
        self._page[BOARD_DIRTY + slot] = 0
        self._page[BOARD_WATCH + slot] = 0

    def close(self) -> None:
        """Close the page and all descriptors."""
        self._page.close()
        for fd in {self.fd, self._wake_fd, self.wake_there}:
            os.close(fd)


class BoardReader:
    """The client's end of a board: callbacks by slot, called when the log in a slot has grown."""

    def __init__(
        self,
        fd: int,
        wake_fd: int,
        call_soon: Callable[[Callable[[], None]], object],
        mapped: Callable[[int, int], mmap.mmap] = mmap.mmap,
    ) -> None:
        """Map the page; `fd` is closed here, `wake_fd` with this object; `call_soon` is the event loop's."""
        self._page = mapped(fd, BOARD_SIZE)
        os.close(fd)
        os.set_blocking(wake_fd, False)
        self.wake_fd = wake_fd
        self._call_soon = call_soon
        self._watchers: dict[int, Callable[[], None]] = {}
        self._reach = BOARD_DIRTY

    def watch(self, slot: int, callback: Callable[[], None]) -> None:
        """Call back whenever the log in this slot has grown. Read it once after this call: it may have grown before."""
        self._watchers[slot] = callback
        self._reach = max(self._reach, BOARD_DIRTY + slot + 1)
        self._page[BOARD_WATCH + slot] = 1

    def unwatch(self, slot: int) -> None:
        """Call back no more for this slot, and have no wake-up for it."""
        self._watchers.pop(slot, None)
        self._page[BOARD_WATCH + slot] = 0

    def woken(self) -> None:
        """Take a wake-up and call back for every slot that has news; for the event loop, when `wake_fd` is readable."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.wake_fd, 4096)
        self._page[BOARD_PENDING] = 0
        self._scan()
        # The host's plain stores are not fenced against ours: a dirty byte may become visible just after the
        # scan although its wake-up was spared because this one was pending. One more look a turn later finds it.
        self._call_soon(self._scan)

    def _scan(self) -> None:
        page = self._page
        at = page.find(b"\1", BOARD_DIRTY, self._reach) if self._is_open() else -1
        while at >= 0:
            page[at] = 0
            callback = self._watchers.get(at - BOARD_DIRTY)
            if callback is not None:
                callback()
            at = page.find(b"\1", at + 1, self._reach) if self._is_open() else -1

    def _is_open(self) -> bool:
        return not self._page.closed

    def close(self) -> None:
        """Close the page and the wake-up."""
        self._watchers.clear()
        self._page.close()
        os.close(self.wake_fd)


def _new_board() -> int:
    """Return a shared page; where that can be had, one that no client can shrink while the host uses it."""
    if not hasattr(os, "memfd_create"):
        with tempfile.TemporaryFile() as file:
            file.truncate(BOARD_SIZE)
            return os.dup(file.fileno())
    board = os.memfd_create("fourhands-board", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(board, BOARD_SIZE)
        fcntl.fcntl(board, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    except OSError:
        os.close(board)
        raise
    return board
