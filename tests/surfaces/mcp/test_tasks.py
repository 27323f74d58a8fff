"""Calls that clients of the older generation (2025-11-25) run as tasks, over pipes and HTTP, and what keeps them."""

import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from mcp import MCPError
from mcp_types import CallToolResult, GetTaskResult, ListTasksResult
from tests.kit.agree import agreeable_person
from tests.kit.mcp_client import (
    Form,
    chosen,
    ended,
    holds,
    over_http,
    probes,
    text,
    until,
)
from tests.kit.mcp_tasks import HearsTasks, Held, Sleeper, Utility, with_utility
from tests.kit.npm_agents import installed
from tests.kit.person import Person
from tests.kit.server import Served, serve_app
from tests.surfaces.mcp.test_conformance import HOME
from tests.surfaces.mcp.test_notifications import Heard

from fourhands.app import App
from fourhands.core.registry import Contribution
from fourhands.surfaces.mcp.limits import McpLimits
from fourhands.surfaces.mcp.task_forms import RELATED
from fourhands.surfaces.server import ServerLimits

HOLD = "openspace_probe_wait_long"
TASK = {"taskId", "status", "createdAt", "lastUpdatedAt", "ttl", "pollInterval"}
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.fixture
def lasting(app: App) -> None:
    """A command that waits to be let go, and may run as a task."""
    waits = Contribution("openspace.probe")
    hold = probes.commands[0].handler
    waits.add("wait_long", read_only=True, lasting=True)(hold)
    app.registry.include(waits)
    holds.clear()
    ended.clear()


async def error_of(doing: Any) -> tuple[int, str]:
    """The protocol's error that this ends with."""
    with pytest.raises(MCPError) as caught:
        await doing
    return caught.value.error.code, caught.value.error.message


