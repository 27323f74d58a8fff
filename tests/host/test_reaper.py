"""Nobody who belongs to a terminal outlives its end, however well they hide; and nobody else is touched."""

import asyncio
import contextlib
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterable

import pytest
from tests.kit.hosts import House, carriers, is_alive, need

from fourhands.host import processes as tree
from fourhands.host.hosted import HostedTerminal
from fourhands.host.paths import WorkspaceDirs
from fourhands.host.reaper import Reaper
from fourhands.host.system import Kernel

PRELUDE = """
import os, signal, time
def say(text=""): os.write(1, b"pid %d;%s" % (os.getpid(), text.encode()))
def deaf(): [signal.signal(n, signal.SIG_IGN) for n in (signal.SIGHUP, signal.SIGTERM)]
over = time.monotonic() + 30  # whoever escapes after all ends by itself
def stay():
    while time.monotonic() < over: time.sleep(1)
    os._exit(0)
"""

# Each prints `pid N;` for everybody who must be gone, and `ready` when all are there.
HIDING = {
    "deaf": "deaf(); say('ready'); stay()",
    "own group": """
if os.fork(): stay()
os.setpgid(0, 0); deaf(); say('ready'); stay()""",
    "own session": """
if os.fork(): stay()
os.setsid(); say('ready'); stay()""",
    "double fork": """
if os.fork(): stay()
os.setsid()
if os.fork(): os._exit(0)
say('ready'); os.closerange(0, 100); stay()""",
    "parent gone": """
deaf()
if os.fork(): os._exit(7)
os.setsid()
if os.fork(): os._exit(0)
say('ready'); stay()""",
    "forks when asked": """
def more(*_):
    if not os.fork(): os.setsid(); deaf(); stay()
signal.signal(signal.SIGTERM, more); signal.signal(signal.SIGHUP, more)
say('ready'); stay()""",
    "runs away": """
deaf(); say('ready')
while time.monotonic() < over:
    if os.fork(): os._exit(0)""",
    "stopped": """
if os.fork(): stay()
say('ready'); os.kill(os.getpid(), signal.SIGSTOP); stay()""",
}
IDLE = [["bash", "--norc", "-i"], ["zsh", "-f", "-i"], ["dash", "-i"], ["cat"], ["python3", "-q"]]


async def test_nobody_hides_from_the_end_of_a_terminal(house: House) -> None:
    await house.link()
    terms = {name: await house.python(PRELUDE + code) for name, code in HIDING.items()}
    for term in terms.values():
        await term.until(rb"ready")
    bystander = await house.sh("echo here; exec sleep 1000")
    await bystander.until(rb"here")
    stranger = await asyncio.create_subprocess_exec("sleep", "1000")
    try:
        answers = await asyncio.gather(*(term.end() for term in terms.values()))
        assert {name: answer["left"] for name, answer in zip(terms, answers, strict=True)} == {n: [] for n in terms}
        told = {n: [int(p) for p in re.findall(rb"pid (\d+);", t.output())] for n, t in terms.items()}
        assert {n: [p for p in pids if is_alive(p)] for n, pids in told.items()} == {n: [] for n in terms}
        assert carriers({term.id for term in terms.values()}) == []
        assert is_alive(bystander.pid)
        assert is_alive(stranger.pid)
        exits = dict(zip(terms, (answer["exit"]["signal"] for answer in answers), strict=True))
        assert exits["deaf"] == "SIGKILL"
        assert exits["stopped"] == exits["own session"] == "SIGHUP"
    finally:
        stranger.kill()
        await stranger.wait()


@pytest.mark.parametrize("shell", IDLE)
async def test_an_idle_program_ends_without_being_killed(house: House, shell: list[str]) -> None:
    need(shutil.which(shell[0]), f"no {shell[0]}", pytest.skip, pytest.fail)
    term = await house.create(*shell)
    if shell[0] != "cat":
        await term.until(rb"[$%#>] ?")
    ended = await term.end()
    assert ended["left"] == []
    assert ended["exit"]["signal"] != "SIGKILL"
    assert [e["event"] for e in house.events.all] == ["exited"]


