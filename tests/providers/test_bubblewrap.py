"""The sandbox beyond the contract: limits, refusals, secrets inside the workspace, ordinary users."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.kit.isolation import CANARY, Yard, new_yard, refuse, until

from fourhands.core.errors import BadArgument, FourhandsError, Unavailable
from fourhands.host import processes
from fourhands.providers import cgroups
from fourhands.providers.base import CellDirs, Launch
from fourhands.providers.bubblewrap import Bubblewrap, SandboxTools
from fourhands.providers.termination import carriers, end_carriers
from fourhands.settings import BubblewrapSettings

MARK = f"run_test_{os.getpid()}"  # who carries it is ended, so tests beside this one must not


@pytest.fixture
async def yard() -> AsyncIterator[Yard]:
    async with new_yard() as made:
        yield made


async def ready(
    yard: Yard,
    *,
    readable: tuple[str, ...] = (),
    workspace: Path | None = None,
    tools: SandboxTools | None = None,
    **settings: object,
) -> Bubblewrap:
    options = {"require_limits": False, "max_processes": 100, "max_memory": 1 << 28, **settings}
    chosen = BubblewrapSettings(**options)  # type: ignore[arg-type]  # checked by msgspec
    provider = Bubblewrap(chosen, env=yard.env, tools=tools)
    probe = await provider.probe()
    if not probe.works:
        refuse(probe.detail)
    await provider.prepare(str(workspace or yard.workspace), readable)
    return provider


def dirs_of(cwd: Path, mark: str) -> CellDirs:
    """New directories for a cell, beside the workspace."""
    root = Path(tempfile.mkdtemp(dir=cwd.parent, prefix="cell-"))
    for name in ("home", "tmp"):
        (root / name).mkdir()
    return CellDirs(mark, str(root / "home"), str(root / "tmp"))


def start(
    provider: Bubblewrap, script: str, cwd: Path, env: dict[str, str], mark: str = MARK
) -> "subprocess.Popen[str]":
    """Start a cell whose first process starts a script, as the spawner starts programs."""
    wrapped = provider.wrap(Launch("/bin/sh", ("sh",), str(cwd), {**env, processes.MARK: mark}), terminal=False)
    variables = [f"{name}={value}" for name, value in wrapped.env.items()]
    words = ["env", "-i", *variables, "sh", "-c", script]
    inner = ["/bin/sh", "-c", 'cd "$1" && shift && "$@"', "first", str(cwd), *words]
    built = provider.enclose(inner, dirs_of(cwd, mark))
    return subprocess.Popen(
        list(built.argv), executable=built.program, env={**built.env, processes.MARK: mark}, cwd=built.cwd, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


async def run(
    provider: Bubblewrap, script: str, cwd: Path, env: dict[str, str], mark: str = MARK
) -> tuple[int, str, str]:
    with start(provider, script, cwd, env, mark) as process:
        out, err = await asyncio.to_thread(process.communicate, timeout=40)
    await provider.end(mark)
    await provider.clean_up()
    return process.returncode, out, err


async def test_a_home_that_is_the_workspace_shows_its_files_and_hides_its_secrets(yard: Yard) -> None:
    home = yard.root / "home"
    env = {**yard.env, "XDG_STATE_HOME": str(home / "state"), "XDG_CONFIG_HOME": str(home / ".config")}
    for name in ("state/fourhands/token", ".config/gh/hosts.yml", ".netrc", ".aws/credentials"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(CANARY)
    (home / "notes").write_text("mine")
    provider = await ready(Yard(yard.root, yard.places, env), workspace=home)
    script = "cat ~/notes; cat .ssh/* state/fourhands/* .config/gh/* .netrc .aws/*; ls -A .ssh; echo new >made"
    code, out, _ = await run(provider, script, home, env)
    assert (code, out) == (0, "mine")
    assert (home / "made").read_text() == "new\n"


async def test_what_is_readable_cannot_be_written_even_inside_the_workspace(yard: Yard) -> None:
    inner, outer = yard.workspace / "scripts", yard.root / "home" / "tools"
    for folder in (inner, outer):
        folder.mkdir()
        (folder / "f").write_text("text")
    provider = await ready(yard, readable=(str(inner), str(outer)))
    script = f"cat scripts/f {outer}/f; echo x >scripts/f; echo x >{outer}/f; ls -A {outer.parent}"
    code, out, err = await run(provider, script, yard.workspace, yard.env)
    assert (code, out) == (0, "texttexttools\n")
    assert err.count("Read-only") == 2


async def test_further_directories_can_be_made_writable(yard: Yard) -> None:
    cache = yard.root / "home" / "cache"
    cache.mkdir()
    provider = await ready(yard, writable=(str(cache),))
    assert (await run(provider, f"echo x >{cache}/f", yard.workspace, yard.env))[0] == 0
    assert (cache / "f").exists()


async def test_all_programs_have_the_cells_home_wherever_a_launch_says_it_is(yard: Yard) -> None:
    provider, home = await ready(yard), yard.env["HOME"]
    for other in (str(yard.root / "elsewhere"), "/", "/usr", "relative", ""):
        script = "cd && pwd && echo x >f && cat f"
        code, out, _ = await run(provider, script, yard.workspace, {**yard.env, "HOME": other})
        assert (code, out) == (0, f"{home}\nx\n")
    assert not os.path.exists(f"{home}/f")
    inside = str(yard.workspace / "own home")
    os.mkdir(inside)
    assert (await run(provider, "cd && pwd", yard.workspace, {**yard.env, "HOME": inside}))[1] == f"{inside}\n"


async def test_a_link_left_in_a_cells_home_leads_no_mount_outside(yard: Yard) -> None:
    """A program of an earlier cell has put it where the builder makes its mount points."""
    home = Path(yard.env["HOME"])
    (home / "tools").mkdir()
    (home / "tools/f").write_text("tool")
    outside = yard.root / "outside"
    outside.mkdir()
    provider = await ready(yard, readable=(str(home / "tools"),))
    dirs = dirs_of(yard.workspace, MARK)
    (Path(dirs.home) / "tools").symlink_to(f"/oldroot{outside}/made")
    built = provider.enclose(["/bin/cat", str(home / "tools/f")], dirs)
    done = await asyncio.to_thread(
        subprocess.run, list(built.argv), env=dict(built.env), capture_output=True, text=True, check=False
    )
    await provider.end(MARK)
    await provider.clean_up()
    assert done.stdout == "tool"
    assert list(outside.iterdir()) == []


async def test_what_only_root_may_read_is_not_readable_in_roots_sandbox(yard: Yard) -> None:
    provider = await ready(yard)
    code, out, _ = await run(
        provider, "cat /etc/shadow; find /etc ! -perm -o=r -type f -size +0", yard.workspace, yard.env
    )
    assert (code, out) == (0, "")


async def test_the_builder_of_the_wall_has_variables_of_its_own(yard: Yard) -> None:
    provider = await ready(yard)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_PRELOAD", "/evil.so")
        built = provider.enclose(["/bin/true"], dirs_of(yard.workspace, MARK))
    assert set(built.env) == {"PATH", "LC_ALL"}
    await provider.end(MARK)
    await provider.clean_up()


WITHOUT_OTHERS, OWN, NONE = ("--unshare-user", "--disable-userns"), ("--unshare-user",), tuple[str, ...]()


@pytest.mark.parametrize("space", [WITHOUT_OTHERS, OWN, NONE])
async def test_no_kind_of_wall_lets_root_change_the_kernel(yard: Yard, space: tuple[str, ...]) -> None:
    if not space and os.getuid() != 0:
        pytest.skip("only root can do without a user namespace")
    provider = await ready(yard, tools=SandboxTools(user_spaces=(space,)))
    write = "v=$(cat $p); echo $v >$p && echo WROTE"
    script = f"""
        p=/proc/sys/kernel/core_pattern; {write}
        unshare -Urpfm --mount-proc sh -c 'p=/proc/sys/kernel/core_pattern; {write}'
        unshare -UrmC sh -c 'mkdir /tmp/g; mount -t cgroup -o pids n /tmp/g && echo max >/tmp/g/pids.max && echo WROTE'
        mount -o remount,rw /proc && echo WROTE
        umount /etc/shadow && echo WROTE
        find /proc/sys /sys -type f -writable | head -3
    """
    _, out, _ = await run(provider, script, yard.workspace, yard.env)
    assert out == ""


async def test_no_further_user_namespace_can_be_made_inside(yard: Yard) -> None:
    make = "unshare -U true 2>/dev/null && echo MADE"
    weaker = await ready(yard, tools=SandboxTools(user_spaces=(OWN,)))
    if (await run(weaker, make, yard.workspace, yard.env))[1] != "MADE\n":
        refuse("user namespaces do not nest here, so nothing is shown")
    assert (await run(await ready(yard), make, yard.workspace, yard.env))[1] == ""


@pytest.mark.parametrize(
    "space", ["pid", "ipc", "uts", "net", "cgroup", "user", "mnt"]
)  # fmt: skip
async def test_each_namespace_is_the_programs_own(yard: Yard, space: str) -> None:
    _, out, _ = await run(await ready(yard), f"readlink /proc/self/ns/{space}", yard.workspace, yard.env)
    assert out.startswith(f"{space}:[")
    assert out.strip() != os.readlink(f"/proc/self/ns/{space}")


async def test_what_lies_in_memory_is_as_large_as_memory_may_be(yard: Yard) -> None:
    provider = await ready(yard, max_memory=64 << 20, readable=(str(yard.root / "state"),))
    _, out, _ = await run(provider, "df -B1 --output=size /dev/shm | tail -1", yard.workspace, yard.env)
    assert out.split() == ["67108864"]


async def test_names_of_the_kernels_keys_are_not_shown(yard: Yard) -> None:
    _, out, err = await run(await ready(yard), "cat /proc/keys /proc/key-users", yard.workspace, yard.env)
    assert out == ""
    assert err.count("Permission denied") == 2


async def test_what_runs_inside_dies_with_the_one_that_started_it(yard: Yard) -> None:
    """A host that is killed must not leave a program that nobody reads."""
    provider, mark = await ready(yard), f"run_parent_{os.getpid()}"
    sleep = ["/bin/sh", "-c", "sleep 1000; exit"]
    wrapped = provider.enclose(["/usr/bin/env", f"{processes.MARK}={mark}", *sleep], dirs_of(yard.workspace, mark))
    starting = f"import os, subprocess; subprocess.Popen({list(wrapped.argv)!r}, env={dict(wrapped.env)!r}).wait()"
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-S", "-c", starting, stdout=asyncio.subprocess.DEVNULL, start_new_session=True
    )
    try:
        await until(lambda: any(one.name == "sleep" for one in carriers(mark)))
        parent.kill()
        await until(lambda: carriers(mark) == [])
    finally:
        await end_carriers(mark)
        await parent.wait()
        await provider.end(mark)
        await provider.clean_up()


async def test_a_socket_of_an_engine_in_the_workspace_is_hidden(yard: Yard) -> None:
    """Whoever may talk to the engine is the machine's root."""
    env = {**yard.env, "DOCKER_HOST": f"unix://{yard.workspace}/docker.sock"}
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(yard.workspace / "docker.sock"))
        listening.listen()
        provider = await ready(Yard(yard.root, yard.places, env))
        script = 'test -S docker.sock && echo LEAK; echo x >docker.sock; echo "[$DOCKER_HOST]"'
        _, out, _ = await run(provider, script, yard.workspace, env)
    assert out == "[]\n"


