"""Tasks in the newer generation (2026-07-28): long calls become tasks of clients that take them, by an extension."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import MCPError
from mcp_types import SubscriptionFilter, SubscriptionsListenRequest, SubscriptionsListenRequestParams
from mcp_types import SubscriptionsListenResult as Listened
from tests.kit.agree import agreeable_person
from tests.kit.mcp_client import Form, chosen, connected, text, until
from tests.kit.mcp_tasks import Held, Sleeper, ask, with_extension
from tests.kit.person import Person
from tests.kit.server import Served, serve_app

from fourhands.app import App
from fourhands.surfaces.mcp.limits import McpLimits
from fourhands.surfaces.mcp.task_forms import EXTENSION, RELATED
from fourhands.surfaces.server import ServerLimits

SOON = McpLimits(task_after_s=0.05)
HANDLE = {"resultType", "taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs"}


async def code_of(doing: Any) -> int:
    """The code of the protocol's error that this ends with."""
    with pytest.raises(MCPError) as caught:
        await doing
    return caught.value.error.code


async def ended(get: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
    """A task once it has ended."""
    async with asyncio.timeout(40):
        while True:
            seen = await get()
            if seen["status"] not in ("working", "input_required"):
                return seen
            await asyncio.sleep(0.02)


async def test_a_call_that_takes_long_becomes_a_task_and_a_short_one_does_not(app: App) -> None:
    held = Held(app)
    async with with_extension(app, limits=McpLimits(task_after_s=1000.0)) as (client, takes):
        assert EXTENSION in (client.server_capabilities.extensions or {})
        assert client.server_capabilities.tasks is None
        assert not [tool for tool in (await client.list_tools()).tools if tool.execution]
        assert text(await client.call_tool("bash", {"command": "echo hi"})).startswith("hi\nexit 0")
        assert not takes.handles
    async with with_extension(app, limits=SOON) as (client, takes):
        async with asyncio.TaskGroup() as group:
            call = group.create_task(client.call_tool("bash", held.args))
            await until(lambda: bool(takes.handles), app)
            id = takes.handles[0].task_id
            await held.let_go()
        assert text(call.result()).startswith("late\nexit 0")
        assert takes.states[-1] == "completed"
        assert takes.handles[0].ttl_ms == 3_600_000
        seen = await ask(client.session, "tasks/get", id)
        assert HANDLE - {"pollIntervalMs"} <= set(seen)
        assert (seen["resultType"], seen["status"], seen["result"]["isError"]) == ("complete", "completed", False)
        assert RELATED not in str(seen)
        assert "requestState" not in str(seen)


async def test_a_client_that_takes_no_tasks_gets_none_and_may_not_ask_about_any(app: App) -> None:
    held = Held(app)
    async with connected(app, "auto", limits=McpLimits(task_after_s=0.0)) as client:
        async with asyncio.TaskGroup() as group:
            call = group.create_task(client.call_tool("bash", held.args))
            await until(lambda: app.gate.pending(next(iter(app.bench.sessions)).id) == 1, app)
            await held.let_go()
        assert text(call.result()).startswith("late\nexit 0")
        for method in ("tasks/get", "tasks/cancel"):
            assert await code_of(ask(client.session, method, "x")) == -32021
        assert await code_of(ask(client.session, "tasks/update", "x", inputResponses={})) == -32021
        assert await code_of(listening(client, ["x"])) == -32021
        for method in ("tasks/result", "tasks/list"):
            assert await code_of(ask(client.session, method, "x")) == -32601


def listening(client: Any, ids: object) -> Any:
    """A stream of news about tasks, until it ends."""
    named = SubscriptionFilter.model_validate({"taskIds": ids})
    request = SubscriptionsListenRequest(params=SubscriptionsListenRequestParams(notifications=named))
    return client.session.send_request(request, Listened)


async def test_cancelling_a_task_ends_its_program_and_is_acknowledged_each_time(app: App) -> None:
    sleeper = Sleeper(app)
    async with with_extension(app, limits=SOON) as (client, takes), with_extension(app, name="other") as (other, _):
        with agreeable_person(app):
            handle = await client.session.call_tool("bash", sleeper.args, allow_claimed=True)
            await sleeper.running()
        id = handle.task_id  # type: ignore[union-attr]  # the extension's
        for session in (other.session, client.session):
            unknown = id if session is other.session else "nothing"
            assert await code_of(ask(session, "tasks/get", unknown)) == -32602
            assert await code_of(ask(session, "tasks/cancel", unknown)) == -32602
            assert await code_of(ask(session, "tasks/update", unknown, inputResponses={})) == -32602
        assert await code_of(ask(client.session, "tasks/update", id, inputResponses=5)) == -32602
        assert (await ask(client.session, "tasks/get", id))["status"] == "working"
        for _ in range(2):
            assert set(await ask(client.session, "tasks/cancel", id)) - {"_meta"} == {"resultType"}
        await sleeper.gone()
        seen = await ask(client.session, "tasks/get", id)
        assert (seen["status"], "result" in seen) == ("cancelled", False)
        assert not takes.states


async def test_a_tools_error_is_a_completed_task(app: App) -> None:
    async with with_extension(app, limits=SOON) as (client, takes):
        session = next(iter(app.bench.sessions)).id
        app.gate.pause(session)
        async with asyncio.TaskGroup() as group:
            call = group.create_task(client.call_tool("bash", {"command": "rm -f nothing"}))
            await until(lambda: bool(takes.handles), app)
            app.gate.resume(session)
        assert (call.result().is_error, "code: no-answer" in text(call.result())) == (True, True)
        assert takes.states[-1] == "completed"


async def test_questions_come_before_the_task_or_stand_in_it(app: App) -> None:
    build, held = Path(app.bench.root, "build"), Held(app)
    build.mkdir()
    form = Form(chosen("once"))
    async with with_extension(app, form, limits=SOON) as (client, takes):
        async with asyncio.TaskGroup() as group:
            call = group.create_task(client.call_tool("bash", {"command": "rm -rf build; cat go"}))
            await until(lambda: bool(takes.handles), app)
            assert len(form.asked) == 1  # by the answer to the call itself
            await held.let_go()
        assert not call.result().is_error
        assert not build.exists()
        app.gate.pause(next(iter(app.bench.sessions)).id)  # what is asked then is asked late
        form.answers += [chosen("deny", "I need it")]
        async with asyncio.TaskGroup() as group:
            call = group.create_task(client.call_tool("bash", {"command": "rm -rf build"}))
            await until(lambda: len(takes.handles) == 2, app)
            app.gate.resume(next(iter(app.bench.sessions)).id)
        assert "I need it" in text(call.result())
        assert takes.states[-2:] == ["input_required", "completed"]
        assert "rm -rf build" in form.asked[1]


async def test_what_the_page_is_asked_is_told_as_work(app: App) -> None:
    browser = Person(app)
    async with with_extension(app, limits=SOON) as (client, takes):
        async with asyncio.TaskGroup() as group:
            call = group.create_task(client.call_tool("bash", {"command": "rm -f nothing"}))
            question = await browser.question()
            await until(lambda: bool(takes.handles), app)
            seen = await ask(client.session, "tasks/get", takes.handles[0].task_id)
            assert (seen["status"], "waiting for the person" in seen["statusMessage"]) == ("working", True)
            answers = {question.id: {"action": "accept", "content": {"decision": "once"}}}
            assert await ask(client.session, "tasks/update", takes.handles[0].task_id, inputResponses=answers)
            assert app.questions.open()  # who shows no forms does not answer
            browser.answer(question, "once")
        assert not call.result().is_error


async def test_answers_that_are_none_are_refused_and_those_of_others_passed_over(app: App) -> None:
    async with with_extension(app, Form(), limits=SOON) as (client, _):
        session = next(iter(app.bench.sessions)).id
        app.gate.pause(session)
        handle: Any = await client.session.call_tool("bash", {"command": "rm -f nothing"}, allow_claimed=True)
        app.gate.resume(session)
        id = handle.task_id
        await until(lambda: bool(app.questions.open()), app)
        [asked] = (await ask(client.session, "tasks/get", id))["inputRequests"]
        await ask(client.session, "tasks/update", id, inputResponses={"other": 5, "question_1": {"action": "accept"}})
        for wrong in (5, None, {}, {"action": "perhaps"}, {"action": ["accept"]}):
            assert await code_of(ask(client.session, "tasks/update", id, inputResponses={asked: wrong})) == -32602
        assert (await ask(client.session, "tasks/get", id))["status"] == "input_required"
        given = {"action": "accept", "content": {"decision": "once"}}
        for _ in range(2):
            assert set(await ask(client.session, "tasks/update", id, inputResponses={asked: given})) <= {
                "resultType",
                "_meta",
            }
        seen = await ended(lambda: ask(client.session, "tasks/get", id))
        assert not seen["result"]["isError"]


async def test_a_stream_tells_how_the_tasks_are_that_its_client_names(app: App) -> None:
    held = Held(app)
    async with with_extension(app, limits=SOON) as (client, takes):
        handle: Any = await client.session.call_tool("bash", held.args, allow_claimed=True)
        assert await code_of(listening(client, "all")) == -32602
        assert await code_of(listening(client, [5])) == -32602
        async with asyncio.TaskGroup() as group:
            stream = group.create_task(listening(client, [handle.task_id, "another"]))
            async with asyncio.timeout(40):
                first = await takes.told.get()
                assert (first["taskId"], first["status"]) == (handle.task_id, "working")
                await held.let_go()
                last = await takes.told.get()
            assert last["status"] == "completed"
            assert last["result"]["content"][0]["text"].startswith("late\nexit 0")
            assert "io.modelcontextprotocol/subscriptionId" in last["_meta"]
            stream.cancel()


# -- over HTTP ------------------------------------------------------------------------------------------------------


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with serve_app(limits=ServerLimits(mcp=McpLimits(task_after_s=0.05, idle_s=0.3))) as served:
        yield served


def envelope(method: str, name: str, params: dict[str, Any], *, tasks: bool = True) -> dict[str, Any]:
    """A request of the newer generation as it is sent."""
    known: dict[str, Any] = {"extensions": {EXTENSION: {}}} if tasks else {}
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": known,
    }
    headers = {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        "mcp-name": name,
        "accept": "application/json, text/event-stream",
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    return {"json": body, "headers": headers}


async def sent(http: httpx.AsyncClient, method: str, name: str, params: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The answer to such a request."""
    asked = envelope(method, name, params, **more)
    answer = await http.post("/mcp", **asked)
    data = answer.text.rpartition("data: ")[2] if answer.headers["content-type"].startswith("text/e") else answer.text
    return dict(httpx.Response(200, text=data).json())


async def test_a_task_is_found_again_over_http_by_its_token_and_its_name_in_the_header(served: Served) -> None:
    _, token = served.agent("ci")
    held = Held(served.app)
    call = {"name": "bash", "arguments": held.args}
    async with served.client(token) as http:
        made = (await sent(http, "tools/call", "bash", call))["result"]
        assert (set(made) - {"_meta"}, made["status"]) == (HANDLE, "working")
        id = made["taskId"]
    async with served.client(token) as http, served.client(served.agent("other")[1]) as other:
        assert (await sent(http, "tasks/get", id, {"taskId": id}))["result"]["status"] == "working"
        wrong = await sent(http, "tasks/get", "another", {"taskId": id})
        assert (wrong["error"]["code"], "Mcp-Name" in wrong["error"]["message"]) == (-32020, True)
        unnamed = envelope("tasks/get", id, {"taskId": id})
        del unnamed["headers"]["mcp-name"]
        refused = await http.post("/mcp", **unnamed)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32020)
        assert (await sent(other, "tasks/get", id, {"taskId": id}))["error"]["code"] == -32602
        plain = await sent(http, "tasks/get", id, {"taskId": id}, tasks=False)
        assert plain["error"]["data"] == {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
        await held.let_go()

        async def get() -> dict[str, Any]:
            return dict((await sent(http, "tasks/get", id, {"taskId": id}))["result"])

        assert (await ended(get))["result"]["content"][0]["text"].startswith("late\nexit 0")


async def test_a_quiet_client_is_kept_while_its_task_works(served: Served) -> None:
    held = Held(served.app)
    async with served.client() as http:  # with the person's own token a session goes with its client
        made = await sent(http, "tools/call", "bash", {"name": "bash", "arguments": {"command": "true"}})
        assert "error" not in made
        served.app.gate.consent.grant(next(iter(served.app.bench.sessions)).id)
        made = await sent(http, "tools/call", "bash", {"name": "bash", "arguments": held.args})
        assert made["result"]["resultType"] == "task"
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.0), asyncio.TaskGroup() as group:  # much longer than it may be quiet
                group.create_task(until(lambda: len(served.app.bench.sessions) == 0, served.app))
        await held.let_go()
        await until(lambda: len(served.app.bench.sessions) == 0, served.app)
