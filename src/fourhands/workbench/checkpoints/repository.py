"""The parts of a repository in the workspace beside its files: HEAD, refs, index, stash, configuration, objects.

It is read here file by file, without git and without following links, so that nothing in it is obeyed. Objects are
borrowed by hard links: deleting them in the workspace, or the whole `.git`, leaves ours.
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from fourhands.workbench.checkpoints.git import Budget, GitFailed, ShadowGit
from fourhands.workbench.checkpoints.tree import FILE, PROGRAM, Entry, look, parent

LARGEST = 1 << 20
"""Bytes of a file of a repository that is kept; indexes and lists of refs may be larger."""

MOST_FILES = 1000
_LARGEST_INDEX = 64 << 20
_APART = {"objects", "refs", "logs", "modules", "worktrees", "lfs", "annex", "HEAD", "packed-refs", "index"}
_PASSING = re.compile(r".*\.lock|FETCH_HEAD|COMMIT_EDITMSG|gc\.(log|pid)|sharedindex\..*|fsmonitor.*|\.fourhands-.*")
_OBJECT_FILE = re.compile(r"[0-9a-f]{38}|pack-[0-9a-f]{40}\.(pack|idx)")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
STASH_LOG = "logs/refs/stash"


class RepositoryState(Struct, frozen=True, kw_only=True):
    """A repository at a moment; contents are names of objects in the store."""

    head: str
    refs: dict[str, str]
    index: str  # what it lists, whatever it remembers of times
    index_file: str
    files: dict[str, tuple[str, str]]  # mode and content
    logs: dict[str, str]

    def names(self) -> set[str]:
        """Return the objects that this needs."""
        return {name for _, name in self.files.values()} | set(self.logs.values()) | ({self.index_file} - {""})


def is_repository(root: str, below: str) -> bool:
    """Return True if a directory has a `.git` that is a directory with a HEAD; a file or link leads elsewhere."""
    entry = look(root, os.fsencode(_join(below, ".git/HEAD")))
    return entry is not None and entry.mode in (FILE, PROGRAM)


def points_elsewhere(root: str, below: str) -> bool:
    """Return True if the `.git` of a directory is a file or a link: its refs lie elsewhere and are not covered."""
    entry = look(root, os.fsencode(_join(below, ".git")))
    return entry is not None and entry.mode in (FILE, PROGRAM, "120000")


def read_state(git: ShadowGit, root: str, below: str, budget: Budget) -> RepositoryState:
    """Read a repository, and keep the contents that it takes to put it back."""
    base = _join(below, ".git")
    files: dict[str, tuple[str, str]] = {}
    logs: dict[str, str] = {}
    for path, mode, content in _files(root, base, "", _APART):
        files[path] = (mode, git.store(content))
        if len(files) >= MOST_FILES:
            break
    for path, mode, content in _files(root, f"{base}/logs", "logs", set()):
        if path == STASH_LOG:
            files[path] = (mode, git.store(content))
        elif len(logs) < MOST_FILES:
            logs[path] = git.store(content)
    index = read_file(root, f"{base}/index", _LARGEST_INDEX)
    return RepositoryState(
        head=_text(read_file(root, f"{base}/HEAD")),
        refs=read_refs(root, base),
        index=listed(git, index, budget),
        index_file=git.store(index) if index is not None else "",
        files=files,
        logs=logs,
    )


def listed(git: ShadowGit, index: bytes | None, budget: Budget) -> str:
    """Return a digest of what an index lists, without the times and numbers that a mere look at it renews."""
    if index is None:
        return ""
    copy = git.directory / "index-looked-at"
    copy.write_bytes(index)
    try:
        said = git.run("ls-files", "-s", "-z", index=copy.name, budget=budget)
    except GitFailed:
        budget.check()
        said = index  # of a form that this git cannot read
    finally:
        copy.unlink(missing_ok=True)
    return hashlib.sha1(said, usedforsecurity=False).hexdigest()


def read_refs(root: str, base: str) -> dict[str, str]:
    """Return the refs of a repository with what they point to."""
    refs = dict(packed_refs(_text(read_file(root, f"{base}/packed-refs", _LARGEST_INDEX))))
    for path, _, content in _files(root, f"{base}/refs", "refs", set()):
        refs[path] = _text(content)
    return refs


def packed_refs(text: str) -> Iterator[tuple[str, str]]:
    """Yield name and value of each line of a list of packed refs."""
    for line in text.splitlines():
        value, _, name = line.partition(" ")
        if name.startswith("refs/"):
            yield name, value


def without_packed(text: str, gone: str) -> str:
    """Return the list without a ref, and without the line on what its tag points to."""
    kept, dropping = [], False
    for line in text.splitlines(keepends=True):
        dropping = line.partition(" ")[2].strip() == gone or (dropping and line.startswith("^"))
        if not dropping:
            kept.append(line)
    return "".join(kept)


def read_file(root: str, path: str, most: int = LARGEST) -> bytes | None:
    """Return the content of a plain file below the root, no link followed; None if it is none, or too large."""
    try:
        with parent(root, os.fsencode(path)) as (fd, last):
            file = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
            try:
                status = os.fstat(file)
                if not stat.S_ISREG(status.st_mode) or status.st_size > most:
                    return None
                pieces = []
                while piece := os.read(file, 1 << 20):
                    pieces.append(piece)
                return b"".join(pieces)[: most + 1]
            finally:
                os.close(file)
    except OSError:
        return None


# -- objects -------------------------------------------------------------------------------------------------------


def borrow(git: ShadowGit, root: str, below: str, key: str, budget: Budget) -> None:
    """Link the objects of a repository into the store, as far as they are not there yet."""
    target = git.directory / "borrowed" / key
    _link_objects(root, _join(below, ".git/objects"), str(git.directory), f"borrowed/{key}", budget)
    if target.exists():
        alternates = git.objects / "info" / "alternates"
        known = alternates.read_text().splitlines() if alternates.exists() else []
        if str(target) not in known:
            alternates.write_text("".join(f"{line}\n" for line in (*known, target)))


def give_back(git: ShadowGit, root: str, below: str, key: str, budget: Budget) -> None:
    """Link the borrowed objects that the repository no longer has back into it."""
    _link_objects(str(git.directory), f"borrowed/{key}", root, _join(below, ".git/objects"), budget)


def _link_objects(source_root: str, source: str, target_root: str, target: str, budget: Budget) -> None:
    for directory in ("pack", *(f"{number:02x}" for number in range(256))):
        budget.check()
        try:
            with parent(source_root, os.fsencode(f"{source}/{directory}/x")) as (there, _):
                names = [name for name in os.listdir(there) if _OBJECT_FILE.fullmatch(name)]
                if not names:
                    continue
                with parent(target_root, os.fsencode(f"{target}/{directory}/x"), make=True) as (here, _):
                    known = set(os.listdir(here))
                    # An index without its pack is an error for git; so the pack comes first.
                    for name in sorted(set(names) - known, reverse=True):
                        _link(there, here, name)
        except OSError:
            continue


def _link(there: int, here: int, name: str) -> None:
    try:
        os.link(name, name, src_dir_fd=there, dst_dir_fd=here, follow_symlinks=False)
    except FileExistsError:
        return
    except OSError:
        _copy(there, here, name)
        return
    if not stat.S_ISREG(os.stat(name, dir_fd=here, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=here)


def _copy(there: int, here: int, name: str) -> None:
    """Copy an object to another file system."""
    part = f"tmp_obj_{name}"
    with suppress(OSError):
        source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=there)
        try:
            if not stat.S_ISREG(os.fstat(source).st_mode):
                return
            into = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o400, dir_fd=here)
            try:
                while os.sendfile(into, source, None, 1 << 24):
                    pass
            finally:
                os.close(into)
        finally:
            os.close(source)
        os.rename(part, name, src_dir_fd=here, dst_dir_fd=here)


# -- reading -------------------------------------------------------------------------------------------------------


def _files(root: str, base: str, shown: str, apart: set[str]) -> Iterator[tuple[str, str, bytes]]:
    """Yield path, mode and content of the plain files below a directory, links left out."""
    for name, kind in _names(root, base):
        if name in apart or _PASSING.fullmatch(name):
            continue
        path, inner = _join(shown, name), f"{base}/{name}"
        if kind == stat.S_IFDIR:
            yield from _files(root, inner, path, set())
        elif kind == stat.S_IFREG and (content := read_file(root, inner)) is not None:
            entry = look(root, os.fsencode(inner))
            yield path, entry.mode if isinstance(entry, Entry) and entry.mode == PROGRAM else FILE, content


def _names(root: str, base: str) -> list[tuple[str, int]]:
    try:
        with parent(root, os.fsencode(f"{base}/x")) as (fd, _):
            found = []
            for name in sorted(os.listdir(fd)):
                with suppress(FileNotFoundError):
                    found.append((name, stat.S_IFMT(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode)))
            return found
    except OSError:
        return []


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "surrogateescape").strip("\n")


def _join(below: str, name: str) -> str:
    return f"{below}/{name}" if below else name


def key_of(below: str) -> str:
    """Return the name under which a repository of the workspace is kept."""
    return hashlib.blake2b(os.fsencode(below), digest_size=8).hexdigest()


def borrowed_bytes(directory: Path) -> int:
    """Return the bytes of borrowed objects that only the store still has."""
    found = 0
    for path in (directory / "borrowed").glob("*/*/*"):
        with suppress(OSError):
            status = path.lstat()
            found += status.st_size if status.st_nlink == 1 else 0
    return found
