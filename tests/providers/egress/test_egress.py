"""A cell's way out: real programs in a real network namespace, against hosts on loopback."""

import asyncio
import contextlib
import json
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.kit.internet import BWRAP, Net, hello, network, serve, serving
from tests.kit.server import until

from fourhands.core import child
from fourhands.core.event import Event
from fourhands.core.tasks import Tasks
from fourhands.providers.egress.hosts import THIS_MACHINE

URL = "http://example.org/"
CURL = f"curl -sS -m 20 {URL}"


@contextlib.asynccontextmanager
async def example(allowed: tuple[str, ...] = ()) -> AsyncIterator[Net]:
    async with serving(hello) as place, network(allowed=allowed) as net:
        net.internet.add("example.org", 80, place)
        yield net


async def test_an_allowed_host_is_reached_without_any_proxy_setting() -> None:
    fetch = "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://example.org/\").read())'"
    node = "node -e 'fetch(\"http://example.org/\").then(r=>r.text()).then(console.log)'"
    async with example(allowed=("example.org",)) as net:
        for line in (CURL, fetch, *([node] if shutil.which("node", path="/usr/local/bin:/usr/bin") else [])):
            done = await net.run(line)
            assert "hello" in done.out, (line, done)
        assert net.internet.dialled[0] == ("93.184.216.34", 80)
        (traffic,) = net.log.hosts("session_a")
        assert traffic.host == "example.org"
        assert traffic.connections >= 2
        assert traffic.up > 50
        assert traffic.down > 100


async def test_bytes_count_while_a_connection_is_open() -> None:
    held = asyncio.Event()

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"x" * 1000)
        await reader.readexactly(70)
        await held.wait()
        writer.close()

    async with serving(hold) as place, network(allowed=("example.org",)) as net, Tasks() as tasks:
        net.internet.add("example.org", 80, place)
        net.log.begin_turn("session_a")
        line = "exec 3<>/dev/tcp/example.org/80; printf %070d 0 >&3; cat <&3 >/dev/null"
        tasks.start(net.run(f"exec bash -c '{line}'"), "a program that stays")
        await until(lambda: [(one.up, one.down) for one in net.log.turn("session_a")] == [(70, 1000)])
        held.set()
    assert [(one.up, one.down, one.by) for one in net.log.hosts("session_a")] == [(70, 1000, "settings")]


async def test_any_port_of_a_name_leads_out() -> None:
    async with serving(hello) as place, network(allowed=("example.org",)) as net:
        for port in (22, 443, 5432, 8443, 50051):
            net.internet.add("example.org", port, place)
            done = await net.run(f"curl -sS -m 20 http://example.org:{port}/")
            assert done.out == "hello", (port, done)


async def test_what_is_refused_fails_at_once_and_nothing_leaves() -> None:
    lines = {
        "a host that no one allowed": CURL,
        "an address": "curl -sS -m 20 http://93.184.216.34/",
        "an address of the cell's own range": "curl -sS -m 20 http://198.18.99.99/",
        "UDP": "echo x | timeout 5 python3 -c \"import socket; s=socket.socket(2,2); s.connect(('example.org',53)); "
        "s.send(b'x'); s.settimeout(3); s.recv(9)\"",
        "IPv6": "curl -6 -sS -m 20 http://example.org/",
    }
    async with example() as net:
        for what, line in lines.items():
            start = time.monotonic()
            done = await net.run(line)
            assert done.code != 0, what
            assert time.monotonic() - start < 5, what
        assert net.internet.resolved == []
        assert net.internet.dialled == []


async def test_the_agent_is_told_what_was_refused_and_why_once() -> None:
    async with example() as net:
        await net.run(CURL)
        assert net.keeper.take_notes("session_a") == [
            "example.org:80 refused, not allowed yet, and no one is there to ask"
        ]
        assert net.keeper.take_notes("session_a") == []


async def test_a_held_connection_goes_on_when_the_person_allows_it() -> None:
    async with example() as net:
        net.answer("session")
        done = await net.run(f"{CURL} & {CURL} & {CURL} & wait")
        assert done.out == "hello" * 3
        assert [(q.kind, q.shown) for q in net.asked] == [("network", "example.org:80")]
        assert (await net.run(CURL)).out == "hello"
        assert len(net.asked) == 1
        # Another session's answer is its own.
        await net.run(CURL, cell="session_b")
        assert [q.session for q in net.asked] == ["session_a", "session_b"]


