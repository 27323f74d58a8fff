"""OpenCode as an agent: recorded events, a server that does as the test says, and the real one."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit import story
from tests.kit.model import Answer as Said
from tests.kit.model import Request, Tool
from tests.kit.npm_agents import opencode
from tests.kit.stage import stage
from tests.kit.workbench import open_app

from fourhands.agents.acp.catalogue import recipes
from fourhands.agents.connectors.resume import ResumeFiles
from fourhands.agents.opencode.client import OpenCodeTimings
from fourhands.agents.opencode.connector import GO_ON, OpenCodeConnector
from fourhands.agents.opencode.events import OpenCodeEvents
from fourhands.agents.opencode.server import Gateway, config, started
from fourhands.app import App
from fourhands.core.call import Actor
from fourhands.core.errors import BadArgument, CommandNotFound, Denied, TimedOut, Unavailable
from fourhands.core.event import Event
from fourhands.core.question import Answer
from fourhands.providers.egress.hosts import THIS_MACHINE
from fourhands.settings import AgentSettings
from fourhands.workbench.sessions import Session

RECORDED = Path(__file__).parents[2] / "golden" / "opencode" / "turn.jsonl"
LIST = '%%OS{"cmd":"openspace.terminal.list","args":{}}%%'
SES = "ses_1"


class Server(httpx.AsyncBaseTransport):
    """An OpenCode server whose events come from the test."""

    def __init__(self) -> None:
        self.posted: list[tuple[str, Any]] = []
        self.came = asyncio.Event()
        self.events: asyncio.Queue[dict[str, Any] | Exception | None] = asyncio.Queue()
        self.messages: list[Any] = []
        self.permissions: list[Any] = []
        self.states: dict[str, Any] = {}
        self.status = 200
        self.connections = 0
        self.sessions: dict[str, Any] = {}  # by id, those that it has besides
        self.made = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if request.method == "POST":
            self.posted.append((path, json.loads(request.content or b"null")))
            self.came.set()
            if path == "/session":
                self.made += 1
                return httpx.Response(200, json={"id": SES if self.made == 1 else f"ses_{self.made}"})
            return httpx.Response(204)
        if path == "/event":
            self.connections += 1
            return httpx.Response(200, stream=Stream(self.events))
        known: dict[str, Any] = {f"/session/{SES}/message": self.messages, "/permission": self.permissions}
        known |= {f"/session/{id}": told for id, told in self.sessions.items()}
        return httpx.Response(self.status, json=known.get(path, self.states if path == "/session/status" else {}))

    def tell(self, kind: str, **told: Any) -> None:
        self.events.put_nowait({"id": "evt", "type": kind, "properties": {"sessionID": SES, **told}})

    def message(self, id: str, role: str) -> None:
        self.tell("message.updated", info={"id": id, "role": role, "sessionID": SES})

    def part(self, id: str, message: str, text: str, kind: str = "text", **more: Any) -> None:
        self.tell("message.part.updated", part={"id": id, "messageID": message, "type": kind, "text": text, **more})

    def delta(self, id: str, message: str, text: str) -> None:
        self.tell("message.part.delta", messageID=message, partID=id, field="text", delta=text)

    def idle(self) -> None:
        self.tell("session.status", status={"type": "idle"})
        self.tell("session.idle")

    async def until(self, path: str, count: int = 1) -> Any:
        """The body of the first request to a path that ends so, or of a later one."""
        while True:
            found = [body for place, body in self.posted if place.endswith(path)]
            if len(found) >= count:
                return found[count - 1]
            self.came.clear()
            await self.came.wait()


class Stream(httpx.AsyncByteStream):
    def __init__(self, events: "asyncio.Queue[dict[str, Any] | Exception | None]") -> None:
        self._events = events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b'data: {"type":"server.connected","properties":{}}\n\n'
        while (event := await self._events.get()) is not None:
            if isinstance(event, Exception):
                raise event
            yield b"data: " + json.dumps(event).encode() + b"\n\n"


class Table:
    """A workbench, a server, and an agent between them."""

    def __init__(self, app: App, server: Server, session: Session, agent: OpenCodeConnector) -> None:
        self.app, self.server, self.session, self.agent = app, server, session, agent
        self.seen: list[Event] = []
        self._news = asyncio.Event()
        app.events.published.subscribe(self._hear)

    def _hear(self, event: Event) -> None:
        self.seen.append(event)
        self._news.set()

    async def until(self, kind: str, **data: object) -> Event:
        """The first event of this kind with these data."""
        async with asyncio.timeout(40):
            while True:
                for event in self.seen:
                    if event.kind == kind and data.items() <= event.data.items():
                        return event
                self._news.clear()
                await self._news.wait()

    def said(self, kind: str = "agent.said") -> str:
        return "".join(str(event.data["text"]) for event in self.seen if event.kind == kind)

    async def ask(self, text: str = "please go") -> Any:
        await self.app.bench.prompt(self.session, text)
        body = await self.server.until("/prompt_async")
        self.server.tell("session.status", status={"type": "busy"})
        return body

    async def goes_on(self) -> Any:
        """The answer is over; what it is told of its commands."""
        self.server.idle()
        body = await self.server.until("/prompt_async", 2)
        self.server.tell("session.status", status={"type": "busy"})
        return body

    async def ran(self) -> list[str]:
        await self.agent.runner.finished()
        return [entry.call.command for entry in await self.app.journal.query(session=self.session.id)]

    def answer(self, question: Event, choice: Any, reason: str = "") -> None:
        self.app.questions.answer(str(question.data["id"]), Answer(choice=choice, reason=reason), Actor.person())


@contextlib.asynccontextmanager
async def table(
    *,
    joined: bool = False,
    server: Server | None = None,
    memories: ResumeFiles | None = None,
    timings: OpenCodeTimings | None = None,
) -> AsyncIterator[Table]:
    """With `joined` the agent's model is not behind our proxy."""
    server = server or Server()
    async with open_app() as app:
        session = app.bench.begin_session("robo", "opencode")
        app.gate.consent.grant(session.id)
        gateway = None if joined else Gateway("http://127.0.0.1:9", "t", "m")
        agent = OpenCodeConnector(
            app.bench, session, url="http://opencode.test", gateway=gateway, transport=server,
            briefing=(lambda id, *, tools=False: f"instructions for {id}") if joined else None,
            memory=memories.of(session, "opencode") if memories else None, timings=timings,
        )  # fmt: skip
        async with agent:
            await agent.open()
            yield Table(app, server, session, agent)