async def test_a_hostile_program_finds_no_way_out(yard: Yard) -> None:
    """Sockets without a path, links to the outside, devices, set-uid programs, other processes, keys typed for us."""
    outside = yard.root / "outside"
    outside.mkdir()
    (outside / "canary").write_text("untouched")
    (yard.workspace / "link").symlink_to(outside)
    name = f"fourhands-test-{os.getpid()}"
    connect = (
        "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) or die; "
        f'print connect(S, pack("Sa*", AF_UNIX, "\\0{name}")) ? "LEAK" : "closed"\''
    )
    script = f"""
        echo "socket $({connect})"
        echo changed >link/canary; ln -s "{outside}" other; echo changed >other/canary
        mknod disk b 8 0; mknod /tmp/disk b 8 0
        kill -0 {os.getpid()} && echo "sees LEAK"
        ls -d /home /root/* /srv /mnt /sys/fs /sys/kernel /dev/sd* /dev/mem /dev/kmsg /dev/input
        ls -d {outside} {yard.root}/run
        ls -A /run "$HOME" | tr '\\n' ' '
        true </dev/tty && echo "tty LEAK"
        grep -E '^(CapBnd|CapEff|NoNewPrivs)' /proc/self/status | tr -d '\\t\\n'
    """
    provider = await ready(yard)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"\0{name}")
        listening.listen()
        _, out, _ = await run(provider, script, yard.workspace, {"PATH": "/usr/bin:/bin", "HOME": yard.env["HOME"]})
    lines = out.splitlines()
    assert lines[0] == "socket closed"
    assert "LEAK" not in out
    assert lines[-1].endswith("CapEff:0000000000000000CapBnd:0000000000000000NoNewPrivs:1")
    assert [line for line in lines[1:-1] if line.startswith("/") and not line.endswith(":")] == []
    assert (outside / "canary").read_text() == "untouched"
    assert not (yard.workspace / "disk").exists()
    await provider.clean_up()


