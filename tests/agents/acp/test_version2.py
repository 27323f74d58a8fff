"""Version 2 of ACP, the draft: what is agreed on, and that an agent that speaks it is one like any other here."""

import asyncio
import json
from typing import Any

import msgspec
import pytest
from tests.kit.acp2_messages import check2
from tests.kit.acp_messages import check
from tests.kit.acp_stage import LIMIT_S, OPTIONS, open_stage

from fourhands.agents.acp.recipe import Recipe
from fourhands.agents.acp.version2_updates import UpdatesOfVersion2
from fourhands.core.errors import Unsupported
from fourhands.settings import AgentSettings, Settings

pytestmark = pytest.mark.timeout(60)  # each starts a host and an agent

DRAFT = Recipe(name="fake", acp_version=2)


def text(words):
    return {"type": "text", "text": words}


async def spoken(stage):
    """What the agent was sent first, by method."""
    found: dict[str, Any] = {}
    for message in stage.sent():
        found.setdefault(message.get("method", ""), message.get("params"))
    return found


async def test_an_agent_gets_the_newest_version_that_both_speak():
    for recipe, version, agreed in [(DRAFT, 2, 2), (DRAFT, 1, 1), (Recipe(name="fake"), 1, 1)]:
        async with open_stage(recipe, version=version, mcp=lambda *_: []) as stage:
            await stage.turn(["say", "hello"])
            sent, offered = await spoken(stage), recipe.acp_version
            assert stage.agent.runtime.peer.version == agreed
            assert sent["initialize"]["protocolVersion"] == offered
            assert sent["initialize"]["clientCapabilities"]["terminal"] is True  # for one that answers with 1
            # What version 2 has taken away is not offered in its own words.
            assert not {"fs", "terminal"} & sent["initialize"].get("capabilities", {}).keys()
            assert stage.said() == "hello"
            assert stage.of("agent.finished")[-1]["stopReason"] == "end_turn"


async def test_a_version_that_was_not_offered_is_refused_with_the_way_to_allow_it():
    for recipe, version, hint in [(None, 2, "acpVersion = 2"), (DRAFT, 3, "version 2"), (DRAFT, True, "version 2")]:
        async with open_stage(recipe, version=version) as stage:
            with pytest.raises(Unsupported) as caught:
                await stage.agent.ready()
            assert hint in caught.value.hint, caught.value.hint


async def test_the_settings_of_an_agent_choose_its_version():
    local = {"provider": "local"}
    for agents, offered in [
        ({"fake": {"acpVersion": 2, **local}}, 2),
        ({"acp": {"acpVersion": 2}, "fake": {"acpVersion": 1, **local}}, 1),
    ]:
        settings = msgspec.convert({"agents": agents}, Settings)
        async with open_stage(settings=settings, version=offered, mcp=lambda *_: []) as stage:
            stage.hold = check2 if offered == 2 else check
            await stage.turn(["say", "hello"])
            assert (await spoken(stage))["initialize"]["protocolVersion"] == offered


