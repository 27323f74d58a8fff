"""The SQLite file behind the journal: its rows, its repair, its retention. Blocking; not for the event loop.

There is one row per call. It is written when the command starts and again when it has ended; a row without an end
belongs to a command during which the program died. A damaged database is moved aside, what can be read of it is copied
into a new one, and a warning reports how much that was: the journal never stands in the way of starting.

Age is counted in days of use, not by the clock: each day on which the journal was open is one row, and what is older
than so many of them goes. A clock that jumps a hundred years ahead is one more day, and drops nothing; a workbench that
rested for months finds its past. Bytes are what bounds the file.
"""

import functools
import json
import logging
import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from fourhands.core.call import Call, Decision, JournalEntry, Result
from fourhands.core.text import quote
from fourhands.workbench.records.redacted_json import Redact, redacted_json, storable

ARGS_LIMIT = 256 << 10
"""Characters kept of all arguments of a call."""

RESULT_LIMIT = 16 << 10
"""Characters kept of a result: what was read can be read again."""

ConnectDatabase = Callable[..., sqlite3.Connection]
_Row = tuple[object, ...]

log = logging.getLogger(__name__)
_NONSENSE = (ValueError, TypeError, OverflowError, AttributeError, msgspec.MsgspecError, zlib.error)
_COLUMNS = (
    "id, asked, session, number, actor, origin, answer_id, command, args, verdict, success, code, result, finished, "
    "turn, checkpoint_before, checkpoint_after"
)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS call (
    id TEXT, asked REAL, session TEXT, number INTEGER, actor TEXT, origin TEXT, answer_id TEXT, command TEXT, args TEXT,
    verdict TEXT, success INTEGER, code TEXT, result TEXT, finished REAL, turn TEXT DEFAULT '',
    checkpoint_before TEXT DEFAULT '', checkpoint_after TEXT DEFAULT '', UNIQUE (id, asked)
);
CREATE INDEX IF NOT EXISTS call_by_time ON call (asked);
CREATE INDEX IF NOT EXISTS call_by_session ON call (session, asked);
CREATE INDEX IF NOT EXISTS call_by_number ON call (session, number);
CREATE TABLE IF NOT EXISTS before (call_id TEXT, path TEXT, content BLOB, time REAL, UNIQUE (call_id, path));
CREATE INDEX IF NOT EXISTS before_by_time ON before (time);
CREATE TABLE IF NOT EXISTS day (number INTEGER PRIMARY KEY AUTOINCREMENT, day INTEGER UNIQUE);
"""
# Unique by id and time: a caller that uses an id twice adds a row and cannot rewrite the first.
_PUT = f"""
INSERT INTO call ({_COLUMNS}) VALUES ({", ".join("?" * 17)}) ON CONFLICT (id, asked) DO UPDATE SET
args = excluded.args, verdict = excluded.verdict, success = excluded.success, code = excluded.code,
result = excluded.result, finished = excluded.finished, turn = excluded.turn,
checkpoint_before = excluded.checkpoint_before WHERE call.finished IS NULL
"""
# The first content counts: a command that writes a file twice is undone to what was there before it.
_KEEP = "INSERT OR IGNORE INTO before (call_id, path, content, time) VALUES (?, ?, ?, ?)"
_END = "UPDATE call SET checkpoint_after = ? WHERE turn = ?"
_NAMES = "SELECT CAST(name AS BLOB) FROM pragma_table_info('call')"
_ADDED = ("turn", "checkpoint_before", "checkpoint_after")  # columns that older journals do not have
_DAY_S = 86_400
_ROW_BYTES = 300  # what a row takes beside its long texts, with its place in the indexes
_SIZES = {
    "call": "length(CAST(args AS BLOB)) + length(CAST(verdict AS BLOB)) + length(CAST(coalesce(result, '') AS BLOB))",
    "before": "coalesce(length(content), 0)",
}


@dataclass(frozen=True, slots=True)
class Before:
    """The contents of a file before a call changed it; None: it did not exist."""

    call_id: str
    path: str
    content: bytes | None


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """The end of a turn: the checkpoint after it, for all its calls."""

    turn: str
    checkpoint: str


@dataclass(frozen=True, slots=True)
class JournalQuery:
    """A selection of entries; `command` ending in a dot means all of that noun."""

    session: str | None = None
    since: float | None = None
    command: str | None = None
    call_id: str | None = None

    def where(self) -> tuple[str, list[object]]:
        """Return the SQL condition and its values."""
        terms, values = ["1"], list[object]()
        if self.session is not None:
            terms.append("session = ?")
            values.append(self.session)
        if self.since is not None:
            terms.append("asked >= ?")
            values.append(self.since)
        if self.call_id is not None:
            terms.append("id = ?")
            values.append(self.call_id)
        if self.command is not None:
            prefix = self.command.endswith(".")
            terms.append("substr(command, 1, ?) = ?" if prefix else "command = ?")
            values += [len(self.command), self.command] if prefix else [self.command]
        return " AND ".join(terms), values


_WHOLE_CHECK_BYTES = 64 << 20
_WAL_BYTES = 16 << 20


class Ledger:
    """The writing side. Used by one thread at a time."""

    def __init__(
        self,
        path: Path,
        redact: Redact | None = None,
        *,
        synchronous: str = "FULL",
        connect: ConnectDatabase = sqlite3.connect,
    ) -> None:
        self.path = path
        self._connect_to = connect
        self._redact = redact or (lambda text: text)
        self._synchronous = synchronous
        # The same few actors stand in all rows.
        self._actor = functools.lru_cache(256)(lambda actor: self._json(msgspec.to_builtins(actor)))
        self._connection = self._open()
        self.grown = 0
        """Bytes stored since the last pruning."""

    def write(self, items: Iterable[JournalEntry | Before | TurnEnd]) -> None:
        """Store all of these or none, and return when they would survive a power failure."""
        calls: dict[tuple[str, float], JournalEntry] = {}
        contents: list[_Row] = []
        ends: list[_Row] = []
        for item in items:
            if isinstance(item, JournalEntry):
                known = calls.get(key := (item.call.id, item.asked))
                if known is None or known.finished is None:  # of a call's beginning and end, only the end
                    calls[key] = item
            elif isinstance(item, TurnEnd):
                ends.append((item.checkpoint, item.turn))
            else:
                content = None if item.content is None else zlib.compress(item.content, 1)
                contents.append((storable(item.call_id), storable(item.path), content, time.time()))
        rows = [self._row(entry) for entry in calls.values()]
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            self._connection.executemany(_PUT, rows)
            self._connection.executemany(_KEEP, contents)
            self._connection.executemany(_END, ends)
            self._connection.execute("COMMIT")
            texts = (len(item) for row in (*rows, *contents) for item in row if isinstance(item, str | bytes))
            self.grown += sum(texts) + _ROW_BYTES * (len(rows) + len(contents))
        except BaseException:
            with suppress(sqlite3.Error):  # a full disk may have rolled back already
                self._connection.execute("ROLLBACK")
            raise

    def oldest(self, now: float, days: int) -> float:
        """Return the beginning of the first of the last `days` on which the journal was open, today not counted.

        0 while there have not been so many.
        """
        self._connection.execute("INSERT OR IGNORE INTO day (day) VALUES (?)", (int(now // _DAY_S),))
        last = "SELECT number, day FROM day ORDER BY number DESC LIMIT ?"
        used: list[tuple[int, int]] = self._connection.execute(last, (days + 1,)).fetchall()
        if len(used) <= days:
            return 0.0
        self._connection.execute("DELETE FROM day WHERE number < ?", (used[-1][0],))
        return float(min(day for _, day in used) * _DAY_S)  # not the last one's: the clock may have been set back

    def prune(self, oldest: float, before_limit_bytes: int, limit_bytes: int | None = None) -> None:
        """Drop rows older than `oldest`, and the oldest before-contents and calls beyond their limits."""
        self._connection.execute("DELETE FROM call WHERE asked < ?", (oldest,))
        self._connection.execute("DELETE FROM before WHERE time < ?", (oldest,))
        self._shorten("before", before_limit_bytes)
        if limit_bytes is not None:
            self._shorten("call", limit_bytes)
        self._connection.execute("PRAGMA incremental_vacuum").fetchall()

    def _shorten(self, table: str, limit_bytes: int) -> None:
        """Drop the oldest rows, so that the rest fits the limit."""
        total = 0
        sizes = self._connection.execute(f"SELECT rowid, {_SIZES[table]} FROM {table} ORDER BY rowid DESC")
        for row, size in sizes:
            total += size + (_ROW_BYTES if table == "call" else 0)
            if total > limit_bytes:
                sizes.close()
                self._connection.execute(f"DELETE FROM {table} WHERE rowid <= ?", (row,))
                return

    def close(self) -> None:
        """Fold the WAL into the database and close."""
        with suppress(sqlite3.Error):  # what is committed stays in the WAL, and is read from there
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.close()

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(
            os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        )  # SQLite gives its -wal the same mode
        os.chmod(self.path, 0o600)
        try:
            return self._connect()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # the latter: of a message that names damage
            if isinstance(error, sqlite3.OperationalError) and "malformed" not in str(error):
                raise  # locked, read-only, full: the file itself is not at fault
            return self._repair(error)

    def _connect(self) -> sqlite3.Connection:
        connection = self._connect_to(self.path, isolation_level=None, check_same_thread=False, timeout=5.0)
        connection.text_factory = _decoded  # what is said of damage may name damaged things
        try:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # a new file gives back what is dropped
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")  # what it has after much was dropped
            # The whole check also compares the indexes, and takes a second for 100 MB: then the quick one must do.
            check = "integrity_check" if self.path.stat().st_size < _WHOLE_CHECK_BYTES else "quick_check"
            found = connection.execute(f"PRAGMA {check}(1)").fetchone()
            if found[0] != "ok":
                raise sqlite3.DatabaseError(str(found[0]))
            connection.executescript(_SCHEMA)
            known = {bytes(row[0]).decode("ascii", "replace") for row in connection.execute(_NAMES)}
            missing = set(_COLUMNS.split(", ")) - known
            if missing - set(_ADDED):
                raise sqlite3.DatabaseError("malformed: columns are missing")
            for column in _ADDED:
                if column in missing:
                    connection.execute(f"ALTER TABLE call ADD COLUMN {column} TEXT DEFAULT ''")
            connection.execute("CREATE INDEX IF NOT EXISTS call_by_turn ON call (turn) WHERE turn != ''")
        except BaseException:
            connection.close()
            raise
        return connection

    def _repair(self, error: Exception) -> sqlite3.Connection:
        """Move the damaged files aside under a new name and copy the rows that can be read."""
        aside = self.path.with_name(f"{self.path.stem}.damaged-{time.time_ns()}{self.path.suffix}")
        for ending in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                os.rename(f"{self.path}{ending}", f"{aside}{ending}")
        os.close(os.open(self.path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        connection = self._connect()
        saved = 0
        for table, check in (("call", _entry), ("before", _content)):
            for row in _salvage(aside, table):
                try:
                    check(row)  # a damaged page may well be read, as nonsense
                    names = _COLUMNS.split(", ") if table == "call" else ["call_id", "path", "content", "time"]
                    columns, marks = ", ".join(names[: len(row)]), ", ".join("?" * len(row))
                    connection.execute(f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})", row)
                    saved += 1
                except (sqlite3.Error, *_NONSENSE):
                    continue
        log.warning("the journal %s was damaged (%s); %d rows saved, the rest is in %s", self.path, error, saved, aside)
        return connection

    def _row(self, entry: JournalEntry) -> _Row:
        call, result = entry.call, entry.result
        told = None
        if result is not None:
            rest = {"error": result.error, "hint": result.hint, "durationMs": result.duration_ms}
            told = self._json({**rest, "isolation": result.isolation, "data": result.data}, RESULT_LIMIT)
        return (
            storable(call.id),
            entry.asked,
            None if call.session is None else storable(call.session),
            entry.number,
            self._actor(call.actor),
            call.origin,
            None if call.answer_id is None else storable(call.answer_id),
            storable(call.command),
            self._json(call.args),
            self._json(msgspec.to_builtins(entry.verdict, enc_hook=repr)),
            None if result is None else result.success,
            None if result is None else result.code,
            told,
            entry.finished,
            entry.turn,
            entry.checkpoint_before,
            entry.checkpoint_after,
        )

    def _json(self, value: object, limit: int = ARGS_LIMIT) -> str:
        return redacted_json(value, self._redact, limit)


def read(path: Path, wanted: JournalQuery | None = None, limit: int | None = 100) -> list[JournalEntry]:
    """Return the last `limit` entries (None: all) that are wanted, oldest first; also while another process writes."""
    where, values = (wanted or JournalQuery()).where()
    newest = f"SELECT {_COLUMNS} FROM call WHERE {where} ORDER BY asked DESC, rowid DESC LIMIT ?"
    with closing(_reader(path)) as connection:
        rows = connection.execute(newest, [*values, -1 if limit is None else limit]).fetchall()
    return list(_entries(reversed(rows)))


def walk(path: Path, wanted: JournalQuery | None = None) -> Iterator[JournalEntry]:
    """Yield all wanted entries, oldest first, without holding them in memory."""
    where, values = (wanted or JournalQuery()).where()
    with closing(_reader(path)) as connection:
        oldest = f"SELECT {_COLUMNS} FROM call WHERE {where} ORDER BY asked, rowid"
        yield from _entries(connection.execute(oldest, values))


def read_before(path: Path, call_id: str) -> dict[str, bytes | None]:
    """Return the contents of the files that a call changed, from before it, by path."""
    with closing(_reader(path)) as connection:
        rows = connection.execute("SELECT path, content FROM before WHERE call_id = ?", (call_id,)).fetchall()
    return dict(_content(("", *row)) for row in rows)


def last_number(path: Path, session: str) -> int:
    """Return the number of a session's last call, 0 if there is none."""
    with closing(_reader(path)) as connection:
        found = connection.execute("SELECT max(number) FROM call WHERE session = ?", (session,)).fetchone()
    return int(found[0] or 0)


