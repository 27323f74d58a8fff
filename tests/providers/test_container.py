"""The container beyond the contract: its life, its limits, its engine's failures, and the end of what runs inside."""

import asyncio
import itertools
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.kit.isolation import CANARY, IMAGE, Yard, image, new_yard, refuse, until

from fourhands.core.errors import FourhandsError, Unavailable
from fourhands.host import processes
from fourhands.providers.base import Launch
from fourhands.providers.container import Container
from fourhands.providers.engine import Engine, mount
from fourhands.providers.termination import carriers
from fourhands.settings import ContainerSettings


@pytest.fixture
async def yard() -> AsyncIterator[Yard]:
    async with new_yard() as made:
        try:
            yield made
        finally:
            while MADE:  # also when a test has failed half-way
                await asyncio.to_thread(
                    subprocess.run, ["podman", "rm", "-f", "-t", "0", MADE.pop()], capture_output=True
                )


# Each thing that an engine does takes a good part of a second, and more on a busy machine.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]

MADE: list[str] = []

# Whoever carries a mark is ended with it, so tests that run beside these must not have the same.
RUN, ONE, TWO, BOMB = (f"{name}_{os.getpid()}" for name in ("run", "one", "two", "bomb"))


def container(yard: Yard, *, visible: bool | None = None, **settings: object) -> Container:
    if image() != IMAGE:
        refuse(image())
    options = {"image": IMAGE, "engine": "podman", "max_processes": 60, "max_memory": 1 << 28, **settings}
    chosen = ContainerSettings(**options)  # type: ignore[arg-type]  # checked by msgspec
    return Container(chosen, env=yard.env, visible=visible)


async def ready(yard: Yard, *, visible: bool | None = None, **settings: object) -> Container:
    provider = container(yard, visible=visible, **settings)
    try:
        await provider.prepare(str(yard.workspace), ())
    except Unavailable as error:
        refuse(str(error))
    MADE.append(provider.container)
    return provider


