"""Processes as the kernel shows them: those of a terminal, those that wait for input, those that listen.

Reads `/proc`; on systems without it a terminal's processes are its process group only. To a terminal belong its main
process with all descendants, its session, the processes that have its tty, and those that carry its id in the
environment, the tag: the only trace left of a child that has forked twice and called `setsid`.
"""

import contextlib
import os
import platform
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass

MARK = "FOURHANDS_TERMINAL"
"""Environment variable that holds the tag: the terminal to which a process belongs."""

HAVE_PROC = os.path.exists("/proc/self/stat")

_DEV_TTY = os.makedev(5, 0)

# Numbers of the system calls in which a program waits for its terminal.
_READ, _SELECT = {
    "x86_64": ({0, 19}, {7, 23, 232, 270, 271, 281, 441}),
    "aarch64": ({63, 65}, {22, 72, 73, 441}),
}.get(platform.machine(), (set(), set()))


@dataclass(frozen=True, slots=True)
class Process:
    """One line of `/proc/PID/stat`, as far as it matters here."""

    pid: int
    parent: int
    group: int
    session: int
    tty: int
    state: str
    started: int
    name: str


def look(pid: int) -> Process | None:
    """Return one process, or None when it is gone."""
    return parse(pid, _read(f"/proc/{pid}/stat"))


def parse(pid: int, text: bytes) -> Process | None:
    """Return the process that a line of `/proc/PID/stat` tells of; None for half a line."""
    name, _, rest = text.partition(b"(")[2].rpartition(b")")  # the name may itself hold parentheses
    fields = rest.split(None, 20)
    if len(fields) < 20:
        return None  # it has gone while it was read
    return Process(
        pid=pid,
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        tty=int(fields[4]),
        state=fields[0].decode(),
        started=int(fields[19]),
        name=name.decode("utf-8", "replace"),
    )


def _read(path: str) -> bytes:
    """Return a small file of /proc, or nothing; three times as fast as a file object, of which there are thousands."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, 4096)
    except OSError:
        return b""
    finally:
        os.close(fd)


def scan(*, have_proc: bool | None = None) -> dict[int, Process]:
    """Return every process of the machine that is not a zombie."""
    if not (HAVE_PROC if have_proc is None else have_proc):
        return {}
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            process = look(int(entry))
            if process is not None and process.state not in "ZX":
                found[process.pid] = process
    return found


class Table:
    """One look at all processes, arranged so that asking for one terminal's costs what that terminal has.

    Only descendants of `ancestor`, the host, count: it is their subreaper, so no process of a terminal can be outside,
    and a stranger with an old number is never touched.
    """

    def __init__(self, processes: dict[int, Process], ancestor: int, apart: Iterable[int] = ()) -> None:
        """`apart` are the roots of sandboxes: the same number of a tty means another terminal there."""
        self.processes = processes
        self._ancestor = ancestor
        self._children: dict[int, list[int]] = {}
        for process in processes.values():
            self._children.setdefault(process.parent, []).append(process.pid)
        self._sessions: dict[int, list[int]] = {}
        self._ttys: dict[int, list[int]] = {}
        self.family = self.descendants([ancestor]) - {ancestor}
        walled = self.descendants(apart)
        for pid in self.family:
            self._sessions.setdefault(processes[pid].session, []).append(pid)
            if pid not in walled:
                self._ttys.setdefault(processes[pid].tty, []).append(pid)

    def descendants(self, roots: Iterable[int]) -> set[int]:
        """Return the roots that exist, and all that stems from them."""
        found: set[int] = set()
        todo = [pid for pid in roots if pid in self.processes]
        while todo:
            pid = todo.pop()
            if pid not in found:
                found.add(pid)
                todo.extend(self._children.get(pid, ()))
        return found

    def members(self, *, main: int, tty: int, terminal: str, alive: bool, marks: "TagIndex") -> list[Process]:
        """Return the processes of a terminal; `alive` means that its main process has not been reaped."""
        mine = set(self._ttys.get(tty, ())) if tty else set()
        if alive:
            mine |= self.descendants([main]) & self.family
        if alive or main not in self.processes:  # otherwise another process has the number by now
            mine.update(self._sessions.get(main, ()))
        mine |= self.descendants(marks.carriers(self, terminal))
        mine.discard(self._ancestor)
        return [self.processes[pid] for pid in mine]


class TagIndex:
    """The tags of processes: each is read once in a process's life, since it costs a file."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], str] = {}
        self._table: Table | None = None
        self._carriers: dict[str, list[int]] = {}

    def carriers(self, table: Table, terminal: str) -> list[int]:
        """Return the processes of the family that carry this terminal's tag."""
        if self._table is not table:
            known, self._known, self._carriers = self._known, {}, {}
            for pid in table.family:
                key = (pid, table.processes[pid].started)
                tag = known.get(key)
                if tag is None:
                    tag = tag_of(pid)
                self._known[key] = tag
                if tag:
                    self._carriers.setdefault(tag, []).append(pid)
            self._table = table
        return self._carriers.get(terminal, [])


