"""How MCP clients, the page and nobody are asked, with the official client in both generations."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp_types import (
    CallToolResult,
    ClientCapabilities,
    ElicitationCapability,
    ElicitResult,
    InputRequiredResult,
    UrlElicitationCapability,
)
from tests.kit.clock import let_pass
from tests.kit.mcp_client import (
    WITH_FIELDS,
    Form,
    Mode,
    both,
    chosen,
    connected,
    data,
    text,
    until,
)
from tests.kit.person import Person
from tests.kit.workbench import open_app

from fourhands.app import App
from fourhands.core.call import Actor
from fourhands.core.consent import SCOPES
from fourhands.core.question import Answer, Question
from fourhands.settings import SafetySettings, Settings
from fourhands.surfaces.mcp.elicitation import answer, can_elicit, form, message
from fourhands.surfaces.mcp.limits import McpLimits


@both
async def test_a_dangerous_command_runs_when_the_person_accepts_in_the_client(app: App, mode: Mode) -> None:
    build = Path(app.bench.root, "build")
    build.mkdir()
    person = Form(chosen("once"))
    async with connected(app, mode, elicitation_callback=person) as client:
        ran = data(await client.call_tool("bash", {"command": "rm -rf build"}, meta=WITH_FIELDS))
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
        assert data(await client.call_tool("bash", {"command": "rm -f nothing"}, meta=WITH_FIELDS))["ok"]
    assert len(person.asked) == 2
    assert "wants to work with you here" in person.asked[0]


@both
async def test_a_form_gives_consent_in_part_or_to_nothing(app: App, mode: Mode) -> None:
    part = ElicitResult(action="accept", content={"decision": "session", "run": False})
    async with connected(app, mode, consent=False, elicitation_callback=Form(part)) as client:
        assert "may not" in text(await client.call_tool("bash", {"command": "ls"}))
        assert not (await client.call_tool("openspace_file_list")).is_error
    none: dict[str, bool] = dict.fromkeys(SCOPES, False)
    nothing = ElicitResult(action="accept", content={"decision": "session", **none})
    async with connected(app, mode, consent=False, elicitation_callback=Form(nothing)) as client:
        assert (await client.call_tool("openspace_file_list")).is_error


async def test_the_first_answer_wins_and_the_form_is_taken_back(app: App) -> None:
    browser, client_person = Person(app), Form()
    async with connected(app, elicitation_callback=client_person) as client:
        async with asyncio.TaskGroup() as group:
            call = group.create_task(client.call_tool("bash", {"command": "rm -f nothing"}, meta=WITH_FIELDS))
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
            call = group.create_task(client.call_tool("bash", {"command": "rm -f nothing"}, meta=WITH_FIELDS))
            question = await browser.question()
            await until(lambda: app.questions.audience(question.session) == 1, app)
            browser.answer(question, "once")
        assert data(call.result())["ok"]


async def test_a_dismissed_form_is_an_end_though_another_call_shows_one(app: App) -> None:
    held = Form()

    async def person(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="cancel") if "second" in params.message else await held(context, params)

    async with connected(app, elicitation_callback=person) as client, asyncio.TaskGroup() as group:
        first = group.create_task(client.call_tool("bash", {"command": "rm -f first"}, meta=WITH_FIELDS))
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
            call = group.create_task(client.call_tool("bash", {"command": "rm -f nothing"}, meta=WITH_FIELDS))
            browser.answer(await browser.question(), "once")
        assert data(call.result())["ok"]


@both
async def test_with_nobody_to_ask_the_call_fails_clearly(app: App, mode: Mode) -> None:
    async with connected(app, mode, consent=False) as client:
        done = await client.call_tool("bash", {"command": "ls"})
    assert done.is_error
    assert "no one is available to approve this" in text(done)


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
            meta=WITH_FIELDS,
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
        let_pass(McpLimits().suspended_s)
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
        facts=("Runs outside the sandbox, as you",),
        detail={"files": 2, "paths": ["x"]},
        limit_s=10,
    )
    words = message(question)
    assert "    ./a\n    ./b\n" in words
    assert "unknown: a program of the workspace" in words
    assert "session: ./a here" in words
    assert "Runs outside the sandbox, as you" in words
    assert "within 10 s" in words
    assert "files: 2" in words
    schema: Any = form(question)
    assert schema["properties"]["decision"]["enum"] == ["once", "session", "deny"]
    bad = ElicitResult(action="accept", content={"decision": "edit"})
    assert answer(question, bad) is None
    assert answer(question, ElicitResult(action="cancel", content={"decision": "once"})) is None


def test_a_client_that_only_opens_addresses_shows_no_forms() -> None:
    assert not can_elicit(None)
    assert not can_elicit(ClientCapabilities())
    assert can_elicit(ClientCapabilities(elicitation=ElicitationCapability()))
    assert not can_elicit(ClientCapabilities(elicitation=ElicitationCapability(url=UrlElicitationCapability())))
