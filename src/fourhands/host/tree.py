"""Processes as the kernel shows them: who belongs to a terminal, who waits for input, who listens.

Reads `/proc`; on systems without it a terminal's processes are its process group only. To a terminal belong its
main process with all descendants, its session, whoever has its tty, and whatever carries its id in the
environment: the only trace left of a child that has forked twice and called `setsid`.
"""

import contextlib
import os
import platform
import signal
from collections.abc import Iterable
from dataclasses import dataclass

MARK = "FOURHANDS_TERMINAL"
"""The environment variable that says to which terminal a process belongs."""

HAVE_PROC = os.path.exists("/proc/self/stat")

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
    """One process, or None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return None
    name, _, rest = text.partition("(")[2].rpartition(")")  # the name may itself hold parentheses
    fields = rest.split()
    return Process(
        pid=pid,
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        tty=int(fields[4]),
        state=fields[0],
        started=int(fields[19]),
        name=name,
    )


def scan() -> dict[int, Process]:
    """Every process of the machine that is not a zombie."""
    if not HAVE_PROC:
        return {}
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            process = look(int(entry))
            if process is not None and process.state not in "ZX":
                found[process.pid] = process
    return found


def descendants(processes: dict[int, Process], roots: Iterable[int]) -> set[int]:
    """The roots that exist, and all that stems from them."""
    children: dict[int, list[int]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process.pid)
    found: set[int] = set()
    todo = list(roots)
    while todo:
        pid = todo.pop()
        if pid in found:
            continue
        found.add(pid)
        todo.extend(children.get(pid, ()))
    return found & processes.keys()


def _carries(pid: int, mark: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return mark in b"\0" + file.read()
    except OSError:
        return False


def members(processes: dict[int, Process], *, main: int, tty: int, terminal: str, ancestor: int) -> list[Process]:
    """The processes of a terminal; `ancestor` is the host, to which orphans come back."""
    mine = descendants(processes, [main])
    mine |= {p.pid for p in processes.values() if p.session == main or (tty and p.tty == tty)}
    mark = f"\0{MARK}={terminal}\0".encode()
    others = descendants(processes, [ancestor]) - mine - {ancestor}
    mine |= descendants(processes, [pid for pid in others if _carries(pid, mark)])
    return [processes[pid] for pid in mine - {ancestor}]


def send_signal(process: Process, number: int) -> None:
    """Signal exactly this process: one that took over its number in the meantime is spared."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if not hasattr(os, "pidfd_open"):
            os.kill(process.pid, number)
            return
        fd = os.pidfd_open(process.pid)
        try:
            now = look(process.pid)
            if now is not None and now.started == process.started:
                signal.pidfd_send_signal(fd, number)
        finally:
            os.close(fd)


def _system_call(task: str) -> tuple[int, int] | None:
    """Number and first argument of the call in which a task sleeps."""
    try:
        with open(f"{task}/syscall") as file:
            words = file.read().split()
    except OSError:
        return None
    if not words or not words[0].lstrip("-").isdigit() or len(words) < 2:
        return None  # "running"
    return int(words[0]), int(words[1], 16)


def waits_for_terminal(process: Process, tty_path: str) -> str:
    """How a process waits for its terminal: "read", "poll", "unreadable" (we may not look) or "" (it does not)."""
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
                if os.readlink(f"/proc/{process.pid}/fd/{descriptor}") in (tty_path, "/dev/tty"):
                    return "read"
        elif number in _SELECT:
            return "poll"
    return "" if readable or not _READ else "unreadable"


def _tasks(pid: int) -> list[str]:
    try:
        return [f"/proc/{pid}/task/{entry}" for entry in os.listdir(f"/proc/{pid}/task")[:16]]
    except OSError:
        return []


def listening(processes: Iterable[Process]) -> dict[int, int]:
    """TCP ports on which these processes listen, with one process each."""
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
