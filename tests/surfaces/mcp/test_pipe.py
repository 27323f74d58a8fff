"""`fourhands mcp` with peers that break: half messages, endless lines, noise, and ends in the middle."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from mcp import Client, StdioServerParameters
from tests.kit.mcp_client import Form, chosen, data, text
from tests.kit.program import MAIN, Home, Server, new_home

from fourhands.surfaces.discovery import held
from fourhands.surfaces.stdio import LINE_LIMIT, OverlongLine, read_lines

Message = dict[str, Any]
HELLO: Message = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "broken", "version": "1"}},
}


class Peer:
    """`fourhands mcp` as a process, and its two pipes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self.stdin, self.stdout = process, process.stdin, process.stdout

    async def write(self, data: bytes) -> None:
        self.stdin.write(data)
        await self.stdin.drain()

    async def read(self) -> Message:
        async with asyncio.timeout(100):
            line = await self.stdout.readline()
            if not line and self.process.stderr is not None:
                raise AssertionError(f"it has ended: {(await self.process.stderr.read()).decode()}")
        answer: Message = msgspec.json.decode(line)
        return answer

    async def ask(self, id: int, method: str = "ping", params: Message | None = None) -> Message:
        await self.write(
            msgspec.json.encode({"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}) + b"\n"
        )
        while (answer := await self.read()).get("id") != id:
            pass
        return answer

    async def memory(self) -> int:
        """The most that it ever held, in kilobytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0])


@contextlib.asynccontextmanager
async def peer(home: Home) -> AsyncIterator[Peer]:
    process = await asyncio.create_subprocess_exec(
        *MAIN, "mcp", str(home.work), env=home.env, stdin=-1, stdout=-1, stderr=-1, limit=2**24
    )
    try:
        one = Peer(process)
        await one.write(msgspec.json.encode(HELLO) + b"\n")
        assert (await one.read())["result"]["serverInfo"]["name"] == "fourhands"
        await one.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        yield one
    finally:
        if process.returncode is None:
            process.stdin.close()  # type: ignore[union-attr]  # it has one
            async with asyncio.timeout(100):
                await process.communicate()


NOISE = [
    (b"garbage\n", -32700),
    (b"\xff\xfe\n", -32700),
    (b'{"jsonrpc":"2.0","id":1,"meth\n', -32700),
    (b"[" * 100_000 + b"\n", -32700),
    (b'[{"jsonrpc":"2.0","id":9,"method":"ping"}]\n', -32600),
    (b"{}\n", -32600),
    (b"null\n", -32600),
]


async def breaks_in_all_ways(one: Peer) -> None:
    for noise, code in NOISE:
        await one.write(noise)
        answer = await one.read()
        assert (answer["id"], answer["error"]["code"]) == (None, code), noise[:50]
    await one.write(b"\n\n" + b'{"jsonrpc":"2.0","id":4,"method":7}\n')
    assert (await one.read())["id"] == 4
    await one.write(b'{"jsonrpc":"2.0","id":99,"result":{}}\n{"jsonrpc":"2.0","id":98,"error":1}\n')  # nobody asked
    before = await one.memory()
    await one.write(b'{"method":"tools/call","params":{"x":"')
    for _ in range(100):
        await one.write(b"x" * 1_000_000)
    await one.write(b'"},"jsonrpc":"2.0","id":77}\n')
    assert (await one.read())["id"] == 77
    assert await one.memory() - before < 20_000
    assert "result" in await one.ask(5, "tools/list")


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_broken_peers_are_answered_and_harm_nobody() -> None:
    async with new_home() as home:
        async with peer(home) as first:
            await breaks_in_all_ways(first)
            async with peer(home) as second:  # joins the first one's workbench
                await breaks_in_all_ways(second)
                await second.write(b'{"jsonrpc":"2.0","id":6,"met')
                second.stdin.close()
                async with asyncio.timeout(100):
                    assert await second.process.wait() == 0
            async with asyncio.timeout(100):  # the one whose workbench it is; the other's session goes after it
                while await clients(home) != ["broken"]:  # noqa: ASYNC110 - over HTTP
                    await asyncio.sleep(0.05)
            assert "result" in await first.ask(7)
        assert not held(home.places.state)


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_client_learns_that_the_server_was_killed() -> None:
    async with new_home() as home, Server(home) as server, peer(home) as one:
        server.process.kill()
        async with asyncio.timeout(100):
            rest, errors = await one.process.communicate()
        assert rest == b""
        assert b"the workbench closed the connection" in errors
        assert one.process.returncode == 3


@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_a_client_that_goes_leaves_nothing_behind() -> None:
    async with new_home() as home, Server(home):
        command = StdioServerParameters(command=MAIN[0], args=[*MAIN[1:], "mcp", str(home.work)], env=home.env)
        person = Form(chosen("session"))
        async with Client(command, mode="legacy", cache=None, elicitation_callback=person) as client:
            data(await client.call_tool("openspace_terminal_create", {"title": "mine"}))
            async with Client(command, mode="legacy", cache=None) as other:
                refused = await other.call_tool("openspace_terminal_list")
                assert "no one is available to approve this" in text(refused)  # consent is each agent's own
            assert len((await home.call("terminal.list"))["terminals"]) == 1
        async with asyncio.timeout(100):
            while await clients(home) or (await home.call("terminal.list"))["terminals"]:  # noqa: ASYNC110 - over HTTP
                await asyncio.sleep(0.05)


async def clients(home: Home) -> list[str]:
    agents = (await home.call("agent.list"))["agents"]
    return [agent["name"] for agent in agents if agent["connector"] == "mcp"]


async def test_a_line_at_the_limit_is_taken_and_one_byte_more_is_not() -> None:
    inner, outer = os.pipe()
    lines = read_lines(inner)

    def write() -> None:
        for size in (LINE_LIMIT - 1, LINE_LIMIT, 3):
            os.write(outer, b"x" * size + b"\n")
        os.write(outer, b"rest")
        os.close(outer)

    writing = asyncio.to_thread(write)
    async with asyncio.timeout(40), asyncio.TaskGroup() as group:
        group.create_task(writing)
        whole, long, short, rest, end = [await lines.get() for _ in range(5)]
    os.close(inner)
    assert isinstance(whole, bytes)
    assert len(whole) == LINE_LIMIT
    assert isinstance(long, OverlongLine)
    assert long.size == LINE_LIMIT + 1
    assert (short, rest, end) == (b"xxx\n", b"rest", b"")


@pytest.mark.parametrize(
    ("head", "tail", "id"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"x"', b"", 7),
        (b' { "id" : "a\\"b" , "x"', b"", 'a"b'),
        (b'{"method":"x","params":{"id":3', b'"},"jsonrpc":"2.0","id":12}\n', 12),
        (b'{"method":"x"', b'"y"},"id":"z","jsonrpc":"2.0"}\n', "z"),
        (b'{"method":"x"', b'"params":{"id":3}}\n', None),
        (b"[", b"]", None),
        (b"", b"", None),
    ],
)
def test_a_refusal_names_the_request_where_it_can_be_seen(head: bytes, tail: bytes, id: object) -> None:
    assert msgspec.json.decode(OverlongLine(5, 4, head, tail).answer())["id"] == id
