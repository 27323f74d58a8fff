"""Lines in persistent shells: exactly their output and exit codes, whatever the line and the prompt."""

import asyncio
from pathlib import Path

import pytest
from tests.kit.clock import let_pass
from tests.kit.fifo import let_through
from tests.kit.server import until
from tests.kit.workbench import open_terminals

from fourhands.core.errors import BadArgument, Conflict
from fourhands.workbench.terminals.host_terminals import HostTimings
from fourhands.workbench.terminals.terminal import Terminal
from fourhands.workbench.terminals.terminals import Terminals
from fourhands.workbench.terminals.timings import TerminalTimings

SHELLS = ("bash", "zsh")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "output", "code", "statuses"),
    [
        ("echo hello", "hello\n", 0, (0,)),
        ("printf no-newline", "no-newline", 0, (0,)),
        ("false", "", 1, (1,)),
        ("(exit 42)", "", 42, (42,)),
        ("false | true | (exit 3) | true", "", 0, (1, 0, 3, 0)),
        ('cat <<EOF\nhere\'s "text"\n  $((1+1))\nEOF', 'here\'s "text"\n  2\n', 0, (0,)),
        ("for i in 1 2 3; do\n  echo $i\ndone", "1\n2\n3\n", 0, (0,)),
        ("f() {\n  echo in f\n  return 9\n}\nf", "in f\n", 9, (9,)),
        ("echo out; echo err >&2", "out\nerr\n", 0, (0,)),
        ("echo 'ünïcode 🎹'", "ünïcode 🎹\n", 0, (0,)),
        ("printf 'a\\rb\\n'", "b\n", 0, (0,)),
        ("printf '\\033]133;D;99;fh=wrong\\a\\033]133;A\\aspoof\\n'", "spoof\n", 0, (0,)),
    ],
)
async def test_a_line_gives_exactly_its_output_and_exit_code(
    terminals: Terminals, shell: str, line: str, output: str, code: int, statuses: tuple[int, ...]
) -> None:
    terminal = await terminals.create(shell=shell)
    done = await terminal.run(line, timeout_s=40)
    assert (done.output, done.exit_code, done.reason, done.statuses) == (output, code, "finished", statuses)
    after = await terminal.run("echo after")
    assert (after.output, after.exit_code) == ("after\n", 0)


@pytest.mark.parametrize("shell", SHELLS)
async def test_one_shell_keeps_its_state_between_lines(terminals: Terminals, shell: str) -> None:
    Path(terminals.places.workspace, "sub").mkdir()
    terminal = await terminals.create(shell=shell)
    await terminal.run("cd sub; X=7; alias hi='echo aliased'")
    assert terminal.cwd == f"{terminals.places.workspace}/sub"
    assert (await terminal.run("echo $X; hi; pwd")).output == f"7\naliased\n{terminal.cwd}\n"


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("line", ["", "   ", "# only a comment"])
async def test_a_line_that_runs_nothing_comes_back_too(terminals: Terminals, shell: str, line: str) -> None:
    terminal = await terminals.create(shell=shell)
    assert (await terminal.run(line, timeout_s=40)).reason == "finished"
    assert (await terminal.run("echo on")).output == "on\n"


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_deadline_returns_what_is_there_while_the_command_goes_on(terminals: Terminals, shell: str) -> None:
    terminal = await terminals.create(shell=shell)
    await terminal.run("true")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(terminal.run("echo early; read wait; echo late", timeout_s=100))
        while (await terminal.wait(input_wanted=True, deadline_s=40)).input != "line":
            pass
        let_pass(100)
    done = running.result()
    assert (done.output, done.exit_code, done.reason) == ("early\n", None, "deadline")
    with pytest.raises(Conflict, match="running"):
        await terminal.run("echo two")
    await terminal.type("\n")
    seen = await terminal.wait(finished=True, deadline_s=40)
    assert (seen.reason, seen.exit_code, seen.start) == ("finished", 0, done.start)
    assert seen.end is not None
    assert terminal.excerpt(done.start, seen.end).text == "early\n\nlate\n", "the Enter that was typed, and no prompt"
    assert (await terminal.run("echo three", timeout_s=40)).output == "three\n"


@pytest.mark.parametrize("shell", SHELLS)
async def test_half_a_command_is_a_state_of_its_own(terminals: Terminals, shell: str) -> None:
    terminal = await terminals.create(shell=shell)
    done = await terminal.run("echo 'never closed", timeout_s=40)
    assert (done.reason, done.exit_code) == ("incomplete", None)
    assert terminal.catch_up().state == "incomplete"
    async with asyncio.timeout(40):
        while terminal.catch_up().state != "prompt":
            await terminal.type("\x03")  # again, as a person would: one that comes while zsh gets ready to read is lost
            await terminal.wait(quiet_s=0.2)
    assert (await terminal.run("echo fine", timeout_s=40)).output == "fine\n"


