"""The second way out, for programs that heed proxy variables: in a cell, and with a secret on 127.0.0.1."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from tests.kit.internet import BWRAP, Net, hello, network, serving

from fourhands.core import child
from fourhands.providers.egress.enclosure import Enclosure


@contextlib.asynccontextmanager
async def example() -> AsyncIterator[Net]:
    async with serving(hello) as place, network(allowed=("example.org",)) as net:
        for port in (80, 443):
            net.internet.add("example.org", port, place)
        yield net


async def curl(variables: dict[str, str], *words: str) -> child.Finished:
    return await child.run(
        ["curl", "-sS", "-m", "20", *words], env={**variables, "PATH": "/usr/bin:/bin"}, timeout_s=60
    )


async def test_programs_reach_an_allowed_host_by_every_protocol_and_others_are_told_why_not() -> None:
    async with example() as net:
        way = await net.egress.open_proxy("session_a")
        proxy = way["http_proxy"]
        assert (await curl(way, "http://example.org/")).out == "hello"
        assert (await curl(way, "--proxytunnel", "http://example.org:443/")).out == "hello"
        assert (await curl({}, "--proxy", proxy.replace("http:", "socks5h:"), "http://example.org/")).out == "hello"
        assert "other.example:80 refused, not allowed yet" in (await curl(way, "http://other.example/")).out
        for words in (["http://127.0.0.1:1/", "--noproxy", ""], ["http://93.184.216.34/"]):
            assert "it is an address" in (await curl(way, *words)).out
        socks = await curl({}, "--proxy", proxy.replace("http:", "socks5:"), "http://93.184.216.34/")
        assert socks.code != 0
        assert {address for address, _ in net.internet.dialled} == {"93.184.216.34"}
        assert len(net.internet.dialled) == 3


async def test_the_proxy_on_this_machine_serves_no_one_without_its_secret() -> None:
    async with example() as net:
        proxy = (await net.egress.open_proxy("session_a"))["HTTPS_PROXY"]
        bare = "http://" + proxy.rpartition("@")[2]
        wrong = proxy.replace("fourhands:", "fourhands:x")
        for given in (bare, wrong, bare.replace("http:", "socks5h:"), wrong.replace("http:", "socks5h:")):
            done = await curl({}, "--proxy", given, "http://example.org/")
            assert "hello" not in done.out, given
        # One that goes on as if its password had been right.
        reader, writer = await asyncio.open_connection("127.0.0.1", int(bare.rpartition(":")[2]))
        writer.write(b"\x05\x01\x02" + b"\x01\x01x\x01y" + b"\x05\x01\x00\x03\x0bexample.org\x00\x50")
        with contextlib.suppress(ConnectionError):  # what it sent too much is never read
            assert await reader.read() in (b"\x05\x02\x01\x01", b"\x05\x02", b"")
        writer.close()
        assert net.internet.dialled == []


async def test_a_cell_without_capabilities_has_the_proxy_inside() -> None:
    async with example() as net:
        made = await net.egress.open("session_a", BWRAP)
        other = Enclosure(BWRAP, made.directory, "proxy")
        done = await child.run(
            other.enclose(["/bin/sh", "-c", "curl -sS -m 20 http://example.org/; grep CapEff /proc/self/status"]),
            env={**other.variables(), "PATH": "/usr/bin:/bin"},
            timeout_s=60,
        )
        assert done.out.startswith("hello"), done
        assert done.out.split()[-1] == "0" * 16


async def test_an_endless_head_and_a_half_request_end() -> None:
    async with example() as net:
        port = int((await net.egress.open_proxy("session_a"))["http_proxy"].rpartition(":")[2])
        for data in (
            b"GET http://example.org/ HTTP/1.1\r\n" + b"a: b\r\n" * 10_000,
            b"\x05\x01",
            b"\r\n\r\n",
            b"\xff" * 20_000,
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            with contextlib.suppress(OSError):
                writer.write(data)
                writer.write_eof()
                await reader.read()
            writer.close()
        assert net.internet.dialled == []