async def test_a_recorded_turn_is_told_in_order_and_its_permission_is_asked():
    async with table() as t:
        t.app.questions.attend()
        await t.app.bench.prompt(t.session, "please go")
        await t.server.until("/prompt_async")
        for line in RECORDED.read_text().splitlines():
            event = json.loads(line)
            if event["type"] == "permission.replied":
                question = await t.until("question.asked")
                t.answer(question, "once")
                assert await t.server.until("/reply") == {"reply": "once"}
            if event["type"] != "server.connected":
                t.server.events.put_nowait(event)
        await t.until("agent.changed", status="idle")
        assert [event.data["stopReason"] for event in t.seen if event.kind == "agent.finished"] == ["end_turn"]
        assert t.said() == "Hello  worldSeen it."
        assert t.said("agent.thought") == "hmm"
        assert question.data["options"] == ("once", "session", "deny")
        assert question.data["shown"] == "printf marker-out > made.txt; cat made.txt"
        steps = [event.data for event in t.seen if event.kind == "agent.step"]
        assert [step["status"] for step in steps] == ["pending", "running", "completed"]
        assert steps[-1]["output"] == "marker-out"
        assert [event.data["done"] for event in t.seen if event.kind == "agent.said"].count(True) == 2
        assert await t.ran() == []


