"""Cells: what the host does with a sandbox's spawner, and what it takes from one that was taken over."""

import asyncio
import os
import signal
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from tests.kit.hosts import House, wait_gone

from fourhands.core.errors import BadCwd, CommandNotFound, Unavailable
from fourhands.host import processes, spawner
from fourhands.host.client import HostClient
from fourhands.host.errors import CellLost

LIMIT_S = 30


async def cell(house: House, name: str = "one", command: list[str] | None = None) -> None:
    """Start a cell that has no sandbox around it: what the host does is the same."""
    words = command or spawner.command()
    link = await house.link()
    async with asyncio.timeout(LIMIT_S):
        await link.request("cell", cell=name, program=words[0], argv=words, env={"PATH": os.defpath}, cwd="/")


async def run(house: House, script: str, name: str = "run_one", **more: Any) -> tuple[int, bytes, bytes]:
    """Run a script on pipes to its end; returns its status, output and error output."""
    link = await house.link()
    reply = await link.request(
        "spawn", cell="one", run=name, program="/bin/sh", argv=["sh", "-c", script], env=dict(os.environ),
        cwd=house.root, **more,
    )  # fmt: skip
    told = await house.events.until("run-ended")
    out, err = await asyncio.to_thread(lambda: [drained(fd) for fd in reply.fds])
    return int(told["status"]), out, err


def drained(fd: int) -> bytes:
    """All that a pipe holds."""
    with open(fd, "rb") as file:
        return file.read()


async def test_programs_on_terminals_and_pipes_run_in_a_cell_and_their_ends_are_told(house: House) -> None:
    await cell(house)
    assert await run(house, "echo out; echo err >&2; exit 3") == (3 << 8, b"out\n", b"err\n")
    term = await house.create("/bin/sh", "-c", "tty; stty size; kill -9 $$", cell="one", cols=101, rows=33)
    end = await term.exit()
    assert (end["code"], end["signal"]) == (None, "SIGKILL")
    assert b"/dev/pts/" in term.output()
    assert b"33 101" in term.output()
    with pytest.raises(CommandNotFound):
        await house.create("/no/such/program", cell="one")
    with pytest.raises(BadCwd):
        await house.create("/bin/true", cell="one", cwd="/no/such/place")
    with pytest.raises(CellLost, match="no sandbox 'other'"):
        await house.create("/bin/true", cell="other")


async def test_a_cell_that_cannot_be_built_says_why(house: House) -> None:
    with pytest.raises(CellLost, match="no permission to build"):
        await cell(house, command=["/bin/sh", "-c", "echo 'no permission to build' >&2; exit 1"])
    assert (await (await house.link()).request("cells")).body["cells"] == []


async def test_the_end_of_a_cell_ends_its_programs_and_says_so(house: House) -> None:
    await cell(house)
    await cell(house)  # it is there, and stays
    term = await house.create("/bin/sh", "-c", "trap '' HUP TERM; echo up; sleep 1000", cell="one")
    await term.until(b"up")
    link = await house.link()
    assert [c["name"] for c in (await link.request("cells")).body["cells"]] == ["one"]
    await link.request("end_cell", cell="one")
    end = await term.exit()
    assert end["lost"]
    assert end["reason"] == "the sandbox was ended"
    assert wait_gone(term.pid)
    await link.request("end_cell", cell="one")  # one that is gone is no error


async def test_programs_on_pipes_end_with_their_client(house: House) -> None:
    await cell(house)
    other = await house.join()
    reply = await other.request(
        "spawn", cell="one", run="run_acp", program="/bin/sh",
        argv=["sh", "-c", "trap '' TERM; sleep 1000 & sleep 1000"], env={"PATH": os.defpath}, cwd="/", input=True,
    )  # fmt: skip
    pid = reply.body["pid"]
    for fd in reply.fds:
        os.close(fd)
    other.close()
    assert await asyncio.to_thread(wait_gone, pid)


async def test_no_process_of_a_cell_is_taken_for_one_of_a_persons_terminal(house: House) -> None:
    """Both terminals may have the same number, in different file systems."""
    scanned = {
        1: processes.Process(1, 0, 1, 1, 0, "S", 1, "host"),
        2: processes.Process(2, 1, 2, 2, 34816, "S", 1, "bash"),
        3: processes.Process(3, 1, 3, 3, 0, "S", 1, "spawner"),
        4: processes.Process(4, 3, 4, 4, 34816, "S", 1, "inside"),
    }
    table_ = processes.Table(scanned, 1, [3])
    found = table_.members(main=2, tty=34816, terminal="term_none", alive=True, marks=processes.TagIndex())
    assert [p.pid for p in found] == [2]


# -- a spawner that was taken over -----------------------------------------------------------------------------------

FAKE = """
    import array, json, os, socket, struct, sys
    s = socket.socket(fileno=20)
    def say(message, *fds):
        if fds:
            message = {**message, "fds": len(fds)}
        raw(json.dumps(message).encode(), fds)
    def raw(body, fds=(), length=None):
        data = struct.pack("!I", len(body) if length is None else length) + body
        s.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])
    def hear():
        size = struct.unpack("!I", s.recv(4, socket.MSG_WAITALL))[0]
        return json.loads(s.recv(size, socket.MSG_WAITALL))
    def ready():
        say({"ready": 1}, os.open("/dev/pts", os.O_RDONLY))
    def started():
        pid = os.posix_spawn("/bin/sleep", ["sleep", "1000"], {})
        return pid, os.pidfd_open(pid)
    null = os.open("/dev/null", os.O_RDWR)
"""

