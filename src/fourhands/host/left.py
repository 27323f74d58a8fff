"""What a host that died has left: the programs of its terminals, which nobody reads or could end any more.

They are found by what was recorded of each terminal (its main process, when that began, and with it its session) and
by the terminal's id in their environment. A number that was given to somebody else since is never touched.
"""

import os
import signal
import time

from fourhands.host import owner, shelf, tree
from fourhands.host.ending import GIVE_UP_S, GRACE_S, POLITE
from fourhands.host.places import Places

LOOK_S = 0.05
"""How often they are looked for until they are gone."""


def unfinished(places: Places) -> list[shelf.Record]:
    """The records of terminals that had not ended when their host did.

    A host that dies between starting a program and noting it down leaves a log without a record.
    """
    records = shelf.read(places)
    known = {record["id"] for record in records}
    logs = {name.removesuffix(".log") for name in os.listdir(places.state) if name.endswith(".log")}
    bare: list[shelf.Record] = [{"id": name} for name in sorted(logs - known) if name.startswith("term_")]
    return [record for record in records if not record.get("exit") and not record.get("closed")] + bare


def end(records: list[shelf.Record]) -> list[int]:
    """End what still runs of these terminals, whose host is dead; returns who could not be ended."""
    marks, began, asked = tree.Marks(), time.monotonic(), set[tuple[int, int]]()
    while found := members(records, marks):
        waited = time.monotonic() - began
        if waited > GIVE_UP_S:
            return [process.pid for process in found]
        for process in found:
            key = (process.pid, process.started)
            if waited > GRACE_S:
                tree.send_signal(process, signal.SIGKILL)
            elif key not in asked:
                asked.add(key)
                tree.send_signals(process, POLITE)
        time.sleep(LOOK_S)
    return []


def members(records: list[shelf.Record], marks: tree.Marks | None = None) -> list[tree.Process]:
    """The processes of these terminals, whose host is dead."""
    marks, now = marks or tree.Marks(), owner.boot()
    records = [record for record in records if record.get("boot", now) == now]
    if not records or not tree.HAVE_PROC:
        return []
    table = tree.Table(tree.scan(), 1)  # they are nobody's children by now
    found: dict[int, tree.Process] = {}
    for record in records:
        main = record.get("pid") or -1
        process = table.processes.get(main)
        alive = process is not None and process.started == record.get("started")
        for one in table.members(main=main, tty=0, terminal=record["id"], alive=alive, marks=marks):
            found[one.pid] = one
    found.pop(os.getpid(), None)
    return list(found.values())
