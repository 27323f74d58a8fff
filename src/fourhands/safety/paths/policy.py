"""The form of a workspace path, and the names that an agent may not touch (safety-policy.md P1, P4 to P6).

Everything here looks at text only; `paths` follows it on the disk and asks these rules about each step.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from fourhands.safety.paths.errors import BadPath, DeniedPath, shown
from fourhands.safety.redaction.file_names import SecretNames, fold, is_secret_name
from fourhands.safety.unicode import BIDI, INVISIBLE

LONGEST_PART_BYTES = 255
LONGEST_PATH_BYTES = 4095

# What an unfinished write is called. It may hold the content of a secret file, so agents are kept off.
TEMPORARY = re.compile(r"\.fourhands-[0-9a-f]+\.tmp\Z", re.IGNORECASE)

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_DRIVE = re.compile(r"[A-Za-z]:")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_DECEIVING = re.compile(f"[{BIDI}{INVISIBLE}\u2028\u2029]")
# The second of each pair is the short name that an old file system gives the first.
_GIT = frozenset({".git", "git~1"})
_NODE_MODULES = frozenset({"node_modules", "node_m~1"})


class Purpose(Enum):
    """What a path is wanted for: the deny-lists differ."""

    READ = "read"
    WRITE = "write"
    REMOVE = "remove"
    LIST = "list"
    LOOK = "look"


FILE_PURPOSES = frozenset({Purpose.READ, Purpose.WRITE, Purpose.REMOVE})
_WRITING = frozenset({Purpose.WRITE, Purpose.REMOVE})


def plain(path: str) -> str:
    """Give a name found on disk as text that can be sent: one that is not UTF-8 is shown, and cannot be opened."""
    return path if path.isascii() else os.fsencode(path).decode(errors="replace")


def split(path: object, *, file: bool) -> list[str]:
    """Check the form of a path and cut it at its slashes; an absolute one starts with an empty part."""
    if isinstance(path, os.PathLike):
        path = path.__fspath__()
    if not isinstance(path, str):
        raise BadPath(f"a path must be text, not {shown(path)}", hint="such as 'src/main.py'", path=str(path))
    problem = _problem(path)
    if not problem and file and path.endswith("/"):
        problem = "it ends with a slash, and a file is needed"
    if problem:
        raise BadPath(
            f"path {shown(path)} cannot be used: {problem}",
            hint="give a path relative to the workspace with plain slashes, such as 'src/main.py'",
            path=path[:LONGEST_PATH_BYTES].encode(errors="replace").decode(),
        )
    return path.split("/")


def _problem(path: str) -> str:
    if not path:
        return "it is empty ('.' is the workspace itself)"
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return "it is not valid Unicode text"
    if size > LONGEST_PATH_BYTES:
        return f"it has {size} bytes, at most {LONGEST_PATH_BYTES} are possible"
    if found := _CONTROL.search(path):
        return f"it has the control character {found.group()!r}"
    if "\\" in path:
        return "it has a backslash"
    if _SCHEME.match(path):
        return "it is an address, not a path"
    if _DRIVE.match(path):
        return "it starts with a drive letter"
    if size > LONGEST_PART_BYTES:
        longest = max(len(part.encode()) for part in path.split("/"))
        if longest > LONGEST_PART_BYTES:
            return f"one of its names has {longest} bytes, at most {LONGEST_PART_BYTES} are possible"
    return ""


@lru_cache(maxsize=8192)
def is_git_name(name: str) -> bool:
    """Tell whether some file system or some reader would take this name for `.git`."""
    return _is(name, _GIT)


@lru_cache(maxsize=8192)
def is_packages_name(name: str) -> bool:
    """Tell whether some file system or some reader would take this name for `node_modules`."""
    return _is(name, _NODE_MODULES)


@lru_cache(maxsize=65536)  # a search judges every file of a workspace, again and again
def _is_secret(full: str, names: SecretNames | None) -> bool:
    return is_secret_name(full, names)


def _is(name: str, wanted: frozenset[str]) -> bool:
    # Folding may bring forth a slash (U+FF0F), so that one name becomes several.
    return any(part in wanted for part in fold(name).split("/"))


def check_new_name(name: str, path: str) -> None:
    """Refuse to create a name that looks like another one."""
    if found := _DECEIVING.search(name):
        raise BadPath(
            f"path {shown(path)} cannot be created: a name in it has the invisible or reordering character "
            f"U+{ord(found.group()):04X}",
            hint="leave that character out",
            path=path,
        )


@dataclass(frozen=True, slots=True)
class PathPolicy:
    """The deny-lists: they bind agents. A person's rules are open; the confinement holds all the same."""

    open: bool = False
    secret_names: SecretNames | None = None

    def judge_part(self, part: str, purpose: Purpose, path: str) -> None:
        """Refuse one name on the way, as given or as found behind a link."""
        if self.open:
            return
        if is_git_name(part):
            raise _denied(path, "git's own files are closed to agents", "use git in a terminal")
        if purpose in _WRITING and is_packages_name(part):
            raise _denied(
                path, "nothing is written below node_modules", "change package.json and let the package manager run"
            )
        if TEMPORARY.match(part):
            raise _denied(path, "it is an unfinished write", "read the file itself")

    def judge(self, parts: Iterable[str], purpose: Purpose, path: str) -> None:
        """Refuse a whole path by its names."""
        for part in parts:
            self.judge_part(part, purpose, path)

    def judge_secret(self, full: str, purpose: Purpose, path: str) -> None:
        """Refuse to read or write a secret file; its name may be shown."""
        if self.open or purpose not in FILE_PURPOSES:
            return
        if _is_secret(full, self.secret_names):
            raise _denied(
                path,
                "its name is on the list of secret files",
                "ask the person to open it, or to take the name off the list in the settings",
            )

    def allows(self, parts: Iterable[str], full: str, purpose: Purpose) -> bool:
        """Tell whether the rules let a path pass, for those who leave out rather than refuse."""
        try:
            self.judge(parts, purpose, full)
            self.judge_secret(full, purpose, full)
        except DeniedPath:
            return False
        return True


def _denied(path: str, reason: str, hint: str) -> DeniedPath:
    return DeniedPath(f"path {shown(path)} is refused: {reason}", hint=hint, path=path)
