"""One directory of the workspace brought into an index of ours: what is new, changed and gone, and what is left out.

The first time, the index of the workspace's own repository is taken over where that is safe, so that its files need
not be read. Later only ours counts: it lies where programs of the workspace cannot reach it.
"""

import os
import shutil
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress

from msgspec import Struct

from fourhands.safety.paths.policy import plain
from fourhands.workbench.checkpoints.git import Budget, GitFailed, ShadowGit

BATCH_FILES = 4000
BATCH_BYTES = 64 << 20
"""The most that is stored in one run of git: a run that is ended for lack of time loses no more than this."""

MOST_NAMED = 200


class LeftOut(Struct, frozen=True, kw_only=True, rename="camel"):
    """A file or directory that a checkpoint does not have, and why."""

    path: str
    why: str


class DirectoryScan:
    """Brings one directory, the workspace or a repository inside it, into its index."""

    def __init__(self, git: ShadowGit, below: str, index: str, large_bytes: int, budget: Budget) -> None:
        self._git = git
        self._below = below
        self._index = index
        self._large_bytes = large_bytes
        self._budget = budget
        self.left_out: list[LeftOut] = []
        self.nested: list[str] = []
        """Repositories inside this one, which are checkpointed each by itself."""

    def tree(self, *, name_ignored: bool) -> str:
        """Return the tree of the directory as it is now."""
        try:
            self._update()
            tree = self._run("write-tree")
        except GitFailed:
            self._budget.check()
            # The index, or an object that it names, cannot be used: all is read again.
            (self._git.directory / self._index).unlink(missing_ok=True)
            self.left_out.clear()
            self.nested.clear()
            self._update()
            tree = self._run("write-tree")
        if name_ignored:
            for path in self._listed("-o", "-i", "--exclude-standard", "--directory")[:MOST_NAMED]:
                self._leave(path, "ignored")
        return tree.decode().strip()

    def adopt(self, index: str) -> None:
        """Begin with a copy of the index of the workspace's repository; entries that may not be exact leave it."""
        target = self._git.directory / self._index
        try:
            status = os.stat(index, follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode):
                return
            shutil.copyfile(index, target, follow_symlinks=False)
            # As old as the original: an entry that was written in the same moment as its index is read again.
            os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
            self._forget(self._doubtful())
            flagged = [path[2:] for path in self._listed("-v") if path[:1] != b"H"]
            for option in ("--no-skip-worktree", "--no-assume-unchanged"):
                if flagged:
                    self._run("update-index", option, "-z", "--stdin", stdin=_joined(flagged))
        except (GitFailed, OSError):
            target.unlink(missing_ok=True)
            self._budget.check()

    def _doubtful(self) -> list[bytes]:
        """Return entries whose object may differ from the file (converted, filtered), are unmerged, or submodules."""
        names: dict[bytes, str] = {}
        doubtful: list[bytes] = []
        for line in self._listed("-s"):
            about, _, path = line.partition(b"\t")
            mode, blob, stage = about.split()
            if mode == b"160000" or stage != b"0":
                doubtful.append(path)
            elif mode != b"120000":
                names[path] = blob.decode()
        asked = "\n".join(dict.fromkeys(names.values())).encode() + b"\n"
        said = self._run("cat-file", "--buffer", "--batch-check", stdin=asked) if names else b""
        sizes = {parts[0]: parts[-1] for parts in map(bytes.split, said.splitlines())}
        for path, name in names.items():
            with suppress(OSError):  # gone: found out later
                size = os.lstat(os.path.join(os.fsencode(self._base), path)).st_size
                if sizes.get(name.encode()) != b"%d" % size:
                    doubtful.append(path)
        return [*doubtful, *self._filtered(list(names))]

    def _filtered(self, paths: Sequence[bytes]) -> list[bytes]:
        attributes = self._git.directory / "info" / "attributes"
        ours = attributes.read_bytes()
        attributes.write_bytes(b"")  # what is asked for here is what the workspace says
        try:
            wanted = ("filter", "ident", "working-tree-encoding")
            said = self._run("check-attr", "-z", "--stdin", *wanted, stdin=_joined(paths)) if paths else b""
        finally:
            attributes.write_bytes(ours)
        words = said.split(b"\0")
        return [words[at] for at in range(0, len(words) - 2, 3) if words[at + 2] not in (b"unspecified", b"unset")]

    def _update(self) -> None:
        gone: list[bytes] = []
        changed: list[bytes] = []
        sizes: list[int] = []
        for line in sorted(set(self._listed("-t", "-m", "-d", "-o", "--exclude-standard"))):
            kind, path = line[:1], line[2:]
            if kind == b"?" and path.endswith(b"/"):
                self.nested.append(os.fsdecode(path.rstrip(b"/")))
                continue
            size = self._size(path, known=kind != b"?")
            if size is None:
                gone.append(path)
            elif size >= 0:
                changed.append(path)
                sizes.append(size)
        self._forget(gone)
        start, total = 0, 0
        for at, size in enumerate(sizes):
            total += size
            if total >= BATCH_BYTES or at - start >= BATCH_FILES:
                self._add(changed[start : at + 1])
                start, total = at + 1, 0
        self._add(changed[start:])

    def _size(self, path: bytes, *, known: bool) -> int | None:
        """Return the size of what is to be stored; None: to be forgotten; negative: left as it is, and named."""
        full = os.path.join(os.fsencode(self._base), path)
        try:
            status = os.lstat(full)
        except OSError:
            return None
        if stat.S_ISLNK(status.st_mode):
            return 0
        if not stat.S_ISREG(status.st_mode):
            if not stat.S_ISDIR(status.st_mode):
                self._leave(path, "no regular file")
            return None
        if status.st_size > self._large_bytes:
            self._leave(path, f"larger than {self._large_bytes >> 20} MB")
            return None if known else -1
        if not os.access(full, os.R_OK, effective_ids=True):
            self._leave(path, "cannot be read")
            return None if known else -1
        return status.st_size

    def _forget(self, paths: Sequence[bytes]) -> None:
        if paths:
            self._run("update-index", "--force-remove", "-z", "--stdin", stdin=_joined(paths))

    def _add(self, paths: Sequence[bytes]) -> None:
        if paths:
            self._run("update-index", "--add", "--remove", "--replace", "-z", "--stdin", stdin=_joined(paths))

    @property
    def _base(self) -> str:
        return os.path.join(self._git.work_tree, self._below) if self._below else self._git.work_tree

    def _leave(self, path: bytes, why: str) -> None:
        shown = plain(os.fsdecode(path))
        self.left_out.append(LeftOut(path=f"{self._below}/{shown}" if self._below else shown, why=why))

    def _listed(self, *options: str) -> list[bytes]:
        return [line for line in self._run("ls-files", "-z", *options).split(b"\0") if line]

    def _run(self, *args: str, stdin: bytes | None = None) -> bytes:
        return self._git.run(*args, budget=self._budget, index=self._index, below=self._below, stdin=stdin)


def _joined(paths: Iterable[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in paths)
