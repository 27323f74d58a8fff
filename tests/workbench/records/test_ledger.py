import os
import sqlite3
import stat
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fourhands.core.call import Actor, Call, Decision, JournalEntry, Result
from fourhands.safety.redaction.redactor import redact as safety_redact
from fourhands.workbench.records import ledger
from fourhands.workbench.records.ledger import ARGS_LIMIT, RESULT_LIMIT, Before, JournalQuery, Ledger
from fourhands.workbench.records.redacted_json import TEXT_LIMIT

AGENT = Actor.agent("s1", "Ada")


def entry(
    number: int = 1, *, asked: float = 100.0, command: str = "openspace.file.read", **args: object
) -> JournalEntry:
    call = Call(command=command, args=args, actor=AGENT, origin="block", answer_id="r1")
    result = Result(success=True, data={"n": number}, duration_ms=1.5, call_id=call.id, number=number, isolation="none")
    verdict = Decision(level="unknown", reason="why", choice="once", by="person")
    return JournalEntry(call=call, verdict=verdict, number=number, result=result, asked=asked, finished=asked + 1)


def test_an_entry_comes_back_as_it_was(tmp_path: Path):
    store = Ledger(tmp_path / "journal.db")
    made = entry(path="ä.py", deep={"list": [1, 2.5, None, True]})
    store.write([made])
    assert ledger.read(store.path) == [made]
    store.close()
    assert ledger.read(store.path) == [made]


def test_only_the_owner_can_read_it(tmp_path: Path):
    before = os.umask(0)
    try:
        store = Ledger(tmp_path / "state" / "journal.db")
        store.write([entry()])
    finally:
        os.umask(before)
    for name in os.listdir(tmp_path / "state"):
        assert stat.S_IMODE((tmp_path / "state" / name).stat().st_mode) == 0o600, name
    store.close()


def test_what_began_is_there_until_its_end_replaces_it(tmp_path: Path):
    store = Ledger(tmp_path / "journal.db")
    made = entry()
    begun = JournalEntry(call=made.call, number=1, asked=made.asked)
    store.write([begun])
    [found] = ledger.read(store.path)
    assert found.result is None
    assert found.finished is None
    store.write([made])
    assert ledger.read(store.path) == [made]
    store.close()


def test_an_id_used_twice_rewrites_nothing(tmp_path: Path):
    store = Ledger(tmp_path / "journal.db")
    made = entry(1)
    forged = JournalEntry(call=made.call, number=2, result=Result(success=False, code="x"), asked=200.0, finished=200.0)
    again = JournalEntry(
        call=made.call, number=1, result=Result(success=False, code="x"), asked=made.asked, finished=1.0
    )
    store.write([made, again, forged])
    assert [found.result and found.result.code for found in ledger.read(store.path)] == ["", "x"]
    store.close()


def test_a_call_that_has_ended_is_never_rewritten(tmp_path: Path):
    store = Ledger(tmp_path / "journal.db")
    first = entry(1)
    store.write([first])
    store.write([msgspec.structs.replace(first, result=Result(success=False, error="another"), finished=999.0)])
    assert ledger.read(store.path) == [first]
    store.close()


def test_entries_are_found_by_session_time_command_and_id(tmp_path: Path):
    store = Ledger(tmp_path / "journal.db")
    entries = [entry(n, asked=100.0 + n, command=f"openspace.{'file' if n % 2 else 'pane'}.list") for n in range(10)]
    mine = JournalEntry(call=Call(command="openspace.pane.list", actor=Actor.person()), number=1, asked=500.0)
    store.write([*entries, mine])
    assert ledger.read(store.path, JournalQuery(session="s1"), None) == entries
    assert ledger.read(store.path, JournalQuery(since=105.0, session="s1")) == entries[5:]
    assert ledger.read(store.path, JournalQuery(command="openspace.file.", session="s1")) == entries[1::2]
    assert ledger.read(store.path, JournalQuery(command="openspace.file.list")) == entries[1::2]
    assert ledger.read(store.path, JournalQuery(command="openspace.fil")) == []
    assert ledger.read(store.path, JournalQuery(call_id=mine.call.id)) == [mine]
    assert ledger.read(store.path, limit=3) == [*entries[-2:], mine]
    assert list(ledger.walk(store.path)) == [*entries, mine]
    assert (ledger.last_number(store.path, "s1"), ledger.last_number(store.path, "s9")) == (9, 0)
    store.close()


