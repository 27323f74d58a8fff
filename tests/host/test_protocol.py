"""Messages survive any cut; nonsense ends the connection and nothing else; nobody fills the other's memory."""

import itertools
import json
import os
import resource
import socket
import struct
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourhands.host.protocol import LARGEST, Message, MessageSocket, MessageTooLarge, WireError

Pair = tuple[MessageSocket, MessageSocket]

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
bodies = st.dictionaries(st.text(max_size=8).filter(lambda key: key != "fds"), values, max_size=4)


@pytest.fixture
def pair() -> Iterator[Pair]:
    one, other = socket.socketpair()
    ends = MessageSocket(one), MessageSocket(other)
    yield ends
    for end in ends:
        end.close()


def drain(end: MessageSocket) -> list[tuple[Message, list[int]]]:
    found = []
    while messages := end.receive():
        found += messages
    return found


def framed(body: bytes) -> bytes:
    return struct.pack("!I", len(body)) + body


@given(messages=st.lists(bodies, max_size=4), cuts=st.lists(st.integers(0, 400), max_size=8))
def test_any_cut_of_the_stream_gives_the_same_messages(messages: list[Message], cuts: list[int]) -> None:
    ours, theirs = socket.socketpair()
    end = MessageSocket(theirs)
    stream = b"".join(framed(json.dumps(m).encode()) for m in messages)
    found = []
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    for start, stop in itertools.pairwise(edges):
        if stop > start:
            ours.sendall(stream[start:stop])
            found += end.receive() or []
    assert [message for message, _ in found] == messages
    ours.close()
    assert end.receive() is None
    end.close()


def test_descriptors_come_with_their_message(pair: Pair) -> None:
    reading, writing = os.pipe()
    pair[0].send({"n": 1})
    pair[0].send({"n": 2}, [writing])
    pair[0].send({"n": 3})
    os.close(writing)
    found = drain(pair[1])
    assert [message["n"] for message, _ in found] == [1, 2, 3]
    assert [len(fds) for _, fds in found] == [0, 1, 0]
    os.write(found[1][1][0], b"through")
    assert os.read(reading, 10) == b"through"
    for fd in (reading, found[1][1][0]):
        os.close(fd)


def test_a_descriptor_that_waits_in_the_queue_is_still_the_same_when_it_is_sent(pair: Pair) -> None:
    reading, writing = os.pipe()
    number = writing
    while not pair[0].send({"filler": "x" * 10_000}):
        pass
    assert pair[0].send({"wanted": 1}, [writing])
    os.close(writing)
    other = os.open(os.devnull, os.O_RDONLY)  # takes over the number
    assert other == number
    got: list[int] = []
    while not got:
        for message, fds in pair[1].receive() or []:
            if "wanted" in message:
                got = fds
        pair[0].flush()
    os.write(got[0], b"same")
    assert os.read(reading, 10) == b"same"
    for fd in (*got, other, reading):
        os.close(fd)


def test_closing_gives_back_what_nobody_took() -> None:
    before = len(os.listdir("/proc/self/fd"))
    one, other = socket.socketpair()
    sender, receiver = MessageSocket(one), MessageSocket(other)
    reading, writing = os.pipe()
    socket.send_fds(one, [b"\0\0"], [reading])  # half a message
    assert receiver.receive() == []
    while not sender.send({"filler": "x" * 10_000}):
        pass
    sender.send({"never": "sent"}, [reading, writing])
    sender.close()
    receiver.close()
    os.close(reading)
    os.close(writing)
    assert len(os.listdir("/proc/self/fd")) == before


def test_the_side_that_takes_no_descriptors_is_given_none() -> None:
    one, other = socket.socketpair()
    sender, receiver = MessageSocket(one), MessageSocket(other, takes_descriptors=False)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        socket.send_fds(one, [framed(b"{}")], [one.fileno()])
    assert len(drain(receiver)) == 50
    assert len(os.listdir("/proc/self/fd")) == before
    sender.send({"n": 1}, [one.fileno()])
    with pytest.raises(WireError, match="did not come"):
        receiver.receive()
    sender.close()
    receiver.close()


@pytest.mark.parametrize(
    "stream",
    [
        struct.pack("!I", LARGEST + 1),
        b"\xff\xff\xff\xff",
        framed(b"not json"),
        framed(b"\xff\xfe"),
        framed(b"[1]"),
        framed(b"null"),
        framed(b""),
        framed(b"[" * 100_000),
        framed(b'{"a":' * 100_000),
        framed(b"9" * 10_000),
        framed(b'{"fds": 1}'),
        framed(b'{"fds": -1}'),
        framed(b'{"fds": "2"}'),
        b"GET / HTTP/1.1\r\n\r\n",
    ],
    ids=repr,
)
def test_nonsense_is_an_error_of_the_connection(pair: Pair, stream: bytes) -> None:
    def hear() -> None:
        for at in range(0, len(stream), 50_000):
            pair[0].sock.sendall(stream[at : at + 50_000])
            pair[1].receive()

    with pytest.raises(WireError):
        hear()


def test_half_a_message_and_a_hang_up_is_the_end(pair: Pair) -> None:
    pair[0].sock.sendall(framed(b"{}")[:5])
    pair[0].sock.shutdown(socket.SHUT_WR)
    assert pair[1].receive() == []
    assert pair[1].receive() is None


def test_a_message_that_nobody_would_take_is_not_sent(pair: Pair) -> None:
    with pytest.raises(MessageTooLarge, match="at most"):
        pair[0].send({"x": "y" * LARGEST})
    assert pair[0].send({"fine": True}) is False
    assert drain(pair[1]) == [({"fine": True}, [])]


def test_who_does_not_read_is_given_up_within_a_bound(pair: Pair) -> None:
    sent: list[int] = []

    def talk() -> None:
        while len(sent) < 100:
            pair[0].send({"x": "y" * 1_000_000})
            sent.append(1_000_000)

    with pytest.raises(WireError, match="is not reading"):
        talk()
    assert sum(sent) < 2 * LARGEST


def test_one_call_takes_one_read_however_much_is_sent(pair: Pair) -> None:
    pair[0].sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    pair[0].send({"x": "y" * 400_000})
    assert pair[1].receive() == []  # not whole yet, and the caller has the loop again


def test_a_full_table_costs_the_descriptors_of_one_message_only(pair: Pair) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    reading, writing = os.pipe()
    pair[0].send({"n": 1}, [reading, writing])
    pair[0].send({"n": 2})
    pair[0].send({"n": 3}, [reading])
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        first = pair[1].receive()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert first == [({"n": 1, "fds": 2}, [])]
    rest = drain(pair[1])
    assert [(message["n"], len(fds)) for message, fds in rest] == [(2, 0), (3, 1)]
    for fd in (reading, writing, rest[1][1][0]):
        os.close(fd)
