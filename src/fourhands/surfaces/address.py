"""Where a workspace's running server is found by other programs of the same user, and how it stays the only one.

The server holds a lock as long as it lives, which the kernel lets go of in any kind of death. So a file that a killed
server left behind is not believed, and no token is sent to whoever has its port now.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from fourhands.core.errors import Unavailable
from fourhands.core.program import typed


class Served(Unavailable):
    """A running server has the workspace."""


class Address(msgspec.Struct, frozen=True):
    """Where a server listens."""

    host: str
    port: int
    pid: int

    @property
    def url(self) -> str:
        """Its address for browsers and clients on this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def address_file(runtime: str) -> Path:
    """Where a running server says its address."""
    return Path(runtime) / "server.json"


def lock_file(runtime: str) -> Path:
    """What a running server holds locked."""
    return Path(runtime) / "server.lock"


@contextlib.contextmanager
def claimed(runtime: str, workspace: str) -> Iterator[None]:
    """Be the workspace's only server for the length of the block."""
    fd = os.open(lock_file(runtime), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _lock(fd):
            address = _read(runtime)
            where = f", at {address.url}" if address else ""
            raise Served(f"a Fourhands serves {workspace} already{where}", hint=f"open it with: {typed()} open")
        with contextlib.suppress(FileNotFoundError):
            address_file(runtime).unlink()  # of one that was killed
        yield
    finally:
        os.close(fd)


def _lock(fd: int) -> bool:
    for _ in range(5):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            time.sleep(0.02)  # somebody may just be looking whether it is held
    return False


def publish(runtime: str, address: Address) -> None:
    """Say where the server listens; wholly or not at all."""
    file = address_file(runtime)
    fresh = file.with_suffix(".new")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as target:
        target.write(msgspec.json.encode(address))
    os.replace(fresh, file)


def find_server(runtime: str) -> Address | None:
    """The address of the workspace's running server, if there is one."""
    return _read(runtime) if held(runtime) else None


def held(runtime: str) -> bool:
    """Whether a server lives, also one that has just begun or is about to end."""
    try:
        fd = os.open(lock_file(runtime), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def _read(runtime: str) -> Address | None:
    try:
        return msgspec.json.decode(address_file(runtime).read_bytes(), type=Address)
    except (OSError, msgspec.DecodeError):
        return None
