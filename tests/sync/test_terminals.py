"""The synchronous form of the terminals: the same methods, results and errors as the asynchronous one."""

import asyncio
import inspect
import os
import queue
import subprocess
import sys
import threading
import traceback
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.core.test_loop_thread import interrupt, interruptible
from tests.kit.workbench import environment, quick, temporary_places

import fourhands
from fourhands.core.errors import BadArgument, BadCwd, Conflict, NotFound, Unavailable
from fourhands.host.log import Chunk
from fourhands.host.paths import WorkspaceDirs
from fourhands.workbench.terminals.handle import Exited


@pytest.fixture
def places() -> Iterator[WorkspaceDirs]:
    with temporary_places() as places:
        yield places


def terminals_at(places: WorkspaceDirs) -> fourhands.sync.Terminals:
    return fourhands.sync.Terminals(places.workspace, quick(), places=places, env=environment(places))


@pytest.fixture
def terminals(places: WorkspaceDirs) -> Iterator[fourhands.sync.Terminals]:
    with terminals_at(places) as terminals:
        yield terminals
        terminals.stop()


# What of the asynchronous classes belongs to the workbench's own work, and to no embedding program.
INSIDE = {
    "Terminals": {
        *("cell_sessions", "end_cell", "free_title", "kept_secret", "leave", "on_change", "on_lost", "provider"),
        *("spare", "starter", "use_network", "variables"),
    },
    "Terminal": {
        *("asks_itself", "catch_sight", "check_alive", "commands", "describe", "describe_soon", "dispose", "ended"),
        *("entered", "entered_at", "expands_history", "fault", "finished_commands", "foreground_group", "later"),
        *("listen", "listening", "log", "look_at_size", "members", "modes", "on_resize", "outcome", "paused"),
        *("ports_told", "postponed", "probe", "progress", "redraws", "rejoin", "restore", "running", "slow_start"),
        *("starting", "timings", "type_now"),
    },
}
ADDED = {"Terminals": {"open", "close"}, "Terminal": set[str]()}


def names(of: type, made: object) -> set[str]:
    """The public names of a class, and of an object of it."""
    return {name for name in (*dir(of), *vars(made)) if not name.startswith("_")}


def shape(of: type, name: str) -> object:
    """How a name is used: the arguments and the result of a method, or the type and the words of a property."""
    member = inspect.getattr_static(of, name)
    function: Any = member.fget if isinstance(member, property) else member
    signature = inspect.signature(function)
    hints = typing.get_type_hints(inspect.unwrap(function)) | {"return": signature.return_annotation}
    [_, *rest] = signature.parameters.values()
    arguments = [(one.name, one.kind, one.default, str(hints.get(one.name))) for one in rest]
    settable = isinstance(member, property) and member.fset is not None
    words = [*arguments, str(hints["return"]), inspect.getdoc(function), type(member) is property, settable]
    return repr(words).replace("SyncTerminal", "Terminal").replace(".sync.terminal.", ".workbench.terminals.terminal.")


async def test_both_forms_have_the_same_methods_with_the_same_arguments(places: WorkspaceDirs) -> None:
    async with fourhands.Terminals(places.workspace, quick(), places=places, env=environment(places)) as there:
        terminal = await there.create(argv=["cat"])
        with terminals_at(places) as here:
            pairs: list[tuple[str, type, object, type, object]] = [
                ("Terminals", fourhands.Terminals, there, fourhands.sync.Terminals, here),
                ("Terminal", fourhands.Terminal, terminal, fourhands.sync.Terminal, here.list()[0]),
            ]
            for name, async_class, async_object, sync_class, sync_object in pairs:
                wanted = names(async_class, async_object) - INSIDE[name]
                assert names(sync_class, sync_object) - ADDED[name] == wanted
                assert names(async_class, async_object) >= INSIDE[name]
                for member in sorted(wanted & set(dir(async_class))):
                    assert shape(sync_class, member) == shape(async_class, member), f"{name}.{member}"
        await there.stop()
    constructors = [inspect.signature(one) for one in (fourhands.Terminals, fourhands.sync.Terminals)]
    assert constructors[0] == constructors[1]


