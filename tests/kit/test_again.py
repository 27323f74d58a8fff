"""Tests that failed beside others and are run again: what a whole run says and how it ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

# What fails the first time finds a file the second time.
BEGINNING = """
import pathlib, pytest

def fails_once(name):
    file = pathlib.Path(__file__).with_name(name)
    first = not file.exists()
    file.touch()
    assert not first, "an accident"
"""


def play(directory: Path, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    (directory / "pyproject.toml").write_text("[tool.pytest.ini_options]\ntimeout = 60\n")
    (directory / "test_it.py").write_text(BEGINNING + text)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV"))}
    env |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin,pytest_timeout,tests.kit.again"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words],
        cwd=directory, env={**env, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=100,
    )  # fmt: skip


def test_what_passes_alone_is_flaky_and_the_run_goes_on(tmp_path: Path) -> None:
    text = """
@pytest.fixture
def thing():
    yield
    fails_once("thing")

@pytest.mark.parametrize("word", ["a b::c", "x@y"])
def test_words(word, thing): fails_once(word)
def test_good(): pass
"""
    done = play(tmp_path, text, "-n", "2")
    assert done.returncode == 0, done.stdout
    assert "flaky: test_it.py::test_words[a b::c]" in done.stdout
    assert "flaky: test_it.py::test_words[x@y]" in done.stdout
    assert "an accident" in done.stdout
    assert "1 passed, 2 flaky" in done.stdout
    assert "FAILED" not in done.stdout


def test_what_fails_again_fails_the_run_and_one_of_a_group_is_run_again_with_its_file(tmp_path: Path) -> None:
    text = """
def test_flaky(): fails_once("x")
def test_bad(): assert 0, "for good"
seen = []
@pytest.mark.xdist_group("g")
def test_first(): seen.append(1)
@pytest.mark.xdist_group("g")
def test_second(): assert not seen, "only alone does this pass"
"""
    done = play(tmp_path, text, "-n", "1")
    assert done.returncode == 1
    assert "failed again, alone: test_it.py::test_bad" in done.stdout
    assert "failed again, alone: test_it.py\n" in done.stdout
    assert "flaky: test_it.py::test_flaky" in done.stdout
    assert "2 failed, 1 passed, 1 flaky" in done.stdout


def test_many_failures_are_no_accident_and_without_workers_nothing_is_run_again(tmp_path: Path) -> None:
    done = play(tmp_path, "@pytest.mark.parametrize('n', range(11))\ndef test_bad(n): assert 0\n", "-n", "1")
    assert (done.returncode, "too many to try them again" in done.stdout) == (1, True)
    done = play(tmp_path, "def test_flaky(): fails_once('x')\n")
    assert (done.returncode, "flaky:" in done.stdout) == (1, False)
