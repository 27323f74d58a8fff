"""The server's side: joining, starting, losing, and clear words when that cannot be."""

import asyncio
import contextlib
import os
import resource
import signal
import socket
import struct
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.kit.hosts import Events, House

from fourhands.core.errors import BadArgument, Unavailable
from fourhands.host.board import BOARD_SLOTS
from fourhands.host.client import ClientTimings, HostClient, HostLost
from fourhands.host.paths import WorkspaceDirs
from fourhands.host.protocol import LARGEST, MessageSocket


async def attempt(places: WorkspaceDirs, **options: Any) -> HostClient:
    events = Events()
    return await HostClient.open(places, on_event=events.put, on_lost=events.lost.set, **options)


async def test_without_a_host_and_not_starting_one_it_says_so(house: House) -> None:
    with pytest.raises(Unavailable, match=f"no host for {house.root}"):
        await attempt(house.places, start=False)


async def test_a_socket_that_nobody_listens_at_is_replaced(house: House) -> None:
    house.places.prepare()
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(house.places.socket)
    with pytest.raises(Unavailable, match="no host"):
        await attempt(house.places, start=False)
    assert (await house.link()).host_pid


async def test_a_runtime_directory_that_is_too_long_is_a_clear_error(house: House) -> None:
    places = WorkspaceDirs.of(house.root, {"XDG_RUNTIME_DIR": "/tmp/" + "x" * 100, "HOME": house.root})
    with pytest.raises(Unavailable, match=r"allows 107; set XDG_RUNTIME_DIR to a shorter directory"):
        await attempt(places)


async def test_a_place_that_cannot_be_made_is_a_clear_error(house: House) -> None:
    Path(house.root, "file").touch()
    with pytest.raises(Unavailable, match=r"[Nn]ot a directory"):
        await attempt(WorkspaceDirs(house.root, f"{house.root}/file/run", house.places.state))
    with pytest.raises(Unavailable, match="not a directory"):
        await attempt(WorkspaceDirs(house.root, f"{house.root}/run/w", f"{house.root}/file"))


async def test_a_host_that_cannot_start_is_a_clear_error(house: House) -> None:
    with pytest.raises(Unavailable, match="cannot start the host"):
        await attempt(house.places, python="/nowhere/python")
    with pytest.raises(Unavailable, match="it ended at once"):
        await attempt(house.places, python="/bin/false")
    with pytest.raises(Unavailable, match="could not start"):
        await attempt(house.places, python="/bin/cat")  # does not know the option, and says so in the log
    assert "cat:" in Path(house.places.state, "host.log").read_text()


async def test_a_host_that_hangs_at_its_start_is_given_up(house: House) -> None:
    slow = Path(house.root, "slow")
    slow.write_text("#!/bin/sh\nexec sleep 1000\n")
    slow.chmod(0o700)
    with pytest.raises(Unavailable, match="did not start within"):
        await attempt(house.places, python=str(slow), timings=ClientTimings(start_s=0.2))


async def test_a_host_that_does_not_answer_is_a_clear_error(house: House) -> None:
    link = await house.link()
    os.kill(link.host_pid, signal.SIGSTOP)
    try:
        with pytest.raises(Unavailable, match="does not answer"):
            await attempt(house.places, timings=ClientTimings(start_s=0.2))
    finally:
        os.kill(link.host_pid, signal.SIGCONT)


@pytest.fixture
async def impostor(house: House) -> AsyncIterator["asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]]"]:
    """Somebody in the host's place who says what a test wants."""
    house.places.prepare()
    queue: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    server = await asyncio.start_unix_server(lambda r, w: queue.put_nowait((r, w)), house.places.socket)
    yield queue
    server.close()
    while not queue.empty():
        queue.get_nowait()[1].close()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b'{"id":1,"error":{"kind":"protocol","message":"this host speaks protocol 7"}}', "speaks protocol 7"),
        (b"nonsense", "lost the connection"),
        (b'{"id":1,"fds":2}', "lost the connection"),
        (b"", "lost the connection"),
    ],
)
async def test_a_host_that_talks_differently_is_a_clear_error(
    house: House,
    impostor: "asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]]",
    answer: bytes,
    expected: str,
) -> None:
    async def reply() -> None:
        reader, writer = await impostor.get()
        await reader.readexactly(4)
        if answer:
            writer.write(struct.pack("!I", len(answer)) + answer)
        writer.close()
        await writer.wait_closed()

    before = len(os.listdir("/proc/self/fd"))
    async with asyncio.TaskGroup() as group:
        group.create_task(reply())
        with pytest.raises(Unavailable, match=expected):
            await attempt(house.places, start=False)
    await asyncio.sleep(0)
    assert len(os.listdir("/proc/self/fd")) <= before