def test_a_script_runs_types_waits_and_reads(terminals: fourhands.sync.Terminals) -> None:
    said: queue.Queue[bytes] = queue.Queue()
    ended: queue.Queue[tuple[fourhands.sync.Terminal, int | None]] = queue.Queue()
    terminals.on_exit(lambda terminal, exit: ended.put((terminal, exit.code)))
    shell = terminals.create(title="build", cols=100, rows=30)
    stop = shell.on_data(lambda chunk: said.put(chunk.data))
    done = shell.run("seq 1 1000 | tail -2", timeout_s=30)
    assert (done.output, done.exit_code, done.statuses) == ("999\n1000\n", 0, (0, 0))
    heard = said.get(timeout=30)
    while b"1000" not in heard:
        heard += said.get(timeout=30)
    stop()
    assert terminals.list() == [shell] == list(terminals.named("build"))
    assert {shell} == {terminals.get("build"), terminals.get(shell.id)}
    assert (shell.size, shell.program, shell.exited, terminals.count) == ((100, 30), "bash", False, 1)
    position = shell.type("read -p 'name? ' n; echo hello $n\n")
    assert shell.wait(pattern=r"^name\?", position=position, deadline_s=30).reason == "pattern"
    shell.type("Ada\n")
    assert shell.wait(finished=True, deadline_s=30).exit_code == 0
    assert "hello Ada" in shell.lines(5)
    assert shell.search("hello Ada")
    shell.resize(90, 20)
    assert shell.run("stty size").output == "20 90\n"
    terminals.max_terminals = 1
    with pytest.raises(fourhands.FourhandsError, match="the limit is 1"):
        terminals.create()
    assert terminals.execute("sh", ["-c", "echo out; exit 3"]).exit_code == 3
    shell.type("exit 7\n")
    assert ended.get(timeout=30) == (shell, 7)
    shell.close()
    assert terminals.list() == []


async def test_it_works_inside_a_running_loop_and_from_several_threads_at_once(
    terminals: fourhands.sync.Terminals,
) -> None:
    assert asyncio.get_running_loop().is_running()
    here = terminals.create()  # as in a notebook, whose cells run in a loop
    assert here.run("echo here").output == "here\n"
    outputs = await asyncio.gather(
        *(asyncio.to_thread(lambda: terminals.create().run("echo $((6*7))").output) for _ in range(4))
    )
    assert outputs == ["42\n"] * 4
    busy = threading.Thread(target=lambda: here.run("read x", timeout_s=30))
    busy.start()
    here.wait(input_wanted=True)
    with pytest.raises(Conflict, match="runs another line already"):
        here.run("echo too early")
    here.type("\n")
    busy.join(30)


def test_an_interruption_ends_the_wait_and_nothing_else(terminals: fourhands.sync.Terminals) -> None:
    shell = terminals.create()
    shell.run("true")
    seen = bytearray()

    def heard(chunk: Chunk) -> None:
        before = b"begun" in seen
        seen.extend(chunk.data)
        if not before and b"begun" in seen:
            interrupt()

    stop = shell.on_data(heard)
    with interruptible(), pytest.raises(KeyboardInterrupt):
        shell.run("echo be''gun; sleep 60")
    stop()
    shell.wait(pattern="begun", position=0)
    assert shell.look() == "running", "the command itself goes on"
    shell.interrupt()
    shell.wait(finished=True)
    assert shell.run("echo usable").output == "usable\n"


