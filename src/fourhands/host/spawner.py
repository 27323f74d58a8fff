"""The first process of a sandbox: it starts programs in there for the host, on terminals or pipes, and reaps them.

It runs from its source alone (`python -I -S`), which the host passes on a descriptor: nothing of ours need be visible
inside, so only the standard library is imported here. It has no more rights than the programs that it starts. As
process 1 of its namespace it cannot be killed from inside, and all that is in there ends with it.

Messages have the form of `protocol.py`: a length, then JSON, sometimes with descriptors. It begins with `ready` and
the directory of the sandbox's terminals, in which the host makes them. The host asks `{"id", "program", "argv",
"env", "cwd", "tty"}`, or without `tty` and with the descriptors of three pipes, and gets a descriptor of the process,
by which it knows it. No process is reaped before the host has said `{"id", "seen": true}`: until then its number
could become another's. Exits are told as `{"exit": id, "status": N}`.
"""

import array
import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

CONTROL_FD = 20
"""Descriptor of the socket that leads to the host."""

SOURCE_FD = 21
"""Descriptor from which the interpreter reads this file."""

_DEFAULT_SIGNALS = (
    "PIPE",
    "XFSZ",
    "INT",
    "QUIT",
    "TERM",
    "HUP",
    "CHLD",
    "TSTP",
    "TTIN",
    "TTOU",
    "ALRM",
    "USR1",
    "USR2",
)
SYSTEM_PYTHON = "/usr/bin/python3"

_LENGTH = struct.Struct("!I")
_NOT_DUMPABLE, _SUBREAPER = (4, 0), (36, 1)  # of prctl


def command() -> list[str]:
    """Return the command that is the spawner, once it has the descriptors."""
    return [interpreter(), "-I", "-S", f"/proc/self/fd/{SOURCE_FD}"]


def interpreter() -> str:
    """Return this interpreter without the virtual environment around it, or the system's if it cannot be run."""
    own = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
    return own if os.access(own, os.X_OK) else SYSTEM_PYTHON


def interpreter_home() -> str:
    """Return the directory that has to be visible for it."""
    return "/usr" if interpreter() == SYSTEM_PYTHON else os.path.realpath(sys.base_prefix)


class SpawnError(OSError):
    """A program that could not be started; `stage` is "cwd" or "program", which was at fault."""

    def __init__(self, stage: str, error: OSError) -> None:
        super().__init__(error.errno, error.strerror, error.filename)
        self.stage = stage


@contextlib.contextmanager
def limited(limit: tuple[int, int] | None) -> Iterator[None]:
    """Return to the old descriptor limit for a moment: set in a child that already runs it would be too late."""
    now = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit is None or limit == now:
        yield
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit[0], now[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, now)


def start(
    program: str,
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: str,
    actions: Sequence[Any],
    descriptor_limit: tuple[int, int] | None = None,
) -> int:
    """Start a program in a session of its own and return its process id.

    `posix_spawn` has no working directory, so this process, which has one thread, changes to it and back.
    """
    here = os.open(".", os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            os.chdir(cwd)
        except OSError as error:
            raise SpawnError("cwd", error) from error
        try:
            with limited(descriptor_limit):
                return os.posix_spawn(
                    program,
                    list(argv),
                    env,
                    file_actions=list(actions),
                    setsid=True,
                    setsigmask=[],
                    setsigdef=[getattr(signal, f"SIG{name}") for name in _DEFAULT_SIGNALS],
                )
        except OSError as error:
            raise SpawnError("program", error) from error
    finally:
        os.fchdir(here)
        os.close(here)


def on_terminal(path: str) -> list[Any]:
    """Return the actions that give a program a terminal; the first that a new session opens is its controlling one."""
    return [
        (os.POSIX_SPAWN_CLOSE, 0),
        (os.POSIX_SPAWN_OPEN, 0, path, os.O_RDWR, 0),
        (os.POSIX_SPAWN_DUP2, 0, 1),
        (os.POSIX_SPAWN_DUP2, 0, 2),
    ]


class Spawner:
    """The loop: requests of the host in, descriptors and exits out."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._in = bytearray()
        self._fds: deque[int] = deque()
        self._ids: dict[int, int] = {}  # by process
        self._unseen: set[int] = set()

    def serve(self) -> None:
        """Work until the host has gone."""
        signals, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        terminals = os.open("/dev/pts", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._send({"ready": os.getpid()}, [terminals])
        os.close(terminals)
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        poll.register(signals, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd != signals:
                    if not self._hear():
                        return
                else:
                    with contextlib.suppress(BlockingIOError):
                        os.read(signals, 4096)
            if not self._unseen:
                self._reap()

    def _hear(self) -> bool:
        data, fds, _, _ = socket.recv_fds(self._sock, 1 << 18, 16)
        self._fds.extend(fds)
        self._in += data
        while len(self._in) >= _LENGTH.size:
            end = _LENGTH.size + _LENGTH.unpack_from(self._in)[0]
            if len(self._in) < end:
                break
            message = json.loads(self._in[_LENGTH.size : end])
            del self._in[:end]
            self._serve(message, [self._fds.popleft() for _ in range(message.get("fds", 0))])
        return bool(data)

    def _serve(self, message: dict[str, Any], pipes: list[int]) -> None:
        number = message["id"]
        if "seen" in message:
            self._unseen.discard(number)
            return
        try:
            actions = [(os.POSIX_SPAWN_DUP2, fd, place) for place, fd in enumerate(pipes)]
            actions = on_terminal(message["tty"]) if "tty" in message else actions
            pid = start(message["program"], message["argv"], message["env"], message["cwd"], actions)
            self._ids[pid] = number
            self._unseen.add(number)
            handle = os.pidfd_open(pid)
            try:
                self._send({"id": number}, [handle])
            finally:
                os.close(handle)
        except SpawnError as error:
            self._send({"id": number, "error": [error.stage, error.errno or 0, str(error.strerror)]})
        finally:
            for fd in pipes:
                os.close(fd)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            number = self._ids.pop(pid, None)
            if number is not None:  # otherwise an orphan
                self._send({"exit": number, "status": status})

    def _send(self, message: dict[str, Any], fds: Sequence[int] = ()) -> None:
        """Send all of a message; the host always reads."""
        if fds:
            message = {**message, "fds": len(fds)}
        body = json.dumps(message).encode()
        data = _LENGTH.pack(len(body)) + body
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        sent = self._sock.sendmsg([data], ancillary)
        if sent < len(data):
            self._sock.sendall(data[sent:])

    def end(self) -> None:
        """Kill what was started here; where this is process 1, the kernel kills whatever else is left."""
        for pid in self._ids:
            with contextlib.suppress(OSError):
                os.killpg(pid, signal.SIGKILL)


def main() -> None:
    """Serve the host on `CONTROL_FD`."""
    with contextlib.suppress(OSError):
        os.close(SOURCE_FD)
    os.set_inheritable(CONTROL_FD, False)
    prctl = ctypes.CDLL(None).prctl
    for option, value in (_NOT_DUMPABLE, _SUBREAPER):  # no program in here may look into this process
        prctl(option, value, 0, 0, 0)
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)  # what it inherited belongs to the host
    os.closerange(3, CONTROL_FD)
    os.closerange(CONTROL_FD + 1, 4096)
    spawner = Spawner(socket.socket(fileno=CONTROL_FD))
    try:
        spawner.serve()
    finally:
        spawner.end()


if __name__ == "__main__":
    with contextlib.suppress(OSError):  # the host has gone
        main()
    sys.exit(0)
