"""A rest for the garbage collector, where much is made and nothing thrown away: it would look at all of it in vain."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Suspend the garbage collector for the length of this block, in all threads."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Suspend it for a block that loads modules: they stay, so it need not look at them later either.

    For a process that has just begun; in one that has lived, it would keep what is garbage by now.
    """
    with uncollected():
        yield
        gc.freeze()