def start(provider: Container, yard: Yard, script: str, mark: str) -> "subprocess.Popen[str]":
    env = {"PATH": "/usr/bin:/bin", "HOME": yard.env["HOME"], processes.MARK: mark}
    wrapped = provider.wrap(Launch("/bin/sh", ("sh", "-c", script), str(yard.workspace), env), terminal=False)
    return subprocess.Popen(
        list(wrapped.argv), executable=wrapped.program, env=dict(wrapped.env), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


async def run(provider: Container, yard: Yard, script: str, mark: str = RUN) -> tuple[int, str, str]:
    with start(provider, yard, script, mark) as process:
        out, err = await asyncio.to_thread(process.communicate, timeout=40)
    return process.returncode, out, err


def names() -> set[str]:
    listed = subprocess.run(
        ["podman", "ps", "--all", "--format", "{{.Names}}"], capture_output=True, text=True, check=False
    )
    return set(listed.stdout.split())


async def test_a_container_is_reused_and_removed_at_the_end(yard: Yard) -> None:
    first = await ready(yard)
    (yard.workspace / "x").write_text("")
    await run(first, yard, "echo kept >/tmp/kept")
    second = await ready(yard)  # the first one's server has crashed, say
    assert second.container == first.container
    assert (await run(second, yard, "cat /tmp/kept"))[1] == "kept\n"
    other = await ready(yard, max_processes=50)  # other settings: another container, and the unused one is gone
    assert other.container != first.container
    assert first.container not in await asyncio.to_thread(names)
    await other.clean_up()
    assert other.container not in await asyncio.to_thread(names)
    await other.clean_up()


async def test_a_stopped_container_is_replaced_and_one_in_use_is_kept(yard: Yard) -> None:
    provider = await ready(yard)
    engine = Engine.find("podman", yard.env)[0]
    assert (await engine.call("kill", provider.container)).code == 0
    await until(lambda: carriers(provider.container) == [])
    problem = await provider.explain(RUN, *(await run(provider, yard, "true"))[::2])
    assert isinstance(problem, Unavailable)
    assert "no longer exists" in problem.message
    again = await ready(yard)
    assert (await run(again, yard, "echo back"))[1] == "back\n"
    # A terminal leaves its number inside; as long as it lives, nobody removes its container.
    with start(again, yard, f"echo $$ >/run/fourhands/{ONE}; echo up; exec sleep 1000", ONE) as process:
        assert process.stdout is not None
        assert await asyncio.to_thread(process.stdout.readline) == "up\n"
        await again.clean_up()
        assert again.container in await asyncio.to_thread(names)
        await again.end(ONE)
    await again.clean_up()
    assert again.container not in await asyncio.to_thread(names)


async def test_a_fork_bomb_is_bounded_and_can_be_ended(yard: Yard) -> None:
    provider = await ready(yard, max_processes=40)
    # First the proof that the limit holds, with processes that multiply no further.
    _, _, err = await run(provider, yard, "i=0; while [ $((i+=1)) -lt 60 ]; do sleep 1 & done")
    assert "fork" in err.lower()
    await provider.end(RUN)
    with start(provider, yard, "exec bash -c 'f() { f | f & sleep 1; f; }; f; sleep 1000'", BOMB) as process:
        await until(lambda: len(carriers(BOMB)) >= 30)
        assert len(carriers(BOMB)) <= 45
        await provider.end(BOMB)  # there is no room for an exec inside now
        await until(lambda: carriers(BOMB) == [])
        process.kill()
    assert (await run(provider, yard, "echo fine"))[1] == "fine\n"
    await provider.clean_up()


async def test_a_memory_hog_is_stopped_and_the_container_goes_on(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(yard.workspace)  # where people start the server
    provider = await ready(yard, max_memory=64 << 20)
    code, out, _ = await run(provider, yard, "x=x; while [ ${#x} -lt 500000000 ]; do x=$x$x; done; echo ATE")
    assert (code, out) == (137, "")
    assert await run(provider, yard, "echo fine") == (0, "fine\n", "")
    # podman's monitor notes in a file that memory ran out; by the time the container is gone it has done so.
    await provider.clean_up()
    assert os.listdir(yard.workspace) == []


async def test_processes_that_cannot_be_seen_from_here_are_ended_from_inside(yard: Yard) -> None:
    provider = await ready(yard, visible=False)
    script = "(setsid sleep 1000 &); trap '' HUP TERM; (sleep 1000; sleep 1000) & echo up; wait"
    with start(provider, yard, script, ONE) as one, start(provider, yard, "echo up; sleep 1000", TWO) as two:
        for process in (one, two):
            assert process.stdout is not None
            assert await asyncio.to_thread(process.stdout.readline) == "up\n"
        await provider.end(ONE)
        await until(lambda: {p.name for p in carriers(ONE)} <= {"podman", "conmon"})
        assert any(p.name == "sleep" for p in carriers(TWO))
        await provider.end(TWO)
        one.kill()
        two.kill()
    await provider.end("term_unknown")
    await provider.clean_up()


async def test_orphans_are_reaped_by_the_first_process(yard: Yard) -> None:
    provider = await ready(yard)
    await run(provider, yard, "(sleep 0.05 &) ; (sh -c 'sleep 0.05' &)")

    def zombies() -> bool:
        first = next(p for p in carriers(provider.container))
        return any(
            p.state == "Z" for p in map(processes.look, processes.scan()) if p is not None and p.parent == first.pid
        )

    await until(lambda: not zombies())
    _, out, _ = await run(provider, yard, "ps -A -o stat=")
    assert "Z" not in out
    await provider.clean_up()


async def test_a_workspace_that_is_a_home_hides_its_secrets(yard: Yard) -> None:
    home = yard.root / "home"
    (home / ".netrc").write_text(CANARY)
    provider = container(yard)
    try:
        await provider.prepare(str(home), (str(yard.root / "config"),))
    except Unavailable as error:
        refuse(str(error))
    script = f"cat ~/notes .ssh/* .netrc {yard.root}/config/fourhands/*; ls -A .ssh; echo x >{yard.root}/config/x"
    env = {"HOME": str(home), "PATH": "/bin", processes.MARK: RUN}
    wrapped = provider.wrap(Launch("/bin/sh", ("sh", "-c", script), str(home), env), terminal=False)
    done = await asyncio.to_thread(
        subprocess.run, list(wrapped.argv), env=dict(wrapped.env), capture_output=True, text=True, check=False
    )
    assert done.stdout == CANARY  # the notes, which are no secret by their name
    assert "Read-only" in done.stderr
    await provider.clean_up()


async def test_values_stay_out_of_the_argument_list_and_away_from_the_engine(yard: Yard) -> None:
    provider = await ready(yard)
    env = {"TOKEN": CANARY, "LD_PRELOAD": "/evil.so", "DOCKER_HOST": "tcp://evil", "PATH": "/evil", processes.MARK: "m"}
    wrapped = provider.wrap(Launch("x", ("x",), str(yard.workspace), env), terminal=True)
    assert not any(CANARY in word for word in wrapped.argv)
    assert "LD_PRELOAD" not in wrapped.env
    assert "DOCKER_HOST" not in wrapped.env
    assert wrapped.env["PATH"] == yard.env["PATH"]
    assert "OPENAI_API_KEY" not in wrapped.env
    await provider.clean_up()


async def test_a_program_in_a_container_has_no_rights_and_sees_nothing_of_the_machine(yard: Yard) -> None:
    env = {"HTTPS_PROXY": f"http://{CANARY}@proxy", "https_proxy": f"http://{CANARY}@proxy"}
    provider = await ready(Yard(yard.root, yard.places, {**yard.env, **env}))
    script = """
        while read -r name value; do
          case $name in CapEff:|CapBnd:|CapPrm:|NoNewPrivs:) echo "$name $value";; esac
        done </proc/self/status
        while read -r name _; do case $name in *:) echo "net $name";; esac; done </proc/self/net/dev
        env
    """
    _, out, _ = await run(provider, yard, script)
    lines = out.splitlines()
    assert {"CapPrm: 0000000000000000", "CapEff: 0000000000000000", "CapBnd: 0000000000000000"} <= set(lines)
    assert "NoNewPrivs: 1" in lines
    assert [line for line in lines if line.startswith("net ")] == ["net lo:"]
    assert CANARY not in out
    await provider.clean_up()


async def test_the_options_of_a_container_are_all_there(yard: Yard) -> None:
    """A stand-in for podman: it writes down what it is asked, one word a line."""
    tools = yard.root / "tools"
    tools.mkdir()
    (tools / "podman").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >>{yard.root}/asked\n')
    (tools / "podman").chmod(0o755)
    settings = ContainerSettings(image="x", engine="podman", max_processes=40, max_memory=1 << 28, max_cpus=1.5)
    provider = Container(settings, env=yard.env, search_path=str(tools), visible=False)
    await provider.prepare(str(yard.workspace), (str(yard.root / "config"),))
    asked = (yard.root / "asked").read_text().splitlines()
    run = asked[asked.index("run") :]
    pairs = {" ".join(pair) for pair in itertools.pairwise(run)}
    assert pairs >= {
        "--pull never",
        "--cap-drop all",
        "--security-opt no-new-privileges",
        "--network none",
        "--pids-limit 40",
        "--memory 268435456",
        "--memory-swap 268435456",
        "--cpus 1.5",
        "--image-volume tmpfs",
        "--tmpfs /tmp:rw,exec,nosuid,nodev,mode=1777,notmpcopyup",
        "--tmpfs /run/fourhands:rw,exec,nosuid,nodev,mode=1777,notmpcopyup",
        f"--tmpfs {yard.root}/home:rw,exec,nosuid,nodev,mode=1777,notmpcopyup",
        f"--mount type=bind,destination={yard.root}/config,source={yard.root}/config,readonly",
        f'--mount type=bind,"destination={yard.workspace}","source={yard.workspace}"',
    }
    assert "--http-proxy=false" in run
    assert "--privileged" not in run


# -- refusals --------------------------------------------------------------------------------------------------------


async def test_what_is_missing_is_named(yard: Yard) -> None:
    with pytest.raises(Unavailable, match="no image is configured"):
        await Container(ContainerSettings(engine="podman"), env=yard.env).prepare(str(yard.workspace), ())
    with pytest.raises(FourhandsError, match="prepare"):
        Container(env=yard.env).wrap(Launch("x", ("x",), "/", {}), terminal=False)
    absent = container(yard, image="localhost/no-such-image:9")
    assert "podman pull localhost/no-such-image:9" in (await absent.probe()).detail
    with pytest.raises(Unavailable, match="no-such-image"):
        await absent.prepare(str(yard.workspace), ())
    assert await absent.explain("m", 1, "") is None
    await Container(env=yard.env).end("m")


async def test_an_engine_that_is_not_there_or_does_not_answer_is_named(yard: Yard) -> None:
    empty = {**yard.env, "PATH": str(yard.root)}
    nothing = await Container(ContainerSettings(image="x"), env=empty, search_path="").probe()
    assert "neither podman nor docker" in nothing.detail
    wanted = await Container(ContainerSettings(image="x", engine="docker"), env=empty, search_path="").probe()
    assert "docker is not installed" in wanted.detail
    for name, text in (("podman", "podman: broken"), ("docker", "Cannot connect to the Docker daemon")):
        (yard.root / name).write_text(f"#!/bin/sh\necho '{text}' >&2; exit 125\n")
        (yard.root / name).chmod(0o755)
    broken = await Container(ContainerSettings(image="x", engine="docker"), env=empty, search_path="").probe()
    assert "Cannot connect" in broken.detail
    both = await Container(ContainerSettings(image="x"), env=empty, search_path="").probe()
    assert "podman: broken" in both.detail


async def test_a_working_engine_is_taken_when_the_first_one_is_broken(yard: Yard) -> None:
    """A stand-in for docker: it writes down what it is asked."""
    tools = yard.root / "tools"
    tools.mkdir()
    (tools / "podman").write_text("#!/bin/sh\nexit 1\n")
    (tools / "docker").write_text(
        f"#!/bin/sh\necho \"$@\" >>{yard.root}/asked\ncase $1 in info) echo '[name=rootless]';; esac\n"
    )
    for tool in tools.iterdir():
        tool.chmod(0o755)
    path = f"{tools}:/usr/bin:/bin"
    settings = ContainerSettings(image="x", max_cpus=1.5)
    provider = Container(settings, env={**yard.env, "PATH": path}, search_path=path)
    probe = await provider.probe()
    assert probe.works
    assert "1.5 processors" in probe.detail
    asked = Path(yard.root / "asked").read_text()
    for option in (
        "--user 0:0",
        "--cap-drop all",
        "--network none",
        "--cpus 1.5",
        "--pids-limit 512",
        "no-new-privileges",
    ):
        assert option in asked
    assert "--http-proxy" not in asked
    wrapped = provider.wrap(Launch("x", ("x",), "/", {}), terminal=True)
    assert "ctrl-@,ctrl-@,ctrl-@,ctrl-@" in wrapped.argv


async def test_an_engine_that_hangs_is_given_up(yard: Yard) -> None:
    (yard.root / "podman").write_text("#!/bin/sh\nexec sleep 1000\n")
    (yard.root / "podman").chmod(0o755)
    engine = Engine("podman", str(yard.root / "podman"), yard.env)
    answer = await engine.call("info", timeout_s=0.1)
    assert (answer.code, answer.complaint) == (-1, "no answer within 0.1 s")
    async with asyncio.TaskGroup() as group:
        call = group.create_task(engine.call("info"))
        await asyncio.sleep(0)
        await until(lambda: True)
        call.cancel()


def test_paths_with_commas_and_quotes_can_be_mounted() -> None:
    assert mount("bind", "/a,b", '/c"d', readonly=True) == [
        "--mount",
        'type=bind,"destination=/a,b","source=/c""d",readonly',
    ]
    assert mount("tmpfs", "/a b") == ["--mount", "type=tmpfs,destination=/a b"]
