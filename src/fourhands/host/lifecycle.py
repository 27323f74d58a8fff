"""The start of a host, and the end of one that cannot be asked; both block and belong in a thread."""

import fcntl
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

from fourhands.core.errors import Unavailable
from fourhands.host import owner, recovery
from fourhands.host.archive import KEEP, Retention
from fourhands.host.dumpable import DEBUG
from fourhands.host.log import BUDGET
from fourhands.host.paths import DirsError, WorkspaceDirs

START_S = 10.0
"""Seconds that a new host may take to listen."""

STOP_S = 15.0
"""Seconds that a host that cannot be asked has to end its terminals, before it is killed and they with it."""

# What a host needs of our environment. Every process that may signal it can read this, so no secrets.
_HOST_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", DEBUG)


@dataclass(frozen=True, slots=True)
class HostOptions:
    """The way a new host is started; one that runs already keeps its own."""

    linger_s: float = 10.0
    budget: int = BUDGET
    keep: Retention = KEEP
    python: str = sys.executable


class HostStart:
    """A host that has been started and does not listen yet. `wait` for it in a thread, once."""

    def __init__(self, process: "subprocess.Popen[bytes]", ready: int, hint: str) -> None:
        self._process = process
        self._ready = ready
        self._hint = hint

    def wait(self, start_s: float = START_S) -> None:
        """Return when it listens. Raises `Unavailable` if it does not."""
        try:
            self._process.wait(start_s)  # it detaches at once: what runs on is its child
            answer = _answer(self._ready, start_s)
        except (subprocess.TimeoutExpired, TimeoutError) as error:
            self._process.kill()
            self._process.wait()
            raise Unavailable(f"the host did not start within {start_s:.0f} s", hint=self._hint) from error
        except OSError as error:
            raise Unavailable(f"cannot start the host: {error}", hint=self._hint) from error
        finally:
            os.close(self._ready)
        if answer != "ready":
            raise Unavailable(f"the host could not start: {answer or 'it ended at once'}", hint=self._hint)


def start(places: WorkspaceDirs, options: HostOptions, start_s: float = START_S) -> None:
    """Start a host and return when it listens; it is no child of this process and outlives it."""
    begin(places, options).wait(start_s)


def begin(places: WorkspaceDirs, options: HostOptions) -> HostStart:
    """Start a host and return at once, while it gets ready. Where there is one already, the new one leaves again."""
    try:
        places.prepare()
    except (DirsError, OSError) as error:
        raise Unavailable(f"cannot start the host: {error}") from error
    environment = {k: v for k, v in os.environ.items() if k in _HOST_VARIABLES or k.startswith("COVERAGE_")}
    # -P: not from the directory that it is started in.
    command = [options.python, "-P", "-m", "fourhands.host.main", "--workspace", places.workspace]
    command += ["--runtime", places.runtime, "--state", places.state, "--linger", str(options.linger_s)]
    command += ["--keep-days", str(options.keep.days), "--keep-bytes", str(options.keep.bytes)]
    hint = f"see {places.state}/host.log"
    ready, theirs = os.pipe()
    try:
        noise = os.open(f"{places.state}/host.log", os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            command += ["--budget", str(options.budget), "--ready", str(theirs), "--detach"]
            started = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=noise,
                stderr=noise,
                env=environment,
                cwd="/",
                pass_fds=[theirs],
                start_new_session=True,
            )
        finally:
            os.close(noise)
            os.close(theirs)
    except OSError as error:
        os.close(ready)
        raise Unavailable(f"cannot start the host: {error}", hint=hint) from error
    return HostStart(started, ready, hint)


def _answer(fd: int, timeout_s: float) -> str:
    """Return what is written to a pipe until its other side is closed."""
    deadline, text = time.monotonic() + timeout_s, b""
    poll = select.poll()  # select itself knows no descriptor above 1023
    poll.register(fd, select.POLLIN)
    while poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        piece = os.read(fd, 4096)
        if not piece:
            return text.decode("utf-8", "replace")
        text += piece
    raise TimeoutError


def end_by_record(places: WorkspaceDirs, stop_s: float = STOP_S) -> bool:
    """End a host that cannot be asked, and what a dead one left; returns False if there was neither."""
    found = owner.living(places)
    if found is not None:
        for numbers in ((signal.SIGTERM, signal.SIGCONT), (signal.SIGKILL,)):
            owner.send(found, *numbers)
            deadline = time.monotonic() + stop_s
            while owner.living(places) == found and time.monotonic() < deadline:
                time.sleep(owner.LOOK_S)
    try:
        lock = os.open(places.lock, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False  # there never was one
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        records = recovery.unfinished(places)
        survivors = recovery.members(records)
        if stuck := recovery.end(records):
            raise Unavailable(f"cannot end the processes of {places.workspace}: {stuck}")
        return found is not None or bool(survivors)
    except BlockingIOError:
        raise Unavailable(
            f"cannot identify the running host of {places.workspace}",
            hint=f"look for it on another machine or in a container; {places.lock} is its lock",
        ) from None
    finally:
        os.close(lock)
