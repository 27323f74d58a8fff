"""The log: positions never change, what was evicted is a gap, and zeros of a hole never pass for output."""

import contextlib
import errno
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from array import array
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.kit.hosts import House, need, new_house

from fourhands.host.log import CAPACITY, GRAIN, LEAST, PUNCH_EVERY, Chunk, LogReader, LogWriter, floor
from fourhands.host.system import Kernel

NO_HOLE = 0x5A5A5A0000000000


def pattern(start: int, end: int) -> bytes:
    """Bytes that follow from their position: no two words are alike, and none looks like a hole."""
    first = start // 8
    words = array("Q", range(NO_HOLE + first, NO_HOLE + end // 8 + 1)).tobytes()
    return words[start - first * 8 : end - first * 8]


def fill(writer: LogWriter, size: int) -> None:
    while size > 0:
        step = min(size, GRAIN)
        assert writer.append(memoryview(pattern(writer.head, writer.head + step))) == step
        size -= step


class LogMachine(RuleBasedStateMachine):
    """Appends, trims, reads and reopens; the model is the pattern, the head, and what may be gone."""

    def __init__(self) -> None:
        super().__init__()
        self.root = tempfile.mkdtemp(prefix="fh-log-")
        self.path = f"{self.root}/x.log"
        self.writer: LogWriter
        self.reader: LogReader
        self.begun = False

    @initialize(capacity=st.integers(1, 6 * GRAIN), can_punch=st.booleans())
    def begin(self, capacity: int, can_punch: bool) -> None:
        self.capacity, self.can_punch = max(capacity, LEAST), can_punch
        self.writer = LogWriter(self.path, capacity, can_punch=can_punch)
        self.reader = LogReader(self.path, capacity)
        self.head = 0
        self.begun = True

    @rule(size=st.one_of(st.integers(0, 3 * GRAIN), st.just(20 * GRAIN)))
    def append(self, size: int) -> None:
        fill(self.writer, size)
        self.head += size

    @rule(capacity=st.integers(0, 8 * GRAIN))
    def trim(self, capacity: int) -> None:
        before = self.writer.base
        freed = self.writer.trim(capacity)
        assert self.writer.base - before == freed
        assert self.writer.base <= max(0, self.head - LEAST)

    @rule(part=st.floats(0, 1), limit=st.integers(0, 3 * GRAIN))
    def read(self, part: float, limit: int) -> None:
        position = int(part * self.head)
        chunk = self.reader.read(position, limit)
        self.check(position, limit, chunk)

    @rule(limit=st.integers(1000, 2 * GRAIN))
    def follow(self, limit: int) -> None:
        position = 0
        while (chunk := self.reader.read(position, limit)).data:
            self.check(position, limit, chunk)
            position = chunk.end
        assert position == self.head

    @rule()
    def reopen_reader(self) -> None:
        self.reader.close()
        self.reader = LogReader(self.path, self.capacity)

    @rule()
    def reopen_writer(self) -> None:
        base = self.writer.base
        self.writer.close()
        self.writer = LogWriter(self.path, self.capacity, can_punch=self.can_punch)
        assert self.writer.base >= base

    def check(self, position: int, limit: int, chunk: Chunk) -> None:
        if position >= self.head:
            assert chunk == Chunk(position, b"")
            return
        # It starts where it was asked to, unless that is gone; and gone is only what the window or a trim took.
        lowest = max(floor(self.head, self.capacity), self.writer.base)
        assert chunk.start == (position if position >= lowest else lowest)
        assert chunk.data == pattern(chunk.start, chunk.end)
        assert len(chunk.data) <= limit
        assert chunk.data or limit == 0

    @invariant()
    def agrees(self) -> None:
        if not self.begun:
            return
        assert self.writer.head == self.reader.head == self.head
        assert self.reader.floor == max(floor(self.head, self.capacity), self.writer.base)
        assert self.writer.kept == self.head - self.writer.base
        # The disk holds the window, what is written between two punches, and twice the window where holes cannot be.
        most = self.capacity + PUNCH_EVERY + 20 * GRAIN if self.can_punch else 2 * self.capacity + PUNCH_EVERY * 2
        assert os.stat(self.path).st_blocks * 512 <= most + 2 * GRAIN + 20 * GRAIN

    def teardown(self) -> None:
        for thing in (self.writer, self.reader) if self.begun else ():
            thing.close()
            thing.close()  # twice is harmless
        shutil.rmtree(self.root)


LogMachine.TestCase.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)
test_random_use_agrees_with_the_model = LogMachine.TestCase


def test_floor_is_rounded_down_to_the_grain() -> None:
    assert floor(0, CAPACITY) == 0
    assert floor(CAPACITY, CAPACITY) == 0
    assert floor(CAPACITY + GRAIN - 1, CAPACITY) == 0
    assert floor(CAPACITY + GRAIN, CAPACITY) == GRAIN


@pytest.mark.parametrize("can_punch", [True, False])
def test_reading_below_the_floor_tells_of_the_gap(tmp_path: Path, can_punch: bool) -> None:
    writer = LogWriter(str(tmp_path / "x"), 1 << 20, can_punch=can_punch)
    reader = LogReader(str(tmp_path / "x"), 1 << 20)
    fill(writer, 4 << 20)
    chunk = reader.read(5)
    assert chunk.start == reader.floor == 3 << 20
    assert chunk.data == pattern(chunk.start, chunk.end)
    writer.close()
    reader.close()


def test_a_reader_with_a_larger_window_than_the_writer_sees_no_zeros(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path / "x"), LEAST)
    reader = LogReader(str(tmp_path / "x"), CAPACITY)
    fill(writer, 2 << 20)
    writer.trim(LEAST)
    assert reader.floor == writer.base > 0
    assert reader.read(0).start == writer.base
    writer.close()
    reader.close()


