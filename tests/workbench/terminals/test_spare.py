import asyncio
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from tests.kit.person import let_in
from tests.kit.workbench import environment, open_app, open_terminals, quick, temporary_places

from fourhands.agents.briefing.state_summary import StateSummary
from fourhands.core.event import Event
from fourhands.host.paths import WorkspaceDirs
from fourhands.workbench.terminals.host_terminals import HostTimings
from fourhands.workbench.terminals.spare import Spare, is_orphan
from fourhands.workbench.terminals.terminal import Terminal
from fourhands.workbench.terminals.timings import SpareTimings, TerminalTimings

PROGRAM = """
import sys
from fourhands.workbench.terminals.spare import Spare
from fourhands.workbench.terminals.spare import Spare, is_orphan
from fourhands.workbench.terminals.terminal import Terminal
from fourhands.workbench.terminals.timings import SpareTimings
Spare(sys.argv[1], SpareTimings()).open()
print("open", flush=True)
sys.stdin.read()
"""


def claims(directory: Path) -> list[str]:
    return [path.stem.removeprefix("spare-") for path in directory.iterdir()]


def test_a_mark_is_good_until_its_owner_closes(tmp_path: Path) -> None:
    one, other = (Spare(str(tmp_path), SpareTimings()) for _ in range(2))
    one.open()
    (mark,) = claims(tmp_path)
    other.open()
    assert not is_orphan(str(tmp_path), mark)
    one.close()
    assert is_orphan(str(tmp_path), mark)
    (left,) = claims(tmp_path)
    assert not is_orphan(str(tmp_path), left)
    other.close()
    assert claims(tmp_path) == []


def test_a_mark_of_another_process_is_good_as_long_as_it_lives(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        (mark,) = claims(tmp_path)
        assert not is_orphan(str(tmp_path), mark)
        process.kill()
    assert is_orphan(str(tmp_path), mark)
    assert claims(tmp_path) == []


@pytest.mark.parametrize("mark", [True, "", "x", "::", "/../../x", "0" * 5000, None, 5])
def test_what_is_no_mark_of_a_living_owner_is_an_orphans(tmp_path: Path, mark: object) -> None:
    (tmp_path.parent / "x.lock").touch()
    (tmp_path / "spare-").mkdir()  # so that a name may lead through it
    assert is_orphan(str(tmp_path), mark)
    assert (tmp_path.parent / "x.lock").exists()


async def test_without_a_place_for_its_claim_no_spare_shell_is_started(tmp_path: Path) -> None:
    spare = Spare(str(tmp_path / "missing"), SpareTimings(refill_s=0.0))
    spare.open()

    async def start(facts: dict[str, object]) -> Terminal:
        raise AssertionError(f"started with {facts}")

    await spare.fill("key", start, {})
    assert spare.terminal is None
    spare.close()


# A lock as pyenv takes it; HUP and TERM are put off, as by a program that finishes what it has begun.
LOCKED = """trap '' HUP TERM
touch ~/lock; echo locked; while [ ! -e ~/go ]; do sleep 0.05; done; sleep 1.5; rm ~/lock
trap - HUP TERM
PS1='$ '
"""


def home(places: WorkspaceDirs, text: str) -> Path:
    path = Path(environment(places)["HOME"])
    (path / ".bash_profile").write_text(text)
    return path


async def test_a_shell_in_its_start_up_files_is_let_finish_when_it_is_closed() -> None:
    with temporary_places() as places:
        at = home(places, LOCKED)
        async with open_terminals(places=places) as terminals:
            shell = await terminals.create(shell="bash")
            await shell.wait(pattern="locked", position=0, deadline_s=40)
            (at / "go").touch()
            await shell.close()
            assert not (at / "lock").exists()


# The same as a script of its own, as pyenv's hook is: hung up on, it takes its lock away before it ends, by programs
# that a second signal would end first.
TIDY = """#!/bin/bash
trap 'sleep 0.7; rm -f ~/lock' EXIT
touch ~/lock; echo locked; while :; do sleep 0.05; done
"""


async def test_what_start_up_files_had_begun_tidies_up_when_its_shell_is_closed() -> None:
    with temporary_places() as places:
        at = home(places, "~/hook\nPS1='$ '\n")
        (at / "hook").write_text(TIDY)
        (at / "hook").chmod(0o755)
        async with open_terminals(places=places) as terminals:
            shell = await terminals.create(shell="bash")
            await shell.wait(pattern="locked", position=0, deadline_s=40)
            await shell.close()
            assert not (at / "lock").exists()


DAEMON = """#!/bin/bash
trap 'touch ~/heard; exit' HUP
echo ready; while :; do sleep 0.05; done
"""


async def test_what_start_up_files_left_in_a_session_of_its_own_is_asked_before_it_is_killed() -> None:
    with temporary_places() as places:
        at = home(places, "setsid ~/daemon & read wait\n")
        (at / "daemon").write_text(DAEMON)
        (at / "daemon").chmod(0o755)
        async with open_terminals(places=places) as terminals:
            shell = await terminals.create(shell="bash")
            await shell.wait(pattern="ready", position=0, deadline_s=40)
            await shell.close()
            assert (at / "heard").exists()


async def test_a_spare_shell_that_nobody_wants_is_let_finish() -> None:
    timings = HostTimings(spare=SpareTimings(refill_s=0.0, prompt_s=0.01))
    with temporary_places() as places:
        at = home(places, LOCKED)
        async with open_terminals(quick(spare_shell=True), places, timings) as terminals:
            await terminals.create(shell="bash")
            await terminals.settled()
            old = terminals.spare
            assert old is not None
            await old.wait(pattern="locked", position=0, deadline_s=40)
            home(places, "PS1='$ '\n")
            await terminals.create(shell="bash", interactive=True)
            (at / "go").touch()
            await terminals.settled()
            assert old is not terminals.spare
            assert old.exit is not None
            assert old.exit.signal != "SIGKILL"
            assert not (at / "lock").exists()


async def test_a_slow_start_is_told_to_everybody() -> None:
    timings = HostTimings(terminal=TerminalTimings(slow_start_s=0.2))
    with temporary_places() as places:
        at = home(places, "while [ ! -e ~/go ]; do sleep 0.02; done; PS1='$ '\n")
        async with open_app(places=places, timings=timings) as app:
            told: asyncio.Queue[str] = asyncio.Queue()

            def note(event: Event) -> None:
                if event.kind == "terminal.changed":
                    told.put_nowait(cast(dict[str, str], event.data["terminal"])["slowStart"])

            app.events.published.subscribe(note)
            shell = await app.bench.terminals.create(shell="bash")
            async with asyncio.timeout(40):
                while not (text := await told.get()):
                    pass
                assert text.startswith("its start-up files are still running, ")
                session = let_in(app, "helper", min_interval=0.0, settle_interval=0.05)
                look: dict[str, object] = {"sessionId": shell.id}
                found = await app.call("openspace.tool.terminal_continue", look, actor=session.actor)
                assert str(found.data["note"]).startswith("its start-up files are still running")
                assert "its start-up files are still running" in StateSummary(app.bench).text(session)
                (at / "go").touch()
                assert (await shell.run("echo on")).output == "on\n"
                while await told.get():
                    pass
            assert shell.slow_start == ""