@pytest.mark.parametrize("inside", ["{}", "bash --norc -ic '{}; true'", "sh -c '{}; true'"])
async def test_a_server_that_shuts_down_on_sigterm_may_do_so(house: House, inside: str) -> None:
    leave = "lambda *_: (time.sleep(0.1), os.write(1, bytes([52, 50])), exit(3))"
    code = f"import os, signal, time; signal.signal(15, {leave}); os.write(1, bytes([117, 112])); time.sleep(1000)"
    server = f'python3 -c "{code}"'
    term = await house.sh(inside.format(server) if inside != "{}" else f"exec {server}")
    await term.until(rb"up")
    assert (await term.end())["left"] == []
    assert b"42" in term.output()


async def test_a_shell_that_notes_a_hang_up_and_sleeps_on_is_woken_by_the_next(house: House) -> None:
    term = await house.python(
        PRELUDE
        + """
def noted(*_): signal.signal(signal.SIGHUP, lambda *_: os._exit(5))
signal.signal(signal.SIGHUP, noted); signal.signal(signal.SIGTERM, signal.SIG_IGN)
say('ready'); stay()"""
    )
    await term.until(rb"ready")
    assert (await term.end())["exit"]["code"] == 5


async def test_a_shell_with_a_stopped_job_ends_with_it(house: House) -> None:
    term = await house.create("bash", "--norc", "-i")
    await term.until(rb"\$ ")
    term.type(b"sh -c 'echo job $$; kill -STOP $$; sleep 1000'\n")
    job = int((await term.until(rb"job (\d+)"))[1])
    await term.until(rb"Stopped")
    assert (await term.end())["left"] == []
    assert not is_alive(job)


async def test_what_an_exited_program_left_behind_is_ended_too(house: House) -> None:
    term = await house.sh("trap '' HUP; sleep 1000 & echo child $!; exit 3")
    child = int((await term.until(rb"child (\d+)"))[1])
    assert (await term.exit())["code"] == 3
    assert is_alive(child)
    assert {m["pid"] for m in (await term.ask("members"))["members"]} == {child}
    assert (await term.end())["left"] == []
    assert not is_alive(child)


async def test_several_ends_of_one_terminal_are_all_answered(house: House) -> None:
    term = await house.sh("trap '' HUP TERM; echo on; while :; do sleep 1; done")
    await term.until(rb"on")
    answers = await asyncio.gather(*(term.end(forget=n == 1) for n in range(3)))
    assert [a["left"] for a in answers] == [[], [], []]
    assert len([e for e in house.events.all if e["event"] == "exited"]) == 1


async def test_many_terminals_end_together(house: House) -> None:
    await house.link()
    terms = [await house.create("cat") for _ in range(60)]
    answers = await asyncio.gather(*(term.end(forget=True) for term in terms))
    assert {(a["exit"]["signal"], tuple(a["left"])) for a in answers} == {("SIGHUP", ())}
    assert (await (await house.link()).request("list")).body["terminals"] == []


def process(pid: int, parent: int, session: int = 0, tty: int = 0, started: int = 1) -> tree.Process:
    return tree.Process(pid, parent, session, session, tty, "S", started, "x")


def members(table: tree.Table, main: int, *, tty: int = 0, alive: bool = True) -> set[int]:
    return {p.pid for p in table.members(main=main, tty=tty, terminal="term_none", alive=alive, marks=tree.TagIndex())}


def table(*processes: tree.Process) -> tree.Table:
    return tree.Table({p.pid: p for p in processes}, ancestor=10)


def test_a_number_that_was_given_to_somebody_else_is_not_a_member() -> None:
    # 20 was our main process and is gone; now a process of another terminal has the number, and a session.
    now = table(process(10, 1), process(20, 10, session=20, started=99), process(21, 20, session=20))
    assert members(now, 20, alive=True) == {20, 21}
    assert members(now, 20, alive=False) == set()


def test_the_rest_of_a_session_whose_leader_is_gone_are_members() -> None:
    assert members(table(process(10, 1), process(21, 10, session=20)), 20, alive=False) == {21}


def test_who_does_not_descend_from_the_host_is_no_member() -> None:
    now = table(process(1, 0), process(10, 1), process(30, 1, session=20, tty=5), process(40, 10, session=40, tty=5))
    assert members(now, 20, tty=5, alive=False) == {40}
    assert 10 not in members(now, 10)


