"""What somebody types to call this program: `fourhands` where the search path leads to it, else its path."""

import os
import shlex
import shutil
import sys

NAME = "fourhands"


def typed(directory: str | None = None) -> str:
    """The word for a shell in this directory (default: where this process is)."""
    found = _file()
    if found is None:
        return f"{shlex.quote(sys.executable)} -m {NAME}"
    known = shutil.which(NAME)
    if known is not None and os.path.samefile(known, found):
        return NAME
    # Not realpath: an environment's python is a link to one that knows nothing of us.
    near = os.path.relpath(found, os.path.realpath(directory or "."))
    return shlex.quote(found if near.startswith(os.pardir) else near)


def _file() -> str | None:
    """Our script: the one that was started, or the one beside the Python that runs."""
    beside = os.path.join(os.path.dirname(sys.executable), NAME)
    for path in (sys.argv[0], beside):
        if os.path.basename(path) == NAME and os.path.isfile(path):
            return os.path.join(os.path.realpath(os.path.dirname(path)), NAME)
    return None