@pytest.mark.parametrize("known", [True, False])
async def test_after_a_restart_of_ours_it_goes_on_with_its_session_if_that_server_has_it(known, tmp_path):
    server = Server()
    async with table(joined=True, server=server, memories=ResumeFiles(tmp_path)) as t:
        session = t.session
    user = {"info": {"id": "msg_u", "role": "user"}, "parts": [{"id": "p0", "type": "text", "text": "hello"}]}
    done = {"id": "p1", "type": "text", "text": f"old {LIST}", "time": {"start": 1, "end": 2}}
    half = {"id": "p2", "type": "text", "text": "half %%O", "time": {"start": 1}}
    tool = {"id": "p3", "type": "tool", "tool": "bash", "state": {"status": "completed"}}
    server.messages = [user, {"info": {"id": "msg_a", "role": "assistant"}, "parts": [done, tool, half]}]
    if known:
        server.sessions[SES] = {"id": SES}
    async with table(joined=True, server=server, memories=ResumeFiles(tmp_path)) as t:
        assert t.session.id != session.id
        assert server.made == (1 if known else 2)
        await t.app.bench.prompt(t.session, "go on")
        await server.until(f"/session/{SES}/prompt_async" if known else "/session/ses_2/prompt_async")
        if known:
            server.tell("session.status", status={"type": "busy"})
            server.delta("p2", "msg_a", "S is a system")
            server.delta("p1", "msg_a", " and more")
            server.idle()
            await t.until("agent.changed", status="idle")
            assert t.said() == "%%OS is a system"
            assert await t.ran() == [], "what ran before the restart does not run again"


async def test_a_new_chat_is_a_new_session_there(tmp_path):
    async with table(joined=True, memories=ResumeFiles(tmp_path)) as t:
        await t.app.bench.reset_session(t.session.id)
        await t.app.bench.prompt(t.session, "afresh")
        await t.server.until("/session/ses_2/prompt_async")
        assert t.agent.memory is not None
        await t.agent.memory.close()
        before = ResumeFiles(tmp_path).of(t.session, "opencode").before
        assert before is not None
        assert before.remote == "ses_2"


async def test_joined_it_gets_instructions_and_its_blocks_run_once_however_often_they_are_told():
    async with table(joined=True) as t:
        body = await t.ask(f"do {LIST}")
        assert body["system"] == f"instructions for {t.session.id}"
        s = t.server
        s.part("u1", "msg_u", f"do {LIST}")  # before it is said whose it is
        s.message("msg_u", "user")
        s.message("msg_a", "assistant")
        s.part("r1", "msg_a", "", "reasoning")
        s.delta("r1", "msg_a", f"hm {LIST}")
        s.part("p1", "msg_a", "", "text")
        for piece in ("see %%O", LIST[3:], " that"):
            s.delta("p1", "msg_a", piece)
        state = {"status": "completed", "output": f"file: {LIST}", "input": {}}
        s.tell(
            "message.part.updated",
            part={"id": "t1", "messageID": "msg_a", "type": "tool", "tool": "read", "state": state},
        )
        s.part("p1", "msg_a", f"see {LIST} that", time={"start": 1, "end": 2})
        s.part("p1", "msg_a", f"see {LIST} that", time={"start": 1, "end": 2})
        again = await t.goes_on()
        told, go_on = again["parts"]
        assert go_on == {"type": "text", "text": GO_ON}
        assert told["synthetic"]
        assert "#1 openspace.terminal.list" in told["text"]
        assert again["system"] == body["system"], "what goes first never changes"
        s.idle()
        await t.until("agent.changed", status="idle")
        assert t.said() == "see  that"
        assert t.said("agent.thought") == "hm "
        assert await t.ran() == ["openspace.terminal.list"]


async def test_with_the_proxy_in_front_what_still_looks_like_a_block_is_hidden_and_not_run():
    async with table() as t:
        await t.ask()
        t.server.message("msg_a", "assistant")
        t.server.part("p1", "msg_a", f"a{LIST}b", time={"end": 1})
        t.server.idle()
        await t.until("agent.changed", status="idle")
        assert t.said() == "ab"
        assert await t.ran() == []


@pytest.mark.parametrize("problem", [None, httpx.ReadError("reset"), httpx.ReadTimeout("silent")])
async def test_a_broken_event_stream_is_read_again_and_nothing_is_lost_or_doubled(problem):
    async with table(joined=True) as t:
        await t.ask()
        t.server.message("msg_a", "assistant")
        t.server.part("p1", "msg_a", "")
        t.server.delta("p1", "msg_a", f"one {LIST[:9]}")
        await t.until("agent.said")
        part = {"id": "p1", "type": "text", "text": f"one {LIST}two", "time": {"end": 1}}
        t.server.messages.append({"info": {"id": "msg_a", "role": "assistant"}, "parts": [part]})
        t.server.events.put_nowait(problem)
        await t.server.until("/prompt_async", 2)  # with what came of the block
        t.server.tell("session.status", status={"type": "busy"})
        t.server.idle()
        await t.until("agent.changed", status="idle")
        assert t.said() == "one two"
        assert t.server.connections == 2
        assert await t.ran() == ["openspace.terminal.list"]


