"""Chats that are kept: what a page gets that comes later, and after a restart."""

import json
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from tests.kit.stage import person_token
from tests.kit.workbench import open_app

from fourhands.agents.connectors.base import FORGOTTEN
from fourhands.agents.connectors.transcript import TranscriptLimits, Transcripts
from fourhands.app import App
from fourhands.core.call import Call
from fourhands.core.event import Event
from fourhands.surfaces.server import serving
from fourhands.workbench.sessions import Session


def kept(chats: Transcripts, session: Session) -> list[tuple[str, Any]]:
    told: Any = msgspec.to_builtins(chats.told(), enc_hook=repr)
    what = {"agent.step": "status", "agent.planned": "entries", "call.finished": "command", "agent.failed": "error"}
    return [(one["kind"], one["data"].get(what.get(one["kind"], "text"))) for one in told["chats"].get(session.id, [])]


def events(chats: Transcripts, session: Session) -> list[Event]:
    told: Any = chats.told()
    found: list[Event] = told["chats"].get(session.id, [])
    return found


def tell(app: App, session: Session, kind: str, **data: object) -> None:
    app.events.publish(Event(kind=f"agent.{kind}", data={"session": session.id, **data}, actor=session.actor))


async def test_a_chat_is_kept_as_it_went():
    async with open_app() as app:
        chats = Transcripts(app.bench, Path(app.places.state) / "chats.json")
        session = app.bench.begin_session("Ada", "test")
        app.gate.consent.grant(session.id)
        tell(app, session, "asked", text="go", messageId="m0")
        tell(app, session, "said", text="He", messageId="m1", done=False)
        tell(app, session, "thought", text="hm", messageId="m1")
        tell(app, session, "step", stepId="s1", title="ls", status="running")
        tell(app, session, "planned", entries=["a"])
        tell(app, session, "said", text="llo", messageId="m1", done=False)
        tell(app, session, "said", text="", messageId="m1", done=True)
        tell(app, session, "step", stepId="s1", title="", status="done", output="x")
        tell(app, session, "planned", entries=["a", "b"])
        tell(app, session, "changed", status="idle")
        await app.gate.run(Call(command="openspace.terminal.list", args={}, actor=session.actor, origin="block"))
        tell(app, session, "failed", error="broke off")
        assert kept(chats, session) == [
            ("agent.asked", "go"),
            ("agent.said", "Hello"),
            ("agent.thought", "hm"),
            ("agent.step", "done"),
            ("agent.planned", ["a", "b"]),
            ("call.finished", "openspace.terminal.list"),
            ("agent.failed", "broke off"),
        ]
        _, said, _, step, *_ = events(chats, session)
        assert said.data["done"] is True
        assert (step.data["title"], step.data["output"]) == ("ls", "x")
        tell(app, session, "reset")
        assert kept(chats, session) == []
        tell(app, session, "noted", text="fresh")
        await app.bench.end_session(session.id)
        assert events(chats, session) == []
        await chats.close()


async def test_what_an_agent_says_of_itself_outlives_a_long_chat_and_its_title_a_reset_not():
    async with open_app() as app:
        chats = Transcripts(app.bench, Path(app.places.state) / "chats.json", limits=TranscriptLimits(events=5))
        session = app.bench.begin_session("Ada", "test")
        tell(app, session, "offered", commands=[{"name": "plan"}])
        tell(app, session, "titled", title="First words")
        tell(app, session, "titled", title="Better words")
        for number in range(9):
            tell(app, session, "noted", text=str(number))
        tell(app, session, "switched", mode="code")
        tell(app, session, "exited", error="it fell over", hint="")
        told = events(chats, session)
        kinds = [event.kind for event in told]
        assert kinds == ["agent.offered", "agent.titled", *["agent.noted"] * 3, "agent.switched", "agent.exited"]
        assert told[1].data["title"] == "Better words"
        tell(app, session, "reset")
        assert [event.kind for event in events(chats, session)] == ["agent.offered"]
        await chats.close()


