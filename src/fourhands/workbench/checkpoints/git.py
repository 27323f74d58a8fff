"""Runs of git on a repository of ours over the workspace: its configuration, attributes and hooks are never obeyed.

The git directory, the index and the configuration are the server's; only the work tree is the workspace. Nothing is
discovered, so a `.git` in the workspace decides nothing, whatever it is. Content goes in as it is on disk, byte for
byte: `info/attributes` switches off conversions and filters, and there is no configuration that could name a program.
"""

import hashlib
import os
import select
import signal
import subprocess
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

from fourhands.core.errors import FourhandsError, Unavailable
from fourhands.core.text import quote
from fourhands.providers.own_programs import find_outside, path_outside

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
OBJECT = 40
"""Characters of an object's name."""

_ATTRIBUTES = "* -text -eol -filter -ident -working-tree-encoding -diff -merge\n"
_CONFIG = """[core]
\trepositoryformatversion = 0
\tbare = false
\tfilemode = true
\tsymlinks = true
\ttrustctime = true
\tlogallrefupdates = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""
_OPTIONS = (
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.quotePath=false",
    "core.checkStat=default",
    "index.sparse=false",
    "protocol.allow=never",
)


class GitFailed(Unavailable):
    """A run of git that did not do what it was to do."""


class OutOfTime(GitFailed):
    """A run that was ended because the time for all of them is over."""


@dataclass(slots=True)
class Budget:
    """A moment until which several runs may go on together, and a way to give them up before."""

    seconds: float
    started: float = 0.0
    cancelled: bool = False

    def __post_init__(self) -> None:
        self.started = time.monotonic()

    def left(self) -> float:
        """Return the seconds that are left, 0 after a cancellation."""
        return 0.0 if self.cancelled else max(0.0, self.seconds - (time.monotonic() - self.started))

    def check(self) -> None:
        """Raise `OutOfTime` once nothing is left."""
        if not self.left():
            raise OutOfTime("given up" if self.cancelled else f"too large: not done within {self.seconds:g} s")


def find_git(workspace: str, path: str | None = None) -> str | None:
    """Return the path of the git program, if there is one outside of the workspace."""
    return find_outside("git", workspace, path)


class ShadowGit:
    """A repository in the state directory. Blocking; one caller at a time holds its lock."""

    def __init__(self, directory: Path, work_tree: str, program: str) -> None:
        self.directory = directory
        self.work_tree = work_tree
        self.program = program
        self.lock_fd = -1
        """The descriptor of the lock: git inherits it, so that a run which outlives the server still holds it."""

    @property
    def objects(self) -> Path:
        """The directory of objects."""
        return self.directory / "objects"

    @property
    def excludes(self) -> Path:
        """The file of patterns that are left out besides those of the workspace."""
        return self.directory / "excludes"

    def prepare(self, excludes: Iterable[str]) -> None:
        """Make the repository, or its configuration anew."""
        for name in ("objects/info", "objects/pack", "refs", "info", "borrowed"):
            (self.directory / name).mkdir(parents=True, exist_ok=True, mode=0o700)
        files = {"HEAD": "ref: refs/heads/none\n", "config": _CONFIG, "info/attributes": _ATTRIBUTES}
        files["excludes"] = "".join(f"{line}\n" for line in excludes)
        for name, text in files.items():
            path = self.directory / name
            if not path.exists() or path.read_text() != text:
                path.write_text(text)

    def clean(self) -> None:
        """Remove what runs that were killed have left: locks, and unfinished objects and packs."""
        for pattern in ("*.lock", "objects/??/tmp_obj_*", "objects/pack/tmp_*", "objects/pack/.tmp*", "objects/tmp_*"):
            for path in self.directory.glob(pattern):
                path.unlink(missing_ok=True)

    def run(
        self,
        *args: str,
        budget: Budget,
        index: str = "index",
        below: str = "",
        stdin: bytes | None = None,
        accept: Sequence[int] = (0,),
    ) -> bytes:
        """Run git with one of our indexes over a directory below the workspace; return what it printed."""
        budget.check()
        options = [word for option in (*_OPTIONS, f"core.excludesFile={self.excludes}") for word in ("-c", option)]
        tree = os.path.join(self.work_tree, below) if below else self.work_tree
        # Files, not pipes: lists of a hundred thousand names pass at once, with no one to pump them.
        with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
            given.write(stdin or b"")
            given.seek(0)
            child = subprocess.Popen(
                [self.program, "--no-replace-objects", "--literal-pathspecs", *options, *args],
                cwd=tree,
                env=self._env(index, tree),
                stdin=given,
                stdout=out,
                stderr=err,
                start_new_session=True,
                pass_fds=(self.lock_fd,) if self.lock_fd >= 0 else (),
            )
            _wait(child, budget)
            out.seek(0)
            err.seek(0)
            printed, complained = out.read(), err.read(10_000)
        if child.returncode in accept:
            return printed
        said = quote(complained.decode("utf-8", "replace").strip() or f"exit {child.returncode}", 300)
        raise GitFailed(f"git {args[0]} failed: {said}", hint="the log of the server has more")

    def _env(self, index: str, tree: str) -> Mapping[str, str]:
        return {
            "PATH": path_outside(self.work_tree),
            "HOME": str(self.directory),
            "LC_ALL": "C",
            "GIT_DIR": str(self.directory),
            "GIT_WORK_TREE": tree,
            "GIT_INDEX_FILE": str(self.directory / index),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_SYSTEM": "/dev/null",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_PROTOCOL_FROM_USER": "0",
        }

    # -- objects ---------------------------------------------------------------------------------------------------

    def store(self, content: bytes) -> str:
        """Keep some content as an object and return its name."""
        name = blob_name(content)
        path = self.objects / name[:2] / name[2:]
        if not path.exists():
            path.parent.mkdir(exist_ok=True, mode=0o700)
            part = path.with_name(f"tmp_obj_{name[2:10]}{os.getpid()}")
            part.write_bytes(zlib.compress(b"blob %d\0%b" % (len(content), content), 1))
            os.replace(part, path)
        return name

    def contents(self, names: Sequence[str], budget: Budget, *, most: int | None = None) -> dict[str, bytes]:
        """Return the contents of objects, each checked against its name; what is missing or damaged is left out.

        Borrowed objects are links to files of the workspace, which a program there can overwrite in place.
        """
        wanted = list(dict.fromkeys(names))
        if most is not None and wanted:
            said = self.run(
                "cat-file", "--buffer", "--batch-check", budget=budget, stdin="\n".join(wanted).encode() + b"\n"
            )
            sizes = [line.split() for line in said.decode().splitlines()]
            wanted = [parts[0] for parts in sizes if len(parts) == 3 and int(parts[2]) <= most]
        found: dict[str, bytes] = {}
        for start in range(0, len(wanted), 200):
            part = wanted[start : start + 200]
            try:
                said = self.run(
                    "cat-file", "--buffer", "--batch", budget=budget, stdin="\n".join(part).encode() + b"\n"
                )
                found.update(_batch(said))
            except OutOfTime:
                raise
            except GitFailed:  # one damaged object ends the whole run
                for name in part:
                    with suppress(GitFailed):
                        found.update(
                            _batch(
                                self.run("cat-file", "--buffer", "--batch", budget=budget, stdin=f"{name}\n".encode())
                            )
                        )
        return {name: content for name, content in found.items() if blob_name(content) == name}


def blob_name(content: bytes) -> str:
    """Return the name that git gives a file's content."""
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()


def _batch(said: bytes) -> Iterator[tuple[str, bytes]]:
    position = 0
    while position < len(said):
        end = said.index(b"\n", position)
        parts = said[position:end].split()
        position = end + 1
        if len(parts) == 3 and parts[1] == b"blob":
            size = int(parts[2])
            yield parts[0].decode(), said[position : position + size]
            position += size + 1


def _wait(child: "subprocess.Popen[bytes]", budget: Budget) -> None:
    """Return when it has exited; it is killed when the time is over, or was given up."""
    try:
        while child.poll() is None:
            if not budget.left():
                budget.check()
            _exit_within(child, min(0.1, budget.left()))
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def _exit_within(child: "subprocess.Popen[bytes]", seconds: float) -> None:
    try:
        fd = os.pidfd_open(child.pid)
    except (AttributeError, OSError):  # not Linux, or no such process any more
        with suppress(subprocess.TimeoutExpired):
            child.wait(seconds)
        return
    try:
        select.select([fd], [], [], seconds)
    finally:
        os.close(fd)


class NoCheckpoint(FourhandsError):
    """There is no checkpoint, and why; the work goes on without."""

    code = "no-checkpoint"
