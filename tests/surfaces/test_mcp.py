"""MCP with the official client: in memory in both generations, over HTTP with the door, over pipes."""

import asyncio
import base64
import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import click.testing
import httpx
import msgspec
import pytest
from click.testing import CliRunner
from mcp import MCPError
from mcp_types import (
    BlobResourceContents,
    CallToolResult,
    ClientCapabilities,
    ElicitationCapability,
    ElicitResult,
    Implementation,
    InputRequiredResult,
    UrlElicitationCapability,
)
from tests.support.bench import open_app, quick, temporary_places
from tests.support.clock import let_pass
from tests.support.mcp_client import (
    INFO,
    PROGRAM,
    Form,
    Mode,
    both,
    chosen,
    connected,
    data,
    ended,
    holds,
    over_http,
    over_pipes,
    person_token,
    probes,
    text,
    until,
)
from tests.support.person import Person

from fourhands.app import App
from fourhands.core.call import Actor
from fourhands.core.consent import SCOPES
from fourhands.core.errors import BadArgument, Unavailable
from fourhands.core.question import Answer, Question
from fourhands.host.places import Places
from fourhands.settings import SafetySettings, Settings
from fourhands.surfaces.address import claimed, held
from fourhands.surfaces.mcp import calls
from fourhands.surfaces.mcp import peer as peers
from fourhands.surfaces.mcp.asking import answer, can_elicit, form, message
from fourhands.surfaces.mcp.bridge import bridge
from fourhands.surfaces.mcp.command import mcp_command
from fourhands.surfaces.mcp.resources import reading
from fourhands.surfaces.mcp.tools import Tools, tool_name
from fourhands.surfaces.server import Running, listen, serving


@pytest.fixture
async def app() -> AsyncIterator[App]:
    holds.clear()
    ended.clear()
    async with open_app() as app:
        yield app


# -- tools ----------------------------------------------------------------------------------------------------------


