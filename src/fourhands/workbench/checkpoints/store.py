"""The checkpoints of a workspace: taken, compared, kept for a while. Blocking; not for the event loop.

A checkpoint is a tree for the workspace and one for each repository inside it, with the state of these repositories.
All lie in one repository of the server's, in the state directory. A lock lets one process at a time use it; a run
that was killed leaves nothing behind that the next one does not clear away.
"""

import fcntl
import logging
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec import Struct

from fourhands.core.errors import NotFound
from fourhands.core.ids import new_id
from fourhands.host.paths import WorkspaceDirs
from fourhands.settings import CheckpointSettings
from fourhands.workbench.checkpoints.git import EMPTY_TREE, Budget, GitFailed, NoCheckpoint, ShadowGit, find_git
from fourhands.workbench.checkpoints.repository import (
    RepositoryState,
    borrow,
    borrowed_bytes,
    is_repository,
    key_of,
    points_elsewhere,
    read_state,
)
from fourhands.workbench.checkpoints.scan import DirectoryScan, LeftOut
from fourhands.workbench.checkpoints.tree import Entry

log = logging.getLogger(__name__)

PREFIX = "checkpoint"
MOST_REPOSITORIES = 50
"""Repositories inside a workspace that are covered."""

_NEVER = ("node_modules/", ".venv/", "__pycache__/", ".fourhands-*.tmp", ".fourhands-*.kept")
"""Made by tools, or by us, and not covered wherever they are not tracked."""

_PRUNING_S = 120.0
_DAY_S = 86_400


class Checkpoint(Struct, frozen=True, kw_only=True, rename="camel"):
    """The workspace at a moment."""

    id: str
    time: float
    seconds: float
    trees: dict[str, str]  # by the path of the repository, "" for the workspace
    states: dict[str, RepositoryState]
    left_out: tuple[LeftOut, ...] = ()


Change = tuple[Entry | None, Entry | None]


@dataclass(slots=True)
class Difference:
    """The difference of two checkpoints: entries by path, and repositories by path; each before and after."""

    entries: dict[bytes, Change] = field(default_factory=dict)
    states: dict[str, tuple[RepositoryState | None, RepositoryState | None]] = field(default_factory=dict)

    def reversed(self) -> "Difference":
        """Return the way back."""
        entries = {path: (after, before) for path, (before, after) in self.entries.items()}
        return Difference(entries, {path: (after, before) for path, (before, after) in self.states.items()})


