import asyncio
import stat
from pathlib import Path

import pytest

from fourhands.core.atomic_file import AtomicFile


async def settled() -> None:
    await asyncio.get_running_loop().shutdown_default_executor()


async def test_the_newest_contents_stay_whatever_thread_comes_last(tmp_path: Path) -> None:
    saved = AtomicFile(tmp_path / "one.json")
    saved.soon(b"old")
    saved.now(b"new")
    await settled()
    assert saved.path.read_bytes() == b"new"
    assert stat.S_IMODE(saved.path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [saved.path]


async def test_what_is_stored_soon_is_stored(tmp_path: Path) -> None:
    saved = AtomicFile(tmp_path / "one.json")
    saved.soon(b"soon")
    await settled()
    assert saved.path.read_bytes() == b"soon"


async def test_a_place_that_cannot_be_written_is_said_and_harms_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    AtomicFile(tmp_path / "gone" / "one.json").now(b"x")
    assert "one.json could not be saved" in caplog.text


def test_what_waits_for_a_thread_can_be_stored_at_once_and_never_over_what_is_newer(tmp_path: Path) -> None:
    saved = AtomicFile(tmp_path / "a.json")
    saved._pending = b"one"  # no thread was free yet
    saved.settle()
    assert saved.path.read_bytes() == b"one"
    saved._pending = b"two"
    saved.now(b"three")
    saved.settle()
    assert saved.path.read_bytes() == b"three"
