"""What programs in a cell may say to its resolver and proxy, and what is refused whatever the rules are."""

import asyncio
import base64
import contextlib
import socket
import struct

import pytest

from fourhands.core.errors import BadArgument, Denied, Unavailable
from fourhands.providers.egress.agents import inner_url
from fourhands.providers.egress.dialing import Route, SystemDialer, dial
from fourhands.providers.egress.hosts import THIS_MACHINE, HostPattern
from fourhands.providers.egress.proxy import ProxyRequest, read_request
from fourhands.providers.egress.resolver import AddressBook, answer
from fourhands.providers.egress.rules import rule_key
from fourhands.providers.upstream_proxy import WebProxy

NO_ERROR, FORM_ERROR, NO_NAME = 0, 1, 3


def asked(labels: bytes, *, flags: int = 0x0100, tail: bytes = b"\0\0\1\0\1") -> bytes:
    return struct.pack(">HHHHHH", 7, flags, 1, 0, 0, 0) + labels + tail


def code(query: bytes) -> int | None:
    reply = answer(query, AddressBook())
    return None if reply is None else reply[3] & 0xF


def test_a_resolver_answers_questions_for_names_only() -> None:
    assert code(asked(b"\x01a\x07example")) == NO_ERROR
    assert code(asked(b"\x01a\x07example", flags=0x8100)) is None  # an answer: no loop of two resolvers
    assert code(asked(b"\x01a\x04arpa")) == NO_NAME
    assert code(asked(b"\x03a b\x07example")) == NO_NAME
    assert code(asked(b"")) == NO_NAME
    assert code(asked(b"\x40" + b"a" * 64)) == FORM_ERROR
    assert code(asked(b"\xc0\x0c" + b"a" * 200)) == FORM_ERROR  # a pointer
    assert code(asked(b"\x3fa", tail=b"")) == FORM_ERROR
    assert code(asked(b"\x01a", tail=b"\0\0\1")) == FORM_ERROR
    assert code(asked((b"\x3f" + b"a" * 63) * 4)) == FORM_ERROR  # longer than a name can be


async def told(data: bytes, secret: str = "") -> tuple[ProxyRequest | None, bytes]:
    """What a proxy makes of a request, and what it says to the program."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        request = None
        with contextlib.suppress(BadArgument):
            request = await read_request(ours, secret)
        ours.close()
        said = await asyncio.to_thread(theirs.recv, 65536)
    return request, said


SOCKS = b"\x05\x01\x00"
HOST = b"\x03\x09a.example\x01\xbb"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"GET ftp://a.example/x HTTP/1.1\r\n\r\n", b"HTTP/1.1 400"),
        (b"GET https://a.example/x HTTP/1.1\r\n\r\n", b"HTTP/1.1 400"),
        (b"GET /x HTTP/1.1\r\nHost: a.example\r\n\r\n", b"HTTP/1.1 400"),
        (b"GET http://b.example@a.example/x HTTP/1.1\r\n\r\n", b"HTTP/1.1 400"),
        (b"CONNECT a.example HTTP/1.1\r\n\r\n", b"HTTP/1.1 400"),
        (SOCKS + b"\x05\x02\x00" + HOST, b"\x05\x00\x05\x07"),  # listen
        (SOCKS + b"\x05\x03\x00" + HOST, b"\x05\x00\x05\x07"),  # datagrams
        (SOCKS + b"\x05\x01\x00\x01\x5d\xb8\xd8\x22\x01\xbb", b"\x05\x00\x05\x02"),  # an address
    ],
)
async def test_a_proxy_makes_connections_to_names_and_nothing_else(data: bytes, said: bytes) -> None:
    request, answered = await told(data)
    assert request is None
    assert answered.startswith(said)


async def test_a_proxy_with_a_secret_takes_it_in_its_own_form_only() -> None:
    shown = base64.b64encode(b"x:s3cret").decode()
    head = "CONNECT a.example:443 HTTP/1.1\r\n{}\r\n\r\n"
    request, _ = await told(head.format(f"Proxy-Authorization: Basic {shown}").encode(), "s3cret")
    assert request is not None
    for wrong in (f"Authorization: Basic {shown}", f"Proxy-Authorization: Bearer {shown}", "X: y"):
        request, answered = await told(head.format(wrong).encode(), "s3cret")
        assert (request, answered[:12]) == (None, b"HTTP/1.1 407"), wrong
    request, answered = await told(SOCKS + b"\x05\x01\x00" + HOST, "s3cret")  # without a method that has one
    assert (request, answered) == (None, b"\x05\xff")


async def test_this_machine_is_not_reached_under_another_name() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(Denied, match=r"me\.example is this machine"):
            await dial(Route("me.example", port, ["127.0.0.1"], True, None), SystemDialer())
        (await dial(Route(THIS_MACHINE, port, ["127.0.0.1"], False, None), SystemDialer())).close()


def test_an_answer_about_this_machine_is_about_one_port() -> None:
    keys = {rule_key(host, port) for host in (THIS_MACHINE, "a.example") for port in (22, 5432)}
    assert keys == {f"{THIS_MACHINE}:22", f"{THIS_MACHINE}:5432", "a.example"}
    assert rule_key("a.example", 22, private=True) not in keys


@pytest.mark.parametrize(
    "answered", [b"HTTP/1.1 403 No\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000, b"no\r\n\r\n"]
)
async def test_a_proxy_of_the_person_that_does_not_connect_is_no_connection(answered: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answered)
        with contextlib.suppress(ConnectionError):
            await writer.drain()
            await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        proxy = WebProxy("HTTPS_PROXY", "127.0.0.1", server.sockets[0].getsockname()[1])
        with pytest.raises(Unavailable):
            await dial(Route("a.example", 443, [], False, proxy), SystemDialer())


def test_an_address_of_the_configuration_is_named_in_a_cell_and_this_machine_by_its_port() -> None:
    here = [
        inner_url(url) for url in ("http://localhost:8080/x", "http://a.localhost:8080/x", "http://127.0.0.1:8080/x")
    ]
    assert {one and one.host for one in here} == {HostPattern(THIS_MACHINE, port=8080)}
    lan = inner_url("http://10.1.2.3:8080/x")
    assert lan is not None
    assert (lan.address, lan.host.port, "10.1.2.3" in lan.url) == ("10.1.2.3", 8080, False)
    assert [inner_url(url) for url in ("file:///x", "http://", "http://a b/")] == [None] * 3
