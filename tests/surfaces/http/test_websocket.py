import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.kit.memory import resident
from tests.kit.server import LIMIT_S, Raw, Served, serve_app, until
from websockets.exceptions import ConnectionClosed, InvalidStatus

from fourhands.core.call import Actor, Call
from fourhands.core.event import LIMIT_BYTES, Event
from fourhands.surfaces.http.access import AccessLimits
from fourhands.surfaces.http.websocket import MESSAGE_LIMIT
from fourhands.surfaces.server import ServerLimits
from fourhands.surfaces.transport import ServerTimeouts

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def nobody_attends(served: Served) -> None:
    """Wait until whoever attended in an earlier test has gone for the server, too."""
    await until(lambda: served.app.questions.audience() == 0)


async def test_hello_says_who_and_where(served: Served) -> None:
    async with served.person() as person:
        assert person.hello["actor"]["kind"] == "person"
        assert person.hello["workspace"] == served.places.workspace
    async with served.caller() as person:
        assert person.hello["actor"] == {"kind": "program", "id": "cli", "name": "cli"}
        assert person.hello["workspace"] == served.places.workspace
        assert person.hello["manifest"] == served.app.registry.version
    session, token = served.agent()
    async with served.caller(token=token) as agent:
        assert agent.hello["actor"] == {"kind": "agent", "id": session, "name": "Ada"}
        assert agent.hello["workspace"] == "."


async def test_a_long_wait_does_not_hold_up_others(served: Served) -> None:
    terminal = await served.terminal("/bin/sh", "-c", "read x; echo done; read x")
    async with served.caller() as caller:
        args = {"terminalId": terminal.id, "pattern": "done", "deadlineSeconds": 40}
        waiting = await caller.send("openspace.terminal.wait", args)
        for _ in range(20):
            assert (await caller.call("openspace.pane.list"))["success"]
        assert waiting not in caller.answers
        assert (await caller.call("openspace.terminal.send", {"terminalId": terminal.id, "text": "\n"}))["success"]
        assert (await caller.answer(waiting))["reason"] == "pattern"
    await terminal.close()


async def test_everybody_is_told_what_changed(served: Served) -> None:
    served_path = "told.txt"
    await served.app.call("openspace.file.write", {"path": served_path, "content": "x"})
    async with served.caller() as one, served.caller() as two:
        opened = await one.call("openspace.editor.open", {"path": served_path})
        assert opened["success"]
        event = await two.event("call.finished")
        while event["data"]["command"] != "openspace.editor.open":
            event = await two.event("call.finished")
        assert event["actor"]["kind"] == "program"
        changed = [event for event in two.events if event["revision"] is not None]
        assert changed


async def test_what_a_call_did_is_known_before_its_answer(served: Served) -> None:
    await served.app.call("openspace.file.write", {"path": "known.txt", "content": "x"})
    async with served.caller() as caller:
        for command in ("openspace.editor.open", "openspace.editor.close") * 5:
            caller.events.clear()
            assert (await caller.call(command, {"path": "known.txt"}))["success"]
            kinds = [event["kind"] for event in caller.events if event["data"].get("command") in (None, command)]
            assert kinds.index("call.started") < kinds.index("call.finished")
            assert served.app.bench.state.rev in [event["revision"] for event in caller.events]


async def test_a_slow_reader_finds_a_marker_and_takes_a_snapshot(served: Served) -> None:
    async with served.dial("/ws", max_queue=1) as socket:
        assert "hello" in json.loads(await socket.recv())
        filler = "x" * 100_000
        before = resident()
        for number in range(400):
            served.app.events.publish(Event(kind="test.filled", data={"number": number, "filler": filler}))
            await asyncio.sleep(0)
        assert resident() - before < 4 * LIMIT_BYTES + 8_000_000
        kinds: list[str] = []
        async with asyncio.timeout(LIMIT_S):
            while "events.missed" not in kinds:
                kinds.append(json.loads(await socket.recv())["event"]["kind"])
            await socket.send(json.dumps({"id": 1, "command": "openspace.workbench.snapshot"}))
            while True:
                message = json.loads(await socket.recv())
                if message.get("id") == 1:
                    assert message["result"]["success"]
                    break
        assert len(kinds) < 400


