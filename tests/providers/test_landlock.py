"""The weaker sandbox beyond what both rungs show: its domain, its terminals, its refusals."""

import asyncio
import json
import os
import pty
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.kit.isolation import Yard, new_yard, refuse

from fourhands.core.errors import FourhandsError, Unavailable
from fourhands.providers import confine, landlock
from fourhands.providers.base import CellDirs, Launch
from fourhands.providers.landlock import Landlock

pytestmark = pytest.mark.timeout(60)


@pytest.fixture
async def yard() -> AsyncIterator[Yard]:
    async with new_yard() as made:
        yield made


async def ready(yard: Yard) -> Landlock:
    provider = Landlock(env=yard.env)
    probe = await provider.probe()
    if not probe.works:
        refuse(probe.detail)
    await provider.prepare(str(yard.workspace), ())
    return provider


async def started(command: Sequence[str], **options: Any) -> "subprocess.CompletedProcess[str]":
    def start() -> "subprocess.CompletedProcess[str]":
        return subprocess.run(command, capture_output=True, text=True, timeout=50, check=False, **options)

    return await asyncio.to_thread(start)


# Starts what stands in a file inside of the rules that `enclose` gave, one after the other, as a spawner does.
SPAWNER = """
import json, os, pty, subprocess, sys
steps = json.load(open(sys.argv[1]))
results = []
waiting = subprocess.Popen(["sleep", "1000"])
master, slave = pty.openpty()
for argv, env in steps:
    env = env | {"FOURHANDS_V99": f"OTHER={waiting.pid}", "FOURHANDS_V98": f"MINE={os.ttyname(slave)}"}
    done = subprocess.run(argv, env=env, stdin=slave, capture_output=True, text=True)
    results.append(done.stdout + done.stderr)
waiting.kill()
print(json.dumps(results))
"""


async def test_programs_of_a_cell_reach_each_other_and_no_terminal_but_their_own(yard: Yard) -> None:
    provider = await ready(yard)
    dirs = CellDirs("one", str(yard.root / "one/home"), str(yard.root / "one/tmp"))
    other = CellDirs("other", str(yard.root / "other/home"), str(yard.root / "other/tmp"))
    for place in (dirs.home, dirs.tmp, other.home, other.tmp):
        Path(place).mkdir(parents=True)
    provider.enclose(["/bin/true"], other)
    (yard.workspace / "spawner.py").write_text(SPAWNER)
    command = provider.enclose(
        [sys.executable, "-I", "-S", str(yard.workspace / "spawner.py"), str(yard.workspace / "steps")], dirs
    )
    master, slave = pty.openpty()
    lines = [
        'kill -0 $OTHER && echo "signal reaches"',
        f"kill -0 {os.getpid()} 2>/dev/null && echo LEAK; true",
        'echo x >$MINE && echo "own terminal"; tty; true </dev/tty || true',
        f"(echo x >{os.ttyname(slave)}) 2>/dev/null && echo LEAK; true",
        "echo x >$TMPDIR/f && cat $TMPDIR/f && echo $HOME",
        "cat $TMPDIR/f",
        f"ls {other.tmp} {other.home} 2>/dev/null && echo LEAK; true",
    ]
    provider = await ready(yard)  # of a server that came later, and has not made the cell
    wrapped = [
        provider.wrap(Launch("/bin/bash", ("bash", "-c", line), str(yard.workspace), yard.env), terminal=True)
        for line in lines
    ]
    (yard.workspace / "steps").write_text(json.dumps([[list(one.argv), dict(one.env)] for one in wrapped]))
    done = await started(command.argv, env=dict(command.env), cwd=str(yard.workspace))
    os.close(master)
    os.close(slave)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert "signal reaches" in results[0]
    assert "own terminal" in results[2]
    assert "/dev/pts/" in results[2]
    assert "LEAK" not in done.stdout
    assert (results[4], results[5]) == (f"x\n{dirs.home}\n", "x\n")


