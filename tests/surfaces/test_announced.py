"""Commands that a program outside announces, in the source's words: called by every door, answered from outside."""

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from tests.kit.agree import run_cli
from tests.kit.person import Person
from tests.kit.server import Caller, Served, serve_app
from tests.kit.workbench import open_app

from fourhands.agents.blocks.runner import BlockRunner
from fourhands.app import App
from fourhands.core.call import Actor, Call
from fourhands.surfaces.mcp.tools import Tools
from fourhands.surfaces.server import ServerLimits, serving

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(60)]

ID = "openspace.presentation.create"
# Literally as the source has it.
MANIFEST = {
    "version": "1.0.0",
    "commands": [
        {
            "id": ID,
            "name": "Create Presentation",
            "description": "Create a presentation from slides.",
            "category": "presentation",
            "arguments_schema": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Where to."},
                    "slides": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["path"],
            },
            "handler": "PresentationCommandContribution",
        },
        {"id": "openspace.whiteboard.wipe", "name": "Wipe", "description": "Wipe it."},
    ],
    "lastUpdated": "2026-02-17T10:00:00Z",
}
ARGS: dict[str, object] = {"path": "deck.md", "slides": ["Größe"]}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served() -> AsyncIterator[Served]:
    async with serve_app() as running, running.client() as client:
        assert (await client.post("/openspace/manifest", json=MANIFEST)).json() == {"success": True}
        yield running


