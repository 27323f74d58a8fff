"""The journal: every call with actor, verdict, result and times, and files' contents from before an agent wrote them.

One thread writes, in groups: what came while the last group was being committed is committed together, so the event
loop never waits for the disk and many calls share one flush. `record` and `keep` return when their group is committed
with synchronous=FULL: acknowledged means stored, also when the power fails right after. `note` does not wait, and a
group that no caller waits for is held back a moment: most calls are over by then, and one row has beginning and end.
Texts pass `redact` before they are stored (in the writer's thread: a pure function); before-contents do not, undo needs
them whole. Reading uses connections of its own and never waits for the writer.
"""

import asyncio
import functools
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Literal, TypeVar

import msgspec

from fourhands.core.call import JournalEntry
from fourhands.core.errors import BadArgument, Unavailable
from fourhands.settings import JournalSettings
from fourhands.workbench.records import ledger
from fourhands.workbench.records.ledger import Before, JournalQuery, Ledger, TurnEnd
from fourhands.workbench.records.redacted_json import Redact

log = logging.getLogger(__name__)
_T = TypeVar("_T")
_KEEP = JournalSettings()
_PARTS = 8  # the file may exceed its budget by this part of it for a moment


@dataclass(frozen=True, slots=True)
class JournalLimits:
    """The pace of the writer's thread."""

    group: int = 1000
    """Entries that are committed together, at most."""

    company_s: float = 0.003
    """The time for which a group is held back while no caller waits for it."""

    prune_every_s: float = 3_600.0
    """The interval at which old entries are dropped."""


OpenLedger = Callable[..., Ledger]


@dataclass(frozen=True, slots=True)
class _Job:
    item: JournalEntry | Before | TurnEnd
    done: "asyncio.Future[None] | None"


