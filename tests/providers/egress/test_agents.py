"""The network of an agent's own process: what its configuration names, the workbench, and ports that stay shut."""

import asyncio
import os
import socket
import stat
from pathlib import Path

import httpx
from tests.kit.internet import BWRAP, hello, network, serve, serving
from tests.kit.server import until

from fourhands.core.tasks import Tasks
from fourhands.providers.egress.hosts import THIS_MACHINE, HostPattern
from fourhands.providers.egress.rules import AgentHosts


async def test_ports_and_addresses_of_the_configuration_are_reached_unasked_and_by_this_session_alone() -> None:
    async with serving(hello) as place, network() as net:
        net.answer("deny")
        made = "10-0-0-7.address.fourhands.internal"
        net.internet.places["10.0.0.7", 8000] = place
        configured = (HostPattern(THIS_MACHINE, port=place), HostPattern(made, port=8000))
        refused = (HostPattern("example.com", below=True),)
        hosts = AgentHosts(configured=configured, refused=refused, addresses={made: "10.0.0.7"})
        net.egress.agents.admit("session_a", hosts)
        lines = [f"http://{THIS_MACHINE}:{place}/", f"http://{made}:8000/"]
        for line in (*lines, f"--retry-connrefused --retry 5 http://127.0.0.1:{place}/"):
            done = await net.run(f"curl -sS -m 20 {line}")
            assert done.out == "hello", (line, done)
        assert (await net.run("curl -sS -m 20 http://reports.example.com/")).code != 0
        assert net.asked == []
        assert net.keeper.take_notes("session_a") == []  # which nobody wants to read
        for line in (*lines, f"http://127.0.0.1:{place}/"):
            assert (await net.run(f"curl -sS -m 20 {line}", cell="session_b")).code != 0, line
        assert {question.session for question in net.asked} == {"session_b"}
        assert ("10.0.0.7", 8000) in net.internet.dialled


async def test_the_workbench_is_entered_from_a_cell_with_an_agent_only_and_is_no_host_that_was_spoken_to() -> None:
    async with network() as net:
        entered: list[str] = []

        def enter(session: str, connection: socket.socket) -> None:
            entered.append(session)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            connection.close()

        net.egress.agents.serve = enter
        net.egress.agents.admit("session_a", AgentHosts())
        line = "curl -sS -m 20 http://workbench.fourhands.internal"
        assert (await net.run(line)).out == "hello"
        assert (await net.run(f"{line}:8080")).code != 0
        assert (await net.run(line, cell="session_b")).code != 0
        net.rules.end("session_a")
        assert (await net.run(line)).code != 0
        assert entered == ["session_a"]
        assert [one.connections for one in net.log.hosts("session_a")] == [0]


async def test_what_an_agents_own_process_listens_on_is_not_opened() -> None:
    async with network() as net, Tasks() as tasks:
        await net.egress.open("session_a", BWRAP)
        cell = net.egress.cell("session_a")
        assert cell is not None
        with cell.ports.held(0):
            running = tasks.start(net.run(f"{serve(18331)} & {serve(18332)}"), "an agent")
            path = f"{cell.enclosure.directory}/i"
            async with cell.ports.way_in(18331, path):
                assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
                async with httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(uds=path)) as client:
                    assert (await _answer(client)).text == Path("/etc/hostname").read_text()
                await until(lambda: 18332 in cell.ports.private)
                assert net.egress.open_ports() == []
            assert not os.path.exists(path)
        other = tasks.start(net.run(serve(18333)), "another program")
        await until(lambda: any(one.port == 18333 for one in net.egress.open_ports()))
        assert [one.port for one in net.egress.open_ports()] == [18333]
        for task in (running, other):
            task.cancel()
        await asyncio.wait([running, other])


async def _answer(client: httpx.AsyncClient) -> httpx.Response:
    """Ask until the program listens and our own in the cell has seen it."""
    async with asyncio.timeout(40):
        while True:
            try:
                return await client.get("http://agent/hostname")
            except httpx.HTTPError:
                await asyncio.sleep(0.05)  # another process tells nobody
