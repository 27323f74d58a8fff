"""Undoing what shells did: the tree equals the one before, or a conflict is shown; nothing of the person's is lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.kit.checkpointed import Checkpointed

from fourhands.workbench.checkpoints.git import Budget, blob_name
from fourhands.workbench.checkpoints.restore import restore
from fourhands.workbench.checkpoints.tree import FILE, Entry, EntryChanged, exchange, temporary_name


@pytest.fixture
def repository(place: Checkpointed) -> Checkpointed:
    """Two branches, a tag, a stash, something staged, something untracked."""
    place.git("init", "-q")
    place.shell("echo 1 > a; mkdir d; echo 1 > d/b; echo ignored.txt > .gitignore; echo run > run; chmod +x run")
    place.commit("first")
    place.git("branch", "side")
    place.git("tag", "-a", "-m", "t", "v1")
    place.shell("echo 2 > a")
    place.commit("second")
    place.git("pack-refs", "--all")
    place.shell("echo stashed > a; git stash -q; echo other > d/b; git stash -q")
    place.shell(
        "echo staged > staged; git add staged; echo 3 > a; echo u > untracked; ln -s a link; echo i > ignored.txt"
    )
    return place


LINES = [
    "git reset -q --hard HEAD~1",
    "git branch -D side",
    "git tag -d v1",
    "git stash drop -q",
    "git stash clear",
    "git stash pop -q || git checkout -f -q",
    "rm -rf .git",
    "git clean -fdq",
    "git clean -fdxq -e ignored.txt",
    "git add -A && git commit -qm agent",
    "git commit -q --amend -m other; git reflog expire --expire=now --all; git gc -q --prune=now",
    "git checkout -q -f side; echo x > y; git add y; git commit -qm y",
    "git switch -q -c new; git branch -q -D main",
    "mv d moved; mv a d",
    "rm -rf d; echo file > d",
    "rm a; mkdir -p a/b; echo deep > a/b/c",
    "chmod -x run; chmod +x a",
    "ln -sfn /etc/passwd a; rm link; echo now > link",
    "rm -rf a d run link staged untracked",
    "git config core.hooksPath /tmp; printf '#!/bin/sh\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
    "git rebase -q --onto side HEAD~1 2>/dev/null || true; echo half > half",
    "git init -q inner; echo i > inner/i; rm -rf inner/.git",
]


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_undone_and_redone(repository: Checkpointed, line: str) -> None:
    files, state, before = repository.files(), repository.repository(), repository.take()
    repository.shell(line)
    after_files, after = repository.files(), repository.take()
    undone = repository.undo(before, after)
    assert (undone.clashes, undone.ref_clashes) == ([], [])
    assert repository.files() == files
    assert repository.repository() == state
    repository.git("fsck", "--connectivity-only")
    redone = repository.redo(before, after)
    if line != "rm -rf .git":
        assert (redone.clashes, redone.ref_clashes) == ([], [])
    assert repository.files() == after_files


def test_what_was_changed_since_is_a_conflict_and_stays(repository: Checkpointed) -> None:
    before = repository.take()
    repository.shell("echo agent > a; echo agent > new; rm untracked; git branch -f side HEAD; git config x.y z")
    after = repository.take()
    repository.shell(
        "echo mine > a; echo mine > new; echo mine > untracked; git branch -f side HEAD~1; git config x.y me"
    )
    mine = repository.files()
    undone = repository.undo(before, after)
    assert {clash.path for clash in undone.clashes} == {b"a", b"new", b"untracked", b".git/config"}
    assert repository.files() == mine
    assert undone.ref_clashes == [] or undone.ref_clashes == ["refs/heads/side: it was moved since"]


def test_a_ref_that_was_moved_since_is_a_conflict(repository: Checkpointed) -> None:
    before = repository.take()
    repository.shell("git commit -qm agent")
    after = repository.take()
    repository.shell("echo mine > mine; git add mine; git commit -qm mine")
    mine = repository.git("rev-parse", "HEAD")
    undone = repository.undo(before, after)
    assert "refs/heads/main: it was moved since" in undone.ref_clashes
    assert repository.git("rev-parse", "HEAD") == mine


def test_git_at_work_is_a_conflict(repository: Checkpointed) -> None:
    before = repository.take()
    repository.shell("git add -A")
    after = repository.take()
    (repository.root / ".git/index.lock").touch()
    assert ["index.lock" in clash for clash in repository.undo(before, after).ref_clashes] == [True]


def test_looking_at_the_tree_with_git_is_no_conflict(repository: Checkpointed) -> None:
    state, before = repository.repository(), repository.take()
    repository.shell("git add -A")
    after = repository.take()
    repository.shell("touch a d/b; git status >/dev/null; git update-index -q --refresh || true")
    assert repository.undo(before, after).ref_clashes == []
    assert repository.repository() == state


def test_ignored_files_are_not_covered_and_named(repository: Checkpointed) -> None:
    before = repository.take()
    repository.shell("git clean -fdxq")
    undone = repository.undo(before, repository.take())
    assert undone.clashes == []
    assert not (repository.root / "ignored.txt").exists()
    assert ("ignored.txt", "ignored") in {(one.path, one.why) for one in before.left_out}


def test_nothing_outside_is_written_through_a_link(place: Checkpointed, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    place.shell("mkdir d; echo before > d/f; echo before > g")
    before = place.take()
    place.shell("echo after > d/f; echo after > g")
    after = place.take()
    place.shell(f"rm -r d; ln -s {outside} d; echo after > {outside}/f; ln -sf {outside}/g g; echo after > {outside}/g")
    undone = place.undo(before, after)
    assert {clash.path for clash in undone.clashes} == {b"d/f", b"g"}
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"f": "after\n", "g": "after\n"}


def test_a_damaged_object_is_a_conflict_and_never_written(place: Checkpointed) -> None:
    place.git("init", "-q")
    place.shell("echo precious > f")
    place.commit()
    before = place.take()
    # A program in the workspace overwrites its git's objects in place, which are linked, not copied.
    place.shell("f=.git/objects/$(git hash-object f | sed s,..,\\&/,); chmod u+w $f; echo bad > $f; echo after > f")
    after = place.take()
    [clash] = place.undo(before, after).clashes
    assert "damaged" in clash.reason
    assert (place.root / "f").read_text() == "after\n"


def test_what_is_written_at_the_last_moment_is_not_lost(place: Checkpointed) -> None:
    """The entry is exchanged in one step, then looked at: another content than expected goes back."""
    path = place.root / "f"
    path.write_text("person")
    with pytest.raises(EntryChanged):
        exchange(str(place.root), b"f", Entry(FILE, "0" * 40), Entry(FILE, blob_name(b"undone")), b"undone")
    assert path.read_text() == "person"
    assert os.listdir(place.root) == ["f"]


def test_what_a_killed_undo_left_is_cleared_and_unknown_content_is_kept(place: Checkpointed) -> None:
    place.shell("echo before > f")
    before = place.take()
    place.shell("echo after > f")
    after = place.take()
    spare = place.root / os.fsdecode(temporary_name(b"f"))
    for content, mode, kept in (("before\n", 0o644, False), ("bef", 0o200, False), ("a person's\n", 0o644, True)):
        spare.write_text(content)
        spare.chmod(mode)
        assert place.undo(before, after).clashes == []
        assert place.redo(before, after).clashes == []
        left = [path.read_text() for path in place.root.iterdir() if path.name != "f"]
        assert left == ([content] if kept else [])


def test_a_preview_writes_nothing(repository: Checkpointed) -> None:
    before = repository.take()
    repository.shell("echo x > a; git branch -D side; rm -r d")
    after, files, state = repository.take(), repository.files(), repository.repository()
    way = repository.store.compare(before, after, Budget(60)).reversed()
    outcome = restore(repository.store, way, preview=True)
    assert sorted(outcome.done) == [b"a", b"d/b"]
    assert (repository.files(), repository.repository()) == (files, state)


KILLED = """
import sys, threading, os, signal, random
from tests.kit.checkpointed import *
root, verb, after_s = sys.argv[1], sys.argv[2], float(sys.argv[3])
store = CheckpointStore(Path(root) / "state", str(Path(root) / "work"), GENEROUS, home="/nonexistent")
place = Checkpointed(Path(root) / "work", store)
threading.Timer(after_s, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
if verb == "take":
    place.take()
else:
    one, other = store.list()[:2]
    place.undo(one, other)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("verb", ["take", "undo"])
def test_killed_in_the_middle_nothing_is_lost_and_the_next_one_works(tmp_path: Path, verb: str) -> None:
    place = Checkpointed.make(tmp_path)
    place.git("init", "-q")
    place.shell("for n in $(seq 300); do mkdir -p d$((n%10)); echo before $n > d$((n%10))/f$n; done; echo one > one")
    place.commit()
    place.shell("for n in $(seq 300); do echo more $n >> d$((n%10))/f$n; done")
    files, before = place.files(), place.take()
    place.shell("for n in $(seq 300); do echo agent $n > d$((n%10))/f$n; done; git commit -qam agent; rm one")
    after = place.take()
    for after_s in (0.01, 0.03, 0.06, 0.1, 0.2):
        place.shell("echo $RANDOM >> noise")
        done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), verb, str(after_s)], check=False)
        assert done.returncode == -9
        place.take()
    undone = place.undo(before, after)
    assert (undone.clashes, undone.ref_clashes) == ([], [])
    (place.root / "noise").unlink()
    assert place.files() == files
    leftovers = [path for path in place.store.directory.rglob("*") if "tmp_" in path.name or path.suffix == ".lock"]
    assert leftovers == []