async def test_a_shell_that_is_closed_while_its_wall_is_built_is_not_waited_for(yard: Yard) -> None:
    async with yard.terminals({"wall": BubblewrapSettings(require_limits=False)}) as terminals:
        probe = await terminals.providers["wall"].probe()
        if not probe.works:
            refuse(probe.detail)
        for _ in range(4):
            terminal = await terminals.create(provider="wall")
            await terminal.close()
            assert terminal.exit is not None
            assert terminal.exit.signal != "SIGKILL"


async def test_the_network_can_be_allowed(yard: Yard) -> None:
    provider = await ready(yard, network=True)
    _, out, _ = await run(provider, "readlink /proc/self/ns/net", yard.workspace, yard.env)
    assert out.strip() == os.readlink("/proc/self/ns/net")
    assert "network allowed" in (await provider.probe()).detail


# -- limits ----------------------------------------------------------------------------------------------------------


def groups_of(mark: str) -> dict[str, Path]:
    """The directory of each of the mark's control groups."""
    found = {}
    for base in cgroups.find_bases(("pids", "memory")):
        for group in Path(base.directory).glob(f"fourhands-*/{mark}"):
            found.update(dict.fromkeys(base.controllers, group))
    return found


def need_groups() -> None:
    kept = {name for base in cgroups.find_bases(("pids", "memory")) for name in base.controllers}
    if kept != {"pids", "memory"}:
        refuse("control groups cannot be written here")


