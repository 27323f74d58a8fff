"""One step of the set-up: its progress is shown while it runs, and one line if it fails.

What the program says goes into a log, which stays where the step failed. On a terminal one line is written over and
over; elsewhere a line comes every few seconds.
"""

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

EVERY_S = 10.0
"""Between two lines where there is no terminal."""

NO_NETWORK = re.compile(
    r"name resolution|NameResolutionError|NewConnectionError|ConnectTimeout|Network is unreachable|Connection refused"
    r"|Read timed out|ProxyError|EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH"
)


class Failed(Exception):
    """A step that cannot be done; its text is the one line that is shown."""


def lacking(what: str, *, apt: str, dnf: str, brew: str) -> Failed:
    """Something that must be installed first, with the names of its packages."""
    return Failed(f"{what}. To install: apt install {apt} | dnf install {dnf} | brew install {brew}")


@contextlib.contextmanager
def alone(directory: Path) -> Iterator[None]:
    """Let one at a time set up this directory; the next one finds it done."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another make sets things up here; waiting for it …", flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def run(
    title: str,
    command: Sequence[str],
    *,
    log: Path,
    counted: re.Pattern[str],
    wrong: re.Pattern[str],
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> None:
    """Run a program. In its lines `counted` finds what it is at, or one thing more, and `wrong` why it failed."""
    log.parent.mkdir(parents=True, exist_ok=True)
    said: list[str] = []
    with (
        log.open("w") as kept,
        _Line(title) as line,
        subprocess.Popen(
            command,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process,
    ):
        assert process.stdout is not None
        for text in process.stdout:
            kept.write(text)
            said.append(text.strip())
            if found := counted.search(text):
                line.at(found[1] if found.groups() else "")
    if process.returncode != 0:
        raise Failed(f"{title} failed: {_reason(said, wrong)} (all of it: {os.path.relpath(log)})")
    log.unlink()


def _reason(said: Sequence[str], wrong: re.Pattern[str]) -> str:
    if any("No space left on device" in text for text in said):
        return "no space left on device"
    if any(NO_NETWORK.search(text) for text in said):
        return "no connection to where packages are; see to the network or HTTPS_PROXY, and run it again"
    reasons = [found[1] for text in said if (found := wrong.search(text))]
    return (reasons or [text for text in said if text] or ["it said nothing"])[0 if reasons else -1][:300]


class _Line:
    """The line shown while a step lasts: its title, its seconds and its present part."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._now, self._count = "", 0
        self._over = threading.Event()
        self._begun = time.monotonic()
        self._moving = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._thread = threading.Thread(target=self._show, daemon=True)

    def __enter__(self) -> "_Line":
        print(f"{self._title} …", end="" if self._moving else "\n", flush=True)
        self._thread.start()
        return self

    def at(self, name: str) -> None:
        """Report that the next part has begun."""
        self._now, self._count = name, self._count + 1

    def _text(self) -> str:
        now = f": {self._now}" if self._now else f", {self._count} so far" if self._count else ""
        return f"{self._title} … {time.monotonic() - self._begun:.0f} s{now}"

    def _show(self) -> None:
        while not self._over.wait(0.2 if self._moving else EVERY_S):
            if self._moving:
                width = shutil.get_terminal_size().columns - 1
                print(f"\r\x1b[K{self._text()[:width]}", end="", flush=True)
            else:
                print(self._text(), flush=True)

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()
        if self._moving:
            print(f"\r\x1b[K{self._title}: {time.monotonic() - self._begun:.0f} s", flush=True)


def ended(work: Callable[[], None]) -> NoReturn:
    """Do the work of a script and end: with one line on stderr where it cannot be done."""
    try:
        work()
    except Failed as problem:
        sys.exit(f"Fourhands: {problem}")
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(0)