@pytest.mark.parametrize("shell", SHELLS)
async def test_the_end_of_the_shell_ends_the_run(terminals: Terminals, shell: str) -> None:
    terminal = await terminals.create(shell=shell)
    done = await terminal.run("exit 5", timeout_s=40)
    assert (done.reason, done.exit_code) == ("exit", 5)


async def test_a_shell_without_marks_is_run_and_says_so(terminals: Terminals) -> None:
    terminal = await terminals.create(argv=["dash", "-i"])
    assert not terminal.marked
    done = await terminal.run("echo from dash", timeout_s=40)
    assert "from dash" in done.output
    assert (done.exit_code, done.sure, done.reason) == (None, False, "input")


async def test_a_python_repl_is_run_and_says_so(terminals: Terminals) -> None:
    terminal = await terminals.create(argv=["python3", "-q"])
    await terminal.wait(pattern=">>>", position=0, deadline_s=40)
    done = await terminal.run("print(6 * 7)", timeout_s=40)
    assert "42" in done.output
    assert not done.sure


async def test_two_runs_at_once_in_one_terminal_are_refused(terminals: Terminals) -> None:
    terminal = await terminals.create(shell="bash")
    await terminal.run("true")
    async with asyncio.TaskGroup() as group:
        first = group.create_task(terminal.run("read x; echo got $x", timeout_s=40))
        await terminal.wait(input_wanted=True, deadline_s=40)
        with pytest.raises(Conflict):
            await terminal.run("echo second")
        await terminal.type("it\n")
    assert first.result().output.endswith("got it\n")


async def test_a_line_waits_for_the_prompt_that_follows_the_end_of_another() -> None:
    timings = HostTimings(terminal=TerminalTimings(moment_s=0.0, prompt_s=60.0))
    async with open_terminals(timings=timings) as terminals:
        terminal = await terminals.create(shell="bash")
        await terminal.run("PROMPT_COMMAND='[ -p gate ] && read _ <gate && rm gate'", timeout_s=40)
        await terminal.type("mkfifo gate\n")
        assert (await terminal.wait(finished=True, deadline_s=40)).reason == "finished"
        assert terminal.catch_up().state == "running"
        async with asyncio.TaskGroup() as group:
            second = group.create_task(terminal.run("echo second", timeout_s=40))
            await asyncio.sleep(0)
            assert not second.done()
            await let_through(Path(terminal.cwd, "gate"))
        assert second.result().output == "second\n"


@pytest.mark.parametrize("line", ["a\0b", 7, None])
async def test_lines_that_are_no_text_are_refused(terminals: Terminals, line) -> None:
    terminal = await terminals.create(shell="bash")
    with pytest.raises(BadArgument):
        await terminal.run(line)


@pytest.mark.parametrize("timeout", [0, -1, 1e9])
async def test_deadlines_that_make_no_sense_are_refused(terminals: Terminals, timeout: float) -> None:
    terminal = await terminals.create(shell="bash")
    with pytest.raises(BadArgument, match="timeout_s"):
        await terminal.run("true", timeout_s=timeout)


@pytest.mark.parametrize(
    "profile",
    [
        "PS1='\\n\\u\\n[two lines]\\n$ '",
        "set -euo pipefail",
        "PROMPT_COMMAND='echo noise; PS1=\"> \"'",
        "unset PROMPT_COMMAND; PS1=",
        "trap 'true' DEBUG",
        "alias echo='printf X' printf=false",
        "PS1='\\[\\e]0;title\\a\\]$(false)$ '",
    ],
)
async def test_hostile_prompts_do_not_move_the_bounds(terminals: Terminals, profile: str) -> None:
    Path(terminals.env["HOME"], ".bash_profile").write_text(profile + "\n")
    terminal = await terminals.create(shell="bash")
    for number in range(3):
        done = await terminal.run(f"/bin/echo line {number}", timeout_s=40)
        assert (done.output, done.exit_code) == (f"line {number}\n", 0)


async def test_a_shell_whose_marks_were_removed_is_noticed_by_its_kernel_state(terminals: Terminals) -> None:
    terminal = await terminals.create(shell="bash")
    await terminal.run("true", timeout_s=40)
    done = await terminal.run("exec bash --norc --noprofile", timeout_s=40)
    assert (done.reason, done.exit_code, done.sure) == ("quiet", None, False)