def test_a_position_behind_the_head_is_empty_and_a_negative_one_is_refused(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path / "x"))
    reader = LogReader(str(tmp_path / "x"))
    assert reader.floor == 0
    assert reader.read(10**15) == Chunk(10**15, b"")
    with pytest.raises(ValueError, match="no position -1"):
        reader.read(-1)
    writer.close()
    reader.close()


def test_zeros_that_were_printed_are_output(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path / "x"), 4 * GRAIN)
    reader = LogReader(str(tmp_path / "x"), 4 * GRAIN)
    for _ in range(40):
        writer.append(memoryview(bytes(GRAIN)))
    writer.trim(4 * GRAIN)
    assert reader.read(36 * GRAIN, GRAIN) == Chunk(36 * GRAIN, bytes(GRAIN))
    assert reader.read(0).start == 36 * GRAIN
    writer.close()
    reader.close()


def test_a_deleted_log_stays_readable_to_who_has_it_open(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path / "x"))
    reader = LogReader(str(tmp_path / "x"))
    fill(writer, 100)
    os.unlink(tmp_path / "x")
    assert reader.head == 100
    assert reader.read(0).data == pattern(0, 100)
    writer.close()
    reader.close()


class Holeless(Kernel):
    """A file system that cannot punch holes."""

    def punch(self, fd: int, start: int, length: int) -> None:
        raise OSError(errno.EOPNOTSUPP, "not here")


def test_a_file_system_without_holes_moves_the_window(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path / "x"), LEAST, system=Holeless())
    reader = LogReader(str(tmp_path / "x"), LEAST)
    fill(writer, 4 << 20)
    assert writer.base > 0
    chunk = reader.read(reader.floor, 1 << 20)
    assert chunk.data == pattern(chunk.start, 4 << 20)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x"]
    writer.close()
    reader.close()


