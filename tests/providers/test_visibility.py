"""What a wall hides, and which variables get through it."""

import os
import socket
from pathlib import Path

import pytest

from fourhands.core.errors import BadArgument
from fourhands.providers import visibility


def test_a_path_is_within_itself_and_its_parents_only() -> None:
    assert visibility.within("/a/b", "/a")
    assert visibility.within("/a", "/a")
    assert visibility.within("/a", "/")
    assert not visibility.within("/ab", "/a")


@pytest.mark.parametrize(
    "home", ["", "relative", "/", "/usr", "/usr/share", "/etc/x", "/proc/1", "/home", "/a:b", "/a\nb"]
)
def test_a_home_that_cannot_be_private_becomes_tmp(home: str) -> None:
    assert visibility.home_of({"HOME": home}) == "/tmp"
    assert visibility.home_of({}) == "/tmp"


def test_an_ordinary_home_stays() -> None:
    assert visibility.home_of({"HOME": "/home/x/"}) == "/home/x"
    assert visibility.home_of({"HOME": "/var/lib/x"}) == "/var/lib/x"


def test_variables_that_lead_nowhere_are_left_out() -> None:
    env = {"SSH_AUTH_SOCK": "/x", "XDG_RUNTIME_DIR": "/run/user/1", "TMPDIR": "/scratch", "TMP": "/work/tmp", "A": "b"}
    assert visibility.inner_variables(env, "/work") == {"TMPDIR": "/tmp", "TMP": "/work/tmp", "A": "b"}


@pytest.mark.parametrize(
    "name",
    [
        "XDG_RUNTIME_DIR",
        "SSH_AUTH_SOCK",
        "SSH_AGENT_PID",
        "GPG_AGENT_INFO",
        "DOCKER_HOST",
        "CONTAINER_HOST",
        "DBUS_SESSION_BUS_ADDRESS",
        "DBUS_SYSTEM_BUS_ADDRESS",
        "SESSION_MANAGER",
        "PULSE_SERVER",
        "TMUX",
        "STY",
        "WAYLAND_DISPLAY",
        "DISPLAY",
        "XAUTHORITY",
        "ICEAUTHORITY",
    ],
)
def test_a_variable_that_names_a_way_out_is_left_out(name: str) -> None:
    assert visibility.inner_variables({name: "unix:///run/x", "A": "b"}, "/work") == {"A": "b"}


@pytest.mark.parametrize("name", ["SSH_AUTH_SOCK", "DOCKER_HOST", "CONTAINER_HOST", "XAUTHORITY"])
@pytest.mark.parametrize("scheme", ["", "unix://"])
def test_what_a_variable_leads_to_is_hidden_inside_the_workspace(tmp_path: Path, name: str, scheme: str) -> None:
    """An engine's socket above all: whoever may talk to it is root."""
    (tmp_path / "x.sock").touch()
    env = {"HOME": "/nowhere", name: f"{scheme}{tmp_path}/x.sock"}
    assert visibility.hidden_places([str(tmp_path)], env, str(tmp_path)) == [f"{tmp_path}/x.sock"]
    assert visibility.hidden_places([str(tmp_path)], {"HOME": "/nowhere", name: "tcp://host:2375"}, str(tmp_path)) == []


def test_private_places_inside_what_is_shown_are_hidden(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "home/work"
    for name in (".ssh", ".config/gcloud", ".config/fourhands", ".local/state/fourhands", "work", "run/agent", "src"):
        (home / name).mkdir(parents=True)
    (home / ".netrc").write_text("")
    env = {"HOME": str(home), "XDG_RUNTIME_DIR": str(home / "run"), "SSH_AUTH_SOCK": str(home / "run/agent")}
    hidden = visibility.hidden_places([str(home)], env, str(home))
    names = {os.path.relpath(path, home) for path in hidden}
    assert names == {".ssh", ".netrc", ".config/gcloud", ".config/fourhands", ".local/state/fourhands", "run"}
    assert visibility.hidden_places([str(work)], env, str(work)) == []


def test_a_workspace_inside_a_private_place_is_not_hidden(tmp_path: Path) -> None:
    run = tmp_path / "run"
    for name in ("work", "fourhands"):
        (run / name).mkdir(parents=True)
    env = {"HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(run), "XDG_STATE_HOME": str(run)}
    assert visibility.hidden_places([str(run), str(run / "work")], env, str(run / "work")) == [str(run / "fourhands")]


def test_a_private_place_that_holds_the_workspace_is_not_hidden(tmp_path: Path) -> None:
    work = tmp_path / "fourhands/work"
    work.mkdir(parents=True)
    env = {"HOME": str(tmp_path / "home"), "XDG_STATE_HOME": str(tmp_path)}
    assert visibility.hidden_places([str(tmp_path)], env, str(work)) == []
    assert visibility.hidden_places([str(tmp_path)], env, "/elsewhere") == [str(tmp_path / "fourhands")]


def test_what_others_may_not_read_is_found_with_sockets(tmp_path: Path) -> None:
    (tmp_path / "open/deep").mkdir(parents=True)
    (tmp_path / "open/deep/public").write_text("")
    for name in ("private", "group.lock"):  # the lock of who changes users is gone before a sandbox could hide it
        (tmp_path / "open/deep" / name).write_text("")
        (tmp_path / "open/deep" / name).chmod(0o600)
    (tmp_path / "closed").mkdir(mode=0o700)
    (tmp_path / "closed/inner").write_text("")
    (tmp_path / "link").symlink_to("closed")
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(tmp_path / "open/s"))
    for directory in (tmp_path / "open", tmp_path / "open/deep"):
        directory.chmod(0o755)
    found = [os.path.relpath(path, tmp_path) for path in visibility.closed_places([str(tmp_path)])]
    assert found == ["closed", "open/deep/private", "open/s"]
    assert "open/deep/private" not in [
        os.path.relpath(p, tmp_path) for p in visibility.closed_places([str(tmp_path)], depth=2)
    ]


@pytest.mark.parametrize("path", ["/", "/usr", "/etc", "/var", "/proc", "/proc/self", "/run", "/dev/shm"])
def test_the_system_is_no_workspace(path: str) -> None:
    with pytest.raises(BadArgument, match="system"):
        visibility.check_workspace(path)


def test_a_workspace_is_a_directory_and_is_resolved(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    assert visibility.check_workspace(str(tmp_path / "link")) == str(tmp_path)
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "nothing"):
        with pytest.raises(BadArgument, match="not a directory"):
            visibility.check_workspace(str(path))
