"""All terminals of a workspace: names, limits, directories, environments, one-shots, restarts."""

import asyncio
import os
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest
from tests.kit.clock import let_pass
from tests.kit.workbench import environment, open_terminals, quick, temporary_places

from fourhands.core.errors import BadArgument, BadCwd, BadEnv, Denied, LimitReached, NotFound
from fourhands.core.ids import new_id
from fourhands.host import processes
from fourhands.providers.base import Launch
from fourhands.workbench.terminals import oneshot
from fourhands.workbench.terminals.launch import resolve_cwd
from fourhands.workbench.terminals.terminal import Terminal
from fourhands.workbench.terminals.terminals import Terminals


def gone(pid: int) -> bool:
    """Whether a process runs no more; whoever inherited it may not have reaped it yet."""
    process = processes.look(pid)
    return process is None or process.state in "ZX"


async def test_a_title_means_ones_own_then_what_runs_then_the_newest(terminals: Terminals) -> None:
    async def make(owner: str, *, ended: bool = False) -> Terminal:
        one = await terminals.create(argv=["true" if ended else "cat"], title="build", owner=owner)
        if ended:
            await one.wait(exit=True)
        return one

    first = await make("a", ended=True)
    assert terminals.get("build") is terminals.get("build", "b") is terminals.get(first.id) is first
    newer = await make("a", ended=True)
    assert terminals.get("build") is newer  # nobody's runs: the newest
    other = await make("b")
    assert terminals.get("build") is other  # a stranger's: one that runs before one that has ended
    assert terminals.get("build", "a") is newer  # one's own, although it has ended
    mine = await make("a")
    assert terminals.get("build", "a") is mine
    assert terminals.get("build", "b") is other
    assert terminals.get("build") is mine  # of two strangers' the newer
    assert [one.title for one in terminals.list()] == ["build"] * 4


async def test_a_title_of_ones_own_running_terminal_is_made_unique_also_for_two_at_once(terminals: Terminals) -> None:
    made = await asyncio.gather(*(terminals.create(argv=["cat"], title="build", owner="a") for _ in range(3)))
    assert sorted(one.title for one in made) == ["build", "build 2", "build 3"]
    assert (await terminals.create(argv=["cat"], title="build", owner="b")).title == "build"
    long = "x" * 200
    pair = [await terminals.create(argv=["cat"], title=long, owner="a") for _ in range(2)]
    assert [one.title for one in pair] == [long, long[:198] + " 2"]


async def test_a_title_holds_no_secret(terminals: Terminals) -> None:
    terminal = await terminals.create(argv=["cat"], title="db --password hunter2pw9")
    assert terminal.title == "db --password [redacted:secret]"


async def test_an_id_is_never_a_title(terminals: Terminals) -> None:
    one = await terminals.create(argv=["cat"])
    with pytest.raises(BadArgument, match="form of an id"):
        await terminals.create(argv=["cat"], title=one.id)
    two = await terminals.create(argv=["cat"])
    await two.describe(title=one.id)  # by another program
    assert terminals.get(one.id) is one
    await one.close()
    with pytest.raises(NotFound):
        terminals.get(one.id)


async def test_an_unknown_terminal_is_answered_with_the_known_ones(terminals: Terminals) -> None:
    await terminals.create(argv=["cat"], title="build")
    with pytest.raises(NotFound) as caught:
        terminals.get("biuld")
    assert "build" in caught.value.hint


async def test_ids_are_unique_and_sort_by_age(terminals: Terminals) -> None:
    made = [await terminals.create(argv=["cat"]) for _ in range(5)]
    ids = [terminal.id for terminal in made]
    assert ids == sorted(set(ids))
    assert all(name.startswith("term_") and len(name) == 31 for name in ids)
    assert terminals.list() == made


