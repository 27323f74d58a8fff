"""Waiting: each condition by a real program, and an answer that says which one it was."""

import asyncio
import re
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.workbench import environment, open_terminals, quick

from fourhands.core.errors import BadArgument
from fourhands.host.log import LEAST
from fourhands.safety.sanitizer.sanitizer import sanitize
from fourhands.workbench.terminals.terminals import Terminals
from fourhands.workbench.terminals.wait import _blanks_behind


async def test_a_pattern_is_found_wherever_the_output_is_cut(terminals: Terminals) -> None:
    terminal = await terminals.create(
        argv=["bash", "--norc", "-c", "for c in s e r v e r ' ' r e a d y; do printf \"$c\"; done; read"]
    )
    seen = await terminal.wait(pattern=r"server re\w+", position=0, deadline_s=40)
    assert seen.reason == "pattern"
    assert seen.match is not None
    assert re.fullmatch(r"server re\w+", seen.match)
    assert seen.position <= terminal.log.head


async def test_only_what_came_after_the_position_counts(terminals: Terminals) -> None:
    terminal = await terminals.create(argv=["cat"])
    await terminal.type("ready\n")
    seen = await terminal.wait(pattern="ready\nready", position=0)
    assert (await terminal.wait(pattern="ready", position=seen.position, deadline_s=0.2)).reason == "deadline"


@pytest.mark.parametrize("pattern", [r">>> ", r">>> $", r">>>$", r"(?m)^>>> \z"])
async def test_the_blank_behind_a_prompt_may_be_waited_for(terminals: Terminals, pattern: str) -> None:
    terminal = await terminals.create(argv=["python3", "-q"])
    assert (await terminal.wait(pattern=pattern, deadline_s=40)).reason == "pattern"


@given(st.binary(max_size=40) | st.text("ab |\r\n\b\t\x1b[0mK", max_size=40).map(str.encode))
def test_only_blanks_are_found_behind_a_line(data: bytes) -> None:
    blanks = _blanks_behind(data)
    assert blanks == "" or blanks.isspace()
    if data.isascii() and data.replace(b" ", b"").isalpha():
        assert sanitize(data) + blanks == data.decode()


async def test_an_answer_that_is_there_before_the_wait_counts(terminals: Terminals) -> None:
    terminal = await terminals.create(argv=["bash", "--norc", "-c", "echo listening; read x; echo got $x; read"])
    await terminal.wait(input_wanted=True, deadline_s=40)
    assert (await terminal.wait(pattern="listening", deadline_s=40)).reason == "pattern"
    await terminal.type("it\n")
    await terminal.wait(pattern="got it", deadline_s=40)
    assert (await terminal.wait(pattern="got it", deadline_s=40)).reason == "pattern", "asked again, still true"
    assert (await terminal.wait(pattern="listening", deadline_s=0.05)).reason == "deadline", (
        "from before the last Enter"
    )


async def test_what_was_printed_for_an_earlier_server_is_the_past(terminals: Terminals) -> None:
    before = await terminals.create(argv=["bash", "--norc", "-c", "echo old; read; echo new; read"])
    await before.wait(input_wanted=True, deadline_s=40)
    places = terminals.places
    async with Terminals(places.workspace, quick(), places=places, env=environment(places), keep=True) as joined:
        after = joined.get(before.id)
        assert (await after.wait(pattern="old", deadline_s=0.05)).reason == "deadline"
        await after.type("\n")
        assert (await after.wait(pattern="new", deadline_s=40)).reason == "pattern"


async def test_a_pattern_may_name_the_ends_of_a_line(terminals: Terminals) -> None:
    terminal = await terminals.create(argv=["sh", "-c", "printf 'a-1\\na-3\\na-30\\n'; read x"])
    seen = await terminal.wait(pattern=r"^a-3$", position=0, deadline_s=40)
    assert (seen.reason, seen.match) == ("pattern", "a-3")


@pytest.mark.parametrize("pattern", ["(", "a)|(b", r"(?=x)", "", "x" * 5000])
async def test_a_pattern_that_cannot_be_used_is_an_error(terminals: Terminals, pattern: str) -> None:
    terminal = await terminals.create(argv=["cat"])
    with pytest.raises(BadArgument):
        await terminal.wait(pattern=pattern)