async def test_a_request_that_is_too_large_concerns_itself_only(house: House) -> None:
    link = await house.link()
    with pytest.raises(BadArgument, match="at most"):
        await link.request("list", x="y" * (LARGEST + 1))
    assert (await link.request("list")).body["terminals"] == []
    big = await link.request("list", x="y" * (LARGEST - 1000))  # in many pieces
    assert big.body["terminals"] == []


def open_descriptors() -> Counter[str]:
    """Count the open files of this process by name."""
    found: Counter[str] = Counter()
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the one that lists
            found[os.readlink(f"/proc/self/fd/{name}")] += 1
    return found


async def test_a_cancelled_request_leaves_no_descriptor(house: House) -> None:
    link = await house.link()
    await link.request("list")
    before = open_descriptors()
    for _ in range(5):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await link.request("create", **house.request("cat"))
    assert len((await link.request("list")).body["terminals"]) == 5  # they were made all the same
    assert open_descriptors() - before == Counter()


async def test_a_full_descriptor_table_costs_one_request_not_the_link(house: House) -> None:
    link = await house.link()
    term = await house.create("cat")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(Unavailable, match="too many open files"):
            await link.request("attach", terminal=term.id)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    reply = await link.request("attach", terminal=term.id)
    assert len(reply.fds) == 1
    os.close(reply.fds[0])


async def test_a_process_with_many_open_files_can_start_a_host(house: House) -> None:
    many = [os.dup(0) for _ in range(1100)]
    try:
        assert (await (await house.link()).request("list")).body["terminals"] == []
    finally:
        for fd in many:
            os.close(fd)


async def test_a_closed_link_says_so_and_leaves_the_host_alone(house: House) -> None:
    link = await house.join()
    term = await house.create("cat", link=link)
    term.close()
    link.close()
    link.close()
    link.watch(0, lambda: None)
    link.unwatch(0)
    with pytest.raises(HostLost):
        await link.request("list")
    again = await house.join(start=False)
    assert [t["id"] for t in again.found] == [term.id]
    assert not house.events.lost.is_set()


async def test_what_is_told_is_done_before_what_is_asked_later(house: House) -> None:
    term = await house.create("cat")
    term.link.tell("meta", terminal=term.id, meta={"owner": "me"})
    term.link.tell("no such request")  # whatever it answers
    listed = (await term.link.request("list")).body["terminals"]
    assert [t["meta"]["owner"] for t in listed] == ["me"]
    gone = await house.join()
    gone.close()
    with pytest.raises(HostLost):
        gone.tell("list")


async def test_slots_outside_the_board_are_refused(house: House) -> None:
    link = await house.link()
    for slot in (-1, BOARD_SLOTS):
        with pytest.raises(ValueError, match="no slot"):
            link.watch(slot, lambda: None)


async def test_an_unwatched_terminal_wakes_nobody(house: House) -> None:
    cat = await house.create("cat")
    other = await house.create("cat")
    called: list[int] = []
    cat.link.watch(cat.slot, lambda: called.append(1))
    cat.link.unwatch(cat.slot)
    position = cat.type(b"x\n")
    while cat.log.head == position:
        await cat.ask("probe")
    position = other.type(b"y\n")
    await other.until(rb"y\r\ny", position)
    assert called == []


async def test_every_client_is_woken(house: House) -> None:
    first = await house.create("cat")
    link = await house.join()
    second = house.term(link.found[0], (await link.request("attach", terminal=first.id)).fds, link)
    for n in range(20):
        (first if n % 2 else second).type(b"%d\n" % n)
        await first.until(b"%d\r\n%d\r\n" % (n, n))
        await second.until(b"%d\r\n%d\r\n" % (n, n))


async def test_the_environment_of_the_host_holds_no_secret(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "very-secret")
    link = await house.link()
    assert b"very-secret" not in Path(f"/proc/{link.host_pid}/environ").read_bytes()
    assert (os.stat(house.places.socket).st_mode & 0o777, os.stat(house.places.runtime).st_mode & 0o777) == (
        0o600,
        0o700,
    )


async def test_unasked_for_descriptors_with_an_event_are_closed() -> None:
    seen: asyncio.Queue[dict[str, object]] = asyncio.Queue()
    link = HostClient(WorkspaceDirs("/", "/r", "/s"), seen.put_nowait, lambda: None)
    ours, theirs = socket.socketpair()
    host = MessageSocket(theirs)
    link.adopt(ours)
    before = len(os.listdir("/proc/self/fd"))
    with tempfile.TemporaryFile() as file:
        host.send({"event": "odd"}, [file.fileno()])
        async with asyncio.timeout(10):
            assert (await seen.get())["event"] == "odd"
    assert len(os.listdir("/proc/self/fd")) == before
    host.close()
    link.close()
    await asyncio.sleep(0)  # what the loop had still to do for it finds it closed
    assert not link.alive
