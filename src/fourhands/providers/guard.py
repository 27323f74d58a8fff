"""A parent of a sandbox's builder that keeps its protecting mounts in place; a program of its own.

A file is protected in a sandbox by a mount on itself. When somebody outside replaces the file (`git config`, an editor
that saves), the kernel takes that mount away in every other namespace, and the new file would be writable inside. So
this program waits for changes of the sandbox's mount table, and of the directories that hold what is protected (who
renames one takes its mounts along, unseen in that table), and puts back what is missing. It needs no privileges: who
made a user namespace may enter it. It has the standard library only, and nothing of ours. Between the two lie
milliseconds; what a program writes meanwhile is shown at the end of the turn like a file that was not there.

    python guard.py [read|write|hide|empty]:PATH … -- COMMAND …
"""

import contextlib
import ctypes
import fcntl
import os
import select
import signal
import stat
import sys
import time
from collections.abc import Iterable, Sequence

KINDS = ("read", "write", "hide", "empty")
"""Read-only; a mount of its own, so that it cannot be renamed; nothing in place of a file; of a directory."""

_BIND, _REC, _REMOUNT, _RDONLY, _RELATIME = 4096, 16384, 32, 1, 1 << 21
_NOSUID_NODEV = 2 | 4
_KEPT = 2 | 4 | 8 | 1024 | 2048  # nosuid, nodev, noexec, noatime, nodiratime: a namespace may not drop them
_ST_RELATIME = 4096
_NEW_USER, _NEW_NS = 0x10000000, 0x20000
_GET_OWNER = 0xB701
_DEATH_SIGNAL = 1
_BUILDING_S = 0.05
_WITHOUT_NEWS_S = 1.0  # where directories cannot be watched
_MOVED_AND_MADE = 0x40 | 0x80 | 0x100 | 0x200  # moved from and to, created, deleted
_NONBLOCK_CLOEXEC = 0x800 | 0x80000


def command(guarded: Iterable[tuple[str, str]], argv: Sequence[str]) -> list[str]:
    """Return the command that runs another one, which builds a sandbox, and guards these mounts of it."""
    words = [f"{kind}:{path}" for kind, path in guarded]
    return [sys.executable, "-P", "-I", "-S", os.path.abspath(__file__), *words, "--", *argv] if words else list(argv)


def mount_points(pid: int) -> set[str]:
    """Return the mount points that a process sees; raises `OSError` when it is gone."""
    with open(f"/proc/{pid}/mountinfo", "rb") as file:
        return {_unescaped(line.split(b" ")[4]) for line in file}


def _unescaped(name: bytes) -> str:
    first, *rest = name.split(b"\\")
    return os.fsdecode(first + b"".join(bytes([int(one[:3], 8)]) + one[3:] for one in rest))


def first_process(builder: int) -> int | None:
    """Return the first process of the sandbox that a builder has made; None while it is not there."""
    parents: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                parents.setdefault(int(file.read().rpartition(b")")[2].split()[1]), []).append(int(name))
        except (OSError, IndexError, ValueError):
            continue
    todo = [builder]
    while todo:
        pid = todo.pop(0)
        todo += parents.get(pid, ())
        try:
            with open(f"/proc/{pid}/status", "rb") as file:
                numbers = next(line for line in file if line.startswith(b"NSpid:")).split()[1:]
            with open(f"/proc/{pid}/comm", "rb") as file:
                building = file.read().strip() == b"bwrap"
        except (OSError, StopIteration):
            continue
        if len(numbers) > 1 and numbers[-1] == b"1" and not building:
            return pid
    return None


def restore(pid: int, missing: Sequence[tuple[str, str]]) -> None:
    """Mount in the namespace of a process what is missing there; in a child, since there is no way back."""
    child = os.fork()
    if child == 0:
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            _enter(libc, pid)
            for kind, path in missing:
                _mount(libc, kind, path)
        finally:
            os._exit(0)  # it must not go on as a second guard
    os.waitpid(child, 0)


def _enter(libc: ctypes.CDLL, pid: int) -> None:
    mounts = os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    owner = fcntl.ioctl(mounts, _GET_OWNER)
    if not os.path.samestat(os.fstat(owner), os.stat("/proc/self/ns/user")):  # root's sandbox may have none
        _check(libc.setns(owner, _NEW_USER))
    _check(libc.setns(mounts, _NEW_NS))