async def test_the_limit_can_be_read_and_changed_and_is_refused_clearly(terminals: Terminals) -> None:
    assert terminals.max_terminals == 100
    terminals.max_terminals = 1
    await terminals.create(argv=["cat"])
    with pytest.raises(LimitReached, match="the limit is 1"):
        await terminals.create(argv=["cat"])
    for wrong in (0, -1, "many", 10_001, True):
        with pytest.raises(BadArgument):
            terminals.max_terminals = wrong  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("cwd", "message", "problem"),
    [
        ("missing", "does not exist", "missing"),
        ("/no/such/place", "does not exist", "missing"),
        ("file.txt/below", "does not exist", "missing"),
        ("gone", "does not exist", "missing"),
        ("file.txt", "not a directory", "not-a-directory"),
        (" file.txt ", "not a directory", "not-a-directory"),
        ("..", "outside", "outside"),
        ("/etc", "outside", "outside"),
        (" /etc ", "outside", "outside"),
        ("/etc/passwd", "outside", "outside"),
        ("out", "outside", "outside"),
        ("a\0b", "NUL", "bad"),
        ("", "must be a path", "bad"),
        (" \t\n", "must be a path", "bad"),
        ("x" * 5000, "cannot be used", "bad"),
        ("loop", "cannot be used", "bad"),
        ("\ud800", "half a character", "bad"),
    ],
)
async def test_a_bad_directory_is_an_error_and_nothing_runs_elsewhere(
    terminals: Terminals, cwd: str, message: str, problem: str
) -> None:
    root = Path(terminals.places.workspace)
    (root / "file.txt").write_text("")
    (root / "out").symlink_to("/etc")
    (root / "gone").symlink_to("/no/such/place")
    (root / "loop").symlink_to("loop")
    with pytest.raises(BadCwd, match=message) as caught:
        await terminals.create(argv=["pwd"], cwd=cwd)
    assert caught.value.data["problem"] == problem
    assert terminals.list() == []
    done = await terminals.execute("pwd", cwd=cwd)
    assert (done.ok, done.code) == (False, "bad-cwd")


def test_a_directory_that_may_not_be_entered_says_so() -> None:
    with tempfile.TemporaryDirectory() as root:
        os.chmod(root, 0o755)
        os.mkdir(f"{root}/shut", mode=0o600)
        root_user = os.geteuid() == 0
        try:
            if root_user:  # who may enter everywhere
                os.seteuid(65534)
            with pytest.raises(BadCwd, match="permission denied") as caught:
                resolve_cwd("shut", root)
        finally:
            if root_user:
                os.seteuid(0)
    assert caught.value.data["problem"] == "no-entry"


async def test_blanks_around_a_directory_do_not_count_unless_they_are_its_name(terminals: Terminals) -> None:
    root = Path(terminals.places.workspace)
    (root / "sub").mkdir()
    for cwd in (" sub ", f"\t{root}/sub\n", "sub\u00a0"):
        assert (await terminals.execute("pwd", cwd=cwd)).output == f"{root}/sub\n"
    (root / " sub ").mkdir()
    assert (await terminals.execute("pwd", cwd=" sub ")).output == f"{root}/ sub \n"
    assert (await terminals.execute("pwd", cwd=" sub")).output == f"{root}/sub\n"


async def test_directories_may_be_relative_or_absolute_inside(terminals: Terminals) -> None:
    root = Path(terminals.places.workspace)
    (root / "sub").mkdir()
    for cwd in ("sub", str(root / "sub"), f"/{root}/sub", "sub/../sub", "./sub/"):
        assert (await terminals.execute("pwd", cwd=cwd)).output == f"{root}/sub\n"


async def test_a_shell_gets_a_clean_environment() -> None:
    with temporary_places() as places:
        env = {
            **environment(places),
            "FOURHANDS_SECRET": "server-secret",
            "OPENAI_API_KEY": "sk-canary-canary",
            "SSH_AUTH_SOCK": "/tmp/agent",
            "EDITOR": "vi",
        }
        async with Terminals(places.workspace, quick(), places=places, env=env) as terminals:
            person = (await terminals.execute("env")).output
            agent = (await terminals.execute("env", agent=True)).output
            await terminals.stop()
    for seen in (person, agent):
        assert "TERM=xterm-256color" in seen
        assert "TERM_PROGRAM=fourhands" in seen
        assert "canary" not in seen
        assert "server-secret" not in seen
    assert "SSH_AUTH_SOCK" in person
    assert "SSH_AUTH_SOCK" not in agent
    assert "EDITOR" not in agent
    assert "PAGER=cat" in agent


async def test_variables_can_be_set_and_removed(terminals: Terminals) -> None:
    done = await terminals.execute("env", env={"MINE": "yes", "LANG": None})
    assert "MINE=yes" in done.output
    assert "\nLANG=" not in done.output
    for wrong in ({"1X": "a"}, {"A B": "x"}, {"A": "x\0y"}, {"": "x"}, {"A": 7}):
        with pytest.raises(BadEnv):
            await terminals.execute("env", env=wrong)  # type: ignore[arg-type]  # that is the point


async def test_shells_that_are_not_allowed_are_refused(terminals: Terminals) -> None:
    with pytest.raises(Denied, match="not allowed"):
        await terminals.create(shell="/usr/bin/python3")
    async with open_terminals(quick(shells=("/bin/sh",))) as strict:
        with pytest.raises(Denied):
            await strict.create(shell="bash")
        assert (await strict.create()).argv[0] == "/bin/sh"


