"""Memory that other programs of the same user cannot read: no core file, no ptrace, no `/proc/PID/mem`.

The server has signed-in browsers in memory, and the host the key that seals them. Programs that are executed from here
are as open as ever: the mark does not outlive `execve`.
"""

import ctypes
import os
import sys

DEBUG = "FOURHANDS_DEBUG"
"""The variable with which developers leave both open to debuggers and profilers."""

_PR_SET_DUMPABLE = 4


def close_memory() -> bool:
    """Close this process's memory to other programs; False where the system cannot, or a developer asked not to."""
    if os.environ.get(DEBUG) or not sys.platform.startswith("linux"):
        return False
    return bool(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