BEFORE = (
    ("garbage", "s.sendall(b'x' * 1000)"),
    ("a huge frame", "raw(b'{}', length=1 << 30)"),
    ("no object", "raw(b'[]')"),
    ("no terminals", "say({'ready': 1}, null)"),
    ("no descriptor", "say({'ready': 1})"),
    ("many descriptors", "say({'ready': 1}, *[null] * 16)\nsay({'ready': 1}, *[null] * 16)"),
    ("an exit of nothing", "say({'exit': 1, 'status': 0})"),
)
AFTER = (
    ("garbage", "s.sendall(b'x' * 1000)"),
    ("a descriptor that is no process", "say({'id': n}, null)"),
    ("its own parent", "say({'id': n}, os.pidfd_open(os.getppid()))"),
    ("a process of another place", "say({'id': n}, os.pidfd_open(1))"),
    ("no descriptor", "say({'id': n})"),
    ("an answer to nothing", "say({'id': n + 7}, started()[1])"),
    ("an answer of a wrong form", "say({'id': [n]}, started()[1])"),
    ("more descriptors than asked for", "say({'id': n}, started()[1], null)"),
    ("an error of no kind", "say({'id': n, 'error': ['x', 'y', 'z']})"),
    ("half an error", "say({'id': n, 'error': 3})"),
    ("an exit status that is none", "say({'id': n}, started()[1]); say({'exit': n, 'status': 'x'})"),
    ("a status out of range", "say({'id': n}, started()[1]); say({'exit': n, 'status': 1 << 40})"),
    ("a stop for an exit", "say({'id': n}, started()[1]); say({'exit': n, 'status': 0x137f})"),
    ("its own end", "os._exit(0)"),
)


def fake(tmp_path: Path, code: str) -> list[str]:
    path = tmp_path / "fake.py"
    path.write_text(f"{textwrap.dedent(FAKE)}\n{textwrap.dedent(code)}\nwhile True:\n    hear()\n")
    return [sys.executable, "-I", "-S", str(path)]


async def unharmed(house: House) -> None:
    term = await house.create("/bin/echo", "fine")
    assert (await term.exit())["code"] == 0


async def test_whatever_a_spawner_says_at_first_only_its_own_cell_is_refused(house: House, tmp_path: Path) -> None:
    beside = await house.create("/bin/cat")
    for what, code in BEFORE:
        with pytest.raises(Unavailable, match=r"nonsense|ended"):
            await cell(house, what.replace(" ", "-"), fake(tmp_path, code))
        await unharmed(house)
    beside.type(b"still here\n")
    await beside.until(b"still here")


async def test_whatever_a_spawner_answers_only_its_own_cell_ends(house: House, tmp_path: Path) -> None:
    beside, link = await house.create("/bin/cat"), await house.link()
    for what, code in AFTER:
        name = what.replace(" ", "-")
        await cell(house, name, fake(tmp_path, f"ready()\nn = hear()['id']\n{code}"))
        seen = len(house.events.all)
        try:
            term = await house.create("/bin/true", cell=name)
        except Unavailable:
            pass
        else:
            assert (await term.exit())["lost"], what
        told = await house.events.until("cell-ended", after=seen)
        assert told["cell"] == name
        assert "first process" in told["reason"], what  # not merely because it was late
        assert name not in [c["name"] for c in (await link.request("cells")).body["cells"]]
        await unharmed(house)
    assert os.path.exists(f"/proc/{os.getpid()}")
    beside.type(b"still here\n")
    await beside.until(b"still here")


async def test_an_exit_that_is_told_while_the_program_lives_is_not_believed(house: House, tmp_path: Path) -> None:
    code = "ready()\nn = hear()['id']\npid, fd = started()\nsay({'id': n}, fd)\nsay({'exit': n, 'status': 0})\n"
    await cell(house, command=fake(tmp_path, code))
    term = await house.create("/bin/true", cell="one")
    assert (await term.ask("probe"))["running"]
    os.kill(term.pid, signal.SIGKILL)
    end = await term.exit()
    assert end["code"] == 0  # the lie is about its own program, and comes no earlier than the truth


async def test_an_exit_that_is_never_told_is_unknown(house: House, tmp_path: Path) -> None:
    await cell(house, command=fake(tmp_path, "ready()\nn = hear()['id']\npid, fd = started()\nsay({'id': n}, fd)\n"))
    term = await house.create("/bin/true", cell="one")
    os.kill(term.pid, signal.SIGKILL)
    end = await term.exit()
    assert (end["code"], end["signal"], end["lost"]) == (None, None, True)


async def test_a_silent_spawner_holds_up_its_own_requests_only(house: House, tmp_path: Path) -> None:
    await cell(house, command=fake(tmp_path, "ready()"))
    link = await house.link()
    words = house.request("/bin/true", cell="one")
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(refused(link, words))
        await unharmed(house)
        assert not waiting.done()


async def refused(link: HostClient, words: dict[str, Any]) -> None:
    with pytest.raises(CellLost, match="did not start a program within"):
        await link.request("create", **words)
