"""Checkpoints of a large tree within their budget, with the numbers printed."""

import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from tests.kit.checkpointed import Checkpointed

from fourhands.settings import CheckpointSettings
from fourhands.workbench.checkpoints.git import Budget
from fourhands.workbench.checkpoints.store import CheckpointStore

_T = TypeVar("_T")
FILES, SIZE = 57_000, 17_500


def timed(what: str, work: Callable[[], _T]) -> tuple[float, _T]:
    start = time.monotonic()
    value = work()
    seconds = time.monotonic() - start
    print(f"{what}: {seconds:.2f} s")
    return seconds, value


def make_tree(root: Path) -> None:
    numbers = random.Random(1)
    words = [f"word{number} " for number in range(5000)]
    text = "".join(numbers.choices(words, k=SIZE // 4)).encode()
    for number in range(FILES):
        directory = root / f"d{number % 60}" / f"e{number % 1900}"
        if number < 1900 * 60:
            directory.mkdir(parents=True, exist_ok=True)
        start = numbers.randrange(len(text) - SIZE)
        content = b"%d\n" % number + text[start : start + SIZE - 2000] + os.urandom(700).hex().encode()
        (directory / f"f{number}.txt").write_bytes(content)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_57_000_files_are_checkpointed_within_the_budget(tmp_path: Path) -> None:
    place = Checkpointed.make(tmp_path, CheckpointSettings())
    timed("make the tree", lambda: make_tree(place.root))
    place.git("init", "-q")
    # What is "big" is written into one pack at once, as a clone has it.
    timed("add", lambda: place.git("-c", "core.bigFileThreshold=1", "-c", "core.compression=1", "add", "-A"))
    place.git("commit", "-qm", "all")
    timed("git status", lambda: place.git("status", "--porcelain"))
    first, before = timed("first, borrowed", lambda: place.store.take(Budget(60)))
    borrowed = place.store.size()
    print(f"its room: {borrowed >> 20} MB")
    again, _ = timed("again, nothing changed", lambda: place.store.take(Budget(60)))
    for number in range(10):
        next(iter((place.root / f"d{number}").rglob("*.txt"))).write_text("changed")
    changed, after = timed("again, 10 files changed", lambda: place.store.take(Budget(60)))
    _, found = timed("compare", lambda: place.store.compare(before, after))
    assert len(found.entries) == 10
    _, undone = timed("undo", lambda: place.undo(before, after))
    assert undone.clashes == []
    own = CheckpointStore(tmp_path / "own", str(place.root), home=str(tmp_path / "home"))
    (place.root / ".git").rename(tmp_path / "git-aside")
    timed("first, own objects", lambda: own.take(Budget(600)))
    print(f"its room: {own.size() >> 20} MB")
    assert first < 5
    assert again < 5
    assert changed < 5
