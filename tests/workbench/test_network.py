"""The network as a workbench has it: who is asked, what an agent is told, what is kept."""

import asyncio
from pathlib import Path
from typing import cast

import pytest
from tests.kit.person import Person, let_in
from tests.kit.workbench import open_app, temporary_places

from fourhands.core.errors import Denied, NoAnswer
from fourhands.core.question import Question
from fourhands.core.tasks import Tasks


async def test_the_question_names_the_agent_the_host_and_the_line_that_runs() -> None:
    async with open_app() as app, Tasks() as tasks:
        ada = let_in(app, "ada")
        await app.call("openspace.tool.bash", {"command": "echo hi"}, actor=ada.actor)
        person = Person(app)
        waiting = tasks.start(app.bench.network.gatekeeper.require(ada.id, "example.org", 443), "a connection")
        question = await person.question()
        assert (question.kind, question.text) == ("network", "ada wants to connect to example.org:443")
        assert question.detail == {"line": "echo hi"}
        assert question.options == ("once", "session", "always", "never", "deny")
        person.answer(question, "session")
        await waiting
        await app.bench.end_session(ada.id)
        person.leave()
        with pytest.raises(NoAnswer, match="no one is there"):  # a session's answer ends with it
            await app.bench.network.gatekeeper.require(ada.id, "example.org", 443)


async def test_an_agent_reads_in_its_next_result_what_was_refused() -> None:
    async with open_app() as app:
        ada, bob = let_in(app, "ada"), let_in(app, "bob")
        app.bench.network.gatekeeper.refused(ada.id, "example.org", 443, "not allowed yet")
        other = await app.call("openspace.tool.bash", {"command": "true"}, actor=bob.actor)
        assert "network" not in other.data
        result = await app.call("openspace.tool.bash", {"command": "true"}, actor=ada.actor)
        assert result.data["network"] == ["example.org:443 refused, not allowed yet"]
        again = await app.call("openspace.tool.bash", {"command": "true"}, actor=ada.actor)
        assert "network" not in again.data
        app.bench.redaction = app.bench.redaction.knowing("hidden-value-4711")
        app.bench.network.gatekeeper.refused(ada.id, "hidden-value-4711.example.org", 443, "not allowed yet")
        told = await app.call("openspace.tool.bash", {"command": "true"}, actor=ada.actor)
        (note,) = cast(list[str], told.data["network"])
        assert "example.org:443 refused" in note
        assert "4711" not in note


async def test_what_a_person_decides_for_the_workspace_outlives_the_server_and_is_journalled() -> None:
    with temporary_places() as places:
        async with open_app(places=places) as app:
            assert (await app.call("openspace.network.allow", {"host": "example.org", "allow": False})).success
            assert (await app.call("openspace.network.allow", {"host": "example.com"})).success
            commands = [entry.call.command for entry in await app.journal.query()]
            assert commands.count("openspace.network.allow") == 2
        assert (Path(places.state) / "network.json").stat().st_mode & 0o077 == 0
        async with open_app(places=places) as app:
            keeper = app.bench.network.gatekeeper
            await keeper.require("session_x", "example.com", 443)
            with pytest.raises(Denied, match="never"):
                await keeper.require("session_x", "example.org", 443)
            agent = await app.call("openspace.network.forget", {"host": "example.org"}, actor=let_in(app).actor)
            assert agent.code == "denied"


async def test_an_unanswered_question_is_asked_once_for_all_retries() -> None:
    async with open_app() as app:
        keeper = app.bench.network.gatekeeper
        asked: list[str] = []
        leave = app.questions.attend()

        def withdraw(event: object) -> None:
            question = getattr(event, "payload", None)
            if isinstance(question, Question):
                asked.append(question.id)
                asyncio.get_running_loop().call_soon(app.questions.withdraw, question.id, "gone")

        app.events.published.subscribe(withdraw)
        for _ in range(3):
            with pytest.raises((NoAnswer, Denied)):
                await keeper.require("session_x", "example.org", 443)
        assert len(asked) == 1
        leave()
