"""The workspace's files, as an agent or a person may see and change them.

Every method follows its path with a `PathWalk`, so that nothing outside the workspace is read or written whatever is
swapped meanwhile. The methods block: the event loop calls them in a thread. They may run side by side.
"""

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

from msgspec import Struct

from fourhands.core.errors import BadArgument
from fourhands.safety.paths.errors import FileTooLarge, NoSuchFile, reported, shown
from fourhands.safety.paths.policy import TEMPORARY, PathPolicy, Purpose, plain
from fourhands.safety.paths.walk import PathWalk, Root
from fourhands.safety.redaction.file_names import SecretNames
from fourhands.workbench.files.encoding import FileText, decoded, encoded
from fourhands.workbench.files.excerpt import PIECES_BYTES, FilePiece, read_bytes, read_lines
from fourhands.workbench.files.replacement import (
    ABSENT,
    CHUNK,
    REPLACING,
    FileSystem,
    Written,
    check_version,
    current_version,
    opened,
    replace_content,
    version_of,
)
from fourhands.workbench.files.ripgrep import Ripgrep
from fourhands.workbench.files.search import FileSearch, FileSearchResult, SearchLimits


class FileSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """Limits of file commands, and changes to the list of secret names."""

    read_limit_bytes: int = 10 * 1024 * 1024
    pieces_limit_bytes: int = PIECES_BYTES
    write_limit_bytes: int = 64 * 1024 * 1024
    list_limit: int = 20_000
    search_limit_bytes: int = 4 * 1024 * 1024
    search_timeout_seconds: float = 10.0
    secret_names_extra: tuple[str, ...] = ()
    secret_names_removed: tuple[str, ...] = ()


class DirectoryEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    """One name in a directory. A link is shown as a link, never followed; `modified` is in seconds since 1970."""

    name: str
    path: str
    kind: Literal["file", "directory", "link", "other"]
    size: int
    modified: float


