"""What a server finds that follows another one, however that ended."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.kit.clock import let_pass
from tests.kit.program import LIMIT_S, Home, Server, new_home
from tests.kit.server import until
from tests.kit.workbench import environment, quick

from fourhands.app import App
from fourhands.settings import ServerSettings, Settings
from fourhands.surfaces.server import serving
from fourhands.workbench.layout.panes import tabs
from fourhands.workbench.records import ledger

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]


class Crashed:
    """A workspace whose server was killed, with things of two agents and of the person."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.sessions: dict[str, str] = {}
        self.tokens: dict[str, str] = {}

    def app(self) -> App:
        settings = quick(Settings(server=ServerSettings(return_s=60.0)))
        return App(self.home.work, settings, places=self.home.places, env=environment(self.home.places))

    async def fill(self) -> None:
        await self._make("person", self.home.call)
        for name in ("gone", "back"):
            async with self.home.client() as client:
                made = (await client.post("/api/agents", json={"name": name})).json()
            self.sessions[name], self.tokens[name] = made["sessionId"], made["token"]
            await self.home.call("agent.consent", {"sessionId": made["sessionId"], "allow": True})

            async def call(command: str, args: dict[str, Any], token: str = made["token"]) -> dict[str, Any]:
                headers = {"authorization": f"Bearer {token}"}
                async with self.home.client() as client:
                    url = f"/api/commands/openspace.{command}"
                    body: dict[str, Any] = (await client.post(url, json=args, headers=headers)).json()
                return body

            await self._make(name, call)
            kept = await call("terminal.create", {"title": f"{name}-pinned"})
            assert (await self.home.call("pane.pin", {"paneId": kept["terminalId"]}))["success"]

    async def _make(self, name: str, call: Any) -> None:
        Path(self.home.work, f"{name}.txt").write_text("text\n")
        for command, args in (
            ("terminal.create", {"title": name}),
            ("editor.open", {"path": f"{name}.txt"}),
            ("editor.highlight", {"path": f"{name}.txt", "ranges": [{"startLine": 1, "endLine": 1}],
                                  "highlightId": name}),
        ):  # fmt: skip
            done = await call(command, args)
            assert done["success"], done


def _there(app: App) -> tuple[set[str], set[str], set[str]]:
    """Titles of terminals, paths of editors, highlights."""
    state = app.bench.state
    editors = {tab.content for _, tab in tabs(state.layout.root) if tab.type == "editor"}
    return {one.title for one in app.terminals.list()}, editors, {mark.id for mark in state.highlights()}


ALL = (
    {"person", "gone", "back", "gone-pinned", "back-pinned"},
    {"person.txt", "gone.txt", "back.txt"},
    {"person", "gone", "back"},
)


CALLS = 4
"""How many each agent made."""


@pytest.fixture
async def crashed() -> AsyncIterator[Crashed]:
    async with new_home() as home:
        crashed = Crashed(home)
        async with Server(home) as server:
            await crashed.fill()
            saved = Path(home.places.state) / "layout.json"
            last = (await home.call("workbench.snapshot"))["state"]["rev"]
            await until(lambda: saved.exists() and f'"rev":{last}'.encode() in saved.read_bytes())
            server.process.kill()
            await server.rest()
        yield crashed


async def test_what_belongs_to_sessions_that_do_not_come_back_goes_after_a_while(crashed: Crashed) -> None:
    async with crashed.app() as app:
        assert _there(app) == ALL
        back = app.bench.begin_session("back", "test", id=crashed.sessions["back"])
        await asyncio.sleep(0)  # the waiting has begun
        let_pass(60)
        await until(lambda: "gone" not in _there(app)[0])
        terminals, editors, marks = ALL
        assert _there(app) == (terminals - {"gone"}, editors - {"gone.txt"}, marks - {"gone"})
        assert (await app.call("openspace.pane.list", actor=back.actor)).number == CALLS + 1