@both
async def test_every_command_for_agents_is_a_tool(app: App, mode: Mode) -> None:
    async with connected(app, mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {tool_name(one.id) for one in app.registry if "agent" in one.actors}
    assert "openspace_terminal_send" in tools
    assert "bash" in tools
    assert "openspace_file_remove" not in tools  # a person's
    read, bash = tools["openspace_file_read"], tools["bash"]
    assert read.annotations is not None
    assert bash.annotations is not None
    assert (read.annotations.read_only_hint, read.annotations.destructive_hint) == (True, False)
    assert (bash.annotations.read_only_hint, bash.annotations.destructive_hint) == (False, True)
    assert "fresh shell" in (bash.description or "")
    for tool in tools.values():
        assert tool.input_schema["type"] == "object"


@both
async def test_tools_act_on_the_shared_workbench(app: App, mode: Mode) -> None:
    Path(app.bench.root, "a.py").write_text("one\ntwo\n")
    async with connected(app, mode) as client:
        await client.call_tool("openspace_editor_open", {"path": "a.py"})
        panes = data(await client.call_tool("openspace_pane_list"))
        assert "a.py" in str(panes)
        made = data(await client.call_tool("openspace_terminal_create", {"title": "build"}))
        assert app.bench.terminal("build").id == made["terminalId"]
        await client.call_tool("openspace_terminal_wait", {"terminalId": "build", "inputWanted": True})
        sent = data(
            await client.call_tool("openspace_terminal_send", {"terminalId": "build", "text": "echo $((6*7))\n"})
        )
        wait = {"terminalId": "build", "pattern": "42", "since": sent["position"], "deadlineSeconds": 40}
        assert data(await client.call_tool("openspace_terminal_wait", wait))["reason"] == "pattern"
        seen = data(await client.call_tool("openspace_terminal_read_output", {"terminalId": "build"}))
        assert "42" in seen["output"]
        ran = data(await client.call_tool("bash", {"command": "printf abc; exit 3"}))
        assert (ran["output"], ran["exitCode"]) == ("abc", 3)
    entries = await app.journal.query(command="openspace.tool.bash")
    assert [(entry.call.origin, entry.call.actor.name) for entry in entries] == [("mcp", "probe")]


@both
async def test_failures_are_tool_errors_with_code_and_hint(app: App, mode: Mode) -> None:
    async with connected(app, mode) as client:
        wrong = await client.call_tool("bash", {"comand": "ls"})
        assert wrong.is_error
        assert wrong.structured_content is not None
        assert wrong.structured_content["code"] == "bad-argument"
        assert "comand" in text(wrong)
        assert wrong.structured_content["hint"]
        missing = await client.call_tool("openspace_file_read", {"path": "none.txt"})
        assert missing.structured_content is not None
        assert (missing.is_error, missing.structured_content["code"]) == (True, "not-found")
        unknown = await client.call_tool("bahs", {})
        assert unknown.is_error
        assert "did you mean 'bash'?" in text(unknown)
        for name in ("openspace.file.remove", "openspace_file_remove"):
            persons = await client.call_tool(name, {"path": "x"})
            assert persons.is_error
            assert "code: denied" in text(persons)


def test_a_tool_is_found_by_its_commands_id_too() -> None:
    from fourhands.core.registry import Registry

    registry = Registry()
    tools = Tools(registry)
    registry.include(probes)
    assert tools.command_id("openspace_probe_hold") == tools.command_id("openspace.probe.hold")
    assert tools.input_schema("openspace_probe_hold") == tools.list()[0].input_schema
    assert tools.input_schema("nothing") is None
    tools.close()


async def test_an_older_client_hears_of_changed_tools(app: App) -> None:
    news: asyncio.Queue[str] = asyncio.Queue()

    async def told(notice: Any) -> None:
        news.put_nowait(getattr(notice, "method", ""))

    async with connected(app, message_handler=told) as client:
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.tools.list_changed
        dispose = app.registry.include(probes)
        async with asyncio.timeout(40):
            assert await news.get() == "notifications/tools/list_changed"
        assert "openspace_probe_hold" in [tool.name for tool in (await client.list_tools()).tools]
        dispose()


async def test_a_newer_client_hears_of_changed_tools_where_it_listens(app: App) -> None:
    async with connected(app, "auto") as client, asyncio.timeout(40), client.listen(tools_list_changed=True) as news:
        app.registry.include(probes)
        assert "Tools" in type(await anext(aiter(news))).__name__


# -- asking the person ----------------------------------------------------------------------------------------------


@both
async def test_a_dangerous_command_runs_when_the_person_accepts_in_the_client(app: App, mode: Mode) -> None:
    build = Path(app.bench.root, "build")
    build.mkdir()
    person = Form(chosen("once"))
    async with connected(app, mode, elicitation_callback=person) as client:
        ran = data(await client.call_tool("bash", {"command": "rm -rf build"}))
    assert ran["ok"]
    assert not build.exists()
    assert "rm -rf build" in person.asked[0]
    [entry] = await app.journal.query(command="openspace.tool.bash")
    assert (entry.verdict.level, entry.verdict.choice) == ("dangerous", "once")
    assert entry.verdict.by == f"person-{entry.call.actor.id}"


@both
async def test_a_refusal_in_the_client_is_a_tool_error(app: App, mode: Mode) -> None:
    build = Path(app.bench.root, "build")
    build.mkdir()
    person = Form(chosen("deny", "I need it"), ElicitResult(action="decline"))
    async with connected(app, mode, elicitation_callback=person) as client:
        for reason in ("I need it", ""):
            done = await client.call_tool("bash", {"command": "rm -rf build"})
            assert done.is_error
            assert "code: denied" in text(done)
            assert reason in text(done)
    assert build.exists()


@both
async def test_no_choice_in_the_client_is_neither_yes_nor_no(app: App, mode: Mode) -> None:
    build = Path(app.bench.root, "build")
    build.mkdir()
    nothing = [ElicitResult(action="cancel"), ElicitResult(action="accept", content={}), chosen("session")]
    async with connected(app, mode, elicitation_callback=Form(*nothing)) as client:
        for _ in nothing:
            done = await client.call_tool("bash", {"command": "rm -rf build"})
            assert done.is_error
            assert "code: no-answer" in text(done)
    assert build.exists()


@both
async def test_consent_and_confirmation_are_asked_one_after_the_other(app: App, mode: Mode) -> None:
    person = Form(chosen("session"), chosen("once"))
    async with connected(app, mode, consent=False, elicitation_callback=person) as client:
        assert data(await client.call_tool("bash", {"command": "rm -f nothing"}))["ok"]
    assert len(person.asked) == 2
    assert "wants to work with you here" in person.asked[0]


@both
async def test_a_form_gives_consent_in_part_or_to_nothing(app: App, mode: Mode) -> None:
    part = ElicitResult(action="accept", content={"decision": "session", "run": False})
    async with connected(app, mode, consent=False, elicitation_callback=Form(part)) as client:
        assert "does not let" in text(await client.call_tool("bash", {"command": "ls"}))
        assert not (await client.call_tool("openspace_file_list")).is_error
    none: dict[str, bool] = dict.fromkeys(SCOPES, False)
    nothing = ElicitResult(action="accept", content={"decision": "session", **none})
    async with connected(app, mode, consent=False, elicitation_callback=Form(nothing)) as client:
        assert (await client.call_tool("openspace_file_list")).is_error


async def test_the_first_answer_wins_and_the_form_is_taken_back(app: App) -> None:
    browser, client_person = Person(app), Form()
    async with connected(app, elicitation_callback=client_person) as client:
        async with asyncio.TaskGroup() as group:
            call = group.create_task(client.call_tool("bash", {"command": "rm -f nothing"}))
            question = await browser.question()
            await client_person.shown.wait()
            browser.answer(question, "once")
            async with asyncio.timeout(40):
                await client_person.withdrawn.wait()
        assert data(call.result())["ok"]


async def test_a_dismissed_form_leaves_the_question_to_the_page(app: App) -> None:
    browser = Person(app)
    async with connected(app, elicitation_callback=Form(ElicitResult(action="cancel"))) as client:
        async with asyncio.TaskGroup() as group:
            call = group.create_task(client.call_tool("bash", {"command": "rm -f nothing"}))
            question = await browser.question()
            await until(lambda: app.questions.audience(question.session) == 1, app)
            browser.answer(question, "once")
        assert data(call.result())["ok"]


async def test_a_dismissed_form_is_an_end_though_another_call_shows_one(app: App) -> None:
    held = Form()

    async def person(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="cancel") if "second" in params.message else await held(context, params)

    async with connected(app, elicitation_callback=person) as client, asyncio.TaskGroup() as group:
        first = group.create_task(client.call_tool("bash", {"command": "rm -f first"}))
        await held.shown.wait()
        done = await client.call_tool("bash", {"command": "rm -f second"})
        assert "code: no-answer" in text(done)
        [question] = app.questions.open()
        app.questions.answer(question.id, Answer(choice="once"), Actor.person())
        assert data(await first)["ok"]


@both
async def test_a_client_without_forms_leaves_the_question_to_the_page(app: App, mode: Mode) -> None:
    browser = Person(app)
    async with connected(app, mode) as client:
        async with asyncio.TaskGroup() as group:
            call = group.create_task(client.call_tool("bash", {"command": "rm -f nothing"}))
            browser.answer(await browser.question(), "once")
        assert data(call.result())["ok"]


@both
async def test_with_nobody_to_ask_the_call_fails_clearly(app: App, mode: Mode) -> None:
    async with connected(app, mode, consent=False) as client:
        done = await client.call_tool("bash", {"command": "ls"})
    assert done.is_error
    assert "nobody is there to be asked" in text(done)


async def test_nothing_is_done_before_a_newer_client_comes_back(app: App) -> None:
    build = Path(app.bench.root, "build")
    build.mkdir()
    async with connected(app, "auto", elicitation_callback=Form()) as client:
        args = {"command": "rm -rf build"}
        first = await client.session.call_tool("bash", args, allow_input_required=True)
        assert isinstance(first, InputRequiredResult)
        assert first.request_state is not None
        assert first.input_requests is not None
        assert build.exists()
        [question] = app.questions.open()
        again = await client.session.call_tool(
            "bash", args, request_state=first.request_state, allow_input_required=True
        )
        assert isinstance(again, InputRequiredResult)  # an answer was missing: asked again
        done = await client.session.call_tool(
            "bash",
            args,
            request_state=again.request_state,
            input_responses={question.id: chosen("once")},
            allow_input_required=True,
        )
        assert isinstance(done, CallToolResult)
        assert data(done)["ok"]
        assert not build.exists()
        with pytest.raises(MCPError, match="nothing waits for this answer") as stale:
            await client.session.call_tool("bash", args, request_state=first.request_state)
        assert stale.value.error.data == {"code": "conflict"}


async def test_an_answer_cannot_be_used_for_another_command(app: App) -> None:
    async with connected(app, "auto", elicitation_callback=Form()) as client:
        first = await client.session.call_tool("bash", {"command": "rm -f a"}, allow_input_required=True)
        assert isinstance(first, InputRequiredResult)
        [question] = app.questions.open()
        with pytest.raises(MCPError, match="this answer is for another call"):
            await client.session.call_tool(
                "bash",
                {"command": "rm -rf /"},
                request_state=first.request_state,
                input_responses={question.id: chosen("once")},
            )
        await until(lambda: not app.questions.open(), app)


async def test_a_newer_client_that_never_comes_back_is_given_up(app: App) -> None:
    async with connected(app, "auto", elicitation_callback=Form()) as client:
        await client.session.call_tool("bash", {"command": "rm -f a"}, allow_input_required=True)
        assert app.questions.open()
        let_pass(calls.SUSPENDED_S)
        await until(lambda: not app.questions.open(), app)


async def test_a_question_that_nobody_answers_in_time_ends_the_form() -> None:
    settings = Settings(safety=SafetySettings(unknown_answer_s=20))
    async with open_app(settings) as app:
        person = Form()
        async with connected(app, elicitation_callback=person) as client, asyncio.TaskGroup() as group:
            call = group.create_task(client.call_tool("bash", {"command": "./deploy.sh"}))
            await person.shown.wait()
            let_pass(20)
            assert "code: no-answer" in text(await call)
            async with asyncio.timeout(40):
                await person.withdrawn.wait()


def test_what_the_form_says() -> None:
    question = Question(
        kind="confirmation",
        session="s",
        text="probe wants to run something unknown",
        options=("once", "edit", "session", "deny"),
        shown="./a\n./b",
        level="unknown",
        reason="a program of the workspace",
        rule="./a here",
        detail={"files": 2, "paths": ["x"]},
        limit_s=10,
    )
    words = message(question)
    assert "    ./a\n    ./b\n" in words
    assert "unknown: a program of the workspace" in words
    assert "session: ./a here" in words
    assert "within 10 s" in words
    assert "files: 2" in words
    schema: Any = form(question)
    assert schema["properties"]["decision"]["enum"] == ["once", "session", "deny"]
    bad = ElicitResult(action="accept", content={"decision": "edit"})
    assert answer(question, bad) is None


def test_a_client_that_only_opens_addresses_shows_no_forms() -> None:
    assert not can_elicit(None)
    assert not can_elicit(ClientCapabilities())
    assert can_elicit(ClientCapabilities(elicitation=ElicitationCapability()))
    assert not can_elicit(ClientCapabilities(elicitation=ElicitationCapability(url=UrlElicitationCapability())))


# -- long calls -----------------------------------------------------------------------------------------------------


@both
async def test_a_long_call_reports_progress(app: App, mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "PROGRESS_S", 0.05)
    app.registry.include(probes)
    heard: list[tuple[float, str | None]] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message))
        if len(heard) == 2:
            holds["x"].set()

    async with connected(app, mode) as client:
        await client.call_tool("openspace_probe_hold", {}, progress_callback=progress)
    assert heard[1][0] > heard[0][0]
    assert "running" in (heard[0][1] or "")


