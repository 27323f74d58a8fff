"""Where a workspace's socket and logs lie, and who may see them.

The runtime directory holds the sockets and nothing that would be missed: others may clean it up at any time. The state
directory holds the locks, the logs and what is known of each terminal. Both are named by a hash of the resolved
workspace path: a socket's path ends at 107 bytes.
"""

import hashlib
import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace

SOCKET_PATH_LONGEST = 107 if sys.platform.startswith("linux") else 103


class DirsError(Exception):
    """A directory belongs to somebody else, or cannot be used for a socket."""


@dataclass(frozen=True, slots=True)
class WorkspaceDirs:
    """The directories of one workspace."""

    workspace: str
    runtime: str
    state: str

    @classmethod
    def of(cls, workspace: str | os.PathLike[str], env: Mapping[str, str] | None = None) -> "WorkspaceDirs":
        """The places of a workspace, as the environment's XDG variables have them."""
        env = os.environ if env is None else env
        root = os.path.realpath(workspace)
        name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
        # Relative values are to be ignored, says the XDG specification.
        runtime, state = (env.get(n, "") for n in ("XDG_RUNTIME_DIR", "XDG_STATE_HOME"))
        if not os.path.isabs(state):
            state = os.path.join(env.get("HOME") or os.path.expanduser("~"), ".local/state")
        return cls(root, f"{_base(runtime)}/{name}", f"{state}/fourhands/{name}")

    @property
    def socket(self) -> str:
        """The host's control socket."""
        return f"{self.runtime}/host.sock"

    @property
    def lock(self) -> str:
        """Held by the one host of this workspace as long as it lives."""
        return f"{self.state}/host.lock"

    @property
    def older_lock(self) -> str:
        """What a host of version 0.1.0 holds in its place; whoever holds it is a host too."""
        return f"{self.runtime}/host.lock"

    @property
    def owner(self) -> str:
        """Which process is the host, and where it listens."""
        return f"{self.state}/host.json"

    def elsewhere(self) -> list["WorkspaceDirs"]:
        """These places, and those with another runtime directory in case that this one cannot be made any more."""
        spare = (f"{_base('')}/{os.path.basename(self.state)}", self.state)
        return [self, *(replace(self, runtime=runtime) for runtime in spare if runtime != self.runtime)]

    def log(self, terminal: str) -> str:
        """The output of a terminal."""
        return f"{self.state}/{terminal}.log"

    def record(self, terminal: str) -> str:
        """What is known of a terminal, for the day when its host is gone."""
        return f"{self.state}/{terminal}.json"

    def check(self) -> None:
        """Refuse directories that are somebody else's, as far as they exist, and a socket's path that is too long."""
        size = len(os.fsencode(self.socket))
        if size > SOCKET_PATH_LONGEST:
            raise DirsError(
                f"the socket {self.socket} would have a path of {size} bytes, the system allows {SOCKET_PATH_LONGEST}; "
                "set XDG_RUNTIME_DIR to a shorter directory"
            )
        for directory in self._directories():
            try:
                found = os.lstat(directory)
            except FileNotFoundError:
                continue
            if not stat.S_ISDIR(found.st_mode):
                raise DirsError(f"{directory} is not a directory")
            if found.st_uid != os.getuid():
                raise DirsError(
                    f"{directory} belongs to user {found.st_uid}, not to you; "
                    "remove it or set XDG_RUNTIME_DIR and XDG_STATE_HOME"
                )

    def prepare(self) -> None:
        """Create the directories, refuse those that are somebody else's and close to others those that are ours."""
        for directory in self._directories():
            try:
                os.makedirs(directory, mode=0o700, exist_ok=True)
            except FileExistsError:
                pass  # and no directory, as `check` will say
            except OSError as error:
                raise DirsError(
                    f"cannot make {directory}: {error.strerror}; "
                    "set XDG_RUNTIME_DIR and XDG_STATE_HOME to places of your own"
                ) from error
        self.check()
        for directory in self._directories():
            if os.lstat(directory).st_mode & 0o077:
                os.chmod(directory, 0o700)

    def _directories(self) -> tuple[str, ...]:
        return os.path.dirname(self.runtime), self.runtime, os.path.dirname(self.state), self.state


def _base(runtime: str) -> str:
    """Where the runtime directories of all workspaces lie."""
    return f"{runtime}/fourhands" if os.path.isabs(runtime) else f"/tmp/fourhands-{os.getuid()}"
