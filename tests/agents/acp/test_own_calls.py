"""Calls of our own MCP server that an agent asks about: its request and the gate's question are one."""

import json
from pathlib import Path

import pytest
from tests.kit.acp_stage import OPTIONS, permission

from fourhands.core.call import Call

pytestmark = pytest.mark.timeout(60)  # each starts a host and an agent

ALLOWED = {"outcome": {"outcome": "selected", "optionId": "yes"}}
REFUSED = {"outcome": {"outcome": "selected", "optionId": "no"}}


def wants(tool="mcp__fourhands__bash", args=None, **more):
    """The action of asking for a tool by its name, as Claude Code does."""
    given = {"command": "rm -rf victim"} if args is None else args
    return permission(**{"title": tool, "kind": "other", "rawInput": given, **more})


async def comes(stage, line, tool="bash"):
    """Let a call of `bash` come to the gate, as it does by MCP."""
    actor = stage.agent.session.actor
    call = Call(command=f"openspace.tool.{tool}", args={"command": line}, actor=actor, origin="mcp")
    return await stage.app.gate.run(call)


async def test_what_the_gate_would_run_unasked_is_allowed_at_once(stage):
    answers = await stage.turn(
        wants(args={"command": "ls"}),
        wants("mcp__fourhands__openspace_terminal_list", {}),
        wants("fourhands_bash", {}, rawInput={"command": "pwd"}),  # OpenCode
        wants("ls", None, rawInput=None, toolCallId="mcp_fourhands_bash__c1", content=_shown({"command": "ls"})),
        wants(**_codex()),
    )
    assert [answer["result"] for answer in answers] == [ALLOWED] * 5
    assert not stage.of("question.asked")
    entries = await stage.app.journal.query(command="session/request_permission")
    assert [entry.result.success for entry in entries] == [True] * 5


async def test_what_was_allowed_at_the_agents_door_is_not_asked_about_at_the_gate(stage):
    Path(stage.app.bench.root, "victim").touch()
    await stage.prompt(wants())
    question = await stage.person.question()
    assert (question.command, question.shown, question.level) == ("openspace.tool.bash", "rm -rf victim", "dangerous")
    assert question.reason == "deletes files: rm with 1 operand"
    assert question.options == ("once", "deny")
    assert question.detail["files"] == 1
    stage.person.answer(question, "once")
    await stage.agent.idle()
    assert json.loads(stage.said().removeprefix("RESULT "))["result"] == ALLOWED
    assert (await comes(stage, "rm -rf victim")).success
    assert len(stage.of("question.asked")) == 1
    stage.person.leave()
    assert (await comes(stage, "rm -rf victim")).code == "no-answer"  # once


async def test_another_call_is_asked_about_anew(stage):
    await stage.prompt(wants())
    stage.person.answer(await stage.person.question(), "once")
    await stage.agent.idle()
    stage.person.leave()
    for other in (("rm -rf victim other",), ("rm -rf victim ",), ("rm -rf victim", "terminal_start")):
        assert (await comes(stage, *other)).code == "no-answer"


async def test_a_refusal_and_its_reason_reach_the_agent(stage):
    await stage.prompt(wants())
    stage.person.answer(await stage.person.question(), "deny", reason="move it to the trash")
    await stage.agent.idle()
    assert json.dumps(REFUSED)[1:-1] in stage.said()
    (entry,) = await stage.app.journal.query(command="openspace.tool.bash")
    assert (entry.result.code, entry.call.origin) == ("denied", "acp")
    await stage.turn()
    prompts = [message["params"]["prompt"] for message in stage.sent() if message.get("method") == "session/prompt"]
    assert "move it to the trash" in json.dumps(prompts[-1])
    stage.person.leave()
    assert (await comes(stage, "rm -rf victim")).code == "no-answer"


def _codex(server="fourhands", title="mcp.fourhands.bash", args=None, **more):
    """How Codex tells of a call, beside the name of the server."""
    given = {"server": server, "tool": "bash", "arguments": args or {"command": "ls"}, **more}
    return {"tool": title, "kind": "execute", "rawInput": given}