class Journal:
    """`async with Journal(path) as journal`; belongs to the loop that entered it."""

    def __init__(
        self,
        path: Path,
        *,
        redact: Redact | None = None,
        keep_days: int = _KEEP.keep_days,
        keep_bytes: int = _KEEP.keep_bytes,
        undo_bytes: int = _KEEP.undo_bytes,
        synchronous: Literal["FULL", "NORMAL"] = "FULL",
        now: Callable[[], float] = time.time,
        limits: JournalLimits | None = None,
        open_ledger: OpenLedger = Ledger,
    ) -> None:
        self.path = path
        self.keep_days = keep_days
        self._limits = limits or JournalLimits()
        self._open_ledger = open_ledger
        self._redact = redact
        self._keep_bytes = keep_bytes
        self._undo_bytes = undo_bytes
        self._synchronous = synchronous
        self._now = now
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> "Journal":
        self._loop = asyncio.get_running_loop()
        store = await asyncio.to_thread(self._open)
        self._thread = threading.Thread(target=self._write, args=(store,), name="journal", daemon=True)
        self._thread.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            self._jobs.put(None)
            await asyncio.to_thread(thread.join)

    def note(self, entry: JournalEntry) -> None:
        """Queue an entry for storage without waiting."""
        self._put(entry, None)

    def end_turn(self, turn: str, checkpoint: str) -> None:
        """Note the checkpoint after a turn at all its calls, without waiting."""
        self._put(TurnEnd(turn, checkpoint), None)

    async def record(self, entry: JournalEntry) -> None:
        """Store an entry; returning means stored."""
        await self._store(entry)

    async def keep(self, call_id: str, path: str, content: bytes | None) -> None:
        """Store the contents of a file (None: it does not exist) before a call changes it; returning means stored."""
        await self._store(Before(call_id, path, content))

    async def before(self, call_id: str) -> dict[str, bytes | None]:
        """Return the contents of the files that a call changed, from before it, by path."""
        return await self._read(ledger.read_before, self.path, call_id)

    async def query(
        self,
        *,
        session: str | None = None,
        since: float | None = None,
        command: str | None = None,
        call_id: str | None = None,
        limit: int = 100,
    ) -> list[JournalEntry]:
        """Return the last `limit` entries that fit, oldest first; `command` with a last dot means the noun."""
        if limit < 0:
            raise BadArgument(f"limit must be 0 or more, not {limit}")
        return await self._read(ledger.read, self.path, JournalQuery(session, since, command, call_id), limit)

    async def last_number(self, session: str) -> int:
        """Return the number of a session's last call, 0 if there is none."""
        return await self._read(ledger.last_number, self.path, session)

    async def export(self, out: IO[str], wanted: JournalQuery | None = None) -> int:
        """Write all wanted entries as JSON lines, oldest first, and return how many."""
        return await self._read(export, self.path, out, wanted)

    async def _read(self, function: Callable[..., _T], *args: object) -> _T:
        try:
            return await asyncio.to_thread(functools.partial(function, *args))
        except sqlite3.Error as error:
            raise _unavailable("read", error) from error

    async def _store(self, item: JournalEntry | Before) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._put(item, done)
        await done

    def _put(self, item: JournalEntry | Before | TurnEnd, done: "asyncio.Future[None] | None") -> None:
        if self._thread is None:
            raise Unavailable("the journal is closed", hint="start the workbench again")
        self._jobs.put(_Job(item, done))

    def _open(self) -> Ledger:
        try:
            store = self._open_ledger(self.path, self._redact, synchronous=self._synchronous)
        except (sqlite3.Error, OSError) as error:
            raise _unavailable(f"open {self.path}", error) from error
        self._prune(store)
        return store

    def _prune(self, store: Ledger) -> None:
        store.grown = 0  # also where it fails, or it would be tried again at each call
        try:
            store.prune(store.oldest(self._now(), self.keep_days), self._undo_bytes, self._keep_bytes)
        except sqlite3.Error:
            log.exception("cannot drop old entries of the journal %s", self.path)

    def _write(self, store: Ledger) -> None:
        """Run the writer's thread: take all there is, commit it and report it, until None comes."""
        pruned = time.monotonic()
        last = False
        while not last:
            group, last = self._gather()
            if group:
                self._commit(store, group)
            much = store.grown > min(self._keep_bytes, self._undo_bytes) // _PARTS
            if much or time.monotonic() - pruned > self._limits.prune_every_s:
                pruned = time.monotonic()
                self._prune(store)
        store.close()

    def _gather(self) -> tuple[list[_Job], bool]:
        """Take the entries to be stored together; True when they were the last."""
        group: list[_Job] = []
        awaited, until = False, 0.0
        job = self._jobs.get()
        while job is not None:
            group.append(job)
            awaited = awaited or job.done is not None
            until = until or time.monotonic() + self._limits.company_s
            if len(group) == self._limits.group:
                return group, False
            try:
                job = self._jobs.get(timeout=0 if awaited else max(0.0, until - time.monotonic()))
            except queue.Empty:
                return group, False
        return group, True

    def _commit(self, store: Ledger, group: list[_Job]) -> None:
        error: Exception | None = None
        try:
            store.write(job.item for job in group)
        except Exception as caught:
            if len(group) > 1 and not isinstance(caught, sqlite3.OperationalError):
                for job in group:  # one bad entry must not take the others with it; a full disk would
                    self._commit(store, [job])
                return
            log.exception("cannot store an entry of the journal %s", self.path)
            error = caught
        waiting = [job.done for job in group if job.done is not None]
        if waiting and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_resolve, waiting, error)


def export(path: Path, out: IO[str], wanted: JournalQuery | None = None) -> int:
    """Write the journal at `path` as JSON lines, also while another process writes it; return how many lines."""
    count = 0
    for entry in ledger.walk(path, wanted):
        out.write(msgspec.json.encode(entry).decode())
        out.write("\n")
        count += 1
    return count


def _resolve(waiting: "list[asyncio.Future[None]]", error: Exception | None) -> None:
    for done in waiting:
        if done.done():  # its caller has gone
            continue
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(_unavailable("write", error))


def _unavailable(what: str, error: Exception) -> Unavailable:
    return Unavailable(
        f"cannot {what} the journal: {error}", hint="check that the disk has room and that the file is yours"
    )
