"""`fourhands acp --agent` with the client of the official TypeScript SDK, which holds every message to the schema."""

import asyncio
import json
import shutil
import sys
from pathlib import Path

import pytest
from tests.kit.acp_stage import FAKE
from tests.kit.npm_agents import HOME as AGENTS
from tests.kit.npm_agents import claude_agent, missing
from tests.kit.program import MAIN, new_home

SDK = AGENTS / "node_modules/@agentclientprotocol/claude-agent-acp/node_modules/@agentclientprotocol/sdk"
EDITOR = Path(__file__).parents[2] / "kit" / "acp_editor.mjs"
SCHEMA = {"type": "object", "properties": {"name": {"type": "string", "title": "Name"}}, "required": ["name"]}
URL = {"mode": "url", "elicitationId": "e1", "message": "Sign in", "url": "https://example.org/in"}
DONE = {"jsonrpc": "2.0", "method": "elicitation/complete", "params": {"elicitationId": "e1"}}


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_the_typescript_client_works_with_an_agent_of_the_workbench() -> None:
    claude_agent()  # its packages bring the SDK
    if not (SDK / "dist/v1/stable/acp.js").exists() or (node := shutil.which("node")) is None:
        missing("no official TypeScript SDK here")
    can = {"loadSession": True, "sessionCapabilities": {"additionalDirectories": {}, "resume": {}}}
    can |= {"promptCapabilities": {"image": True}}
    actions = [
        ["say", "hello "],
        ["call", "elicitation/create", {"mode": "form", "message": "Who?", "requestedSchema": SCHEMA}],
        ["call", "elicitation/create", URL],
        ["noise", json.dumps(DONE)],
        ["call", "terminal/create", {"command": "echo printed"}],
        ["call", "terminal/wait_for_exit", {"terminalId": "$terminal"}],
        ["update", {"sessionUpdate": "plan", "entries": [{"content": "a", "priority": "low", "status": "pending"}]}],
    ]
    async with new_home() as home:
        (home.work / "part").mkdir()
        settings = Path(home.env["HOME"], ".config/fourhands/settings.toml")
        settings.parent.mkdir(parents=True)
        settings.write_text('[agentDefaults]\nprovider = "local"\n')
        log = home.root / "fake.log"
        more = {"FAKE_LOG": str(log), "FAKE_OPTIONS": json.dumps({"modes": ["ask", "plan"], "capabilities": can})}
        process = await asyncio.create_subprocess_exec(
            *(node, str(EDITOR), str(SDK), str(home.work), *MAIN, "acp", "--agent", f"acp {sys.executable} {FAKE}"),
            env={**home.env, **more, "EDITOR_ACTIONS": json.dumps(actions)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode()[-3000:]
        seen = json.loads(out)
        sent = [json.loads(line) for line in log.read_text().splitlines()]
    offered = seen["hello"]["agentCapabilities"]["sessionCapabilities"]
    assert offered.keys() == {"list", "resume", "close", "delete", "additionalDirectories"}
    assert seen["begun"]["modes"]["currentModeId"] == "ask"
    assert seen["stopped"]["stopReason"] == "end_turn"
    form, link = seen["elicited"]
    assert (form["requestedSchema"]["properties"]["name"]["type"], link["url"]) == ("string", URL["url"])
    assert seen["completed"] == [link["elicitationId"]]
    kinds = [one["sessionUpdate"] for one in seen["updates"]]
    assert {"agent_message_chunk", "plan", "current_mode_update"} <= set(kinds)
    said = "".join(one["content"]["text"] for one in seen["updates"] if one["sessionUpdate"] == "agent_message_chunk")
    assert '"action": "accept", "content": {"name": "Ann"}' in said
    assert "exitCode" in said
    assert seen["asked"]  # consent, for the terminal
    assert "user_message_chunk" in [one["sessionUpdate"] for one in seen["loaded"]]
    assert (seen["listed"], seen["closed"], seen["deleted"], seen["deletedAgain"]) == (True, {}, {}, {})
    assert seen["listedAfter"] is False
    assert seen["refused"]["code"] == -32602
    assert "is not in the workspace" in seen["refused"]["message"]
    begun = next(one["params"] for one in sent if one.get("method") == "session/new")
    assert begun["additionalDirectories"] == [str(home.work / "part")]
    _, prompt = [one["params"]["prompt"] for one in sent if one.get("method") == "session/prompt"]
    assert {"type": "image", "mimeType": "image/png", "data": "iVBORw0K"} in prompt