async def test_a_server_that_is_gone_ends_the_turn_with_a_failure():
    async with table(timings=OpenCodeTimings(retry=(0.0, 0.0, 0.0))) as t:
        await t.ask()
        t.server.status = 500
        t.server.events.put_nowait(None)
        failed = await t.until("agent.failed")
        assert "OpenCode" in str(failed.data["error"])


@pytest.mark.parametrize(
    ("choice", "reply"),
    [
        ("once", {"reply": "once"}),
        ("session", {"reply": "always"}),
        ("deny", {"reply": "reject", "message": "not now"}),
    ],
)
async def test_an_answer_becomes_a_reply(choice, reply):
    async with table() as t:
        t.app.questions.attend()
        t.server.tell(
            "permission.asked", id="per_1", permission="edit", patterns=["a.py"], always=["*.py"], metadata={}
        )
        question = await t.until("question.asked")
        assert (question.data["rule"], question.data["shown"]) == ("*.py", "a.py")
        t.answer(question, choice, "not now")
        assert await t.server.until("/permission/per_1/reply") == reply


async def test_a_dangerous_command_is_never_allowed_for_good_and_a_safe_one_needs_no_question():
    async with table() as t:
        t.app.questions.attend()
        t.server.tell("permission.asked", id="per_1", permission="bash", patterns=[], metadata={"command": "ls"})
        assert await t.server.until("/permission/per_1/reply") == {"reply": "once"}
        t.server.tell("permission.asked", id="per_2", permission="bash", patterns=[], metadata={"command": "rm -rf /"})
        question = await t.until("question.asked")
        assert (question.data["options"], question.data["level"]) == (("once", "deny"), "dangerous")
        t.server.tell("permission.replied", requestID="per_2", reply="once")
        await t.until("question.withdrawn", id=question.data["id"])


async def test_without_consent_a_safe_command_is_asked_about_too():
    async with table() as t:
        await t.app.gate.consent.revoke_agent(t.session.id, t.session.name)
        t.app.questions.attend()
        t.server.tell("permission.asked", id="per_1", permission="bash", patterns=["ls"], metadata={"command": "ls"})
        async with asyncio.timeout(10):
            question = await t.until("question.asked")
        assert question.data["level"] == "safe"
        assert not [path for path, _ in t.server.posted if "per_1" in path]


async def test_a_permission_that_is_told_of_twice_is_asked_for_once():
    async with table() as t:
        t.app.questions.attend()
        for id in ("per_1", "per_1", "per_2"):
            t.server.tell("permission.asked", id=id, permission="edit", patterns=[id])
        await t.until("question.asked", shown="per_2")
        assert [event.data["shown"] for event in t.seen if event.kind == "question.asked"] == ["per_1", "per_2"]


@pytest.mark.parametrize("id", ["ses_1/../../config", "ses_1?x=1", "ses", "other", f"ses_{'x' * 200}"])
async def test_what_is_no_id_of_a_session_is_not_asked_for(id, tmp_path):
    server = Server()
    server.sessions[id] = {"id": id}
    async with table(joined=True, server=server, memories=ResumeFiles(tmp_path)) as t:
        session = t.session
    memory = ResumeFiles(tmp_path).of(session, "opencode")
    memory.keep(remote=id)
    await memory.close()
    async with table(joined=True, server=server, memories=ResumeFiles(tmp_path)):
        assert server.made == 2


@pytest.mark.parametrize("parts", [200, 300])
def test_few_parts_are_kept_of_messages_whose_author_is_not_known(parts):
    heard = Heard()
    telling = OpenCodeEvents(SES, heard)
    for number in range(parts):
        part = {"id": f"p{number}", "messageID": "m", "type": "text", "text": "x", "sessionID": SES}
        telling.event({"type": "message.part.updated", "properties": {"part": part}})
    info = {"id": "m", "role": "assistant", "sessionID": SES}
    telling.event({"type": "message.updated", "properties": {"info": info}})
    telling.end()
    assert heard.text == "x" * 200