@pytest.mark.parametrize(
    ("line", "output", "code"),
    [
        ("echo hi; exit 3", "hi\n", 3),
        ("printf abc; exit 4", "abc", 4),
        ("echo logout; exit 5", "logout\n", 5),
        ("exec echo logout", "logout\n", 0),
    ],
)
@pytest.mark.parametrize("shell", SHELLS)
async def test_a_shell_that_is_told_to_exit_adds_no_word_of_its_own(
    terminals: Terminals, shell: str, line: str, output: str, code: int
) -> None:
    terminal = await terminals.create(shell=shell)
    done = await terminal.run(line, timeout_s=40)
    assert (done.output, done.exit_code, done.reason) == (output, code, "exit")
    assert terminal.excerpt(done.start, done.end).text == output


async def test_a_line_that_was_never_typed_is_told_as_such_and_not_run_later(terminals: Terminals) -> None:
    home, work = Path(terminals.env["HOME"]), Path(terminals.places.workspace)
    (home / ".bash_profile").write_text("mkfifo gate; read _ <gate\n")
    terminal = await terminals.create(shell="bash")
    done = await terminal.run("touch x", timeout_s=0.3)
    assert (done.reason, done.exit_code, done.sure) == ("not-typed", None, False)
    while not (work / "gate").exists():
        await terminal.wait(quiet_s=0.05)
    await let_through(work / "gate")
    assert (await terminal.run("ls", timeout_s=40)).output == "gate\n"


async def test_a_question_of_the_start_up_files_gets_no_line(terminals: Terminals) -> None:
    Path(terminals.env["HOME"], ".bash_profile").write_text("read -p 'Load? ' answer\n")
    terminal = await terminals.create(shell="bash")
    await terminal.wait(pattern="Load", position=0, deadline_s=40)
    assert (await terminal.run("yes", timeout_s=0.5)).reason == "not-typed"
    await terminal.type("no\n")
    assert (await terminal.run("echo $answer", timeout_s=40)).output == "no\n"


@pytest.mark.parametrize("shell", SHELLS)
async def test_after_the_deadline_the_exit_code_and_the_output_can_be_had(terminals: Terminals, shell: str) -> None:
    terminal = await terminals.create(shell=shell)
    await terminal.run("mkfifo gate", timeout_s=40)
    done = await terminal.run("echo early; read _ <gate; echo late; (exit 5)", timeout_s=0.5)
    assert (done.reason, done.output) == ("deadline", "early\n")
    with pytest.raises(Conflict, match="busy"):
        await terminal.run("echo two")
    await let_through(Path(terminals.places.workspace, "gate"))
    seen = await terminal.wait(finished=True, deadline_s=40)
    assert (seen.reason, seen.exit_code, seen.sure, seen.start) == ("finished", 5, True, done.start)
    assert seen.start is not None
    assert seen.end is not None
    assert terminal.excerpt(seen.start, seen.end).text == "early\nlate\n"


INSIDE = {
    "bash --norc": "echo in-$((40+2))",
    "sh": "echo in-$((40+2))",
    "zsh -f": "echo in-$((40+2))",
    "python3 -q": "print('in-%d' % 42)",
    "script -q /dev/null": "echo in-$((40+2))",
    "tmux -S ./socket -f /dev/null new": "echo in-$((40+2))",
    "screen -c /dev/null bash --norc": "echo in-$((40+2))",
}
"""Programs that take lines inside a shell, with a line that prints in-42."""


async def enter(terminal: Terminal, line: str) -> None:
    """Start a program at the prompt and wait until it waits for input."""
    await terminal.type(f"{line}\n")
    async with asyncio.timeout(40):
        while (await terminal.wait(input_wanted=True, deadline_s=40)).input == "prompt":
            pass