async def test_an_agent_learns_only_of_its_own_questions_calls_and_words(served: Served) -> None:
    mine, token = served.agent("Mine")
    other, _ = served.agent("Other")
    events = served.app.events
    async with served.caller(token=token) as agent, served.caller() as person:
        for session in (other, mine):
            events.publish(Event(kind="question.asked", data={"session": session, "text": f"for {session}"}))
            events.publish(Event(kind="agent.said", data={"session": session, "text": f"by {session}"}))
            events.publish(Event(kind="agent.started", data={"session": {"id": session}}))
            events.publish(
                Event(
                    kind="call.finished", data={"command": "x", "ok": True, "durationMs": 1}, actor=Actor.agent(session)
                )
            )
        events.publish(Event(kind="file.changed", data={"path": ".env"}))
        events.publish(Event(kind="presence.changed", data={"browsers": 1}))
        events.publish(Event(kind="test.last", data={}))
        await agent.event("test.last")
        await person.event("test.last")
    told = json.dumps(agent.events)
    assert other not in told
    assert ".env" not in told
    assert [event["kind"] for event in agent.events] == [
        "question.asked",
        "agent.said",
        "agent.started",
        "call.finished",
    ]
    assert other in json.dumps(person.events)


async def test_a_browser_that_attends_is_counted_while_it_is_there(served: Served) -> None:
    await nobody_attends(served)
    _, token = served.agent()
    async with served.person() as one:
        assert one.hello["browsers"] == 1
        for credential in (token, served.token):  # neither an agent nor a program can answer
            async with served.caller(query="?attend=1", token=credential) as other:
                assert other.hello["browsers"] == 1
        async with served.person():
            while (await one.event("presence.changed"))["data"]["browsers"] != 2:
                pass
        while (await one.event("presence.changed"))["data"]["browsers"] != 1:
            pass


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def strict() -> AsyncIterator[Served]:
    """A server with few calls at once, that wants its pongs soon."""
    limits = ServerLimits(access=AccessLimits(calls=3), timeouts=ServerTimeouts(ping_s=0.2))
    async with serve_app(limits=limits) as running:
        yield running


async def test_too_many_calls_at_once_are_refused_by_their_ids(strict: Served) -> None:
    terminal = await strict.terminal("/bin/sh", "-c", "read x; read x")
    async with strict.caller() as caller:
        args = {"terminalId": terminal.id, "pattern": "never", "deadlineSeconds": 40}
        waits = [await caller.send("openspace.terminal.wait", args) for _ in range(4)]
        refused = await caller.answer(waits[-1])
        assert refused["code"] == "limit"
    await terminal.close()


async def test_calls_end_with_their_socket(served: Served) -> None:
    terminal = await served.terminal("/bin/sh", "-c", "read x; read x")
    session, token = served.agent()
    async with served.caller(token=token) as caller:
        args = {"terminalId": terminal.id, "pattern": "never", "deadlineSeconds": 600}
        await caller.send("openspace.terminal.wait", args)
        async with asyncio.timeout(LIMIT_S):
            while not served.app.gate.pending(session):
                await caller.receive()
    await until(lambda: not served.app.gate.pending(session))
    await terminal.close()


