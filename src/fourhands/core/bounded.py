"""A dictionary with a bound: the oldest entries make room for new ones."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, MutableMapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class BoundedDict(MutableMapping[K, V]):
    """A mapping in order of age. Setting a key makes it the newest; reading it does not.

    `limit` bounds the number of entries or, with `size`, the sum of their sizes; `most` then bounds their number too.
    The newest entry always stays, whatever its size. `on_evict` is called with each entry that had to go for lack of
    room, after it has gone; not for one that was deleted or replaced.
    """

    def __init__(
        self,
        limit: int,
        on_evict: Callable[[K, V], None] | None = None,
        *,
        size: Callable[[K, V], int] | None = None,
        most: int | None = None,
    ) -> None:
        if limit < 1 or (most is not None and most < 1):
            raise ValueError(f"a bound must be at least 1, not {limit} and {most}")
        self._limit = limit
        self._most = most
        self._size = size
        self._on_evict = on_evict
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._total = 0

    @property
    def total(self) -> int:
        """The sum of all sizes; without `size`, the number of entries."""
        return self._total

    def touch(self, key: K) -> None:
        """Make an entry the newest. Raises `KeyError`."""
        self._entries.move_to_end(key)

    def __getitem__(self, key: K) -> V:
        return self._entries[key][0]

    def __setitem__(self, key: K, value: V) -> None:
        size = 1 if self._size is None else self._size(key, value)
        if key in self._entries:
            del self[key]
        self._entries[key] = value, size
        self._total += size
        while len(self._entries) > 1 and self._is_too_much():
            oldest, (gone, its_size) = self._entries.popitem(last=False)
            self._total -= its_size
            if self._on_evict is not None:
                self._on_evict(oldest, gone)

    def __delitem__(self, key: K) -> None:
        self._total -= self._entries.pop(key)[1]

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[K]:
        return iter(self._entries)

    def __reversed__(self) -> Iterator[K]:
        return reversed(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self)!r})"

    def _is_too_much(self) -> bool:
        return self._total > self._limit or (self._most is not None and len(self._entries) > self._most)
