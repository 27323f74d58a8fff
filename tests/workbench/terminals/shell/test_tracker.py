"""The marks of a terminal: changed on the event loop only, also while others read; a new shell counts anew."""

import asyncio
from pathlib import Path

import pytest
from tests.kit.workbench import open_app

from fourhands.commands.terminal_output import ReadTerminalOutput, read_output
from fourhands.core.call import Actor, Call
from fourhands.host.log import LogReader
from fourhands.workbench.terminals.shell.tracker import Tracker
from fourhands.workbench.terminals.terminals import Terminals


async def test_marks_are_never_changed_by_a_thread(terminals: Terminals) -> None:
    terminal = await terminals.create(shell="bash")
    await terminal.type("echo news\n")
    with pytest.raises(RuntimeError, match="event loop"):
        await asyncio.to_thread(terminal.catch_up)


async def test_no_property_reads_the_marks(terminals: Terminals) -> None:
    terminal = await terminals.create(shell="bash")
    await terminal.run("true", timeout_s=40)
    position = await terminal.type("cd /\n")
    seen = (terminal.shell_state, terminal.progress, terminal.cwd, terminal.last_command)
    await terminal.wait(pattern="cd /\n", position=position, deadline_s=40)
    terminal.catch_up()
    before = terminal.progress
    await terminal.type("false\n")
    await asyncio.to_thread(lambda: [terminal.shell_state, terminal.progress, terminal.cwd, terminal.last_command])
    assert terminal.progress == before
    await terminal.wait(finished=True, deadline_s=40)
    assert (terminal.cwd, terminal.shell_state) != (seen[2], "unknown")


async def test_agents_that_read_do_not_disturb_who_runs() -> None:
    async with open_app() as app:
        bench = app.bench
        terminal = await bench.terminals.create(shell="bash")
        await terminal.run("true", timeout_s=40)
        over = False

        async def read(number: int) -> None:
            call = Call(command="openspace.terminal.read_output", actor=Actor(kind="agent", id=f"a{number}", name="a"))
            while not over:
                # A word that looks like a prompt for a secret makes a reader look closely.
                shown = await read_output(bench, ReadTerminalOutput(terminal_id=terminal.id), call)
                assert shown.position > 0

        async with asyncio.TaskGroup() as group:
            for number in range(4):
                group.create_task(read(number))
            for number in range(60):
                done = await terminal.run(f"echo {number}; echo password:", timeout_s=40)
                assert (done.reason, done.exit_code, done.output) == ("finished", 0, f"{number}\npassword:\n")
            over = True
        assert terminal.finished_commands == 61


NONCE = "a-nonce-of-a-test"


def mark(text: str) -> str:
    letter, _, rest = text.partition(" ")
    return f"\x1b]133;{letter};{rest};fh={NONCE}\a" if rest else f"\x1b]133;{letter};fh={NONCE}\a"


async def test_a_shell_that_takes_the_place_of_another_counts_its_commands_anew(tmp_path: Path) -> None:
    path = tmp_path / "log"
    first = "".join(
        mark(f"D 0;n={n};o=h") + mark(f"A p={n + 1}") + "$ " + mark("B") + mark(f"C n={n + 1}") for n in range(3)
    )
    # The third command is an exec: its shell's first prompt comes next.
    second = mark("D 0;n=0;o=h") + mark("A p=1") + "$ " + mark("B") + mark("C n=1") + "out" + mark("D 7;n=1;o=h")
    path.write_text(first + second + mark("D 7;n=1;o=10") + mark("A p=2") + "$ " + mark("B"))
    tracker = Tracker(LogReader(str(path)), NONCE)
    commands = tracker.catch_up()
    assert (commands.state, commands.ready, commands.shown) == ("prompt", True, 5)
    assert tracker.progress.ended == 3
    replaced, ran = list(commands.records)[-2:]
    assert (replaced.id, replaced.state, replaced.end, replaced.exit_code) == (3, "finished", None, None)
    assert (ran.id, ran.exit_code, ran.sure) == (1, 7, True)
    found = commands.outcome(4)
    assert found is not None
    assert (found.exit_code, found.began, found.sure) == (7, True, True)
