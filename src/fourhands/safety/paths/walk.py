"""The walk down a workspace path, in which check and use are one (safety-policy.md P2, P3).

A `PathWalk` walks from the workspace's root with directory descriptors and never lets the kernel follow a link:
links are read and taken apart here. It ends with a descriptor of the last directory and a plain name in it,
so whatever is swapped meanwhile, the operation either meets what was checked or fails. `openat2` is not used: the
resolved names are needed anyway, for the policy.

One thing no walk can prevent: a directory that is moved out of the workspace while it is open stays the one that was
checked.
"""

import errno
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from types import TracebackType
from typing import Protocol, Self

from fourhands.core.errors import BadArgument, FourhandsError
from fourhands.safety.paths.errors import BadPath, Changed, NoSuchFile, NotRegular, outside, reported, shown
from fourhands.safety.paths.policy import FILE_PURPOSES, PathPolicy, Purpose, check_new_name, plain, split

MOST_LINKS = 40
# So many directories of the way stay open for a quick `..`; a path may have 2,000, a process 1,024 descriptors.
KEPT_OPEN = 32
_NAMES_READ = 500

_O_PATH: int = getattr(os, "O_PATH", os.O_RDONLY)  # not on macOS, where reading permission is then needed
_DIRECTORY = _O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW


class PathSystem(Protocol):
    """The calls to the operating system that a walk makes to enter, make and sync directories."""

    def open(self, path: str, flags: int, *, dir_fd: int | None = None) -> int:
        """Open a directory; see `os.open`."""
        ...

    def mkdir(self, path: str, *, dir_fd: int | None = None) -> None:
        """Make a directory; see `os.mkdir`."""
        ...

    def fsync(self, fd: int) -> None:
        """Make a file or directory durable; see `os.fsync`."""
        ...


