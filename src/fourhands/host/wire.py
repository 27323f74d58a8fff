"""Messages between the host and those who use it: a length, then JSON, now and then with descriptors.

Only control passes here: what terminals print is read from their logs, and what is typed goes to the PTY's own
descriptor. Both sides are non-blocking sockets driven by somebody else's loop.
"""

import json
import os
import socket
import struct
from collections import deque
from typing import Any

PROTOCOL = 1
"""Raised when a message changes its meaning. Host and server must agree on it exactly."""

LARGEST = 16 * 1024 * 1024
"""A message beyond this is a mistake or an attack; the connection is closed."""

Message = dict[str, Any]

_LENGTH = struct.Struct("!I")
_FDS_PER_READ = 16

# The board: a shared page in which the host marks what has news and a client marks what it wants to hear of.
BOARD_PENDING = 0
BOARD_DIRTY = 64
BOARD_SLOTS = 16 * 1024
BOARD_WATCH = BOARD_DIRTY + BOARD_SLOTS
BOARD_SIZE = BOARD_WATCH + BOARD_SLOTS


class WireError(Exception):
    """The other side does not speak this protocol."""


class Connection:
    """One end of a control socket: whole messages in, whole messages out, never blocking."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.sock = sock
        self._in = bytearray()
        self._in_fds: deque[int] = deque()
        self._out: deque[tuple[bytes, list[int]]] = deque()
        self._out_size = 0

    def fileno(self) -> int:
        """The socket's descriptor, for pollers."""
        return self.sock.fileno()

    def receive(self) -> list[tuple[Message, list[int]]] | None:
        """Every whole message that has arrived, each with its descriptors; None when the other side is gone."""
        while True:
            try:
                data, fds, _, _ = socket.recv_fds(self.sock, 256 * 1024, _FDS_PER_READ)
            except (BlockingIOError, InterruptedError):
                return self._whole()
            except OSError:
                return None
            self._in_fds.extend(fds)
            if not data:
                return self._whole() or None
            self._in += data

    def _whole(self) -> list[tuple[Message, list[int]]]:
        found = []
        while len(self._in) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._in)
            if length > LARGEST:
                raise WireError(f"a message of {length} bytes, at most {LARGEST} are allowed")
            if len(self._in) < _LENGTH.size + length:
                break
            body = bytes(self._in[_LENGTH.size : _LENGTH.size + length])
            del self._in[: _LENGTH.size + length]
            try:
                message = json.loads(body)
            except ValueError as error:
                raise WireError(f"a message that is not JSON: {error}") from error
            if not isinstance(message, dict):
                raise WireError("a message that is not an object")
            count = message.get("fds", 0)
            if not isinstance(count, int) or not 0 <= count <= len(self._in_fds):
                raise WireError("a message announces descriptors that did not come with it")
            found.append((message, [self._in_fds.popleft() for _ in range(count)]))
        return found

    def send(self, message: Message, fds: list[int] | None = None) -> bool:
        """Queue a message and send what the socket takes; True when something is left to send."""
        if fds:
            message = {**message, "fds": len(fds)}
        body = json.dumps(message, separators=(",", ":")).encode()
        if len(body) > LARGEST:
            raise WireError(f"a message of {len(body)} bytes, at most {LARGEST} are allowed")
        self._out.append((_LENGTH.pack(len(body)) + body, list(fds or ())))
        self._out_size += len(body)
        return self.flush()

    def flush(self) -> bool:
        """Send what the socket takes now; True when something is left to send."""
        while self._out:
            data, fds = self._out[0]
            try:
                sent = socket.send_fds(self.sock, [data], fds) if fds else self.sock.send(data)
            except (BlockingIOError, InterruptedError):
                if self._out_size > LARGEST:
                    raise WireError("the other side does not read what it is sent") from None
                return True
            self._out_size -= sent
            if sent < len(data):
                self._out[0] = (data[sent:], [])  # descriptors travel with the first byte
            else:
                self._out.popleft()
        return False

    def close(self) -> None:
        """Close the socket and whatever descriptors nobody took."""
        while self._in_fds:
            os.close(self._in_fds.popleft())
        self.sock.close()
