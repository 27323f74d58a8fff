"""Checkpoints of real trees: what they have, what they leave out, and what a hostile workspace cannot do to them."""

import os
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from tests.kit.checkpointed import GENEROUS, Checkpointed

from fourhands.settings import CheckpointSettings
from fourhands.workbench.checkpoints.git import Budget, NoCheckpoint
from fourhands.workbench.checkpoints.store import CheckpointStore


def left(checkpoint):
    return {one.path: one.why for one in checkpoint.left_out}


def test_the_difference_has_every_kind_of_change(place: Checkpointed) -> None:
    place.shell("mkdir d; echo a > a; echo b > d/b; echo gone > gone; ln -s a link; echo x > 'new\nline'; echo p > p")
    before = place.take()
    place.shell("echo A > a; rm gone; ln -sfn d link; chmod +x p; mv d e; echo n > n; echo y > $'\\xff'")
    found = place.store.compare(before, place.take()).entries
    assert sorted(found) == [b"a", b"d/b", b"e/b", b"gone", b"link", b"n", b"p", b"\xff"]
    assert [entry.mode for entry in found[b"p"] if entry] == ["100644", "100755"]


def test_nothing_of_the_workspace_is_obeyed(place: Checkpointed, tmp_path: Path) -> None:
    """Filters, hooks, a file system monitor, includes, attributes, a bare repository, a `.git` that leads elsewhere."""
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho $0 $* >> {ran}\ncat\n")
    program.chmod(0o755)
    place.git("init", "-q")
    place.shell("printf 'one\\r\\ntwo\\r\\n' > crlf.txt; echo '$Id$' > id.txt; echo text > f.dat; echo k > k")
    place.git("config", "core.autocrlf", "true")
    place.shell("touch -d '1 hour ago' *")  # else git reads again what is as new as its index
    place.commit()
    for key in (
        "core.fsmonitor",
        "filter.x.clean",
        "filter.x.smudge",
        "filter.x.process",
        "diff.x.textconv",
        "diff.external",
        "core.sshCommand",
        "core.pager",
        "core.editor",
    ):
        place.git("config", key, str(program))
    place.git("config", "core.worktree", "/")
    (place.root / ".gitattributes").write_text("*.dat filter=x diff=x\n*.txt text ident working-tree-encoding=UTF-16\n")
    for hook in ("post-index-change", "reference-transaction", "pre-commit", "post-checkout"):
        target = place.root / ".git/hooks" / hook
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(program.read_bytes())
        target.chmod(0o755)
    subprocess.run(["git", "init", "-q", "--bare", str(place.root / "bare")], check=True)
    (place.root / "bare/config").write_text(f"[core]\n\tbare = true\n\tfsmonitor = {program}\n")
    (place.root / "elsewhere").mkdir()
    (place.root / "elsewhere/.git").write_text(f"gitdir: {tmp_path}/evil\n")
    (place.root / "elsewhere/f").write_text("f")
    before_files = place.files()
    before = place.take()
    place.shell("rm -r crlf.txt id.txt f.dat k bare elsewhere/f; echo new > new.dat")
    after = place.take()
    assert place.undo(before, after).clashes == []
    assert place.files() == before_files
    assert not ran.exists()
    assert (place.root / "crlf.txt").read_bytes() == b"one\r\ntwo\r\n"


def test_what_is_left_out_is_named(place: Checkpointed) -> None:
    place.shell(
        "echo 'secret.txt' > .gitignore; echo s > secret.txt; mkfifo pipe; mkdir node_modules; echo m > node_modules/m"
    )
    place.shell("truncate -s 21M large; mkdir -p loop; ln -s ../loop loop/self; echo kept > kept")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place.root / "sock"))
    with listener:
        found = left(place.take())
    assert found["secret.txt"] == "ignored"
    assert found["node_modules/"] == "ignored"
    assert found["large"].startswith("larger than 20 MB")
    assert "kept" not in found


def test_a_file_that_becomes_a_pipe_or_cannot_be_read_is_named(place: Checkpointed) -> None:
    place.shell("echo a > a; echo b > b")
    place.take()
    place.shell("rm a; mkfifo a")
    assert left(place.take()) == {"a": "no regular file"}


def test_repositories_inside_are_checkpointed_each_by_itself(place: Checkpointed) -> None:
    place.git("init", "-q")
    place.shell("mkdir -p with without deep/er; echo 1 > with/f; echo 2 > without/f; echo 3 > deep/er/f; echo 0 > f")
    for below in ("with", "without", "deep/er"):
        place.git("init", "-q", below=below)
    place.commit(below="with")
    before, files = place.take(), place.files()
    assert sorted(before.trees) == ["", "deep/er", "with", "without"]
    place.shell("rm -rf with deep; echo changed > without/f")
    assert place.undo(before, place.take()).clashes == []
    assert place.files() == files
    assert place.git("status", "--porcelain", below="with") == ""
    assert place.git("log", "--format=%s", below="with") == "m"


