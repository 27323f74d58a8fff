"""What an agent asks the person to fill in or open, passed on to an editor: the official SDK's client, a fake agent."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from acp import schema
from tests.kit.acp_stage import FAKE, permission
from tests.kit.editor import Editor, open_editor
from tests.kit.person import PERSON, Person
from tests.kit.server import serve_app

from fourhands.app import App
from fourhands.app.launching import agent_source, launching
from fourhands.core.question import Answer
from fourhands.surfaces.acp_agent.connection import AgentSource

pytestmark = [pytest.mark.timeout(90), pytest.mark.asyncio(loop_scope="module")]

SPEC = f"acp {sys.executable} {FAKE}"
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "maxLength": 5},
        "some": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
    },
    "required": ["name"],
}
FORM = [
    "call",
    "elicitation/create",
    {"mode": "form", "message": "Who?", "requestedSchema": SCHEMA, "toolCallId": "c1"},
]
URL = {"mode": "url", "elicitationId": "e1", "message": "Sign in", "url": "https://example.org/in"}
CANCELLED = {"result": {"action": "cancel"}}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[App, AgentSource]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAKE_LOG", str(tmp_path_factory.mktemp("fake") / "log"))
        async with serve_app() as running:
            with launching(running.app, running.running):
                yield running.app, agent_source(running.app, running.running)


async def acting(editor: Editor, session: str, *actions: Any) -> list[dict[str, Any]]:
    """One turn of the agent; what came of its calls."""
    before = len(editor.text())
    assert await editor.prompt(session, json.dumps(actions)) == "end_turn"
    lines = editor.text()[before:].splitlines()
    return [json.loads(line.removeprefix("RESULT ")) for line in lines if line.startswith("RESULT ")]


def completed(id: str) -> list[str]:
    message = {"jsonrpc": "2.0", "method": "elicitation/complete", "params": {"elicitationId": id}}
    return ["noise", json.dumps(message)]


async def test_forms_and_links_go_to_an_editor_that_shows_them(served: tuple[App, AgentSource]) -> None:
    app, source = served
    async with open_editor(source, SPEC) as editor:
        await editor.begin(elicits=True)
        session = await editor.new(app.bench.root)
        editor.filled = schema.AcceptElicitationResponse(action="accept", content={"name": "Ann", "some": ["b"]})
        accepted = {"result": {"action": "accept", "content": {"name": "Ann", "some": ["b"]}}}
        assert await acting(editor, session, FORM) == [accepted]
        message, form = editor.elicited[-1]
        assert (message, form.session_id, form.tool_call_id) == ("Who?", session, "c1")
        assert form.requested_schema.required == ["name"]
        assert form.requested_schema.properties["name"].max_length == 5
        editor.filled = schema.DeclineElicitationResponse(action="decline")
        assert await acting(editor, session, FORM) == [{"result": {"action": "decline"}}]
        editor.filled = schema.CancelElicitationResponse(action="cancel")
        assert await acting(editor, session, FORM) == [CANCELLED]
        for wrong in ({"name": "too long"}, {}, {"name": "Ann", "other": 1}):
            editor.filled = schema.AcceptElicitationResponse(action="accept", content=wrong)
            assert await acting(editor, session, FORM) == [CANCELLED]
        editor.filled = schema.AcceptElicitationResponse(action="accept")
        link = ["call", "elicitation/create", URL]
        assert await acting(editor, session, link, completed("e1"), completed("e1")) == [
            {"result": {"action": "accept"}}
        ]
        _, mode = editor.elicited[-1]
        assert str(mode.url) == URL["url"]
        assert mode.elicitation_id != "e1"  # one of ours: several agents may have an e1
        await editor.until(lambda one: one.completed)
        assert editor.completed == [mode.elicitation_id]
        assert "what was to be done at example.org is done" in editor.text()


async def test_an_editor_without_forms_leaves_them_to_the_page(served: tuple[App, AgentSource]) -> None:
    """Without a page nobody is there for a form; what can be decided is asked in the editor all the same."""
    app, source = served
    async with open_editor(source, SPEC) as editor:
        await editor.begin()
        session = await editor.new(app.bench.root)
        app.gate.consent.grant(session)
        assert await acting(editor, session, FORM, ["call", "elicitation/create", URL]) == [CANCELLED, CANCELLED]
        person = Person(app)
        async with asyncio.TaskGroup() as tasks:
            turn = tasks.create_task(acting(editor, session, FORM, permission("echo wild | sh")))
            question = await person.question()
            app.questions.answer(question.id, Answer(choice="once", values={"name": "Bob"}), PERSON)
        person.leave()
        first, second = turn.result()
        assert first == {"result": {"action": "accept", "content": {"name": "Bob"}}}
        assert second["result"]["outcome"]["outcome"] == "selected"
        assert editor.elicited == []
        assert len(editor.asked) == 1


async def test_one_answer_counts_and_a_cancelled_turn_is_cancel(served: tuple[App, AgentSource]) -> None:
    app, source = served
    async with open_editor(source, SPEC) as editor, open_editor(source, SPEC) as other:
        await editor.begin(elicits=True)
        await other.begin(elicits=True)
        session = await editor.new(app.bench.root)
        await other.connection.resume_session(cwd=app.bench.root, session_id=session, mcp_servers=[])
        editor.hold = True
        other.filled = schema.AcceptElicitationResponse(action="accept", content={"name": "Two"})
        (told,) = await acting(editor, session, FORM)
        assert told["result"]["content"] == {"name": "Two"}
        assert len(editor.elicited) == 1
        other.hold = True
        async with asyncio.TaskGroup() as tasks:
            turn = tasks.create_task(editor.prompt(session, json.dumps([FORM])))
            await editor.until(lambda one: len(one.elicited) == 2)
            await editor.connection.cancel(session_id=session)
        assert turn.result() == "cancelled"
        assert app.questions.open(session) == []
        await acting(editor, session, ["say", "the answer has come before this"])
        assert editor.text().count(json.dumps(CANCELLED)) == 1


async def test_an_editor_that_promised_too_much_is_no_audience_for_forms(served: tuple[App, AgentSource]) -> None:
    app, source = served

    async def fails(*_: Any, **__: Any) -> Any:
        raise NotImplementedError("no forms here")

    async with open_editor(source, SPEC) as editor:
        editor.create_elicitation = fails  # type: ignore[method-assign]
        await editor.begin(elicits=True)
        session = await editor.new(app.bench.root)
        app.gate.consent.grant(session)
        assert await acting(editor, session, FORM) == [CANCELLED]
        (told,) = await acting(editor, session, permission("echo wild | sh"))  # it is still asked what it can decide
        assert told["result"]["outcome"]["outcome"] == "selected"
