"""A preview of what a deletion would remove: how many files, how many bytes, and if git has them.

Nothing is executed, also not git: its index is read as a file. Only the workspace is read, links are not followed, and
counting stops at a bound and reports it. An estimate for a person who decides, never a permission.
"""

import asyncio
import glob
import os
import stat
import struct
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field

from fourhands.safety.shell.lookalikes import visible

_REMOVERS = frozenset({"rm", "rmdir", "unlink", "shred", "truncate"})
_MOVERS = frozenset({"cd", "pushd", "popd"})
_LARGEST_INDEX = 64 * 1024 * 1024
_NAMED = 5

Words = Sequence[str]


@dataclass(frozen=True, slots=True)
class PreviewLimits:
    """Limits of one preview: entries that are counted, paths that one pattern matches, and seconds."""

    entries: int = 50_000
    paths: int = 1000
    seconds: float = 0.7


def worth(commands: Sequence[Words]) -> bool:
    """Return True if some of these commands delete files by name, in a directory that is known."""
    names = {os.path.basename(words[0]) for words in commands if words}
    return bool(names & _REMOVERS) and not names & _MOVERS


def of(
    commands: Sequence[Words], root: str, cwd: str, limits: PreviewLimits | None = None
) -> Callable[[], Awaitable[dict[str, object]]]:
    """Return the preview of these commands as something to await; it counts in a thread."""

    async def preview() -> dict[str, object]:
        return await asyncio.to_thread(take, commands, root, cwd, limits)

    return preview


def take(commands: Sequence[Words], root: str, cwd: str, limits: PreviewLimits | None = None) -> dict[str, object]:
    """Count what the deleting commands would remove, in the workspace `root`, seen from `cwd`. Blocks."""
    root, limits = os.path.realpath(root), limits or PreviewLimits()
    sight = _Sight(root, time.monotonic() + limits.seconds, limits)
    for words in commands:
        if words and os.path.basename(words[0]) in _REMOVERS:
            for operand in _operands(words):
                sight.look(operand, os.path.join(root, cwd))
    return sight.report()


def _operands(words: Words) -> Iterator[str]:
    options = True
    for word in words[1:]:
        if options and word == "--":
            options = False
        elif not options or not word.startswith("-") or word == "-":
            yield word


@dataclass
class _Sight:
    root: str
    deadline: float
    limits: PreviewLimits
    files: int = 0
    folders: int = 0
    size: int = 0
    entries: int = 0
    cut: bool = False
    names: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    unresolved: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)

    def look(self, operand: str, cwd: str) -> None:
        path = os.path.join(cwd, operand)
        if not os.path.lexists(path) and (operand.startswith("~") or set(operand) & set("$`{…")):
            self.unresolved.append(operand)  # only the shell knows
            return
        found = [path] if os.path.lexists(path) else self._matching(path)
        if not found:
            self.missing.append(operand)
        for one in found:
            # The entry itself is what goes, so a link is not followed; the way to it is.
            real = os.path.join(os.path.realpath(os.path.dirname(one.rstrip("/"))), os.path.basename(one.rstrip("/")))
            real = os.path.normpath(real)
            if real != self.root and not real.startswith(self.root.rstrip("/") + "/"):
                self.outside.append(operand)
                continue
            self.names.append(os.path.relpath(real, self.root))
            self._count(real)

    def _matching(self, pattern: str) -> list[str]:
        if not glob.has_magic(pattern):
            return []
        found: list[str] = []
        for path in glob.iglob(pattern):
            if len(found) >= self.limits.paths or time.monotonic() > self.deadline:
                self.cut = True
                break
            found.append(path)
        return found

    def _count(self, path: str) -> None:
        todo = [path]
        while todo:
            one = todo.pop()
            self.entries += 1
            if self.entries > self.limits.entries or time.monotonic() > self.deadline:
                self.cut = True
                return
            try:
                facts = os.lstat(one)
                if stat.S_ISDIR(facts.st_mode):
                    self.folders += 1
                    with os.scandir(one) as inside:
                        todo.extend(entry.path for entry in inside)
                else:
                    self.files += 1
                    self.size += facts.st_size
                    self.paths.add(one)
            except OSError:
                continue  # gone meanwhile, or not ours to see

    def report(self) -> dict[str, object]:
        report: dict[str, object] = {"files": self.files, "folders": self.folders, "bytes": self.size}
        report["paths"] = [visible(name) for name in self.names[:_NAMED]]
        tracked = tracked_files(self.root)
        if tracked is not None:
            known = sum(os.path.relpath(path, self.root) in tracked for path in self.paths)
            report |= {"tracked": known, "untracked": len(self.paths) - known}
        if self.missing:
            report["missing"] = [visible(name) for name in self.missing[:_NAMED]]
        if self.unresolved:
            report["unresolved"] = self.unresolved[:_NAMED]
        if self.outside:
            report["outside"] = self.outside[:_NAMED]
        if self.cut:
            report["atLeast"] = True
        return report


def tracked_files(root: str) -> frozenset[str] | None:
    """Return the paths in the index of the repository whose top is `root`; None where it cannot be read."""
    path = os.path.join(root, ".git", "index")
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size > _LARGEST_INDEX:
                return None
            return frozenset(os.fsdecode(name) for name in index_names(file.read()))
    except FileNotFoundError:
        return frozenset() if os.path.isdir(os.path.join(root, ".git")) else None
    except (OSError, ValueError, IndexError, struct.error):
        return None


def index_names(data: bytes) -> Iterator[bytes]:
    """Yield the names in a git index, versions 2 to 4. Raises `ValueError` for anything else."""
    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("not a git index of version 2, 3 or 4")
    at, name = 12, b""
    for _ in range(count):
        (flags,) = struct.unpack_from(">H", data, at + 60)
        start = at + (64 if version >= 3 and flags & 0x4000 else 62)
        if version == 4:
            strip, start = _offset(data, start)
            end = data.index(b"\0", start)
            name = name[: len(name) - strip] + data[start:end]
            at = end + 1
        else:
            end = data.index(b"\0", start)
            name = data[start:end]
            at += (end - at + 8) & ~7  # padded with 1 to 8 NULs to a multiple of eight
        yield name


def _offset(data: bytes, at: int) -> tuple[int, int]:
    """Return a number in git's variable-length form, and the position after it."""
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1
