"""Records are written whole, read whatever lies there, and logs go when they are too old or too much."""

import json
import os
import time
from pathlib import Path

import pytest

from fourhands.host import archive
from fourhands.host.archive import LogArchive
from fourhands.host.paths import WorkspaceDirs

DAY = 86400


@pytest.fixture
def places(tmp_path: Path) -> WorkspaceDirs:
    there = WorkspaceDirs(str(tmp_path), f"{tmp_path}/run/w", f"{tmp_path}/state/w")
    there.prepare()
    return there


def put(places: WorkspaceDirs, name: str, *, closed: float | None = None, size: int = 4096) -> None:
    record: archive.Record = {"id": name}
    if closed is not None:
        record["closed"] = time.time() - closed
    archive.write(places, record)
    Path(places.log(name)).write_bytes(b"x" * size)


def left(places: WorkspaceDirs) -> list[str]:
    return sorted(name for name in os.listdir(places.state))


def test_a_record_is_read_back_and_is_for_the_owner_only(places: WorkspaceDirs) -> None:
    archive.write(places, {"id": "term_a", "n": 1})
    archive.write(places, {"id": "term_a", "n": 2})
    assert archive.read(places) == [{"id": "term_a", "n": 2}]
    assert os.stat(places.record("term_a")).st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"id": 5}', '{"id": "term_other"}', '{"id": "../../x"}', "[" * 100_000, "\ud800"],
    ids=lambda text: text[:20].encode("utf-8", "backslashreplace").decode(),
)
def test_a_record_that_makes_no_sense_is_passed_over(places: WorkspaceDirs, text: str) -> None:
    Path(places.record("term_bad")).write_bytes(text.encode("utf-8", "surrogatepass"))
    os.mkdir(places.record("term_dir"))
    archive.write(places, {"id": "term_good"})
    assert archive.read(places) == [{"id": "term_good"}]
    assert LogArchive(places).open() == []


def test_logs_go_when_they_are_too_old(places: WorkspaceDirs) -> None:
    put(places, "term_old", closed=8 * DAY)
    put(places, "term_new", closed=6 * DAY)
    put(places, "term_open")
    assert LogArchive(places).open() == ["term_old"]
    assert left(places) == ["term_new.json", "term_new.log", "term_open.json", "term_open.log"]


def test_the_oldest_logs_go_when_there_are_too_many_bytes(places: WorkspaceDirs) -> None:
    for age, name in enumerate(("term_d", "term_c", "term_b", "term_a")):
        put(places, name, closed=age * 60.0, size=100_000)
    put(places, "term_open", size=500_000)
    kept = LogArchive(places, keep_bytes=250_000)
    assert kept.open() == ["term_a", "term_b"]
    put(places, "term_e", closed=0, size=100_000)
    assert kept.put("term_e", time.time()) == ["term_c"]
    assert "term_open.log" in left(places)


def test_holes_do_not_count(places: WorkspaceDirs) -> None:
    put(places, "term_a", closed=1)
    os.truncate(places.log("term_a"), 10**12)
    assert LogArchive(places, keep_bytes=10**6).open() == []


def test_what_a_crash_left_half_done_is_swept(places: WorkspaceDirs) -> None:
    for name in ("term_a.json.new", "term_b.log.new", "term_young.log", "term_old.log", "host.log"):
        Path(f"{places.state}/{name}").touch()
    os.utime(f"{places.state}/term_old.log", (0, 0))
    os.utime(f"{places.state}/host.log", (0, 0))
    LogArchive(places).open()
    assert left(places) == ["host.log", "term_young.log"]


def test_a_log_that_is_gone_already_does_no_harm(places: WorkspaceDirs) -> None:
    put(places, "term_a", closed=30 * DAY)
    os.unlink(places.log("term_a"))
    assert LogArchive(places).open() == ["term_a"]


@pytest.mark.parametrize("closed", ["yesterday", float("nan"), True, [1]])
def test_a_strange_time_of_closing_counts_as_old(places: WorkspaceDirs, closed: object) -> None:
    Path(places.record("term_a")).write_text(json.dumps({"id": "term_a", "closed": closed}))
    assert LogArchive(places).open() == ["term_a"]


def test_age_is_that_of_the_record(places: WorkspaceDirs) -> None:
    put(places, "term_a")
    assert not archive.is_old(places, {"id": "term_a"})
    os.utime(places.record("term_a"), (0, 0))
    assert archive.is_old(places, {"id": "term_a"})
    assert not archive.is_old(places, {"id": "term_none"})


def test_a_record_that_grows_and_shrinks_is_whole_each_time(places: WorkspaceDirs) -> None:
    for size in (10, 3000, 5, 5000, 20_000, 7, 4000):
        record: archive.Record = {"id": "term_a", "text": "x" * size}
        archive.write(places, record)
        assert archive.read(places) == [record]
    assert left(places) == ["term_a.json"]