def test_before_contents_are_kept_whole_and_the_first_counts(tmp_path: Path):
    store = Ledger(tmp_path / "journal.db", lambda text: "[redacted]")
    content = os.urandom(100_000)
    store.write([Before("c1", "a.bin", content), Before("c1", "new.txt", None), Before("c1", "a.bin", b"later")])
    assert ledger.read_before(store.path, "c1") == {"a.bin": content, "new.txt": None}
    assert ledger.read_before(store.path, "c2") == {}
    store.close()


def redact(text: str) -> str:
    return text.replace("hunter2", "[redacted:password]").replace("TOKEN=abc", "TOKEN=[redacted:value]")


def test_no_secret_is_stored_wherever_it_stands(tmp_path: Path):
    store = Ledger(tmp_path / "journal.db", redact)
    made = entry(
        text="login hunter2",
        env={"TOKEN": "abc", "PORT": "80", "GONE": None},
        pairs=[{"name": "TOKEN", "value": "abc"}],
        deep=[{"a": ["hunter2"]}],
    )
    failed = Result(success=False, error="no hunter2 here", hint="try hunter2", data={"x": "hunter2"})
    store.write(
        [JournalEntry(call=made.call, result=failed, asked=1.0, finished=2.0, verdict=Decision(reason="hunter2"))]
    )
    [found] = ledger.read(store.path)
    assert found.call.args["text"] == "login [redacted:password]"
    assert found.call.args["env"] == {"TOKEN": "[redacted:value]", "PORT": "80", "GONE": None}
    assert found.call.args["pairs"] == [{"name": "TOKEN", "value": "[redacted:value]"}]
    store.close()
    for file in tmp_path.iterdir():
        assert b"hunter2" not in file.read_bytes()
        assert b"abc" not in file.read_bytes()


def test_a_key_in_a_list_of_its_lines_is_not_stored(tmp_path: Path):
    secret = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" * 2
    lines = ["-----BEGIN PRIVATE KEY-----", secret, "-----END PRIVATE KEY-----"]
    store = Ledger(tmp_path / "journal.db", safety_redact)
    store.write([entry(lines=["before", *lines, "after"])])
    [found] = ledger.read(store.path)
    kept = found.call.args["lines"]
    assert isinstance(kept, list)
    assert (kept[0], kept[-1]) == ("before", "after")
    store.close()
    assert all(secret.encode() not in file.read_bytes() for file in tmp_path.iterdir())


def test_the_name_of_a_pair_is_cleaned_like_any_other_text(tmp_path: Path):
    store = Ledger(tmp_path / "journal.db", redact)
    store.write([entry(one={"name": "hunter2", "value": 1}, two={"name": "half \ud800", "value": "x"})])
    found = ledger.read(store.path)[0].call.args
    assert found == {
        "one": {"name": "[redacted:password]", "value": 1},
        "two": {"name": "half \\ud800", "value": "x"},
    }
    store.close()


def test_a_long_text_is_cut_and_a_secret_at_the_cut_is_still_removed(tmp_path: Path):
    store = Ledger(tmp_path / "journal.db", redact)
    store.write([entry(text="x" * (TEXT_LIMIT - 3) + "hunter2" + "y" * 1_000_000)])
    text = str(ledger.read(store.path)[0].call.args["text"])
    assert len(text) < TEXT_LIMIT + 100
    assert "hun" not in text
    assert text.endswith(f"…[{TEXT_LIMIT + 1_000_004} characters]")
    store.close()