async def test_a_fork_bomb_leaves_the_others_usable(yard: Yard) -> None:
    need_groups()
    mark = f"run_bomb_{os.getpid()}"  # what an interrupted run has left behind is not ours
    provider = await ready(yard, max_processes=40, require_limits=True)
    # First the proof that the limit holds, with processes that multiply no further.
    harmless = "i=0; while [ $i -lt 60 ]; do sleep 30 & i=$((i+1)); done; jobs | wc -l"
    _, out, err = await run(provider, harmless, yard.workspace, yard.env)
    assert "fork" in err.lower() or "resource" in err.lower()
    with start(
        provider,
        # Multiplies until the limit and stays there: bash tries again when it cannot fork. Ends by itself.
        "sleep 0.2; exec bash -c 'f() { while [ $SECONDS -lt 18 ]; do f & sleep 1; done; }; f'",
        yard.workspace,
        yard.env,
        mark,
    ) as bomb:
        pass_on = groups_of(mark)["pids"]
        await until(lambda: len((pass_on / "inside/cgroup.procs").read_text().split()) >= 2)
        assert (pass_on / "pids.max").read_text().strip() == "40"
        await until(lambda: int((pass_on / "pids.current").read_text()) >= 38)
        code, out, _ = await run(provider, "echo fine; sh -c 'exit 3'", yard.workspace, yard.env, "run_other")
        assert (code, out) == (3, "fine\n")
        assert int((pass_on / "pids.current").read_text()) <= 40
        bomb.kill()
    await until(lambda: carriers(mark) == [])
    await until(lambda: int((pass_on / "pids.current").read_text()) == 0)  # who is gone leaves it a moment later
    await provider.end(mark)
    await provider.clean_up()
    assert not pass_on.exists()


