"""The published address and the lock of a workspace's only server, for other programs of the same user.

The server holds a lock as long as it lives, which the kernel lets go of in any kind of death. So a file that a killed
server left behind is not believed, and no token is sent to the program that has its port now. Both lie in the state
directory; version 0.1.0 has them in the runtime directory, which may be swept while the server lives.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from fourhands.core.errors import Unavailable
from fourhands.core.invocation import typed
from fourhands.host.owner import locked
from fourhands.host.paths import WorkspaceDirs


class ServerRecord(Unavailable):
    """A running server has the workspace."""


class ServerAddress(msgspec.Struct, frozen=True):
    """The address and process of a server."""

    host: str
    port: int
    pid: int

    @property
    def url(self) -> str:
        """Its address for browsers and clients on this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def address_file(directory: str) -> Path:
    """Return the file in which a running server publishes its address."""
    return Path(directory) / "server.json"


def lock_file(directory: str) -> Path:
    """Return the file that a running server keeps locked."""
    return Path(directory) / "server.lock"


@contextlib.contextmanager
def claimed(directory: str, workspace: str) -> Iterator[None]:
    """Be the workspace's only server for the length of the block."""
    fd = os.open(lock_file(directory), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _lock(fd):
            address = _read(directory)
            where = f", at {address.url}" if address else ""
            raise ServerRecord(
                f"Fourhands is already running for {workspace}{where}", hint=f"open it with: {typed()} open"
            )
        with contextlib.suppress(FileNotFoundError):
            address_file(directory).unlink()  # of one that was killed
        yield
    finally:
        os.close(fd)


@contextlib.contextmanager
def only_server(places: WorkspaceDirs) -> Iterator[None]:
    """Be the workspace's only server for the length of the block, also beside one of version 0.1.0."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(claimed(places.state, places.workspace))
        if not os.path.samefile(places.runtime, places.state):
            stack.enter_context(claimed(places.runtime, places.workspace))
        yield


def _lock(fd: int) -> bool:
    for _ in range(5):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            time.sleep(0.02)  # Another process may just be testing the lock.
    return False


def publish(directory: str, address: ServerAddress) -> None:
    """Write the server's address, atomically."""
    from fourhands.core.atomic_file import AtomicFile  # late: who only looks for a server needs no event loop

    AtomicFile(address_file(directory)).write(msgspec.json.encode(address))


def find_server(directory: str) -> ServerAddress | None:
    """Return the address of the workspace's running server; None if there is none."""
    return _read(directory) if held(directory) else None


def held(directory: str) -> bool:
    """Return True while a server lives, even if it is just starting or stopping."""
    return locked(lock_file(directory))


def _read(directory: str) -> ServerAddress | None:
    try:
        return msgspec.json.decode(address_file(directory).read_bytes(), type=ServerAddress)
    except (OSError, msgspec.DecodeError):
        return None