class Root:
    """A workspace's directory: its resolved path, and the spellings under which an absolute path means it."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        if not isinstance(root, (str, os.PathLike)) or not os.fspath(root):
            raise BadArgument(f"a workspace must be the path of a directory, not {shown(root)}")
        given = os.path.abspath(root)
        try:
            self.path = os.path.realpath(root, strict=True)
            self._open_root()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise BadArgument(
                f"{shown(os.fspath(root))} cannot be a workspace: {reason}", hint="name an existing directory"
            ) from error
        spellings = {self.path}
        if os.path.realpath(given) == self.path:
            spellings.add(given)
        self._spellings = [_parts(spelling) for spelling in spellings]

    def _open_root(self) -> None:
        os.close(os.open(self.path, _DIRECTORY))

    def below(self, parts: list[str], path: str) -> list[str]:
        """Return the part of an absolute path below the root, without reading anything outside."""
        plain = [part for part in parts if part not in ("", ".")]
        for spelling in self._spellings:
            if plain[: len(spelling)] == spelling:
                # The empty part at the end is a slash: it says that a directory is meant.
                return plain[len(spelling) :] + ([""] if parts[-1] in ("", ".") else [])
        raise outside(path)

    def relative(self, path: str, *, file: bool) -> list[str]:
        """Check the form of a path and return its parts relative to the root."""
        parts = split(path, file=file)
        return self.below(parts, path) if parts[0] == "" else parts


class PathWalk:
    """One walk down a path, open as long as its `with` block lasts.

    Inside the block `fd` is the last directory, `name` the entry in it (empty if the path is a directory that was
    entered), `names` the resolved directories from the root, `status` the entry's own state (None: nothing there).
    """

    def __init__(
        self,
        root: Root,
        path: str,
        purpose: Purpose,
        rules: PathPolicy,
        *,
        follow: bool = True,
        system: PathSystem = os,
    ) -> None:
        self.root = root
        self.given = os.fspath(path) if isinstance(path, os.PathLike) else path
        self.purpose = purpose
        self.rules = rules
        self.follow = follow
        self._system = system
        self.names: list[str] = []
        self.name = ""
        self.status: os.stat_result | None = None
        self.made = 0
        self._root_fd = -1
        self._fds: list[int] = []
        self._links = 0

    @property
    def fd(self) -> int:
        """Descriptor of the directory reached."""
        return self._fds[-1] if self._fds else self._root_fd

    @property
    def open_directories(self) -> int:
        """The number of directories below the root that are held open, at most `KEPT_OPEN`."""
        return len(self._fds)

    @property
    def path(self) -> str:
        """The resolved path, relative to the workspace."""
        return plain("/".join([*self.names, self.name] if self.name else self.names)) or "."

    def __enter__(self) -> Self:
        parts = self.root.relative(self.given, file=self.purpose in FILE_PURPOSES)
        self.rules.check(parts, self.purpose, self.given)
        self.rules.check_secret(self._full(parts), self.purpose, self.given)
        with reported(self.given):
            self._root_fd = os.open(self.root.path, _DIRECTORY)
            try:
                self._walk(parts)
                self.rules.check_secret(self._full([*self.names, self.name]), self.purpose, self.given)
            except BaseException:
                self.unmake()
                self._close()
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def check_regular(self) -> None:
        """Refuse anything but a regular file."""
        if self.status is None or not stat.S_ISREG(self.status.st_mode):
            raise self._not_regular(self.status.st_mode if self.status else 0)

    def open_file(self) -> int:
        """Open the file reached for reading; the caller closes it."""
        self.check_regular()
        # O_NONBLOCK: opening a pipe that took its place must not block.
        fd = os.open(self.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=self.fd)
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode):
            os.close(fd)
            raise self._not_regular(mode)
        return fd

    def look_again(self) -> None:
        """Update the entry's status."""
        self.status = os.stat(self.name, dir_fd=self.fd, follow_symlinks=False)

    def open_directory(self) -> int:
        """Open the directory reached for reading its entries or for `fsync`; the caller closes it."""
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self.fd)

    def sync_directory(self) -> None:
        """Make the entries of the directory reached durable, where it can be opened at all."""
        try:
            fd = self.open_directory()
        except PermissionError:
            return  # search permission alone is enough to write a file, not to sync its directory
        try:
            self._system.fsync(fd)
        except OSError as error:
            if error.errno != errno.EINVAL:  # some file systems cannot sync a directory
                raise
        finally:
            os.close(fd)

    def unmake(self) -> None:
        """Remove the directories that this walk has made, as long as they are empty."""
        with suppress(OSError, FourhandsError):
            while self.made:
                name = self.names[-1]
                self._up()
                self.made -= 1
                os.rmdir(name, dir_fd=self.fd)

    def missing(self) -> NoSuchFile:
        """Return the error for a missing entry, with the names that exist beside it."""
        return self._missing(self.name)

    def _not_regular(self, mode: int) -> NotRegular:
        what = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
        hint = "list it instead" if stat.S_ISDIR(mode) else "only regular files are read and written"
        return NotRegular(f"path {shown(self.given)} is {what}", hint=hint, path=self.given)

    def _full(self, parts: Sequence[str]) -> str:
        # With the root in front: a workspace may itself be, say, ~/.aws or ~/.config.
        return "/".join([self.root.path, *parts])

    def _walk(self, parts: Sequence[str]) -> None:
        pending = list(reversed(parts))
        while pending:
            part = pending.pop()
            if part in ("", "."):
                continue
            if part == "..":
                self._up()
                continue
            self.rules.check_part(part, self.purpose, self.given)
            last = not pending and self.purpose is not Purpose.LIST
            target = self._look(part) if last else self._down(part, pending)
            if target is not None:
                self._take_link(target, pending)
        if not self.name:
            self.status = os.fstat(self.fd)

    def _look(self, part: str) -> str | None:
        """End the walk at an entry, or return a link's target."""
        try:
            status = os.stat(part, dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            if self.purpose is not Purpose.WRITE:
                raise self._missing(part) from None
            check_new_name(part, self.given)
            status = None
        if status is not None and stat.S_ISLNK(status.st_mode):
            return self._read_link(part)
        self.name, self.status = part, status
        return None

    def _down(self, part: str, pending: list[str]) -> str | None:
        """Enter a directory (made if it is missing and something is to be written), or return a link's target."""
        try:
            self._enter(part)
        except FileNotFoundError:
            if self.purpose is not Purpose.WRITE or ".." in pending:
                raise self._missing(part) from None
            self._make(part)
        except OSError as error:
            # A link: ENOTDIR on Linux, ELOOP elsewhere. Anything else of that kind is no directory.
            if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                raise
            return self._read_link(part)
        return None

    def _enter(self, part: str) -> None:
        self._fds.append(self._system.open(part, _DIRECTORY, dir_fd=self.fd))
        self.names.append(part)
        if len(self._fds) > KEPT_OPEN:
            os.close(self._fds.pop(0))

    def _make(self, part: str) -> None:
        check_new_name(part, self.given)
        try:
            self._system.mkdir(part, dir_fd=self.fd)
        except FileExistsError:
            self.made = 0  # another process made it just now, so this walk must not remove it
            self._enter_unchanged(part)
            return
        self.sync_directory()
        self._enter_unchanged(part)
        self.made += 1

    def _enter_unchanged(self, part: str) -> None:
        try:
            self._enter(part)
        except OSError as error:
            raise Changed(
                f"the way to {shown(self.given)} changed while it was being followed", hint="try again", path=self.given
            ) from error

    def _up(self) -> None:
        if not self.names:
            raise outside(self.given)
        self.names.pop()
        os.close(self._fds.pop())
        if not self._fds and self.names:
            # The directories above were closed on the way down: go there again, without any link.
            again, self.names = self.names, []
            for name in again:
                self._enter_unchanged(name)

    def _read_link(self, part: str) -> str:
        if not self.follow:
            raise outside(self.given)
        try:
            return os.readlink(part, dir_fd=self.fd)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            raise NotRegular(
                f"path {shown(self.given)} cannot be followed: {shown(part)} is not a directory",
                hint="list the directory above it",
                path=self.given,
            ) from None

    def _take_link(self, target: str, pending: list[str]) -> None:
        self._links += 1
        if self._links > MOST_LINKS:
            raise BadPath(
                f"path {shown(self.given)} has more than {MOST_LINKS} links, or links in a circle",
                hint="name the file itself",
                path=self.given,
            )
        parts = target.split("/")
        if parts[0] == "":
            parts = self.root.below(parts, self.given)
            while self._fds:
                os.close(self._fds.pop())
            self.names.clear()
        pending.extend(reversed(parts))

    def _missing(self, part: str) -> NoSuchFile:
        names: list[str] = []
        with suppress(OSError):
            fd = self.open_directory()
            try:
                with os.scandir(fd) as entries:
                    for entry in entries:
                        if entry.name.isprintable():  # a hint must not contain escape sequences
                            names.append(entry.name)
                        if len(names) >= _NAMES_READ:
                            break
            finally:
                os.close(fd)
        names.sort()
        where = "/".join(self.names) or "the workspace"
        there = ", ".join(names[:20]) or "nothing"
        more = f" and {len(names) - 20} more" if len(names) > 20 else ""
        near = get_close_matches(part, names, n=1)
        guess = f"did you mean {'/'.join([*self.names, near[0]])!r}? " if near else ""
        return NoSuchFile(
            f"no file or directory {shown(self.given)}", hint=f"{guess}in {where}: {there}{more}", path=self.given
        )

    def _close(self) -> None:
        while self._fds:
            os.close(self._fds.pop())
        if self._root_fd >= 0:
            os.close(self._root_fd)
            self._root_fd = -1


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]
