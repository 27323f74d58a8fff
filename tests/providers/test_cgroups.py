"""Finding, making and removing control groups: on drawn trees (of two versions a machine has one), and on real ones."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from fourhands.providers import cgroups
from fourhands.providers.cgroups import ControlGroups, GroupBase, GroupFiles, ResourceLimits


def draw(root: Path, cgroup: str, mountinfo: str) -> str:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(cgroup)
    (root / "proc/self/mountinfo").write_text(mountinfo)
    return str(root / "proc")


@pytest.fixture
def unified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Path]:
    """Version 2, and we are in /user/scope; files are made as the kernel would, rules are not kept."""
    mount = tmp_path / "cg roup"
    own = mount / "user/scope"
    own.mkdir(parents=True)
    for directory in (mount, mount / "user", own):
        (directory / "cgroup.controllers").write_text("cpu memory pids\n")
        (directory / "cgroup.subtree_control").write_text("")
        (directory / "cgroup.procs").write_text("")
    real, real_rmdir = os.mkdir, os.rmdir

    def mkdir(path: str, mode: int = 0o777, **more: int) -> None:
        real(path, mode, **more)
        for name in ("pids.max", "memory.max", "memory.swap.max", "cgroup.procs", "cgroup.subtree_control"):
            Path(path, name).write_text("")

    def rmdir(path: str) -> None:
        for file in Path(path).iterdir():
            if file.is_file():
                file.unlink()
        real_rmdir(path)

    monkeypatch.setattr(os, "mkdir", mkdir)
    monkeypatch.setattr(os, "rmdir", rmdir)
    text = str(mount).replace(" ", "\\040")
    return draw(tmp_path, "0::/user/scope\n", f"30 1 0:26 / {text} rw - cgroup2 cgroup2 rw\n"), own


def test_our_place_is_found_in_both_versions(tmp_path: Path) -> None:
    proc = draw(
        tmp_path,
        "8:pids:/a/b\n4:cpu,cpuacct:/\n3:freezer:/elsewhere\n0::/x\n",
        "31 1 0:27 /a /groups/pids rw - cgroup cgroup rw,pids\n"
        "32 1 0:28 / /groups/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
        "33 1 0:29 /a /groups/freezer rw - cgroup cgroup rw,freezer\n"
        "34 1 0:30 / /groups/unified rw - cgroup2 cgroup2 rw\n",
    )
    found = {own.controllers: (own.version, own.directory) for own in cgroups.hierarchies(proc)}
    assert found == {
        ("pids",): (1, "/groups/pids/b"),
        ("cpu", "cpuacct"): (1, "/groups/cpu"),
        (): (2, "/groups/unified/x"),
    }  # the freezer's mount does not show the part in which we are
    assert cgroups.hierarchies(str(tmp_path / "nothing")) == []


def test_a_delegated_group_hands_its_controllers_down(unified: tuple[str, Path]) -> None:
    proc, own = unified
    assert cgroups.find_bases(("pids", "memory"), ("cpu",), proc) == [GroupBase(str(own), 2, ("pids", "memory", "cpu"))]
    assert (own / "cgroup.subtree_control").read_text() == "+pids +memory +cpu"


class Delegated(GroupFiles):
    """The files of a user to whom groups were given; one with processes in it refuses controllers, as the kernel does.

    Process 12 ends while it is moved.
    """

    def __init__(self, own: Path, uid: int = 4711, owner: int = 4711) -> None:
        super().__init__(uid)
        self._own, self._owner = own, owner

    def owner(self, path: str) -> int:
        return self._owner

    def write(self, path: str, text: str) -> None:
        procs = self._own / "cgroup.procs"
        if path == f"{self._own}/cgroup.subtree_control" and procs.read_text():
            raise OSError(16, "busy")
        if path.startswith(f"{self._own.parent}/cgroup"):
            raise PermissionError(13, "not given to us")
        if text == "12":
            procs.write_text("")
            raise ProcessLookupError
        super().write(path, text)


def test_processes_of_a_delegated_group_move_down_first(unified: tuple[str, Path]) -> None:
    proc, own = unified
    (own / "cgroup.procs").write_text("11\n12\n")
    found = cgroups.find_bases(("pids",), (), proc, Delegated(own))
    assert found == [GroupBase(str(own), 2, ("pids",))]
    assert (own / "fourhands-main/cgroup.procs").read_text() == "11"


@pytest.mark.parametrize(("uid", "owner"), [(4711, 0), (0, 0)])
def test_processes_of_a_group_that_is_another_programs_are_not_moved(
    unified: tuple[str, Path], uid: int, owner: int
) -> None:
    """As root everything can be written, and yet it is another program's to arrange."""
    proc, own = unified
    (own / "cgroup.procs").write_text("11\n12\n")
    assert str(own) not in [
        base.directory for base in cgroups.find_bases(("pids",), (), proc, Delegated(own, uid, owner))
    ]
    assert not (own / "fourhands-main").exists()


