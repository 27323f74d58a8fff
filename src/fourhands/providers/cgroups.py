"""Limits on what a sandbox may use, kept by control groups (version 1 or 2): one group for each launch.

The kernel keeps a group's limits for all that is in it together, so a fork bomb hits its own ceiling and no other. A
group is entered by the launched program itself, before anything else (see `providers.entrypoint`). Rlimits are no
substitute: the one on processes does not bind root, and the one on memory counts each process alone.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

SWEEP_AGE_S = 30.0
"""An empty group may be one whose program is just about to enter it; after this time it is not."""

# What is written into a new group, by controller: version 1, version 2. The limit with swap must come second.
_PROCESSES = ("pids.max", "pids.max")
_MEMORY = (("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"), ("memory.max", "memory.swap.max"))


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """Amounts that one launch may use; 0 is no limit."""

    processes: int = 0
    memory: int = 0

    @property
    def controllers(self) -> tuple[str, ...]:
        """Controllers without which this cannot be kept."""
        return tuple(name for name, limit in (("pids", self.processes), ("memory", self.memory)) if limit)


class GroupFiles:
    """The files of control groups, and the user that this process is."""

    def __init__(self, uid: int | None = None) -> None:
        self.uid = os.getuid() if uid is None else uid

    def words(self, path: str) -> list[str]:
        """Return the words of a file; none if it cannot be read."""
        try:
            with open(path) as file:
                return file.read().split()
        except OSError:
            return []

    def write(self, path: str, text: str) -> None:
        """Write to a file that exists; raises OSError if the kernel refuses."""
        # No creation: below a group's directory that would be another error than the one that tells what is wrong.
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)

    def owner(self, path: str) -> int:
        """Return the user that a directory belongs to."""
        return os.stat(path).st_uid


FILES = GroupFiles()


@dataclass(frozen=True, slots=True)
class GroupBase:
    """A directory below which groups can be made, and the controllers that they then have."""

    directory: str
    version: int
    controllers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Own:
    """The group that this process is in, on one hierarchy."""

    version: int
    controllers: tuple[str, ...]
    mount: str
    directory: str


def hierarchies(proc: str = "/proc") -> list[_Own]:
    """Return the place of this process in each hierarchy that is mounted."""
    mounts: dict[str, tuple[str, str]] = {}
    with contextlib.suppress(OSError), open(f"{proc}/self/mountinfo") as file:
        for line in file:
            fields, _, rest = line.partition(" - ")
            root, point = fields.split()[3:5]
            kind, _, options = rest.split()[:3]
            if kind == "cgroup2":
                mounts[""] = (_plain(root), _plain(point))
            elif kind == "cgroup":
                for option in options.split(","):
                    mounts.setdefault(option, (_plain(root), _plain(point)))
    found = []
    with contextlib.suppress(OSError), open(f"{proc}/self/cgroup") as file:
        for line in file:
            number, names, path = line.rstrip("\n").split(":", 2)
            controllers = tuple(name for name in names.split(",") if name)
            root, point = mounts.get(controllers[0] if controllers else "", ("", ""))
            inside = os.path.relpath(path, root) if root else ".."
            if point and not inside.startswith(".."):
                version = 2 if number == "0" and not controllers else 1
                found.append(_Own(version, controllers, point, os.path.normpath(os.path.join(point, inside))))
    return found


def _plain(text: str) -> str:
    return text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")


def fair_sessions() -> bool:
    """Return True if the scheduler shares the processors between sessions, so that a busy one cannot starve others."""
    return FILES.words("/proc/sys/kernel/sched_autogroup_enabled") == ["1"]


def find_bases(
    wanted: tuple[str, ...], also: tuple[str, ...] = (), proc: str = "/proc", files: GroupFiles = FILES
) -> list[GroupBase]:
    """Return directories with as many as possible of the wanted controllers, and of those that are welcome besides."""
    bases: list[GroupBase] = []
    for own in sorted(hierarchies(proc), key=lambda own: -own.version):
        missing = [name for name in (*wanted, *also) if not any(name in base.controllers for base in bases)]
        base = _unified(own, missing, files) if own.version == 2 else _single(own, missing, files)
        if base is not None:
            bases.append(base)
    return bases


def _upward(own: _Own) -> Iterator[str]:
    """Yield our own group, then those around it."""
    directory = own.directory
    while directory == own.mount or directory.startswith(own.mount + "/"):
        yield directory
        directory = os.path.dirname(directory)


def _single(own: _Own, missing: list[str], files: GroupFiles) -> GroupBase | None:
    useful = tuple(name for name in own.controllers if name in missing)
    if not useful:
        return None
    for directory in _upward(own):
        if _makes_groups(directory, 1, useful, files):
            return GroupBase(directory, 1, useful)
    return None


def _unified(own: _Own, missing: list[str], files: GroupFiles) -> GroupBase | None:
    for directory in _upward(own):
        useful = tuple(name for name in missing if name in files.words(f"{directory}/cgroup.controllers"))
        if not useful:
            continue
        lacking = [name for name in useful if name not in files.words(f"{directory}/cgroup.subtree_control")]
        if lacking and not _hand_down(directory, lacking, files, delegated=directory == own.directory):
            continue
        if _makes_groups(directory, 2, useful, files):
            return GroupBase(directory, 2, useful)
    return None


def _hand_down(directory: str, controllers: list[str], files: GroupFiles, *, delegated: bool) -> bool:
    """Pass controllers to the groups below. A group that does that has no processes itself, so ours move one down.

    Moving is for a group that was given to us: as root everything is writable, and yet another program's to arrange.
    """
    text = " ".join(f"+{name}" for name in controllers)
    with contextlib.suppress(OSError):
        files.write(f"{directory}/cgroup.subtree_control", text)
        return True
    try:
        if not delegated or files.uid == 0 or files.owner(directory) != files.uid:
            return False
        leaf = f"{directory}/fourhands-main"
        os.makedirs(leaf, exist_ok=True)
        for pid in files.words(f"{directory}/cgroup.procs"):
            with contextlib.suppress(ProcessLookupError):
                files.write(f"{leaf}/cgroup.procs", pid)
        files.write(f"{directory}/cgroup.subtree_control", text)
    except OSError:
        return False
    return True


def _makes_groups(directory: str, version: int, controllers: tuple[str, ...], files: GroupFiles) -> bool:
    """Return True if a group can be made here and limited."""
    group = f"{directory}/fourhands-try-{os.getpid()}"
    try:
        # It may be there: left by a process that was killed here and had the same number.
        os.makedirs(group, exist_ok=True)
    except OSError:
        return False
    try:
        _limit(group, version, controllers, ResourceLimits(1000, 1 << 40), files)
        return os.access(f"{group}/cgroup.procs", os.W_OK)
    except OSError:
        return False
    finally:
        with contextlib.suppress(OSError):
            os.rmdir(group)


def _limit(group: str, version: int, controllers: tuple[str, ...], ceiling: ResourceLimits, files: GroupFiles) -> None:
    if "pids" in controllers and ceiling.processes:
        files.write(f"{group}/{_PROCESSES[version - 1]}", str(ceiling.processes))
    if "memory" in controllers and ceiling.memory:
        limit, with_swap = _MEMORY[version - 1]
        files.write(f"{group}/{limit}", str(ceiling.memory))
        # Absent where the kernel does not account for swap. In version 1 it is the sum, in version 2 the swap alone.
        if os.path.exists(f"{group}/{with_swap}"):
            files.write(f"{group}/{with_swap}", str(ceiling.memory) if version == 1 else "0")


class ControlGroups:
    """The groups of one workspace: `FAMILY/TAG` below each base."""

    def __init__(self, bases: list[GroupBase], family: str, ceiling: ResourceLimits) -> None:
        self._bases = bases
        self._family = family
        self._ceiling = ceiling
        self._swept = 0.0

    def open(self, tag: str) -> tuple[str, ...]:
        """Make the groups of a launch; returns the files into which it writes its own number to enter them."""
        self.sweep()
        doors = []
        for base in self._bases:
            parent = f"{base.directory}/{self._family}"
            group = f"{parent}/{tag}"
            os.makedirs(parent, exist_ok=True)
            if base.version == 2 and (
                lacking := set(base.controllers) - set(FILES.words(f"{parent}/cgroup.subtree_control"))
            ):
                FILES.write(f"{parent}/cgroup.subtree_control", " ".join(f"+{name}" for name in sorted(lacking)))
            # Limits outside, processes inside: who mounts the groups in a namespace of its own sees the inner one only.
            os.makedirs(f"{group}/inside", exist_ok=True)
            _limit(group, base.version, base.controllers, self._ceiling, FILES)
            doors.append(f"{group}/inside/cgroup.procs")
        return tuple(doors)

    async def close(self, tag: str) -> None:
        """Remove the groups of a launch that has ended; a group empties a moment after its last process."""
        for base in self._bases:
            for delay_s in (0.0, 0.01, 0.05, 0.2):
                await asyncio.sleep(delay_s)
                if _remove(f"{base.directory}/{self._family}/{tag}"):
                    break

    def sweep(self, age_s: float = SWEEP_AGE_S) -> None:
        """Remove empty groups: those of launches whose end was not reported."""
        now = time.monotonic()
        if age_s and now - self._swept < age_s:
            return
        self._swept = now
        for base in self._bases:
            parent = f"{base.directory}/{self._family}"
            with contextlib.suppress(OSError), os.scandir(parent) as entries:
                for entry in entries:
                    if entry.is_dir() and time.time() - entry.stat().st_mtime >= age_s:
                        _remove(entry.path)

    def clean_up(self) -> None:
        """Remove whatever is empty."""
        self.sweep(0.0)
        for base in self._bases:
            with contextlib.suppress(OSError):
                os.rmdir(f"{base.directory}/{self._family}")


def _remove(group: str) -> bool:
    """Remove a group with all below it; returns False when a process is still in one of them."""
    try:
        for directory, _, _ in os.walk(group, topdown=False):
            os.rmdir(directory)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