async def test_a_memory_hog_is_stopped_and_the_others_go_on(yard: Yard) -> None:
    need_groups()
    provider = await ready(yard, max_memory=64 << 20, require_limits=True)
    hog = "x=x; while [ ${#x} -lt 500000000 ]; do x=$x$x; done; echo ATE"
    with start(provider, hog, yard.workspace, yard.env, "run_hog") as process:
        beside = await run(provider, "echo fine", yard.workspace, yard.env, "run_other")
        out, _ = await asyncio.to_thread(process.communicate, timeout=40)
    assert beside[:2] == (0, "fine\n")
    assert (process.returncode, out) == (128 + 9, "")
    # What is written to the private directories is memory too.
    code, _, _ = await run(provider, "head -c 200000000 /dev/zero >/dev/shm/big", yard.workspace, yard.env)
    assert code != 0
    await provider.end("run_hog")
    await provider.clean_up()


async def test_limits_that_cannot_be_kept_are_refused_or_told(yard: Yard) -> None:
    await ready(yard)
    poor = SandboxTools(find_bases=lambda *_: [])
    strict = Bubblewrap(BubblewrapSettings(max_memory=1 << 30), env=yard.env, tools=poor)
    probe = await strict.probe()
    assert not probe.works
    assert "1024 MiB of memory" in probe.detail
    assert "requireLimits" in probe.detail
    with pytest.raises(Unavailable, match="cannot be kept"):
        await strict.prepare(str(yard.workspace), ())
    lax = await ready(yard, tools=poor)
    assert "NOT LIMITED: 256 MiB of memory" in (await lax.probe()).detail
    assert (await run(lax, "ulimit -d", yard.workspace, yard.env))[1] == f"{(1 << 28) // 1024}\n"
    unlimited = Bubblewrap(BubblewrapSettings(max_memory=0, max_processes=0), env=yard.env, tools=poor)
    assert "no limits configured" in (await unlimited.probe()).detail


async def test_groups_that_cannot_be_entered_are_not_used(yard: Yard) -> None:
    await ready(yard)
    base = cgroups.GroupBase(str(yard.root / "groups"), 1, ("pids",))
    tools = SandboxTools(find_bases=lambda *_: [base])
    probe = await Bubblewrap(BubblewrapSettings(), env=yard.env, tools=tools).probe()
    assert not probe.works


async def test_several_that_are_tried_at_once_find_the_same_and_each_is_tried_once(yard: Yard) -> None:
    first = await ready(yard)
    looks: list[tuple[str, ...]] = []

    def find_bases(wanted: tuple[str, ...], also: tuple[str, ...]) -> list[cgroups.GroupBase]:
        looks.append(wanted)
        return cgroups.find_bases(wanted, also)

    settings = BubblewrapSettings(require_limits=False, max_processes=100, max_memory=1 << 28)
    tools = SandboxTools(find_bases=find_bases)
    several = [Bubblewrap(settings, env=yard.env, tools=tools) for _ in range(4)]
    found = await asyncio.gather(*(provider.probe() for provider in several * 2))
    assert set(found) == {await first.probe()}
    assert len(looks) == len(several)


# -- refusals --------------------------------------------------------------------------------------------------------


async def test_without_bubblewrap_it_says_what_to_install(yard: Yard) -> None:
    tools = SandboxTools(search_path="", find_wheel=lambda: None)
    provider = Bubblewrap(env={**yard.env, "PATH": str(yard.root)}, tools=tools)
    with pytest.raises(Unavailable, match="install the package bubblewrap"):
        await provider.prepare(str(yard.workspace), ())
    assert not (await provider.probe()).works