@both
async def test_cancelling_a_request_cancels_its_call(app: App, mode: Mode) -> None:
    app.registry.include(probes)
    async with connected(app, mode) as client:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "openspace_probe_hold", {})
                await until(lambda: ended.get("x") == "running", app)
                scope.cancel()
        await until(lambda: ended.get("x") == "cancelled", app)
        assert len((await client.list_tools()).tools) > 10  # the connection goes on


async def test_a_wait_does_not_hold_up_other_calls(app: App) -> None:
    app.registry.include(probes)
    async with connected(app) as client, asyncio.TaskGroup() as group:
        waiting = group.create_task(client.call_tool("openspace_probe_hold", {}))
        await until(lambda: ended.get("x") == "running", app)
        assert data(await client.call_tool("bash", {"command": "echo hi"}))["output"] == "hi\n"
        assert not waiting.done()
        holds["x"].set()


# -- sessions -------------------------------------------------------------------------------------------------------


async def test_two_clients_are_two_agents(app: App) -> None:
    async with connected(app, name="one") as one:
        async with connected(app, "auto", name="two") as two:
            assert sorted(session.name for session in app.bench.sessions) == ["one", "two"]
            await two.call_tool("openspace_terminal_create", {"title": "of two"})
            await one.call_tool("openspace_terminal_create", {"title": "of one"})
        assert [session.name for session in app.bench.sessions] == ["one"]
        assert [terminal.title for terminal in app.terminals.list()] == ["of one"]
    assert len(app.bench.sessions) == 0


