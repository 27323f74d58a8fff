"""Where things lie, and that nobody else's directory is trusted."""

import os
import stat
from pathlib import Path

import pytest
from tests.kit.hosts import need

from fourhands.host.paths import SOCKET_PATH_LONGEST, DirsError, WorkspaceDirs


def places(root: Path) -> WorkspaceDirs:
    return WorkspaceDirs(str(root), f"{root}/run/w", f"{root}/state/w")


def test_the_same_workspace_has_the_same_places_by_any_path(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "work")
    env = {"XDG_RUNTIME_DIR": "/run/user/1", "XDG_STATE_HOME": "/var/state"}
    one, other = WorkspaceDirs.of(tmp_path / "work", env), WorkspaceDirs.of(f"{tmp_path}/alias/../alias", env)
    assert one == other
    assert one.runtime.startswith("/run/user/1/fourhands/")
    assert one.state.startswith("/var/state/fourhands/")
    assert WorkspaceDirs.of(tmp_path, env).runtime != one.runtime


def test_without_xdg_variables_the_defaults_are_used() -> None:
    found = WorkspaceDirs.of("/", {"HOME": "/home/x"})
    assert found.runtime.startswith(f"/tmp/fourhands-{os.getuid()}/")
    assert found.state.startswith("/home/x/.local/state/fourhands/")
    assert WorkspaceDirs.of("/", {}).state.startswith(os.path.expanduser("~/.local/state"))
    assert WorkspaceDirs.of("/").state


def test_relative_xdg_variables_are_ignored() -> None:
    plain = WorkspaceDirs.of("/", {"HOME": "/home/x"})
    assert WorkspaceDirs.of("/", {"HOME": "/home/x", "XDG_RUNTIME_DIR": "run", "XDG_STATE_HOME": "./state"}) == plain


def test_directories_are_made_for_the_owner_only(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        places(tmp_path).prepare()
    finally:
        os.umask(old)
    for name in ("run", "run/w", "state", "state/w"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o700


def test_a_directory_of_ours_that_is_open_to_others_is_closed_to_them(tmp_path: Path) -> None:
    there = places(tmp_path)
    os.makedirs(there.runtime)
    os.chmod(there.runtime, 0o777)
    there.prepare()
    assert stat.S_IMODE(os.stat(there.runtime).st_mode) == 0o700


def test_a_shared_parent_keeps_its_mode(tmp_path: Path) -> None:
    """As `/tmp` is one, where a place is given there directly."""
    shared = tmp_path / "tmp"
    shared.mkdir()
    os.chmod(shared, 0o1777)
    WorkspaceDirs(str(tmp_path), f"{shared}/run", f"{shared}/state").prepare()
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777
    assert [stat.S_IMODE((shared / name).stat().st_mode) for name in ("run", "state")] == [0o700, 0o700]


def test_a_parent_of_somebody_that_others_may_read_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    os.chmod(tmp_path / "run", 0o755)
    places(tmp_path).prepare()
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) == 0o755


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o702])
def test_a_parent_in_which_others_could_put_their_own_directory_is_refused(tmp_path: Path, mode: int) -> None:
    (tmp_path / "state").mkdir()
    os.chmod(tmp_path / "state", mode)
    with pytest.raises(DirsError, match=r"state is writable by other users; make it yours: chmod go-w"):
        places(tmp_path).prepare()
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == mode


@pytest.mark.parametrize("name", ["fourhands", f"fourhands-{os.getuid()}"])
def test_our_own_parent_is_closed_to_others(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    os.chmod(tmp_path / name, 0o777)
    WorkspaceDirs(str(tmp_path), f"{tmp_path}/{name}/w", f"{tmp_path}/state/w").prepare()
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o700


def test_each_state_directory_has_a_last_resort_of_its_own(tmp_path: Path) -> None:
    """Two that are both called `state` must not meet there."""
    one, other = (WorkspaceDirs("/", f"{tmp_path}/{n}/run", f"{tmp_path}/{n}/state") for n in "ab")
    assert len({place.runtime for place in (*one.elsewhere(), *other.elsewhere())}) == 6
    assert one.elsewhere()[1].runtime.startswith(f"/tmp/fourhands-{os.getuid()}/")


@pytest.mark.parametrize("which", ["run", "run/w", "state", "state/w"])
def test_somebody_elses_directory_is_refused(tmp_path: Path, which: str) -> None:
    need(os.getuid() == 0, "giving a directory away needs root", pytest.skip, pytest.skip)
    there = places(tmp_path)
    there.prepare()
    os.chown(tmp_path / which, 65534, 65534)
    for attempt in (there.prepare, there.check):
        with pytest.raises(DirsError, match="owned by another user \\(uid 65534\\)"):
            attempt()


@pytest.mark.parametrize("make", ["link", "file"])
def test_what_is_not_a_directory_is_refused(tmp_path: Path, make: str) -> None:
    there = places(tmp_path)
    os.makedirs(os.path.dirname(there.runtime))
    if make == "link":
        (tmp_path / "elsewhere").mkdir()
        os.symlink(tmp_path / "elsewhere", there.runtime)
    else:
        Path(there.runtime).touch()
    with pytest.raises(DirsError, match="is not a directory"):
        there.prepare()


def test_a_socket_path_that_the_system_cannot_take_is_refused_clearly(tmp_path: Path) -> None:
    fits = "/" + "x" * (SOCKET_PATH_LONGEST - len("/host.sock") - 1)
    WorkspaceDirs("/", fits, "/nowhere/state").check()
    with pytest.raises(DirsError, match=r"path of 108 bytes.*XDG_RUNTIME_DIR"):
        WorkspaceDirs("/", fits + "x", "/nowhere/state").check()
    with pytest.raises(DirsError, match="bytes"):
        WorkspaceDirs.of("/", {"XDG_RUNTIME_DIR": "/" + "ü" * 60}).check()