async def test_a_call_is_a_task_and_its_result_is_what_the_call_itself_would_have_returned(app: App) -> None:
    async with with_utility(app, tools=["all"]) as tasks:
        able = tasks.client.server_capabilities.tasks
        assert able is not None
        assert able.model_dump(exclude_none=True) == {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
        listed = (await tasks.client.list_tools()).tools
        assert {tool.name for tool in listed if tool.execution and tool.execution.task_support == "optional"} == {
            "bash",
            "terminal_start",
            "terminal_continue",
            "execute_command",
            "run_script",
            "openspace_terminal_run_outside",
            "openspace_terminal_wait",
        }
        args: dict[str, object] = {"command": "echo hi; exit 3"}
        raw = await tasks.raw("tools/call", {"name": "bash", "arguments": args, "task": {"ttl": 120_000}})
        id = raw["task"]["taskId"]
        assert set(raw["task"]) == TASK
        assert (raw["task"]["status"], raw["task"]["ttl"]) == ("working", 120_000)
        assert MOMENT.fullmatch(raw["task"]["createdAt"])
        assert raw["_meta"][RELATED] == {"taskId": id}
        plain = await tasks.raw("tools/call", {"name": "bash", "arguments": args})
        sent = await tasks.raw("tasks/result", {"taskId": id})
        assert {**sent, "content": []} == {**plain, "content": [], "_meta": {RELATED: {"taskId": id}}}
        assert (await tasks.result(id)).content[0].text == "hi\nexit 3"  # type: ignore[union-attr]  # it is text
        done = await tasks.raw("tasks/get", {"taskId": id})
        assert (set(done), done["status"]) == (TASK - {"pollInterval"}, "completed")
        assert done["lastUpdatedAt"] >= done["createdAt"]
        assert [one.task_id for one in await tasks.list()] == [id]
        with_fields = await tasks.create("bash", args, _meta={"fourhands/fields": True})
        fields = (await tasks.result(with_fields.task_id)).structured_content
        assert fields["exitCode"] == 3
    entries = await app.journal.query(command="openspace.tool.bash")
    assert [entry.call.origin for entry in entries] == ["mcp"] * 3


async def test_a_client_hears_how_its_task_is_and_no_other_does(app: App, lasting: None) -> None:
    heard, other = HearsTasks(), HearsTasks()
    async with with_utility(app, extensions=[heard]) as tasks, with_utility(app, name="other", extensions=[other]):
        id = (await tasks.create(HOLD, {})).task_id
        holds["x"].set()
        assert not (await tasks.result(id)).is_error
        async with asyncio.timeout(40):
            told = await heard.told.get()
        assert (told.task_id, told.status, told.poll_interval) == (id, "completed", None)
    assert other.told.empty()


async def test_cancelling_a_task_ends_its_program_and_a_cancelled_one_stays_so(app: App) -> None:
    sleeper = Sleeper(app)
    async with with_utility(app) as tasks:
        with agreeable_person(app):
            id = (await tasks.create("bash", sleeper.args)).task_id
            await sleeper.running()
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(tasks.result(id))
            await tasks.get(id)
            cancelled = await tasks.cancel(id)
        assert (cancelled.status, cancelled.status_message) == ("cancelled", "cancelled by its client")
        await sleeper.gone()
        for result in (waiting.result(), await tasks.result(id)):
            assert (result.is_error, text(result)) == (True, "error: the call was cancelled\ncode: cancelled")
        assert (await tasks.get(id)).status == "cancelled"
        again = await error_of(tasks.cancel(id))
        assert again == (-32602, "Cannot cancel task: already in terminal status 'cancelled'")
        id = (await tasks.create("bash", {"command": "true"})).task_id
        await tasks.result(id)
        late = await error_of(tasks.cancel(id))
        assert late == (-32602, "Cannot cancel task: already in terminal status 'completed'")


async def test_a_request_for_a_result_that_is_cancelled_leaves_its_task_alone(app: App, lasting: None) -> None:
    async with with_utility(app) as tasks:
        id = (await tasks.create(HOLD, {})).task_id
        await until(lambda: ended.get("x") == "running", app)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await tasks.result(id)
        await tasks.client.list_tools()  # by now the server has heard of it
        assert ((await tasks.get(id)).status, ended["x"]) == ("working", "running")
        async with asyncio.TaskGroup() as group:
            both = [group.create_task(tasks.result(id)) for _ in range(2)]
            await tasks.get(id)
            holds["x"].set()
        assert [one.result().is_error for one in both] == [False, False]


async def test_a_question_is_asked_with_the_request_for_the_result_or_on_the_page(app: App) -> None:
    build = Path(app.bench.root, "build")
    form, named = Form(chosen("once"), chosen("deny", "I need it")), []

    async def person(context: Any, params: Any) -> Any:
        named.append(params.meta)
        return await form(context, params)

    async with with_utility(app, elicitation_callback=person) as tasks:
        for state in ("completed", "failed"):
            build.mkdir()
            id = (await tasks.create("bash", {"command": "rm -rf build"})).task_id
            seen = await tasks.until(id, "input_required")
            assert "waiting for the person" in (seen.status_message or "")
            assert len(form.asked) == len(named)  # it is not asked before its client comes
            result = await tasks.result(id)
            assert named[-1] == {RELATED: {"taskId": id}}
            done = await tasks.get(id)
            assert (done.status, result.is_error) == (state, state == "failed")
        assert "I need it" in text(result)
        assert "I need it" in (done.status_message or "")
    assert len(named) == 2
    browser = Person(app)
    async with with_utility(app) as tasks:  # it shows no forms
        id = (await tasks.create("bash", {"command": "rm -rf build"})).task_id
        question = await browser.question()
        assert (await tasks.get(id)).status == "input_required"
        browser.answer(question, "once")
        assert not (await tasks.result(id)).is_error
    assert not build.exists()


async def test_who_asks_last_for_a_result_is_asked_the_question(app: App) -> None:
    form = Form()
    async with with_utility(app, elicitation_callback=form) as tasks:
        id = (await tasks.create("bash", {"command": "rm -f nothing"})).task_id
        await tasks.until(id, "input_required")
        async with asyncio.TaskGroup() as group:
            first = group.create_task(tasks.result(id))
            await form.shown.wait()  # and is never answered: its client may have gone
            form.answers.append(chosen("once"))
            second = group.create_task(tasks.result(id))
        assert [one.result().is_error for one in (first, second)] == [False, False]
        assert form.withdrawn.is_set()
    assert len(form.asked) == 2


async def test_what_is_wrong_is_the_protocols_own_error(app: App, lasting: None) -> None:
    async with with_utility(app, limits=McpLimits(page=1)) as tasks, with_utility(app, name="other") as other:
        id = (await tasks.create(HOLD, {})).task_id
        for ask in (tasks.get, tasks.result, tasks.cancel):
            code, message = await error_of(ask("nothing"))
            assert (code, message.startswith("Failed to retrieve task: Task not found")) == (-32602, True)
        for ask in (other.get, other.result, other.cancel):  # whose task it is not
            assert (await error_of(ask(id)))[0] == -32602
        assert await other.list() == []
        assert (await tasks.get(id)).status == "working"
        for method in ("tasks/get", "tasks/result", "tasks/cancel"):
            bad: list[dict[str, object]] = [{}, {"taskId": 5}, {"taskId": None}, {"taskId": ["a"]}]
            for params in bad:
                assert (await error_of(tasks.raw(method, params)))[0] == -32602, (method, params)
        assert (await error_of(tasks.raw("tasks/list", {"cursor": "x"})))[0] == -32602
        assert (await error_of(tasks.raw("tasks/update", {"taskId": id, "inputResponses": {}})))[0] == -32601
        code, message = await error_of(tasks.create("read", {"path": "a"}))
        assert (code, message) == (-32601, "read does not run as a task: call it without `task`")
        assert (await error_of(tasks.create("bahs", {})))[0] == -32602
        for task in cast("list[object]", ["soon", {"ttl": "soon"}, {"ttl": []}, [], 5]):
            assert (await error_of(tasks.create("bash", {"command": "true"}, task)))[0] == -32602, task
        wrong = (await tasks.create("bash", {"comand": "ls"})).task_id
        assert "comand" in text(await tasks.result(wrong))
        failed = await tasks.get(wrong)
        assert (failed.status, "comand" in (failed.status_message or "")) == ("failed", True)
        pages = [await tasks.raw("tasks/list", {})]
        while cursor := pages[-1].get("nextCursor"):
            pages.append(await tasks.raw("tasks/list", {"cursor": cursor}))
        assert [one["taskId"] for page in pages for one in page["tasks"]] == [id, wrong]
        ListTasksResult.model_validate(pages[0], by_name=False)
        holds["x"].set()
        await tasks.result(id)


async def test_older_revisions_know_no_tasks(app: App) -> None:
    heard = Heard()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mcp.client.session.LATEST_HANDSHAKE_VERSION", "2025-06-18")
        async with with_utility(app, message_handler=heard) as tasks:
            assert tasks.client.protocol_version == "2025-06-18"
            assert tasks.client.server_capabilities.tasks is None
            assert not [tool for tool in (await tasks.client.list_tools()).tools if tool.execution]
            args: dict[str, object] = {"name": "bash", "arguments": {"command": "echo hi"}, "task": {"ttl": 1}}
            assert CallToolResult.model_validate(await tasks.raw("tools/call", args)).content
            for method in ("tasks/get", "tasks/result", "tasks/cancel"):
                assert (await error_of(tasks.raw(method, {"taskId": "x"})))[0] == -32601
            assert (await error_of(tasks.raw("tasks/list", {})))[0] == -32601
    assert not [method for method, _ in heard.all if "task" in method]


async def test_results_are_kept_for_their_time_and_a_task_that_works_for_as_long_as_it_does(
    app: App, lasting: None
) -> None:
    few = McpLimits(task_after_end_s=0.05, task_ttl_s=0.05, task_most_ttl_s=100.0)
    async with with_utility(app, limits=few) as tasks:
        id = (await tasks.create(HOLD, {}, {"ttl": 1})).task_id
        short = (await tasks.create("bash", {"command": "true"}, {"ttl": -5})).task_id
        kept = (await tasks.create("bash", {"command": "echo kept"}, {"ttl": 10**15})).task_id
        assert text(await tasks.result(kept)).startswith("kept\nexit 0")
        await tasks.result(short)
        code, message = await tasks.forgotten(short)
        assert (code, message.startswith("Failed to retrieve task: Task has expired")) == (-32602, True)
        seen = await tasks.get(id)
        assert (seen.status, (seen.ttl or 0) > 50) == ("working", True)
        assert (await tasks.get(kept)).ttl == 100_000
        holds["x"].set()
        assert not (await tasks.result(id)).is_error


async def test_ended_tasks_are_bounded_and_what_was_fetched_goes_first(app: App, lasting: None) -> None:
    async with with_utility(app, limits=McpLimits(tasks=3, task_bytes=9000)) as tasks:
        working = (await tasks.create(HOLD, {})).task_id
        ids = []
        for number in range(3):
            ids.append((await tasks.create("bash", {"command": f"echo {number}"})).task_id)
            await tasks.until(ids[-1], "completed")
        await tasks.result(ids[1])
        ids.append((await tasks.create("bash", {"command": "echo 3"})).task_id)
        await tasks.until(ids[-1], "completed")
        assert [one.task_id for one in await tasks.list()] == [working, ids[0], ids[2], ids[3]]
        assert "to make room" in (await error_of(tasks.result(ids[1])))[1]
        large = (await tasks.create("bash", {"command": "head -c 9000 /dev/zero | tr '\\0' x"})).task_id
        assert len(text(await tasks.result(large))) > 8000
        assert [one.task_id for one in await tasks.list()] == [working, large]
        holds["x"].set()
        await tasks.result(working)


async def test_a_session_that_ends_takes_its_tasks_along(app: App) -> None:
    first, second = Sleeper(app, "first"), Sleeper(app, "second")
    with agreeable_person(app):
        async with with_utility(app) as tasks:
            id = (await tasks.create("bash", first.args)).task_id
            await first.running()
            [session] = app.bench.sessions
            await app.bench.end_session(session.id)
            await first.gone()
            with pytest.raises(MCPError, match="ended by the person"):
                await tasks.get(id)
        async with with_utility(app) as tasks:
            await tasks.create("bash", second.args)
            await second.running()
        await second.gone()  # with the connection its session ended


# -- over HTTP ------------------------------------------------------------------------------------------------------


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with serve_app(limits=ServerLimits(mcp=McpLimits(progress_s=0.2))) as served:
        yield served


async def made(served: Served, *, forms: bool = False) -> tuple[str, str]:
    """An agent's session whose client shows its forms to the person, and the token."""
    async with served.client() as http:
        answer = (await http.post("/api/agents", json={"name": "ci", "forms": forms})).json()
    served.app.gate.consent.grant(answer["sessionId"])
    return answer["sessionId"], answer["token"]


async def test_a_client_that_comes_back_with_its_token_finds_its_result_and_no_other_does(served: Served) -> None:
    session, token = await made(served)
    held = Held(served.app)
    async with over_http(served.running, token, "legacy") as client:
        id = (await Utility(client).create("bash", held.args)).task_id
    assert session in [one.id for one in served.app.bench.sessions]
    for stranger in (served.agent("other")[1], served.token):
        async with over_http(served.running, stranger, "legacy") as client:
            tasks = Utility(client)
            assert (await error_of(tasks.get(id)))[0] == (await error_of(tasks.result(id)))[0] == -32602
            assert (await error_of(tasks.cancel(id)))[0] == -32602
            assert await tasks.list() == []
    async with over_http(served.running, token, "legacy") as client:
        tasks = Utility(client)
        assert (await tasks.get(id)).status == "working"
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(tasks.result(id))
            await held.let_go()
        assert text(waiting.result()).startswith("late\nexit 0")
    await served.app.bench.end_session(session)
    async with served.client(token) as http:
        assert (await http.post("/mcp", json={})).status_code == 401


async def test_the_official_typescript_client_runs_calls_as_tasks(served: Served) -> None:
    program = installed(HOME / "node_modules/conformance/dist/index.js", HOME)
    node = shutil.which("node")
    assert program
    assert node is not None
    root = Path(served.places.workspace)
    (root / "build").mkdir()
    (root / "a.txt").write_text("a\n")
    _, token = await made(served, forms=True)
    words = [node, str(HOME / "tasks.mjs"), f"{served.url}/mcp", token]
    process = await asyncio.create_subprocess_exec(*words, stdout=-1, stderr=-1)
    async with asyncio.timeout(100):
        out, complaint = await process.communicate()
    assert process.returncode == 0, complaint.decode()
    seen = json.loads(out)
    assert seen["capability"] == {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
    assert (seen["done"]["states"][-1], seen["done"]["text"][:9]) == ("completed", "hi\nexit 0")
    assert "id" not in seen["plain"]
    assert (seen["confirmed"]["states"][-1], seen["confirmed"]["text"][:11]) == ("input_required", "gone\nexit 0")
    assert seen["asked"] == [seen["confirmed"]["id"]]
    assert not (root / "build").exists()
    assert seen["failed"]["states"][-1] == "failed"
    GetTaskResult.model_validate(seen["cancelled"], by_name=False)
    assert seen["cancelled"]["status"] == "cancelled"
    codes = [seen[name]["code"] for name in ("again", "unknown", "forbidden")]
    assert codes == [-32602, -32602, -32601]
    assert "code: cancelled" in seen["result"]["content"][0]["text"]
    assert seen["later"].startswith("later\nexit 0")
    assert (seen["progress"] > 0, seen["told"]) == (True, ["completed"])
    assert seen["listed"] == ["completed", "completed", "failed", "cancelled", "completed", "completed"]
