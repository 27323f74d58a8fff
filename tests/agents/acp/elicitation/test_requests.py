"""Elicitations of an agent: what the person gets to see, what the agent gets to know, and nobody else."""

import asyncio
import json
from typing import Any

import pytest
from tests.kit.acp_stage import LIMIT_S, Stage, open_stage
from tests.kit.person import PERSON

from fourhands.agents.acp.elicitation.requests import MOST_OPEN
from fourhands.agents.acp.recipe import Recipe
from fourhands.core.errors import BadArgument, Conflict
from fourhands.core.question import Answer, Question

pytestmark = pytest.mark.timeout(60)  # each starts a host and an agent

FORM = {
    "type": "object",
    "properties": {
        "strategy": {"type": "string", "enum": ["careful", "fast"], "default": "careful"},
        "password": {"type": "string", "title": "Password"},
        "times": {"type": "integer", "minimum": 1},
    },
    "required": ["strategy", "times"],
}
LINK = {"mode": "url", "elicitationId": "e1", "url": "https://auth.example.org/go?state=s3cr3t#x", "message": "Sign in"}


def form(schema=FORM, **more):
    asked = {"mode": "form", "message": "How shall I go on?", "requestedSchema": schema, **more}
    return ["call", "elicitation/create", asked]


def link(**more):
    return ["call", "elicitation/create", {**LINK, **more}]


def results(stage: Stage) -> list[dict[str, Any]]:
    lines = [line for line in stage.said().splitlines() if line.startswith("RESULT ")]
    return [json.loads(line.removeprefix("RESULT ")) for line in lines]


def give(stage: Stage, question: Question, choice, **values) -> None:
    stage.app.questions.answer(question.id, Answer(choice=choice, values=values or None), PERSON)


async def test_a_form_is_announced_shown_checked_and_sent(stage):
    await stage.prompt(form(toolCallId="c1"))
    question = await stage.person.question()
    assert (question.kind, question.text, question.options) == (
        "form",
        "How shall I go on?",
        ("once", "deny", "dismiss"),
    )
    assert [(one.name, one.kind, one.required, one.secret) for one in question.fields] == [
        ("strategy", "choice", True, False),
        ("password", "text", False, True),
        ("times", "integer", True, False),
    ]
    assert question.detail == {"toolCall": {"toolCallId": "c1"}}
    for values, field in (({"strategy": "careful"}, "times"), ({"strategy": "wild", "times": 1}, "strategy")):
        with pytest.raises(BadArgument) as caught:
            give(stage, question, "once", **values)
        assert caught.value.data["field"] == field
        assert question.id in [one.id for one in stage.app.questions.open()]  # it stays until it fits
    give(stage, question, "once", strategy="fast", times=2, password="hunter2hunter2")
    await stage.agent.idle()
    content = {"strategy": "fast", "times": 2, "password": "hunter2hunter2"}
    assert results(stage) == [{"result": {"action": "accept", "content": content}}]
    offered = stage.sent()[0]["params"]["clientCapabilities"]["elicitation"]
    assert offered == {"form": {}, "url": {}}


async def test_what_was_typed_is_neither_in_the_journal_nor_in_events(stage):
    """By the command that the page uses: the choices are kept, and nothing that was typed."""
    await stage.prompt(form())
    question = await stage.person.question()
    args = {
        "questionId": question.id,
        "choice": "once",
        "values": {"strategy": "fast", "times": 42, "password": "tr0ub4dor"},
    }
    assert (await stage.app.call("openspace.workbench.answer", args)).success
    await stage.agent.idle()
    entries = await stage.app.journal.query()
    (asked,) = [entry for entry in entries if entry.call.command == "elicitation/create"]
    assert asked.call.args == {"message": "How shall I go on?", "fields": ["strategy", "password", "times"]}
    assert (asked.verdict.choice, asked.verdict.by) == ("once", PERSON.id)
    assert asked.result is not None
    assert asked.result.data == {
        "action": "accept",
        "content": {"strategy": "fast", "times": "[not kept]", "password": "[not kept]"},
    }
    others = [event.data for event in stage.events if event.kind != "agent.said"]  # the fake agent says what it got
    assert "tr0ub4dor" not in f"{entries}{others}"
    assert "tr0ub4dor" in stage.said()


@pytest.mark.parametrize(("choice", "action"), [("deny", "decline"), ("dismiss", "cancel")])
async def test_a_form_can_be_declined_or_dismissed(stage, choice, action):
    await stage.prompt(form())
    give(stage, await stage.person.question(), choice)
    await stage.agent.idle()
    assert results(stage) == [{"result": {"action": action}}]


async def test_nobody_answers_for_the_person(stage):
    """No one is there; the turn ends; the agent gives up; somebody may be asked in no way."""
    leave, stage.person.leave = stage.person.leave, lambda: None
    leave()
    assert await stage.turn(form()) == [{"result": {"action": "cancel"}}]
    stage.person.leave = stage.app.questions.attend()
    await stage.prompt(form(), ["hang"])
    question = await stage.person.question()
    stage.agent.cancel()
    await stage.agent.idle()
    with pytest.raises(Conflict, match="withdrawn"):
        give(stage, question, "dismiss")
    await stage.turn(["say", "go on"])
    replies = [m["result"] for m in stage.sent() if "action" in (m.get("result") or {})]
    assert replies == [{"action": "cancel"}, {"action": "cancel"}]
    stage.app.questions.ask_only(stage.agent.session.id, "never")
    assert await stage.turn(form()) == [{"result": {"action": "cancel"}}]
    entries = await stage.app.journal.query(command="elicitation/create")
    assert [entry.result.data["action"] for entry in entries if entry.result] == ["cancel"] * 3


