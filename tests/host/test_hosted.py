"""The host's own log."""

import os
import subprocess
import sys
from pathlib import Path

from fourhands.host.hosted import NOTES_LARGEST

NOTES = "from fourhands.host.hosted import note\nfor n in range(3000): note(f'{n} ' + 'x' * 1000)"


def _noted(descriptor: int) -> None:
    try:
        subprocess.run([sys.executable, "-c", NOTES], stderr=descriptor, check=True, timeout=40)
    finally:
        os.close(descriptor)


def test_the_log_keeps_its_last_lines_and_stays_small(tmp_path: Path) -> None:
    log = tmp_path / "host.log"
    _noted(os.open(log, os.O_RDWR | os.O_CREAT | os.O_APPEND))
    lines = log.read_text().splitlines()
    assert log.stat().st_size <= NOTES_LARGEST + 2000
    assert lines[0] == "(cut)"
    numbers = [int(line.split()[2]) for line in lines[1:]]
    assert numbers == list(range(3000 - len(numbers), 3000))
    assert len(numbers) > 200


def test_a_log_that_is_no_file_is_left_alone() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    _noted(writing)  # nobody reads: that is no error either
