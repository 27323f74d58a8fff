import asyncio
import functools
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from fourhands.core.call import Actor, Call, JournalEntry, Result
from fourhands.core.errors import BadArgument, Unavailable
from fourhands.workbench.records import ledger
from fourhands.workbench.records.journal import Journal, JournalLimits, export
from fourhands.workbench.records.ledger import Before, Ledger, TurnEnd


def entry(number: int = 1, **args: object) -> JournalEntry:
    call = Call(command="openspace.file.read", args=args, actor=Actor.agent("s1", "Ada"))
    result = Result(success=True, call_id=call.id, number=number)
    return JournalEntry(call=call, number=number, result=result, asked=time.time(), finished=time.time())


async def test_recorded_means_another_process_can_read_it(tmp_path: Path):
    async with Journal(tmp_path / "journal.db") as journal:
        made = entry(path="a.py")
        await journal.record(made)
        assert ledger.read(journal.path) == [made]
        assert await journal.query(session="s1") == [made]
        assert await journal.query(command="openspace.pane.", call_id=made.call.id) == []
        assert await journal.last_number("s1") == 1


async def test_many_at_once_are_all_stored_in_order(tmp_path: Path):
    async with Journal(tmp_path / "journal.db") as journal:
        async with asyncio.TaskGroup() as group:
            for number in range(3000):
                group.create_task(journal.record(entry(number)))
        assert [found.number for found in await journal.query(limit=5000)] == list(range(3000))


async def test_a_note_is_stored_without_waiting_and_kept_when_the_journal_closes(tmp_path: Path):
    async with Journal(tmp_path / "journal.db") as journal:
        journal.note(entry(7))
    assert os.listdir(tmp_path) == ["journal.db"]
    assert [found.number for found in ledger.read(journal.path)] == [7]


async def test_what_nobody_waits_for_is_stored_together_with_what_follows_and_holds_nothing_up(tmp_path: Path):
    groups: list[int] = []

    class Counted(Ledger):
        def write(self, items: Iterable[JournalEntry | Before | TurnEnd]) -> None:
            kept = list(items)
            super().write(kept)
            groups.append(len(kept))

    limits = JournalLimits(company_s=1000.0)
    async with Journal(tmp_path / "journal.db", limits=limits, open_ledger=Counted) as journal:
        for number in (1, 2):
            journal.note(entry(number))
        await journal.record(entry(3))
        assert groups == [3]
        assert [found.number for found in await journal.query()] == [1, 2, 3]


async def test_contents_from_before_can_be_read_back(tmp_path: Path):
    async with Journal(tmp_path / "journal.db") as journal:
        await journal.keep("c1", "a.txt", b"\0old")
        await journal.keep("c1", "new.txt", None)
        assert await journal.before("c1") == {"a.txt": b"\0old", "new.txt": None}


async def test_export_writes_json_lines(tmp_path: Path):
    out = io.StringIO()
    async with Journal(tmp_path / "journal.db") as journal:
        for number in range(3):
            await journal.record(entry(number, text="line\nbreak"))
        assert await journal.export(out) == 3
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [line["number"] for line in lines] == [0, 1, 2]
    assert lines[0]["call"]["actor"]["name"] == "Ada"
    assert export(journal.path, io.StringIO()) == 3


async def test_what_is_older_than_the_retention_is_gone_at_the_next_start(tmp_path: Path):
    path = tmp_path / "journal.db"
    today = time.time()
    async with Journal(path, keep_days=3) as journal:
        await journal.record(entry(1))
    for days in (1, 2, 2, 3):
        async with Journal(path, keep_days=3, now=functools.partial(lambda n: today + n * 86400, days)) as journal:
            assert len(await journal.query()) == 1
    async with Journal(path, keep_days=3, now=lambda: today + 5 * 86400) as journal:
        assert await journal.query() == []


async def test_a_clock_that_jumps_ahead_or_back_drops_nothing(tmp_path: Path):
    path, today = tmp_path / "journal.db", time.time()
    clock = [today]
    limits = JournalLimits(prune_every_s=0.0)
    async with Journal(path, keep_days=5, now=lambda: clock[0], limits=limits) as journal:
        await journal.record(entry(1))
        await journal.keep("c1", "a.txt", b"old")
        for number, jump in enumerate((100 * 365, -50 * 365, 100 * 365, 0), 2):
            clock[0] = today + jump * 86400
            await journal.record(entry(number))
    async with Journal(path, keep_days=5, now=lambda: today + 300 * 365 * 86400) as journal:
        assert [found.number for found in await journal.query()] == [1, 2, 3, 4, 5]
        assert await journal.before("c1") == {"a.txt": b"old"}


async def test_the_file_stays_within_its_budget_while_it_is_written(tmp_path: Path):
    path = tmp_path / "journal.db"
    async with Journal(path, keep_bytes=400_000, undo_bytes=400_000, synchronous="NORMAL") as journal:
        for number in range(300):
            made = entry(number, text=os.urandom(5_000).hex())
            await journal.record(made)
            await journal.keep(made.call.id, "a.txt", os.urandom(5_000))
        kept = await journal.query(limit=1000)
        assert kept[-1].number == 299
        assert 20 < len(kept) < 60
        assert await journal.before(kept[-1].call.id)
    assert path.stat().st_size < 3_000_000


