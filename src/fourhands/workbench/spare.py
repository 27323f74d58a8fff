"""Whose spare shell it is: a mark by which others on the same host tell one that is still wanted from an orphan."""

import os

from fourhands.core.ids import ulid
from fourhands.host import tree

_wanted: set[str] = set()


def new_mark() -> str:
    """A mark for the spare shells of one user of a host, in this process; good until `drop`."""
    mark = f"{os.getpid()}:{_started(os.getpid())}:{ulid()}"
    _wanted.add(mark)
    return mark


def drop(mark: str) -> None:
    """Nobody here wants the spare shells of this mark any more."""
    _wanted.discard(mark)


def is_orphan(mark: object) -> bool:
    """Whether nobody is left who would use a spare shell with this mark."""
    match str(mark).split(":"):
        case [pid, started, _] if pid.isdecimal():
            if int(pid) == os.getpid() and started == str(_started(os.getpid())):
                return mark not in _wanted
            return str(_started(int(pid))) != started
    return True


def _started(pid: int) -> int | None:
    """When a process began, in a form that its number's next bearer does not share; None where it is gone."""
    if tree.HAVE_PROC:
        process = tree.look(pid)
        return process.started if process is not None and process.state not in "ZX" else None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass  # somebody else's, but alive
    return 0