def test_what_is_told_of_another_session_is_passed_over():
    heard = Heard()
    telling = OpenCodeEvents(SES, heard)
    info = {"id": "m", "role": "assistant", "sessionID": SES}
    telling.event({"type": "message.updated", "properties": {"info": info}})
    part = {"id": "p", "messageID": "m", "type": "text", "text": "not ours"}
    telling.event({"type": "message.part.updated", "properties": {"part": {**part, "sessionID": "ses_other"}}})
    telling.event({"type": "message.part.updated", "properties": {"part": {**part, "sessionID": SES, "text": "ours"}}})
    delta = {"messageID": "m", "partID": "p", "field": "text", "delta": " not"}
    telling.event({"type": "message.part.delta", "properties": {**delta, "sessionID": "ses_other"}})
    telling.end()
    assert heard.text == "ours"


async def test_with_nobody_there_a_permission_is_refused_and_those_of_strangers_are_left_alone():
    async with table() as t:
        t.server.tell("permission.asked", sessionID="ses_other", id="per_0", permission="edit", patterns=["x"])
        t.server.tell("session.created", info={"id": "ses_child", "parentID": SES})
        t.server.tell("permission.asked", sessionID="ses_child", id="per_1", permission="edit", patterns=["x"])
        reply = await t.server.until("/permission/per_1/reply")
        assert (reply["reply"], "no one answered" in reply["message"]) == ("reject", True)
        assert not [path for path, _ in t.server.posted if "per_0" in path]


async def test_a_permission_that_waited_before_we_came_is_asked():
    server = Server()
    server.permissions.append({"id": "per_9", "sessionID": SES, "permission": "edit", "patterns": ["x"]})
    async with table(server=server) as t:
        assert (await t.server.until("/permission/per_9/reply"))["reply"] == "reject"


async def test_stopping_aborts_the_turn():
    async with table(joined=True) as t:
        t.app.questions.attend()
        await t.ask()
        t.server.tell("permission.asked", id="per_1", permission="edit", patterns=["x"])
        await t.until("question.asked")
        await t.app.call("openspace.agent.stop", {"sessionId": t.session.id})
        await t.server.until(f"/session/{SES}/abort")
        await t.until("agent.failed", code="stopped")
        await t.until("agent.finished", stopReason="cancelled")
        await t.until("question.withdrawn")


async def test_an_error_of_its_own_is_told_and_idle_of_the_turn_before_does_not_end_the_next():
    async with table() as t:
        await t.ask()
        t.server.tell("session.error", error={"name": "APIError", "data": {"message": "no credit"}})
        t.server.idle()
        failed = await t.until("agent.failed")
        assert failed.data["error"] == "OpenCode: no credit"
        await t.until("agent.finished", stopReason="failed")
        t.seen.clear()
        t.server.posted.clear()
        await t.app.bench.prompt(t.session, "again")
        await t.server.until("/prompt_async")
        t.server.tell("session.idle")
        t.server.tell("session.status", status={"type": "busy"})
        t.server.message("msg_b", "assistant")
        t.server.part("p2", "msg_b", "fine", time={"end": 1})
        t.server.idle()
        await t.until("agent.changed", status="idle")
        assert t.said() == "fine"


async def test_what_is_no_event_harms_nothing():
    async with table() as t:
        await t.ask()
        nonsense: Any
        for nonsense in (
            [],
            "x",
            {"type": "message.updated"},
            {"type": "message.part.updated", "properties": {"part": 1}},
        ):
            t.server.events.put_nowait(nonsense)
        t.server.tell("message.part.updated", part={"messageID": "msg_a", "id": 3, "type": "text", "text": None})
        t.server.message("msg_a", "assistant")
        t.server.part("p1", "msg_a", "still here", time={"end": 1})
        t.server.idle()
        await t.until("agent.changed", status="idle")
        assert t.said() == "still here"


async def test_it_needs_to_know_where_the_server_is_and_its_password():
    server = Server()
    server.status = 401
    async with open_app() as app:
        session = app.bench.begin_session("robo", "opencode")
        with pytest.raises(BadArgument, match="url or the command"):
            OpenCodeConnector(app.bench, session)
        async with OpenCodeConnector(app.bench, session, url="http://opencode.test", transport=server) as agent:
            with pytest.raises(Denied, match="password"):
                await agent.open()