async def test_one_bad_entry_does_not_take_the_others_with_it(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    call = entry().call
    async with Journal(tmp_path / "journal.db") as journal:
        bad = JournalEntry(call=call, number=2**70, asked=1.0)
        done = await asyncio.gather(*(journal.record(one) for one in (entry(1), bad, entry(3))), return_exceptions=True)
        assert done[0] is None
        assert isinstance(done[1], Unavailable)
        assert done[2] is None
        assert [found.number for found in await journal.query()] == [1, 3]
    assert "cannot store an entry" in caplog.text


class FullDisk(Ledger):
    """A ledger on a disk without room, until there is some."""

    full = True

    def write(self, items: Iterable[JournalEntry | Before | TurnEnd]) -> None:
        if self.full:
            raise sqlite3.OperationalError("database or disk is full")
        super().write(items)


async def test_a_full_disk_is_said_to_all_and_it_goes_on_when_there_is_room(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    opened: list[FullDisk] = []

    def open_ledger(*args: Any, **more: Any) -> Ledger:
        opened.append(FullDisk(*args, **more))
        return opened[0]

    async with Journal(tmp_path / "journal.db", open_ledger=open_ledger) as journal:
        done = await asyncio.gather(*(journal.record(entry(n)) for n in range(3)), return_exceptions=True)
        assert all(isinstance(error, Unavailable) and "disk is full" in error.message for error in done)
        opened[0].full = False
        await journal.record(entry(9))
        assert [found.number for found in await journal.query()] == [9]


async def test_a_caller_that_goes_away_breaks_nothing(tmp_path: Path):
    async with Journal(tmp_path / "journal.db") as journal:
        async with asyncio.TaskGroup() as group:
            gone = group.create_task(journal.record(entry(1)))
            await asyncio.sleep(0)
            gone.cancel()
        await journal.record(entry(2))
        assert [found.number for found in await journal.query()] == [1, 2]


async def test_a_closed_journal_says_so(tmp_path: Path):
    journal = Journal(tmp_path / "journal.db")
    with pytest.raises(Unavailable, match="closed"):
        await journal.record(entry())
    async with journal:
        await journal.record(entry())
        with pytest.raises(BadArgument):
            await journal.query(limit=-1)
    with pytest.raises(Unavailable, match="closed"):
        journal.note(entry())


async def test_a_place_that_cannot_be_written_is_a_clear_error(tmp_path: Path):
    (tmp_path / "journal.db").mkdir()
    journal = Journal(tmp_path / "journal.db")
    with pytest.raises(Unavailable, match="cannot open"):
        async with journal:
            pass
    with pytest.raises(Unavailable, match="cannot read"):
        await journal.query()


async def test_old_entries_that_cannot_be_dropped_do_not_stop_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    class Broken(Ledger):
        def prune(self, oldest: float, before_limit_bytes: int, limit_bytes: int | None = None) -> None:
            raise sqlite3.OperationalError("disk I/O error")

    async with Journal(tmp_path / "journal.db", open_ledger=Broken) as journal:
        await journal.record(entry())
    assert "cannot drop old entries" in caplog.text


CHILD = """
import asyncio, sys, time
from pathlib import Path
from fourhands.core.call import Actor, Call, JournalEntry, Result
from fourhands.workbench.records.journal import Journal

async def work(journal, worker):
    for number in range(100_000):
        call = Call(command="openspace.file.write", args={"text": "x" * 300}, actor=Actor.agent(f"s{worker}"))
        await journal.keep(call.id, "a.txt", b"old")
        now = time.time()
        result = Result(success=True, call_id=call.id, number=number)
        await journal.record(JournalEntry(call=call, number=number, result=result, asked=now, finished=now))
        sys.stdout.write(call.id + "\\n")  # acknowledged
        sys.stdout.flush()

async def main():
    async with Journal(Path(sys.argv[1])) as journal, asyncio.TaskGroup() as group:
        for worker in range(20):
            group.create_task(work(journal, worker))

asyncio.run(main())
"""


def test_kill_9_under_load_loses_nothing_that_was_acknowledged(tmp_path: Path):
    path = tmp_path / "journal.db"
    acknowledged: list[str] = []
    for count in (1, 300, 1500):
        with subprocess.Popen([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            acknowledged += [child.stdout.readline().strip() for _ in range(count)]
            os.kill(child.pid, signal.SIGKILL)
            acknowledged += [line.strip() for line in child.stdout if line.endswith("\n")]
        store = Ledger(path)  # as the next start does
        store.write([Before("probe", str(count), None)])
        store.close()
    stored = {found.call.id for found in ledger.read(path, limit=None) if found.result}
    assert set(acknowledged) <= stored
    assert len(acknowledged) >= 1801
    assert all(ledger.read_before(path, id) == {"a.txt": b"old"} for id in acknowledged[::50])
    assert not [name for name in os.listdir(tmp_path) if "damaged" in name]
