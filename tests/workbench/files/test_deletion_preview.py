"""What a person is told of a deletion before it happens."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from fourhands.workbench.files import deletion_preview
from fourhands.workbench.files.deletion_preview import PreviewLimits, Words, index_names, tracked_files, worth

PATIENT = PreviewLimits(seconds=40.0)
"""A machine that stands still meanwhile is not a tree that is too large."""


def take(commands: Sequence[Words], root: str, cwd: str, limits: PreviewLimits = PATIENT) -> dict[str, object]:
    return deletion_preview.take(commands, root, cwd, limits)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / "build" / "deep").mkdir(parents=True)
    (root / "build" / "a.o").write_bytes(b"x" * 10)
    (root / "build" / "deep" / "b.o").write_bytes(b"x" * 20)
    (root / "src.c").write_bytes(b"x" * 5)
    (tmp_path / "outside").write_text("not yours")
    os.symlink("../../outside", root / "build" / "link")
    return root


def git(root: Path, *args: str) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    subprocess.run(["git", *who, *args], cwd=root, check=True, capture_output=True)


def test_files_folders_and_bytes_are_counted(root: Path) -> None:
    seen = take([("rm", "-rf", "build")], str(root), "")
    assert (seen["files"], seen["folders"], seen["bytes"]) == (3, 2, 30 + len("../../outside"))
    assert seen["paths"] == ["build"]
    assert "tracked" not in seen
    assert "atLeast" not in seen


def test_patterns_options_and_missing_ones(root: Path) -> None:
    seen = take([("/bin/rm", "-f", "--", "build/*.o", "-x", "nothing*")], str(root), "")
    assert (seen["files"], seen["paths"], seen["missing"]) == (1, ["build/a.o"], ["-x", "nothing*"])
    assert take([("ls",), ("echo", "rm"), ()], str(root), "")["files"] == 0
    assert worth([("ls",), ("rm", "x")])
    assert not worth([("echo", "rm"), ()])
    assert not worth([("cd", "build"), ("rm", "a.o")])  # not where we look


def test_what_only_the_shell_knows_is_said_to_be_so(root: Path) -> None:
    seen = take([("rm", "-rf", "$HOME/x", "~/y", "{a,b}.o", "$(…)")], str(root), "")
    assert seen["unresolved"] == ["$HOME/x", "~/y", "{a,b}.o", "$(…)"]
    assert (seen["files"], "missing" in seen) == (0, False)


def test_a_folder_below_is_seen_from_there(root: Path) -> None:
    assert take([("rm", "b.o")], str(root), str(root / "build" / "deep"))["paths"] == ["build/deep/b.o"]
    assert take([("rm", "deep/b.o")], str(root), "build")["files"] == 1


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "build/../../outside"])
def test_nothing_outside_is_looked_at(root: Path, path: str) -> None:
    seen = take([("rm", "-rf", path)], str(root), "")
    assert (seen["files"], seen["folders"], seen["bytes"]) == (0, 0, 0)
    assert seen["outside"] == [path]


def test_a_link_is_counted_and_not_followed(root: Path) -> None:
    seen = take([("rm", "build/link")], str(root), "")
    assert (seen["files"], seen["bytes"]) == (1, len("../../outside"))
    os.symlink("..", root / "up")
    through = take([("rm", "-rf", "up/outside")], str(root), "")
    assert (through["files"], through["outside"]) == (0, ["up/outside"])


def test_counting_stops_at_a_bound_and_says_so(root: Path) -> None:
    few, one = PreviewLimits(entries=2, seconds=40.0), PreviewLimits(paths=1, seconds=40.0)
    assert take([("rm", "-rf", "build")], str(root), "", few)["atLeast"] is True
    assert take([("rm", "*")], str(root), "", one)["atLeast"] is True
    late = PreviewLimits(seconds=-1.0)
    assert take([("rm", "-rf", "build")], str(root), "", late)["atLeast"] is True


@pytest.mark.parametrize("version", [2, 3, 4])
def test_what_git_has_is_told(root: Path, version: int) -> None:
    git(root, "init", "-q")
    assert take([("rm", "src.c")], str(root), "")["untracked"] == 1
    git(root, "add", "src.c", "build/deep")
    if version == 3:
        git(root, "add", "-N", "build/a.o")  # an extended flag makes it version 3
    else:
        git(root, "update-index", "--index-version", str(version))
    assert (root / ".git" / "index").read_bytes()[7] == version
    names = tracked_files(str(root))
    assert names is not None
    assert {"src.c", "build/deep/b.o"} <= names
    seen = take([("rm", "-rf", "build", "src.c")], str(root), "")
    assert (seen["tracked"], seen["untracked"]) == ((3, 1) if version == 3 else (2, 2))


def test_a_damaged_index_is_no_index(root: Path) -> None:
    (root / ".git").mkdir()
    for data in (
        b"",
        b"DIRC",
        b"DIRC\0\0\0\x02\0\0\0\x05",
        b"NOPE" + bytes(8),
        b"DIRC\0\0\0\x09\0\0\0\x00",
        bytes(100),
    ):
        (root / ".git" / "index").write_bytes(data)
        assert tracked_files(str(root)) is None
    with pytest.raises(ValueError, match="not a git index"):
        list(index_names(bytes(100)))


async def test_it_looks_in_a_thread(root: Path) -> None:
    assert (await deletion_preview.of([("rm", "src.c")], str(root), "")())["files"] == 1
