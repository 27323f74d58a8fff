"""The process on a terminal, or on pipes, behind which a provider's stream stands.

The host starts it like any program, so all that is proven for programs holds for streams. It hands bytes, sizes and the
exit code on between its terminal and the server, by a socket; when the server goes, the stream is lost, and it says so.
It is run as a file, by the standard library alone: it may be started for each command.

Frames have a kind, a length and so many bytes. To the server: `h` (the ticket), `s` (columns and rows), `i` (input,
empty at its end). From it: `1` and `2` (output, and error output), `x` (the exit code, a signal's number negative), `e`
(why there is no stream, or no more).
"""

import contextlib
import os
import select
import signal
import socket
import struct
import sys
import termios
import threading
import tty

HEAD = struct.Struct("!cI")
SIZE = struct.Struct("!HH")
CODE = struct.Struct("!i")
LARGEST = 1 << 20

FAILED = 125
"""The exit code where there is no program's own."""

VARIABLE = "FOURHANDS_STREAM"
"""The ticket, a colon, and the path of the server's socket."""

NAME = "fh-stream"
"""The name of the process, by which a search for the reader of a terminal knows that it only forwards keys."""

_LOST = "fourhands: the connection to this program is lost: the server that held it has gone"


def frame(kind: bytes, data: bytes = b"") -> bytes:
    """Encode a frame."""
    return HEAD.pack(kind, len(data)) + data


def main() -> int:
    """Hand everything on until the program, or the server, has ended."""
    with contextlib.suppress(OSError), open("/proc/self/comm", "w") as name:
        name.write(NAME)
    on_terminal = sys.argv[1:] == ["terminal"]
    ticket, _, path = os.environ.pop(VARIABLE).partition(":")
    if on_terminal:
        tty.setraw(0, termios.TCSANOW)  # the other end has a terminal of its own
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        link.connect(path)
        changed = _watch_size() if on_terminal else -1
        link.sendall(frame(b"h", ticket.encode()) + (_size() if on_terminal else b""))
        threading.Thread(target=_listen, args=(link, changed), daemon=True).start()
        return _talk(link)
    except (OSError, EOFError):
        return _say(_LOST)


def _watch_size() -> int:
    """Return a descriptor that becomes readable when the terminal's size has changed."""
    readable, writable = os.pipe()
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    signal.signal(signal.SIGWINCH, lambda *_: None)
    return readable


def _size() -> bytes:
    size = os.get_terminal_size(0)
    return frame(b"s", SIZE.pack(size.columns, size.lines))


def _listen(link: socket.socket, changed: int) -> None:
    """Hand input and sizes on; this thread alone sends."""
    wanted = select.poll()
    wanted.register(0, select.POLLIN)
    if changed >= 0:
        wanted.register(changed, select.POLLIN)
    try:
        while True:
            for descriptor, _ in wanted.poll():
                data = os.read(descriptor, 1 << 16)
                if descriptor == changed:
                    link.sendall(_size())
                    continue
                link.sendall(frame(b"i", data))
                if not data:
                    wanted.unregister(0)
    except OSError:
        return  # the server has gone, which is noticed where it is listened to, or the terminal, which ends us


def _talk(link: socket.socket) -> int:
    """Print what comes, and return the exit code."""
    with link.makefile("rb") as source:
        while True:
            kind, length = HEAD.unpack(_exactly(source.read(HEAD.size), HEAD.size))
            data = _exactly(source.read(length), length)
            if kind in b"12":
                _print(int(kind), data)
            elif kind == b"x":
                code: int = CODE.unpack(data)[0]
                return code & 0xFF if code >= 0 else 128 - code
            elif kind == b"e":
                return _say(f"fourhands: {data.decode('utf-8', 'replace')}")


def _exactly(data: bytes, length: int) -> bytes:
    if len(data) < length:
        raise EOFError
    return data


def _print(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _say(text: str) -> int:
    _print(2, f"{text}\r\n".encode() if os.isatty(2) else f"{text}\n".encode())
    return FAILED


if __name__ == "__main__":
    os._exit(main())  # a thread may be in the middle of a read
