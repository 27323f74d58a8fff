"""A client of the host: its socket, its requests, its board; and the poller that watches all of them."""

import os
import select
import selectors
import socket
import struct
from collections import deque
from typing import Any

from fourhands.host.board import BoardWriter
from fourhands.host.protocol import Message, MessageSocket


class Poll:
    """The part of `select.epoll` that is used here, for systems that lack it."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def register(self, fd: int, mask: int) -> None:
        """Begin to watch a descriptor."""
        self._selector.register(fd, mask)

    def modify(self, fd: int, mask: int) -> None:
        """Watch a descriptor for other events."""
        self._selector.modify(fd, mask)

    def unregister(self, fd: int) -> None:
        """Stop watching a descriptor."""
        self._selector.unregister(fd)

    def poll(self, timeout: float | None = None, maxevents: int = -1) -> list[tuple[int, int]]:
        """Return the descriptors that are ready, with their events."""
        return [(key.fd, mask) for key, mask in self._selector.select(timeout)]

    def close(self) -> None:
        """Stop watching everything."""
        self._selector.close()


IN, OUT = (
    (select.EPOLLIN, select.EPOLLOUT) if hasattr(select, "epoll") else (selectors.EVENT_READ, selectors.EVENT_WRITE)
)


def new_poll() -> Any:
    """Return an epoll object, or a `Poll` where there is none."""
    return select.epoll() if hasattr(select, "epoll") else Poll()


class HostConnection:
    """One client as the host sees it: a server, a command line, an embedding program."""

    def __init__(self, sock: socket.socket) -> None:
        self.connection = MessageSocket(sock, takes_descriptors=False)
        self.greeted = False
        self.inbox: deque[Message] = deque()
        self.board = BoardWriter()

    def close(self) -> None:
        """Close everything that was opened for it."""
        self.connection.close()
        self.board.close()


def same_user(sock: socket.socket) -> bool:
    """Return True if the peer of a Unix socket runs as the user of this process."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True  # the mode of the directory keeps others out
    _, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return bool(uid == os.getuid())
