"""Ids that sort by the time they were made: ULIDs, strictly rising within one process.

26 characters of Crockford's base 32: 48 bits of milliseconds, then 80 random bits. Two ids of one millisecond
differ by one in the random part, and a clock that is set back never makes an id smaller than the one before.
"""

import os
import re
import threading
import time

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [high + low for high in _ALPHABET for low in _ALPHABET]
_SHIFTS = range(120, -1, -10)
_RANDOM_BITS = 80
_FORM = re.compile(f"[a-z]+_[{_ALPHABET}]{{26}}")

_lock = threading.Lock()
_last = 0


def ulid() -> str:
    """Return a new ULID, greater than every one returned before."""
    global _last
    fresh = time.time_ns() // 1_000_000 << _RANDOM_BITS | int.from_bytes(os.urandom(_RANDOM_BITS // 8), "big")
    with _lock:
        if fresh >> _RANDOM_BITS <= _last >> _RANDOM_BITS:
            fresh = _last + 1  # a carry out of the random part only borrows a millisecond of the future
        _last = fresh
    return "".join([_PAIRS[fresh >> shift & 1023] for shift in _SHIFTS])


def new_id(prefix: str) -> str:
    """Return an id like `term_01J…`."""
    return f"{prefix}_{ulid()}"


def is_id(text: str) -> bool:
    """Whether a text has the form of an id, of anything; a name of this form would be taken for one."""
    return _FORM.fullmatch(text) is not None
