"""A workspace with a store of checkpoints, and real git and shells that change it."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from fourhands.settings import CheckpointSettings
from fourhands.workbench.checkpoints.git import Budget
from fourhands.workbench.checkpoints.restore import Restored, restore
from fourhands.workbench.checkpoints.store import Checkpoint, CheckpointStore

NAMED = ("-c", "user.name=p", "-c", "user.email=p@example.org", "-c", "init.defaultBranch=main", "-c", "gc.auto=0")
GENEROUS = CheckpointSettings(budget_s=60.0)


@dataclass
class Checkpointed:
    """The workspace `root`, and its store."""

    root: Path
    store: CheckpointStore

    @classmethod
    def make(cls, base: Path, settings: CheckpointSettings = GENEROUS) -> "Checkpointed":
        root = base / "work"
        root.mkdir()
        return cls(root, CheckpointStore(base / "state", str(root), settings, home=str(base / "home")))

    def git(self, *args: str, below: str = "") -> str:
        """Run git as a person does."""
        done = subprocess.run(
            ["git", *NAMED, *args], cwd=self.root / below, capture_output=True, text=True, check=True, env=_env()
        )
        return done.stdout.strip()

    def shell(self, line: str) -> None:
        """Run a line as an agent's shell does."""
        subprocess.run(["bash", "-c", line], cwd=self.root, check=True, capture_output=True, env=_env())

    def commit(self, message: str = "m", below: str = "") -> None:
        self.git("add", "-A", below=below)
        self.git("commit", "-qm", message, below=below)

    def take(self) -> Checkpoint:
        return self.store.take(Budget(60))

    def undo(self, before: Checkpoint, after: Checkpoint) -> Restored:
        return restore(self.store, self.store.compare(before, after, Budget(60)).reversed())

    def redo(self, before: Checkpoint, after: Checkpoint) -> Restored:
        return restore(self.store, self.store.compare(before, after, Budget(60)))

    def files(self) -> dict[str, object]:
        """Everything in the workspace but the insides of `.git`: contents, links, whether programs."""
        found: dict[str, object] = {}
        for directory, names, files in os.walk(self.root):
            if ".git" in names:
                names.remove(".git")
            for name in [*files, *(one for one in names if os.path.islink(os.path.join(directory, one)))]:
                path = Path(directory, name)
                shown = str(path.relative_to(self.root))
                if path.is_symlink():
                    found[shown] = os.readlink(path)
                elif path.is_file():
                    found[shown] = (path.read_bytes(), bool(path.stat().st_mode & 0o100))
        return found

    def repository(self, below: str = "") -> tuple[str, ...]:
        """What git says of refs, HEAD, index and stash."""
        lines = (
            ("for-each-ref",),
            ("rev-parse", "--symbolic-full-name", "HEAD"),
            ("ls-files", "-s"),
            ("stash", "list"),
        )
        return tuple(self.git(*line, below=below) for line in lines)


def _env() -> dict[str, str]:
    names = ("GIT_AUTHOR", "GIT_COMMITTER")
    return {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"{name}_{part}": value for name in names for part, value in (("NAME", "p"), ("EMAIL", "p@example.org"))},
    }