def test_a_forged_object_is_a_conflict_and_never_written(place: Checkpointed) -> None:
    """A valid object under the name of another: git itself does not look at that when it reads."""
    place.git("init", "-q")
    place.shell("echo precious > f")
    place.commit()
    before = place.take()
    path = "$(git hash-object f | sed 's,..,&/,')"
    place.shell(f"o=.git/objects/{path}; chmod u+w $o; echo forged | git hash-object -w --stdin > id; echo after > f")
    forged = (place.root / "id").read_text().strip()
    [target] = place.root.glob(f".git/objects/{blob_name(b'precious' + bytes([10]))[:2]}/*")
    target.write_bytes((place.root / f".git/objects/{forged[:2]}/{forged[2:]}").read_bytes())
    after = place.take()
    assert [clash.path for clash in place.undo(before, after).clashes] == [b"f"]
    assert (place.root / "f").read_text() == "after\n"


def test_what_appears_at_the_last_moment_is_not_lost(place: Checkpointed) -> None:
    (place.root / "d").mkdir()
    (place.root / "d/f").write_text("person")
    wanted = Entry(FILE, blob_name(b"undone"))
    for path, expected in ((b"d/f", None), (b"d", None)):
        with pytest.raises(EntryChanged, match="changed since"):
            exchange(str(place.root), path, expected, wanted, b"undone")
    assert (place.root / "d/f").read_text() == "person"


def test_a_path_that_leaves_the_workspace_is_refused(place: Checkpointed, tmp_path: Path) -> None:
    for path in (b"../outside", b"d/../../outside", b"", b"/outside", b"."):
        with pytest.raises(EntryChanged):
            exchange(str(place.root), path, None, Entry(FILE, blob_name(b"x")), b"x")
    assert not (tmp_path / "outside").exists()
