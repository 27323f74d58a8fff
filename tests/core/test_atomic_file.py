import asyncio
import os
import select
import stat
import threading
from pathlib import Path

import pytest

from fourhands.core.atomic_file import AtomicFile


@pytest.fixture
def file(tmp_path: Path) -> AtomicFile:
    return AtomicFile(tmp_path / "one.json")


class SlowDisk:
    """A named pipe in the place of the fresh file: a write of more than it holds goes on once somebody reads."""

    MORE = b"x" * 500_000

    def __init__(self, file: AtomicFile) -> None:
        self._pipe = file.path.with_suffix(".new")
        os.mkfifo(self._pipe)
        self._fd = os.open(self._pipe, os.O_RDONLY | os.O_NONBLOCK)

    async def begun(self) -> None:
        """Return when a write has begun."""
        await asyncio.to_thread(select.select, [self._fd], [], [])

    async def release(self) -> bytes:
        """Let the write that waits go on, and return what it wrote."""
        return await asyncio.to_thread(self._read)

    def _read(self) -> bytes:
        os.set_blocking(self._fd, True)
        with open(self._fd, "rb") as file:
            return file.read()


def test_a_file_is_written_whole_and_for_its_owner_only(file: AtomicFile) -> None:
    file.write(b"contents")
    assert file.path.read_bytes() == b"contents"
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert list(file.path.parent.iterdir()) == [file.path]


def test_another_mode_can_be_asked_for(tmp_path: Path) -> None:
    file = AtomicFile(tmp_path / "a", mode=0o640)
    before = os.umask(0)
    try:
        file.write(b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o640


def test_a_write_that_fails_raises_and_leaves_the_old_contents(file: AtomicFile) -> None:
    file.write(b"old")
    file.path.with_suffix(".new").mkdir()
    with pytest.raises(IsADirectoryError):
        file.write(b"new")
    assert file.path.read_bytes() == b"old"


def test_a_replacement_that_fails_leaves_no_fresh_file(file: AtomicFile) -> None:
    file.path.mkdir()
    with pytest.raises(IsADirectoryError):
        file.write(b"new")
    assert list(file.path.parent.iterdir()) == [file.path]


def test_a_file_can_be_removed_also_where_there_is_none(file: AtomicFile) -> None:
    file.remove()
    file.write(b"x")
    file.remove()
    assert not file.path.exists()


async def test_a_file_written_soon_is_there_after_close(file: AtomicFile) -> None:
    file.write_soon(b"soon")
    await file.close()
    assert file.path.read_bytes() == b"soon"
    file.write_soon(b"again")
    await file.close()
    assert file.path.read_bytes() == b"again"


async def test_closing_a_file_that_was_never_written_returns_at_once(file: AtomicFile) -> None:
    await file.close()
    assert not file.path.exists()


async def test_the_event_loop_goes_on_while_the_disk_is_slow_and_only_the_newest_contents_follow(
    file: AtomicFile,
) -> None:
    disk = SlowDisk(file)
    file.write_soon(disk.MORE)
    await disk.begun()
    for number in range(100):
        file.write_soon(b"%d" % number)
    async with asyncio.TaskGroup() as group:
        closing = group.create_task(file.close())
        assert await disk.release() == disk.MORE
        await closing
    assert file.path.read_bytes() == b"99"
    assert stat.S_ISREG(file.path.stat().st_mode)


async def test_contents_written_at_once_win_over_a_thread_that_comes_late(file: AtomicFile) -> None:
    executor_is_busy = threading.Event()
    loop = asyncio.get_running_loop()
    busy = [loop.run_in_executor(None, executor_is_busy.wait) for _ in range(64)]
    file.write_soon(b"old")
    file.write(b"new")
    executor_is_busy.set()
    await asyncio.gather(*busy)
    await file.close()
    assert file.path.read_bytes() == b"new"


async def test_a_file_removed_after_it_was_written_soon_stays_away(file: AtomicFile) -> None:
    file.write_soon(b"x")
    file.remove_soon()
    await file.close()
    assert not file.path.exists()
    assert list(file.path.parent.iterdir()) == []


async def test_a_place_that_cannot_be_written_is_logged_and_stops_no_later_write(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = AtomicFile(tmp_path / "later" / "one.json")
    file.write_soon(b"x")
    await file.close()
    assert "cannot save" in caplog.text
    assert "one.json" in caplog.text
    file.path.parent.mkdir()
    file.write_soon(b"y")
    await file.close()
    assert file.path.read_bytes() == b"y"


async def test_giving_up_while_closing_loses_nothing(file: AtomicFile) -> None:
    disk = SlowDisk(file)
    file.write_soon(disk.MORE)
    await disk.begun()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await file.close()
    async with asyncio.TaskGroup() as group:
        closing = group.create_task(file.close())
        assert await disk.release() == disk.MORE
        await closing
    await file.close()


async def test_a_file_is_saved_before_the_call_returns_and_a_failure_is_raised(file: AtomicFile) -> None:
    await file.save(b"old")
    assert file.path.read_bytes() == b"old"
    file.path.with_suffix(".new").mkdir()
    with pytest.raises(IsADirectoryError):
        await file.save(b"new")
    assert file.path.read_bytes() == b"old"


async def test_the_last_of_several_saved_at_once_stays(file: AtomicFile) -> None:
    await asyncio.gather(*(file.save(b"%d" % number) for number in range(100)))
    assert file.path.read_bytes() == b"99"


async def test_contents_that_come_late_are_stored_where_the_newest_failed(file: AtomicFile) -> None:
    executor_is_busy = threading.Event()
    loop = asyncio.get_running_loop()
    busy = [loop.run_in_executor(None, executor_is_busy.wait) for _ in range(64)]
    file.write_soon(b"old")
    hurdle = file.path.with_suffix(".new")
    hurdle.mkdir()
    with pytest.raises(IsADirectoryError):
        file.write(b"new")
    hurdle.rmdir()
    executor_is_busy.set()
    await asyncio.gather(*busy)
    await file.close()
    assert file.path.read_bytes() == b"old"
