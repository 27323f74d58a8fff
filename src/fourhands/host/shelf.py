"""What lies on disk of terminals that are closed or whose host is gone: records, and logs until they are too old.

A record is a small JSON file beside the log, written whole and renamed into place. A terminal is closed when its
record says so; its log is then kept for a while, the oldest going first.
"""

import contextlib
import json
import os
import time
from typing import Any

from fourhands.host.places import Places

KEEP_DAYS = 7.0
KEEP_BYTES = 1024 * 1024 * 1024

Record = dict[str, Any]


def write(places: Places, record: Record) -> None:
    """Store a record in place of the one before it."""
    path = places.record(record["id"])
    fresh = path + ".new"
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w") as file:
        json.dump(record, file)
    os.rename(fresh, path)


def read(places: Places) -> list[Record]:
    """Every record that can be read, oldest first."""
    found = []
    for name in sorted(os.listdir(places.state)):
        if not (name.startswith("term_") and name.endswith(".json")):
            continue
        with contextlib.suppress(OSError, ValueError):
            with open(f"{places.state}/{name}") as file:
                record = json.load(file)
            if isinstance(record, dict) and isinstance(record.get("id"), str):
                found.append(record)
    return found


def prune(places: Places, keep_days: float = KEEP_DAYS, keep_bytes: int = KEEP_BYTES) -> list[str]:
    """Delete closed terminals' logs that are too old or, the oldest first, too much; returns their ids."""
    closed = sorted(
        (float(record["closed"]), record["id"])
        for record in read(places)
        if isinstance(record.get("closed"), int | float)
    )
    sizes = {terminal: _size(places.log(terminal)) for _, terminal in closed}
    total = sum(sizes.values())
    gone = []
    for when, terminal in closed:
        if when >= time.time() - keep_days * 86400 and total <= keep_bytes:
            break
        total -= sizes[terminal]
        for path in (places.log(terminal), places.record(terminal)):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        gone.append(terminal)
    return gone


def _size(path: str) -> int:
    try:
        return os.stat(path).st_blocks * 512
    except OSError:
        return 0
