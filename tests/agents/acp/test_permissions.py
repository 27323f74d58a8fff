"""An ACP agent's permission requests: questions to the person."""

import json

import pytest
from acp import schema
from tests.kit.acp_stage import OPTIONS, permission

from fourhands.agents.acp.permissions import shortened
from fourhands.core.question import Question

pytestmark = pytest.mark.timeout(60)  # each starts a host and an agent


@pytest.mark.parametrize(("choice", "option"), [("once", "yes"), ("session", "always"), ("deny", "no")])
async def test_a_permission_request_is_a_question(stage, choice, option):
    await stage.prompt(permission())
    question: Question = await stage.person.question()
    assert question.shown == "npm install x"
    assert question.options == ("once", "session", "deny")
    stage.person.answer(question, choice)
    await stage.agent.idle()
    reply = [message for message in stage.sent() if "outcome" in (message.get("result") or {})]
    schema.RequestPermissionResponse.model_validate(reply[0]["result"])
    assert reply[0]["result"] == {"outcome": {"outcome": "selected", "optionId": option}}


async def test_what_is_dangerous_is_asked_about_each_time(stage):
    await stage.prompt(permission("rm -rf /"))
    question = await stage.person.question()
    assert (question.level, question.options) == ("dangerous", ("once", "deny"))
    stage.person.answer(question, "deny")
    await stage.agent.idle()


async def test_without_an_option_to_refuse_a_refusal_is_cancelled(stage):
    odd = [5, {"name": "no id"}, {"optionId": "x", "kind": "from_the_future"}, OPTIONS[2]]
    await stage.prompt(
        permission(options=OPTIONS[:1]), permission(options=[]), permission(rawInput=None), permission(options=odd)
    )
    for _ in range(4):
        stage.person.answer(await stage.person.question(), "deny")
    await stage.agent.idle()
    outcomes = [m["result"]["outcome"]["outcome"] for m in stage.sent() if "outcome" in (m.get("result") or {})]
    assert outcomes == ["cancelled", "cancelled", "selected", "selected"]


async def test_with_nobody_there_a_permission_is_cancelled(stage):
    stage.person.leave()
    (answer,) = await stage.turn(permission())
    assert answer["result"] == {"outcome": {"outcome": "cancelled"}}


async def test_a_line_that_was_allowed_is_not_asked_about_again(stage):
    await stage.prompt(
        permission("rm -rf victim"),
        ["call", "terminal/create", {"command": "rm -rf victim", "env": [{"name": "CLAUDECODE", "value": "1"}]}],
        ["call", "terminal/wait_for_exit", {"terminalId": "$terminal"}],
    )
    stage.person.answer(await stage.person.question(), "once")
    await stage.agent.idle()
    assert "exitCode" in stage.said()
    assert [event.data["choice"] for event in stage.person.ended] == ["once", "once"]


async def test_cancel_answers_open_permissions_and_the_agent_goes_on(stage):
    await stage.prompt(
        ["update", {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "t", "status": "in_progress"}],
        permission(),
        ["hang"],
    )
    await stage.person.question()
    stage.agent.cancel()
    await stage.until("agent.step", stepId="c1", status="cancelled")
    await stage.agent.idle()
    await stage.agent.prompt("next")
    await stage.agent.idle()
    assert "heard: next" in stage.said()
    sent = stage.sent()
    assert {"outcome": {"outcome": "cancelled"}} in [message.get("result") for message in sent]
    assert "session/cancel" in [message.get("method") for message in sent]
    assert sum(message.get("method") == "initialize" for message in sent) == 1


REVERSED = "\u202e"


async def test_signs_that_hide_a_line_are_made_visible(stage):
    await stage.prompt(permission(f"echo gpj{REVERSED}.exe"), permission(rawInput=None, title=f"use{REVERSED}it"))
    for words in ("echo gpj", "use"):
        question = await stage.person.question()
        assert words in question.shown
        for text in (question.shown, *(part.text for part in question.parts)):
            assert REVERSED not in text
        stage.person.answer(question, "deny")
    await stage.agent.idle()


async def test_what_was_asked_and_answered_is_in_the_journal(stage):
    await stage.prompt(permission("npm install x"), permission("npm install y"))
    for choice in ("once", "deny"):
        stage.person.answer(await stage.person.question(), choice)
    await stage.agent.idle()
    stage.person.leave()
    await stage.turn(permission("npm install z"))
    found = [
        (entry.call.args["shown"], entry.verdict.choice, entry.verdict.by, entry.result.success, entry.result.code)
        for entry in sorted(await stage.app.journal.query(), key=lambda entry: entry.asked)
        if entry.call.command == "session/request_permission"
    ]
    assert found == [
        ("npm install x", "once", "person", True, ""),
        ("npm install y", "deny", "person", False, "denied"),
        ("npm install z", "", "", False, "no-answer"),
    ]


async def test_a_session_that_is_not_the_agents_asks_and_tells_nothing(stage):
    name, method, asked = permission("npm install x")
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "from elsewhere"}}
    line = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "other", "update": update}}
    (answer,) = await stage.turn([name, method, {**asked, "sessionId": "other"}], ["noise", json.dumps(line)])
    assert (answer["error"]["code"], answer["error"]["data"]["code"]) == (-32002, "unknown-session")
    assert not stage.of("question.asked")
    assert "from elsewhere" not in stage.said()


def test_what_an_agent_sends_is_cut_to_a_depth_and_a_length():
    deep: object = "end"
    for _ in range(5000):
        deep = [deep]
    found = shortened(deep)
    for _ in range(11):
        found = found[0]
    assert found == [None]
    assert shortened({"text": "x" * 20_001})["text"] == f"{'x' * 20_000}… (20001 characters)"
    assert len(shortened(list(range(1000)))) == 500
