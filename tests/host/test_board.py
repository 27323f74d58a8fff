"""The wake-up protocol: its order is a contract, and each step out of order would lose a wake-up.

The bytes of the page are written out here: 0 is pending, 64 + slot is dirty, 64 + 16384 + slot is watched.
"""

import mmap
import os
import select
from collections.abc import Callable, Iterator

import pytest

from fourhands.host.board import BoardReader, BoardSlots, BoardWriter

PENDING, DIRTY, WATCHED = 0, 64, 64 + 16384
SLOT = 5


class Page(mmap.mmap):
    """A page that tells of each byte that is set, before it is set."""

    told: Callable[[int, int], None]

    def __setitem__(self, index: int, value: int) -> None:  # type: ignore[override]
        self.told(index, value)
        super().__setitem__(index, value)


class Pair:
    """Both ends of a board in one process, so that a test can let one act in the middle of the other's work."""

    def __init__(self) -> None:
        self.written: list[tuple[str, int, int]] = []
        self.on_write: Callable[[str, int, int], None] = lambda side, index, value: None
        self.later: list[Callable[[], None]] = []
        self.called: list[int] = []
        self.writer = BoardWriter(self._page("host"))
        self.reader = BoardReader(
            os.dup(self.writer.fd), os.dup(self.writer.wake_there), self.later.append, self._page("client")
        )

    def _page(self, side: str) -> Callable[[int, int], mmap.mmap]:
        def told(index: int, value: int) -> None:
            self.written.append((side, index, value))
            self.on_write(side, index, value)

        def mapped(fd: int, size: int) -> mmap.mmap:
            page = Page(fd, size)
            page.told = told
            return page

        return mapped

    def awake(self) -> bool:
        """Return True if a wake-up waits to be taken."""
        return bool(select.select([self.reader.wake_fd], [], [], 0)[0])

    def close(self) -> None:
        self.reader.close()
        self.writer.close()


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair()
    yield made
    made.close()


def test_the_host_sets_dirty_then_pending_then_wakes(pair: Pair) -> None:
    pair.reader.watch(SLOT, lambda: pair.called.append(SLOT))
    pair.written.clear()
    awake: list[bool] = []
    pair.on_write = lambda *_: awake.append(pair.awake())
    pair.writer.wake(SLOT)
    assert pair.written == [("host", DIRTY + SLOT, 1), ("host", PENDING, 1)]
    assert awake == [False, False]
    assert pair.awake()


def test_a_second_wake_up_is_spared_while_one_is_pending(pair: Pair) -> None:
    pair.reader.watch(SLOT, lambda: None)
    pair.reader.watch(SLOT + 1, lambda: pair.called.append(SLOT + 1))
    pair.writer.wake(SLOT)
    assert os.read(pair.reader.wake_fd, 100)
    pair.writer.wake(SLOT + 1)
    assert not pair.awake()
    pair.reader.woken()  # and yet its news is found with those of the first
    assert pair.called == [SLOT + 1]


def test_what_nobody_watches_is_dirty_and_wakes_nobody(pair: Pair) -> None:
    pair.writer.wake(SLOT)
    assert not pair.awake()
    pair.reader.watch(SLOT, lambda: pair.called.append(SLOT))
    pair.writer.wake(SLOT + 1)
    assert not pair.awake()
    pair.reader.watch(SLOT + 1, lambda: pair.called.append(SLOT + 1))
    pair.writer.wake(SLOT + 1)
    assert pair.awake()  # nothing was pending: the two above have not set it
    pair.reader.woken()
    assert pair.called == [SLOT, SLOT + 1]


def test_the_client_takes_the_wake_up_before_it_clears_pending(pair: Pair) -> None:
    """Cleared first, the host's next wake-up would be taken with the old one, and no other would ever come."""
    pair.reader.watch(SLOT, lambda: pair.called.append(SLOT))
    pair.writer.wake(SLOT)
    awake: list[bool] = []

    def look(side: str, index: int, value: int) -> None:
        if (side, index, value) == ("client", PENDING, 0):
            awake.append(pair.awake())

    pair.on_write = look
    pair.reader.woken()
    assert awake == [False]