def test_a_read_says_whether_there_is_more(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path / "x"), LEAST, can_punch=False)
    reader = LogReader(str(tmp_path / "x"), LEAST)
    fill(writer, 3 * GRAIN)
    assert reader.read(2 * GRAIN, GRAIN - 1).more
    assert not reader.read(2 * GRAIN, GRAIN).more
    writer.trim(LEAST)
    writer.append(memoryview(b"in the new file"))
    rest = reader.read(3 * GRAIN - 10)  # the old one ends here
    assert rest.data == pattern(3 * GRAIN - 10, 3 * GRAIN)
    assert rest.more
    assert reader.read(rest.end).data == b"in the new file"
    writer.close()
    reader.close()


def test_a_move_that_fails_gives_nothing_up(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path / "x"), LEAST, can_punch=False)
    fill(writer, 512 * 1024)
    (tmp_path / "x.new").mkdir()
    assert writer.trim(LEAST) == 0
    assert writer.fault is not None
    assert writer.base == 0
    reader = LogReader(str(tmp_path / "x"))
    assert reader.read(0, 1 << 20).data == pattern(0, 512 * 1024)
    writer.close()
    reader.close()


def test_without_fallocate_holes_are_reported_as_unsupported() -> None:
    with pytest.raises(OSError, match="not supported"):
        Kernel(platform="darwin").punch(0, 0, 1)


def test_a_write_that_fails_is_reported_not_raised(tmp_path: Path) -> None:
    writer = LogWriter(str(tmp_path / "x"))
    os.close(writer.fd)
    writer.fd = os.open(tmp_path / "x", os.O_RDONLY)
    assert writer.append(memoryview(b"abc")) == 0
    assert writer.fault is not None
    assert writer.fault.errno == errno.EBADF
    writer.close()


def test_a_link_in_the_place_of_a_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        LogWriter(str(tmp_path / "x"))


WRITER = """
import sys
from array import array
from fourhands.host.log import LogWriter
path, capacity, total, can_punch = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "True"
writer = LogWriter(path, capacity, can_punch=can_punch)
block = 1 << 18
while writer.head < total:
    first = 0x5A5A5A0000000000 + writer.head // 8
    data = memoryview(array("Q", range(first, first + block // 8)).tobytes())
    for at in range(0, block, 12345):
        writer.append(data[at : at + 12345])
    writer.trim(capacity)
"""


@pytest.mark.parametrize("can_punch", [True, False])
def test_readers_beside_a_process_that_evicts_never_see_zeros(tmp_path: Path, can_punch: bool) -> None:
    path, capacity, total = str(tmp_path / "x"), 4 * GRAIN, 4 << 20
    Path(path).touch()
    child = subprocess.Popen([sys.executable, "-c", WRITER, path, str(capacity), str(total), str(can_punch)])
    wrong: list[str] = []

    def follow(limit: int, behind: int) -> None:
        reader = LogReader(path, CAPACITY)  # larger than the writer's: the holes are found, not computed
        position = 0
        while position < total and not wrong:
            chunk = reader.read(position, limit)
            if chunk.data != pattern(chunk.start, chunk.end):
                wrong.append(f"at {chunk.start}")
            position = chunk.end
            if not chunk.data:
                os.sched_yield()
            if behind and reader.head < total:
                position = max(0, reader.head - behind)  # at the edge of what is being evicted
        reader.close()

    threads = [
        threading.Thread(target=follow, args=(limit, behind)) for limit, behind in [(GRAIN, 0), (4096, capacity)]
    ]
    for thread in threads:
        thread.start()
    try:
        assert child.wait(15) == 0
    finally:
        child.kill()
        child.wait()
        for thread in threads:
            thread.join()
    assert not wrong


def use_up(path: Path) -> None:
    """Write a file until the disk has not a page left."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of 3 MiB."""
    path = Path(tempfile.mkdtemp(prefix="fh-disk-"))
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m,mode=700", "tmpfs", str(path)], capture_output=True, check=False
    )
    try:
        need(mounted.returncode == 0, f"cannot mount a small disk: {mounted.stderr!r}", pytest.skip, pytest.fail)
        yield path
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", "-l", str(path)], check=True)
        path.rmdir()


