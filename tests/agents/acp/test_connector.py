"""The ACP client against a fake agent: a real process that speaks real JSON-RPC; all we send is held to the schema."""

import asyncio
import json
import re
import sys
from pathlib import Path

import pytest
from tests.kit.acp_messages import same_as_golden
from tests.kit.acp_stage import FAKE, LIMIT_S, goes_on, open_stage, permission
from tests.kit.memory import resident
from tests.kit.workbench import open_app

from fourhands.agents.acp.catalogue import parse, recipes
from fourhands.agents.acp.connector import register
from fourhands.agents.acp.recipe import Recipe
from fourhands.agents.connectors.launcher import LaunchContext, Launcher
from fourhands.agents.connectors.tour import register as register_tour
from fourhands.core.errors import CommandNotFound, FourhandsError, TimedOut, Unavailable

pytestmark = pytest.mark.timeout(60)  # each starts a host and an agent


async def test_a_message_is_answered_and_the_instructions_go_first(stage):
    await stage.agent.prompt("hello")
    await stage.agent.prompt("again")
    await stage.agent.idle()
    assert stage.said() == "heard: helloheard: again"
    prompts = [message["params"]["prompt"] for message in stage.sent() if message.get("method") == "session/prompt"]
    assert [[block["text"] for block in prompt] for prompt in prompts] == [["THE INSTRUCTIONS", "hello"], ["again"]]
    assert [data["stopReason"] for data in stage.of("agent.finished")] == ["end_turn", "end_turn"]
    assert stage.agent.session.status == "idle"


async def test_capabilities_and_directory_are_told(stage):
    await stage.agent.ready()
    first, second = stage.sent()[:2]
    assert first["params"]["clientCapabilities"]["terminal"] is True
    assert first["params"]["clientCapabilities"]["fs"] == {"readTextFile": True, "writeTextFile": True}
    assert (second["method"], second["params"]) == ("session/new", {"cwd": stage.bench.root, "mcpServers": []})


async def test_our_servers_are_passed_to_the_session():
    server = {"name": "fourhands", "command": "/bin/x", "args": [], "env": []}
    async with open_stage(mcp=lambda session, http: [server]) as stage:
        await stage.agent.ready()
        assert stage.sent()[1]["params"]["mcpServers"] == [server]


async def test_blocks_are_taken_out_and_run_and_the_agent_is_told(stage):
    Path(stage.bench.root, "seen.txt").write_text("x")
    await stage.turn(["say", 'look %%OS{"cmd": "openspace.fi'], ["say", 'le.list", "args": {}}%% done'])
    assert stage.said().startswith("look  done")
    assert [result.command_id for result in stage.agent.session.results] == ["openspace.file.list"]
    prompts = [message["params"]["prompt"] for message in stage.sent() if message.get("method") == "session/prompt"]
    assert len(prompts) == 2  # it goes on with the results by itself
    assert "seen.txt" in prompts[1][0]["text"]
    assert [data["stopReason"] for data in stage.of("agent.finished")] == ["end_turn"]  # one turn, of two rounds


async def test_an_agent_runs_commands_in_our_terminals(stage):
    answers = await stage.turn(
        ["call", "terminal/create", {"command": "echo hi; exit 3", "outputByteLimit": 32000}],
        ["call", "terminal/wait_for_exit", {"terminalId": "$terminal"}],
        ["call", "terminal/output", {"terminalId": "$terminal"}],
        ["call", "terminal/release", {"terminalId": "$terminal"}],
        ["call", "terminal/output", {"terminalId": "$terminal"}],
        ["call", "terminal/create", {"sessionId": "other", "command": "ls"}],
        ["call", "fs/delete", {"path": "a.txt"}],
    )
    assert answers[1]["result"] == {"exitCode": 3, "signal": None}
    assert answers[2]["result"] == {
        "output": "hi\n",
        "truncated": False,
        "exitStatus": {"exitCode": 3, "signal": None},
    }
    assert answers[3]["result"] == {}
    assert [answer["error"]["code"] for answer in answers[4:]] == [-32002, -32002, -32601]
    assert [terminal.title for terminal in stage.bench.terminals.list()] == ["echo hi; exit 3"]


async def test_a_timeout_of_the_agent_is_output_and_release_without_kill(stage):
    answers = await stage.turn(
        ["call", "terminal/create", {"command": "echo hi; sleep 1000"}],
        ["background", "terminal/wait_for_exit", {"terminalId": "$terminal"}],
        ["call", "terminal/output", {"terminalId": "$terminal"}],
        ["call", "terminal/release", {"terminalId": "$terminal"}],
    )
    assert answers[2]["result"] == {}
    waited = [m for m in stage.sent() if isinstance(m.get("result"), dict) and "signal" in m["result"]]
    assert waited[0]["result"]["signal"]


