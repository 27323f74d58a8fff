"""The table of guards that `make mutate` breaks fits the tree, and a guard that nothing notices is reported."""

import dataclasses
from pathlib import Path

import pytest
from scripts import mutate
from scripts.mutate import Mutant

GUARD = Mutant("area", "src/guard.py", "if allowed:", "if True:", "tests/test_guard.py::test_refused")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in {
        GUARD.file: "if allowed:\n    go()\n",
        "tests/test_guard.py": "def test_refused(): ...\n",
    }.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    return tmp_path


def test_every_row_fits_the_tree() -> None:
    assert {str(mutant): why for mutant in mutate.read() if (why := mutate.stale(mutant))} == {}


def test_no_row_is_there_twice() -> None:
    rows = [(mutant.file, mutant.text, mutant.broken) for mutant in mutate.read()]
    assert [row for row in set(rows) if rows.count(row) > 1] == []


def test_a_row_that_fits_is_not_stale(root: Path) -> None:
    assert mutate.stale(GUARD, root) == ""


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"file": "src/other.py"}, "the file does not exist"),
        ({"text": "if forbidden:"}, "occurs 0 times"),
        ({"text": "o"}, "occurs 2 times"),
        ({"broken": "if allowed:"}, "nothing is changed"),
        ({"text": ""}, "nothing is changed"),
        ({"test": "tests/test_other.py"}, "there is no test"),
        ({"test": ""}, "there is no test"),
        ({"test": "tests/test_guard.py::test_allowed[x]"}, "has no test_allowed"),
    ],
)
def test_a_row_that_does_not_fit_is_stale(root: Path, change: dict[str, str], reason: str) -> None:
    assert reason in mutate.stale(dataclasses.replace(GUARD, **change), root)


# ---- a run, on a tree of one guard ----------------------------------------------------------------------------------

GUARDED = """def may(name):
    if name == "agent":
        return False
    return True
"""
TESTS = """import sys
sys.path.insert(0, "src")
from guarded import may
def test_refused():
    assert not may("agent")
def test_nothing():
    assert may("person")
def test_wrong():
    assert may("agent")
"""


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_a_run_tells_what_is_noticed_from_what_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in {"src/guarded.py": GUARDED, "tests/test_guarded.py": TESTS}.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    guard = Mutant("area", "src/guarded.py", "return False", "return True ", "tests/test_guarded.py::test_refused")
    rows = {
        "noticed": guard,
        "survives": dataclasses.replace(guard, test="tests/test_guarded.py::test_nothing"),
        "the test fails without it": dataclasses.replace(guard, test="tests/test_guarded.py::test_wrong"),
        "nothing could be tested": dataclasses.replace(guard, broken="return ("),
    }
    run = mutate.Run(list(rows.values()), jobs=2, source=tmp_path)
    run.go()
    printed = capsys.readouterr().out
    assert [outcome for outcome in rows if outcome not in printed] == []
    assert len(run.wrong) == 3
    assert (tmp_path / "src" / "guarded.py").read_text() == GUARDED
