"""Each line of `executed.py` runs a canary in a real shell, so none may be judged safe."""

import contextlib
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.safety.shell.executed import ARITHMETIC, ARITHMETIC_ZSH, NAMES, REPOSITORY

from fourhands.safety.shell import classify

_AUTHOR = {f"GIT_{who}_{what}": "a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
_FILES = {
    "f": "a[$(touch $HIT)]\n",
    "g": "1\n",
    "where": "b\n",
    "homedir": "home\n",
    "cmd": "./x\n",
    "x": '#!/bin/sh\ntouch "$HIT"\n',
    "bin/ls": '#!/bin/sh\ntouch "$HIT"\n',
    "big": "\n".join(f"line {number * 7919 % 100_003}" for number in range(4_000)) + "\n",
    "mk": 'test:\n\ttouch "$$HIT"\n',
    "home/.gitconfig": "[core]\nfsmonitor=touch $HIT\n",
    "xdg/git/config": "[core]\nfsmonitor=touch $HIT\n",
    "home/.bashrc": 'touch "$HIT"\n',
    "home/.bash_profile": 'touch "$HIT"\n',
    ".bashrc": 'touch "$HIT"\n',
    "nobody/keep": "",
    "src/a.py": "x\n",
    "tracked": "one\n",
    # Plain files that git takes for a repository.
    "b/HEAD": "ref: refs/heads/main\n",
    "b/objects/keep": "",
    "b/refs/keep": "",
    "b/config": "[core]\nrepositoryformatversion=0\nbare=false\nworktree=.\nfsmonitor=touch $HIT; false\n",
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which every file is written by an attacker."""
    place = tmp_path_factory.mktemp("hostile") / "w"
    for name, text in _FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    for name in ("x", "bin/ls"):
        (place / name).chmod(0o755)
    for arguments in (["init", "-q"], ["add", "tracked", "src"], ["commit", "-qm", "canary"]):
        subprocess.run(["git", *arguments], cwd=place, env=_environment(place) | _AUTHOR, check=True)
    (place / "tracked").write_text("two canary\n")
    subprocess.run(["tar", "cf", "t0.tar", "g"], cwd=place, check=True)
    return place


def _environment(place: Path) -> dict[str, str]:
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(place / "nobody"),
        "LC_ALL": "C",
        "HIT": str(place / "hit"),
        "TERM": "dumb",
    }


def _executes(line: str, shell: list[str], template: Path, place: Path) -> bool:
    shutil.copytree(template, place, symlinks=True)
    with contextlib.suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [*shell, line],
            cwd=place,
            env=_environment(place),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=10,
        )
    return (place / "hit").exists()


def lines(text: str) -> list[str]:
    return text.strip().split("\n")


def test_what_runs_code_from_data_is_never_safe() -> None:
    every = lines(ARITHMETIC) + lines(ARITHMETIC_ZSH) + lines(REPOSITORY) + lines(NAMES)
    assert [line for line in every if classify(line).level == "safe"] == []


# Every seventh line stands for all; the long form tries each.
@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.soak)])
def test_the_lines_run_their_canary_in_real_shells(hostile: Path, tmp_path: Path, step: int) -> None:
    bash = (lines(ARITHMETIC) + lines(REPOSITORY) + lines(NAMES))[::step]
    tried = [(line, ["bash", "--norc", "-c"]) for line in bash]
    if shutil.which("zsh"):
        tried += [(line, ["zsh", "-f", "-c"]) for line in lines(ARITHMETIC_ZSH)[::step]]
    harmless = [
        line for at, (line, shell) in enumerate(tried) if not _executes(line, shell, hostile, tmp_path / f"{at}")
    ]
    # Another version of a shell evaluates less, and a machine may lack one of the programs.
    assert len(harmless) <= len(tried) // 10, harmless
