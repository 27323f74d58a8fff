"""The host itself: exits and signals, who comes and goes, floods, kills, and what it survives."""

import asyncio
import json
import os
import re
import resource
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.kit.fifo import opened_for
from tests.kit.hosts import Events, House, Term, carriers, is_alive, need, new_house, wait_gone

from fourhands.core.errors import FourhandsError
from fourhands.host import archive, pty
from fourhands.host.client import ClientTimings, HostClient, HostLost
from fourhands.host.connection import HostConnection
from fourhands.host.handlers import RequestHandlers
from fourhands.host.host import Host
from fourhands.host.hosted import HostedTerminal, note
from fourhands.host.log import LogWriter
from fourhands.host.main import main
from fourhands.host.owner import answers
from fourhands.host.paths import WorkspaceDirs


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


@pytest.mark.parametrize(
    ("script", "code", "name"),
    [
        ("exit 0", 0, None),
        ("exit 42", 42, None),
        ("exit 255", 255, None),
        ("kill -KILL $$", None, "SIGKILL"),
        ("kill -SEGV $$", None, "SIGSEGV"),
        ("kill -34 $$", None, "SIGRTMIN"),
        ("kill -40 $$", None, "SIGRTMIN+6"),
        ("kill -64 $$", None, "SIGRTMAX"),
    ],
)
async def test_how_a_program_ended_is_told_and_kept(
    house: House, script: str, code: int | None, name: str | None
) -> None:
    term = await house.sh(f"echo out; {script}")
    found = await term.exit()
    assert (found["code"], found["signal"], found["position"]) == (code, name, 5)
    assert term.output() == b"out\r\n"
    assert archive.read(house.places)[0]["exit"] == found
    listed = (await (await house.link()).request("list")).body["terminals"][0]
    assert (listed["exit"], listed["paused"]) == (found, False)


async def test_the_exit_comes_after_all_output_also_when_children_keep_the_terminal(house: House) -> None:
    script = "trap '' HUP; sleep 1000 & i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done; exit 5"
    term = await house.sh(script)
    found = await term.exit()
    assert found["code"] == 5
    assert term.output().split() == [b"%d" % n for n in range(20000)]
    assert found["position"] == term.log.head


async def test_a_program_may_close_its_terminal_and_open_it_again(house: House) -> None:
    code = "import os\nfor n in (0,1,2): os.close(n)\nopen(%r,'w').close()\nopen(%r).read()\nfd=os.open('/dev/tty',2)\n"
    pipe = f"{house.root}/pipe"
    os.mkfifo(pipe)
    code += "os.write(fd, b'back'); os.read(fd, 1)"
    term = await house.python(code % (f"{house.root}/closed", pipe))
    while not os.path.exists(f"{house.root}/closed"):
        await term.ask("members")
    os.close(await opened_for(Path(pipe)))
    await term.until(rb"back")
    term.type(b"\n")
    assert (await term.exit())["code"] == 0


async def test_input_and_resizing_go_through_the_descriptor(house: House) -> None:
    term = await house.create("bash", "--norc", "-i")
    await term.until(rb"\$ ")
    pty.set_size(term.fd, 100, 50)
    term.type(b"stty size\n")
    await term.until(rb"50 100")


async def test_children_get_our_descriptor_limit_and_no_descriptor_of_the_host(house: House) -> None:
    term = await house.sh("ulimit -Sn; ls /proc/self/fd | tr '\\n' ' '")
    await term.exit()
    limit, listed = term.output().split(b"\r\n", 1)
    assert int(limit) == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert listed.split() == [b"0", b"1", b"2", b"3"]


async def test_the_host_leaves_when_it_is_alone_for_a_while(house: House) -> None:
    link = await house.join(linger_s=0.0)  # and yet not before the first one has come
    link.close()
    assert await asyncio.to_thread(wait_gone, link.host_pid)
    assert not os.path.exists(house.places.socket)


async def test_the_host_stays_as_long_as_a_program_runs(house: House) -> None:
    link = await house.join(linger_s=0.2)
    term = await house.sh("read x; exit 3", link=link)
    fd = os.dup(term.fd)
    term.close()
    link.close()
    assert not await asyncio.to_thread(wait_gone, link.host_pid, 0.5)
    os.write(fd, b"\n")
    os.close(fd)
    assert await asyncio.to_thread(wait_gone, link.host_pid)
    assert archive.read(house.places)[0]["exit"]["code"] == 3