class Refusing(GroupFiles):
    """Files that may not be written."""

    def write(self, path: str, text: str) -> None:
        raise PermissionError(13, "no")


def test_a_group_that_nobody_gave_us_is_left_alone(unified: tuple[str, Path]) -> None:
    proc, own = unified
    assert cgroups.find_bases(("pids",), (), proc, Refusing()) == []
    assert not (own / "fourhands-main").exists()


def test_limits_are_outside_and_the_door_is_inside(unified: tuple[str, Path]) -> None:
    _, own = unified
    groups = ControlGroups([GroupBase(str(own), 2, ("pids", "memory"))], "fourhands-x", ResourceLimits(50, 1 << 20))
    assert groups.open("run_1") == (f"{own}/fourhands-x/run_1/inside/cgroup.procs",)
    group = own / "fourhands-x/run_1"
    assert (group / "pids.max").read_text() == "50"
    assert (group / "memory.max").read_text() == str(1 << 20)
    assert (group / "memory.swap.max").read_text() == "0"
    assert (group / "inside/pids.max").read_text() == ""
    assert (group.parent / "cgroup.subtree_control").read_text() == "+memory +pids"


async def test_groups_are_removed_when_told_and_swept_when_not(unified: tuple[str, Path]) -> None:
    _, own = unified
    groups = ControlGroups([GroupBase(str(own), 2, ("pids",))], "fourhands-x", ResourceLimits(50))
    family = own / "fourhands-x"
    groups.open("run_1")
    await groups.close("run_1")
    await groups.close("run_1")
    assert not (family / "run_1").exists()
    groups.open("run_2")
    groups.sweep()  # too young: its program may be about to enter
    assert (family / "run_2").exists()
    groups.clean_up()
    assert not family.exists()


def test_a_group_that_is_not_empty_stays(tmp_path: Path) -> None:
    (tmp_path / "fourhands-x/run_1/inside").mkdir(parents=True)
    (tmp_path / "fourhands-x/run_1/inside/file").write_text("stands for a process")
    groups = ControlGroups([GroupBase(str(tmp_path), 1, ("pids",))], "fourhands-x", ResourceLimits(50))
    groups.clean_up()
    assert (tmp_path / "fourhands-x/run_1/inside").exists()


def test_no_limit_needs_no_controller() -> None:
    assert ResourceLimits().controllers == ()
    assert ResourceLimits(processes=1).controllers == ("pids",)
    assert ResourceLimits(memory=1).controllers == ("memory",)


def real_base(*versions: int) -> GroupBase:
    """A place on this machine in which groups of such a version can be made, with process counting if there is one."""
    names = {"pids"}
    for own in cgroups.hierarchies():
        listed = GroupFiles().words(f"{own.directory}/cgroup.controllers") if own.version == 2 else own.controllers
        names |= {name for name in listed if own.version in versions}
    for name in sorted(names, key=lambda name: (name != "pids", name)):
        for base in cgroups.find_bases((name,)):
            if base.version in versions:
                return base
    pytest.skip(f"no control groups of version {versions} can be made here")


@pytest.mark.parametrize("version", [1, 2])
async def test_a_process_enters_a_real_group_and_the_group_goes_with_it(version: int, tmp_path: Path) -> None:
    base = real_base(version)
    family = f"fourhands-test-{tmp_path.name}-{os.getpid()}"
    groups = ControlGroups([base], family, ResourceLimits(20, 1 << 28))
    try:
        (door,) = groups.open("run_1")
        enter = ["sh", "-c", f"echo $$ >{door} && cat /proc/self/cgroup"]
        inside = await asyncio.to_thread(subprocess.check_output, enter, text=True)
        assert f"/{family}/run_1/inside" in inside
        await groups.close("run_1")
        assert not Path(door).parent.exists()
    finally:
        groups.clean_up()
    assert not Path(base.directory, family).exists()


async def test_groups_that_a_crash_left_behind_do_not_stop_the_next_start(tmp_path: Path) -> None:
    base = real_base(1, 2)
    family = f"fourhands-test-{tmp_path.name}-{os.getpid()}"
    stale = ControlGroups([base], family, ResourceLimits(20))
    stale.open("run_1")
    # What a probe leaves that was killed between making its group and removing it.
    os.mkdir(f"{base.directory}/fourhands-try-{os.getpid()}")
    try:
        assert cgroups.find_bases(base.controllers) == [base]
        groups = ControlGroups([base], family, ResourceLimits(20))
        assert groups.open("run_1") == stale.open("run_1")
    finally:
        stale.clean_up()