@pytest.mark.parametrize("shell", SHELLS)
async def test_a_shell_inside_the_shell_takes_lines_and_leaving_it_is_noticed(terminals: Terminals, shell: str) -> None:
    terminal = await terminals.create(shell=shell)
    await terminal.run("unset TMUX STY", timeout_s=40)
    for program, line in INSIDE.items():
        position = terminal.log.head
        await enter(terminal, program)
        await terminal.wait(pattern=r"[$#%>] $", position=position, deadline_s=40)
        await until(lambda: terminal.look() == "input")  # tmux may be at its status line just then
        for _ in range(2):
            done = await terminal.run(line, timeout_s=40)
            assert (done.reason, done.exit_code, done.sure) == ("input", None, False), program
            assert "in-42" in done.output, program
        await terminal.run("exit()" if "python" in program else "exit", timeout_s=40)
        back = await terminal.run("echo back", timeout_s=40)
        assert (back.output, back.exit_code, back.reason, back.sure) == ("back\n", 0, "finished", True), program


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("program", ["bash --norc --noprofile", "zsh -f", "dash"])
async def test_a_shell_in_the_place_of_the_shell_takes_lines(terminals: Terminals, shell: str, program: str) -> None:
    terminal = await terminals.create(shell=shell)
    done = await terminal.run(f"exec {program}", timeout_s=40)
    assert (done.reason, done.exit_code, done.sure) == ("quiet", None, False)
    assert terminal.look() == "input"
    for _ in range(2):
        done = await terminal.run("echo in-$((40+2))", timeout_s=40)
        assert (done.reason, done.exit_code, done.sure) == ("input", None, False)
        assert "in-42" in done.output


async def test_what_takes_no_lines_is_told_and_gets_none(terminals: Terminals) -> None:
    Path(terminals.places.workspace, "text").write_text("text\n" * 200)
    terminal = await terminals.create(shell="bash")
    for line, told, leave in (
        ("less text", "whole screen", "q"),
        ("python3 -c 'import getpass; getpass.getpass()'", "secret", "x\n"),
        ("sleep 1000", "busy", "\x03"),
        ("echo 'half", "rest of a command", "'\n"),
    ):
        await terminal.run("true", timeout_s=40)
        await terminal.type(f"{line}\n")
        await terminal.wait(input_wanted=True, finished=True, deadline_s=1 if "sleep" in line else 40)
        with pytest.raises(Conflict, match=told):
            await terminal.run("touch never", timeout_s=5)
        await terminal.type(leave)
        await terminal.wait(finished=True, deadline_s=40)
    assert (await terminal.run("ls", timeout_s=40)).output == "text\n"


BANGS = {
    'echo "a!b"': "a!b\n",
    'echo "Hello World!"': "Hello World!\n",
    'echo "!?x?"': "!?x?\n",
    "echo 'x!y' \"$((1+1))\"": "x!y 2\n",
    "for i in 1 2; do\n  echo $i!x\ndone": "1!x\n2!x\n",
    "cat <<E\na!b\nE": "a!b\n",
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("interactive", [False, True], ids=["driven", "a person's"])
async def test_an_exclamation_mark_means_what_it_means_in_a_script(
    terminals: Terminals, shell: str, interactive: bool
) -> None:
    home = Path(terminals.env["HOME"])
    (home / ".bash_profile").write_text("set -H\n")
    (home / ".zshrc").write_text("setopt bang_hist\n")
    terminal = await terminals.create(shell=shell, interactive=interactive)
    for line, output in BANGS.items():
        done = await terminal.run(line, timeout_s=40)
        assert (done.output, done.exit_code, done.reason, done.sure) == (output, 0, "finished", True), line
    recalled = await terminal.run("^a^b", timeout_s=40)
    assert recalled.exit_code == 127, "no such command, as in a script"


@pytest.mark.parametrize("shell", SHELLS)
async def test_nothing_is_sure_without_a_begin(terminals: Terminals, shell: str) -> None:
    terminal = await terminals.create(shell=shell)
    await terminal.run("set -H; setopt banghist 2>/dev/null; true", timeout_s=40)
    refused = await terminal.run('echo "a!b"', timeout_s=40)
    assert "event not found" in refused.output
    assert refused.exit_code != 0
    assert not refused.sure
    for line in ("", "echo 'x' )"):
        done = await terminal.run(line, timeout_s=40)
        assert (done.reason, done.sure) == ("finished", False)


async def test_programs_have_no_pager_unless_it_is_asked_for(terminals: Terminals) -> None:
    work = Path(terminals.places.workspace)
    (work / "long").write_text("line\n" * 500)
    commit = "git -c user.name=x -c user.email=x@x commit -qm one"
    driven = await terminals.create(shell="bash", rows=10)
    await driven.run(f"git init -q && git add long && {commit}", timeout_s=40)
    done = await driven.run("git -p show", timeout_s=40)
    assert (done.reason, done.exit_code) == ("finished", 0)
    assert done.output.count("line") == 500
    person = await terminals.create(shell="bash", rows=10, interactive=True, env={"LESS": "-R"})
    await enter(person, "git -p show")
    assert person.look() == "input"
    asked = await terminals.create(shell="bash", env={"GIT_PAGER": "head -1"})
    assert (await asked.run("git -p show", timeout_s=40)).output.count("\n") == 1