@pytest.mark.parametrize("can_punch", [True, False])
def test_a_full_disk_takes_what_fits_and_says_so(small_disk: Path, can_punch: bool) -> None:
    writer = LogWriter(str(small_disk / "x"), 8 << 20, can_punch=can_punch)
    took = sum(writer.append(memoryview(pattern(n * GRAIN, (n + 1) * GRAIN))) for n in range(80))
    assert GRAIN < took == writer.head < 80 * GRAIN
    assert writer.fault is not None
    assert writer.fault.errno == errno.ENOSPC
    if can_punch:
        assert writer.trim(writer.kept // 2) > 0
        assert writer.append(memoryview(b"x")) == 1
    else:
        assert writer.trim(writer.kept // 2) == 0  # no room to move to, and nothing lost
        assert os.listdir(small_disk) == ["x"]
    writer.close()


NUMBERS = "i=0\nimport sys\nw=sys.stdout.write\nwhile i < {}:\n w('%010d\\n' % i); i += 1"


async def test_a_full_disk_costs_old_output_first_then_pauses_then_goes_on(small_disk: Path) -> None:
    async with new_house(state=f"{small_disk}/s/w") as house:
        await house.link()
        flood = await house.python(NUMBERS.format(600_000))  # 7 MB, the disk holds 3
        assert (await flood.exit())["position"] == 600_000 * 12
        assert not [e for e in house.events.all if e["event"] == "paused"]  # the old window was enough
        assert 0 < flood.log.floor < flood.log.head
        tail = flood.log.read(flood.log.floor, 8 << 20)
        numbers = tail.data[-tail.start % 12 :].split()
        assert [int(n) for n in numbers] == list(range(-(-tail.start // 12), 600_000))

        await flood.end(forget=True)
        flood.close()
        os.unlink(house.places.log(flood.id))
        ballast = small_disk / "ballast"
        use_up(ballast)
        stuck = await house.python(NUMBERS.format(100_000))
        paused = await house.events.until("paused", stuck.id)
        assert paused["reason"] == "the disk is full"
        listed = (await (await house.link()).request("list")).body["terminals"]
        assert [t["paused"] for t in listed if t["id"] == stuck.id] == [True]
        ballast.unlink()
        await house.events.until("resumed", stuck.id)
        assert (await stuck.exit())["position"] == 1_200_000
        kinds = [e["event"] for e in house.events.all if e["terminal"] == stuck.id]
        assert kinds.index("paused") < kinds.index("resumed") < kinds.index("exited")
        rest = stuck.log.read(stuck.log.floor, 2 << 20)
        assert [int(n) for n in rest.data[-rest.start % 12 :].split()] == list(range(-(-rest.start // 12), 100_000))


async def test_a_paused_terminal_can_be_ended(small_disk: Path) -> None:
    async with new_house(state=f"{small_disk}/s/w") as house:
        await house.link()
        stuck = await house.sh("read x; while :; do echo 0123456789; done")
        use_up(small_disk / "ballast")
        stuck.type(b"\n")
        await house.events.until("paused", stuck.id)
        ended = await stuck.end(forget=True)
        assert ended["left"] == []
        assert ended["exit"]["signal"] == "SIGHUP"


async def test_all_logs_together_stay_within_the_budget(house: House) -> None:
    budget = 4 << 20
    await house.link(budget=budget)
    terms = [await house.python(NUMBERS.format(200_000)) for _ in range(4)]  # 2.4 MB each
    for term in terms:
        assert (await term.exit())["position"] == 2_400_000
    held = [os.stat(house.places.log(t.id)).st_blocks * 512 for t in terms]
    assert sum(held) <= budget + len(terms) * (PUNCH_EVERY // 4 + GRAIN)
    for term in terms:
        chunk = term.log.read(0, 4 << 20)
        assert [int(n) for n in chunk.data[-chunk.start % 12 :].split()] == list(range(-(-chunk.start // 12), 200_000))
