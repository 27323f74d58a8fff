"""What a page is given to show before it has asked for anything."""

import pytest
from tests.kit.server import LIMIT_S, Served

from fourhands.core.call import Actor
from fourhands.core.ids import new_id
from fourhands.surfaces.http.initial_state import first_sight
from fourhands.workbench.layout.panes import tabs

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def _open(served: Served, title: str) -> str:
    opened = await served.app.call("openspace.terminal.create", {"title": title})
    assert opened.success
    return str(opened.data["terminalId"])


async def test_it_is_the_state_and_the_terminals_in_front_with_their_text(served: Served) -> None:
    behind, front = await _open(served, "behind"), await _open(served, "front")
    sent = await served.app.call("openspace.terminal.send", {"terminalId": front, "text": "echo s''een\n"})
    args = {"terminalId": front, "pattern": "seen", "deadlineSeconds": LIMIT_S}
    waited = await served.app.call("openspace.terminal.wait", args)
    assert sent.success
    assert waited.data["reason"] == "pattern"
    async with served.client() as client:
        first = (await client.get("/openspace/first")).json()
    assert first["state"]["workspace"] == served.places.workspace
    assert {terminal["id"] for terminal in first["state"]["terminals"]} >= {behind, front}
    assert front in first["screens"]
    assert behind not in first["screens"]
    assert "seen" in "".join(piece["text"] for piece in first["screens"][front]["past"])


async def test_it_comes_with_the_key_for_a_code(served: Served) -> None:
    terminal = await _open(served, "coded")
    code = served.running.tokens.browsers.new_code()
    async with served.client("", headers={"origin": f"http://127.0.0.1:{served.port}"}) as client:
        given = (await client.post("/api/browser", json={"code": code})).json()
        refused = (await client.post("/api/browser", json={"code": code})).json()
    assert terminal in given["first"]["screens"]
    assert "first" not in refused


async def test_it_is_not_for_agents(served: Served) -> None:
    _, token = served.agent()
    async with served.client(token) as client:
        assert (await client.get("/openspace/first")).status_code == 403


async def test_a_terminal_that_has_just_gone_is_left_out(served: Served) -> None:
    await _open(served, "behind")
    state, gone = served.app.bench.state, new_id("term")
    state.open("terminal", gone, owner="person")
    assert [tab.content for pane, tab in tabs(state.layout.root) if tab.id == pane.active_tab] == [gone]
    first = await first_sight(served.app.bench, Actor.person("somebody"))
    state.close(gone)
    assert first.screens == {}
    assert first.state.terminals
