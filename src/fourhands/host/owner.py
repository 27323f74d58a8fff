"""The process that is a workspace's host: a lock and a record in the state directory, by which it is found and called.

The socket lies in the runtime directory, which others clean up: logind when the last session ends, sweepers of
`/tmp`. So nothing is concluded from a socket that is not there. As long as the lock is held the host lives; its record
says which process it is and where it listens, and a SIGHUP makes it listen anew.
"""

import contextlib
import fcntl
import json
import os
import signal
import socket
import time
from dataclasses import dataclass

import fourhands
from fourhands.host import processes
from fourhands.host.paths import WorkspaceDirs

LOOK_S = 0.01
"""Seconds between two looks for a host that was called."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that is, or was, a workspace's host."""

    pid: int
    started: int
    socket: str
    version: str

    @property
    def process(self) -> processes.Process | None:
        """This process, if it lives: the next bearer of its number is another one."""
        found = processes.look(self.pid)
        return found if found is not None and found.started == self.started and found.state not in "ZX" else None


def boot() -> str:
    """Return the id of the machine's current run, to which process numbers and their start times belong."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""


def publish(places: WorkspaceDirs, path: str) -> None:
    """Record that this process is the host, and its socket."""
    me = processes.look(os.getpid())
    record = {
        "pid": os.getpid(),
        "started": me.started if me is not None else 0,
        "boot": boot(),
        "socket": path,
        "version": fourhands.__version__,
    }
    fresh = places.owner + ".new"
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600), "w") as file:
        json.dump(record, file)
    os.replace(fresh, places.owner)


def held(places: WorkspaceDirs) -> bool:
    """Return True if a host lives, also one that has just begun or is about to end."""
    return locked(places.lock)


def locked(path: str | os.PathLike[str]) -> bool:
    """Return True if a living process holds this lock."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def living(places: WorkspaceDirs) -> Owner | None:
    """Return the host of a workspace, wherever it listens; None where none lives, or none that can be identified."""
    if not held(places):
        return None
    try:
        with open(places.owner) as file:
            found = json.load(file)
        owner = Owner(int(found["pid"]), int(found["started"]), str(found["socket"]), str(found["version"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    if processes.HAVE_PROC and (found.get("boot") != boot() or owner.process is None):
        return None
    return owner


def sockets(places: WorkspaceDirs) -> list[str]:
    """Return the sockets of the host: the usual one, and the one that it had to choose instead."""
    owner = living(places)
    return list(dict.fromkeys([places.socket, *([owner.socket] if owner is not None else [])]))


def send(owner: Owner, *numbers: int) -> None:
    """Signal a host, and no other process that has its number now."""
    if (process := owner.process) is not None:
        processes.send_signals(process, numbers)
    elif not processes.HAVE_PROC:
        with contextlib.suppress(ProcessLookupError):
            for number in numbers:
                os.kill(owner.pid, number)


def call(places: WorkspaceDirs, timeout_s: float) -> bool:
    """Have a living host listen anew and wait until it does; returns False where none lives, raises TimeoutError."""
    deadline = time.monotonic() + timeout_s
    called: Owner | None = None
    while held(places):
        owner = living(places)
        if owner is not None and owner.pid != (called.pid if called else 0):
            called = owner
            send(owner, signal.SIGHUP)
        if any(answers(path) for path in sockets(places)):
            return True
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(LOOK_S)
    return False


def answers(path: str) -> bool:
    """Return True if a process listens at a socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(path)
        except (BlockingIOError, TimeoutError):
            return True  # too busy to accept is alive
        except OSError:
            return False
        return True
