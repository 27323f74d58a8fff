"""The word that a person is told to type is the one that runs the program."""

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
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(tmp_path / "work")
    return path


def test_what_the_search_path_leads_to_is_called_by_its_name(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"/usr/bin:{script.parent}")
    assert typed(started=str(script)) == "fourhands"


def test_another_one_on_the_search_path_is_not_taken_for_it(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = script.parents[3] / "fourhands"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(other.parent))
    assert typed(started=str(script)) == ".venv/bin/fourhands"


def test_it_is_called_by_its_path_from_where_a_person_is(script: Path) -> None:
    assert typed(started=str(script)) == ".venv/bin/fourhands"
    near = ".venv/bin/fourhands"
    assert typed(started=near) == typed(str(script.parents[2]), started=near) == near
    assert typed("/usr", started=near) == str(script)


def test_a_path_that_a_shell_would_split_is_quoted(script: Path) -> None:
    spaced = script.parents[2].rename(script.parents[3] / "four hands")
    started = str(spaced / ".venv" / "bin" / "fourhands")
    assert typed("/usr", started=started) == f"'{started}'"


def test_a_module_is_called_as_one(script: Path) -> None:
    module = "/x/fourhands/__main__.py"
    assert typed(started=module, python=str(script)) == ".venv/bin/fourhands", "the program beside its Python counts"
    script.unlink()
    assert typed(started=module, python="/usr/bin/python3") == "/usr/bin/python3 -m fourhands"


def test_without_a_word_about_it_the_program_is_this_process() -> None:
    assert typed() == typed(started=sys.argv[0], python=sys.executable)
