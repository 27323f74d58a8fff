"""Who typed where, and what agents do not see, also for the next server."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourhands.workbench.terminals.authorship import Authorship, AuthorSpan, sweep


def authors(well: Authorship) -> list[tuple[int, str]]:
    return [(mark.position, mark.actor) for mark in well.marks]


def test_authors_change_by_position() -> None:
    well = Authorship()
    assert well.author(0) is None
    well.mark(10, "person", "person")
    well.mark(20, "person", "person")
    well.mark(30, "agent1", "agent")
    assert authors(well) == [(10, "person"), (30, "agent1")]
    assert well.author(9) is None
    assert isinstance(found := well.author(29), AuthorSpan)
    assert found.actor == "person"
    assert (last := well.author(10**9)) is not None
    assert last.kind == "agent"
    well.mark(30, "person", "person")  # nothing was printed in between
    assert authors(well) == [(10, "person"), (30, "person")]


def test_each_line_has_a_mark_of_its_own() -> None:
    well = Authorship()
    well.mark(10, "person", "person")
    well.mark(11, "person", "person", ends_line=True)
    well.mark(30, "person", "person")
    well.mark(31, "person", "person")
    well.mark(40, "agent1", "agent", ends_line=True)
    well.mark(60, "agent1", "agent", ends_line=True)
    assert authors(well) == [(10, "person"), (30, "person"), (40, "agent1"), (60, "agent1")]


def test_hidden_ranges_are_not_visible() -> None:
    well = Authorship()
    assert well.visible(0, 100) == [(0, 100)]
    assert well.visible(5, 5) == []
    well.hide(10)
    assert well.visible(0, 100) == [(0, 10)]
    assert well.visible(20, 30) == []
    well.reveal(20)
    well.hide(40)
    well.reveal(40)  # nothing was printed
    well.hide(50)
    well.reveal(60)
    assert well.visible(0, 100) == [(0, 10), (20, 50), (60, 100)]
    assert well.visible(12, 18) == []
    assert well.visible(15, 55) == [(20, 50)]


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=6), st.integers(0, 100), st.integers(0, 100)
)
def test_visible_and_hidden_positions_make_up_the_range(
    lengths: list[tuple[int, int]], start: int, length: int
) -> None:
    well, at, hidden = Authorship(), 0, set[int]()
    for gap, size in lengths:
        well.hide(at + gap)
        at += gap + size
        well.reveal(at)
        hidden |= set(range(at - size, at))
    seen = [position for low, high in well.visible(start, start + length) for position in range(low, high)]
    assert seen == [position for position in range(start, start + length) if position not in hidden]


def test_the_next_server_knows_it_too(tmp_path: Path) -> None:
    path = str(tmp_path / "term_1.ink")
    well = Authorship(path)
    well.mark(10, "person", "person")
    well.hide(20)
    well.reveal(30)
    well.mark(40, "agent1", "agent")
    well.hide(50)
    again = Authorship(path)
    assert again.marks == well.marks
    assert again.hidden_from == 50
    assert again.visible(0, 100) == [(0, 20), (30, 50)]
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_damage_costs_no_more_than_the_damaged_line(tmp_path: Path) -> None:
    path = tmp_path / "term_1.ink"
    well = Authorship(str(path))
    well.mark(10, "a", "person")
    with path.open("ab") as file:
        file.write(b'["ink", "x"]\n\xff\xfe{]\n["ink", 20, "b", "ag')
    assert authors(Authorship(str(path))) == [(10, "a")]


def test_files_stay_bounded(tmp_path: Path) -> None:
    path = tmp_path / "term_1.ink"
    well = Authorship(str(path), kept=10)
    for position in range(500):
        well.mark(position, f"actor{position % 2}", "person")
        well.hide(position)
        well.reveal(position + 1)
    well.hide(1000)
    assert len(well.marks) == 10
    assert path.read_bytes().count(b"\n") <= 61
    again = Authorship(str(path), kept=10)
    assert again.marks == well.marks
    assert again.hidden_from == 1000


def test_what_cannot_be_stored_stops_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    directory = tmp_path / "gone" / "term_1.ink"
    well = Authorship(str(directory))
    well.mark(1, "a", "person")
    assert "cannot be stored" in caplog.text
    (tmp_path / "folder").mkdir()
    assert Authorship(str(tmp_path / "folder")).marks == []


def test_files_go_with_their_terminals(tmp_path: Path) -> None:
    for name in ("term_1.ink", "term_2.ink", "term_2.log", "other.ink"):
        (tmp_path / name).touch()
    sweep(str(tmp_path), ["term_1"])
    assert sorted(one.name for one in tmp_path.iterdir()) == ["other.ink", "term_1.ink", "term_2.log"]
    well = Authorship(str(tmp_path / "term_1.ink"))
    well.forget()
    well.mark(1, "a", "person")
    assert not (tmp_path / "term_1.ink").exists()


def test_what_is_hidden_stays_so_when_its_file_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "term_a.ink"
    well = Authorship(str(path), kept=2)
    well.hide(10)
    well.reveal(20)
    for number in range(20):
        well.mark(100 + number, f"agent {number % 2}", "agent")
    assert len(path.read_text().splitlines()) <= 8
    assert Authorship(str(path), kept=2).visible(0, 30) == [(0, 10), (20, 30)]