def _reader(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5.0)
    connection.text_factory = _decoded
    return connection


def _entries(rows: Iterable[_Row]) -> Iterator[JournalEntry]:
    """Yield the entries of the rows; one that the disk has changed is left out and must not hide the others."""
    for row in rows:
        try:
            yield _entry(row)
        except _NONSENSE:
            log.warning("cannot read a row of the journal: %s", quote(row[0]))


def _entry(row: _Row) -> JournalEntry:
    (id, asked, _, number, actor, origin, answer_id, command, args, verdict, success, code, told, finished, *ends) = row
    rest = json.loads(str(told)) if told else {}
    call = {"id": id, "command": command, "args": json.loads(str(args)), "actor": json.loads(str(actor))}
    call |= {"origin": origin, "answerId": answer_id}
    result = {**rest, "success": bool(success), "code": code, "callId": id, "number": number}
    return JournalEntry(
        call=msgspec.convert(call, Call),
        verdict=msgspec.convert(json.loads(str(verdict)), Decision),
        number=msgspec.convert(number, int),
        result=msgspec.convert(result, Result) if told else None,
        asked=msgspec.convert(asked, float),
        finished=msgspec.convert(finished, float | None),
        **{column: str(value or "") for column, value in zip(_ADDED, ends, strict=False)},
    )


def _content(row: _Row) -> tuple[str, bytes | None]:
    _, path, content, *_ = row
    if not isinstance(path, str) or not isinstance(content, bytes | None):
        raise TypeError("not a content")
    return path, None if content is None else zlib.decompress(content)


def _salvage(path: Path, table: str) -> Iterator[_Row]:
    """Yield the rows of a damaged table that can be read: from the front to the damage, then from the back to it."""
    last = 0
    for order in ("", " DESC"):
        try:
            with closing(sqlite3.connect(path, isolation_level=None)) as connection:
                connection.text_factory = _decoded
                connection.execute("PRAGMA writable_schema = ON")  # else a file that was cut is refused as a whole
                for rowid, *row in connection.execute(
                    f"SELECT rowid, * FROM {table} NOT INDEXED ORDER BY rowid{order}"
                ):
                    if order and rowid <= last:
                        return
                    last = last if order else rowid
                    yield tuple(row)
                return
        except (sqlite3.Error, OverflowError, UnicodeDecodeError):  # the last: of the name of a column
            continue


def _decoded(stored: bytes) -> str:
    return stored.decode("utf-8", "replace")  # a byte that the disk has changed must not hide the other rows
