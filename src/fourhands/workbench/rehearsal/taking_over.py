"""The way of a rehearsal's difference to the workspace: each path only where it is still as the rehearsal found it.

Whatever else is there is a conflict, and stays. No link is followed and nothing outside of the workspace is reached:
every step is the one by which checkpoints are put back (`checkpoints/tree.py`).
"""

import os
from dataclasses import dataclass, field

from fourhands.core.errors import Conflict
from fourhands.workbench.checkpoints.git import blob_name
from fourhands.workbench.checkpoints.tree import LINK, EntryChanged, exchange, look, parent, remove_empty
from fourhands.workbench.rehearsal.difference import PathChange, TreeDifference


@dataclass(slots=True)
class TakenOver:
    """The outcome: the paths that were written, and those that were left, each with the reason."""

    done: list[bytes] = field(default_factory=list)
    left: list[tuple[bytes, str]] = field(default_factory=list)


def take_over(root: str, upper: str, difference: TreeDifference) -> TakenOver:
    """Write a difference to the workspace. Blocking. Deletes first, so that a directory can become a file."""
    outcome = TakenOver()
    for change in sorted(difference.changes, key=lambda one: one.path, reverse=True):
        if change.new is None:
            _put(root, change, b"", outcome)
    for directory in sorted(difference.gone, reverse=True):
        remove_empty(root, directory)
    for directory in sorted(difference.made):
        _make(root, directory, outcome)
    for change in sorted(difference.changes, key=lambda one: one.path):
        if change.new is not None:
            content = b"" if change.clash else _content(upper, change)
            if content is None:
                outcome.left.append((change.path, "what the rehearsal wrote is no longer there"))
            else:
                _put(root, change, content, outcome)
    return outcome


def _make(root: str, directory: bytes, outcome: TakenOver) -> None:
    try:
        with parent(root, directory) as (fd, last):
            os.mkdir(last, dir_fd=fd)
    except FileExistsError:
        there = look(root, directory)
        if there is not None and there.mode != "other":
            outcome.left.append((directory, "something else is there"))
    except (OSError, EntryChanged) as error:
        outcome.left.append((directory, getattr(error, "strerror", "") or "it cannot be made"))


def _put(root: str, change: PathChange, content: bytes, outcome: TakenOver) -> None:
    if change.clash:
        outcome.left.append((change.path, change.clash))
        return
    try:
        exchange(root, change.path, change.old, change.new, content)
    except Conflict as error:
        outcome.left.append((change.path, error.message.partition(": ")[2] or error.message))
    else:
        outcome.done.append(change.path)


def _content(upper: str, change: PathChange) -> bytes | None:
    """Return what the rehearsal wrote to a path, if that is still what was shown."""
    assert change.new is not None
    try:
        with parent(upper, change.path) as (fd, last):
            if change.new.mode == LINK:
                content = os.readlink(last, dir_fd=fd)
            else:
                file = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
                with os.fdopen(file, "rb") as stream:
                    content = stream.read(change.new_size + 1)
    except OSError:
        return None
    return content if blob_name(content) == change.new.name else None