async def test_never_and_deny_refuse_and_only_never_is_kept() -> None:
    async with example() as net:
        net.answer("deny")
        for _ in range(2):  # a program's retries do not ask again
            assert (await net.run(CURL)).code != 0
        assert len(net.asked) == 1
        assert net.rules.list() == ()
    async with example(allowed=("example.org",)) as net:
        await net.rules.store("example.org", allowed=False)
        assert (await net.run(CURL)).code != 0
        assert json.loads((net.directory / "network.json").read_bytes())["never"] == ["example.org"]
        await net.rules.forget("example.org")
        assert (await net.run(CURL)).out == "hello"


@pytest.mark.parametrize(
    ("address", "reason"),
    [("127.0.0.1", "this machine"), ("169.254.169.254", "this machine"), ("::1", "this machine"), ("10.1.2.3", "")],
)
async def test_a_listed_name_that_leads_into_this_machine_or_network_is_not_reached(address: str, reason: str) -> None:
    async with serving(hello) as place, network(allowed=("example.org",)) as net:
        net.internet.add("example.org", 80, place, address)
        assert (await net.run(CURL)).code != 0
        assert net.internet.dialled == []
        assert reason in net.keeper.take_notes("session_a")[0]


async def test_a_name_that_changes_its_address_is_connected_to_where_it_was_checked() -> None:
    async with example(allowed=("example.org",)) as net:
        net.internet.lies = True
        assert (await net.run(CURL)).out == "hello"
        assert net.internet.dialled == [("93.184.216.34", 80)]
        assert len(net.internet.resolved) == 1


async def test_a_port_of_this_machine_is_asked_about_and_fourhands_own_is_refused() -> None:
    async with serving(hello) as place, network() as net:
        line = f"curl -sS -m 20 http://{THIS_MACHINE}:{place}/"
        net.answer("once")
        assert (await net.run(line)).out == "hello"
        assert net.asked[0].text.endswith(f"reach port {place} of this machine")
        net.egress.own_ports.add(place)
        assert (await net.run(line)).code != 0
        assert "Fourhands' own" in net.keeper.take_notes("session_a")[0]


async def test_the_command_has_no_capability_and_its_exit_code_and_descriptors_pass_through() -> None:
    async with network() as net:
        done = await net.run("grep Cap /proc/self/status; exit 7")
        assert done.code == 7
        assert {line.split()[1] for line in done.out.splitlines()} == {"0" * 16}
        assert (await net.run("kill -9 $$")).code == 137


async def test_without_a_server_a_connection_fails_at_once_and_with_a_new_one_it_works() -> None:
    async with example(allowed=("example.org",)) as net:
        script = f"{CURL}; read x; {CURL} || echo failed; read x; {CURL}"
        enclosure = await net.egress.open("session_a", BWRAP)
        program = await asyncio.create_subprocess_exec(
            *enclosure.enclose(["/bin/sh", "-c", script]), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert program.stdin is not None
        assert program.stdout is not None
        assert await program.stdout.readexactly(5) == b"hello"
        await net.egress.leave("session_a")  # as the death of the server does
        program.stdin.write(b"\n")
        start = time.monotonic()
        assert await program.stdout.readline() == b"failed\n"
        assert time.monotonic() - start < 5
        await net.egress.open("session_a", BWRAP)
        program.stdin.write(b"\n")
        assert await program.stdout.read() == b"hello"
        assert await program.wait() == 0


def heard(net: Net) -> list[Event]:
    found: list[Event] = []
    net.events.published.subscribe(found.append)
    return found


async def test_a_port_inside_opens_outside_and_closes_with_its_program() -> None:
    async with network() as net:
        events = heard(net)
        async with Tasks() as tasks:
            running = tasks.start(net.run(serve(18231)), "a server in a cell")
            await until(lambda: bool(net.egress.open_ports()))
            (port,) = net.egress.open_ports()
            assert (port.port, port.outside) == (18231, 18231)
            url = f"http://127.0.0.1:{port.outside}/hostname"
            got = await child.run(["curl", "-sS", "-m", "10", url], env={}, timeout_s=30)
            assert got.out == Path("/etc/hostname").read_text()
            running.cancel()
            await until(lambda: not net.egress.open_ports())
        assert [event.kind for event in events if event.kind.startswith("port.")] == ["port.opened", "port.closed"]