def test_a_large_result_is_kept_short_and_says_what_is_missing(tmp_path: Path):
    store = Ledger(tmp_path / "journal.db", redact)
    data = {
        "output": [f"line {n}" for n in range(100_000)],
        "text": "hunter2" * 100_000,
        "more": {f"key {n}": n for n in range(100_000)},
        "last": 1,
    }
    made = entry(lines=["x" * 1000] * 10_000)
    result = Result(success=True, data=data)
    store.write([JournalEntry(call=made.call, result=result, asked=1.0, finished=2.0)])
    [found] = ledger.read(store.path)
    assert found.result is not None
    output = found.result.data["output"]
    assert isinstance(output, list)
    assert output[:2] == ["line 0", "line 1"]
    assert output[-1] == f"…[{100_000 - (len(output) - 1)} more]"
    size = len(msgspec.json.encode(found.result.data))
    assert RESULT_LIMIT / 2 < size < RESULT_LIMIT * 1.5
    assert size < len(msgspec.json.encode(found.call.args)) < ARGS_LIMIT * 1.5
    assert "hunter2" not in str(found.result.data)
    store.close()


def test_a_result_that_is_short_is_kept_whole(tmp_path: Path):
    store = Ledger(tmp_path / "journal.db")
    data: dict[str, object] = {"a": [1, 2.5, None, True], "b": {"name": "x"}, "c": "text" * 1000}
    made = entry(path="a.txt")
    store.write([JournalEntry(call=made.call, result=Result(success=True, data=data), asked=1.0, finished=2.0)])
    [found] = ledger.read(store.path)
    assert found.result is not None
    assert found.result.data == data
    store.close()


def test_values_without_a_json_form_are_stored_all_the_same(tmp_path: Path):
    store = Ledger(tmp_path / "journal.db")
    store.write([entry(odd="\ud800", big=10**40, nan=float("nan"), thing=object, keys={3: {1, 2}})])
    [found] = ledger.read(store.path)
    assert found.call.args["odd"] == "\\ud800"
    assert found.call.args["big"] == 10**40
    assert found.call.args["nan"] == "nan"
    assert found.call.args["keys"] == {"3": [1, 2]}
    store.close()


def test_old_entries_and_too_many_contents_are_dropped(tmp_path: Path):
    store = Ledger(tmp_path / "journal.db")
    store.write([entry(n, asked=float(n)) for n in range(10)])
    store.write([Before(f"c{n}", "a", os.urandom(1000)) for n in range(10)])
    store.prune(5.0, 3500)
    assert [found.number for found in ledger.read(store.path)] == [5, 6, 7, 8, 9]
    kept = [n for n in range(10) if ledger.read_before(store.path, f"c{n}")]
    assert kept == [7, 8, 9]
    store.prune(1e12, 3500)
    assert ledger.read(store.path) == []
    assert ledger.read_before(store.path, "c9") == {}
    store.close()


def test_a_disk_that_is_really_full_leaves_what_is_there_and_room_made_is_used(tmp_path: Path):
    opened: list[sqlite3.Connection] = []

    def connect(*args: Any, **more: Any) -> sqlite3.Connection:
        opened.append(sqlite3.connect(*args, **more))
        return opened[0]

    store = Ledger(tmp_path / "journal.db", connect=connect)
    store.write([entry(number, text="x" * 10_000) for number in range(20)])
    [pages] = opened[0].execute("PRAGMA page_count").fetchone()
    opened[0].execute(f"PRAGMA max_page_count = {pages}")  # as far as SQLite knows, the disk ends here
    with pytest.raises(sqlite3.OperationalError, match="full"):
        store.write([entry(99, text="x" * 60_000)])
    assert len(ledger.read(store.path)) == 20
    store.prune(0.0, 0, 100_000)
    store.write([entry(99, text="x" * 60_000)])
    kept = [found.number for found in ledger.read(store.path)]
    assert kept[-1] == 99
    assert 5 < len(kept) < 12
    store.close()


def test_a_group_is_stored_whole_or_not_at_all(tmp_path: Path):
    store = Ledger(tmp_path / "journal.db")
    bad = entry(2)
    with pytest.raises(OverflowError):
        store.write([entry(1), JournalEntry(call=bad.call, number=2**70, asked=1.0)])
    assert ledger.read(store.path) == []
    store.write([entry(3)])
    assert len(ledger.read(store.path)) == 1
    store.close()