@pytest.mark.parametrize(
    ("call", "error", "where"),
    [
        (lambda terminals: terminals.get("nope"), NotFound, "named"),
        (lambda terminals: terminals.create(cwd="nope"), BadCwd, "cwd"),
        (lambda terminals: terminals.create().run("a\0b"), BadArgument, "run"),
        (lambda terminals: terminals.create().run(7), BadArgument, "run"),
        (lambda terminals: terminals.create(colour="red"), TypeError, "method"),
        (lambda terminals: setattr(terminals, "max_terminals", "many"), BadArgument, "max_terminals"),
    ],
)
def test_errors_are_the_same_and_their_traceback_is_short(
    terminals: fourhands.sync.Terminals, call: Any, error: type[Exception], where: str
) -> None:
    with pytest.raises(error) as caught:
        call(terminals)
    frames = traceback.extract_tb(caught.tb)
    assert len(frames) <= 9
    assert not [frame for frame in frames if "/lib/python3" in frame.filename], "nothing of threads and futures"
    assert where in {frame.name for frame in frames} | {"method"}


def test_a_callback_may_read_and_must_not_wait(terminals: fourhands.sync.Terminals) -> None:
    shell, found = terminals.create(argv=["cat"]), queue.Queue[object]()

    def heard(chunk: object) -> None:
        found.put(shell.size)
        try:
            shell.run("true")
        except Conflict as error:
            found.put(error)

    shell.on_data(heard)
    shell.type("go\n")
    assert found.get(timeout=10) == (80, 24)
    assert "run() waits, and was called by the thread" in str(found.get(timeout=10))


def test_after_the_end_everything_says_so_and_what_it_was_is_still_known(places: WorkspaceDirs) -> None:
    terminals = terminals_at(places)
    with pytest.raises(Unavailable, match=r"not open.*with"):
        terminals.list()
    with terminals:
        shell = terminals.create(title="build")
        stop = shell.on_data(lambda chunk: None)
        terminals.stop()
    for use in (terminals.list, terminals.create, lambda: shell.run("true"), lambda: shell.lines(), lambda: shell.cwd):
        with pytest.raises(Unavailable, match="this Terminals object is closed"):
            use()
    stop()
    assert (shell.title, shell.id in repr(shell)) == ("build", True)
    with pytest.raises(Conflict, match="opened before"):
        terminals.open()
    missing = fourhands.sync.Terminals("/nonexistent/place", quick())
    with pytest.raises(BadCwd):
        missing.open()
    with pytest.raises(Unavailable, match="closed"):
        missing.list()


def test_a_host_that_is_killed_ends_the_terminals_and_the_next_one_works(terminals: fourhands.sync.Terminals) -> None:
    shell = terminals.create()
    pid = terminals.host_pid
    done = shell.run(f"kill -9 {pid}; sleep 60", timeout_s=30)
    assert (done.reason, done.exit_code) == ("exit", None)
    end = shell.exit
    assert end is not None
    assert end.lost
    with pytest.raises(Exited, match="takes no input: its host is gone"):
        shell.type("x")
    assert terminals.create().run("echo back").output == "back\n"


SCRIPT = """
import os, fourhands
terminals = fourhands.sync.Terminals(".").open()
shell = terminals.create()
shell.run("true")
print(shell.pid, flush=True)
if os.fork() == 0:
    try:
        shell.run("true")
    except fourhands.Unavailable as error:
        print(error, flush=True)
    raise SystemExit
os.wait()
raise SystemExit("the script fails here" if shell.run("false").exit_code else 0)
"""


def test_what_a_script_left_open_is_closed_at_its_end_and_a_fork_is_told(tmp_path: Path) -> None:
    runtime = Path("/tmp") / f"fh-sync-{os.getpid()}"
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "FOURHANDS_RUNTIME": str(runtime), "LANG": "C.UTF-8"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (1, "the script fails here\n")
    pid, told = done.stdout.splitlines()
    assert "this one was forked off it (make a new one here)" in told
    assert not Path(f"/proc/{pid}").exists()
