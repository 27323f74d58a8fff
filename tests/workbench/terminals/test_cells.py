"""One sandbox for all programs of a session: what they share, what others see, and what they cannot do to it."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.kit.isolation import Yard, new_yard, refuse, until

from fourhands.core.errors import Unavailable
from fourhands.host.errors import CellLost
from fourhands.providers import cgroups
from fourhands.providers.base import Launch
from fourhands.providers.bubblewrap import Bubblewrap
from fourhands.settings import BubblewrapSettings
from fourhands.workbench.terminals.terminal import Terminal
from fourhands.workbench.terminals.terminals import Terminals

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(60)]

WALL = BubblewrapSettings(max_processes=60, max_memory=256 << 20, require_limits=False)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def yard() -> AsyncIterator[Yard]:
    async with new_yard() as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def terminals(yard: Yard) -> AsyncIterator[Terminals]:
    async with yard.terminals({"wall": WALL}) as made:
        probe = await made.providers["wall"].probe()
        if not probe.works:
            refuse(probe.detail)
        yield made


async def inside(terminals: Terminals, script: str, cell: str = "sess_a", **more: object) -> str:
    done = await terminals.run_script(script, provider="wall", cell=cell, **more)  # type: ignore[arg-type]
    assert done.error is None, done
    return done.output


async def shell(terminals: Terminals, name: str | None = None, cell: str = "sess_a") -> Terminal:
    terminal = await terminals.create(provider="wall", cell=cell, shell=name)
    await terminal.wait_for_prompt(40)
    return terminal


async def test_a_server_of_one_terminal_is_reached_by_the_next_call_and_by_no_other_session(
    terminals: Terminals,
) -> None:
    terminal = await shell(terminals)
    serve = "import http.server as h; s = h.HTTPServer(('127.0.0.1', 0), h.SimpleHTTPRequestHandler); "
    serve += "open('/tmp/port', 'w').write(str(s.server_port)); print('ser' + 'ving', flush=True); s.serve_forever()"
    await terminal.type(f'python3 -c "{serve}"\n')
    assert (await terminal.wait(pattern="serving", deadline_s=40)).reason == "pattern"
    ask = "curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:$(cat /tmp/port)/"
    assert await inside(terminals, ask) == "200"
    other = await shell(terminals)
    assert (await other.run(ask)).output.startswith("200")
    await other.close()
    secret = "cat /tmp/port 2>&1 | grep -c 'No such'; ls /tmp | grep -c port; ps -e | grep -c python3"
    assert (await inside(terminals, secret, cell="sess_b")).split() == ["1", "0", "1"]  # only its own first process
    assert "python3" in await inside(terminals, "pkill -f '[s]erve_forever'; ps -e")
    await terminal.close()


@pytest.mark.parametrize("name", ["bash", "zsh", "dash", "fish"])
async def test_shells_have_their_marks_job_control_and_terminal(terminals: Terminals, name: str) -> None:
    terminal = await shell(terminals, name) if name != "dash" else await terminals.create(
        provider="wall", cell="sess_a", argv=["dash"], env={"PS1": "% "}
    )  # fmt: skip
    if name == "dash":
        await terminal.wait(pattern="%", deadline_s=40)
        await terminal.type("tty; exit\n")
        await terminal.wait(exit=True, deadline_s=40)
        assert terminal.exit is not None
        assert terminal.exit.code == 0
    else:
        done = await terminal.run("tty; false")
        assert done.exit_code == 1
        await terminal.type("sleep 1000\n")
        await until(lambda: terminal.foreground_group() != terminal.pid)
        await terminal.type(b"\x1a")
        await until(lambda: terminal.foreground_group() == terminal.pid)
        await terminal.wait_for_prompt(40)
        assert "sleep" in (await terminal.run("jobs")).output
        await terminal.type("fg\n")
        await until(lambda: terminal.foreground_group() != terminal.pid)
        await terminal.type(b"\x03")
        await until(lambda: terminal.foreground_group() == terminal.pid)
    assert "/dev/pts/" in "\n".join(terminal.lines())
    await terminal.close()


async def test_nothing_inside_can_harm_the_first_process_and_it_has_no_rights(terminals: Terminals) -> None:
    look = """
        kill -9 1; kill -TERM 1
        cat /proc/1/environ /proc/1/mem 2>&1 | grep -c denied
        readlink /proc/1/fd/20; readlink /proc/1/exe
        echo x >/proc/1/fd/20
        grep -E '^(CapEff|NoNewPrivs)' /proc/1/status | tr -d '\\t\\n'
    """
    assert (await inside(terminals, look)).splitlines()[-1] == "CapEff:0000000000000000NoNewPrivs:1"
    attach = (
        "import ctypes, os; l = ctypes.CDLL(None, use_errno=True); print(l.ptrace(16, 1, 0, 0), ctypes.get_errno())"
    )
    assert await inside(terminals, f"python3 -c '{attach}'") == "-1 1\n"
    await terminals.run_script("kill -9 -1", provider="wall", cell="sess_a")
    assert await inside(terminals, "echo fine") == "fine\n"
    flood = "l = []\ntry:\n  while True: l.append(open('/dev/null'))\nexcept OSError as e: print(e.errno)"
    assert await inside(terminals, f'python3 -c "{flood}"') == "24\n"
    assert await inside(terminals, "echo fine") == "fine\n"


async def test_a_fork_bomb_ends_with_its_cell_and_harms_no_other(terminals: Terminals) -> None:
    kept = {name for base in cgroups.find_bases(("pids", "memory")) for name in base.controllers}
    if kept != {"pids", "memory"}:
        refuse("control groups cannot be written here")
    bomb = await terminals.create(
        provider="wall", cell="sess_bomb",
        argv=["bash", "-c", "f() { while :; do f & sleep 1; done; }; f 2>/dev/null"],
    )  # fmt: skip
    await until(lambda: len(_inside_groups("sess_bomb")) > 50)
    assert await inside(terminals, "echo fine") == "fine\n"
    await bomb.close()
    await until(lambda: len(_inside_groups("sess_bomb")) <= 2)  # the builder and the first process
    hog = await terminals.run_script(
        "head -c 400000000 /dev/zero | tail -c 390000000 | wc -c", provider="wall", cell="x"
    )
    assert hog.exit_code != 0 or hog.signal or "390000000" not in hog.output
    assert await inside(terminals, "echo fine") == "fine\n"
    assert await inside(terminals, "echo fine", cell="x") == "fine\n"  # its first process has lived on, or a new one
    await terminals.end_cell("sess_bomb")
    assert _inside_groups("sess_bomb") == []


def _inside_groups(cell: str) -> list[str]:
    for base in cgroups.find_bases(("pids",)):
        for group in Path(base.directory).glob(f"fourhands-*/wall.{cell}/inside/cgroup.procs"):
            return group.read_text().split()
    return []


async def test_the_end_of_a_session_ends_its_cell_unless_a_terminal_still_runs(
    terminals: Terminals, yard: Yard
) -> None:
    state = Path(yard.places.state)
    terminal = await shell(terminals, cell="sess_c")
    await inside(terminals, "setsid sleep 1000 >/dev/null 2>&1 & echo x >/tmp/f; mkdir -m 0 /tmp/shut", cell="sess_c")
    await terminals.end_cell("sess_c")
    assert await inside(terminals, "cat /tmp/f", cell="sess_c") == "x\n"
    await terminal.close()
    await terminals.end_cell("sess_c")
    assert not (state / "cells/wall.sess_c").exists()
    assert "sleep" not in await inside(terminals, "ps -e; ls /tmp", cell="sess_c")


async def test_a_home_is_kept_and_no_two_cells_have_the_same(terminals: Terminals) -> None:
    await inside(terminals, "echo mine >~/kept", cell="sess_h1")
    assert await inside(terminals, "cat ~/kept 2>&1 | grep -c 'No such'", cell="sess_h2") == "1\n"
    await terminals.end_cell("sess_h1")
    assert await inside(terminals, "cat ~/kept", cell="sess_h3") == "mine\n"


async def test_a_command_that_takes_too_long_is_ended_with_its_children(terminals: Terminals) -> None:
    done = await terminals.run_script(
        "trap '' TERM; (setsid sleep 987 &) ; echo begun; sleep 987", provider="wall", cell="sess_a", timeout_s=1.0
    )
    assert (done.code, done.output) == ("timeout", "begun\n")
    assert "987" not in await inside(terminals, "ps -ef | grep -v grep")


async def test_a_cell_that_is_killed_ends_its_terminals_with_the_reason_and_the_next_call_has_a_new_one(
    terminals: Terminals,
) -> None:
    terminal = await shell(terminals, cell="sess_k")
    cells = await terminals._host.cells.there()  # noqa: SLF001 - the builder's process is told to nobody else
    os.kill(cells["wall.sess_k"]["pid"], signal.SIGKILL)
    await terminal.wait(exit=True, deadline_s=40)
    assert terminal.exit is not None
    assert terminal.exit.lost
    assert terminal.exit.reason
    assert await inside(terminals, "echo fine", cell="sess_k") == "fine\n"
    await terminal.close()


async def test_a_cell_outlives_the_server_and_ends_with_the_host(yard: Yard) -> None:
    async with yard.terminals({"wall": WALL}) as first:
        if not (await first.providers["wall"].probe()).works:
            refuse("no sandbox here")
        terminal = await shell(first, cell="sess_d")
        await terminal.run("echo kept >/tmp/f")
        first.leave()  # as a crash would
    async with yard.terminals({"wall": WALL}) as second:
        assert "sess_d" in second.cell_sessions
        again = second.get(terminal.id)
        assert (await again.run("cat /tmp/f")).output == "kept\n"
        assert await inside(second, "cat /tmp/f", cell="sess_d") == "kept\n"
        os.kill(second.host_pid, signal.SIGKILL)
        await again.wait(exit=True, deadline_s=40)
        assert again.exit is not None
        assert again.exit.lost
        assert await inside(second, "ls /tmp/f 2>&1 | grep -c 'No such'", cell="sess_d") == "1\n"
        await second.end_cell("sess_d")


async def test_an_older_host_says_what_to_do(yard: Yard) -> None:
    async with yard.terminals({"wall": WALL}) as terminals:
        if not (await terminals.providers["wall"].probe()).works:
            refuse("no sandbox here")
        terminals._host.client.cells = None  # noqa: SLF001 - as it does not say any
        with pytest.raises(Unavailable, match="fourhands stop"):
            await terminals.create(provider="wall")


async def test_tmux_runs_inside(terminals: Terminals) -> None:
    if not os.path.exists("/usr/bin/tmux"):
        refuse("tmux is not installed")
    terminal = await terminals.create(provider="wall", cell="sess_a", argv=["tmux", "-f", "/dev/null", "new", "sh"])
    await terminal.type("echo in-$((40+2))-tmux; exit\n")
    await terminal.wait(exit=True, deadline_s=40)
    await terminal.close()


class Stumbling(Bubblewrap):
    """What it is to show goes away while the sandbox is built, so many times."""

    stumbles = 0
    said = ""

    def enclose(self, *args: Any) -> Launch:
        launch = super().enclose(*args)
        self.stumbles -= 1
        if self.stumbles < 0:
            return launch
        return launch.replace(program="/bin/sh", argv=("sh", "-c", f'echo "{self.said}" >&2; exit 1'))


async def test_a_path_that_goes_away_while_a_sandbox_is_built_only_delays_it(terminals: Terminals, yard: Yard) -> None:
    stumbling = Stumbling(WALL, name="stumbling", env=terminals.env)
    terminals.providers.register("stumbling", stumbling)
    shown = "bwrap: Can't find source path /etc/x.lock: No such file or directory"
    hidden = "bwrap: Can't create file at /etc/x.lock: Read-only file system"
    for times, stumbling.said, starts in ((2, shown, True), (2, hidden, True), (3, hidden, False)):
        stumbling.stumbles = times
        if starts:
            assert (await terminals.run_script("echo here", provider="stumbling", cell="sess_s")).output == "here\n"
            await terminals.end_cell("sess_s")
        else:
            with pytest.raises(CellLost, match="create file"):
                await terminals.run_script("echo here", provider="stumbling", cell="sess_s")