async def test_starting_five_at_once_gives_one_host(house: House) -> None:
    links = await asyncio.gather(*(house.join() for _ in range(5)))
    assert len({link.host_pid for link in links}) == 1


async def test_a_host_that_is_leaving_is_waited_for(house: House) -> None:
    link = await house.join()
    deaf = await house.sh("trap '' HUP TERM; echo on; while :; do sleep 1; done", link=link)
    await deaf.until(rb"on")
    await link.request("stop")  # takes the grace second
    again = await house.join()
    assert again.host_pid != link.host_pid
    assert not is_alive(deaf.pid)
    assert not is_alive(link.host_pid)


@pytest.mark.parametrize("way", ["request", "signal"])
async def test_stopping_ends_everything(house: House, way: str) -> None:
    link = await house.link()
    running = await house.sh("echo on; sleep 1000")
    left = await house.sh("trap '' HUP; sleep 1000 & echo child $!")
    child = int((await left.until(rb"child (\d+)"))[1])
    await left.exit()
    await running.until(rb"on")
    if way == "request":
        assert (await link.request("stop")).body["pid"] == link.host_pid
    else:
        os.kill(link.host_pid, signal.SIGTERM)
    async with asyncio.timeout(40):
        await house.events.lost.wait()
    assert await asyncio.to_thread(wait_gone, link.host_pid)
    assert not is_alive(running.pid)
    assert not is_alive(child)
    with pytest.raises(HostLost):
        await link.request("list")
    with pytest.raises(FourhandsError, match="no host"):
        await house.join(start=False)


CLIENT = """
import asyncio, json, sys
from fourhands.host.client import HostClient
from fourhands.host.log import LogReader
from fourhands.host.paths import WorkspaceDirs
places, requests = WorkspaceDirs(*json.loads(sys.argv[1])), json.loads(sys.argv[2])
async def main():
    link = await HostClient.open(places, on_event=lambda e: None, on_lost=lambda: None, linger_s=60)
    logs = []
    for request in requests:
        slot = (await link.request("create", **request)).body["terminal"]["slot"]
        logs.append(LogReader(places.log(request["terminal"])))
        link.watch(slot, lambda: None)
    while not all(log.head > 10000 for log in logs):
        await asyncio.sleep(0.01)
    print(json.dumps([link.host_pid, [log.head for log in logs]]), flush=True)
    await asyncio.sleep(1000)
asyncio.run(main())
"""


async def test_a_killed_client_costs_no_terminal_and_no_byte(house: House) -> None:
    count = 20
    script = "i=0; while [ ! -e stop ]; do echo $i; i=$((i+1)); done; echo end"
    requests = [house.request("/bin/sh", "-c", script) for _ in range(count)]
    places = house.places
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        CLIENT,
        json.dumps([places.workspace, places.runtime, places.state]),
        json.dumps(requests),
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    try:
        host, heads = json.loads(await child.stdout.readline())
    finally:
        child.kill()  # in the middle of everything
        await child.wait()
    link = await house.link(start=False)
    assert link.host_pid == host
    assert {t["id"] for t in link.found} == {r["terminal"] for r in requests}
    assert all(t["exit"] is None for t in link.found)
    terms = [house.term(t, (await link.request("attach", terminal=t["id"])).fds) for t in link.found]
    for term, before in zip(terms, heads, strict=True):
        await term.head_moves(max(before, term.log.head))  # it prints on
    Path(house.root, "stop").touch()
    for term in terms:
        found = await term.exit()
        assert found["position"] == term.log.head
        start = term.log.floor
        lines = term.output(start).split(b"\r\n")
        assert lines[-2:] == [b"end", b""]
        numbers = [int(line) for line in lines[1 if start else 0 : -2]]
        assert numbers == list(range(numbers[0], numbers[-1] + 1))
        assert start or numbers[0] == 0