class CheckpointStore:
    """The checkpoints of one workspace. Any thread may call it; calls wait for each other."""

    def __init__(
        self,
        directory: Path,
        workspace: str,
        settings: CheckpointSettings | None = None,
        *,
        home: str | None = None,
        program: str | None = None,
    ) -> None:
        self.directory = directory
        self.workspace = workspace
        self.settings = settings or CheckpointSettings()
        self._home = os.path.realpath(home or os.path.expanduser("~"))
        program = program or find_git(workspace)
        self.git = ShadowGit(directory / "git", workspace, program or "git")
        self.unavailable = self._refusal(program)
        """Why there are no checkpoints here; empty where there are."""

    @classmethod
    def of(cls, places: WorkspaceDirs, settings: CheckpointSettings, env: Mapping[str, str]) -> "CheckpointStore":
        """Return the store of a workspace, in its state directory."""
        return cls(Path(places.state) / "checkpoints", places.workspace, settings, home=env.get("HOME"))

    def _refusal(self, program: str | None) -> str:
        if not self.settings.enabled:
            return "switched off in the settings (checkpoints.enabled)"
        if self._home == self.workspace or self._home.startswith(self.workspace.rstrip("/") + "/"):
            return "the workspace is your home directory, or contains it"
        if program is None:
            return "git is not installed"
        return ""

    def budget(self) -> Budget:
        """Return the time that one checkpoint may take."""
        return Budget(self.settings.budget_s)

    def take(self, budget: Budget | None = None) -> Checkpoint:
        """Take a checkpoint of the workspace as it is now. Raises `NoCheckpoint` with the reason."""
        budget = budget or self.budget()
        try:
            with self.locked(budget):
                return self._take(budget)
        except GitFailed as error:
            raise NoCheckpoint(error.message, hint="what commands change now cannot be undone as a turn") from error
        except OSError as error:
            raise NoCheckpoint(f"it cannot be stored: {error.strerror or error}") from error

    def _take(self, budget: Budget) -> Checkpoint:
        trees: dict[str, str] = {}
        states: dict[str, RepositoryState] = {}
        left_out: list[LeftOut] = []
        waiting = [""]
        while waiting:
            below = waiting.pop()
            if len(trees) >= MOST_REPOSITORIES:
                left_out.append(LeftOut(path=below, why=f"more than {MOST_REPOSITORIES} repositories"))
                continue
            key = key_of(below)
            scan = DirectoryScan(self.git, below, f"index-{key}", self.settings.large_bytes, budget)
            own = is_repository(self.workspace, below)
            if own:
                borrow(self.git, self.workspace, below, key, budget)
                if not (self.git.directory / f"index-{key}").exists():
                    scan.adopt(os.path.join(self.workspace, below, ".git", "index"))
            elif points_elsewhere(self.workspace, below):
                left_out.append(LeftOut(path=f"{below}/.git".lstrip("/"), why="its repository lies elsewhere"))
            trees[below] = scan.tree(name_ignored=True)
            if own:
                states[below] = read_state(self.git, self.workspace, below, budget)
            left_out += scan.left_out
            waiting += [f"{below}/{path}" if below else path for path in scan.nested]
        seconds = time.monotonic() - budget.started
        found = Checkpoint(
            id=new_id(PREFIX),
            time=time.time(),
            seconds=round(seconds, 3),
            trees=trees,
            states=states,
            left_out=tuple(left_out),
        )
        self._keep(found, budget)
        return found

    def _keep(self, found: Checkpoint, budget: Budget) -> None:
        """Store a checkpoint so that pruning keeps what it needs."""
        lines = [f"040000 tree {tree}\ttree{at}" for at, tree in enumerate(sorted(set(found.trees.values())))]
        names = {name for state in found.states.values() for name in state.names()}
        lines += [f"100644 blob {name}\tfile{name}" for name in sorted(names)]
        pin = self.git.run("mktree", "--missing", budget=budget, stdin="".join(f"{line}\n" for line in lines).encode())
        refs = self.git.directory / "refs" / "checkpoints"
        refs.mkdir(exist_ok=True, parents=True, mode=0o700)
        (refs / found.id).write_bytes(pin)
        part = self.directory / "records" / f".{found.id}.part"
        part.write_bytes(msgspec.json.encode(found))
        os.replace(part, self.directory / "records" / f"{found.id}.json")

    def compare(self, before: Checkpoint, after: Checkpoint, budget: Budget | None = None) -> Difference:
        """Return what differs between two checkpoints."""
        budget = budget or self.budget()
        difference = Difference()
        with self.locked(budget):
            for below in sorted(before.trees.keys() | after.trees.keys()):
                one, other = before.trees.get(below, EMPTY_TREE), after.trees.get(below, EMPTY_TREE)
                if one != other:
                    options = ("-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv")
                    said = self.git.run("diff-tree", *options, one, other, budget=budget)
                    self._merge(difference, os.fsencode(below), said)
        for below in sorted(before.states.keys() | after.states.keys()):
            pair = before.states.get(below), after.states.get(below)
            if pair[0] != pair[1]:
                difference.states[below] = pair
                self._merge_files(difference, below, *pair)
        return difference

    @staticmethod
    def _merge(difference: Difference, below: bytes, said: bytes) -> None:
        words = iter(said.split(b"\0"))
        for about in words:
            if not about:
                continue
            old_mode, mode, old, new, _ = about.decode().lstrip(":").split()
            path = next(words)
            full = below + b"/" + path if below else path
            was = Entry(old_mode, old) if int(old, 16) else None
            now = Entry(mode, new) if int(new, 16) else None
            # A directory that became a repository moves from one tree to another: the same path is in both.
            known = difference.entries.get(full, (None, None))
            difference.entries[full] = merged = (was or known[0], now or known[1])
            if merged[0] == merged[1]:
                del difference.entries[full]

    @staticmethod
    def _merge_files(
        difference: Difference, below: str, before: RepositoryState | None, after: RepositoryState | None
    ) -> None:
        old, new = (before.files if before else {}), (after.files if after else {})
        for name in old.keys() | new.keys():
            was, now = old.get(name), new.get(name)
            if was != now:
                path = os.fsencode(f"{below}/.git/{name}".lstrip("/"))
                difference.entries[path] = (Entry(*was) if was else None, Entry(*now) if now else None)

    # -- records ---------------------------------------------------------------------------------------------------

    def list(self) -> list[Checkpoint]:
        """Return the checkpoints that are kept, oldest first."""
        found = []
        for path in sorted((self.directory / "records").glob(f"{PREFIX}_*.json")):
            with suppress(OSError, msgspec.MsgspecError):
                found.append(msgspec.json.decode(path.read_bytes(), type=Checkpoint))
        return sorted(found, key=lambda one: one.time)

    def get(self, id: str) -> Checkpoint:
        """Return a checkpoint by its id."""
        try:
            if not id.startswith(f"{PREFIX}_") or "/" in id:
                raise FileNotFoundError
            return msgspec.json.decode((self.directory / "records" / f"{id}.json").read_bytes(), type=Checkpoint)
        except (OSError, msgspec.MsgspecError):
            raise NotFound.of("checkpoint", id, [one.id for one in self.list()[-5:]]) from None

    def prune(self, now: float | None = None) -> None:
        """Drop checkpoints that are too old, and the oldest while they take more room than they may."""
        now = time.time() if now is None else now
        budget = Budget(_PRUNING_S)
        with self.locked(budget):
            kept = self.list()
            old = [one for one in kept if one.time < now - self.settings.keep_days * _DAY_S]
            self._drop(old, budget)
            kept = kept[len(old) :]
            while self.size() > self.most_bytes() and len(kept) > 2:
                self._drop(kept[: len(kept) // 2], budget)
                kept = kept[len(kept) // 2 :]
            if self.size() > self.most_bytes():
                log.warning("checkpoints of %s take too much room and begin anew", self.workspace)
                self._drop(kept, None)
                shutil.rmtree(self.git.directory, ignore_errors=True)

    def most_bytes(self) -> int:
        """Return the bytes that the checkpoints may take: a setting, at most a twentieth of the free disk."""
        free = os.statvfs(self.directory)
        return min(self.settings.keep_bytes, free.f_bavail * free.f_frsize // 20)

    def size(self) -> int:
        """Return the bytes that the checkpoints take, borrowed ones only where the workspace no longer has them."""
        total = borrowed_bytes(self.git.directory)
        for path in self.git.objects.glob("*/*"):
            with suppress(OSError):
                total += path.lstat().st_size
        return total

    def _drop(self, gone: Sequence[Checkpoint], budget: Budget | None) -> None:
        for one in gone:
            (self.directory / "records" / f"{one.id}.json").unlink(missing_ok=True)
            (self.git.directory / "refs" / "checkpoints" / one.id).unlink(missing_ok=True)
        if gone and budget is not None:
            self.git.run("prune", "--expire=now", budget=budget)

    # -- one at a time ---------------------------------------------------------------------------------------------

    @contextmanager
    def locked(self, budget: Budget) -> Iterator[None]:
        """Hold the store; raises `NoCheckpoint` where there is none, and when the time is over."""
        if self.unavailable:
            raise NoCheckpoint(self.unavailable, hint="what commands change cannot be undone as a turn")
        for path in (self.directory, self.directory / "records"):
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        fd = os.open(self.directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._wait_for(fd, budget)
            self.git.prepare(self._excludes())
            unfinished = self.directory / "unfinished"
            if unfinished.exists():
                self.git.clean()
            unfinished.touch()
            self.git.lock_fd = fd
            try:
                yield
            except GitFailed:
                self.git.clean()
                raise
            finally:
                self.git.lock_fd = -1
            unfinished.unlink(missing_ok=True)
        finally:
            os.close(fd)

    @staticmethod
    def _wait_for(fd: int, budget: Budget) -> None:
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                budget.check()
                time.sleep(0.01)

    def _excludes(self) -> tuple[str, ...]:
        state = os.path.realpath(self.directory)
        inside = os.path.relpath(state, self.workspace)
        own = () if inside.startswith("..") else (f"/{inside}/",)
        return (*_NEVER, *own)
