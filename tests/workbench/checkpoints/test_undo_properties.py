"""Random sequences of changes by an agent's shell and by a person, then undone: as before, or a conflict.

What a person changes while the turn goes on counts as the turn's, and comes back by a redo; what they change after it
is theirs, and stays.
"""

import itertools
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.kit.checkpointed import Checkpointed

NAMES = ["a", "b", "d/a", "d/b", "d/e/f", "l", "sp ace", "ä"]
names = st.sampled_from(NAMES)


def quoted(name: str) -> str:
    return f"'{name}'"


@dataclass(frozen=True)
class Edit:
    """What a person does to a file, as editors and file managers do it."""

    how: str
    name: str
    text: str = ""

    def do(self, root: Path) -> None:
        path = root / self.name
        above = path.parent
        if self.how == "delete":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
            return
        if not above.is_dir() or path.is_dir() or os.path.realpath(above) != str(above):
            return  # nothing is saved there
        if self.how == "save":
            spare = path.with_name(f".{path.name}.swp")
            spare.write_text(self.text)
            spare.replace(path)
        elif path.is_file() and not path.is_symlink():
            with path.open("a" if self.how == "append" else "w") as file:
                file.write(self.text)


edit = st.builds(Edit, st.sampled_from(["save", "save", "append", "truncate", "delete"]), names, st.sampled_from("xyz"))
line = st.one_of(
    st.builds(
        lambda n, t: f'rm -rf {quoted(n)}; mkdir -p "$(dirname {quoted(n)})"; echo {t} > {quoted(n)}',
        names,
        st.integers(0, 3),
    ),
    st.builds(lambda n: f"rm -rf {quoted(n)}", names),
    st.builds(lambda n, sign: f"chmod {sign}x {quoted(n)}", names, st.sampled_from("+-")),
    st.builds(lambda n, m: f"ln -sfn {quoted(m)} {quoted(n)}", names, names),
    st.builds(lambda n, m: f"mv -f {quoted(n)} {quoted(m)}", names, names),
    st.builds(lambda n: f"echo more >> {quoted(n)}", names),
    st.builds(lambda n: f"git add {quoted(n)}", names),
    st.builds(lambda n: f"git rm -rqf {quoted(n)}", names),
    st.sampled_from(
        [
            "git add -A; git commit -qm x",
            "git commit -qa --amend -m y",
            "git reset -q --hard",
            "git reset -q --hard HEAD~1",
            "git reset -q HEAD~1",
            "git stash -q -u",
            "git stash pop -q",
            "git stash drop -q",
            "git stash clear",
            "git checkout -q -B other",
            "git checkout -q -f main",
            "git merge -q --no-edit other",
            "git branch -D other",
            "git tag -f t",
            "git tag -d t",
            "git clean -fdq",
            "git pack-refs --all",
            "rm -rf d",
            "git gc -q --prune=now",
        ]
    ),
)
change = st.one_of(line, line, edit)
changes = st.lists(change, max_size=6)


Steps = list[str | Edit]


def run(place: Checkpointed, steps: Steps) -> None:
    """Take the steps in their order; lines that follow each other go to one shell."""
    for edits, some in itertools.groupby(steps, lambda step: isinstance(step, Edit)):
        if edits:
            for step in some:
                assert isinstance(step, Edit)
                step.do(place.root)
        else:
            place.shell("".join(f"({line}) >/dev/null 2>&1 || true\n" for line in some))


def check(first: Steps, agent: Steps, person: Steps) -> None:
    with tempfile.TemporaryDirectory() as base:
        place = Checkpointed.make(Path(base))
        place.git("init", "-q")
        place.shell("mkdir -p d/e; echo 0 > a; echo 0 > d/b; git add -A; git commit -qm 0")
        run(place, first)
        files, state, before = place.files(), place.repository(), place.take()
        run(place, agent)
        after_files, after = place.files(), place.take()
        run(place, person)
        mine = place.files()
        undone = place.undo(before, after)
        now = place.files()
        clashes = {clash.path.decode() for clash in undone.clashes}
        if not person:
            assert (clashes, undone.ref_clashes) == (set(), [])
            assert place.repository() == state
        for path in files.keys() | after_files.keys() | mine.keys():
            if path in clashes:
                assert now.get(path) == mine.get(path), "a conflict stays as it is"
            elif mine.get(path) == after_files.get(path):
                assert now.get(path) == files.get(path), "what was still as after is as before"
            elif files.get(path) == after_files.get(path):
                assert now.get(path) == mine.get(path), "what the agent did not change is the person's"
            else:
                assert now.get(path) == mine.get(path) == files.get(path), "else it was a conflict"
        assert not [path for path in now if ".fourhands" in path]
        if not person:
            redone = place.redo(before, after)
            assert redone.clashes == []
            assert place.files() == after_files


QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]


@settings(max_examples=12, deadline=None, suppress_health_check=QUIET)
@given(changes, changes, changes)
def test_a_turn_undone_is_the_tree_before_or_a_conflict(first: Steps, agent: Steps, person: Steps) -> None:
    check(first, agent, person)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@settings(max_examples=1000, deadline=None, suppress_health_check=QUIET)
@given(changes, changes, st.one_of(st.just([]), changes))
def test_a_thousand_turns_undone_are_the_tree_before_or_a_conflict(first: Steps, agent: Steps, person: Steps) -> None:
    check(first, agent, person)