async def test_a_killed_host_is_reported_and_its_logs_stay_readable(house: House) -> None:
    link = await house.link()
    running = await house.sh("echo something; sleep 1000", meta={"title": "build"})
    exited = await house.sh("echo done; exit 4")
    await running.until(rb"something")
    await exited.exit()
    os.kill(link.host_pid, signal.SIGKILL)
    async with asyncio.timeout(40):
        await house.events.lost.wait()
    with pytest.raises(HostLost):
        await link.request("list")
    again = await house.join()
    assert again.host_pid != link.host_pid
    found = {t["id"]: t for t in again.found}
    lost = found[running.id]
    assert lost["exit"]["lost"] is True
    assert lost["exit"]["position"] == len(b"something\r\n")
    assert lost["meta"] == {"title": "build"}
    assert found[exited.id]["exit"]["code"] == 4
    assert running.output() == b"something\r\n"
    assert (await again.request("attach", terminal=running.id)).fds == []
    assert (await again.request("probe", terminal=running.id)).body["running"] is False
    assert (await again.request("members", terminal=running.id)).body["members"] == []
    assert (await again.request("end", terminal=running.id, forget=True)).body["left"] == []
    assert [t["id"] for t in (await again.request("list")).body["terminals"]] == [exited.id]


async def test_a_request_that_waits_when_the_host_is_killed_is_told(house: House) -> None:
    link = await house.link()
    deaf = await house.sh("trap '' HUP TERM; echo on; while :; do sleep 1; done")
    await deaf.until(rb"on")
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(_outcome(deaf.end()))
        await link.request("list")  # the host has the other one by now
        os.kill(link.host_pid, signal.SIGKILL)
    assert isinstance(waiting.result(), HostLost)


async def _outcome(asked: object) -> object:
    try:
        return await asked  # type: ignore[misc]
    except FourhandsError as error:
        return error


async def test_what_lies_on_the_shelf_cannot_keep_a_host_from_starting(house: House) -> None:
    house.places.prepare()
    for name, text in {
        "term_bad.json": "{",
        "term_deep.json": "[" * 100_000,
        "term_plain.json": '{"id": "term_plain"}',
        "term_old.json": '{"id": "term_old", "exit": {"lost": true}}',
    }.items():
        Path(house.places.state, name).write_text(text)
    os.utime(house.places.record("term_old"), (0, 0))
    link = await house.link()
    assert [t["id"] for t in link.found] == ["term_plain"]
    assert (await link.request("meta", terminal="term_plain", meta={"a": 1})).body == {"id": 2}


async def test_two_hundred_terminals_later_nothing_is_left(house: House) -> None:
    link = await house.link()

    async def round_trip() -> None:
        reply = await link.request("create", **house.request("/bin/true"))
        for fd in reply.fds:
            os.close(fd)
        await link.request("end", terminal=reply.body["terminal"]["id"], forget=True)

    await round_trip()
    ours, theirs = descriptors(os.getpid()), descriptors(link.host_pid)
    for _ in range(20):
        await asyncio.gather(*(round_trip() for _ in range(10)))
    assert (descriptors(os.getpid()), descriptors(link.host_pid)) == (ours, theirs)
    assert (await link.request("list")).body["terminals"] == []


async def test_a_failed_start_leaves_nothing(house: House) -> None:
    link = await house.link()
    before = descriptors(link.host_pid)
    for bad in ({"program": "/nowhere"}, {"cwd": "/nowhere"}, {"cols": 0}, {"env": {"a=b": "c"}}):
        with pytest.raises(FourhandsError):
            await link.request("create", **(house.request("x", program="/bin/true") | bad))
    assert descriptors(link.host_pid) == before
    assert [name for name in os.listdir(house.places.state) if name.startswith("term_")] == []


async def test_a_full_descriptor_table_is_survived(house: House) -> None:
    prelude = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))"
    child = house.start_host(prelude=prelude)
    link = await house.link(start=False)
    made: list[Term] = []

    async def crowd_out() -> None:
        while len(made) < 40:
            made.append(await house.create("cat"))

    with pytest.raises(FourhandsError, match="Too many open files"):
        await crowd_out()
    assert len(made) > 5
    crowd = [socket.socket(socket.AF_UNIX) for _ in range(10)]
    for sock in crowd:
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, house.places.socket)
    assert len((await link.request("list")).body["terminals"]) == len(made)
    for sock in crowd:
        sock.close()
    await made[0].end(forget=True)
    await made[1].end(forget=True)
    await made[2].end(forget=True)
    await house.join(start=False)  # let in after a while
    assert (await made[3].end())["exit"]["signal"] == "SIGHUP"
    await link.request("stop")
    assert await asyncio.to_thread(child.wait, 40) == 0


