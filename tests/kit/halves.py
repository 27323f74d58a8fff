"""Coverage data that a killed process left half written: worth nothing, and no reason to end a run that collects it."""

import contextlib
import sqlite3
from pathlib import Path


def is_whole(path: Path) -> bool:
    """Whether a data file can be read to its end."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
            return bool(file.execute("pragma quick_check").fetchall() == [("ok",)])
    except sqlite3.DatabaseError:
        return False


def remove_halves(folder: Path) -> list[str]:
    """Remove the damaged data files of a folder; their names."""
    halves = [path for path in folder.glob(".coverage.*") if not is_whole(path)]
    for path in halves:
        path.unlink(missing_ok=True)
    return [path.name for path in halves]
