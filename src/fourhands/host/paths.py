"""The directories of a workspace: its sockets and logs, for one user only.

The runtime directory holds the sockets and nothing that would be missed: other programs may clean it up at any time.
The state directory holds the locks, the logs and what is known of each terminal. Both are named by a hash of the
resolved workspace path: a socket's path ends at 107 bytes.
"""

import hashlib
import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace

SOCKET_PATH_LONGEST = 107 if sys.platform.startswith("linux") else 103


class DirsError(Exception):
    """A directory of another user, or one that cannot be used for a socket."""


@dataclass(frozen=True, slots=True)
class WorkspaceDirs:
    """The directories of one workspace."""

    workspace: str
    runtime: str
    state: str

    @classmethod
    def of(cls, workspace: str | os.PathLike[str], env: Mapping[str, str] | None = None) -> "WorkspaceDirs":
        """Return the directories of a workspace, as the environment's XDG variables have them."""
        env = os.environ if env is None else env
        root = os.path.realpath(workspace)
        name = _digest(root)
        # Relative values are to be ignored, says the XDG specification.
        runtime, state = (env.get(n, "") for n in ("XDG_RUNTIME_DIR", "XDG_STATE_HOME"))
        if not os.path.isabs(state):
            state = os.path.join(env.get("HOME") or os.path.expanduser("~"), ".local/state")
        return cls(root, f"{_base(runtime)}/{name}", f"{state}/fourhands/{name}")

    @property
    def socket(self) -> str:
        """Path of the host's control socket."""
        return f"{self.runtime}/host.sock"

    @property
    def lock(self) -> str:
        """Path of the lock that the one host of this workspace holds as long as it lives."""
        return f"{self.state}/host.lock"

    @property
    def older_lock(self) -> str:
        """Path of the lock that a host of version 0.1.0 holds instead; its holder is a host too."""
        return f"{self.runtime}/host.lock"

    @property
    def owner(self) -> str:
        """Path of the record of the host's process and socket."""
        return f"{self.state}/host.json"

    def elsewhere(self) -> list["WorkspaceDirs"]:
        """Return these places, and those with another runtime directory, for when this one cannot be made any more."""
        spare = (f"{_base('')}/{_digest(self.state)}", self.state)
        return [self, *(replace(self, runtime=runtime) for runtime in spare if runtime != self.runtime)]

    def log(self, terminal: str) -> str:
        """Return the path of a terminal's output."""
        return f"{self.state}/{terminal}.log"

    def record(self, terminal: str) -> str:
        """Return the path of what is known of a terminal, for the time when its host is gone."""
        return f"{self.state}/{terminal}.json"

    def check(self) -> None:
        """Refuse directories of other users, as far as they exist, and a socket's path that is too long."""
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
                    f"{directory} is owned by another user (uid {found.st_uid}); "
                    "remove it or set XDG_RUNTIME_DIR and XDG_STATE_HOME"
                )

    def prepare(self) -> None:
        """Create the directories, refuse those of other users and close to others those that are private.

        The parents may be shared, as `/tmp` is: their mode is changed only where they are this program's by name.
        """
        for directory in self._directories():
            try:
                os.makedirs(directory, mode=0o700, exist_ok=True)
            except FileExistsError:
                pass  # and no directory, as `check` will report
            except OSError as error:
                raise DirsError(
                    f"cannot make {directory}: {error.strerror}; "
                    "set XDG_RUNTIME_DIR and XDG_STATE_HOME to places of your own"
                ) from error
        self.check()
        for directory in self._directories():
            mode = os.lstat(directory).st_mode
            private = directory in (self.runtime, self.state) or os.path.basename(directory) in _OWN_NAMES
            if private and mode & 0o077:
                os.chmod(directory, 0o700)
            elif mode & 0o022 and not mode & stat.S_ISVTX:
                raise DirsError(f"{directory} is writable by other users; make it yours: chmod go-w {directory}")

    def _directories(self) -> tuple[str, ...]:
        return os.path.dirname(self.runtime), self.runtime, os.path.dirname(self.state), self.state


_OWN_NAMES = ("fourhands", f"fourhands-{os.getuid()}")
"""Names of the directories in which the runtime and state directories of all workspaces lie."""


def _base(runtime: str) -> str:
    """Return the directory in which the runtime directories of all workspaces lie."""
    return f"{runtime}/{_OWN_NAMES[0]}" if os.path.isabs(runtime) else f"/tmp/{_OWN_NAMES[1]}"


def _digest(path: str) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