class Recorder:
    """Stands in for a client and keeps the order in which it is woken."""

    def __init__(self) -> None:
        self.order: list[int] = []
        self.board = self

    def wake(self, slot: int) -> None:
        self.order.append(slot)


@pytest.fixture
def idle_host(tmp_path: Path) -> Iterator[Host]:
    """A host whose loop does not run: a test calls its parts."""
    places = WorkspaceDirs(str(tmp_path), f"{tmp_path}/r/w", f"{tmp_path}/s/w")
    places.prepare()
    host = Host(places)
    host.requests = RequestHandlers(host)  # which does not listen: nobody is expected
    yield host
    host.close()


def plug(host: Host, name: str, slot: int) -> tuple[HostedTerminal, socket.socket]:
    """A terminal whose other side is a socket that keeps writes apart, as a PTY does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    return plug_in(host, name, slot, ours.detach()), theirs


def plug_in(host: Host, name: str, slot: int, master: int) -> HostedTerminal:
    """A terminal of the host whose main process is this one."""
    terminal = HostedTerminal({"id": name}, slot)
    terminal.master = master
    terminal.pid, terminal.eof = os.getpid(), False
    terminal.log = LogWriter(host.places.log(name), system=host.system)
    host.terminals[name] = terminal
    host.output.poll(terminal)
    return terminal


def test_a_quiet_terminal_is_served_in_the_middle_of_a_flood(idle_host: Host) -> None:
    host, recorder = idle_host, Recorder()
    host.requests.clients[-1] = recorder  # type: ignore[assignment]
    flood, flooding = plug(host, "term_flood", 1)
    quiet, typing = plug(host, "term_quiet", 2)
    flood.hot = True
    for _ in range(10):
        flooding.send(b"x" * 4096)
    typing.send(b"key")
    host.output.take(flood)
    assert recorder.order == [2, 1]  # the key did not wait for the end of the burst
    assert flood.log is not None
    assert quiet.log is not None
    assert (flood.log.head, quiet.log.head) == (40960, 3)
    assert (flood.hot, quiet.hot) == (True, False)
    host.requests.clients.clear()
    for terminal in (flood, quiet):
        host.forget(terminal)
    flooding.close()
    typing.close()


def test_what_was_printed_is_in_the_log_before_the_answer_to_a_probe(idle_host: Host) -> None:
    master, slave = os.openpty()
    os.set_blocking(master, False)
    terminal = plug_in(idle_host, "term_shell", 1, master)
    terminal.tty_path = os.ttyname(slave)
    ours, theirs = socket.socketpair()
    client, heads = HostConnection(ours), list[tuple[bool, int]]()
    client.greeted = True
    os.write(slave, b"prompt")
    assert terminal.log is not None
    log = terminal.log
    idle_host.requests.answer(
        client, {"do": "probe", "terminal": terminal.id}, lambda found: heads.append((found["echo"], log.head))
    )
    assert heads == [(True, 6)]
    idle_host.forget(terminal)
    client.close()
    theirs.close()
    os.close(slave)


async def test_a_flood_does_not_starve_its_neighbours(house: House) -> None:
    flood = await house.sh("while :; do echo 0123456789012345678901234567890123456789; done")
    cat = await house.create("cat")
    await flood.head_moves(0)
    for n in range(50):
        position = cat.type(b"line %d\n" % n)
        await cat.until(b"line %d\r\nline %d\r\n" % (n, n), position)
    await flood.head_moves(flood.log.head)  # it was flooding all the time
    await flood.ask("signal", signal="SIGINT", foreground=True)
    assert (await flood.exit())["signal"] == "SIGINT"


class Faulty(Host):
    """A host whose first steps go wrong."""

    problems: Iterator[Exception]

    def step(self) -> bool:
        for problem in self.problems:
            raise problem
        return False


def test_a_mistake_in_one_step_does_not_end_the_host(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    host = Faulty(WorkspaceDirs(str(tmp_path), f"{tmp_path}/r/w", f"{tmp_path}/s/w"))
    host.requests = RequestHandlers(host)
    host.problems = iter([RuntimeError("one"), RuntimeError("two")])
    host.serve()
    host.close()
    assert re.findall("RuntimeError: (.*)", capfd.readouterr().err) == ["one", "two"]


def test_a_record_that_cannot_be_written_is_noted(idle_host: Host, capfd: pytest.CaptureFixture[str]) -> None:
    os.mkdir(idle_host.places.record("term_x"))
    idle_host.record(HostedTerminal({"id": "term_x"}, 0))
    assert "term_x: cannot write its record" in capfd.readouterr().err


def test_a_note_on_a_full_disk_is_dropped() -> None:
    kept, full = os.dup(2), os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, 2)
    try:
        note("nobody hears this")
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(full)


def test_a_host_that_cannot_have_its_place_says_why(tmp_path: Path) -> None:
    (tmp_path / "r").touch()
    ready, theirs = os.pipe()
    places = ["--workspace", "/", "--runtime", f"{tmp_path}/r/w", "--state", f"{tmp_path}/s/w"]
    assert main([*places, "--ready", str(theirs)]) == 1
    with open(ready) as file:
        assert "Not a directory" in file.read()


def test_nobody_answers_at_an_empty_place(tmp_path: Path) -> None:
    assert not answers(f"{tmp_path}/none")
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(f"{tmp_path}/s")
    assert not answers(f"{tmp_path}/s")


async def test_ten_thousand_small_writes_lose_no_wake_up(house: House) -> None:
    code = "import os, random\nfor n in range(10000):\n os.write(1, b'.')\n"
    code += " if random.random() < .02: __import__('time').sleep(random.random() / 2000)\n"
    code += "os.write(1, b'!'); os.read(0, 1)"  # it stays: only a wake-up can tell of the last byte
    terms = [await house.python(code, env={"PYTHONHASHSEED": "0"}) for _ in range(3)]
    for term in terms:
        position, deadline = 0, time.monotonic() + 40
        while not term.log.read(max(0, term.log.head - 1)).data.endswith(b"!"):
            await asyncio.wait_for(term.woke.wait(), deadline - time.monotonic())
            term.woke.clear()
        position = term.log.head
        assert position == 10001


async def test_nothing_of_a_house_is_left_when_a_test_fails() -> None:
    seen: list[House] = []

    async def fail() -> None:
        async with new_house() as house:
            seen.append(house)
            term = await house.sh("trap '' HUP TERM; echo on; while :; do sleep 1; done")
            await term.until(rb"on")
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        await fail()
    assert len(seen[0].host_pids) == 1
    assert not any(is_alive(pid) for pid in seen[0].host_pids)
    assert carriers(seen[0].ids) == []
    assert not os.path.exists(seen[0].root)


async def test_other_users_are_turned_away(house: House) -> None:
    need(os.getuid() == 0, "becoming another user needs root", pytest.skip, pytest.skip)
    link = await house.link()
    for directory in (house.root, f"{house.root}/run", house.places.runtime):
        os.chmod(directory, 0o755)
    os.chmod(house.places.socket, 0o777)
    code = "import os,socket,sys; os.setuid(65534); s=socket.socket(socket.AF_UNIX)\n"
    code += "s.connect(sys.argv[1]); s.settimeout(40)\n"
    code += "try: s.sendall(b'\\0\\0\\0\\2{}')\nexcept BrokenPipeError: pass\n"
    code += "try: print(s.recv(100))\nexcept ConnectionResetError: print(b'')"
    child = await asyncio.create_subprocess_exec(
        "/usr/bin/python3", "-c", code, house.places.socket, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await child.communicate()
    assert out == b"b''\n"
    assert (await link.request("list")).body["terminals"] == []
    assert "refused a connection of another user" in Path(house.places.state, "host.log").read_text()


async def test_a_host_of_another_user_is_not_trusted(house: House) -> None:
    need(os.getuid() == 0, "becoming another user needs root", pytest.skip, pytest.skip)
    house.places.prepare()
    for directory in (house.root, f"{house.root}/run", house.places.runtime):
        os.chmod(directory, 0o777)
    code = "import os,socket,sys; os.setuid(65534); s=socket.socket(socket.AF_UNIX)\n"
    code += "s.bind(sys.argv[1]); s.listen(); print(1, flush=True)\n"
    code += "sys.stdin.read()"
    child = await asyncio.create_subprocess_exec(
        "/usr/bin/python3",
        "-c",
        code,
        house.places.socket,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stdin is not None
    await child.stdout.readline()
    try:
        with pytest.raises(FourhandsError, match="held by another user"):
            await HostClient.open(
                house.places, on_event=Events().put, on_lost=lambda: None, timings=ClientTimings(start_s=2.0)
            )
    finally:
        child.stdin.close()
        await child.wait()
