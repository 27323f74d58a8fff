"""A WebSocket client that costs next to nothing, so that what is measured is the server behind it.

One blocking socket, frames taken apart by hand, no event loop. `python -m bench.client URL TOKEN COMMAND` floods: it
starts a terminal of its own, runs the command and reads for ever, in a process that shares nothing with who measures.
"""

import base64
import json
import os
import socket
import struct
import sys
import time
from urllib.parse import urlsplit

PROMPTS = (b"$ ", b"# ")
SECONDS = 60


class Http:
    """One kept-alive connection to a server, as any client that talks to it more than once has."""

    def __init__(self, url: str, token: str) -> None:
        self._url, self._token = url, token
        self._socket = _dial(url)
        self._used = time.monotonic()

    def post(self, path: str, body: dict[str, object]) -> dict[str, object]:
        if time.monotonic() - self._used > 3:  # the server closes what is silent for 5 s
            self._socket.close()
            self._socket = _dial(self._url)
        data = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nhost: {urlsplit(self._url).netloc}\r\nauthorization: Bearer {self._token}\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
        self._socket.sendall(head.encode() + data)
        head_there, rest = _head(self._socket)
        length = int(head_there.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        while len(rest) < length:
            rest += self._socket.recv(65536)
        self._used = time.monotonic()
        found: dict[str, object] = json.loads(rest)
        return found


class Client:
    """A terminal's socket: keys out, output in. terminado wraps both in JSON, we put a position before output."""

    def __init__(self, url: str, token: str = "") -> None:
        self._ours = bool(token)
        parts = urlsplit(url)
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket = _dial(url)
        head = f"GET {parts.path}?{parts.query} HTTP/1.1\r\nhost: {parts.netloc}\r\nupgrade: websocket\r\n"
        head += f"connection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: {key}\r\n"
        head += f"authorization: Bearer {token}\r\n\r\n" if token else "\r\n"
        self._socket.sendall(head.encode())
        answer, rest = _head(self._socket)
        assert b" 101 " in answer.split(b"\r\n")[0], answer
        self._buffer = bytearray(rest)
        self.tail = b""

    def close(self) -> None:
        self._socket.close()

    def send(self, keys: str) -> None:
        if self._ours:
            self._send(0x82, keys.encode())
        else:
            self._send(0x81, json.dumps(["stdin", keys]).encode())

    def say(self, message: dict[str, object]) -> None:
        self._send(0x81, json.dumps(message).encode())

    def word(self, key: str) -> dict[str, object]:
        """The next text frame that has this key."""
        while True:
            kind, payload = self._frame()
            if kind == 0x81 and key in (found := json.loads(payload)):
                word: dict[str, object] = found
                return word

    def _send(self, kind: int, data: bytes) -> None:
        length = bytes([0x80 | len(data)]) if len(data) < 126 else struct.pack("!BH", 0xFE, len(data))
        self._socket.sendall(bytes([kind]) + length + b"\0\0\0\0" + data)  # masked with zeros

    def output(self) -> bytes:
        """The output in the next frame."""
        while True:
            kind, payload = self._frame()
            if self._ours and kind == 0x82:
                return payload[8:]
            if not self._ours and payload.startswith(b'["stdout", "'):
                return payload[12:-2]  # as escaped as it came: cheaper for terminado than taking it apart

    def until(self, *wanted: bytes, seconds: float = SECONDS) -> None:
        self._socket.settimeout(seconds)
        while not any(text in self.tail for text in wanted):
            self.tail = self.tail[-100:] + self.output()

    def echo(self, character: str) -> float:
        """Seconds from a key to its echo."""
        self.tail = b""
        start = time.perf_counter()
        self.send(character)
        self.until(character.encode())
        return time.perf_counter() - start

    def timed(self, command: str, until: bytes) -> float:
        self.tail = b""
        start = time.perf_counter()
        self.send(command + "\n")
        self.until(until)
        return time.perf_counter() - start

    def _need(self, count: int) -> None:
        while len(self._buffer) < count:
            data = self._socket.recv(262144)
            if not data:
                raise ConnectionError("the server closed the connection")
            self._buffer += data

    def _frame(self) -> tuple[int, bytes]:
        self._need(2)
        kind, length, at = self._buffer[0], self._buffer[1], 2
        if length >= 126:
            at = 4 if length == 126 else 10
            self._need(at)
            length = int.from_bytes(self._buffer[2:at], "big")
        self._need(at + length)
        payload = bytes(memoryview(self._buffer)[at : at + length])
        del self._buffer[: at + length]
        if kind == 0x89:  # a ping
            self._socket.sendall(bytes([0x8A, 0x80 | length]) + b"\0\0\0\0" + payload)
        return kind, payload


def _dial(url: str) -> socket.socket:
    parts = urlsplit(url)
    assert parts.hostname is not None
    found = socket.create_connection((parts.hostname, parts.port or 80), SECONDS)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def _head(connection: socket.socket) -> tuple[bytes, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            raise ConnectionError(f"the server closed the connection after {data!r}")
        data += piece
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def main(url: str, token: str, command: str) -> None:
    client = Client(url, token)
    client.until(*PROMPTS)
    client.send(command + "\n")
    seen = 0
    while seen < 200_000:
        seen += len(client.output())
    print("flooding", flush=True)
    while True:
        client.output()


if __name__ == "__main__":
    main(*sys.argv[1:4])
