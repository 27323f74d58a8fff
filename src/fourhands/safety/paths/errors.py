"""Errors about a path: they name it as it was given, and reveal nothing about what lies outside the workspace."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from fourhands.core.errors import BadArgument, Conflict, Denied, FourhandsError, LimitReached, NotFound, Unavailable

IN_PIECES = 'write a large file in pieces: openspace.file.write with "append": true; change it by openspace.file.edit'
"""The hint for a message that is too large."""


class BadPath(BadArgument):
    """A path whose form is not accepted, or with too many links."""

    code = "bad-path"


class OutsideWorkspace(Denied):
    """A path that leaves the workspace, at its end or on the way."""

    code = "outside-workspace"


class DeniedPath(Denied):
    """A path that agents may not use: git's own files, packages, secrets."""

    code = "denied-path"


class NotRegular(BadArgument):
    """A path of a directory, pipe, device or socket where a file is needed, or of a file where a directory is."""

    code = "not-regular"


class FileTooLarge(LimitReached):
    """A file, directory or text above the limit for one call."""

    code = "too-large"


class NoSpace(LimitReached, OSError):
    """A full disk, quota or largest file size; the old file is whole."""

    code = "no-space"


class Changed(Conflict):
    """A directory on the way that was moved or replaced while the path was being followed."""

    code = "changed"


class NoSuchFile(NotFound, FileNotFoundError):
    """A path at which nothing exists; the hint lists what does."""

    code = "not-found"


def shown(path: object) -> str:
    """Return a path for a message: quoted, escaped and shortened."""
    text = repr(path)
    return text if len(text) <= 200 else f"{text[:120]}...{text[-60:]}"


def outside(path: str) -> OutsideWorkspace:
    """Return the error for a path that leaves the workspace; its target is not named."""
    return OutsideWorkspace(
        f"path {shown(path)} is outside the workspace",
        hint="use a path inside the workspace; '.' is the workspace itself",
        path=path,
    )


@contextmanager
def reported(path: str) -> Iterator[None]:
    """Turn an `OSError` into an error that names the path as it was given."""
    try:
        yield
    except FourhandsError:
        raise
    except OSError as error:
        raise _translated(error, path) from error


def _translated(error: OSError, path: str) -> FourhandsError:
    reason = error.strerror or type(error).__name__
    about = f"path {shown(path)}: {reason}"
    match error.errno:
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return Denied(about, hint="check the permissions of the file and its directory", path=path)
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            return NoSpace(about, hint="nothing was changed; free space and try again", path=path)
        case errno.ENAMETOOLONG | errno.EILSEQ:
            return BadPath(about, hint="choose a name that the file system accepts", path=path)
        case errno.EISDIR | errno.ENOTDIR | errno.ENXIO | errno.ELOOP:
            return NotRegular(about, hint="the file changed type, or is not a regular file", path=path)
        case errno.ENOENT | errno.ESTALE:
            return NoSuchFile(about, hint="the file was deleted; list its directory", path=path)
    return Unavailable(about, hint="try again; the file system reported this error", path=path)