async def test_output_errors_input_and_exit_code_of_a_one_shot(terminals: Terminals) -> None:
    done = await terminals.execute("sh", ["-c", "echo out; echo err >&2; cat; exit 3"], input="in")
    assert (done.ok, done.stdout, done.stderr, done.exit_code) == (False, "out\nin", "err\n", 3)
    assert done.isolation == "none"
    assert (await terminals.run_script("set -e\necho one\nfalse\necho two\n")).stdout == "one\n"


@pytest.mark.parametrize(
    ("command", "code"), [("no-such-program", "command-not-found"), ("./plain", "permission-denied")]
)
async def test_what_cannot_be_started_has_a_code_of_its_own(terminals: Terminals, command: str, code: str) -> None:
    Path(terminals.places.workspace, "plain").write_text("x")
    done = await terminals.execute(command)
    assert (done.ok, done.code, done.exit_code) == (False, code, None)


async def test_a_timeout_ends_the_tree_and_keeps_what_was_printed(terminals: Terminals) -> None:
    marker = Path(terminals.places.workspace, "on")
    script = f"echo started; (trap '' TERM; exec sleep 300) & setsid sleep 301 & echo $!; >{marker}; sleep 302"
    async with asyncio.TaskGroup() as group:
        running = group.create_task(terminals.run_script(script, timeout_s=100))
        while not marker.exists():  # noqa: ASYNC110 - a file has no event
            await asyncio.sleep(0.01)
        let_pass(100)
    done = running.result()
    assert (done.code, done.exit_code) == ("timeout", None)
    assert done.output.startswith("started\n")
    assert gone(int(done.output.split()[1]))


