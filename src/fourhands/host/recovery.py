"""Recovery after a host that died: its programs, which cannot be read any more, are ended; its terminals are listed.

The programs are found by what was recorded of each terminal (its main process and its start, and with it its session)
and by the terminal's id in their environment. A number that another process has by now is never touched.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator

from fourhands.host import archive, owner, processes
from fourhands.host.paths import WorkspaceDirs
from fourhands.host.reaper import GIVE_UP_S, GRACE_S, POLITE

LOOK_S = 0.05
"""Seconds between two looks for them until they are gone."""


def unfinished(places: WorkspaceDirs) -> list[archive.Record]:
    """Return the records of terminals that had not ended when their host did.

    A host that dies between starting a program and noting it down leaves a log without a record.
    """
    records = archive.read(places)
    known = {record["id"] for record in records}
    logs = {name.removesuffix(".log") for name in os.listdir(places.state) if name.endswith(".log")}
    bare: list[archive.Record] = [{"id": name} for name in sorted(logs - known) if name.startswith("term_")]
    return [record for record in records if not record.get("exit") and not record.get("closed")] + bare


def end(records: list[archive.Record]) -> list[int]:
    """End what still runs of these terminals, whose host is dead; returns the ids of those that could not be ended."""
    marks, began, asked = processes.TagIndex(), time.monotonic(), set[tuple[int, int]]()
    while found := members(records, marks):
        waited = time.monotonic() - began
        if waited > GIVE_UP_S:
            return [process.pid for process in found]
        for process in found:
            key = (process.pid, process.started)
            if waited > GRACE_S:
                processes.send_signal(process, signal.SIGKILL)
            elif key not in asked:
                asked.add(key)
                processes.send_signals(process, POLITE)
        time.sleep(LOOK_S)
    return []


def members(records: list[archive.Record], marks: processes.TagIndex | None = None) -> list[processes.Process]:
    """Return the processes of these terminals, whose host is dead."""
    marks, now = marks or processes.TagIndex(), owner.boot()
    records = [record for record in records if record.get("boot", now) == now]
    if not records or not processes.HAVE_PROC:
        return []
    table = processes.Table(processes.scan(), 1)  # init is their parent by now
    found: dict[int, processes.Process] = {}
    for record in records:
        main = record.get("pid") or -1
        process = table.processes.get(main)
        alive = process is not None and process.started == record.get("started")
        for one in table.members(main=main, tty=0, terminal=record["id"], alive=alive, marks=marks):
            found[one.pid] = one
    found.pop(os.getpid(), None)
    return list(found.values())


def listed(
    places: WorkspaceDirs, keep_days: float, write: Callable[[archive.Record], None]
) -> Iterator[archive.Record]:
    """Yield the records of terminals that are still to be listed; those that had not exited are lost.

    Records that change are written: a terminal that was lost or exited long ago, and was never closed, is closed.
    """
    for record in archive.read(places):
        if record.get("closed"):
            continue
        record.setdefault("meta", {})
        if record.get("exit") and archive.is_old(places, record, keep_days):
            record["closed"] = time.time()
            write(record)
            continue
        if not record.get("exit"):
            position = _size(places.log(record["id"]))
            record["exit"] = {"code": None, "signal": None, "lost": True, "position": position}
            write(record)
        yield record


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