async def test_a_server_that_is_not_there_is_not_waited_for():
    server = Server()
    server.status = 503
    async with open_app() as app:
        session = app.bench.begin_session("robo", "opencode")
        async with OpenCodeConnector(
            app.bench, session, url="http://opencode.test", transport=server, timings=OpenCodeTimings(join=0.05)
        ) as agent:
            with pytest.raises(TimedOut, match="does not answer"):
                await agent.open()


class Heard:
    """Remembers what a telling tells."""

    def __init__(self) -> None:
        self.text = ""
        self.commands: list[str] = []

    def say(self, text: str, message: str, *, done: bool = False) -> None:
        self.text += text

    def think(self, text: str, message: str) -> None:
        raise AssertionError("there are no thoughts")

    def step(self, message: str, tool: str, status: str, title: str, input: Any, output: str) -> None:
        raise AssertionError("there are no steps")

    def take(self, message: str, commands: list[dict[str, Any]], dropped: list[Any]) -> None:
        self.commands += [command["cmd"] for command in commands]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([LIST, "a", "%%", "%%O", "`", "\n", "100%% ", "%%OS{"]), max_size=8), st.data())
def test_however_a_text_is_told_it_is_heard_once(parts, data):
    text = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    whole, cut = Heard(), Heard()
    for heard, places in ((whole, []), (cut, cuts)):
        telling = OpenCodeEvents(SES, heard)
        telling.event(
            {"type": "message.updated", "properties": {"info": {"id": "m", "role": "assistant", "sessionID": SES}}}
        )

        def tell(said: str, telling: OpenCodeEvents = telling, **time: int) -> None:
            part = {"id": "p", "messageID": "m", "sessionID": SES, "type": "text", "text": said, "time": time}
            telling.event({"type": "message.part.updated", "properties": {"part": part}})

        tell("")
        for start, end in zip([0, *places], places, strict=False):
            delta = {"sessionID": SES, "messageID": "m", "partID": "p", "field": "text", "delta": text[start:end]}
            telling.event({"type": "message.part.delta", "properties": delta})
        tell(text, end=1)
        telling.catch_up(
            [{"info": {"id": "m", "role": "assistant"}, "parts": [{"id": "p", "type": "text", "text": text}]}]
        )
        telling.end()
    assert (cut.text, cut.commands) == (whole.text, whole.commands)
    # In code, and behind another percent sign, it is text.
    assert LIST not in cut.text or "`" in text or f"%{LIST}" in text


def gateway(**more: str) -> Gateway:
    return Gateway("http://127.0.0.1:1/", "secret-token", "m", **more)


def test_its_configuration_leads_to_our_proxy_only():
    made: Any = config(gateway(family="gemini"))
    assert made["enabled_providers"] == ["fourhands"]
    provider = made["provider"]["fourhands"]
    assert provider["options"] == {"baseURL": "http://127.0.0.1:1/v1beta", "apiKey": "secret-token"}
    with pytest.raises(BadArgument, match="no model interface 'x'"):
        config(gateway(family="x"))


async def test_a_server_is_started_with_private_files_and_ended_with_its_children(tmp_path):
    fake = tmp_path / "fake"
    fake.write_text(
        '#!/bin/sh\nenv > "$XDG_DATA_HOME.env"\necho "$@" > args\ntrap "" TERM\nsleep 1000 &\n'
        "echo opencode server listening on http://127.0.0.1:4096\nwait\nwait\n"
    )
    fake.chmod(0o700)
    private = tmp_path / "private"
    base = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "OPENAI_API_KEY": "sk-not-for-agents"}
    async with started([str(fake)], gateway(), cwd=str(tmp_path), private=private, base=base) as address:
        assert address.url == "http://127.0.0.1:4096"
        assert len(address.password) > 20
        env = (private / "data.env").read_text()
        assert "sk-not-for-agents" not in env
        assert f"OPENCODE_SERVER_PASSWORD={address.password}" in env
        assert (private / "opencode.json").stat().st_mode & 0o777 == 0o600
        assert "secret-token" not in (tmp_path / "args").read_text()
    assert not private.exists()


