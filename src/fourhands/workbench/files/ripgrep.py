"""Running ripgrep: no shell, no configuration of anybody's, no links, a deadline.

Only what lies below the workspace decides what is ignored: `.gitignore` files above it, the user's global one and
`.git/info/exclude` are not looked at, since they are outside or closed.
"""

import base64
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

import msgspec

from fourhands.core.errors import BadArgument, Unavailable, Unsupported

_LONGEST_LINE = 8 * 1024 * 1024
_CHUNK = 256 * 1024
_ALWAYS = ("--no-config", "--no-messages", "--color=never", "--no-follow")
_WALK = (
    "--hidden",
    "--no-require-git",
    "--no-ignore-parent",
    "--no-ignore-global",
    "--no-ignore-exclude",
)
# After the caller's patterns: the last one that matches decides.
_NEVER = ("--iglob=!.git", "--iglob=!.fourhands-*.tmp")
_PACKAGES = "--iglob=!node_modules"


class Deadline:
    """A moment until which several runs may go on together; remembers that it cut one short."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self.passed = False

    def left(self) -> float:
        """Seconds that are left."""
        return max(0.0, self._end - time.monotonic())


@dataclass(frozen=True, slots=True)
class Hit:
    """A line as ripgrep saw it: its number from 1, its bytes, and where the match starts in them."""

    line: int
    text: bytes
    start: int


class _Text(msgspec.Struct):
    text: str | None = None
    encoded: str | None = msgspec.field(name="bytes", default=None)

    def raw(self) -> bytes:
        return (self.text or "").encode() if self.encoded is None else base64.b64decode(self.encoded)


class _Submatch(msgspec.Struct):
    start: int


class _Data(msgspec.Struct):
    path: _Text | None = None
    lines: _Text | None = None
    line_number: int | None = None
    submatches: list[_Submatch] = []


class _Message(msgspec.Struct):
    type: str
    data: _Data


_decoder = msgspec.json.Decoder(_Message)


@cache
def program() -> str:
    """Find ripgrep: beside our own interpreter, where its package puts it, else on the PATH."""
    beside = os.path.join(os.path.dirname(sys.executable), "rg")
    found = beside if os.access(beside, os.X_OK) else shutil.which("rg")
    if not found:
        raise Unsupported("searching needs ripgrep, and there is no program 'rg'", hint="pip install ripgrep")
    return os.path.abspath(found)


def list_files(
    root: str,
    below: str,
    exclude: Sequence[str],
    packages: bool,
    deadline: Deadline,
    include: Sequence[str] = (),
) -> list[str]:
    """List the files below a directory of the root that are not ignored; below node_modules only if told so."""
    globs = [f"--glob={pattern}" for given in include for pattern in _with_content(given)]
    globs += [f"--glob=!{pattern}" for pattern in exclude]
    argv = ["--files", "--null", *_WALK, *globs, *_NEVER, *(() if packages else (_PACKAGES,)), "--", below]
    with _run(root, argv, deadline) as pieces:
        data = b"".join(pieces)
    if deadline.passed:
        data = data[: data.rfind(b"\0") + 1]  # the last name may be half a name
    return [path.removeprefix("./") for path in os.fsdecode(data).split("\0") if path]


def find_text(
    root: str, query: str, files: Sequence[str], regex: bool, most_per_file: int, deadline: Deadline
) -> dict[str, list[Hit]]:
    """Find the lines of the named files that have the query; the order of files is by chance."""
    argv = ["--json", "--smart-case", f"--max-count={most_per_file}", *(() if regex else ("--fixed-strings",))]
    # `./`: a name may start with a dash.
    argv += [f"--regexp={query}", "--", *(f"./{path}" for path in files)]
    hits: dict[str, list[Hit]] = {}
    with _run(root, argv, deadline) as pieces:
        for line in _lines(pieces):
            if not line.startswith(b'{"type":"match"'):
                continue
            data = _decoder.decode(line).data
            if data.path is None or data.lines is None or data.line_number is None:
                continue
            path = os.fsdecode(data.path.raw()).removeprefix("./")
            start = data.submatches[0].start if data.submatches else 0
            hits.setdefault(path, []).append(Hit(line=data.line_number, text=data.lines.raw(), start=start))
    return hits


def _with_content(pattern: str) -> tuple[str, str]:
    """Let a pattern that names a directory stand for what is in it as well."""
    bare = pattern.rstrip("/")
    return pattern, f"{bare}/**" if "/" in bare else f"**/{bare}/**"


@contextmanager
def _run(root: str, argv: Sequence[str], deadline: Deadline) -> Iterator[Iterator[bytes]]:
    try:
        process = subprocess.Popen(
            [program(), *_ALWAYS, *argv],
            cwd=root,
            env={},  # nothing of the server's own reaches it, nor RIPGREP_CONFIG_PATH
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        raise Unavailable(f"ripgrep could not be started: {error.strerror}", hint="see `fourhands doctor`") from error

    def stop() -> None:
        deadline.passed = True
        process.kill()

    timer = threading.Timer(deadline.left(), stop)
    timer.daemon = True
    with process:
        output, complaints = process.stdout, process.stderr
        assert output is not None
        assert complaints is not None
        timer.start()
        try:
            yield iter(lambda: os.read(output.fileno(), _CHUNK), b"")
            # Errors of single files are switched off, so this is short, and cannot have filled its pipe.
            complaint = complaints.read(4096).decode(errors="replace").strip()
            if process.wait() == 2 and complaint and not deadline.passed:
                raise BadArgument(
                    f"ripgrep does not take this search: {complaint.splitlines()[-1]}",
                    hint="see the pattern or the regular expression",
                )
        finally:
            timer.cancel()
            process.kill()


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Cut at line ends; a line beyond all measure is left out and not held."""
    rest = b""
    skipping = False
    for piece in pieces:
        *whole, last = piece.split(b"\n")
        for line in whole:
            if not skipping:
                yield rest + line
            rest, skipping = b"", False
        rest = b"" if skipping else rest + last
        if len(rest) > _LONGEST_LINE:
            rest, skipping = b"", True