ODD: list[dict[str, object]] = [
    _codex(server="other"),
    _codex(title="mcp.fourhands.read"),
    _codex(title="mcp.other.bash"),
    _codex(also="this"),
    _codex(args={"command": "ls", "description": "d"}),
    {**_codex(), "kind": "other"},
    {"args": {"command": "ls", "description": "d"}},  # the agent's own tool has such arguments
    {"args": {"command": 5}},
    {"args": {}},
    {"args": "ls"},
    {"tool": "mcp__fourhands__openspace_terminal_list", "args": {"command": "rm -rf victim"}},
    {"tool": "mcp__fourhands__nothing_like_it", "args": {}},
    {"tool": "`mcp__fourhands__bash`", "args": {"command": "ls"}},
    {"tool": "mcp__fourhands__bash\n", "args": {"command": "ls"}},
    {"tool": "mcp__other__bash", "args": {"command": "ls"}},
    {"tool": "see mcp__fourhands__bash", "args": {"command": "ls"}},
    {"args": {"command": "ls"}, "kind": "edit"},
    {"args": {"command": "ls"}, "options": OPTIONS[1:]},  # nothing to choose that is for once
    {"tool": "x", "rawInput": None, "toolCallId": "mcp_fourhands_bash__c", "content": []},
    {"tool": "x", "rawInput": None, "toolCallId": "mcp_fourhands_bash__c", "content": [5]},
]


async def test_what_only_looks_like_such_a_call_is_asked_about_as_before(stage):
    for odd in ODD:
        await stage.prompt(wants(**odd))
        question = await stage.person.question()
        assert question.command == "session/request_permission", odd
        stage.person.answer(question, "deny")
        await stage.agent.idle()


async def test_content_that_is_no_object_is_no_call(stage):
    for text in ("", "{", "[" * 100_000, '"ls"', "{" + '"command":"ls",' * 3):
        content = [{"type": "content", "content": {"type": "text", "text": text}}]
        await stage.prompt(wants("x", rawInput=None, toolCallId="mcp_fourhands_bash__c", content=content))
        stage.person.answer(await stage.person.question(), "deny")
        await stage.agent.idle()


async def test_cancel_withdraws_the_question_and_answers_the_request(stage):
    await stage.prompt(wants(), ["hang"])
    await stage.person.question()
    stage.agent.cancel()
    await stage.until("question.withdrawn")
    await stage.agent.idle()
    await stage.agent.prompt("next")
    await stage.agent.idle()
    assert {"outcome": {"outcome": "cancelled"}} in [message.get("result") for message in stage.sent()]


async def test_with_no_one_there_the_gate_refuses_in_words_that_the_model_reads(stage):
    Path(stage.app.bench.root, "victim").touch()
    stage.person.leave()
    (answer,) = await stage.turn(wants())
    assert answer["result"] == ALLOWED
    refused = await comes(stage, "rm -rf victim")
    assert (refused.code, Path(stage.app.bench.root, "victim").exists()) == ("no-answer", True)
    assert "no one is available to approve this" in str(refused.error)


async def test_a_question_that_nobody_answers_is_not_asked_again_at_the_gate(stage):
    await stage.prompt(wants())
    question = await stage.person.question()
    stage.app.questions.withdraw(question.id, "too late")
    await stage.agent.idle()
    assert json.loads(stage.said().removeprefix("RESULT "))["result"] == {"outcome": {"outcome": "cancelled"}}


async def test_a_tool_that_runs_nothing_itself_is_asked_about_though_its_command_looks_safe(stage):
    await stage.prompt(permission("ls", kind="other", title="mcp__remote__run"))
    question = await stage.person.question()
    assert question.shown == "ls"
    stage.person.answer(question, "once")
    await stage.agent.idle()


def _shown(args):
    return [{"type": "content", "content": {"type": "text", "text": json.dumps(args)}}]
