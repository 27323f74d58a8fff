"""A plain user of this machine, made for a test: a home of its own, and nothing of root's."""

import contextlib
import os
import pwd
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.kit.isolation import refuse
from tests.kit.stranger import end_all, system

ROOT = Path(__file__).parent.parent.parent
PYTHON = "/usr/bin/python3"
"""The system's own: that of the tests may lie in root's home."""


@dataclass(frozen=True)
class PlainUser:
    """A user with its home; programs run as it with `env` and nothing else."""

    name: str
    home: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def uid(self) -> int:
        return pwd.getpwnam(self.name).pw_uid

    def command(self, *words: str, **env: str) -> list[str]:
        """Words as this user calls them."""
        user = pwd.getpwnam(self.name)
        become = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--inh-caps=-all"]
        named = [f"{name}={value}" for name, value in (self.env | env).items()]
        return ["/usr/bin/setpriv", *become, "/usr/bin/env", "-i", *named, *words]

    def run(self, line: str, timeout_s: float = 60) -> str:
        """What a line of shell in the home prints; it must succeed."""
        done = subprocess.run(
            self.command("/bin/bash", "-c", line), cwd=self.home, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=timeout_s, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
        return done.stdout

    def write(self, path: str, text: str, mode: int = 0o644) -> Path:
        """Write a file of this user below its home."""
        target = self.home / path
        for folder in reversed([one for one in target.parents if self.home in one.parents and not one.exists()]):
            folder.mkdir(mode=0o755)
            shutil.chown(folder, self.name, self.name)
        target.write_text(text)
        target.chmod(mode)
        shutil.chown(target, self.name, self.name)
        return target


@contextlib.contextmanager
def plain_user(prefix: str = "fhp") -> Iterator[PlainUser]:
    """Make one; what it still runs at the end is ended, and its files are removed."""
    if os.geteuid() != 0 or shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin") is None:
        refuse("a plain user can be made by root only, and with useradd (make tools)")
    name = f"{prefix}{os.getpid()}"
    home = Path("/home", name)
    system("useradd", "--create-home", "--home-dir", str(home), "--shell", "/bin/bash", name)
    try:
        home.chmod(0o755)
        path = f"{ROOT / 'src'}:{ROOT}:{sysconfig.get_paths()['purelib']}"
        env = {"HOME": str(home), "USER": name, "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
        yield PlainUser(name, home, env | {"SHELL": "/bin/bash", "TERM": "xterm", "PYTHONPATH": path})
    finally:
        end_all(pwd.getpwnam(name).pw_uid)
        system("userdel", "--force", name)  # what was ended a moment ago may still be there
        shutil.rmtree(home, ignore_errors=True)