async def test_a_pattern_that_would_hang_a_backtracking_engine_does_not(terminals: Terminals) -> None:
    terminal = await terminals.create(
        argv=["bash", "--norc", "-c", "head -c 100000 /dev/zero | tr '\\0' a; echo; read"]
    )
    assert (await terminal.wait(pattern="(a+)+b", position=0, deadline_s=1)).reason == "deadline"


async def test_a_long_past_is_searched_while_others_go_on(terminals: Terminals) -> None:
    terminal = await terminals.create(argv=["bash", "--norc", "-c", "seq 600000; echo needle; seq 9; read"])
    await terminal.wait(input_wanted=True, deadline_s=40)
    assert terminal.log.head > 3_000_000
    async with asyncio.TaskGroup() as group:
        search = group.create_task(terminal.wait(pattern="needle", position=0, deadline_s=40))
        await asyncio.sleep(0)  # it begins
        assert not search.done()
    assert search.result().match == "needle"
    assert (await terminal.wait(pattern="nobody", position=0, deadline_s=0.01)).reason == "deadline"


async def test_a_search_from_before_the_log_begins_where_that_begins() -> None:
    async with open_terminals(quick(capacity=LEAST)) as terminals:
        terminal = await terminals.create(argv=["bash", "--norc", "-c", "seq 1000000; echo needle; read"])
        await terminal.wait(input_wanted=True, deadline_s=40)
        assert terminal.log.floor > 3_000_000
        assert (await terminal.wait(pattern="needle", position=0, deadline_s=40)).match == "needle"


async def test_quiet_means_no_output_for_so_long_and_not_before_the_minimum(terminals: Terminals) -> None:
    terminal = await terminals.create(argv=["cat"])
    seen = await terminal.wait(quiet_s=0.05, min_s=0.3, deadline_s=5)
    assert seen.reason == "quiet"
    assert seen.elapsed_s >= 0.3
    assert seen.limits == {"minSeconds": 0.3, "quietSeconds": 0.05}


async def test_the_deadline_is_told_with_its_value(terminals: Terminals) -> None:
    terminal = await terminals.create(argv=["cat"])
    seen = await terminal.wait(pattern="never", deadline_s=0.1)
    assert (seen.reason, seen.deadline_s) == ("deadline", 0.1)


