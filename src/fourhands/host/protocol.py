"""Messages between the host and its clients: a length, then JSON, now and then with descriptors.

Only control passes here: what terminals print is read from their logs, and what is typed goes to the PTY's own
descriptor. Both sides are non-blocking sockets driven by their owner's loop.
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
"""Bytes of the largest message: a longer one is a mistake or an attack, and the connection is closed."""

Message = dict[str, Any]

_LENGTH = struct.Struct("!I")
_FDS_PER_READ = 16
_READ = 256 * 1024


class WireError(Exception):
    """A message that is not of this protocol."""


class MessageTooLarge(WireError):
    """A message that is too large to be sent."""


class MessageSocket:
    """One end of a control socket: whole messages in, whole messages out, never blocking.

    Only one side, the client, takes descriptors: unasked ones must not fill the host's table.
    """

    def __init__(
        self, sock: socket.socket, *, takes_descriptors: bool = True, largest: int = LARGEST, most_fds: int = 256
    ) -> None:
        """`largest` are the bytes of a message, `most_fds` the descriptors that may come without their message."""
        sock.setblocking(False)
        self.sock = sock
        self._largest = largest
        self._most_fds = most_fds
        self._takes_descriptors = takes_descriptors
        self._cut = False
        self._in = bytearray()
        self._in_fds: deque[int] = deque()
        self._out: deque[tuple[bytes, list[int]]] = deque()
        self._out_size = 0
        self._owned: list[int] = []

    def fileno(self) -> int:
        """Return the socket's descriptor, for pollers."""
        return self.sock.fileno()

    def receive(self) -> list[tuple[Message, list[int]]] | None:
        """Return the whole messages that have arrived, each with its descriptors; None when the other side is gone.

        One read only, however much the other side sends: its poller calls again.
        """
        try:
            if self._takes_descriptors:
                data, fds, flags, _ = socket.recv_fds(self.sock, _READ, _FDS_PER_READ)
                self._in_fds.extend(fds)
                self._cut = self._cut or bool(flags & socket.MSG_CTRUNC)
                if len(self._in_fds) > self._most_fds:
                    raise WireError(f"{len(self._in_fds)} descriptors, at most {self._most_fds} may wait")
            else:
                data = self.sock.recv(_READ)
        except (BlockingIOError, InterruptedError):
            return []
        except OSError:
            return None
        if not data:
            return None
        self._in += data
        return self._whole()

    def _whole(self) -> list[tuple[Message, list[int]]]:
        found = []
        while len(self._in) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._in)
            if length > self._largest:
                raise WireError(f"a message of {length} bytes, at most {self._largest} are allowed")
            if len(self._in) < _LENGTH.size + length:
                break
            body = bytes(self._in[_LENGTH.size : _LENGTH.size + length])
            del self._in[: _LENGTH.size + length]
            try:
                message = json.loads(body)
            except (ValueError, RecursionError) as error:
                raise WireError(f"a message that is not JSON: {error}") from error
            if not isinstance(message, dict):
                raise WireError("a message that is not an object")
            found.append((message, self._descriptors(message.get("fds", 0))))
        return found

    def _descriptors(self, count: object) -> list[int]:
        """Return those that a message announces; none at all if this process's table was too full for some of them."""
        if not isinstance(count, int) or count < 0:
            raise WireError(f"a message announces {count!r} descriptors")
        if count > len(self._in_fds):
            if not self._cut:
                raise WireError("a message announces descriptors that did not come with it")
            self._cut = False
            self._close_descriptors()
            return []
        return [self._in_fds.popleft() for _ in range(count)]

    def send(self, message: Message, fds: list[int] | None = None) -> bool:
        """Queue a message and send what the socket takes; returns True when something is left to send."""
        if fds:
            message = {**message, "fds": len(fds)}
        body = json.dumps(message, separators=(",", ":")).encode()
        if len(body) > LARGEST:
            raise MessageTooLarge(f"a message of {len(body)} bytes, at most {LARGEST} are allowed")
        data = _LENGTH.pack(len(body)) + body
        self._out.append((data, fds or []))
        self._out_size += len(data)
        more = self.flush()
        if more and fds and self._out[-1][1]:
            # It has to wait, and by the time it is sent the number may stand for something else.
            self._out[-1] = (data, [os.dup(fd) for fd in fds])
            self._owned.extend(self._out[-1][1])
        return more

    def flush(self) -> bool:
        """Send what the socket takes now; returns True when something is left to send."""
        while self._out:
            data, fds = self._out[0]
            try:
                sent = socket.send_fds(self.sock, [data], fds) if fds else self.sock.send(data)
            except (BlockingIOError, InterruptedError):
                if self._out_size > LARGEST:
                    raise WireError("peer is not reading; connection closed") from None
                return True
            self._out_size -= sent
            for fd in fds:
                self._disown(fd)
            if sent < len(data):
                self._out[0] = (data[sent:], [])  # descriptors travel with the first byte
            else:
                self._out.popleft()
        return False

    def close(self) -> None:
        """Close the socket and the descriptors that were not taken."""
        self._close_descriptors()
        self._out.clear()
        for fd in self._owned.copy():
            self._disown(fd)
        self.sock.close()

    def _disown(self, fd: int) -> None:
        """Close a duplicate that was made for a message in the queue."""
        if fd in self._owned:
            self._owned.remove(fd)
            os.close(fd)

    def _close_descriptors(self) -> None:
        while self._in_fds:
            os.close(self._in_fds.popleft())
