"""Somebody connected to the host: its socket, its board, its wake-up; and the poller they are all watched with."""

import contextlib
import fcntl
import mmap
import os
import select
import selectors
import socket
import struct
import tempfile
from collections import deque
from typing import Any

from fourhands.host.protocol import BOARD_DIRTY, BOARD_PENDING, BOARD_SIZE, BOARD_WATCH, Message, MessageSocket


class Poll:
    """The part of `select.epoll` that is used here, for systems that lack it."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def register(self, fd: int, mask: int) -> None:
        """Begin to look at a descriptor."""
        self._selector.register(fd, mask)

    def modify(self, fd: int, mask: int) -> None:
        """Look for something else."""
        self._selector.modify(fd, mask)

    def unregister(self, fd: int) -> None:
        """Look no more."""
        self._selector.unregister(fd)

    def poll(self, timeout: float | None = None, maxevents: int = -1) -> list[tuple[int, int]]:
        """What is ready."""
        return [(key.fd, mask) for key, mask in self._selector.select(timeout)]

    def close(self) -> None:
        """Look at nothing any more."""
        self._selector.close()


IN, OUT = (
    (select.EPOLLIN, select.EPOLLOUT) if hasattr(select, "epoll") else (selectors.EVENT_READ, selectors.EVENT_WRITE)
)


def new_poll() -> Any:
    """An epoll object, or what stands in for it."""
    return select.epoll() if hasattr(select, "epoll") else Poll()


class HostConnection:
    """Somebody connected: a server, a command line, an embedding program."""

    def __init__(self, sock: socket.socket) -> None:
        self.connection = MessageSocket(sock, takes_descriptors=False)
        self.greeted = False
        self.inbox: deque[Message] = deque()
        with contextlib.ExitStack() as undo:
            self.board_fd = _new_board()
            undo.callback(os.close, self.board_fd)
            self.board = mmap.mmap(self.board_fd, BOARD_SIZE)
            undo.callback(self.board.close)
            if hasattr(os, "eventfd"):
                self.wake_fd = self.wake_there = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
            else:
                self.wake_there, self.wake_fd = os.pipe()
                os.set_blocking(self.wake_fd, False)
                os.set_blocking(self.wake_there, False)
            undo.pop_all()

    def wake(self, slot: int) -> None:
        """Say that the log in this slot has grown. The order is a contract, see `process.py`."""
        board = self.board
        board[BOARD_DIRTY + slot] = 1
        if board[BOARD_WATCH + slot] and not board[BOARD_PENDING]:
            board[BOARD_PENDING] = 1
            with contextlib.suppress(BlockingIOError):
                os.write(self.wake_fd, b"\1\0\0\0\0\0\0\0")

    def clear(self, slot: int) -> None:
        """The slot is nobody's from now on."""
        self.board[BOARD_DIRTY + slot] = 0
        self.board[BOARD_WATCH + slot] = 0

    def close(self) -> None:
        """Close everything that was opened for it."""
        self.connection.close()
        self.board.close()
        for fd in {self.board_fd, self.wake_fd, self.wake_there}:
            os.close(fd)


def _new_board() -> int:
    """A shared page; where that can be had, one that no client can shrink under the host's feet."""
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


def same_user(sock: socket.socket) -> bool:
    """Whether the other side of a Unix socket runs as the user that we are."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True  # the directory's mode keeps others out
    _, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return bool(uid == os.getuid())