async def test_a_one_shot_that_is_cancelled_while_it_starts_leaves_nobody(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    argv = ("sh", "-c", f"sleep 300 & echo $! >{pipe}; wait")
    launch = Launch("/bin/sh", argv, str(tmp_path), {"PATH": os.environ["PATH"]})
    call = oneshot.execute(launch, input_data=None, timeout_s=100, isolation="none", mark=new_id("run"))
    async with asyncio.TaskGroup() as group:
        running = group.create_task(call)
        for _ in range(2):
            await asyncio.sleep(0)  # it is started, and nobody listens to it yet
        child = int(pipe.read_text())
        running.cancel()
    assert gone(child)


async def test_a_child_that_keeps_the_pipe_open_does_not_hold_up_the_call(terminals: Terminals) -> None:
    async with asyncio.timeout(40):
        done = await terminals.run_script("sleep 300 & echo $!")
    pid = int(done.stdout)
    assert done.ok
    assert done.held_open_by == (pid,)
    os.kill(pid, signal.SIGKILL)


async def test_huge_output_of_a_one_shot_is_bounded_and_says_so(terminals: Terminals) -> None:
    done = await terminals.run_script("head -c 40000000 /dev/zero | tr '\\0' a; echo end", timeout_s=60)
    assert done.truncated
    assert len(done.stdout) < 26_000_000
    assert done.stdout.endswith("end\n")


async def test_a_cancelled_one_shot_leaves_nobody_behind(terminals: Terminals) -> None:
    marker = Path(terminals.places.workspace, "pid")
    async with asyncio.TaskGroup() as group:
        running = group.create_task(
            terminals.run_script(f"echo $$ > {marker}.new; mv {marker}.new {marker}; sleep 300")
        )
        while not marker.exists():  # noqa: ASYNC110 - a file has no event
            await asyncio.sleep(0.01)
        running.cancel()
    assert gone(int(marker.read_text()))


def test_what_one_program_changes_in_its_environment_no_other_has(tmp_path: Path) -> None:
    terminals = Terminals(tmp_path, env={"PATH": "/bin", "MINE": "1", "API_TOKEN": "x"})
    for agent, kept in ((False, "1"), (True, None)):
        plain = terminals.variables(None, agent=agent)
        assert (plain.get("MINE"), plain.get("API_TOKEN")) == (kept, None)
        changed = terminals.variables({"X": "1", "PATH": None}, agent=agent)
        assert (changed["X"], changed.get("PATH")) == ("1", None)
        assert terminals.variables(None, agent=agent) == plain
        plain["Y"] = "1"
        assert "Y" not in terminals.variables(None, agent=agent)


async def test_a_spare_shell_is_used_once_and_is_nobodys_until_then() -> None:
    async with open_terminals(quick(spare_shell=True)) as terminals:
        first = await terminals.create(shell="bash")
        await first.run("true", timeout_s=40)
        await terminals.settled()
        spare = terminals.spare
        assert terminals.list() == [first]
        second = await terminals.create(shell="bash", title="quick", cols=100, rows=20)
        assert second is spare
        assert (second.title, second.owner) == ("quick", "")
        assert (
            await second.run("stty size; echo $FOURHANDS_TERMINAL", timeout_s=40)
        ).output == f"20 100\n{second.id}\n"
        await terminals.settled()
        spare = terminals.spare
        other = await terminals.create(shell="bash", env={"X": "1"})
        assert (await other.run("echo $X", timeout_s=40)).output == "1\n"
        await terminals.settled()
        assert terminals.spare is spare  # whoever brings variables has a shell of their own


async def test_who_looks_in_leaves_the_spare_shell_alone_and_an_orphan_is_ended() -> None:
    with temporary_places() as places:
        env, settings = environment(places), quick(spare_shell=True)
        async with Terminals(places.workspace, settings, places=places, env=env) as server:
            await server.create(shell="bash", title="one")
            await server.settled()
            spare = server.spare
            assert spare is not None
            async with Terminals(places.workspace, settings, places=places, env=env, keep=True) as visitor:
                assert [terminal.title for terminal in visitor.list()] == ["one"]
            assert await server.create(shell="bash") is spare
            await server.settled()
            orphan = server.spare
            assert orphan is not None
            server.leave()
            async with Terminals(places.workspace, settings, places=places, env=env) as successor:
                assert len(successor.list()) == 2
                assert gone(orphan.pid)
                await successor.stop()


async def test_a_new_server_finds_everything_where_it_was() -> None:
    with temporary_places() as places:
        env = environment(places)
        async with Terminals(places.workspace, quick(), places=places, env=env, keep=True) as before:
            terminal = await before.create(shell="bash", title="work")
            await terminal.run("X=kept; echo one", timeout_s=40)
            gone = await before.create(argv=["sh", "-c", "exit 4"], title="gone")
            await gone.wait(exit=True)
            position = terminal.log.head
        async with Terminals(places.workspace, quick(), places=places, env=env) as after:
            again = after.get("work")
            assert again.id == terminal.id
            assert again.log.head >= position
            assert (await again.run("echo $X", timeout_s=40)).output == "kept\n"
            ended = after.get("gone").exit
            assert ended is not None
            assert ended.code == 4
            await after.stop()


async def test_a_lost_host_is_told_and_the_logs_are_still_there(terminals: Terminals) -> None:
    lost = asyncio.Event()
    terminals.on_lost = lambda ended: lost.set()
    terminal = await terminals.create(argv=["sh", "-c", "echo last words; sleep 300"])
    await terminal.wait(pattern="words", position=0)
    os.kill(terminals.host_pid, signal.SIGKILL)
    async with asyncio.timeout(40):
        await lost.wait()
    assert terminal.exit is not None
    assert terminal.exit.lost
    assert terminal.lines() == ["last words"]
    assert gone(terminal.pid)


async def test_a_size_that_another_program_gives_is_noticed_without_any_output(terminals: Terminals) -> None:
    one = await terminals.create(argv=["cat"], cols=80, rows=24)
    resized = asyncio.Event()
    one.on_resize = resized.set
    async with Terminals(
        terminals.places.workspace, quick(), places=terminals.places, env=environment(terminals.places), keep=True
    ) as other:
        other.get(one.id).resize(101, 31)
        async with asyncio.timeout(40):
            await resized.wait()
    assert one.size == (101, 31)
    assert one.log.head == 0


@pytest.mark.parametrize("words", ["ls -l", b"ls", [], ["ls", 3], 7, ["a\0b"]], ids=repr)
async def test_what_is_no_list_of_words_is_not_run(terminals: Terminals, words: Any) -> None:
    with pytest.raises(BadArgument, match="words"):
        await terminals.create(argv=words)
    if words != []:
        with pytest.raises(BadArgument, match="words"):
            await terminals.execute("ls", words)


async def test_values_of_a_wrong_type_are_named(terminals: Terminals) -> None:
    wrong: Any = 3
    with pytest.raises(BadArgument, match="title"):
        await terminals.create(title=wrong)
    with pytest.raises(BadArgument, match="each a text"):
        await terminals.execute(wrong)
    terminal = await terminals.create(argv=["true"])
    text: Any = "x"
    with pytest.raises(BadArgument, match="lines must be a whole number from 1, not 'x'"):
        terminal.lines(text)
    with pytest.raises(BadArgument, match="position 'x' does not exist"):
        terminal.since(text)