async def test_after_a_restart_the_next_agent_of_the_name_goes_on_with_it():
    async with open_app() as app:
        file = Path(app.places.state) / "chats.json"
        chats = Transcripts(app.bench, file)
        first = app.bench.begin_session("Ada", "test")
        other = app.bench.begin_session("Bob", "test")
        tell(app, first, "said", text="Remember this", messageId="m1")
        tell(app, other, "said", text="and that", messageId="m1")
        await chats.close()
        assert file.stat().st_mode & 0o777 == 0o600
        app.bench.sessions.remove(first.id)
        again = Transcripts(app.bench, file)
        assert kept(again, other) == [("agent.said", "and that")], "it is still there, and remembers"
        stranger = app.bench.begin_session("Ada", "another kind")
        second = app.bench.begin_session("Ada", "test")
        third = app.bench.begin_session("Ada", "test")
        assert kept(again, second) == [("agent.said", "Remember this"), ("agent.noted", FORGOTTEN)]
        assert all(event.data["session"] == second.id for event in events(again, second))
        assert kept(again, stranger) == kept(again, third) == []
        await again.close()
        assert [len(chat["events"]) for chat in json.loads(file.read_text())] == [1, 2]
        for session in (second, third):
            app.bench.sessions.remove(session.id)
        once_more = Transcripts(app.bench, file)
        last = app.bench.begin_session("Ada", "test")
        assert kept(once_more, last) == [("agent.said", "Remember this"), ("agent.noted", FORGOTTEN)]
        await once_more.close()


@pytest.mark.parametrize("content", [b"", b"nonsense", b'[{"session": 1}]', b"\xff", b"{}"])
async def test_a_file_that_cannot_be_read_begins_anew(content):
    async with open_app() as app:
        file = Path(app.places.state) / "chats.json"
        file.write_bytes(content)
        chats = Transcripts(app.bench, file)
        session = app.bench.begin_session("Ada", "test")
        tell(app, session, "said", text="hi", messageId="m")
        assert kept(chats, session) == [("agent.said", "hi")]
        await chats.close()
        assert json.loads(file.read_text())[0]["name"] == "Ada"


async def test_a_place_that_cannot_be_written_harms_nothing(caplog):
    async with open_app() as app:
        chats = Transcripts(app.bench, Path(app.places.state) / "nowhere" / "chats.json", save_s=0)
        session = app.bench.begin_session("Ada", "test")
        tell(app, session, "said", text="hi", messageId="m")
        assert kept(chats, session) == [("agent.said", "hi")]
        await chats.close()
    assert "cannot save" in caplog.text


async def test_it_never_grows_beyond_its_bounds():
    limits = TranscriptLimits(chats=3, events=50, size=20_000, text=1000)
    async with open_app() as app:
        file = Path(app.places.state) / "chats.json"
        chats = Transcripts(app.bench, file, limits=limits)
        for number in range(5):
            session = app.bench.begin_session(f"Ada {number}", "test")
            for step in range(200):
                tell(app, session, "asked", text=f"{step}")
            for _ in range(500):
                tell(app, session, "said", text="word " * 20, messageId="long")
            tell(app, session, "asked", text="x" * 5000)
            tell(app, session, "said", text="half \ud800 pair", messageId="odd")
            seen = kept(chats, session)
            assert len(seen) <= 50
            assert seen[-1] == ("agent.said", "half ? pair")
            assert len(seen[-2][1]) == len(seen[-3][1]) == 1000
        await chats.close()
        assert len(chats) == 3
        assert file.stat().st_size < 3 * 20_000 + 1000


async def test_the_person_gets_them_and_no_agent_does():
    async with open_app() as app, serving(app.bench, app.tasks, port=0) as server:
        session = app.bench.begin_session("Ada", "test")
        tell(app, session, "said", text="hi", messageId="m")
        async with httpx.AsyncClient(base_url=server.address.url, trust_env=False, verify=False) as client:
            mine = {"authorization": f"Bearer {person_token(server)}"}
            answer = await client.get("/openspace/chats", headers=mine)
            assert [event["data"]["text"] for event in answer.json()["chats"][session.id]] == ["hi"]
            assert answer.json()["time"] >= answer.json()["chats"][session.id][0]["time"]
            theirs = {"authorization": f"Bearer {server.tokens.issue(session.actor)}"}
            assert (await client.get("/openspace/chats", headers=theirs)).status_code == 403