async def test_an_agent_that_does_not_end_its_turn_is_started_anew():
    async with open_stage(stubborn=True, settle_s=0.1) as stage:
        await stage.prompt(["say", "begun"], ["hang"])
        await stage.until("agent.said", text="begun")
        stage.agent.cancel()
        await stage.agent.idle()
        await stage.agent.prompt("next")
        await stage.agent.idle()
        assert "heard: next" in stage.said()
        assert sum(message.get("method") == "initialize" for message in stage.sent()) == 2


@goes_on
async def test_a_dead_agent_is_started_again_and_goes_on(options, method):
    async with open_stage(**options) as stage:
        await stage.prompt(["call", "terminal/create", {"command": "sleep 1000"}], ["exit", 9])
        await stage.until("agent.exited", code=9)
        await stage.agent.idle()
        assert stage.of("agent.failed")[0]["code"] == "peer-gone"
        assert stage.bench.terminals.list()[0].exited  # what it left running is ended
        await stage.agent.prompt("back?")
        await stage.agent.idle()
        assert "heard: back?" in stage.said()
        opened = [m["method"] for m in stage.sent() if str(m.get("method", "")).startswith("session/")]
        assert opened[-2] == method
        assert "old answer" not in stage.said(), "the chat shows it already"
        assert len(stage.agent.session.results) == 1  # blocks of the past do not run again


async def test_an_agent_that_is_long_in_dying_is_gone_before_the_next_one_starts(stage):
    await stage.prompt(["linger", 0.5])
    await stage.until("agent.failed", code="peer-gone")
    await stage.agent.prompt("back?")
    await stage.until("agent.said", text="heard: back?")
    told = [event.kind for event in stage.events if event.kind in ("agent.exited", "agent.said")]
    assert told == ["agent.exited", "agent.said"]


ANSWER = '{"jsonrpc": "2.0", "id": 4711, "result": {"stopReason": "end_turn"}}'


async def test_half_lines_long_lines_and_answers_to_nobody_are_survived(stage, caplog):
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "in two halves "}}
    line = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "$", "update": update}})
    await stage.agent.ready()
    line = line.replace("$", stage.agent.acp.id)
    before = resident()
    await stage.turn(
        ["half", line[:50]],
        ["half", line[50:] + "\n"],
        ["noise", ANSWER],
        ["noise", ANSWER.replace("4711", "null")],
        ["long", 100],
        ["say", "still here"],
    )
    assert stage.said() == "in two halves still here"
    assert "which was not asked" in caplog.text
    assert "too long" in caplog.text
    assert resident() - before < 90_000_000


async def test_the_end_in_mid_message_is_told_and_the_agent_comes_back(stage, caplog):
    await stage.prompt(["say", "begun"], ["half", '{"jsonrpc": "2.0", "meth'], ["exit", 0])
    await stage.until("agent.exited", code=0)
    await stage.agent.idle()
    assert "middle of a message" in caplog.text
    await stage.agent.prompt("back?")
    await stage.agent.idle()
    assert "heard: back?" in stage.said()


async def test_an_agent_that_never_answers_holds_nobody_up():
    capabilities = {"loadSession": True, "sessionCapabilities": {"list": {}}}
    mute = ["session/set_mode", "session/set_config_option", "session/list", "session/load"]
    recipe = Recipe(name="fake", start_seconds=LIMIT_S)
    async with open_stage(recipe, capabilities=capabilities, modes=["ask", "code"], mute=mute) as stage:
        await stage.agent.ready()
        stage.agent.recipe = Recipe(name="fake", start_seconds=0.1)
        before = stage.agent.acp.id
        for attempt in (
            stage.agent.set_mode("code"),
            stage.agent.set_option("fast", "yes"),
            stage.agent.chats(),
            stage.agent.load_chat("older"),
        ):
            with pytest.raises(TimedOut):
                await attempt
        assert (stage.agent.acp.id, (await stage.agent.describe()).mode) == (before, "ask")
        await stage.agent.prompt("and now?")
        await stage.agent.idle()
        assert "heard: and now?" in stage.said()
        told = [message["params"] for message in stage.sent() if message.get("method") == "$/cancel_request"]
        assert len(told) == 4


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"version": 2}, Unavailable, "version 2"),
        ({"version": True}, Unavailable, "version True"),
        ({"exit": 3, "stderr": "no key"}, Unavailable, r"ended before it was ready \(exit code 3\) \(no key\)"),
        ({"silent": True}, TimedOut, "did not answer"),
        ({"auth": "browser"}, Unavailable, "sign in"),
    ],
)
async def test_an_agent_that_cannot_start_says_why(options, error, text):
    async with open_stage(
        Recipe(name="fake", start_seconds=0.5 if "silent" in options else LIMIT_S), **options
    ) as stage:
        with pytest.raises(error, match=text):
            await stage.agent.ready()
        await stage.agent.open()
        await stage.until("agent.failed")
        await stage.agent.prompt("hello")
        await stage.agent.idle()
        assert len(stage.of("agent.failed")) == 2