def test_of_a_calls_beginning_and_end_in_one_group_the_first_end_is_stored(tmp_path: Path):
    store = Ledger(tmp_path / "journal.db")
    end = entry(1)
    begin = JournalEntry(call=end.call, number=1, asked=end.asked)
    late = JournalEntry(call=end.call, number=1, asked=end.asked, finished=999.0)
    store.write([begin, end, begin, late])
    assert ledger.read(store.path) == [end]
    store.close()


@pytest.mark.parametrize("damage", ["text", "head", "middle", "cut"])
def test_a_damaged_file_is_put_aside_and_what_can_be_read_is_saved(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
):
    path = tmp_path / "journal.db"
    store = Ledger(path)
    store.write([entry(n, asked=float(n), text="x" * 500) for n in range(400)])
    store.write([Before("c1", "a", b"old")])
    store.close()
    size = path.stat().st_size
    with path.open("r+b") as file:
        if damage == "text":
            file.write(b"this is not a database" * 100)
        elif damage == "head":
            file.seek(100)
            file.write(b"\xff" * 200)
        elif damage == "middle":
            file.seek(size // 2 // 4096 * 4096)
            file.write(b"\xff" * 8192)
        else:
            file.truncate(size // 2)
    store = Ledger(path)
    assert "was damaged" in caplog.text
    assert any("damaged-" in name for name in os.listdir(tmp_path))
    store.write([entry(1000, asked=1e6)])
    found = [saved.number for saved in ledger.read(path, limit=None)]
    assert found[-1] == 1000
    assert found == sorted(set(found))
    if damage in ("middle", "cut"):
        assert len(found) > 100
    if damage == "middle":
        assert 399 in found
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    store.close()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.floats(0, 0.999), st.binary(min_size=1, max_size=600)), min_size=1, max_size=4))
def test_no_damage_stands_in_the_way_of_starting(tmp_path: Path, hits: list[tuple[float, bytes]]):
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        path = Path(folder) / "journal.db"
        store = Ledger(path)
        store.write([entry(n, asked=float(n), text="x" * 100) for n in range(60)])
        store.write([Before("c1", "a", b"old")])
        store.close()
        content = bytearray(path.read_bytes())
        for place, damage in hits:
            start = int(place * len(content))
            content[start : start + len(damage)] = damage
        path.write_bytes(content)
        store = Ledger(path)
        store.write([last := entry(1000, asked=1e12)])
        assert ledger.read(path, JournalQuery(call_id=last.call.id)) == [last]
        assert last in ledger.read(path, limit=None)
        store.close()


def test_a_torn_tail_of_the_wal_is_dropped_and_the_rest_stays(tmp_path: Path):
    path, copy = tmp_path / "journal.db", tmp_path / "copy.db"
    store = Ledger(path)
    for number in range(20):
        store.write([entry(number, asked=float(number))])
    wal = Path(f"{path}-wal").read_bytes()
    copy.write_bytes(path.read_bytes())
    Path(f"{copy}-wal").write_bytes(wal[:-1000] + b"\0" * 500)  # as a power failure leaves it
    store.close()
    store = Ledger(copy)
    found = [saved.number for saved in ledger.read(copy)]
    assert found == list(range(len(found)))
    assert len(found) in (18, 19)
    store.close()


def test_an_empty_file_is_a_new_journal(tmp_path: Path):
    path = tmp_path / "journal.db"
    path.touch()
    store = Ledger(path)
    store.write([entry()])
    store.close()
    assert os.listdir(tmp_path) == ["journal.db"]
    assert len(ledger.read(path)) == 1


def test_a_file_that_is_not_at_fault_is_left_where_it_is(tmp_path: Path):
    path = tmp_path / "journal.db"
    path.mkdir()
    with pytest.raises((sqlite3.Error, OSError)):
        Ledger(path)
    assert path.is_dir()
