"""Runs of ripgrep: no shell, no configuration of a user's, no links, a deadline.

Only what lies below the workspace decides what is ignored: `.gitignore` files above it, the user's global one and
`.git/info/exclude` are not looked at, since they are outside or closed.
"""

import base64
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec

from fourhands.core.errors import BadArgument, Unavailable, Unsupported
from fourhands.core.lines import LineSplitter, Overlong
from fourhands.providers.own_programs import find_outside

LONGEST_LINE = 8 * 1024 * 1024
"""Bytes of a line of ripgrep's report; a longer one is left out and not held."""

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
    """A moment until which several runs may go on together; `passed` once it has cut one short."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self.passed = False

    def left(self) -> float:
        """Return the seconds that are left."""
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


def find_program(workspace: str, python: str, path: str | None = None) -> str | None:
    """Return the path of ripgrep: beside this Python, where its package puts it, else outside of the workspace."""
    beside = os.path.join(os.path.dirname(python), "rg")
    found = beside if os.access(beside, os.X_OK) else find_outside("rg", workspace, path)
    return os.path.abspath(found) if found else None


class Ripgrep:
    """The program, which is looked for once. Used by any thread."""

    def __init__(
        self,
        program: Callable[[str], str | None] = lambda workspace: find_program(workspace, sys.executable),
        *,
        deadline: Callable[[float], Deadline] = Deadline,
        longest_line: int = LONGEST_LINE,
    ) -> None:
        self.deadline = deadline
        self._find = program
        self._program: str | None = None
        self._longest_line = longest_line

    def list_files(
        self,
        root: str,
        below: str,
        exclude: Sequence[str],
        packages: bool,
        deadline: Deadline,
        include: Sequence[str] = (),
    ) -> list[str]:
        """Return the files below a directory of the root that are not ignored; node_modules only with `packages`."""
        globs = [f"--glob={pattern}" for given in include for pattern in _with_content(given)]
        globs += [f"--glob=!{pattern}" for pattern in exclude]
        argv = ["--files", "--null", *_WALK, *globs, *_NEVER, *(() if packages else (_PACKAGES,)), "--", below]
        with self._run(root, argv, deadline) as pieces:
            data = b"".join(pieces)
        if deadline.passed:
            data = data[: data.rfind(b"\0") + 1]  # the last name may be half a name
        return [path.removeprefix("./") for path in os.fsdecode(data).split("\0") if path]

    def find_text(
        self, root: str, query: str, files: Sequence[str], regex: bool, most_per_file: int, deadline: Deadline
    ) -> dict[str, list[Hit]]:
        """Return the lines of the named files that have the query, by file; the order of files is by chance."""
        argv = ["--json", "--smart-case", f"--max-count={most_per_file}", *(() if regex else ("--fixed-strings",))]
        # `./`: a name may start with a dash.
        argv += [f"--regexp={query}", "--", *(f"./{path}" for path in files)]
        hits: dict[str, list[Hit]] = {}
        with self._run(root, argv, deadline) as pieces:
            for line in self._lines(pieces):
                if not line.startswith(b'{"type":"match"'):
                    continue
                data = _decoder.decode(line).data
                if data.path is None or data.lines is None or data.line_number is None:
                    continue
                path = os.fsdecode(data.path.raw()).removeprefix("./")
                start = data.submatches[0].start if data.submatches else 0
                hits.setdefault(path, []).append(Hit(line=data.line_number, text=data.lines.raw(), start=start))
        return hits

    @contextmanager
    def _run(self, root: str, argv: Sequence[str], deadline: Deadline) -> Iterator[Iterator[bytes]]:
        try:
            process = subprocess.Popen(
                [self._found(root), *_ALWAYS, *argv],
                cwd=root,
                env={},  # nothing of the server's own reaches it, nor RIPGREP_CONFIG_PATH
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            raise Unavailable(f"cannot start ripgrep: {error.strerror}", hint="run `fourhands doctor`") from error

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
                        f"cannot search with ripgrep: {complaint.splitlines()[-1]}",
                        hint="check the pattern or the regular expression",
                    )
            finally:
                timer.cancel()
                process.kill()

    def _lines(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        splitter: LineSplitter[bytes] = LineSplitter(self._longest_line)
        for piece in pieces:
            for line in splitter.feed(piece):
                if not isinstance(line, Overlong):
                    yield line

    def _found(self, root: str) -> str:
        self._program = self._program or self._find(root)
        if self._program is None:
            raise Unsupported("searching needs ripgrep, and there is no program 'rg'", hint="pip install ripgrep")
        return self._program


def _with_content(pattern: str) -> tuple[str, str]:
    """Return a pattern, and the one for what is in a directory of this name."""
    bare = pattern.rstrip("/")
    return pattern, f"{bare}/**" if "/" in bare else f"**/{bare}/**"