def _mount(libc: ctypes.CDLL, kind: str, path: str) -> None:
    """Mount one path; from here on nothing is read but what a hostile program may have put there."""
    try:
        if os.path.realpath(path) != path:
            return  # a link that a program made: mounting on it would reach something else
        directory = stat.S_ISDIR(os.lstat(path).st_mode)
        place = os.fsencode(path)
        if kind == "empty" and directory:
            _check(libc.mount(b"tmpfs", place, b"tmpfs", _NOSUID_NODEV, b"mode=0700"))
            return
        source = b"/dev/null" if kind in ("hide", "empty") else place
        _check(libc.mount(source, place, None, _BIND | _REC, None))
        if kind != "write":
            flags = os.statvfs(path).f_flag
            kept = (flags & _KEPT) | (_RELATIME if flags & _ST_RELATIME else 0)
            kept |= _NOSUID_NODEV  # as bwrap has it: the null device on a hidden file cannot be opened
            _check(libc.mount(None, place, None, _REMOUNT | _BIND | _RDONLY | kept, None))
    except FileNotFoundError:
        return


def _check(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


class Guard:
    """Waits, and puts back what is missing, until the builder is gone."""

    def __init__(self, builder: int, guarded: Sequence[tuple[str, str]]) -> None:
        self._builder = builder
        self._guarded = sorted(guarded, key=lambda one: one[1].count("/"))  # outer ones first
        self._status: int | None = None
        self._poll = select.poll()
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._news = self._libc.inotify_init1(_NONBLOCK_CLOEXEC)
        if self._news >= 0:
            self._poll.register(self._news, select.POLLIN)

    def run(self) -> int:
        """Guard; returns the builder's status."""
        pid = None
        while pid is None and not self._over():
            pid = first_process(self._builder)
            if pid is None:
                time.sleep(_BUILDING_S)
        if pid is not None:
            self._guard(pid)
        return os.waitpid(self._builder, 0)[1] if self._status is None else self._status

    def _guard(self, pid: int) -> None:
        watching = self._listen(pid)
        while not self._over():
            try:
                there = mount_points(pid)
                missing = [one for one in self._guarded if one[1] not in there and os.path.lexists(one[1])]
                if missing:
                    restore(pid, missing)
                    watching = self._watch() and watching  # a directory may be another one than before
                    if mount_points(pid) != there:
                        continue
            except OSError:  # it has ended and its builder will, or there is no room for a process now
                watching = False
            self._poll.poll(None if watching else _WITHOUT_NEWS_S * 1000)
            with contextlib.suppress(OSError):
                while os.read(self._news, 1 << 16):
                    pass

    def _listen(self, pid: int) -> bool:
        """Have whatever tells of changes and of the end; False if some of it cannot be had."""
        try:
            self._poll.register(os.pidfd_open(self._builder), select.POLLIN)
            self._poll.register(os.open(f"/proc/{pid}/mountinfo", os.O_RDONLY | os.O_CLOEXEC), select.POLLPRI)
        except OSError:
            return False
        return self._watch()

    def _watch(self) -> bool:
        """Watch the directories of what is guarded; False if that cannot be done for all."""
        done: bool = self._news >= 0
        for above in dict.fromkeys(os.path.dirname(path) for _, path in self._guarded):
            watched: int = self._libc.inotify_add_watch(self._news, os.fsencode(above), _MOVED_AND_MADE)
            done = done and (watched >= 0 or not os.path.exists(above))
        return done

    def _over(self) -> bool:
        if self._status is None:
            done, status = os.waitpid(self._builder, os.WNOHANG)
            self._status = status if done else None
        return self._status is not None


def main(arguments: Sequence[str]) -> int:
    """Start the builder and guard what it builds; returns the builder's exit code."""
    place = list(arguments).index("--")
    words, argv = arguments[:place], arguments[place + 1 :]
    guarded = [(kind, path) for kind, _, path in (word.partition(":") for word in words)]
    libc = ctypes.CDLL(None, use_errno=True)
    parent = os.getppid()
    libc.prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)  # and the builder with us: it has bwrap's --die-with-parent
    if os.getppid() != parent:
        return 1
    builder = os.fork()
    if builder == 0:
        try:
            os.execv(argv[0], list(argv))
        finally:
            os._exit(127)
    # What the sandbox was given is its own: whoever waits for the end of a pipe must not wait for this program.
    nowhere = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX") if os.sysconf("SC_OPEN_MAX") > 0 else 4096)
    status = Guard(builder, guarded).run()
    if os.WIFSIGNALED(status):
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL) if os.WTERMSIG(status) != signal.SIGKILL else None
        os.kill(os.getpid(), os.WTERMSIG(status))
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
