"""Confirmation through real doors: the agent calls by HTTP, the person answers by WebSocket."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.kit.gate import Timers
from tests.kit.server import Caller, Served, serve_app

from fourhands.settings import SafetySettings, Settings

BASH = "/api/commands/openspace.tool.bash"


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with serve_app(Settings(safety=SafetySettings(unknown_answer_s=60.0))) as served:
        build = Path(served.app.bench.root, "build")
        (build / "tmp").mkdir(parents=True)
        (build / "keep").write_text("kept")
        yield served


async def asked(person: Caller) -> dict[str, Any]:
    question: dict[str, Any] = (await person.event("question.asked"))["data"]
    return question


async def answer(person: Caller, question: dict[str, Any], choice: str, **more: str) -> None:
    said = await person.reply(question, choice, **more)
    assert said["success"], said


async def test_edit_then_approve_runs_exactly_the_edited_line(served: Served) -> None:
    _, token = served.agent()
    async with served.person() as person, served.client(token) as agent, asyncio.TaskGroup() as group:
        running = group.create_task(agent.post(BASH, json={"command": "rm -rf build"}))
        question = await asked(person)
        assert (question["level"], question["shown"]) == ("dangerous", "rm -rf build")
        await answer(person, question, "edit", text="rm -r build/tmp")
        done = (await running).json()
        assert done["ok"], done
        assert done["editedArgs"] == {"command": "rm -r build/tmp"}
        # The same line again is a question again, and so is the one that was approved.
        for line in ("rm -rf build", "rm -r build/tmp"):
            running = group.create_task(agent.post(BASH, json={"command": line}))
            question = await asked(person)
            assert question["shown"] == line
            await answer(person, question, "deny", reason="I still need it")
            refused = (await running).json()
            assert (refused["success"], refused["code"]) == (False, "denied")
            assert refused["error"] == "the person refused: I still need it"
    assert [path.name for path in Path(served.app.bench.root, "build").iterdir()] == ["keep"]


async def test_an_unknown_line_without_an_answer_fails_clearly_after_ten_seconds() -> None:
    timers = Timers()
    async with (
        serve_app(workbench={"now": timers.time, "later": timers.later}) as served,
        served.person() as person,
        served.client(served.agent()[1]) as agent,
        asyncio.TaskGroup() as group,
    ):
        questions = served.app.bench.questions
        running = group.create_task(agent.post(BASH, json={"command": "./deploy.sh"}))
        question = await asked(person)
        assert question["limitSeconds"] == 10.0
        timers.advance(9.9)
        assert [one.id for one in questions.open()] == [question["id"]]
        timers.advance(0.1)
        said = (await running).json()
        assert (said["success"], said["code"]) == (False, "no-answer")
        assert "no answer within 10 s" in said["error"]
        # What is dangerous waits for ever.
        running = group.create_task(agent.post(BASH, json={"command": "rm -rf build"}))
        question = await asked(person)
        assert "limitSeconds" not in question or question["limitSeconds"] is None
        timers.advance(1e6)
        await answer(person, question, "deny")
        assert (await running).json()["code"] == "denied"


async def test_a_rule_covers_the_same_words_in_the_same_directory_only(served: Served) -> None:
    _, token = served.agent()
    program = Path(served.app.bench.root, "tell")
    program.write_text("#!/bin/sh\npwd\n")
    program.chmod(0o755)
    launch = {"command": str(program), "args": ["x"]}
    path = "/api/commands/openspace.tool.execute_command"
    async with served.person() as person, served.client(token) as agent, asyncio.TaskGroup() as group:
        running = group.create_task(agent.post(path, json=launch))
        await answer(person, await asked(person), "session")
        assert (await running).json()["ok"]
        assert (await agent.post(path, json=launch)).json()["ok"]  # unasked
        running = group.create_task(agent.post(path, json={**launch, "workingDirectory": "build"}))
        await answer(person, await asked(person), "deny")
        assert (await running).json()["code"] == "denied"