@pytest.mark.parametrize(
    ("argv", "kind"),
    [
        (["cat"], "line"),
        (["python3", "-c", "input('name? ')"], "line"),
        (["bash", "--norc", "-c", "read -s secret"], "secret"),
        (["python3", "-c", "import getpass; getpass.getpass()"], "secret"),
        (["bash", "--norc", "-c", "printf 'y/n? '; read -n 1"], "keys"),
        (["less", "/etc/services"], "keys"),
        (["vim", "-u", "NONE", "-N"], "keys"),
        (["bash", "--norc", "--noprofile", "-i"], "prompt"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
async def test_a_program_that_waits_for_input_is_noticed_by_its_kernel_state(terminals: Terminals, argv, kind) -> None:
    terminal = await terminals.create(argv=argv)
    seen = await terminal.wait(input_wanted=True, deadline_s=40)
    assert (seen.reason, seen.input) == ("input", kind)


@pytest.mark.parametrize("script", ["sleep 30", "while :; do :; done", "sleep 30 | cat; true"])
async def test_a_program_that_works_or_sleeps_is_not_taken_for_a_waiting_one(terminals: Terminals, script: str) -> None:
    terminal = await terminals.create(argv=["bash", "--norc", "-c", script])
    assert (await terminal.wait(input_wanted=True, deadline_s=0.5)).reason == "deadline"


async def test_what_was_just_typed_is_not_taken_for_waiting(terminals: Terminals) -> None:
    terminal = await terminals.create(shell="bash")
    await terminal.run("true")
    for _ in range(5):
        await terminal.type("sleep 0.2; echo slept\n")
        seen = await terminal.wait(input_wanted=True, deadline_s=40)
        assert seen.input == "prompt"
        assert terminal.shell_state == "prompt"
        assert terminal.last_command is not None
        assert terminal.last_command.state == "finished"


@pytest.mark.parametrize("shell", ["bash", "zsh"])
async def test_what_was_entered_just_before_the_wait_counts_as_finished(terminals: Terminals, shell: str) -> None:
    fresh = await terminals.create(shell=shell)
    await fresh.type("echo typed ahead\n")
    assert (await fresh.wait(finished=True, deadline_s=40)).reason == "finished"
    assert "typed ahead" in fresh.lines()[-2:]
    for line in ("true", "sleep 0.2", "", "echo 'x' )"):
        await fresh.type(line + "\n")
        assert (await fresh.wait(finished=True, deadline_s=40)).reason == "finished"
        assert (await fresh.wait(finished=True, deadline_s=40)).reason == "finished", "asked again, still true"
        await fresh.wait(quiet_s=0.05)


LISTEN = "import socket\ns = socket.create_server(('127.0.0.1', 0)); print('at', s.getsockname()[1], 'now'); input()"


async def test_a_new_listening_port_is_told_however_early_it_is_there(terminals: Terminals) -> None:
    terminal = await terminals.create(argv=["python3", "-c", LISTEN])
    await terminal.wait(pattern="now", position=0, deadline_s=40)
    for seen in await asyncio.gather(*(terminal.wait(port=True, deadline_s=40) for _ in range(2))):
        assert seen.reason == "port"
        assert seen.port is not None
        socket.create_connection(("127.0.0.1", seen.port), timeout=40).close()
    assert (await terminal.wait(port=True, deadline_s=0.3)).reason == "deadline", "that one has been told"


async def test_a_port_is_new_if_what_listens_was_begun_since_the_last_enter(terminals: Terminals) -> None:
    shell = await terminals.create(shell="bash")
    Path(terminals.places.workspace, "listen.py").write_text(LISTEN)
    ports: list[int] = []
    for _ in range(2):
        await shell.type("python3 listen.py\n" if ports else "(sleep 1000 | python3 listen.py) &\n")
        seen = await shell.wait(pattern=r"at \d+ now", deadline_s=40)
        ports.append(int(str(seen.match).split()[1]))
        seen = await shell.wait(port=True, deadline_s=40)
        assert (seen.reason, seen.port) == ("port", ports[-1])


async def test_the_end_of_the_program_always_counts(terminals: Terminals) -> None:
    terminal = await terminals.create(argv=["true"])
    assert (await terminal.wait(pattern="never", deadline_s=40)).reason == "exit"


async def test_many_waits_on_one_terminal_are_all_answered(terminals: Terminals) -> None:
    terminal = await terminals.create(argv=["cat"])
    async with asyncio.TaskGroup() as group:
        waits = [group.create_task(terminal.wait(pattern=f"word{n}", position=0, deadline_s=40)) for n in range(20)]
        await terminal.type("".join(f"word{n}\n" for n in range(20)))
    assert {wait.result().reason for wait in waits} == {"pattern"}


@pytest.mark.parametrize("name", ["quiet_s", "stable_s", "min_s", "deadline_s"])
@pytest.mark.parametrize("value", [-1, 1e9])
async def test_times_that_make_no_sense_are_refused(terminals: Terminals, name: str, value: float) -> None:
    terminal = await terminals.create(argv=["cat"])
    with pytest.raises(BadArgument, match=name):
        await terminal.wait(**{name: value})  # type: ignore[arg-type]  # by name


async def rounds(terminals: Terminals, count: int) -> None:
    """Type and wait for input again: what was typed has been read by then, and answered."""
    repl = await terminals.create(argv=["python3", "-q"])
    asks = await terminals.create(argv=["python3", "-c", "while True: print(int(input()) * 7)"])
    for terminal in (repl, asks):
        await terminal.wait(input_wanted=True, deadline_s=100)
    for number in range(count):
        for terminal, line in ((repl, f"print({number} * 7)\n"), (asks, f"{number}\n")):
            position = await terminal.type(line)
            seen = await terminal.wait(input_wanted=True, deadline_s=100)
            assert seen.reason == "input"
            assert f"\n{number * 7}\n" in terminal.since(position).text, number


async def test_input_is_wanted_again_only_when_what_was_typed_has_been_read(terminals: Terminals) -> None:
    await rounds(terminals, 40)


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_in_2000_rounds_at_load_input_is_never_wanted_too_early(terminals: Terminals) -> None:
    load = [await asyncio.create_subprocess_exec("sh", "-c", "while :; do :; done") for _ in range(4)]
    try:
        await rounds(terminals, 1000)  # with two programs
    finally:
        for process in load:
            process.kill()
            await process.wait()
