"""Sees which files are opened, and which directories listed, by the thread of the event loop."""

import contextlib
import inspect
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

OURS = str(Path(__file__).parents[2] / "src" / "fourhands")
WATCHED = {"open", "os.listdir", "os.scandir"}

_watching: dict[int, dict[str, set[str]]] = {}
_hooked = False


@contextlib.contextmanager
def opened_on_this_thread() -> Iterator[dict[str, set[str]]]:
    """By function of ours, such as `workbench/files/workspace.py:_read`: the files that it opened here.

    What the kernel says of processes (`/proc`) is no file that anybody could have to wait for.
    """
    global _hooked
    if not _hooked:  # once for the process: an audit hook cannot be taken out again
        sys.addaudithook(_hear)
        _hooked = True
    found: dict[str, set[str]] = {}
    _watching[threading.get_ident()] = found
    try:
        yield found
    finally:
        del _watching[threading.get_ident()]


def _hear(event: str, args: tuple[object, ...]) -> None:
    if event not in WATCHED or not _watching or f"{args[0]}/".startswith("/proc/"):
        return
    found = _watching.get(threading.get_ident())
    if found is None:
        return
    frame: FrameType | None = inspect.currentframe()
    while frame is not None:
        code = frame.f_code
        if "importlib" in code.co_filename or code.co_name in ("_find_and_load", "get_data"):
            return  # an import, once
        if code.co_filename.startswith(OURS):
            place = f"{code.co_filename.removeprefix(OURS)[1:]}:{code.co_name}"
            found.setdefault(place, set()).add(str(args[0]))
            return
        frame = frame.f_back
