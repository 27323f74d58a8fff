"""Ids that sort by the time they were made: ULIDs, strictly rising within one process.

26 characters of Crockford's base 32: 48 bits of milliseconds, then 80 random bits. Two ids of one millisecond
differ by one in the random part, and a clock that is set back never makes an id smaller than the one before.
"""

import os
import re
import threading
import time
from collections.abc import Callable, Iterable

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [high + low for high in _ALPHABET for low in _ALPHABET]
_SHIFTS = range(120, -1, -10)
_RANDOM_BITS = 80
_SHORT = 4
_FORM = re.compile(f"[a-z]+_[{_ALPHABET}]{{26}}|term_[{_ALPHABET}]{{{_SHORT}}}")


class IdSource:
    """Makes ULIDs, each greater than the one before; used by any thread. `now_ns` is the clock."""

    def __init__(self, now_ns: Callable[[], int] = time.time_ns) -> None:
        self._now_ns = now_ns
        self._lock = threading.Lock()
        self._last = 0

    def ulid(self) -> str:
        """Return a new ULID."""
        fresh = self._now_ns() // 1_000_000 << _RANDOM_BITS | int.from_bytes(os.urandom(_RANDOM_BITS // 8), "big")
        with self._lock:
            if fresh >> _RANDOM_BITS <= self._last >> _RANDOM_BITS:
                fresh = self._last + 1  # a carry out of the random part only borrows a millisecond of the future
            self._last = fresh
        return "".join([_PAIRS[fresh >> shift & 1023] for shift in _SHIFTS])


_IDS = IdSource()  # one for the process, since its ids are compared with each other


def ulid() -> str:
    """Return a new ULID, greater than every one that this process made before."""
    return _IDS.ulid()


def new_id(prefix: str, besides: Iterable[str] = ()) -> str:
    """Return an id like `term_01J…`, whose short form none of `besides` has."""
    taken = {short_id(one) for one in besides}
    while short_id(made := f"{prefix}_{ulid()}") in taken:
        pass  # the next one ends otherwise
    return made


def short_id(id: str) -> str:
    """Return the form of an id that a model is told, since a whole one costs it 17 tokens each time: `term_7Q3F`."""
    prefix, _, rest = id.partition("_")
    return f"{prefix}_{rest[-_SHORT:]}"


def is_id(text: str) -> bool:
    """Return True if a text has the form of an id, or the short form of a terminal's; a name would be taken for one."""
    return _FORM.fullmatch(text) is not None