class Workspace:
    """A directory and what lies below it: an agent's view, or with `person` one without the deny-lists.

    Paths are relative to the root, or absolute and inside it. The confinement holds for both.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        person: bool = False,
        settings: FileSettings | None = None,
        system: FileSystem = os,
        ripgrep: Ripgrep | None = None,
    ) -> None:
        self.settings = settings or FileSettings()
        self.person = person
        self._system = system
        self._ripgrep = ripgrep or Ripgrep()
        self._root = Root(root)
        extra, removed = self.settings.secret_names_extra, self.settings.secret_names_removed
        names = SecretNames(extra=extra, removed=removed) if extra or removed else None
        self._rules = PathPolicy(open=person, secret_names=names)

    @property
    def root(self) -> str:
        """The resolved path of the workspace's directory."""
        return self._root.path

    def read(self, path: str, *, offset: int = 0, limit: int | None = None) -> bytes:
        """Read a file, or `limit` bytes of it from `offset`; less if it ends before."""
        _check_count("offset", offset)
        if limit is not None:
            _check_count("limit", limit)
        with self._descent(path, Purpose.READ) as place, reported(path):
            return self._read(place, offset, limit)

    def read_text(self, path: str) -> FileText:
        """Read a whole file as text, with its version and encoding; the text of a binary file is None."""
        with self._descent(path, Purpose.READ) as place, reported(path):
            data = self._read(place, 0, None)
            return decoded(data, path=place.path, version=version_of(data))

    def read_lines(self, path: str, first: int, last: int | None) -> FilePiece:
        """Read some lines of a file of any size, with the version of the whole; only the lines are kept in memory."""
        with self._descent(path, Purpose.READ) as place, reported(path), opened(place) as fd:
            _check_size(fd, place.given, self.settings.pieces_limit_bytes)
            return read_lines(fd, place.path, place.given, first, last, self.settings.read_limit_bytes)

    def read_piece(self, path: str, offset: int, limit: int) -> FilePiece:
        """Read some bytes of a file of any size, as text where they are, with the version of the whole."""
        most = self.settings.read_limit_bytes
        if limit > most:
            raise FileTooLarge(f"{limit} bytes are too many: at most {most} are read at once", hint=f"limit {most}")
        with self._descent(path, Purpose.READ) as place, reported(path), opened(place) as fd:
            _check_size(fd, place.given, self.settings.pieces_limit_bytes)
            return read_bytes(fd, place.path, place.given, offset, limit)

    def held(self, path: str) -> bytes | None:
        """Return the content of a file that is about to be changed, up to the size that may be written.

        None: there is no file.
        """
        most = self.settings.write_limit_bytes
        try:
            with self._descent(path, Purpose.READ) as place, reported(path), opened(place) as fd:
                size = os.fstat(fd).st_size
                if size <= most and len(data := self._read_up_to(fd, 0, most + 1)) <= most:
                    return data
                raise FileTooLarge(
                    f"file {shown(path)} has {size} bytes; one of at most {most} is changed, so that it can be undone",
                    hint="let a program in a terminal change it",
                    path=path,
                )
        except NoSuchFile:
            return None

    def version(self, path: str) -> str:
        """Return the version of a file's content, whatever its size; `ABSENT` if there is no such file."""
        try:
            with self._descent(path, Purpose.READ) as place, reported(path):
                return current_version(place)
        except NoSuchFile:
            return ABSENT

    def write(self, path: str, data: bytes, *, expected_version: str | None = None) -> Written:
        """Replace a file's content, or create it with the directories that are missing: wholly or not at all.

        With `expected_version`, only if that is still what is there; `ABSENT` means that nothing may be there.
        """
        return self._write(path, data, expected_version, keep=0)

    def splice(
        self, path: str, data: bytes, *, keep: int | None = None, expected_version: str | None = None
    ) -> Written:
        """Keep the first bytes of a file (None: all) and put `data` behind them: wholly or not at all, as `write`."""
        return self._write(path, data, expected_version, keep=keep)

    def _write(self, path: str, data: bytes, expected: str | None, *, keep: int | None) -> Written:
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise BadArgument(f"content must be bytes, not {type(data).__name__}", hint="write_text takes text")
        if expected is not None and not isinstance(expected, str):
            raise BadArgument(f"expected version must be text, not {shown(expected)}")
        data = bytes(data)
        with self._descent(path, Purpose.WRITE) as place, reported(path):
            try:
                size = 0 if place.status is None else place.status.st_size
                self._check_fits(path, len(data) + (size if keep is None else min(keep, size)))
                return replace_content(place, data, expected, keep, self._system)
            except BaseException:
                place.unmake()
                raise

    def _check_fits(self, path: str, size: int) -> None:
        most = self.settings.write_limit_bytes
        if size > most:
            raise FileTooLarge(
                f"{size} bytes for {shown(path)} are too many: a file of at most {most} is written",
                hint="let a program in a terminal write it",
                path=path,
            )

    def write_text(
        self, path: str, text: str, *, encoding: str = "utf-8", expected_version: str | None = None
    ) -> Written:
        """Write text in an encoding that `read_text` has named, so that a saved file stays what it was."""
        return self.write(path, encoded(text, encoding), expected_version=expected_version)

    def remove(self, path: str, *, expected_version: str | None = None) -> None:
        """Remove a file, with `expected_version` only if that is still what is there: undoes its creation."""
        with self._descent(path, Purpose.REMOVE) as place, reported(path):
            place.check_regular()
            with REPLACING:
                check_version(place, expected_version)
                self._system.unlink(place.name, dir_fd=place.fd)
            place.sync_directory()

    def list(self, path: str = ".") -> list[DirectoryEntry]:
        """List a directory: directories first, then the rest, by name."""
        with self._descent(path, Purpose.LIST) as place, reported(path):
            fd = place.open_directory()
            entries: list[DirectoryEntry] = []
            try:
                with self._system.scandir(fd) as found:
                    for item in found:
                        if TEMPORARY.match(item.name):
                            continue
                        if len(entries) >= self.settings.list_limit:
                            raise FileTooLarge(
                                f"directory {shown(path)} has more than {self.settings.list_limit} entries",
                                hint="search with an include pattern",
                                path=path,
                            )
                        with suppress(FileNotFoundError):  # gone since it was named
                            entries.append(_entry(place.names, item.name, item.stat(follow_symlinks=False)))
            finally:
                os.close(fd)
        entries.sort(key=lambda entry: (entry.kind != "directory", entry.name.casefold(), entry.name))
        return entries

    def stat(self, path: str) -> DirectoryEntry:
        """Return what a path is, links followed; its `path` is the resolved one, the same for all spellings."""
        with self._descent(path, Purpose.LOOK) as place:
            if place.status is None:
                raise place.missing()
            return _entry(place.names, place.name, place.status)

    def search(
        self,
        query: str,
        include: str | Sequence[str] | None = None,
        exclude: str | Sequence[str] | None = None,
        limit: int = 500,
        *,
        path: str = ".",
        regex: bool = False,
    ) -> FileSearchResult:
        """Find files by name (fuzzy, best first) and by text, below `path`; what .gitignore names is left out.

        Capital letters count only if the query has some. A query with `*` or `?` is also taken as a pattern for names.
        """
        limits = SearchLimits(
            results=limit,
            file_bytes=self.settings.search_limit_bytes,
            timeout_s=self.settings.search_timeout_seconds,
        )
        with self._descent(path, Purpose.LIST) as place:
            below = place.names
        return FileSearch(self._root, self._rules, limits, self._ripgrep).run(
            query, include, exclude, below=below, regex=regex
        )

    def _descent(self, path: str, purpose: Purpose) -> PathWalk:
        return PathWalk(self._root, path, purpose, self._rules, system=self._system)

    def _read(self, place: PathWalk, offset: int, limit: int | None) -> bytes:
        most = self.settings.read_limit_bytes
        fd = place.open_file()
        try:
            size = os.fstat(fd).st_size
            data = b""
            if (size - offset if limit is None else limit) <= most:
                data = self._read_up_to(fd, offset, most + 1 if limit is None else limit)
                if len(data) <= most:
                    return data
            raise self._too_large(place, max(size, offset + len(data)))  # the latter if it has just grown
        finally:
            os.close(fd)

    def _read_up_to(self, fd: int, offset: int, wanted: int) -> bytes:
        pieces: list[bytes] = []
        while wanted > 0:
            piece = self._system.pread(fd, min(wanted, CHUNK), offset)
            if not piece:
                break
            pieces.append(piece)
            offset += len(piece)
            wanted -= len(piece)
        return b"".join(pieces)

    def _too_large(self, place: PathWalk, size: int) -> FileTooLarge:
        most = self.settings.read_limit_bytes
        return FileTooLarge(
            f"file {shown(place.given)} has {size} bytes; at most {most} are read at once",
            hint="read it in pieces: by lines with startLine and endLine, or by bytes with offset and limit",
            path=place.given,
            size=size,
            limit=most,
        )


def _entry(names: Sequence[str], name: str, status: os.stat_result) -> DirectoryEntry:
    mode = status.st_mode
    kind: Literal["file", "directory", "link", "other"] = (
        "file"
        if stat.S_ISREG(mode)
        else "directory"
        if stat.S_ISDIR(mode)
        else "link"
        if stat.S_ISLNK(mode)
        else "other"
    )
    path = "/".join([*names, name] if name else names) or "."
    return DirectoryEntry(
        name=plain(name or (names[-1] if names else ".")),
        path=plain(path),
        kind=kind,
        size=status.st_size,
        modified=status.st_mtime,
    )


def _check_size(fd: int, given: str, most: int) -> None:
    size = os.fstat(fd).st_size
    if size > most:
        raise FileTooLarge(
            f"file {shown(given)} has {size} bytes; files of up to {most} are read in pieces",
            hint="use a program in a terminal to look into it, such as head, tail or grep",
            path=given,
            size=size,
            limit=most,
        )


def _check_count(kind: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadArgument(f"{kind} must be a number of bytes from 0 on, not {shown(value)}")
