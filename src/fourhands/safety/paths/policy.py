"""The form of a workspace path, and the names that an agent may not touch (safety-policy.md P1, P4 to P6).

Only text is read here; `walk` follows the path on disk and checks each step against these rules.
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
_OWN = frozenset({".fourhands", "fourha~1"})


class Purpose(Enum):
    """The purpose of a path: the deny-lists differ."""

    READ = "read"
    WRITE = "write"
    REMOVE = "remove"
    LIST = "list"
    LOOK = "look"


FILE_PURPOSES = frozenset({Purpose.READ, Purpose.WRITE, Purpose.REMOVE})
_WRITING = frozenset({Purpose.WRITE, Purpose.REMOVE})


def plain(path: str) -> str:
    """Return a name found on disk as valid text; a name that is not UTF-8 is escaped, and cannot be opened so."""
    return path if path.isascii() else os.fsencode(path).decode(errors="replace")


def split(path: object, *, file: bool) -> list[str]:
    """Check the form of a path and cut it at its slashes; an absolute one starts with an empty part."""
    if isinstance(path, os.PathLike):
        path = path.__fspath__()
    if not isinstance(path, str):
        raise BadPath(f"a path must be text, not {shown(path)}", hint="such as 'src/main.py'", path=str(path))
    problem = _problem(path)
    if not problem and file and path.endswith("/"):
        problem = "it ends with a slash, but a file is needed"
    if problem:
        raise BadPath(
            f"path {shown(path)} cannot be used: {problem}",
            hint="use a path relative to the workspace, such as 'src/main.py'",
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
        return f"it is {size} bytes long; the limit is {LONGEST_PATH_BYTES}"
    if found := _CONTROL.search(path):
        return f"it contains the control character {found.group()!r}"
    if "\\" in path:
        return "it contains a backslash"
    if _SCHEME.match(path):
        return "it is an address, not a path"
    if _DRIVE.match(path):
        return "it starts with a drive letter"
    if size > LONGEST_PART_BYTES:
        longest = max(len(part.encode()) for part in path.split("/"))
        if longest > LONGEST_PART_BYTES:
            return f"one of its names is {longest} bytes long; the limit is {LONGEST_PART_BYTES}"
    return ""


@lru_cache(maxsize=8192)
def is_git_name(name: str) -> bool:
    """Return True if some file system or reader would take this name for `.git`."""
    return _is(name, _GIT)


@lru_cache(maxsize=8192)
def is_packages_name(name: str) -> bool:
    """Return True if some file system or reader would take this name for `node_modules`."""
    return _is(name, _NODE_MODULES)


@lru_cache(maxsize=8192)
def is_own_name(name: str) -> bool:
    """Return True if some file system or reader would take this name for the directory of a workspace's settings."""
    return _is(name, _OWN)


@lru_cache(maxsize=65536)  # a search checks every file of a workspace, again and again
def _is_secret(full: str, names: SecretNames | None) -> bool:
    return is_secret_name(full, names)


def _is(name: str, wanted: frozenset[str]) -> bool:
    # Folding may bring forth a slash (U+FF0F), so that one name becomes several.
    return any(part in wanted for part in fold(name).split("/"))


def check_new_name(name: str, path: str) -> None:
    """Refuse to create a name that looks like another one."""
    if found := _DECEIVING.search(name):
        raise BadPath(
            f"path {shown(path)} cannot be created: it contains the invisible character U+{ord(found.group()):04X}",
            hint="remove that character",
            path=path,
        )


@dataclass(frozen=True, slots=True)
class PathPolicy:
    """The deny-lists for agents. A person's policy is `open`; the confinement to the workspace still holds."""

    open: bool = False
    secret_names: SecretNames | None = None

    def check_part(self, part: str, purpose: Purpose, path: str) -> None:
        """Refuse one name on the way, as given or as found behind a link."""
        if self.open:
            return
        if is_git_name(part):
            raise _denied(path, "agents may not use git's own files", "use git in a terminal")
        if purpose in _WRITING and is_packages_name(part):
            raise _denied(
                path, "agents may not write below node_modules", "change package.json and run the package manager"
            )
        if purpose in _WRITING and is_own_name(part):
            raise _denied(
                path, "agents may not change the settings of Fourhands", "ask the person to change them in an editor"
            )
        if TEMPORARY.match(part):
            raise _denied(path, "it is the temporary file of an unfinished write", "read the file itself")

    def check(self, parts: Iterable[str], purpose: Purpose, path: str) -> None:
        """Refuse a whole path by its names."""
        for part in parts:
            self.check_part(part, purpose, path)

    def check_secret(self, full: str, purpose: Purpose, path: str) -> None:
        """Refuse to read or write a secret file; its name may be shown."""
        if self.open or purpose not in FILE_PURPOSES:
            return
        if _is_secret(full, self.secret_names):
            raise _denied(
                path,
                "its name is on the list of secret files",
                "ask the person to open it, or to remove the name from the list in the settings",
            )

    def allows(self, parts: Iterable[str], full: str, purpose: Purpose) -> bool:
        """Return True if the policy allows a path; for callers that leave out rather than refuse."""
        try:
            self.check(parts, purpose, full)
            self.check_secret(full, purpose, full)
        except DeniedPath:
            return False
        return True


def _denied(path: str, reason: str, hint: str) -> DeniedPath:
    return DeniedPath(f"path {shown(path)} is refused: {reason}", hint=hint, path=path)