@pytest.mark.parametrize("own", [False, True])
async def test_a_server_asks_before_it_acts_and_knows_nothing_of_ours(tmp_path, own):
    fake = tmp_path / "fake"
    fake.write_text(f"#!/bin/sh\nenv > {tmp_path}/env\necho opencode server listening on http://127.0.0.1:4096\nwait\n")
    fake.chmod(0o700)
    base = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "FOURHANDS_SECRET": "of-ours", "OPENCODE_PERMISSION": "{}"}
    way = gateway() if own else None
    async with started([str(fake)], way, cwd=str(tmp_path), private=tmp_path / "private", base=base):
        env = dict(line.partition("=")[::2] for line in (tmp_path / "env").read_text().splitlines())
    assert not [name for name in env if name.startswith("FOURHANDS_")]
    asked = json.loads(env["OPENCODE_PERMISSION"])
    assert {asked[what] for what in ("bash", "edit", "webfetch")} == {"ask"}


async def test_a_server_that_cannot_start_says_why(tmp_path):
    options: Any = {"cwd": str(tmp_path), "private": tmp_path / "private", "base": {"PATH": "/usr/bin:/bin"}}
    with pytest.raises(CommandNotFound, match="not found: '/nowhere/opencode'"):
        async with started(["/nowhere/opencode"], gateway(), **options):
            pass
    with pytest.raises(Unavailable, match="ended before it was ready") as caught:
        async with started(["sh", "-c", "echo broken config"], gateway(), **options):
            pass
    assert "broken config" in caught.value.hint


TOOL = Tool("bash", {"command": "echo made by hand > made.txt; cat made.txt", "description": "make a file"})


def script(request: Request) -> Said:
    """The story; then it makes a file by a tool of OpenCode's own."""
    if not request.body.get("tools"):
        return Said("A title")
    said = story.story(request)
    if said.whole == "Done." and not request.says("made by hand\\n"):
        return Said("", tools=[TOOL])
    return said


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("provider", ["local", "bubblewrap"])
@pytest.mark.parametrize("own", [False, True], ids=["proxy", "its own model"])
async def test_a_real_opencode_acts_learns_of_its_mistake_and_asks_at_the_workbench(own, provider):
    program, profile = opencode(), recipes()["opencode"].sandbox
    async with stage(script) as s:
        s.session.state = msgspec.structs.replace(s.session.state, provider=provider)
        story.prepare(s.root)
        s.app.questions.attend()
        options: dict[str, Any] = {"gateway": Gateway(s.url, s.token, "fake")}
        if own:  # as a person has configured it, in their own home
            made = json.dumps(config(Gateway(s.model.url, "none", "fake")))
            home = Path(s.app.terminals.env["HOME"])
            (home / ".config" / "opencode").mkdir(parents=True)
            (home / ".config" / "opencode" / "opencode.json").write_text(made)
            env = s.app.terminals.env
            assert isinstance(env, dict)
            env |= {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}
            named = AgentSettings(allowed_hosts=(f"{THIS_MACHINE}:{s.model.url.rpartition(':')[2]}",))
            s.app.bench.settings.agents[s.session.name] = named
            options = {"briefing": s.server.hub.briefing, "model": "fourhands/fake"}
        agent = OpenCodeConnector(s.app.bench, s.session, command=[program], profile=profile, **options)
        said: list[str] = []
        done = asyncio.Event()

        def hear(event: Event) -> None:
            if event.kind == "agent.said":
                said.append(str(event.data["text"]))
            elif event.kind == "question.asked":
                id = str(event.data["id"])
                asyncio.get_running_loop().call_soon(s.app.questions.answer, id, Answer(choice="once"), Actor.person())
            elif event.kind == "agent.failed":
                said.append(f"FAILED {event.data}")
            elif event.kind == "agent.changed" and event.data["status"] == "idle":
                done.set()

        async with asyncio.timeout(200), agent:
            await agent.open()
            s.app.events.published.subscribe(hear)
            await s.app.bench.prompt(s.session, f"please go, and never {LIST}")
            await done.wait()
        await story.check(s.app, s.session, "".join(said))
        assert (s.root / "made.txt").read_text() == "made by hand\n"
        assert s.app.bench.describe_session(s.session).isolation == ("none" if provider == "local" else "sandbox")
        assert s.app.bench.network.open_ports() == []  # whoever reaches its port commands it
        turns = [request for request in s.model.requests if request.body.get("tools")]
        assert [request.says("# Fourhands workbench") for request in turns] == [True] * 5