async def test_a_session_that_the_person_ended_stays_ended(app: App) -> None:
    async with connected(app) as client:
        [session] = app.bench.sessions
        await app.bench.end_session(session.id)
        with pytest.raises(MCPError, match="ended by the person"):
            await client.call_tool("bash", {"command": "ls"})


async def test_a_nameless_or_hostile_name_is_made_harmless(app: App) -> None:
    async with connected(app, name="\x1b[31m" + "x" * 500):
        [session] = app.bench.sessions
        assert session.name.isprintable()
        assert len(session.name) == peers.NAME_LENGTH


# -- resources and prompt -------------------------------------------------------------------------------------------


@both
async def test_resources_are_files_terminals_and_the_instructions(app: App, mode: Mode) -> None:
    Path(app.bench.root, "dir").mkdir()
    Path(app.bench.root, "dir", "a b.txt").write_text("hello\n")
    async with connected(app, mode) as client:
        await client.call_tool("openspace_terminal_create", {"title": "build"})
        await client.call_tool("openspace_terminal_wait", {"terminalId": "build", "inputWanted": True})
        sent = data(
            await client.call_tool("openspace_terminal_send", {"terminalId": "build", "text": "echo $((6*7))\n"})
        )
        wait = {"terminalId": "build", "pattern": "42", "since": sent["position"]}
        await client.call_tool("openspace_terminal_wait", wait)
        listed = {one.name: one.uri for one in (await client.list_resources()).resources}
        assert set(listed) == {"instructions", "build"}
        templates = [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
        assert templates == ["fourhands://file/{+path}", "fourhands://terminal/{terminalId}{?since,lines}"]

        async def read(uri: str) -> Any:
            return (await client.read_resource(uri)).contents[0]

        assert "build" in (await read("fourhands://instructions")).text
        assert (await read("fourhands://file/dir/a%20b.txt")).text == "hello\n"
        part = await read(f"{listed['build']}?since={sent['position']}")
        assert "42" in part.text
        later = await read(f"{listed['build']}?since={part.meta['fourhands/position']}")
        assert "42" not in later.text
        assert len((await read(f"{listed['build']}?lines=1")).text.splitlines()) <= 1


@both
async def test_a_file_that_is_no_text_is_a_blob(app: App, mode: Mode) -> None:
    picture = b"\x89PNG\r\n\x1a\n\0\0\1"
    for name, size in (("a.png", 1), ("unknown", 1), ("large.png", 100_000)):
        Path(app.bench.root, name).write_bytes(picture * size)
    async with connected(app, mode) as client:
        for name, kind in (("a.png", "image/png"), ("unknown", "application/octet-stream")):
            [found] = (await client.read_resource(f"fourhands://file/{name}")).contents
            assert isinstance(found, BlobResourceContents)
            assert (base64.b64decode(found.blob), found.mime_type) == (picture, kind)
        with pytest.raises(MCPError, match="1100000 bytes, and at most 1048576"):
            await client.read_resource("fourhands://file/large.png")
        refused = await client.call_tool("openspace_file_read", {"path": "a.png"})
        assert refused.structured_content["code"] == "bad-argument"


@both
async def test_a_bad_resource_is_a_clear_error(app: App, mode: Mode) -> None:
    async with connected(app, mode) as client:
        for uri in BAD:
            with pytest.raises(MCPError) as caught:
                await client.read_resource(uri)
            assert caught.value.error.code == -32602, uri


BAD = (
    "fourhands://file/none.txt",
    "fourhands://file/../outside",
    "fourhands://file/",
    "fourhands://terminal/none",
    "fourhands://terminal/x?since=-1",
    "fourhands://terminal/x?since=",
    "file:///etc/passwd",
    "http://[",
    "",
)


@both
async def test_reading_a_resource_asks_for_consent_too(app: App, mode: Mode) -> None:
    Path(app.bench.root, "a.txt").write_text("hello\n")
    person = Form(chosen("session"))
    async with connected(app, mode, consent=False, elicitation_callback=person) as client:
        assert "hello" in str(await client.read_resource("fourhands://file/a.txt"))
    assert len(person.asked) == 1


async def test_a_terminal_is_read_from_a_position(app: App) -> None:
    assert reading(app.registry, "fourhands://terminal/t%201?since=7&lines=3") == (
        "openspace.terminal.read_output",
        {"terminalId": "t 1", "since": 7, "lines": 3},
    )


@both
async def test_the_prompt_is_the_instructions(app: App, mode: Mode) -> None:
    async with connected(app, mode) as client:
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["workbench", "terminal"]
        got = await client.get_prompt("workbench")
        assert "openspace" in str(got.messages[0].content)
        with pytest.raises(MCPError, match="prompts here: terminal, workbench"):
            await client.get_prompt("other")


# -- over HTTP ------------------------------------------------------------------------------------------------------


@pytest.fixture
async def served(app: App) -> AsyncIterator[Running]:
    async with serving(app.bench, app.tasks, port=0) as running:
        yield running


@both
async def test_http_serves_both_generations_with_forms(app: App, served: Running, mode: Mode) -> None:
    person = Form(chosen("session"), chosen("once"))
    async with over_http(served, person_token(served), mode, elicitation_callback=person) as client:
        assert data(await client.call_tool("bash", {"command": "rm -f nothing"}))["ok"]
        assert data(await client.call_tool("bash", {"command": "echo hi"}))["output"] == "hi\n"
        [session] = app.bench.sessions
        assert (session.name, session.connector) == ("probe", "mcp")
    if mode == "legacy":  # the client says goodbye
        await until(lambda: len(app.bench.sessions) == 0, app)
    assert len(person.asked) == 2


async def test_a_quiet_client_without_a_connection_is_gone_after_a_while(
    app: App, served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "IDLE_S", 0.05)
    async with over_http(served, person_token(served), "auto") as client:
        await client.call_tool("bash", {"command": "echo hi"})
        await until(lambda: len(app.bench.sessions) == 0, app)


@both
async def test_clients_over_http_are_agents_of_their_own(app: App, served: Running, mode: Mode) -> None:
    token = person_token(served)
    first, second = (Implementation(name=name, version="1") for name in ("one", "two"))
    async with (
        over_http(served, token, mode, client_info=first) as one,
        over_http(served, token, mode, client_info=second) as two,
    ):
        await one.list_tools()
        await two.list_tools()
        assert sorted(session.name for session in app.bench.sessions) == ["one", "two"]


@both
async def test_an_agents_token_works_in_its_own_session(app: App, served: Running, mode: Mode) -> None:
    async with httpx.AsyncClient(base_url=served.address.url, trust_env=False) as http:
        headers = {"Authorization": f"Bearer {person_token(served)}"}
        made = (await http.post("/api/agents", json={"name": "claude"}, headers=headers)).json()
        assert made["success"]
        again = await http.post("/api/agents", json={"name": "x"}, headers={"Authorization": f"Bearer {made['token']}"})
        assert (again.status_code, again.json()["code"]) == (403, "denied")
        for body in (b"", b"[]", b'{"name": ""}', b'{"name": "\\u0007"}', b'{"name": 1}', b'{"nam": "x"}'):
            assert (await http.post("/api/agents", content=body, headers=headers)).status_code == 400
    app.gate.consent.grant(made["sessionId"])
    async with over_http(served, made["token"], mode) as client:
        data(await client.call_tool("openspace_terminal_create", {"title": "mine"}))
        assert [session.id for session in app.bench.sessions] == [made["sessionId"]]
    assert app.bench.terminal("mine").owner == made["sessionId"]
    await app.bench.end_session(made["sessionId"])
    async with httpx.AsyncClient(base_url=served.address.url, trust_env=False) as http:
        gone = await http.post("/mcp", json={}, headers={"Authorization": f"Bearer {made['token']}"})
    assert gone.status_code == 401


@both
async def test_an_agents_token_answers_only_where_the_person_said_so(app: App, served: Running, mode: Mode) -> None:
    async with httpx.AsyncClient(base_url=served.address.url, trust_env=False) as http:
        headers = {"Authorization": f"Bearer {person_token(served)}"}
        for forms in (False, True):
            made = (await http.post("/api/agents", json={"name": "x", "forms": forms}, headers=headers)).json()
            person = Form(chosen("session"))
            async with over_http(served, made["token"], mode, elicitation_callback=person) as client:
                done = await client.call_tool("bash", {"command": "echo hi"})
            assert bool(person.asked) is forms
            assert ("nobody is there to be asked" in text(done)) is not forms


async def test_a_session_answers_only_to_the_token_that_began_it(app: App, served: Running) -> None:
    async with httpx.AsyncClient(base_url=served.address.url, trust_env=False) as http:
        session = app.bench.begin_session("thief", "test")
        other = served.tokens.issue(session.actor)
        hello = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "a", "version": "1"},
            },
        }
        headers = {"Authorization": f"Bearer {person_token(served)}", "Accept": "application/json, text/event-stream"}
        opened = await http.post("/mcp", json=hello, headers=headers)
        assert opened.status_code == 200
        stolen = {**headers, "Authorization": f"Bearer {other}", "mcp-session-id": opened.headers["mcp-session-id"]}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        assert (await http.post("/mcp", json=ping, headers=stolen)).status_code == 404
        stolen["Authorization"] = headers["Authorization"]
        assert (await http.post("/mcp", json=ping, headers=stolen)).status_code == 200
        assert (await http.post("/mcp", json=hello)).status_code in (401, 403)


