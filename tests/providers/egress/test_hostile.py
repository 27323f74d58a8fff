"""What a hostile program of a cell, or one that speaks as ours, can send: others and the server are unharmed."""

import asyncio
import os
import socket

import pytest
from tests.kit.internet import BWRAP, hello, network, serving
from tests.kit.server import until

from fourhands.core.errors import Denied
from fourhands.providers.egress.egress import CONNECTIONS


def link(path: str) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    sock.connect(path)
    return sock


async def test_garbage_on_the_socket_is_dropped_and_others_go_on() -> None:
    async with serving(hello) as place, network(allowed=("example.org",)) as net:
        net.internet.add("example.org", 80, place)
        enclosure = await net.egress.open("session_a", BWRAP)
        before = len(os.listdir("/proc/self/fd"))
        pipe = os.pipe()
        inner, outer = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        datagram = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sent: list[tuple[bytes, list[int]]] = [
            (b"x", []),
            (b"{}", []),
            (b"[" * 2000, []),
            (b'{"connect":"example.org","port":80}', []),
            (b'{"connect":"example.org","port":80}', [pipe[0]]),
            (b'{"connect":"example.org","port":80}', [outer.fileno()]),
            (b'{"connect":"example.org","port":80}', [datagram.fileno()]),
            (b'{"connect":"127.0.0.1","port":80}', [datagram.fileno()]),
            (b'{"opened":99}', [pipe[1]]),
            (b'{"failed":99}', []),
            (b'{"connect":"example.org","port":80}', [pipe[0], pipe[1], datagram.fileno()]),
            (b'{"listening":[22,80,70000,-1]}', []),
            (b'{"connect":"' + b"a" * 1900 + b'","port":80}', []),
        ]
        for data, descriptors in sent:
            with link(enclosure.socket) as sock:
                socket.send_fds(sock, [data], descriptors)
                sock.settimeout(0.0)
                await asyncio.sleep(0)
        with link(enclosure.socket) as sock:
            sock.send(b"y" * 5000)  # longer than a message may be: that link is closed
            sock.setblocking(False)
            assert await asyncio.get_running_loop().sock_recv(sock, 1) == b""
        for one in pipe:
            os.close(one)
        for sock in (inner, outer, datagram):
            sock.close()
        await until(lambda: len(os.listdir("/proc/self/fd")) <= before)
        assert net.internet.dialled == []
        assert net.egress.open_ports() == []
        assert (await net.run("curl -sS -m 20 http://example.org/")).out == "hello"


async def test_a_flood_of_connections_meets_its_limit_and_leaves_the_next_cell_alone() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    flood = (
        "import socket\nkept=[]\n"
        "for n in range(3000):\n"
        "    s=socket.socket()\n"
        "    s.setblocking(False)\n"
        "    s.connect_ex(('deep.example',9000))\n"
        "    kept.append(s)\n"
        "    kept=kept[-900:]\n"
        "print('done')"
    )
    async with (
        serving(silent) as deep,
        serving(hello) as place,
        network(allowed=("*.example.org", "deep.example")) as net,
    ):
        net.internet.add("deep.example", 9000, deep)
        net.internet.add("a.example.org", 80, place)
        first, second = await asyncio.gather(
            net.run(f'python3 -c "{flood}"'), net.run("curl -sS -m 20 http://a.example.org/", cell="session_b")
        )
        assert first.out == "done\n"
        assert second.out == "hello"
        assert net.log.hosts("session_a")[0].host == "deep.example"
        refused = net.keeper.take_notes("session_a")
        assert not refused or f"more than {CONNECTIONS}" in refused[0]
        assert (await net.run("curl -sS -m 20 http://a.example.org/")).out == "hello"


async def test_off_means_nothing_leaves_whatever_is_allowed() -> None:
    async with serving(hello) as place, network("off", ("example.org",)) as net:
        net.internet.add("example.org", 80, place)
        assert (await net.run("curl -sS -m 20 http://example.org/")).code != 0
        assert net.internet.resolved == []
        with pytest.raises(Denied, match="off"):
            await net.keeper.require("session_a", "example.org", 80)