def test_the_client_clears_pending_before_it_looks_for_news(pair: Pair) -> None:
    """News that comes while it looks must bring a wake-up of its own: its byte may have been passed already."""

    def read() -> None:
        pair.called.append(SLOT)
        if len(pair.called) == 1:
            pair.writer.wake(SLOT)
            assert pair.awake()

    pair.reader.watch(SLOT, read)
    pair.writer.wake(SLOT)
    pair.reader.woken()
    assert pair.called == [SLOT]
    pair.reader.woken()
    assert pair.called == [SLOT, SLOT]


def test_the_client_clears_dirty_before_it_reads_the_log(pair: Pair) -> None:
    """What is written after the read has set the byte again by then; cleared afterwards, it would be forgotten."""
    pair.reader.watch(SLOT, lambda: pair.called.append(len(pair.written)))
    pair.writer.wake(SLOT)
    pair.written.clear()
    pair.reader.woken()
    assert pair.written == [("client", PENDING, 0), ("client", DIRTY + SLOT, 0)]
    assert pair.called == [2]  # both were written before the log was read


def test_one_more_look_a_turn_later_finds_what_became_visible_late(pair: Pair) -> None:
    pair.reader.watch(SLOT, lambda: pair.called.append(SLOT))
    pair.writer.wake(SLOT)
    pair.reader.woken()
    with mmap.mmap(pair.writer.fd, 0) as page:
        page[DIRTY + SLOT] = 1  # without a wake-up, as on a machine that reorders stores
    [again] = pair.later
    again()
    assert pair.called == [SLOT, SLOT]


def test_a_slot_beyond_those_that_were_watched_before_is_found_too(pair: Pair) -> None:
    for slot in (3, 16383, 0):
        pair.reader.watch(slot, lambda slot=slot: pair.called.append(slot))  # type: ignore[misc]
        pair.writer.wake(slot)
    pair.reader.woken()
    assert pair.called == [0, 3, 16383]


def test_a_cleared_slot_is_neither_dirty_nor_watched(pair: Pair) -> None:
    pair.reader.watch(SLOT, lambda: pair.called.append(SLOT))
    pair.writer.wake(SLOT)
    pair.reader.woken()
    pair.writer.wake(SLOT)
    pair.writer.clear(SLOT)
    pair.reader.woken()
    assert pair.called == [SLOT]
    pair.writer.wake(SLOT)
    assert not pair.awake()  # the next terminal of this slot is watched by those who ask for that


def test_an_unwatched_slot_wakes_nobody(pair: Pair) -> None:
    pair.reader.watch(SLOT, lambda: pair.called.append(SLOT))
    pair.reader.unwatch(SLOT)
    pair.writer.wake(SLOT)
    assert not pair.awake()
    pair.reader.woken()
    assert pair.called == []


def test_a_callback_may_close_the_board(pair: Pair) -> None:
    other = Pair()
    other.reader.watch(1, other.reader.close)
    other.reader.watch(2, lambda: other.called.append(2))
    other.writer.wake(1)
    other.writer.wake(2)
    other.reader.woken()
    [again] = other.later
    again()
    assert other.called == []
    other.writer.close()


def test_no_client_can_shrink_the_page_under_the_host(pair: Pair) -> None:
    with pytest.raises(PermissionError):
        os.ftruncate(pair.writer.fd, 0)


def test_slots_rest_before_they_are_used_again() -> None:
    slots = BoardSlots(limit=300, resting=2)
    taken = [slots.take() for _ in range(10)]
    assert taken == list(range(10))
    for slot in (7, 3):
        slots.free(slot)
    assert slots.take() == 10  # a slow client may not have forgotten the two yet
    slots.free(5)
    assert slots.take() == 7


def test_when_all_slots_are_taken_a_freed_one_does_not_rest() -> None:
    slots = BoardSlots(limit=300)
    assert sorted(slots.take() for _ in range(300)) == list(range(300))
    with pytest.raises(ValueError, match="at most 300 terminals"):
        slots.take()
    slots.free(7)
    assert slots.take() == 7  # nothing else is left