async def test_a_wall_that_cannot_be_built_is_refused_with_the_reason(yard: Yard) -> None:
    fake = yard.root / "bin"
    fake.mkdir()
    (fake / "bwrap").write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    (fake / "bwrap").chmod(0o755)
    provider = Bubblewrap(env=yard.env, tools=SandboxTools(search_path=f"{fake}:/usr/bin:/bin"))
    probe = await provider.probe()
    assert not probe.works
    assert "No permissions to create new namespace" in probe.detail
    assert "unprivileged_userns" in probe.detail


async def test_a_path_that_is_not_there_is_refused_at_the_start(yard: Yard) -> None:
    with pytest.raises(Unavailable, match="no-such"):
        await ready(yard, readable=("/no-such-path",))


@pytest.mark.parametrize("workspace", ["/", "/etc", "/proc", "/usr", "/no/such/place"])
async def test_parts_of_the_system_are_no_workspaces(yard: Yard, workspace: str) -> None:
    with pytest.raises(BadArgument):
        await ready(yard, workspace=Path(workspace))


async def test_it_must_be_prepared_before_it_wraps(yard: Yard) -> None:
    with pytest.raises(FourhandsError, match="prepare"):
        Bubblewrap(env=yard.env).wrap(Launch("/bin/true", ("true",), "/", {}), terminal=False)
    with pytest.raises(FourhandsError, match="prepare"):
        Bubblewrap(env=yard.env).enclose(["/bin/true"], CellDirs("x", "/h", "/t"))


# -- another user ----------------------------------------------------------------------------------------------------

_AS_NOBODY = """
    import asyncio, concurrent.futures.thread, json, os, subprocess, sys
    from fourhands.providers.base import CellDirs
    from fourhands.providers.bubblewrap import Bubblewrap, SandboxTools
    from fourhands.settings import BubblewrapSettings

    async def main():
        workspace, home = sys.argv[1:]
        env = {"HOME": home, "PATH": "/usr/bin:/bin"}
        provider = Bubblewrap(BubblewrapSettings(max_processes=30, require_limits=False), env=env)
        probe = await provider.probe()
        if not probe.works:
            print(json.dumps({"probe": probe.detail}))
            return
        await provider.prepare(workspace, ())
        script = "id -u; echo x >made; ls -A ~; cat /etc/shadow; i=0; while [ $((i+=1)) -lt 60 ]; do sleep 9 & done"
        dirs = CellDirs("run_x", home + "/h", home + "/t")
        os.mkdir(dirs.home), os.mkdir(dirs.tmp)
        words = ["/usr/bin/env", "-i", "HOME=" + home, "/bin/sh", "-c", script]
        built = provider.enclose(["/bin/sh", "-c", '"$@"', "first", *words], dirs)
        done = subprocess.run(built.argv, cwd="/", env=built.env, capture_output=True, text=True, timeout=40)
        print(json.dumps({"probe": probe.detail, "works": True, "out": done.stdout, "err": done.stderr}))

    # Only now: the interpreter and its packages may lie where others cannot read.
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    asyncio.run(main())
"""


async def test_an_ordinary_user_gets_the_same_wall(yard: Yard) -> None:
    if os.getuid() != 0:
        pytest.skip("the tests already run as an ordinary user")
    nobody = 65534
    yard.root.chmod(0o755)
    for name in ("work space,1", "home"):
        os.chown(yard.root / name, nobody, nobody)
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", textwrap.dedent(_AS_NOBODY), str(yard.workspace), str(yard.root / "home")],
        cwd="/", capture_output=True, text=True, timeout=40, check=False,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    if "works" not in told:
        refuse(f"as an ordinary user: {told['probe']}")
    assert told["out"] == "65534\n"
    assert "own user namespace" in told["probe"]
    assert "shadow" in told["err"]
    assert "fork" in told["err"].lower()  # the limit of 30 holds
    assert (yard.workspace / "made").stat().st_uid == nobody
