"""What an ACP agent says of its turn, as the workbench tells it."""

from typing import Any

import pytest
from acp import schema
from tests.kit.acp_stage import open_stage

pytestmark = pytest.mark.timeout(60)  # each starts a host and an agent


UPDATES: list[tuple[dict[str, Any], str, dict[str, Any]]] = [
    (
        {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}, "messageId": "m"},
        "agent.thought",
        {"text": "hm", "messageId": "m"},
    ),
    (
        {"sessionUpdate": "plan", "entries": [{"content": "a", "priority": "high", "status": "pending"}]},
        "agent.planned",
        {"entries": [{"content": "a", "priority": "high", "status": "pending"}]},
    ),
    (
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "c1",
            "title": "Edit",
            "kind": "edit",
            "status": "pending",
            "content": [{"type": "diff", "path": "/a", "oldText": "x", "newText": "y"}],
        },
        "agent.step",
        {"stepId": "c1", "title": "Edit", "tool": "edit", "status": "pending"},
    ),
    (
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "c1",
            "status": "completed",
            "content": [{"type": "terminal", "terminalId": "term_1"}],
        },
        "agent.step",
        {"title": "Edit", "status": "completed", "content": [{"type": "terminal", "terminalId": "term_1"}]},
    ),
    ({"sessionUpdate": "usage_update", "used": 5, "size": 10}, "agent.used", {"used": 5, "size": 10}),
    ({"sessionUpdate": "current_mode_update", "currentModeId": "code"}, "agent.switched", {"mode": "code"}),
    ({"sessionUpdate": "config_option_update", "configOptions": []}, "agent.configured", {"options": []}),
    ({"sessionUpdate": "session_info_update", "title": "T"}, "agent.titled", {"title": "T"}),
    (
        {"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "x", "description": "y"}]},
        "agent.offered",
        {"commands": [{"name": "x", "description": "y"}]},
    ),
    (
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "resource_link", "uri": "file:///a", "name": "a"}},
        "agent.said",
        {"text": "[resource_link: file:///a]"},
    ),
]


async def test_every_kind_of_update_reaches_the_workbench(stage):
    for update, _, _ in UPDATES:
        schema.SessionNotification.model_validate({"sessionId": "s", "update": update})
    await stage.turn(*(["update", update] for update, _, _ in UPDATES))
    for _, kind, data in UPDATES:
        await stage.until(kind, **data)


async def test_unknown_and_broken_updates_are_tolerated(stage, caplog):
    caplog.set_level("INFO")
    await stage.turn(
        ["update", {"sessionUpdate": "from_the_future", "x": 1}],
        ["update", {}],
        ["update", {"sessionUpdate": ["odd"]}],
        ["update", {"sessionUpdate": "tool_call"}],
        ["update", {"sessionUpdate": "agent_message_chunk"}],
        ["update", {"sessionUpdate": "plan"}],
        ["noise", "Debugger attached."],
        ["say", "still here"],
    )
    assert stage.said() == "still here"
    assert "from_the_future" in caplog.text


async def test_what_the_agent_changes_itself_is_known():
    async with open_stage(modes=["ask", "code"]) as stage:
        await stage.turn(
            ["update", {"sessionUpdate": "current_mode_update", "currentModeId": "code"}],
            ["update", {"sessionUpdate": "config_option_update", "configOptions": [{"odd": 1}]}],
            ["update", {"sessionUpdate": "session_info_update", "title": "About tests"}],
        )
        found = await stage.agent.describe()
        assert (found.mode, found.options, found.title) == ("code", (), "About tests")


async def test_an_agent_that_repeats_what_the_person_said_is_not_told_of_twice(stage):
    echo = {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "said once more"}}
    await stage.turn(["update", echo], ["say", "yes"])
    assert len(stage.of("agent.asked")) == 1
