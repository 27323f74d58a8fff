"""What somebody is told to type is what runs."""

import sys
from pathlib import Path

import pytest

from fourhands.core.invocation import typed


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in an environment of its own, started by its path, in a workspace that holds it."""
    path = tmp_path / "work" / ".venv" / "bin" / "fourhands"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(path)])
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(tmp_path / "work")
    return path


def test_what_the_search_path_leads_to_is_called_by_its_name(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"/usr/bin:{script.parent}")
    assert typed() == "fourhands"


def test_another_one_on_the_search_path_is_not_taken_for_it(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = script.parents[3] / "fourhands"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(other.parent))
    assert typed() == ".venv/bin/fourhands"


def test_it_is_called_by_its_path_from_where_somebody_is(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert typed() == ".venv/bin/fourhands"
    monkeypatch.setattr(sys, "argv", [".venv/bin/fourhands"])
    assert typed() == typed(str(script.parents[2])) == ".venv/bin/fourhands"
    assert typed("/usr") == str(script)


def test_a_path_that_a_shell_would_split_is_quoted(script: Path) -> None:
    spaced = script.parents[2].rename(script.parents[3] / "four hands")
    sys.argv[0] = str(spaced / ".venv" / "bin" / "fourhands")
    assert typed("/usr") == f"'{sys.argv[0]}'"


def test_a_module_is_called_as_one(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/x/fourhands/__main__.py"])
    monkeypatch.setattr(sys, "executable", str(script))  # the program beside it counts
    assert typed() == ".venv/bin/fourhands"
    script.unlink()
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3")
    assert typed() == "/usr/bin/python3 -m fourhands"
