"""Where a workspace's socket and logs lie, and who may see them.

The runtime directory holds the socket and the lock, the state directory the logs and what is known of each
terminal. Both are named by a hash of the resolved workspace path: a socket's path ends at 107 bytes.
"""

import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass


class PlaceError(Exception):
    """A directory belongs to somebody else or is open to others."""


@dataclass(frozen=True, slots=True)
class Places:
    """The directories of one workspace."""

    workspace: str
    runtime: str
    state: str

    @classmethod
    def of(cls, workspace: str | os.PathLike[str], env: Mapping[str, str] | None = None) -> "Places":
        """The places of a workspace, as the environment's XDG variables have them."""
        env = os.environ if env is None else env
        root = os.path.realpath(workspace)
        name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
        runtime = env.get("XDG_RUNTIME_DIR")
        base = f"{runtime}/fourhands" if runtime else f"/tmp/fourhands-{os.getuid()}"
        state = env.get("XDG_STATE_HOME") or os.path.join(env.get("HOME") or os.path.expanduser("~"), ".local/state")
        return cls(root, f"{base}/{name}", f"{state}/fourhands/{name}")

    @property
    def socket(self) -> str:
        """The host's control socket."""
        return f"{self.runtime}/host.sock"

    @property
    def lock(self) -> str:
        """Held by the one host of this workspace as long as it lives."""
        return f"{self.runtime}/host.lock"

    def log(self, terminal: str) -> str:
        """The output of a terminal."""
        return f"{self.state}/{terminal}.log"

    def record(self, terminal: str) -> str:
        """What is known of a terminal, for the day when its host is gone."""
        return f"{self.state}/{terminal}.json"

    def prepare(self) -> None:
        """Create the directories and refuse those that are not ours alone."""
        for directory in (os.path.dirname(self.runtime), self.runtime, os.path.dirname(self.state), self.state):
            os.makedirs(directory, mode=0o700, exist_ok=True)
            found = os.lstat(directory)
            if not stat.S_ISDIR(found.st_mode):
                raise PlaceError(f"{directory} is not a directory")
            if found.st_uid != os.getuid():
                raise PlaceError(
                    f"{directory} belongs to user {found.st_uid}, not to you; remove it or set XDG_RUNTIME_DIR"
                )
            if found.st_mode & 0o077:
                os.chmod(directory, 0o700)