async def test_nothing_of_the_server_is_in_the_agent_s_environment(stage):
    await stage.agent.ready()
    pid = stage.agent.acp.id.removeprefix("fake-")
    assert b"FOURHANDS_SECRET" not in Path(f"/proc/{pid}/environ").read_bytes()


async def test_what_we_send_is_as_in_the_golden_file():
    """One conversation with everything in it; each message is also held to the official schema."""
    server = {"type": "http", "name": "fourhands", "url": "http://127.0.0.1:4404/mcp", "headers": []}
    capabilities = {"loadSession": True, "sessionCapabilities": {"list": {}, "resume": {}}}
    options = {"capabilities": capabilities, "modes": ["ask", "code"], "auth": "key"}
    async with open_stage(Recipe(name="fake", auth="key"), mcp=lambda session, http: [server], **options) as stage:
        root = stage.bench.root
        await stage.agent.set_mode("code")
        await stage.agent.set_option("model", "big")
        await stage.agent.set_option("fast", "yes")
        await stage.agent.chats()
        await stage.turn(
            ["say", "hello"],
            ["call", "fs/write_text_file", {"path": f"{root}/a.txt", "content": "é\n"}],
            ["call", "fs/read_text_file", {"path": f"{root}/a.txt"}],
            ["call", "fs/read_text_file", {"path": f"{root}/missing"}],
            ["call", "terminal/create", {"command": "echo hi; exit 3"}],
            ["call", "terminal/wait_for_exit", {"terminalId": "$terminal"}],
            ["call", "terminal/output", {"terminalId": "$terminal"}],
            ["call", "terminal/kill", {"terminalId": "$terminal"}],
            ["call", "terminal/release", {"terminalId": "$terminal"}],
            ["call", "terminal/output", {"terminalId": "$terminal"}],
            ["call", "terminal/create", {"command": "ls", "cwd": "relative"}],
            ["call", "terminal/create", {"command": "ls", "env": [{"name": "A=B", "value": ""}]}],
            ["call", "terminal/create", {"command": "ls", "sessionId": "other"}],
            ["call", "terminal/create", {"command": ["ls"]}],
            ["call", "elicitation/create", {"message": "?", "mode": "form"}],
            ["call", "fs/delete", {"path": f"{root}/a.txt"}],
        )
        for action, choice in (
            (permission(), "once"),
            (["call", "terminal/create", {"command": "no-such-program-here"}], "once"),
            (["call", "terminal/create", {"command": "rm -rf /"}], "deny"),
            (["call", "elicitation/create", {"message": "?", "mode": "form", "requestedSchema": {}}], "once"),
            (["call", "elicitation/create", {"message": "?", "mode": "form", "requestedSchema": {}}], "deny"),
        ):
            await stage.prompt(action)
            stage.person.answer(await stage.person.question(), choice)
            await stage.agent.idle()
        await stage.prompt(permission(), ["hang"])
        await stage.person.question()
        stage.agent.cancel()
        await stage.agent.idle()
        await stage.agent.load_chat("older")
        await stage.agent.runtime.stop()
        await stage.agent.prompt("go on")
        await stage.agent.idle()
        names = {root: "ROOT", **dict.fromkeys(re.findall(r"fake-\d+", Path(stage.log).read_text()), "SESSION")}
        same_as_golden("client", stage.sent(), names)


def test_names_and_command_lines():
    assert {"opencode", "claude", "gemini"} <= set(recipes())
    assert parse("claude") == (recipes()["claude"], ("claude-agent-acp",))
    assert parse("opencode acp --x 'a b'") == (recipes()["opencode"], ("opencode", "acp", "--x", "a b"))
    recipe, argv = parse("acp /opt/gemini --acp")
    assert (recipe.missing_file_is_empty, argv) == (True, ("/opt/gemini", "--acp"))
    for bad in ("acp", "nobody", "acp 'x", ""):
        with pytest.raises(FourhandsError):
            parse(bad)


async def test_connections_start_agents_by_name():
    async with open_app() as app:
        env = {"PATH": "/usr/bin:/bin", "FAKE_LOG": f"{app.places.state}/log"}
        wiring = LaunchContext(briefing=lambda id, *, tools=False: "", issue_token=lambda session: "", url="", env=env)
        connections = Launcher(app.bench, app.tasks, wiring)
        register_tour(connections)
        tour = connections.kinds["opencode"] = connections.kinds["tour"]  # a connector of its own
        register(connections)
        assert (await connections.start("opencode")).connector == "opencode"
        assert connections.kinds["tour"] is tour
        for name in ("claude", "gemini", "opencode acp", "codex", "qwen --acp"):
            with pytest.raises(CommandNotFound, match="npm install"):
                await connections.start(name)
        session = await connections.start(f"acp {sys.executable} {FAKE}")
        heard: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        app.events.published.subscribe(
            lambda event: heard.set_result("heard") if event.data.get("text") == "heard: hi" else None
        )
        await app.bench.prompt(session, "hi")
        async with asyncio.timeout(40):
            await heard
        await app.bench.end_session(session.id)
