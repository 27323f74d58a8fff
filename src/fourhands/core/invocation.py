"""The word that calls this program in a shell: `fourhands` where the search path leads to it, else its path."""

import os
import shlex
import shutil
import sys

NAME = "fourhands"


def typed(directory: str | None = None, *, started: str | None = None, python: str | None = None) -> str:
    """Return the word for a shell in this directory (default: the current one).

    `started` is the path by which the program was started and `python` the one that runs it (default: this process).
    """
    started, python = started or sys.argv[0], python or sys.executable
    found = _script(started, python)
    if found is None:
        return f"{shlex.quote(python)} -m {NAME}"
    known = shutil.which(NAME)
    if known is not None and os.path.samefile(known, found):
        return NAME
    # Not realpath: an environment's python is a link to one that knows nothing of us.
    near = os.path.relpath(found, os.path.realpath(directory or "."))
    return shlex.quote(found if near.startswith(os.pardir) else near)


def _script(started: str, python: str) -> str | None:
    """Return the path of the program's script: the one that was started, or the one beside its Python."""
    beside = os.path.join(os.path.dirname(python), NAME)
    for path in (started, beside):
        if os.path.basename(path) == NAME and os.path.isfile(path):
            return os.path.join(os.path.realpath(os.path.dirname(path)), NAME)
    return None
