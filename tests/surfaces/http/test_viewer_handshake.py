import asyncio
import json
from typing import Any

import pytest
from tests.kit.server import LIMIT_S, Served, Viewer
from websockets.exceptions import ConnectionClosed

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def refused(socket: Any) -> dict[str, Any]:
    async with asyncio.timeout(LIMIT_S):
        word: dict[str, Any] = json.loads(await socket.recv())
        assert word["type"] == "refused"
        with pytest.raises(ConnectionClosed):
            await socket.recv()
    return word


async def test_a_socket_opened_ahead_creates_a_terminal_and_shows_it_from_its_beginning(served: Served) -> None:
    async with served.dial("/ws/terminals") as socket:
        await socket.send(json.dumps({"type": "create", "args": {"title": "ahead", "env": {"EYE": "seen"}}}))
        viewer = Viewer(socket)
        created = await viewer.word("created")
        terminal = served.app.terminals.get("ahead")
        assert created["terminalId"] == terminal.id
        assert created["paneId"]
        assert terminal.size == (80, 24)
        await socket.send(b"echo $EYE\r")
        await viewer.until(b"seen")
        assert viewer.start == 0
        await terminal.close()
    entries = await served.app.journal.query(command="openspace.terminal.create")
    assert entries[-1].call.origin == "socket"


async def test_a_socket_opened_ahead_shows_a_terminal_that_is_there(served: Served) -> None:
    terminal = await served.terminal("/bin/sh", "-c", "echo early; read x; echo late; read x")
    async with served.dial("/ws/terminals") as socket:
        await socket.send(json.dumps({"type": "attach", "terminalId": terminal.id, "from": 0}))
        viewer = Viewer(socket)
        await viewer.until(b"early")
        await socket.send(b"\r")
        await viewer.until(b"late")
    await terminal.close()


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("", "bad-argument"),
        (b"keys", "bad-argument"),
        ("[" * 5000, "bad-argument"),
        ('{"type": "screen"}', "bad-argument"),
        ('{"type": "attach", "terminalId": 7}', "bad-argument"),
        ('{"type": "attach", "terminalId": "none"}', "not-found"),
        ('{"type": "attach", "terminalId": "none", "from": -1}', "bad-argument"),
        ('{"type": "create", "args": {"titel": "x"}}', "bad-argument"),
        ('{"type": "create", "args": {"shellPath": "/bin/false"}}', None),
        ('{"type": "create", "more": 1}', "bad-argument"),
        ('{"type": "create", "args": {"env": {"A B": "x"}}}', "bad-env"),
        ('{"type": "create", "args": {"cwd": "nowhere"}}', "bad-cwd"),
    ],
)
async def test_a_first_message_that_asks_for_nothing_that_can_be_shown_is_refused(
    served: Served, message: str | bytes, code: str | None
) -> None:
    before = len(served.app.terminals.list())
    async with served.dial("/ws/terminals") as socket:
        await socket.send(message)
        word = await refused(socket)
        assert word["error"]
        assert code in (None, word["code"])
    assert len(served.app.terminals.list()) == before


async def test_an_agent_is_refused_before_it_has_said_anything(served: Served) -> None:
    _, token = served.agent()
    async with served.dial("/ws/terminals", token=token) as socket:
        assert (await refused(socket))["code"] == "denied"


async def test_a_client_that_leaves_without_a_word_leaves_nothing_behind(served: Served) -> None:
    before = len(served.app.terminals.list())
    async with served.dial("/ws/terminals"):
        pass
    async with served.client() as client:  # the server goes on
        assert (await client.post("/api/commands/openspace.terminal.list", json={})).status_code == 200
    assert len(served.app.terminals.list()) == before
