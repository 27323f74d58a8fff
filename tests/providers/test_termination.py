"""The one ladder by which started processes are ended: polite, firm after the grace period, awaited until gone."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable

import pytest
from tests.kit.hosts import LIMIT_S, is_alive

from fourhands.core.child import Child
from fourhands.host import processes
from fourhands.providers.termination import end_carriers, session_of, terminate

Start = Callable[[str], "Program"]


class Program:
    """A Python program whose printed lines can be awaited."""

    def __init__(self, code: str) -> None:
        self.lines = asyncio.Queue[str]()
        self.rest = b""
        argv = [sys.executable, "-S", "-u", "-c", "import os, signal, subprocess, sys, time\n" + code]
        self.child = Child(argv, cwd=None, env=dict(os.environ), out=self._hear, err=None)

    def _hear(self, data: bytes) -> None:
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            self.lines.put_nowait(line.decode())

    async def line(self) -> str:
        async with asyncio.timeout(LIMIT_S):
            return await self.lines.get()

    async def end(self, grace_s: float) -> list[int]:
        async with asyncio.timeout(LIMIT_S):
            return await terminate(lambda: session_of(self.child), grace_s, leader=self.child)


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    made: list[Program] = []

    def begin(code: str) -> Program:
        made.append(Program(code))
        return made[-1]

    yield begin
    for program in made:
        await terminate(lambda p=program: session_of(p.child), 0.0, leader=program.child)  # type: ignore[misc]
        program.child.close()


STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
WAIT = "print('ready')\nwhile True: time.sleep(60)"


async def test_a_polite_program_says_good_bye(start: Start) -> None:
    program = start(f"signal.signal(signal.SIGTERM, lambda *_: (print('good bye'), sys.exit(7)))\n{WAIT}")
    assert await program.line() == "ready"
    assert await program.end(LIMIT_S) == []
    assert program.child.code == 7
    assert await program.line() == "good bye"


async def test_a_stubborn_program_is_killed_after_the_grace_period_and_not_before(start: Start) -> None:
    program = start(STUBBORN + WAIT)
    await program.line()
    began = time.monotonic()
    assert await program.end(0.3) == []
    assert time.monotonic() - began >= 0.3
    assert program.child.code == -signal.SIGKILL
    assert not is_alive(program.child.pid)


async def test_a_stopped_program_hears_the_polite_signal(start: Start) -> None:
    program = start(f"signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n{WAIT}")
    await program.line()
    os.kill(program.child.pid, signal.SIGSTOP)
    assert await program.end(LIMIT_S) == []
    assert program.child.code == 7


async def test_each_process_is_asked_once(start: Start) -> None:
    """A second signal would hit whatever the program does to leave in good order."""
    program = start(
        "count = 0\n"
        "def ask(*_):\n    global count; count += 1\n"
        "signal.signal(signal.SIGTERM, ask)\n"
        "print('ready')\n"
        "while not count: time.sleep(0.01)\n"
        "subprocess.run(['sleep', '0.3'])\n"
        "sys.exit(count)"
    )
    await program.line()
    async with asyncio.timeout(LIMIT_S):  # no leader, so it is looked for all the time
        assert await terminate(lambda: session_of(program.child), LIMIT_S) == []
        await asyncio.shield(program.child.ended)
    assert program.child.code == 1


async def test_what_a_program_left_behind_ends_with_it(start: Start) -> None:
    """It has exited; a child of its session, which ignores polite signals, has not."""
    program = start(
        "child = subprocess.Popen([sys.executable, '-S', '-u', '-c', "
        f"{'import signal, time' + chr(10) + STUBBORN + WAIT!r}], stdout=subprocess.PIPE)\n"
        "child.stdout.readline()\nprint(child.pid)"
    )
    pid = int(await program.line())
    async with asyncio.timeout(LIMIT_S):
        await asyncio.shield(program.child.ended)
    assert is_alive(pid)
    assert await program.end(0.1) == []
    assert not is_alive(pid)


async def test_a_child_in_a_session_of_its_own_is_remembered_when_its_parent_has_gone(start: Start) -> None:
    program = start(
        "child = subprocess.Popen([sys.executable, '-S', '-u', '-c', "
        f"{'import signal, time' + chr(10) + STUBBORN + WAIT!r}], stdout=subprocess.PIPE, start_new_session=True)\n"
        f"child.stdout.readline()\nprint(child.pid)\n{WAIT}"
    )
    pid = int(await program.line())
    await program.line()
    assert await program.end(0.2) == []
    assert program.child.code == -signal.SIGTERM  # the parent went at once, and with it the way to find the child
    assert not is_alive(pid)


async def test_a_cancelled_ladder_kills_at_once(start: Start) -> None:
    program = start(STUBBORN + WAIT)
    await program.line()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await terminate(lambda: session_of(program.child), LIMIT_S, leader=program.child)
    async with asyncio.timeout(LIMIT_S):
        await asyncio.shield(program.child.ended)
    assert program.child.code == -signal.SIGKILL


async def test_those_that_cannot_be_ended_are_named(start: Start) -> None:
    """A process that `find` keeps returning, as one in an uninterruptible sleep would be: here, this test's own.

    It is found with another start time, so no signal reaches it.
    """
    me = processes.look(os.getpid())
    assert me is not None
    other = processes.Process(me.pid, me.parent, me.group, me.session, me.tty, "D", me.started + 1, me.name)
    assert await terminate(lambda: [other], 0.0, give_up_s=0.1) == [os.getpid()]


async def test_a_number_that_somebody_else_has_now_is_no_session_of_ours(start: Start) -> None:
    program, stranger = start("print('done')"), start(WAIT)
    await program.line()
    await stranger.line()
    async with asyncio.timeout(LIMIT_S):
        await asyncio.shield(program.child.ended)
    program.child.pid = stranger.child.pid
    assert await program.end(0.0) == []
    assert is_alive(stranger.child.pid)


async def test_carriers_of_a_mark_are_asked_as_shells_are(start: Start) -> None:
    mark = f"term_{os.urandom(8).hex()}"
    hears = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.signal(signal.SIGHUP, lambda *_: sys.exit(7))\n"
    inner = f"import signal, sys, time\n{hears}{WAIT}"
    program = start(
        f"child = subprocess.Popen([sys.executable, '-S', '-u', '-c', {inner!r}], stdout=subprocess.PIPE, "
        f"env={{{processes.MARK!r}: {mark!r}}})\n"
        "child.stdout.readline()\nprint('ready')\nprint(child.wait())"
    )
    assert await program.line() == "ready"
    assert await end_carriers(mark) is True
    assert await program.line() == "7"
