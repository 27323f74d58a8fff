"""What every provider promises, each held to it on real terminals and real pipes."""

import asyncio
import contextlib
import os
import signal
import stat
import uuid
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.kit.clock import let_pass
from tests.kit.cloud import Cloud
from tests.kit.docker import docker_daemon
from tests.kit.isolation import CANARY, IMAGE, AnySettings, Yard, image, new_yard, refuse, until, with_variable

from fourhands.core.errors import CommandNotFound, Denied, NotFound
from fourhands.providers.termination import carriers
from fourhands.settings import BubblewrapSettings, ContainerSettings, LandlockSettings, LocalSettings
from fourhands.workbench.terminals.terminal import Terminal
from fourhands.workbench.terminals.terminals import Terminals

# A container's engine takes a good part of a second for each thing, and more on a busy machine.
pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(60)]

LEVELS = {
    "local": "none",
    "bubblewrap": "sandbox",
    "landlock": "sandbox",
    "container": "container",
    "docker": "container",
    "cloud": "container",
}
SETTINGS: dict[str, AnySettings] = {
    "local": LocalSettings(),
    "bubblewrap": BubblewrapSettings(max_processes=200, max_memory=1 << 30, require_limits=False),
    "landlock": LandlockSettings(),
    "container": ContainerSettings(image=IMAGE, engine="podman", max_processes=200, max_memory=1 << 30),
    "docker": ContainerSettings(image=IMAGE, engine="docker", max_processes=200, max_memory=1 << 30),
}
WITHOUT_NAMESPACES = {"landlock"}  # names of processes and networks are seen
BARE = {"local", "cloud"}  # a cloud in this process is no wall, whatever it says
# A daemon of our own is much for every run: docker keeps the contract in the long form.
PROVIDERS = [pytest.param(name, marks=pytest.mark.soak if name == "docker" else ()) for name in LEVELS]