def test_a_submodule_and_a_directory_that_becomes_a_repository_keep_their_files(place: Checkpointed, tmp_path) -> None:
    place.git("init", "-q")
    place.shell("mkdir sub; echo s > sub/s")
    before, files = place.take(), place.files()
    place.shell("cd sub && git init -q && echo new > new")
    after = place.take()
    assert place.undo(before, after).clashes == []
    assert place.files() == files


def test_the_index_of_the_workspace_cannot_hide_a_change(place: Checkpointed) -> None:
    """Marked as unchanged, staged otherwise, unmerged, and forged after the first checkpoint."""
    place.git("init", "-q")
    place.shell("for n in a b c d; do echo $n > $n; done")
    place.commit()
    place.git("update-index", "--assume-unchanged", "a")
    place.git("update-index", "--skip-worktree", "b")
    place.shell("echo A > a; echo B > b; echo C > c; git add c; echo c > c")
    files, before = place.files(), place.take()
    place.shell("rm a b c d")
    assert place.undo(before, place.take()).clashes == []
    assert place.files() == files


def test_no_program_that_lies_in_the_workspace_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An activated environment or `.` in the PATH: agents write there."""
    hit = tmp_path / "hit"
    for name in ("git", "git-remote-https", "sh", "ssh", "gpg", "less"):
        program = tmp_path / "work/.venv/bin" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\necho {name} >> {hit}\n")
        program.chmod(0o755)
    (tmp_path / "linked").symlink_to(tmp_path / "work")
    path = f"{tmp_path}/work/.venv/bin:.venv/bin:.::{tmp_path}/linked/.venv/bin:{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    monkeypatch.chdir(tmp_path / "work/.venv/bin")
    store = CheckpointStore(tmp_path / "state", str(tmp_path / "work"), GENEROUS, home=str(tmp_path / "home"))
    before = store.take(Budget(60))
    (tmp_path / "work/new").write_text("new")
    compared = store.compare(before, store.take(Budget(60)), Budget(60))
    assert [*compared.entries] == [b"new"]
    assert not hit.exists()


def test_a_workspace_that_is_home_or_contains_it_is_refused(tmp_path: Path) -> None:
    for workspace, home in ((tmp_path, tmp_path), (tmp_path, tmp_path / "me"), (Path("/"), tmp_path)):
        store = CheckpointStore(tmp_path / "state", str(workspace), home=str(home))
        with pytest.raises(NoCheckpoint, match="home directory"):
            store.take()


def test_without_git_or_switched_off_the_reason_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    off = CheckpointStore(tmp_path / "s", str(tmp_path), CheckpointSettings(enabled=False), home="/h")
    with pytest.raises(NoCheckpoint, match="switched off"):
        off.take()
    monkeypatch.setenv("PATH", str(tmp_path))
    none = CheckpointStore(tmp_path / "s", str(tmp_path), home="/h")
    with pytest.raises(NoCheckpoint, match="git is not installed"):
        none.take()


def test_too_little_time_is_no_checkpoint_and_the_next_one_works(place: Checkpointed) -> None:
    for number in range(200):
        (place.root / str(number)).write_text(str(number) * 1000)
    with pytest.raises(NoCheckpoint, match="too large"):
        place.store.take(Budget(0.004))
    cancelled = Budget(60)
    cancelled.cancelled = True
    with pytest.raises(NoCheckpoint, match="given up"):
        place.store.take(cancelled)
    assert len(place.store.compare(place.take(), place.take()).entries) == 0
    leftovers = [path for path in place.store.directory.rglob("*") if "tmp_" in path.name or path.suffix == ".lock"]
    assert leftovers == []


def test_two_at_once_wait_for_each_other(place: Checkpointed) -> None:
    place.shell("for n in $(seq 50); do echo $n > f$n; done")
    found = []
    threads = [threading.Thread(target=lambda: found.append(place.take())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({checkpoint.trees[""] for checkpoint in found}) == 1


def test_old_checkpoints_go_and_new_ones_stay_whole(place: Checkpointed) -> None:
    place.shell("echo first > f")
    first = place.take()
    place.shell("echo second > f")
    second = place.take()
    place.store.prune(now=first.time + GENEROUS.keep_days * 86_400 + (second.time - first.time) / 2)
    assert [one.id for one in place.store.list()] == [second.id]
    place.shell("echo third > f")
    assert place.undo(second, place.take()).clashes == []
    assert (place.root / "f").read_text() == "second\n"
    assert blobs(place) == {"second\n", "third\n"}


def blobs(place: Checkpointed) -> set[str]:
    names = [path.parent.name + path.name for path in place.store.git.objects.glob("??/*")]
    return {content.decode() for content in place.store.git.contents(names, Budget(60)).values()}


def test_room_is_bounded(tmp_path: Path) -> None:
    place = Checkpointed.make(tmp_path, CheckpointSettings(budget_s=60.0, keep_bytes=1 << 20))
    for _ in range(6):
        (place.root / "noise").write_bytes(os.urandom(400_000))
        last = place.take()
    place.store.prune()
    assert place.store.size() <= 1 << 20
    kept = place.store.list()
    assert kept
    assert kept[-1].id == last.id
