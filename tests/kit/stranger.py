"""Somebody who has just found the project: a plain user with an empty home, a fresh copy, and nothing set up."""

import contextlib
import os
import pwd
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pexpect
from scripts.page import Build
from tests.kit.npm_agents import missing
from tests.kit.wheels import wheelhouse

ROOT = Path(__file__).parent.parent.parent
STATIC = Path("src", "fourhands", "static")
LIMIT_S = 280

_SYSTEM = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"  # a plain user's path does not have them, root's may not


@dataclass(frozen=True)
class Stranger:
    """A user of this machine; `copy` is where the project lies, in a directory with a space in its name."""

    name: str
    copy: Path
    env: dict[str, str]

    def command(self, *words: str) -> list[str]:
        """Words as this user calls them: with this environment and no other."""
        user = pwd.getpwnam(self.name)
        become = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--inh-caps=-all"]
        env = [f"{name}={value}" for name, value in self.env.items()]
        return ["/usr/bin/setpriv", *become, "/usr/bin/env", "-i", *env, *words]

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        """A line for the shell, in the copy."""
        return subprocess.run(
            self.command("/bin/sh", "-c", line),
            cwd=self.copy,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )

    def spawn(self, *words: str) -> "pexpect.spawn[str]":
        """The words in a terminal, in the copy."""
        command = self.command(*words)
        return pexpect.spawn(
            command[0], command[1:], cwd=str(self.copy), timeout=LIMIT_S, encoding="utf-8", dimensions=(40, 200)
        )


@contextlib.contextmanager
def stranger(cache: Path) -> Iterator[Stranger]:
    """Make one; packages come from `cache`, not the network. Skips or fails as `missing` where it cannot be."""
    if os.geteuid() != 0 or shutil.which("useradd", path=_SYSTEM) is None:
        missing("a plain user can be made by root only, and with useradd (make tools)")
    node = shutil.which("node")
    if node is None or not Build().fresh():
        missing("Node is not there, or the page is not built (make web)")
    name = f"fh{os.getpid()}"
    home = Path(tempfile.mkdtemp(prefix="fh-stranger-"))
    home.chmod(0o755)
    system("useradd", "--no-create-home", "--home-dir", str(home), "--shell", "/bin/bash", name)
    try:
        copy = home / "four hands"
        _copy(copy)
        shelf = home / "wheels"  # the tests' own may lie where only root may go
        shutil.copytree(wheelhouse(cache), shelf, copy_function=_link)
        for path in (home, *home.rglob("*")):
            if shelf not in path.parents:
                shutil.chown(path, name)
        # What pip is told stands for the network; all else is what `env -i` leaves.
        env = {"PATH": f"/usr/bin:/bin:{Path(node).parent}", "HOME": str(home), "TERM": "xterm"}
        yield Stranger(name, copy, env | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(shelf)})
    finally:
        end_all(pwd.getpwnam(name).pw_uid)
        system("userdel", name)
        shutil.rmtree(home, ignore_errors=True)


def _copy(place: Path) -> None:
    """What a clone would hold, and the built page."""
    files = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if files.returncode != 0:
        missing(f"this is no clone: {files.stderr.strip()}")
    for name in filter(None, files.stdout.split("\0")):
        if (ROOT / name).exists():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / name, follow_symlinks=False)
    shutil.copytree(ROOT / STATIC, place / STATIC)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy(source, target)
    os.chmod(target, 0o644)


def system(*words: str) -> None:
    """Run a program of the system's that only root finds."""
    program = shutil.which(words[0], path=_SYSTEM)
    assert program is not None
    done = subprocess.run([program, *words[1:]], capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, f"{shlex.join(words)}: {done.stderr}"


def end_all(uid: int) -> None:
    """End whatever still runs as this user, and take away what it keeps outside of its home."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{entry}").st_uid == uid:
                os.kill(int(entry), signal.SIGKILL)
    shutil.rmtree(f"/tmp/fourhands-{uid}", ignore_errors=True)