async def test_an_agent_is_back_in_its_session_by_its_token_or_by_its_name(crashed: Crashed) -> None:
    async with crashed.app() as app, serving(app.bench, app.tasks, port=0) as running:
        person = running.tokens.file.read_text()
        async with httpx.AsyncClient(base_url=running.address.url, timeout=LIMIT_S, trust_env=False) as client:

            async def post(path: str, body: dict[str, Any], token: str) -> httpx.Response:
                return await client.post(path, json=body, headers={"authorization": f"Bearer {token}"})

            app.gate.consent.grant(crashed.sessions["back"])
            for forged in (f"{crashed.sessions['back']}.", crashed.tokens["back"][:-1], crashed.sessions["back"]):
                refused = await post("/api/commands/openspace.pane.list", {}, forged)
                assert refused.status_code == 401, forged
            done = await post("/api/commands/openspace.pane.list", {}, crashed.tokens["back"])
            assert done.json()["success"], done.text
            made = (await post("/api/agents", {"name": "gone"}, person)).json()
            assert (made["sessionId"], made["token"]) == (crashed.sessions["gone"], crashed.tokens["gone"])
            await asyncio.sleep(0)  # the waiting has begun
            let_pass(60)
            await until(lambda: "the sweep after a restart" not in {task.get_name() for task in asyncio.all_tasks()})
            assert _there(app) == ALL
            assert {one.id for one in app.bench.sessions} == set(crashed.sessions.values())
            await app.bench.end_session(crashed.sessions["back"])
            assert (await post("/api/commands/openspace.pane.list", {}, crashed.tokens["back"])).status_code == 401
    journal = Path(crashed.home.places.state) / "journal.sqlite"
    assert ledger.last_number(journal, crashed.sessions["back"]) == CALLS + 1


async def test_a_proper_end_keeps_what_a_crash_keeps_and_stop_does_not(crashed: Crashed) -> None:
    for _ in range(2):
        async with crashed.app() as app:
            assert _there(app) == ALL
            assert set(app.bench.sessions.absent) >= set(crashed.sessions.values())
    assert (await crashed.home.run("stop"))[1] == "Ended: host and terminals.\n"
    async with crashed.app() as app:
        assert _there(app) == ({"person", "gone-pinned", "back-pinned"}, {"person.txt"}, {"person"})
        assert all(one.exited for one in app.terminals.list())
        assert app.bench.sessions.absent == []
        await app.terminals.stop()


async def test_a_server_that_is_told_to_stop_keeps_agents_terminals_sessions_tokens_and_chats() -> None:
    async with new_home() as home:
        async with Server(home) as server:
            async with home.client() as client:
                made = (await client.post("/api/agents", json={"name": "Ada"})).json()
                told = (await client.get("/openspace/chats")).json()
            [tour] = [id for id in told["chats"] if id != made["sessionId"]]
            agent = {"authorization": f"Bearer {made['token']}"}
            await home.call("agent.consent", {"sessionId": made["sessionId"], "allow": True})
            async with home.client() as client:
                url = "/api/commands/openspace."
                kept = (await client.post(f"{url}terminal.create", json={"title": "hers"}, headers=agent)).json()
                await client.post(f"{url}agent.prompt", json={"sessionId": tour, "text": "hello"})
                # What waits for the person is told that nobody answered, and asked again when they are back.
                async with home.page(), asyncio.TaskGroup() as group:
                    line = {"terminalId": kept["terminalId"], "text": "rm -rf ~\n"}
                    asked = group.create_task(client.post(f"{url}terminal.send", json=line, headers=agent))
                    async with asyncio.timeout(LIMIT_S):
                        while not (await client.post(f"{url}workbench.questions", json={})).json()["questions"]:
                            assert not asked.done(), asked.result().text
                    server.process.terminate()
                refused = asked.result().json()
                assert (refused["code"], "ask again" in refused["error"]) == ("no-answer", True)
            assert "Still running: hers." in await server.rest()
        async with Server(home) as server, home.client() as client:
            known = await client.post("/api/commands/openspace.terminal.list", headers=agent)
            assert known.status_code != 401, "its token is as good as before"
            await home.call("agent.consent", {"sessionId": made["sessionId"], "allow": True})
            done = await client.post("/api/commands/openspace.terminal.list", headers=agent)
            [terminal] = done.json()["terminals"]
            assert (terminal["id"], terminal["status"]) == (kept["terminalId"], "running")
            assert terminal["owner"] == made["sessionId"]
            chats = (await client.get("/openspace/chats")).json()["chats"]
            assert "hello" in [event["data"].get("text") for event in chats[tour]]
            assert (await home.run("stop"))[0] == 0
            await server.rest()
        async with Server(home), home.client() as client:
            assert (await client.post("/api/commands/openspace.terminal.list", headers=agent)).status_code == 401
            assert (await home.call("terminal.list"))["terminals"] == []
