"""The stand-ins for what only Linux has: poller, wake-up and shared page do the same work."""

import asyncio
import os
import selectors
import socket

import pytest
from tests.support.hosts import House

from fourhands.host.client import Client, Poll, same_user
from fourhands.host.wire import BOARD_DIRTY, BOARD_WATCH

# What other systems lack, taken away before the host is loaded.
POOR = """
import os, select
del select.epoll, os.eventfd, os.memfd_create, os.pipe2
if hasattr(os, "pidfd_open"): del os.pidfd_open
import resource
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
    client = Client(one)
    client.board[BOARD_WATCH + 5] = 1
    client.wake(5)
    client.wake(5)
    assert len(os.read(client.wake_there, 100)) == 8  # one wake-up, however often
    client.clear(5)
    assert client.board[BOARD_DIRTY + 5] == 0
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
        Client(one)
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