@pytest.fixture(scope="module", params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def yard(provider: str) -> AsyncIterator[Yard]:
    if provider == "container" and image() != IMAGE:
        refuse(image())
    daemon = docker_daemon() if provider == "docker" else contextlib.nullcontext("")
    with daemon as address:
        async with new_yard(**({"DOCKER_HOST": address} if address else {})) as made:
            yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def terminals(yard: Yard, provider: str) -> AsyncIterator[Terminals]:
    async with yard.terminals(SETTINGS) as made:
        made.providers.register("cloud", Cloud())
        probe = await made.providers[provider].probe()
        if not probe.works:
            refuse(f"{provider}: {probe.detail}")
        yield made


async def shown(terminal: Terminal, pattern: str) -> None:
    seen = await terminal.wait(pattern=pattern, deadline_s=40, position=0)
    assert seen.reason == "pattern", "\n".join(terminal.lines())


async def ended(terminal: Terminal) -> int | None:
    await terminal.wait(exit=True, deadline_s=40)
    assert terminal.exit is not None, "\n".join(terminal.lines())
    return terminal.exit.code


async def test_a_program_sees_the_size_it_was_given_and_each_change(terminals: Terminals, provider: str) -> None:
    terminal = await terminals.create(argv=["sh"], provider=provider, cols=101, rows=33, env={"PS1": "% "})
    await shown(terminal, "%")
    await terminal.type("stty size\n")
    await shown(terminal, "33 101")
    terminal.resize(cols=132, rows=43)
    await terminal.type("trap 'stty size' WINCH; until stty size | { read r c; [ $c = 132 ]; }; do sleep 0.1; done\n")
    await terminal.type("stty size; exit 0\n")
    await shown(terminal, "43 132")
    assert await ended(terminal) == 0
    await terminal.close()


async def test_the_exit_code_is_the_programs_own(terminals: Terminals, provider: str) -> None:
    for code in (0, 7, 125, 127):
        terminal = await terminals.create(argv=["sh", "-c", f"exit {code}"], provider=provider)
        assert await ended(terminal) == code
        await terminal.close()


async def test_a_key_that_interrupts_reaches_the_program_and_nobody_else(terminals: Terminals, provider: str) -> None:
    script = "trap 'sleep 0.2; echo caught; exit 3' INT; echo ready; while :; do sleep 0.1; done"
    terminal = await terminals.create(argv=["sh", "-c", script], provider=provider)
    await shown(terminal, "ready")
    await terminal.type(b"\x03")
    await shown(terminal, "caught")
    assert await ended(terminal) == 3
    await terminal.close()


async def test_keys_that_engines_like_belong_to_the_program(terminals: Terminals, provider: str) -> None:
    terminal = await terminals.create(argv=["sh", "-c", "stty raw -echo; echo ready; cat"], provider=provider)
    await shown(terminal, "ready")
    await terminal.type(b"<\x10\x11>")
    await shown(terminal, "<\x10\x11>|<>")
    assert not terminal.exited
    await terminal.close()


async def test_a_shell_has_job_control(terminals: Terminals, provider: str) -> None:
    terminal = await terminals.create(argv=["bash", "--norc"], provider=provider, env={"PS1": "% "})
    await shown(terminal, "%")
    await terminal.type("sh -c 'echo be\"\"gun; exec sleep 1000'\n")  # the echo of the line must not look like it
    await shown(terminal, "begun")
    await terminal.type(b"\x1a")
    await shown(terminal, "Stopped")
    await terminal.type("kill %1; echo still $((40 + 2))\n")
    await shown(terminal, "still 42")
    await terminal.close()


async def test_a_program_starts_in_the_directory_asked_for(terminals: Terminals, provider: str, yard: Yard) -> None:
    (yard.workspace / "sub").mkdir(exist_ok=True)
    terminal = await terminals.create(argv=["sh", "-c", "pwd"], cwd="sub", provider=provider)
    assert await ended(terminal) == 0
    assert terminal.lines() == [str(yard.workspace / "sub")]
    await terminal.close()


async def test_the_environment_is_the_chosen_one(terminals: Terminals, provider: str) -> None:
    chosen = {"COLOUR": "blue 'sky' \"$x\" `y`\nred", "EMPTY": "", "LD_LIBRARY_PATH": "/nowhere"}
    done = await terminals.execute("env", env=chosen, provider=provider)
    assert "COLOUR=blue 'sky' \"$x\" `y`\nred\n" in done.stdout
    assert "EMPTY=\n" in done.stdout
    assert "LD_LIBRARY_PATH=/nowhere\n" in done.stdout
    assert "FOURHANDS_V" not in done.stdout
    assert CANARY not in done.stdout


async def test_home_and_tmp_can_be_written(terminals: Terminals, provider: str) -> None:
    done = await terminals.run_script(
        "cd && echo x >f && cat f && rm f && t=${TMPDIR:-/tmp} && echo y >$t/f.$$ && rm $t/f.$$", provider=provider
    )
    assert (done.exit_code, done.stdout) == (0, "x\n"), done.stderr


async def test_what_is_written_in_the_workspace_belongs_to_the_user(
    terminals: Terminals, provider: str, yard: Yard
) -> None:
    done = await terminals.run_script("echo from inside >made; mkdir -p d; cat given", provider=provider)
    assert done.exit_code == 1  # not given yet
    (yard.workspace / "given").write_text("from outside")
    done = await terminals.execute("cat", ["given"], provider=provider)
    assert done.stdout == "from outside"
    made = os.stat(yard.workspace / "made")
    assert (made.st_uid, made.st_gid) == (os.getuid(), os.getgid())
    assert stat.S_ISREG(made.st_mode)


async def test_one_shot_keeps_streams_apart_and_the_exit_code(terminals: Terminals, provider: str) -> None:
    done = await terminals.run_script("cat; echo oh >&2; exit 4", input="hello ü\n", provider=provider)
    assert (done.stdout, done.stderr, done.exit_code) == ("hello ü\n", "oh\n", 4)
    assert done.isolation == LEVELS[provider]
    assert done.error is None
    done = await terminals.run_script("exit 125", provider=provider)
    assert (done.exit_code, done.error) == (125, None)


async def test_one_shot_passes_bytes_as_they_are(terminals: Terminals, provider: str) -> None:
    data = "".join(f"{n}\r\n\x04\t" for n in range(20_000))
    done = await terminals.execute("cat", input=data, provider=provider)
    assert done.stdout == data


async def test_one_shot_that_takes_too_long_leaves_nobody(terminals: Terminals, provider: str) -> None:
    canary = f"NOBODY={uuid.uuid4().hex}"
    name, _, value = canary.partition("=")
    heard = asyncio.Event()

    def hear(number: int, data: bytes) -> None:
        heard.set()

    script = "(setsid sleep 1000 &); sleep 1000 & trap '' TERM; echo started; wait; sleep 1000"
    async with asyncio.TaskGroup() as group:
        running = group.create_task(
            terminals.run_script(script, env={name: value}, timeout_s=100, provider=provider, on_output=hear)
        )
        async with asyncio.timeout(40):
            await heard.wait()  # an engine takes its time to carry the words over
        let_pass(100)
    done = running.result()
    assert (done.code, done.stdout) == ("timeout", "started\n")
    await until(lambda: with_variable(canary) == [])


async def test_a_cancelled_one_shot_leaves_nobody(terminals: Terminals, provider: str) -> None:
    canary = f"NOBODY={uuid.uuid4().hex}"
    name, _, value = canary.partition("=")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(terminals.execute("sleep", ["1000"], env={name: value}, provider=provider))
        await until(lambda: with_variable(canary) != [])
        running.cancel()
    assert running.cancelled()
    await until(lambda: with_variable(canary) == [])


async def test_closing_ends_the_whole_tree(terminals: Terminals, provider: str) -> None:
    script = "(setsid sleep 1000 &); trap '' HUP TERM; (sleep 1000; sleep 1000) & echo ready; wait"
    terminal = await terminals.create(argv=["bash", "-c", script], provider=provider)
    await shown(terminal, "ready")
    await until(lambda: len(carriers(terminal.id)) >= 3)
    await terminal.close()
    assert carriers(terminal.id) == []


async def test_closing_lets_a_program_tidy_up(terminals: Terminals, provider: str, yard: Yard) -> None:
    script = "trap 'echo bye >tidy; exit' TERM; trap '' HUP; echo ready; while :; do sleep 0.05; done"
    terminal = await terminals.create(argv=["sh", "-c", script], provider=provider)
    await shown(terminal, "ready")
    await terminal.close()
    assert (yard.workspace / "tidy").read_text() == "bye\n"


async def test_a_marked_shell_tells_output_and_exit_code(terminals: Terminals, provider: str) -> None:
    terminal = await terminals.create(shell="bash", provider=provider)
    assert terminal.isolation == LEVELS[provider]
    assert terminal.title == "bash"
    assert os.path.basename(terminal.argv[0]) == "bash"  # and not the sandbox around it
    assert "-c" not in terminal.argv
    done = await terminal.run("echo one; (exit 9)", timeout_s=40)
    assert (done.output.strip(), done.exit_code) == ("one", 9)
    done = await terminal.run("cat <<E\ntwo\nE", timeout_s=40)
    assert (done.output.strip(), done.exit_code) == ("two", 0)
    await terminal.close()


async def test_terminals_outlive_their_server(terminals: Terminals, provider: str, yard: Yard) -> None:
    if provider == "cloud":
        pytest.skip("a stream ends with its server, and says so: tests/providers/test_stream.py")
    engine = {name: value for name, value in yard.env.items() if name == "DOCKER_HOST"}
    async with new_yard(**engine) as own:
        first = own.terminals(SETTINGS, keep=True)
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(first)
            terminal = await first.create(shell="bash", title="lasting", provider=provider)
            assert (await terminal.run("kept=value", timeout_s=40)).exit_code == 0
            first.leave()
            stack.pop_all()
        async with own.terminals(SETTINGS) as second:
            again = second.get("lasting")
            assert again.isolation == LEVELS[provider]
            done = await again.run("echo $kept", timeout_s=40)
            assert done.output.strip() == "value"
            more = await second.execute("echo", ["beside"], provider=provider)
            assert more.stdout == "beside\n"
            await again.type("sleep 1000 &\nexit 6\n")
            assert await ended(again) == 6
            await again.close()
            assert carriers(again.id) == []


async def test_a_program_that_is_not_there_is_told(terminals: Terminals, provider: str) -> None:
    done = await terminals.execute("no-such-program", provider=provider)
    assert not done.ok
    assert done.code == "command-not-found" or done.exit_code == 127
    with contextlib.suppress(CommandNotFound):
        terminal = await terminals.create(argv=["no-such-program"], provider=provider)
        assert await ended(terminal) == 127
        await terminal.close()
    with pytest.raises((NotFound, Denied)):
        await terminals.create(shell="no-such-shell", provider=provider)


async def test_nothing_secret_can_be_seen(terminals: Terminals, provider: str, yard: Yard) -> None:
    if provider in BARE:
        pytest.skip("without isolation everything can be seen")
    places = [yard.root / name for name in ("home/.ssh", "home/notes", "run", "state", "config", "secret")]
    script = f"for p in {' '.join(map(str, places))} /run/user /var/run/docker.sock /run/podman /root/.ssh; do"
    done = await terminals.run_script(
        f"{script} ls -A $p; cat $p; done; cat /proc/*/environ | tr '\\0' '\\n'", provider=provider
    )
    assert CANARY not in done.output
    assert done.stdout.count("FOURHANDS_TERMINAL") >= 1  # it did look
    assert "secret" not in done.stdout


async def test_the_machine_cannot_be_changed_from_inside(terminals: Terminals, provider: str) -> None:
    if provider in BARE:
        pytest.skip("without isolation everything can be changed")
    # Writing a setting's own value back shows the same as changing it.
    script = (
        'p=/proc/sys/kernel/core_pattern; v=$(cat $p); echo "$v" >$p && echo WROTE; touch /etc/x /usr/x && echo WROTE'
    )
    done = await terminals.run_script(script, provider=provider)
    if provider == "bubblewrap":
        assert "WROTE" not in done.stdout
    assert not os.path.exists("/etc/x")
    status = await terminals.run_script("while read k v; do echo $k $v; done </proc/self/status", provider=provider)
    assert "CapEff: 0000000000000000" in status.stdout
    assert "CapBnd: 0000000000000000" in status.stdout
    assert "NoNewPrivs: 1" in status.stdout


async def test_there_is_no_network_but_a_loopback(terminals: Terminals, provider: str) -> None:
    if provider in BARE:
        pytest.skip("no isolation")
    done = await terminals.run_script('while read l; do echo "$l"; done </proc/net/dev', provider=provider)
    names = [line.split(":")[0] for line in done.stdout.splitlines() if ":" in line]
    if provider in WITHOUT_NAMESPACES:
        pytest.skip("it sees the network and may not use it: tests/providers/test_attacks.py")
    assert set(names) <= {"lo", "sit0", "ip6tnl0"}
    done = await terminals.run_script("exec 3<>/dev/tcp/127.0.0.1/9", provider=provider)
    assert "refused" in done.stderr  # the loopback is up, and nobody of the machine listens on it


async def test_other_processes_cannot_be_seen_or_signalled(terminals: Terminals, provider: str) -> None:
    if provider in BARE:
        pytest.skip("no isolation")
    done = await terminals.run_script(
        f"kill -0 {os.getpid()} 2>/dev/null && echo HERE; ls -d /proc/[0-9]*", provider=provider
    )
    assert "HERE" not in done.stdout
    assert provider in WITHOUT_NAMESPACES or len(done.stdout.splitlines()) < 20


async def test_signals_end_a_program_with_a_code_that_tells(terminals: Terminals, provider: str) -> None:
    done = await terminals.run_script("kill -TERM $$", provider=provider)
    assert (done.signal == "SIGTERM") or done.exit_code == 128 + signal.SIGTERM