async def test_the_server_stops_at_once_though_clients_are_there(app: App) -> None:
    async with contextlib.AsyncExitStack() as stack:
        async with serving(app.bench, app.tasks, port=0) as running:
            client = await stack.enter_async_context(over_http(running, person_token(running), "legacy"))
            await client.list_tools()
            begun = asyncio.get_running_loop().time()
        assert asyncio.get_running_loop().time() - begun < 2.5  # uvicorn would wait 3 s for an open stream
        assert len(app.bench.sessions) == 0


def test_asyncio_will_not_wait_for_more_before_it_sends() -> None:
    with contextlib.closing(listen("127.0.0.1", 0)) as sock:
        assert sock.proto == socket.IPPROTO_TCP


async def test_without_the_sdk_the_answer_says_how_to_get_it(
    app: App, served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    async with httpx.AsyncClient(base_url=served.address.url, trust_env=False) as http:
        headers = {"Authorization": f"Bearer {person_token(served)}"}
        response = await http.post("/mcp", json={}, headers=headers)
    assert response.status_code == 503
    assert "fourhands[mcp]" in response.json()["hint"]


# -- over pipes -----------------------------------------------------------------------------------------------------


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Any:
    with temporary_places() as places:
        root = Path(places.workspace).parent
        (root / "xr").mkdir(mode=0o700)
        (root / "xs").mkdir(mode=0o700)
        monkeypatch.setenv("XDG_RUNTIME_DIR", f"{root}/xr")
        monkeypatch.setenv("XDG_STATE_HOME", f"{root}/xs")
        yield Places.of(places.workspace)


@both
@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_the_program_starts_a_workbench_where_none_runs(elsewhere: Places, mode: Mode) -> None:
    person = Form(chosen("session"))
    async with over_pipes(elsewhere, mode, elicitation_callback=person) as client:
        assert data(await client.call_tool("bash", {"command": "echo hi"}))["output"] == "hi\n"
        async with over_pipes(elsewhere, mode, client_info=INFO) as second:  # joins it
            await second.list_tools()
            agents = data(await client.call_tool("openspace_agent_list"))["agents"]
            assert [agent["name"] for agent in agents] == ["mcp", "probe"]


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_a_workbench_without_a_page_ends_when_it_is_told_to(elsewhere: Places) -> None:
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PROGRAM, elsewhere.workspace, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert program.stdin is not None
    assert program.stdout is not None
    try:
        program.stdin.write(b'{"jsonrpc":"2.0","id":8,"method":"ping"}\n')
        assert msgspec.json.decode(await program.stdout.readline())["id"] == 8
        program.terminate()
        assert await program.wait() == 130
        assert not held(elsewhere.runtime)
    finally:
        program.stdin.close()


@both
@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_the_program_joins_a_running_workbench(elsewhere: Places, mode: Mode) -> None:
    elsewhere.prepare()
    with claimed(elsewhere.runtime, elsewhere.workspace):
        async with open_app(quick(), elsewhere) as app, serving(app.bench, app.tasks, port=0):
            person = Form(chosen("session"), chosen("once"))
            async with over_pipes(elsewhere, mode, elicitation_callback=person) as client:
                data(await client.call_tool("openspace_terminal_create", {"title": "shared"}))
                assert app.bench.terminal("shared")
                assert data(await client.call_tool("bash", {"command": "rm -f nothing"}))["ok"]
            await until(lambda: len(app.bench.sessions) == 0, app)
            assert not app.terminals.list()


def run_command(directory: str, start: Callable[[str], Awaitable[None]]) -> click.testing.Result:
    return CliRunner().invoke(mcp_command(start), [directory])


def test_the_command_waits_for_whoever_was_faster(elsewhere: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fourhands.surfaces.mcp.bridge.PATIENCE_S", 0.0)
    elsewhere.prepare()

    async def refused(directory: str) -> None:
        raise Unavailable("no disk")

    done = run_command(elsewhere.workspace, refused)
    assert (done.exit_code, "no disk" in done.output) == (3, True)
    with claimed(elsewhere.runtime, elsewhere.workspace):
        done = run_command(elsewhere.workspace, refused)
    assert (done.exit_code, "says no address" in done.output) == (3, True)

    async def broken(directory: str) -> None:
        raise BadArgument("no such port")

    assert run_command(elsewhere.workspace, broken).exit_code == 1


def test_the_command_says_that_the_sdk_is_missing(elsewhere: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(directory: str) -> None:
        raise AssertionError

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = run_command(elsewhere.workspace, never)
    assert (done.exit_code, "fourhands[mcp]" in done.output) == (3, True)


async def test_the_bridge_answers_a_message_that_is_too_long(served: Running) -> None:
    inner, outer = os.pipe()
    reader, writer = os.pipe()
    url = f"{served.address.url.replace('http', 'ws')}/mcp/socket"
    try:
        async with asyncio.timeout(40), asyncio.TaskGroup() as group:
            bridging = group.create_task(bridge(url, person_token(served), inner, writer))
            long = b'{"jsonrpc":"2.0","id":7,"method":"' + b"x" * 1_100_000 + b'"}\n'
            await asyncio.to_thread(os.write, outer, long)
            answered = await asyncio.to_thread(os.read, reader, 65536)
            assert msgspec.json.decode(answered)["id"] == 7
            os.write(outer, b"no json\n\n" + b'{"jsonrpc":"2.0","id":8,"method":"ping"}\n')
            answered = b""
            while b'"id":8' not in answered:
                answered += await asyncio.to_thread(os.read, reader, 65536)
            os.close(outer)
            await bridging
    finally:
        for descriptor in (inner, reader, writer):
            os.close(descriptor)


async def test_the_bridge_says_why_it_is_not_let_in(served: Running) -> None:
    inner, outer = os.pipe()
    try:
        with pytest.raises(Unavailable, match="does not let this in"):
            await bridge(f"{served.address.url.replace('http', 'ws')}/mcp/socket", "wrong", inner, 1)
    finally:
        os.close(outer)
