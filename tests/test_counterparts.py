"""The table of real counterparts in docs/agents.md is of the programs, errands and versions that there are now."""

from pathlib import Path

import pytest
from tests.kit.counterparts import table
from tests.kit.counterparts.errands import ERRANDS


def test_the_table_is_up_to_date() -> None:
    assert table.stale() == [], "docs/agents.md is stale: run make counterparts"
    assert len(table.written()) == 1 + len(table.rows()) == 31


def test_another_version_and_a_cell_that_is_no_result_make_it_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = table.MANUAL.read_text()
    changed = tmp_path / "agents.md"
    monkeypatch.setattr(table, "MANUAL", changed)
    (row, *_) = table.rows()
    line = " | ".join(row.key)
    for old, new, problem in (
        (line, line.replace(row.version, "0.0.1"), "it lacks"),
        (f"| {ERRANDS[1]} |", "| an errand |", "its head is"),
        (f"| {line} | ", f"| {line} | well ", "is no result"),
        (table.BEGIN, "", "it lacks"),
    ):
        assert text.count(old) == 1, old
        changed.write_text(text.replace(old, new))
        assert any(problem in found for found in table.stale()), new
