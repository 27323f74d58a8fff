"""The stand-ins for what only Linux has: poller, wake-up and shared page do the same work."""

import asyncio
import os
import re
import selectors
import signal
import socket
import struct
from pathlib import Path
from typing import Any

import pytest
from tests.kit.hosts import House
from tests.kit.isolation import until

from fourhands.host import processes
from fourhands.host.board import BoardReader
from fourhands.host.connection import HostConnection, Poll, same_user

# What other systems lack, taken away before the host is loaded.
POOR = """
import os, select
del select.epoll, os.eventfd, os.memfd_create, os.pipe2
if hasattr(os, "pidfd_open"): del os.pidfd_open
import resource
"""

# Prints as much as the kernel keeps for a reader that does not come, and ends.
FILL = """
import contextlib, os
os.read(0, 1)
os.set_blocking(1, False)
with contextlib.suppress(BlockingIOError):
    for n in range(100_000):
        if os.write(1, b"%06d\\n" % n) < 7: break
"""

# Holds the host up at SIGUSR1, until it is let go.
HOLD = """
import signal, time
from pathlib import Path
def hold(*_):
    Path("{place}", "held").touch()
    while not Path("{place}", "go").exists(): time.sleep(0.01)
signal.signal(signal.SIGUSR1, hold)
"""


async def test_a_host_without_epoll_eventfd_and_memfd_does_the_same(house: House) -> None:
    child = house.start_host(prelude=POOR)
    link = await house.link(start=False)
    assert link.host_pid == child.pid
    cat = await house.create("cat")
    flood = await house.sh("i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done; exit 5")
    for n in range(20):
        position = cat.type(b"line %d\n" % n)
        await cat.until(b"line %d\r\nline %d\r\n" % (n, n), position)
    assert (await flood.exit())["code"] == 5
    assert flood.output().split() == [b"%d" % n for n in range(20000)]
    other = await house.join(start=False)
    big = await other.request("list")
    assert len(big.body["terminals"]) == 2
    answers = await asyncio.gather(*(link.request("list") for _ in range(200)))
    assert len(answers) == 200
    assert (await cat.end(forget=True))["left"] == []
    await link.request("stop")
    assert await asyncio.to_thread(child.wait, 40) == 0


async def test_what_a_program_leaves_behind_is_stored_in_its_order(house: House, tmp_path: Path) -> None:
    child = house.start_host(prelude=POOR + HOLD.format(place=str(tmp_path)))
    await house.link(start=False)
    term = await house.python(FILL)
    os.kill(child.pid, signal.SIGUSR1)
    await until(tmp_path.joinpath("held").exists)
    term.type(b"\n")
    await until(lambda: (program := processes.look(term.pid)) is not None and program.state == "Z")
    # It hears of the program's end before it has read any of what the program printed.
    tmp_path.joinpath("go").touch()
    await term.exit()
    lines = re.findall(rb"\d{6}", term.output())
    assert len(lines) > 1800, "more than the reads between which others have their turn"
    assert lines == [b"%06d" % n for n in range(len(lines))]


async def test_small_writes_lose_no_wake_up_through_a_pipe(house: House) -> None:
    house.start_host(prelude=POOR)
    await house.link(start=False)
    code = "import os\nfor n in range(3000): os.write(1, b'.')\nos.write(1, b'!'); os.read(0, 1)"
    term = await house.python(code)
    await term.until(rb"!$")
    assert term.log.head == 3001


def test_the_stand_in_poller_sees_what_epoll_sees() -> None:
    one, other = socket.socketpair()
    poll = Poll()
    poll.register(one.fileno(), selectors.EVENT_READ)
    assert poll.poll(0) == []
    other.send(b"x")
    assert poll.poll(None, 16) == [(one.fileno(), selectors.EVENT_READ)]
    poll.modify(one.fileno(), selectors.EVENT_READ | selectors.EVENT_WRITE)
    assert poll.poll(0) == [(one.fileno(), selectors.EVENT_READ | selectors.EVENT_WRITE)]
    poll.unregister(one.fileno())
    assert poll.poll(0) == []
    poll.close()
    one.close()
    other.close()


@pytest.mark.parametrize("lacking", [[], ["eventfd"], ["memfd_create"], ["eventfd", "memfd_create"]], ids=repr)
def test_a_client_gives_back_all_it_took(monkeypatch: pytest.MonkeyPatch, lacking: list[str]) -> None:
    for name in lacking:
        monkeypatch.delattr(os, name)
    before = len(os.listdir("/proc/self/fd"))
    one, other = socket.socketpair()
    client, called = HostConnection(one), list[int]()
    reader = BoardReader(os.dup(client.board.fd), os.dup(client.board.wake_there), lambda again: again())
    reader.watch(5, lambda: called.append(5))
    client.board.wake(5)
    client.board.wake(5)
    assert len(os.read(client.board.wake_there, 100)) == 8  # one wake-up, however often
    client.board.clear(5)
    reader.woken()
    assert called == []  # what was said of the slot is forgotten
    reader.close()
    client.close()
    other.close()
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("failing", ["eventfd", "ftruncate"])
def test_a_client_that_cannot_be_made_leaves_nothing(monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    def refuse(*_: object) -> int:
        raise OSError(24, "too many open files")

    one, other = socket.socketpair()
    before = len(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(os, failing, refuse)
    with pytest.raises(OSError, match="too many"):
        HostConnection(one)
    assert len(os.listdir("/proc/self/fd")) == before
    one.close()
    other.close()


def test_without_peer_credentials_the_directory_must_do(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = socket.socketpair()
    assert same_user(one)
    monkeypatch.delattr(socket, "SO_PEERCRED")
    assert same_user(one)
    one.close()
    other.close()


class PeerOf(socket.socket):
    """A socket whose peer runs as another user; where the tests are not root, nobody else can be had."""

    uid = 0

    def getsockopt(self, level: int, name: int, size: int = 0) -> Any:
        assert (level, name, size) == (socket.SOL_SOCKET, 17, 12)  # SO_PEERCRED: process, user, group
        return struct.pack("3i", os.getpid(), self.uid, os.getgid())


def test_only_a_peer_of_the_same_user_is_the_same_user() -> None:
    with PeerOf(socket.AF_UNIX) as sock:
        for uid, same in ((os.getuid(), True), (os.getuid() + 1, False), (65534, False)):
            sock.uid = uid
            assert same_user(sock) is same