async def test_who_can_only_say_yes_or_no_is_not_asked_to_fill_in_a_form(stage):
    """Neither by ACP's permissions nor by MCP's forms: such a client is nobody for it."""
    stage.person.leave()
    leave = stage.app.questions.attend(stage.agent.session.id, ("consent", "confirmation", "browser", "network"))
    assert await stage.turn(form(), link()) == [{"result": {"action": "cancel"}}] * 2
    leave()


async def test_a_link_is_shown_with_its_host_and_answered_by_the_person_only(stage):
    await stage.prompt(link(), ["call", "_done", {}], link(elicitationId="e2", url="http://xn--gthub-n4a.com/"))
    question = await stage.person.question()
    assert (question.kind, question.shown) == ("link", LINK["url"])
    assert (question.link.url, question.link.host, question.link.warnings) == (LINK["url"], "auth.example.org", ())
    with pytest.raises(BadArgument, match="values"):
        give(stage, question, "once", x="y")
    give(stage, question, "once")
    second = await stage.person.question()
    assert len(second.link.warnings) == 2
    give(stage, second, "deny")
    await stage.agent.idle()
    accepted, _, declined = results(stage)
    assert (accepted, declined) == ({"result": {"action": "accept"}}, {"result": {"action": "decline"}})
    first, _ = await stage.app.journal.query(command="elicitation/create")
    assert first.call.args == {"message": "Sign in", "url": "https://auth.example.org/go"}


def done(id):
    message = {"jsonrpc": "2.0", "method": "elicitation/complete", "params": {"elicitationId": id}}
    return ["noise", json.dumps(message)]


async def test_what_was_done_at_a_link_is_told_once(stage):
    """Unknown ids, and those of before, are passed over; one that is done before an answer needs none."""
    await stage.prompt(link(), done("e1"), done("e1"), done("nope"), done(7), ["say", "."])
    give(stage, await stage.person.question(), "once")
    await stage.agent.idle()
    assert [data["text"] for data in stage.of("agent.noted")] == [
        "fake: what was to be done at auth.example.org is done."
    ]
    assert len(stage.of("question.completed")) == 1
    ask = ["background", "elicitation/create", {**LINK, "elicitationId": "e2"}]
    await stage.turn(ask, done("e2"))
    await stage.until("question.withdrawn")
    async with asyncio.timeout(LIMIT_S):
        while {"action": "cancel"} not in [message.get("result") for message in stage.sent()]:
            await stage.turn(["say", "the answer may come behind this"])


async def test_bad_requests_are_refused_with_what_is_wrong(stage):
    many = {"properties": {f"f{n}": {"type": "boolean"} for n in range(10_000)}}
    nested = {"properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}}}
    cases = [
        (form(mode=None), "bad params"),
        (form(mode="video"), "no mode 'video' (modes: form, url)"),
        (form(message=7), "bad params"),
        (form(message=" "), "message has 1 to 20,000 characters"),
        (form(message="x" * 20_001), "not 20,001"),
        (form(many), "the form is too large"),
        (form(nested), "field 'a' has the type 'object'"),
        (form(None), "requestedSchema is an object"),
        (form(sessionId="other"), "no session 'other'"),
        (form(sessionId=None), "no request None is under way"),
        (form(sessionId=None, requestId=99), "no request 99 is under way"),
        (form(sessionId=None, requestId=True), "no request True is under way"),
        (link(url="javascript:alert(1)"), "https: and http: are opened"),
        (link(elicitationId=""), "elicitationId has 1 to 1000 characters"),
        (link(elicitationId=None), "elicitationId has 1 to 1000 characters"),
    ]
    answers = await stage.turn(*[case for case, _ in cases])
    for (case, words), answer in zip(cases, answers, strict=True):
        assert words in answer["error"]["message"], (case, answer)
        assert answer["error"]["code"] in (-32602, -32002)
    assert not stage.person.was_asked


async def test_there_are_only_so_many_at_once_and_no_id_twice(stage):
    asks = [["background", "elicitation/create", {**LINK, "elicitationId": f"e{n}"}] for n in range(MOST_OPEN)]
    await stage.prompt(*asks, link(elicitationId="e0"), form(), ["say", "asked"], ["hang"])
    for _ in range(MOST_OPEN):
        question = await stage.person.question()
    await stage.until("agent.said", text="asked")
    twice, many = results(stage)
    assert "open already" in twice["error"]["message"]
    assert "20 elicitations wait" in many["error"]["message"]
    give(stage, question, "dismiss")
    stage.agent.cancel()
    await stage.agent.idle()
    assert stage.app.questions.open() == []


async def test_a_person_has_time_while_an_agent_starts():
    """What it asks while it begins counts neither as silence, nor does its session's new id matter."""
    for method, scope, options in (
        ("session/new", {"sessionId": "not known yet"}, {}),
        ("authenticate", {"requestId": "$id"}, {"auth": "key"}),
    ):
        recipe = Recipe(name="fake", auth="key", start_seconds=3)
        async with open_stage(recipe, elicits={method: {**scope, **form()[2]}}, **options) as stage:
            stage.agent.tasks.start(stage.agent.ready(), "a start")
            question = await stage.person.question()
            (limit,) = stage.agent.elicitations._limits  # noqa: SLF001
            assert limit.when() is None
            give(stage, question, "once", strategy="fast", times=1)
            await stage.turn(["say", "here"])
            assert "here" in stage.said()


async def test_an_agent_that_dies_takes_its_form_along(stage):
    await stage.prompt(["background", "elicitation/create", form()[2]], ["exit", 3])
    await stage.until("question.withdrawn")
    await stage.agent.idle()
    assert stage.app.questions.open() == []