async def test_a_programs_variables_do_not_reach_the_confining_program(yard: Yard) -> None:
    provider = await ready(yard)
    env = {**yard.env, "LD_PRELOAD": "/evil.so", "PYTHONPATH": "/evil", "PATH": "/evil", "TOKEN": "sk-canary"}
    wrapped = provider.wrap(Launch("/usr/bin/env", ("env",), str(yard.workspace), env), terminal=True)
    assert not {"LD_PRELOAD", "PYTHONPATH", "TOKEN"} & wrapped.env.keys()
    assert wrapped.env["PATH"] != "/evil"
    assert not any("sk-canary" in word for word in wrapped.argv)
    done = await started(wrapped.argv, env=dict(wrapped.env))
    assert "TOKEN=sk-canary" in done.stdout
    assert "FOURHANDS_V" not in done.stdout


async def test_root_has_no_capability_and_no_way_to_one(yard: Yard) -> None:
    provider = await ready(yard)
    wrapped = provider.wrap(Launch("/bin/cat", ("cat", "/proc/self/status"), str(yard.workspace), {}), terminal=False)
    done = await started(wrapped.argv, env=dict(wrapped.env))
    facts = dict(line.split(":\t", 1) for line in done.stdout.splitlines() if ":\t" in line)
    assert int(facts["CapEff"], 16) == int(facts["CapPrm"], 16) == 0
    assert facts["NoNewPrivs"] == "1"
    if os.getuid() == 0:
        assert int(facts["CapBnd"], 16) == 0


async def test_old_kernels_are_refused_or_their_limits_said(yard: Yard) -> None:
    none = Landlock(env=yard.env, version=0)
    assert "no Landlock" in (await none.probe()).detail
    with pytest.raises(Unavailable, match="no Landlock"):
        await none.prepare(str(yard.workspace), ())
    assert any("signal" in line for line in landlock.limits(5))
    assert not any("signal" in line for line in landlock.limits(6))
    assert any("moved" in line for line in landlock.limits(1))
    assert [confine.handled_files(version).bit_length() for version in (1, 2, 3, 4, 5, 9)] == [13, 14, 15, 15, 16, 16]


async def test_rules_that_cannot_be_kept_end_the_launch(yard: Yard) -> None:
    provider = await ready(yard)
    wrapped = provider.wrap(Launch("/bin/echo", ("echo", "RAN"), str(yard.workspace), {}), terminal=False)
    for text in (
        "",
        "{}",
        '{"rules": []}',
        '{"rules": {}}',
        '{"rules": [], "filter": ""}',
        '{"rules": [], "filter": "AAAA"}',
    ):
        policy = Path(wrapped.argv[5])
        policy.write_text(text)
        done = await started(wrapped.argv, env=dict(wrapped.env))
        assert (done.returncode, done.stdout) == (confine.FAILED, ""), text
        assert isinstance(await provider.explain("", done.returncode, done.stderr), Unavailable)
    assert await provider.explain("", 125, "my own") is None


async def test_links_that_a_program_left_at_home_lead_nowhere(yard: Yard) -> None:
    home = yard.root / "home"
    for name in (".config/git", ".local/bin", "elsewhere"):
        (home / name).mkdir(parents=True)
    provider = await ready(yard)
    own = Path(provider.wrap(Launch("/bin/true", ("true",), "/", {}), terminal=False).env["FOURHANDS_V1"][5:])
    assert (own / ".config/git").resolve() == home / ".config/git"
    (own / ".config/git").unlink()
    (own / ".config").rmdir()
    (own / ".config").symlink_to(home / "elsewhere")
    await ready(yard)
    assert list((home / "elsewhere").iterdir()) == []
    assert (own / ".config/git").resolve() == home / ".config/git"


async def test_it_must_be_prepared_first(yard: Yard) -> None:
    with pytest.raises(FourhandsError, match="prepare"):
        Landlock(env=yard.env).wrap(Launch("/bin/true", ("true",), "/", {}), terminal=False)
    with pytest.raises(FourhandsError, match="prepare"):
        Landlock(env=yard.env).enclose(["/bin/true"], CellDirs("x", "/x", "/y"))