async def test_a_turn_ends_when_the_agent_is_idle_and_not_with_its_acknowledgement():
    async with open_stage(DRAFT, version=2) as stage:
        await stage.prompt(
            ["update", {"sessionUpdate": "agent_message", "messageId": "m", "content": [text("one ")]}],
            ["update", {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": text("two ")}],
            ["update", {"sessionUpdate": "agent_message", "messageId": "m", "content": [text("one two three")]}],
            ["update", {"sessionUpdate": "agent_message", "messageId": "m"}],
            ["update", {"sessionUpdate": "agent_message", "messageId": "m", "content": None}],
            ["update", {"sessionUpdate": "state_update", "state": "requires_action"}],
            ["hang"],
        )
        async with asyncio.timeout(LIMIT_S):
            await stage.until("agent.said", text="three")
            assert stage.agent.working
            assert stage.said() == "one two three"
            stage.agent.cancel()
            await stage.agent.idle()
        assert stage.of("agent.finished")[-1]["stopReason"] == "cancelled"
        assert len(stage.of("agent.asked")) == 1  # its acknowledgement of the message is no second one
        await stage.turn(["stop", "refusal"])
        assert stage.of("agent.finished")[-1]["stopReason"] == "refusal"


async def test_an_agent_that_dies_in_its_turn_fails_it():
    async with open_stage(DRAFT, version=2) as stage:
        await stage.turn(["say", "now"], ["exit", 3])
        assert "3" in (await stage.until("agent.exited")).data["error"]
        assert stage.of("agent.finished")[-1]["stopReason"] == "failed"
        await stage.turn(["say", "and again"])
        assert stage.said().endswith("and again")


async def test_tool_calls_are_patched_and_their_parts_added_up():
    chunk = {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c"}
    more = {"priority": "low", "status": "pending"}
    async with open_stage(DRAFT, version=2) as stage:
        await stage.turn(
            ["update", {"sessionUpdate": "tool_call_update", "toolCallId": "c", "title": "Edit", "kind": "edit"}],
            ["update", {**chunk, "content": {"type": "content", "content": text("a")}}],
            [
                "update",
                {
                    **chunk,
                    "content": {
                        "type": "diff",
                        "changes": [
                            {"operation": "move", "oldPath": "/a", "path": "/b"},
                            {"operation": "delete", "path": "/c"},
                        ],
                    },
                },
            ],
            ["update", {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed", "title": None}],
            [
                "update",
                {
                    "sessionUpdate": "plan_update",
                    "plan": {"type": "items", "planId": "p", "entries": [{"content": "x", **more}]},
                },
            ],
            [
                "update",
                {
                    "sessionUpdate": "plan_update",
                    "plan": {"type": "items", "planId": "q", "entries": [{"content": "y", **more}]},
                },
            ],
            ["update", {"sessionUpdate": "plan_update", "plan": {"type": "markdown", "planId": "q"}}],
            ["update", {"sessionUpdate": "config_option_update", "configOptions": [{"configId": "odd"}, 7]}],
        )
        step = stage.of("agent.step")[-1]
        assert [one["content"]["text"] for one in step["content"]] == ["a", "move: /a → /b\ndelete: /c"]
        assert (step["title"], step["status"], step["tool"]) == ("", "completed", "edit")
        assert [entry["content"] for entry in stage.of("agent.planned")[-1]["entries"]] == ["x", "y"]


def test_a_corrected_message_is_told_again_and_its_blocks_do_not_run():
    updates = UpdatesOfVersion2("fake")
    first = {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": text("one")}
    assert updates.take(first) == [first]
    told = updates.take({"sessionUpdate": "agent_message", "messageId": "m", "content": [text("two")]})
    assert told == [{**first, "messageId": "m 2", "again": True, "content": text("two")}]
    assert updates.take({**first, "content": text("!")})[0]["messageId"] == "m 2"
    image = {"type": "image", "data": "AA==", "mimeType": "image/png"}
    whole = {"sessionUpdate": "agent_message", "messageId": "n", "content": [text("see"), image]}
    assert [one["content"] for one in updates.take(whole)] == [text("see"), image]


async def test_a_correction_runs_no_blocks():
    block = '%%OS{"cmd": "openspace.file.list"}%%'
    async with open_stage(DRAFT, version=2) as stage:
        await stage.turn(
            ["update", {"sessionUpdate": "agent_message", "messageId": "m", "content": [text("first")]}],
            ["update", {"sessionUpdate": "agent_message", "messageId": "m", "content": [text(f"second {block}")]}],
        )
        assert stage.said() == "firstsecond "
        assert not stage.of("call.started")


async def test_options_take_the_place_of_modes_and_sessions_are_resumed():
    async with open_stage(DRAFT, version=2, auth="key") as stage:
        await stage.agent.sign_in("key")
        found = await stage.agent.describe()
        assert [(one.id, one.value) for one in found.options] == [("mode", "ask")]
        assert (found.modes, found.chats) == ((), True)
        await stage.agent.set_option("mode", "ask")
        assert [chat.id for chat in await stage.agent.chats()] == ["a", "b"]
        await stage.agent.load_chat("a")
        assert stage.of("agent.asked")[-1]["text"] == "old question"
        assert stage.said() == "old answer"
        assert not stage.of("call.started")  # the block in it ran long ago
        sent = await spoken(stage)
        assert sent["auth/login"] == {"methodId": "key"}
        assert sent["session/resume"]["replayFrom"] == {"type": "start"}
        assert sent["session/set_config_option"]["type"] == "id"


async def test_only_servers_that_the_agent_can_reach_are_given():
    servers = [
        {"name": "here", "command": "/bin/true"},
        {"type": "http", "name": "there", "url": "http://127.0.0.1:1/"},
    ]
    for able, names in [({"stdio": {}}, ["here"]), ({"http": {}}, ["there"]), ({"stdio": None}, [])]:
        async with open_stage(DRAFT, version=2, capabilities={"mcp": able}, mcp=lambda *_: servers) as stage:
            await stage.agent.ready()
            given = (await spoken(stage))["session/new"]["mcpServers"]
            assert [one["name"] for one in given] == names


def request(subject=None, title="May I?"):
    asked = {"title": title, "description": "because", "options": OPTIONS}
    return ["call", "session/request_permission", asked if subject is None else {**asked, "subject": subject}]


async def test_permissions_tell_their_subject_and_a_safe_line_elsewhere_is_asked_about():
    call = {"toolCallId": "c", "title": "Tool", "kind": "fetch", "status": "pending"}
    async with open_stage(DRAFT, version=2) as stage:
        root = stage.bench.root
        inside = {"type": "command", "command": "ls -l", "cwd": root, "toolCallId": "d"}
        assert await stage.turn(request(inside)) == [
            {"result": {"outcome": {"outcome": "selected", "optionId": "yes"}}}
        ]
        assert not stage.of("question.asked")  # safe here, as by every other door
        for subject, shown in [
            ({"type": "tool_call", "toolCall": call}, "May I? (because)"),
            ({**inside, "cwd": "/"}, "ls -l"),
            ({"type": "from_the_future"}, "May I? (because)"),
            (None, "May I? (because)"),
        ]:
            before = len(stage.events)
            await stage.prompt(request(subject))
            question = await stage.person.question()
            assert question.shown == shown
            assert question.text.endswith("asks for permission: May I? (because)")
            stage.person.answer(question, "deny")
            async with asyncio.timeout(LIMIT_S):
                await stage.agent.idle()
            assert '"optionId": "no"' in stage.said(before)
            if subject and "toolCall" in subject:
                assert stage.agent.updates.known("c")["title"] == "Tool"


async def test_what_version_2_has_taken_away_is_not_served():
    async with open_stage(DRAFT, version=2) as stage:
        [made] = await stage.turn(["call", "terminal/create", {"command": "true"}])
        [read] = await stage.turn(["call", "fs/read_text_file", {"path": "/etc/hostname"}])
        assert (made["error"]["code"], read["error"]["code"]) == (-32601, -32601)


async def test_a_batch_is_answered_as_one():
    def message(method, id=None, **params):
        named = {} if id is None else {"id": id}
        return {"jsonrpc": "2.0", "method": method, "params": params, **named}

    said = message(
        "session/update", sessionId="$session", update={"sessionUpdate": "session_info_update", "title": "T"}
    )
    async with open_stage(DRAFT, version=2) as stage:
        found = await stage.turn(
            ["batch", [said]],
            [
                "batch",
                [said, message("fs/read_text_file", "a"), 7, {"jsonrpc": "2.0"}, message("terminal/create", "b")],
            ],
            ["batch", []],
            ["call", "terminal/kill", {}],
        )
        [answers] = [one["batch"] for one in found if "batch" in one]
        told = sorted((str(one["id"]), one["error"]["code"]) for one in answers)
        assert told == [("None", -32600), ("None", -32600), ("a", -32601), ("b", -32601)]
        await stage.until("agent.titled", title="T")
        alone = [one for one in stage.sent() if one.get("id", 0) is None and one not in answers]
        assert [one["error"]["code"] for one in alone] == [-32600]  # of the empty one, and nothing for the first


async def test_a_form_a_link_a_deletion_and_further_directories_are_the_same_in_version_2(tmp_path):
    form = {"mode": "form", "message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}
    link = {"mode": "url", "message": "Sign in", "elicitationId": "e1", "url": "https://example.org/"}
    done = {"jsonrpc": "2.0", "method": "elicitation/complete", "params": {"elicitationId": "e1"}}
    settings = Settings(agents={"fake": AgentSettings(additional_directories=(str(tmp_path),))})
    able: dict[str, object] = {"additionalDirectories": {}, "delete": {}}
    async with open_stage(DRAFT, version=2, capabilities=able, settings=settings) as stage:
        await stage.prompt(
            ["call", "elicitation/create", form], ["call", "elicitation/create", link], ["noise", json.dumps(done)]
        )
        for _ in range(2):
            stage.person.answer(await stage.person.question(), "once")
        await stage.agent.idle()
        assert '"action": "accept", "content": {}' in stage.said()
        assert len(stage.of("question.completed")) == 1
        await stage.agent.delete_chat("b")
        begun, *_ = [message["params"] for message in stage.sent() if message.get("method") == "session/new"]
        assert begun["additionalDirectories"] == [str(tmp_path)]
        offered = stage.sent()[0]["params"]
        assert offered["capabilities"] == {"elicitation": {"form": {}, "url": {}}}
