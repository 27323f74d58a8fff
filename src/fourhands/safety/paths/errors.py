"""What can be wrong with a path: errors that name it as it was given and tell nothing about what lies outside."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from fourhands.core.errors import BadArgument, Conflict, Denied, FourhandsError, LimitReached, NotFound, Unavailable

IN_PIECES = 'write a large file in pieces: openspace.file.write with "append": true; change it by openspace.file.edit'
"""What to do where a message is too large to be taken."""


class BadPath(BadArgument):
    """A path is not written in a form that is accepted, or has too many links."""

    code = "bad-path"


class OutsideWorkspace(Denied):
    """A path leads out of the workspace, or would on its way."""

    code = "outside-workspace"


class DeniedPath(Denied):
    """A path names something that is closed to agents: git's own files, packages, secrets."""

    code = "denied-path"


class NotRegular(BadArgument):
    """A path names a directory, pipe, device or socket where a file is needed, or the other way round."""

    code = "not-regular"


class FileTooLarge(LimitReached):
    """A file, directory or text is larger than the limit for one call."""

    code = "too-large"


class NoSpace(LimitReached, OSError):
    """The disk, the quota or the largest file size is used up; the old file is whole."""

    code = "no-space"


class Changed(Conflict):
    """A directory on the way was moved or replaced while the path was being followed."""

    code = "changed"


class NoSuchFile(NotFound, FileNotFoundError):
    """Nothing is there under that path; the hint lists what is."""

    code = "not-found"


def shown(path: object) -> str:
    """Give a path as it may stand in a message: quoted, escaped, and short however long it is."""
    text = repr(path)
    return text if len(text) <= 200 else f"{text[:120]}...{text[-60:]}"


def outside(path: str) -> OutsideWorkspace:
    """Say that a path leads out, and nothing about where to."""
    return OutsideWorkspace(
        f"path {shown(path)} leads outside the workspace",
        hint="only files below the workspace can be used; '.' is the workspace itself",
        path=path,
    )


@contextmanager
def reported(path: str) -> Iterator[None]:
    """Turn what the system says about a path into one of our errors, which name the path as it was given."""
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
            return Denied(
                about, hint="the system refuses it: see the permissions of the file and its directory", path=path
            )
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            return NoSpace(about, hint="nothing was changed; make room and try again", path=path)
        case errno.ENAMETOOLONG | errno.EILSEQ:
            return BadPath(about, hint="the file system does not take this name", path=path)
        case errno.EISDIR | errno.ENOTDIR | errno.ENXIO | errno.ELOOP:
            return NotRegular(about, hint="it is not what it was a moment ago, or not a file", path=path)
        case errno.ENOENT | errno.ESTALE:
            return NoSuchFile(about, hint="it went away meanwhile; list the directory above it", path=path)
    return Unavailable(about, hint="the system could not do it", path=path)
