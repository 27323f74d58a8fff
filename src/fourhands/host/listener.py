"""The host's socket: made for this user alone, and told from another of the same path."""

import contextlib
import os
import socket


def bind(path: str) -> socket.socket:
    """Return a socket that this user alone may connect to."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    old = os.umask(0o177)
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        listener.bind(path)
        listener.listen(1024)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    finally:
        os.umask(old)
    return listener


def identity(path: str) -> tuple[str, int]:
    """Return a path and the inode that it names now, -1 for none."""
    try:
        return path, os.lstat(path).st_ino
    except OSError:
        return path, -1