def start(app: App, call: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
    """Begin a call, which waits for the test to answer it."""
    return app.tasks.start(call, "a call")


def outcome(request: dict[str, Any], **result: object) -> dict[str, object]:
    """A result as the source posts it: without the call's id."""
    return {
        "sessionId": request["sessionId"],
        "commandId": request["commandId"],
        "result": {"success": True, **result},
        "timestamp": "2026-02-17T10:00:01Z",
    }


async def request(outside: Caller) -> dict[str, Any]:
    data: dict[str, Any] = (await outside.event("command.requested"))["data"]
    return data


async def test_a_person_calls_one_by_http_and_the_answer_comes_from_outside(served: Served) -> None:
    async with served.client() as client, served.caller() as outside:
        calling = start(served.app, client.post(f"/api/commands/{ID}", json=ARGS))
        asked = await request(outside)
        assert (asked["commandId"], asked["sessionId"], asked["args"]) == (ID, "cli", ARGS)
        assert asked["timeoutSeconds"] == 30
        posted = await client.post(
            "/openspace/command-results", json=outcome(asked, output="made", data={"slides": 1}, executionTime=12)
        )
        assert posted.json() == {"success": True, "callId": asked["callId"]}
        answer = await calling
        assert answer.json() == {"success": True, "output": "made", "data": {"slides": 1}, "executionTime": 12.0}
        [entry] = [e for e in await served.app.journal.query(limit=5) if e.call.id == asked["callId"]]
        assert entry.result is not None
        assert entry.result.success

        again = await client.post("/openspace/command-results", json={**outcome(asked), "callId": asked["callId"]})
        assert (again.status_code, again.json()["code"]) == (404, "not-found"), "it has its answer"


async def test_two_calls_at_once_are_answered_by_their_ids_or_else_the_oldest_first(served: Served) -> None:
    async with served.client() as client, served.caller() as outside:
        calls: list[asyncio.Task[Any]] = []
        asked = []
        for name in ("one", "two", "three"):
            calls.append(start(served.app, client.post(f"/api/commands/{ID}", json={"path": name})))
            asked.append(await request(outside))
        waiting = (await client.get("/openspace/command-requests")).json()["requests"]
        assert [one["args"]["path"] for one in waiting] == ["one", "two", "three"]
        for wrong in ({"commandId": "openspace.whiteboard.wipe"}, {"callId": "nobody"}):
            body = {**outcome(asked[1]), "callId": asked[1]["callId"], **wrong}
            assert (await client.post("/openspace/command-results", json=body)).status_code == 404
        third = {**outcome(asked[2], output="3"), "callId": asked[2]["callId"]}
        await client.post("/openspace/command-results", json=third)
        await client.post("/openspace/command-results", json=outcome(asked[0], output="1"))
        await client.post("/openspace/command-results", json=outcome(asked[0], output="2"))
        assert [(await call).json()["output"] for call in calls] == ["1", "2", "3"]
        # A result for which nobody waits is news, as it always was.
        assert (await client.post("/openspace/command-results", json=outcome(asked[0]))).json() == {"success": True}


async def test_arguments_are_checked_before_anybody_is_asked(served: Served) -> None:
    async with served.client() as client:
        for args, problem in (
            ({}, "missing argument path"),
            ({"path": 5}, "must be text"),
            ({"pth": ""}, "no argument"),
        ):
            answer = await client.post(f"/api/commands/{ID}", json=args)
            assert answer.status_code == 400
            assert problem in answer.json()["error"]
        odd = await served.app.call(ID, {"path": "\ud800"})
        assert (odd.code, "as JSON" in odd.error) == ("bad-argument", True)
        huge = await client.post(f"/api/commands/{ID}", json={"path": "x" * 300_000})
        assert (huge.status_code, huge.json()["code"]) == (429, "limit")
        assert (await client.get("/openspace/command-requests")).json() == {"success": True, "requests": []}


async def test_a_failure_outside_is_the_calls_failure(served: Served) -> None:
    async with served.client() as client, served.caller() as outside:
        calling = start(served.app, client.post("/api/commands/openspace.whiteboard.wipe", json={"any": "thing"}))
        asked = await request(outside)
        failed = {"success": False, "error": "no whiteboard is open", "data": {"open": []}}
        await client.post("/openspace/command-results", json=outcome(asked, **failed))
        answer = await calling
        assert answer.status_code == 502
        assert {"error": "no whiteboard is open", "code": "failed-outside"}.items() <= answer.json().items()
        assert answer.json()["data"] == {"data": {"open": []}}


async def test_a_program_without_a_socket_asks_for_calls_and_waits_for_one(served: Served) -> None:
    async with served.client() as client, served.client() as outside:
        waiting = start(served.app, outside.get("/openspace/command-requests", params={"waitSeconds": 60}))
        calling = start(served.app, client.post("/api/commands/openspace.whiteboard.wipe"))
        [asked] = (await waiting).json()["requests"]
        await outside.post("/openspace/command-results", json=outcome(asked))
        assert (await calling).json() == {"success": True, "output": None, "data": None, "executionTime": None}
        for wrong in ("-1", "61", "x", "1.5", "²"):
            answer = await outside.get("/openspace/command-requests", params={"waitSeconds": wrong})
            assert answer.status_code == 400, wrong


async def test_an_agents_call_is_asked_about_told_to_no_other_agent_and_its_answer_reaches_the_model(
    served: Served,
) -> None:
    app = served.app
    session, token = served.agent("Ada")
    _, other = served.agent("Bob")
    person = Person(app)
    found = app.bench.sessions.find(session)
    assert found is not None
    runner = BlockRunner(app.bench, found, app.tasks)
    async with served.client() as client, served.caller() as outside, served.caller(token=other) as stranger:
        runner.run([{"cmd": ID, "args": ARGS}], "answer-1")
        question = await person.question()
        assert (question.level, question.shown) == (
            "unknown",
            f"{ID} {json.dumps(ARGS, ensure_ascii=False)}",
        )
        person.answer(question, "session")
        asked = await request(outside)
        assert asked["sessionId"] == session
        await client.post("/openspace/command-results", json=outcome(asked, output="first line\nsecond line"))
        await runner.finished()
        assert found.untold[-1].data == {"output": "first line\nsecond line", "data": None, "executionTime": None}
        # What was allowed for the session is not asked about again, and an agent may not answer for a program outside.
        runner.run([{"cmd": ID, "args": {"path": "other"}}], "answer-2")
        asked = await request(outside)
        async with served.client(token) as agent:
            refused = await agent.post("/openspace/command-results", json=outcome(asked))
            assert refused.status_code == 403
        await app.call("openspace.agent.stop", {"sessionId": session})
        gone = await outside.event("command.withdrawn")
        assert (gone["data"]["callId"], gone["data"]["reason"]) == (asked["callId"], "cancelled")
        await runner.finished()
        await stranger.call("openspace.pane.list")
        assert not [event for event in stranger.events if event["kind"].startswith("command.")]
    person.leave()


async def test_what_is_said_to_be_dangerous_is_asked_about_each_time_and_actors_are_heeded(served: Served) -> None:
    commands = [
        {"id": "openspace.demo.erase", "danger": True, "readOnly": True},
        {"id": "openspace.demo.mine", "actors": ["person"]},
    ]
    app = served.app
    session, _ = served.agent("Cleo")
    actor = Actor.agent(session, "Cleo")
    person = Person(app)
    async with served.client() as client:
        assert (await client.post("/openspace/manifest", json={"commands": commands})).json() == {"success": True}
        denied = await app.gate.run(Call(command="openspace.demo.mine", actor=actor))
        assert denied.code == "denied"
        calling = start(served.app, app.gate.run(Call(command="openspace.demo.erase", actor=actor)))
        question = await person.question()
        assert (question.level, question.options) == ("dangerous", ("once", "deny"))
        person.answer(question, "deny")
        assert (await calling).code == "denied"
        gone = await client.delete(
            "/openspace/manifest", params={"id": ["openspace.demo.erase", "openspace.demo.mine"]}
        )
        assert gone.json() == {"success": True, "commands": ["openspace.demo.erase", "openspace.demo.mine"]}
        assert (await client.post("/api/commands/openspace.demo.erase")).status_code == 404
        assert (await client.delete("/openspace/manifest", params={"id": "openspace.demo.erase"})).status_code == 404
    person.leave()


async def test_it_is_a_tool_a_path_a_line_of_help_and_a_word_on_the_command_line(served: Served) -> None:
    tools = Tools(served.app.registry)
    tool = next(tool for tool in tools.list(["all"]) if tool.name == "openspace_presentation_create")
    tools.close()
    assert tool.input_schema["required"] == ["path"]
    assert tool.annotations is not None
    assert not tool.annotations.read_only_hint
    async with served.client() as client, served.caller() as outside:
        document = (await client.get("/api/openapi.json")).json()
        assert f"/api/commands/{ID}" in document["paths"]
        told = (await client.get("/openspace/instructions")).text
        assert f"- {ID}(path, slides?): Create a presentation from slides." in told
        words = ["call", ID, "path=deck.md", "--workspace", served.places.workspace]
        calling = start(served.app, asyncio.to_thread(run_cli, words, served.env))
        asked = await request(outside)
        await client.post("/openspace/command-results", json=outcome(asked, output="from the command line"))
        assert "from the command line" in (await calling).stdout
    help = await served.app.call("openspace.agent.help", {"command": ID})
    assert "- path (text, required): Where to." in str(help.data["text"])


async def test_nobody_answers_and_the_error_says_how_answers_are_given() -> None:
    async with (
        serve_app(limits=ServerLimits(answer_s=0.05)) as served,
        served.client() as client,
        served.caller() as outside,
    ):
        assert (await client.post("/openspace/manifest", json=MANIFEST)).json() == {"success": True}
        answer = await client.post("/api/commands/openspace.whiteboard.wipe")
        assert (answer.status_code, answer.json()["code"]) == (504, "timeout")
        assert "no program answered openspace.whiteboard.wipe within 0.05 s" in answer.json()["error"]
        assert "POST /openspace/command-results" in answer.json()["hint"]
        assert (await outside.event("command.withdrawn"))["data"]["reason"] == "timeout"
        late = {**outcome(await request(outside)), "callId": answer.json()["data"]["callId"]}
        assert (await client.post("/openspace/command-results", json=late)).status_code == 404


async def test_a_page_is_told_the_version_that_it_then_reads(served: Served) -> None:
    async with served.client() as client, served.caller() as page:
        assert page.hello["manifest"] == (await client.get("/openspace/manifest")).json()["version"]


async def test_the_next_server_has_them_and_their_calls_are_answered() -> None:
    async with open_app() as app:
        async with serving(app.bench, app.tasks, port=0) as first:
            first.hub.post_manifest(MANIFEST)
            waiting = start(app, first.hub.requests(60))
        assert await waiting == [], "the end of the server ends the wait"
        assert ID not in app.registry, "nobody can answer while there is no server"
        async with serving(app.bench, app.tasks, port=0) as second:
            calling = start(app, app.call(ID, ARGS))
            [asked] = await second.hub.requests(40)
            second.hub.post_result(outcome(msgspec.to_builtins(asked), output="again"))
            assert (await calling).data["output"] == "again"
