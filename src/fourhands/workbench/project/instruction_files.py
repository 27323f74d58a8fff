"""The files that tell agents how to work on a project: `AGENTS.md`, and `CLAUDE.md` where a directory has no other.

For a directory those count that lie on the way to it from the workspace's root: the workspace's own first, the nearest
last. Before them stands the person's own, from beside their settings. Nothing outside of these two places is read, and
what a file names with `@` is not followed. The functions block: the event loop calls them in a thread.
"""

import os
from collections.abc import Iterator

from msgspec import Struct, structs

from fourhands.core.errors import FourhandsError
from fourhands.core.text import one_line
from fourhands.safety.paths.errors import NoSuchFile
from fourhands.workbench.files.encoding import decoded
from fourhands.workbench.files.workspace import Workspace

NAMES = ("AGENTS.md", "CLAUDE.md")
"""The first of them that a directory has counts."""

MOST_BYTES = 64 * 1024
"""So much of one file is read."""

MOST_DEEP = 32
"""Directories on the way to the nearest file that are looked into."""

OWN = "your settings"


class InstructionFile(Struct, frozen=True, kw_only=True, rename="camel"):
    """One file of instructions as it is now.

    `problem` is there, and no text, where the file cannot be read; `size` is that of the whole, in bytes.
    """

    path: str
    text: str = ""
    size: int = 0
    own: bool = False
    problem: str = ""

    @property
    def shown(self) -> str:
        """The name by which agents and people are told of it."""
        return f"{self.path} of {OWN}" if self.own else self.path

    @property
    def cut(self) -> bool:
        """True if the file is larger than what was read of it."""
        return self.size > MOST_BYTES


def instruction_files(files: Workspace, directory: str = ".", own: str = "") -> list[InstructionFile]:
    """Return the files that count in a directory, given as a path from the workspace, in the order of their weight.

    `own` is the person's directory. A file there may be a link to where they keep it.
    """
    found = list(_own(own)) if own else []
    for place in _way(directory):
        found += _of(files, place)
    return found


def _own(directory: str) -> Iterator[InstructionFile]:
    for name in NAMES:
        path = os.path.realpath(os.path.join(directory, name))
        if os.path.isfile(path):
            yield from _read(
                Workspace(os.path.dirname(path)), os.path.basename(path), InstructionFile(path=name, own=True)
            )
            return


def _way(directory: str) -> Iterator[str]:
    """Yield the workspace and the directories below it on the way to one; none for a path that leads out."""
    parts = [part for part in directory.split("/") if part not in ("", ".")]
    yield "."
    if directory.startswith(("/", "~")) or ".." in parts:
        return
    for count in range(1, min(len(parts), MOST_DEEP) + 1):
        yield "/".join(parts[:count])


def is_there(files: Workspace, path: str) -> bool:
    """Return False for what is surely not there, which costs less than an error that lists what is."""
    return os.path.lexists(os.path.join(files.root, path))


def _of(files: Workspace, directory: str) -> Iterator[InstructionFile]:
    for name in NAMES:
        path = name if directory == "." else f"{directory}/{name}"
        if is_there(files, path) and not os.path.isdir(os.path.join(files.root, path)):
            yield from _read(files, path, InstructionFile(path=path))
            return


def _read(files: Workspace, path: str, found: InstructionFile) -> Iterator[InstructionFile]:
    """Yield a file with its text, or with what is wrong with it; nothing if it is empty or has gone."""
    try:
        size = files.stat(path).size
        text = decoded(files.read(path, limit=MOST_BYTES), path=path, version="")
    except NoSuchFile:
        return
    except FourhandsError as error:
        yield structs.replace(found, problem=one_line(error.message, 200))
        return
    if text.binary:
        yield structs.replace(found, size=size, problem="it is no text")
    elif text.text.strip():
        yield structs.replace(found, size=size, text=text.text)