def tag_of(pid: int) -> str:
    """Return the tag that a process has in its environment."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            text = b"\0" + file.read()
    except OSError:
        return ""
    return text.partition(f"\0{MARK}=".encode())[2].partition(b"\0")[0].decode("utf-8", "replace")


def stems_from(pid: int, ancestor: int) -> bool:
    """Return True if a process is a descendant of another."""
    for _ in range(32):
        process = look(pid) if pid > 1 else None
        if process is None:
            return False
        if process.parent == ancestor:
            return True
        pid = process.parent
    return False


def kill_trees(pids: Iterable[int]) -> list[Process]:
    """Kill processes and all that stems from them, which are returned, and not waited for.

    What is in a namespace of its own ends with that one's first.
    """
    table = Table(scan(), os.getpid())
    killed = [table.processes[member] for member in sorted(table.descendants(pids) & table.family)]
    for process in killed:
        send_signal(process, signal.SIGKILL)
    return killed


def lives(process: Process) -> bool:
    """Return True while a process is there and has not ended."""
    now = look(process.pid)
    return now is not None and now.started == process.started and now.state not in "ZX"


def takes_leave(process: Process) -> bool:
    """Return True if a process handles SIGTERM, and would simply die of SIGHUP."""
    caught = ignored = 0
    for line in _read(f"/proc/{process.pid}/status").splitlines():
        name, _, value = line.partition(b":")
        if name == b"SigCgt":
            caught = int(value, 16)
        elif name == b"SigIgn":
            ignored = int(value, 16)
    term, hup = 1 << (signal.SIGTERM - 1), 1 << (signal.SIGHUP - 1)
    return bool(caught & term) and not (caught | ignored) & hup


def send_signals(process: Process, numbers: Iterable[int]) -> None:
    """Signal exactly this process: one that took over its number in the meantime is spared."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        fd = _hold(process.pid)
        try:
            now = look(process.pid)
            if now is None or now.started != process.started:
                return
            for number in numbers:
                if fd is None:
                    os.kill(process.pid, number)
                else:
                    signal.pidfd_send_signal(fd, number)
        finally:
            if fd is not None:
                os.close(fd)


def send_signal(process: Process, number: int) -> None:
    """Send one signal to exactly this process."""
    send_signals(process, [number])


def _hold(pid: int) -> int | None:
    """Return a descriptor that stays with this process; None where there are none, or none left."""
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except OSError:
        return None


def _system_call(task: str) -> tuple[int, int] | None:
    """Return number and first argument of the call in which a task sleeps."""
    try:
        with open(f"{task}/syscall") as file:
            words = file.read().split()
    except OSError:
        return None
    if not words or not words[0].lstrip("-").isdigit() or len(words) < 2:
        return None  # "running"
    return int(words[0]), int(words[1], 16)


def waits_for_terminal(process: Process, tty: int) -> str:
    """Return the way a process waits for its terminal: "read", "poll", "unreadable" (may not be seen) or "" (not)."""
    if process.state != "S":
        return ""
    readable = False
    for task in _tasks(process.pid):
        call = _system_call(task)
        if call is None:
            continue
        readable = True
        number, descriptor = call
        if number in _READ:
            with contextlib.suppress(OSError):
                # By device, not by name: a sandbox may call it /dev/console.
                if os.stat(f"/proc/{process.pid}/fd/{descriptor}").st_rdev in (tty, _DEV_TTY):
                    return "read"
        elif number in _SELECT:
            return "poll"
    return "" if readable or not _READ else "unreadable"


def group_of(main: int, group: int) -> list[Process]:
    """Return the members of a process group, looked for among the descendants of `main` before everywhere else."""
    found, todo = {}, [main]
    while todo:
        pid = todo.pop()
        process = look(pid)
        if process is None or pid in found:
            continue
        found[pid] = process
        for task in _tasks(pid):
            with contextlib.suppress(OSError), open(f"{task}/children") as file:
                todo.extend(int(word) for word in file.read().split())
    near = [p for p in found.values() if p.group == group and p.state not in "ZX"]
    return near or [p for p in scan().values() if p.group == group]


def _tasks(pid: int) -> list[str]:
    try:
        return [f"/proc/{pid}/task/{entry}" for entry in os.listdir(f"/proc/{pid}/task")[:16]]
    except OSError:
        return []


def began(process: Process) -> float:
    """Return the start of a process, to a hundredth of a second, on `time.monotonic`; now where that is unknown."""
    if not HAVE_PROC:
        return time.monotonic()
    asleep_s = time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()  # which only one of the clocks counts
    return process.started / os.sysconf("SC_CLK_TCK") - asleep_s


def listening(processes: Iterable[Process]) -> dict[int, int]:
    """Return the TCP ports on which these processes listen, with one process each."""
    found: dict[int, int] = {}
    tables: dict[str, dict[str, int]] = {}  # by network namespace: a sandbox has its own ports
    for process in processes:
        try:
            space = os.readlink(f"/proc/{process.pid}/ns/net")
            entries = os.listdir(f"/proc/{process.pid}/fd")
        except OSError:
            continue
        if space not in tables:
            tables[space] = _listening_inodes(process.pid)
        for entry in entries:
            with contextlib.suppress(OSError):
                target = os.readlink(f"/proc/{process.pid}/fd/{entry}")
                port = tables[space].get(target)
                if port is not None:
                    found.setdefault(port, process.pid)
    return found


def _listening_inodes(pid: int) -> dict[str, int]:
    inodes = {}
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/net/{table}") as file:
            next(file, None)
            for line in file:
                fields = line.split()
                if len(fields) > 9 and fields[3] == "0A":
                    inodes[f"socket:[{fields[9]}]"] = int(fields[1].rpartition(":")[2], 16)
    return inodes