@pytest.mark.parametrize(
    ("message", "id"),
    [
        ("", None),
        ("nonsense", None),
        ("[]", None),
        ('"text"', None),
        ("{}", None),
        ('{"id": 5}', 5),
        ('{"id": "a", "command": 7}', "a"),
        ('{"id": 6, "command": "openspace.pane.list", "args": []}', 6),
        ('{"id": 7, "command": "openspace.pane.list", "other": 1}', 7),
        ('{"id": 1.5, "command": "openspace.pane.list"}', None),
        ('{"id": 8, "command": "openspace.pane.list", "args": ' + "[" * 5000 + "]" * 5000 + "}", None),
        ("[" * 500_000, None),
        (b"\xff\xfe\x00", None),
        (b"", None),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_a_bad_message_is_answered_and_the_socket_goes_on(
    served: Served, message: str | bytes, id: object
) -> None:
    async with served.caller() as caller:
        await caller.socket.send(message)
        answer = await caller.answer(id)
        assert answer["code"] == "bad-argument"
        assert (await caller.call("openspace.pane.list"))["success"]


async def test_an_unknown_command_names_the_nearest(served: Served) -> None:
    async with served.caller() as caller:
        answer = await caller.call("openspace.pane.lst")
        assert answer["success"] is False
        assert "openspace.pane.list" in answer["hint"]


async def test_a_message_too_long_ends_the_socket(served: Served) -> None:
    async with served.caller() as caller:
        await caller.socket.send(" " * (MESSAGE_LIMIT + 1))
        with pytest.raises(ConnectionClosed) as caught:
            await caller.answer(None)
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == 1009


async def test_a_binary_message_is_read_as_text(served: Served) -> None:
    async with served.caller() as caller:
        await caller.socket.send(b'{"id": 9, "command": "openspace.pane.list"}')
        assert (await caller.answer(9))["success"]


_leaf = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
_value = st.recursive(
    _leaf,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_READING = ["openspace.pane.list", "openspace.file.read", "openspace.terminal.read_output", "openspace.file.search"]
_requests = st.fixed_dictionaries(
    {"id": st.integers(), "command": st.sampled_from(_READING) | st.text(max_size=10)},
    optional={
        "args": st.dictionaries(st.sampled_from(["path", "lines", "terminalId", "query"]) | st.text(max_size=5), _value)
    },
)


async def test_no_message_crashes_and_memory_stays_bounded(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    messages: list[str | bytes] = []

    @settings(max_examples=150, database=None, suppress_health_check=list(HealthCheck))
    @given(st.one_of(_value.map(json.dumps), _requests.map(json.dumps), st.binary(max_size=60), st.text(max_size=60)))
    def collect(message: str | bytes) -> None:
        messages.append(message)

    collect()
    large = json.dumps({"id": 1, "command": "openspace.file.read", "args": {"path": "x" * 900_000}})
    before = resident()
    async with served.caller() as caller:
        for message in [*messages, *[large] * 40]:
            await caller.socket.send(message)
        await caller.socket.send(json.dumps({"id": "end", "command": "openspace.pane.list"}))
        while not (await caller.answer("end"))["success"]:
            await caller.socket.send(json.dumps({"id": "end", "command": "openspace.pane.list"}))
    assert resident() - before < 150_000_000
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_a_client_that_vanishes_leaves_nothing_behind(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    """Half a frame, a reset, silence after the upgrade: no error in the log, no task left."""
    cookie, key = await served.browser()
    head = (
        f"GET /ws?attend=1 HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nOrigin: http://127.0.0.1:{served.port}\r\n"
        f"Cookie: {cookie}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: fourhands, fourhands.key.{key}\r\n\r\n"
    )
    await nobody_attends(served)
    for rest in (
        b"",
        b"\x81",
        b"\x81\xfe\xff\xff" + b"x" * 100,
        b"\xff" * 50,
        b"\x81\x85\x00\x00\x00\x00\xff\xff\xff\xff\xff",
    ):
        async with await Raw.open(served.port) as raw:
            await raw.send(head.encode())
            assert (await raw.head()).startswith(b"HTTP/1.1 101")
            await raw.send(rest)
            raw.writer.transport.abort()
    await nobody_attends(served)
    bad = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert [record.getMessage() for record in bad if "Invalid UTF-8" not in record.getMessage()] == []


async def test_a_client_that_neither_reads_nor_answers_is_cut_off(strict: Served) -> None:
    served = strict
    await nobody_attends(served)
    cookie, key = await served.browser()
    head = (
        f"GET /ws?attend=1 HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nOrigin: {served.url}\r\nCookie: {cookie}\r\n"
        f"Sec-WebSocket-Protocol: fourhands, fourhands.key.{key}\r\n"
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    async with await Raw.open(served.port) as raw:
        raw.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a read transport, which it also is
        await raw.send(head.encode())
        await until(lambda: served.app.questions.audience() == 1)
        for _ in range(100):  # more than the connection takes: its end must not wait for that to be read
            served.app.events.publish(Event(kind="test.filled", data={"filler": "x" * 200_000}))
            await asyncio.sleep(0)
        await nobody_attends(served)


async def test_a_path_that_is_no_socket_refuses_the_upgrade(served: Served) -> None:
    for path in ("/", "/health", "/ws/", "/api/code", "/nothing"):
        with pytest.raises(InvalidStatus) as caught:
            async with served.dial(path):
                pass
        assert caught.value.response.status_code in (403, 404)


async def test_a_question_reaches_a_person_and_the_answer_comes_back(served: Served) -> None:
    session, _ = served.agent("Curious", consent=False)
    async with served.person() as person:
        actor = Actor.agent(session, "Curious")
        call = Call(command="openspace.pane.list", actor=actor, origin="python")
        async with asyncio.TaskGroup() as group:
            asked = group.create_task(served.app.gate.run(call))
            question = await person.event("question.asked")
            assert (await person.reply(question["data"], "session"))["success"]
        assert asked.result().success
    with contextlib.suppress(LookupError):
        await served.app.bench.end_session(session)