async def test_the_polite_way_works_without_proc(house: House) -> None:
    child = house.start_host(prelude="from fourhands.host import processes; processes.HAVE_PROC = False")
    link = await house.link(start=False)
    assert link.host_pid == child.pid
    term = await house.sh("sleep 1000 & wait")
    deaf = await house.sh("trap '' HUP TERM; echo on; while :; do sleep 1; done")
    await deaf.until(rb"on")
    first, second = await asyncio.gather(term.end(), deaf.end())
    assert (first["exit"]["signal"], second["exit"]["signal"]) == ("SIGHUP", "SIGKILL")
    link.close()
    child.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(child.wait, 40) == 0


class Still(Kernel):
    """A machine whose clock a test sets, and whose processes it names; signals are noted, groups are real."""

    def __init__(self, *found: tree.Process) -> None:
        super().__init__()
        self.now = 100.0
        self.found = found
        self.sent: list[int] = []
        self.groups: list[int] = []

    def monotonic(self) -> float:
        return self.now

    def scan(self) -> dict[int, tree.Process]:
        return {p.pid: p for p in (process(os.getpid(), 1), *self.found)}

    def send_signals(self, process: tree.Process, numbers: Iterable[int]) -> None:
        self.sent.extend(numbers)

    def killpg(self, group: int, number: int) -> None:
        self.groups.append(group)
        if group not in (0, os.getpgrp()):  # or a test that fails would end all tests
            super().killpg(group, number)


class Yard:
    """What a reaper needs of its host: terminals, and a clock that a test advances."""

    def __init__(self, system: Still, main: int) -> None:
        self.system = system
        self.places = WorkspaceDirs("/", "/r", "/s")
        self.terminal = HostedTerminal({"id": "term_x"}, 0)
        self.terminal.pid = main
        self.terminals = {"term_x": self.terminal}
        self.reaper = Reaper(self, system)
        self.told: list[int] | None = None
        self._timers: list[tuple[float, Callable[[], None]]] = []

    def later(self, delay_s: float, action: Callable[[], None]) -> None:
        self._timers.append((self.system.now + delay_s, action))

    def finish(self, terminal: HostedTerminal, *, whole: bool = True) -> None:
        raise AssertionError("its main process has not been reaped")

    def end(self) -> None:
        def done(left: list[int]) -> None:
            self.told = left

        self.reaper.end(self.terminal, done)
        self.advance(0.0)

    def advance(self, by_s: float) -> None:
        """Let time pass at once, then do what has become due, in its order."""
        self.system.now += by_s
        due = sorted((one for one in self._timers if one[0] <= self.system.now), key=lambda one: one[0])
        self._timers = [one for one in self._timers if one not in due]
        for _, action in due:
            action()


def test_a_host_that_stood_still_gives_them_their_time_all_the_same() -> None:
    yard = Yard(Still(process(20, os.getpid())), main=20)
    yard.end()
    assert yard.system.sent[:3] == [signal.SIGHUP, signal.SIGCONT, signal.SIGTERM]
    yard.advance(60)
    assert signal.SIGKILL not in yard.system.sent
    while yard.told is None:
        yard.advance(0.05)
    assert yard.system.sent.count(signal.SIGKILL) > 10
    assert yard.system.now == pytest.approx(160 + 5, abs=0.5)
    assert yard.told == [20]


async def test_a_group_is_killed_although_the_one_who_was_seen_has_gone() -> None:
    child = await asyncio.create_subprocess_exec("sleep", "1000", start_new_session=True)
    gone = tree.Process(2**22 - 1, os.getpid(), child.pid, child.pid, 0, "S", 1, "forked on and left")
    yard = Yard(Still(gone), main=gone.pid)
    yard.end()
    assert yard.system.groups == []  # not before the time that they have
    while not yard.system.groups and yard.told is None:
        yard.advance(0.05)
    try:
        assert yard.system.groups == [child.pid]
        assert yard.system.now - 100 >= 1.0
        assert await child.wait() == -signal.SIGKILL
    finally:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.wait()


def test_the_group_of_the_host_itself_is_never_killed() -> None:
    """A member that has not made a group of its own yet, between fork and exec, is still in the host's."""
    fresh = tree.Process(2**22 - 1, os.getpid(), os.getpgrp(), os.getsid(0), 0, "S", 1, "just forked")
    odd = tree.Process(2**22 - 2, 2**22 - 1, 0, 0, 0, "S", 1, "of the kernel")
    yard = Yard(Still(fresh, odd), main=fresh.pid)
    yard.end()
    while yard.told is None:
        yard.advance(0.05)
    assert yard.system.groups == []
    assert signal.SIGKILL in yard.system.sent
