"""The ACP client against a fake agent: a real process that speaks real JSON-RPC; all we send is held to the schema."""

import asyncio
import json
import re
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from acp import schema
from tests.support.acp_messages import check, same_as_golden
from tests.support.bench import open_app
from tests.support.memory import resident
from tests.support.person import Person

from fourhands.agents.acp import AcpAgent, register
from fourhands.agents.catalogue import Recipe, parse, recipes
from fourhands.agents.connect import Connections, Wiring
from fourhands.commands import exec as exec_commands
from fourhands.core.errors import CommandNotFound, Conflict, FourhandsError, TimedOut, Unavailable
from fourhands.core.event import Event
from fourhands.core.question import Question

pytestmark = pytest.mark.timeout(60)  # each starts a host and an agent

LIMIT_S = 40
FAKE = str(Path(__file__).parent.parent / "support" / "fake_acp_agent.py")


class Stage:
    """An app, a fake agent in it, and what happens."""

    def __init__(self, app, agent, person, log):
        self.app, self.agent, self.person, self.log = app, agent, person, log
        self.bench = app.bench
        self.events: list[Event] = []
        self._news = asyncio.Event()
        app.events.published.subscribe(self._happened)

    def _happened(self, event):
        self.events.append(event)
        self._news.set()

    async def until(self, kind, /, **data):
        """Return when such an event has happened."""
        async with asyncio.timeout(LIMIT_S):
            while True:
                for event in self.events:
                    if event.kind == kind and all(event.data.get(key) == value for key, value in data.items()):
                        return event
                self._news.clear()
                await self._news.wait()

    async def prompt(self, *actions):
        await self.agent.prompt(json.dumps(actions))

    async def turn(self, *actions):
        """One whole turn; returns what came of its calls."""
        start = len(self.events)
        await self.prompt(*actions)
        async with asyncio.timeout(LIMIT_S):
            await self.agent.idle()
        lines = self.said(start).splitlines()
        return [json.loads(line.removeprefix("RESULT ")) for line in lines if line.startswith("RESULT ")]

    def said(self, start=0):
        return "".join(str(event.data["text"]) for event in self.events[start:] if event.kind == "agent.said")

    def of(self, kind):
        return [event.data for event in self.events if event.kind == kind]

    def sent(self):
        """All that the agent received, validated."""
        entries = [json.loads(line) for line in Path(self.log).read_text().splitlines()]
        asked = {entry["asked"]["id"]: entry["asked"]["method"] for entry in entries if "asked" in entry}
        messages = [entry for entry in entries if "asked" not in entry]
        for message in messages:
            check(message, asked)
        return messages


@asynccontextmanager
async def open_stage(recipe: Recipe | None = None, *, consent=True, mcp=None, settle_s=10.0, **options):
    async with open_app() as app:
        for command in exec_commands.commands.commands:
            if command.id not in app.registry:
                app.registry.add(command)
        log = f"{app.places.state}/fake.log"
        env = {**app.terminals.env, "FAKE_LOG": log, "FAKE_OPTIONS": json.dumps(options), "FOURHANDS_SECRET": "x"}
        session = app.bench.begin_session("fake", "acp")
        if consent:
            app.gate.consent.grant(session.id)
        person = Person(app)
        agent = AcpAgent(
            app.bench,
            session,
            app.tasks,
            recipe or Recipe(name="fake"),
            [sys.executable, FAKE],
            env=env,
            instructions=lambda id: "THE INSTRUCTIONS",
            mcp_servers=mcp,
            settle_s=settle_s,
        )
        stage = Stage(app, agent, person, log)
        yield stage
        await agent.stop_process()
        if Path(log).exists():
            stage.sent()


@pytest.fixture
async def stage():
    async with open_stage() as stage:
        yield stage


# -- turns and updates -----------------------------------------------------------------------------------------------


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


# -- terminals and files ---------------------------------------------------------------------------------------------


async def test_an_agent_runs_commands_in_our_terminals(stage):
    answers = await stage.turn(
        ["call", "terminal/create", {"command": "echo hi; exit 3", "outputByteLimit": 32000}],
        ["call", "terminal/wait_for_exit", {"terminalId": "$terminal"}],
        ["call", "terminal/output", {"terminalId": "$terminal"}],
        ["call", "terminal/release", {"terminalId": "$terminal"}],
        ["call", "terminal/output", {"terminalId": "$terminal"}],
        ["call", "terminal/create", {"sessionId": "other", "command": "ls"}],
        ["call", "elicitation/create", {"message": "?", "mode": "form"}],
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


async def test_files_are_read_and_written_through_the_gate(stage):
    root = Path(stage.bench.root)
    (root / "a.txt").write_text("one\ntwo\nthree\n")
    path = str(root / "a.txt")
    answers = await stage.turn(
        ["call", "fs/read_text_file", {"path": path}],
        ["call", "fs/read_text_file", {"path": path, "line": 2}],
        ["call", "fs/read_text_file", {"path": path, "line": 2, "limit": 1}],
        ["call", "fs/read_text_file", {"path": path, "limit": 0}],
        ["call", "fs/write_text_file", {"path": str(root / "new" / "b.txt"), "content": "é\n"}],
        ["call", "fs/read_text_file", {"path": str(root / "missing")}],
        ["call", "fs/read_text_file", {"path": "a.txt"}],
        ["call", "fs/read_text_file", {"path": "/etc/passwd"}],
        ["call", "fs/read_text_file", {"path": path, "line": "x"}],
        ["call", "fs/write_text_file", {"path": path}],
        ["call", "fs/write_text_file", {"path": "/tmp/outside", "content": ""}],
    )
    assert [answer["result"]["content"] for answer in answers[:4]] == [
        "one\ntwo\nthree\n",
        "two\nthree\n",
        "two\n",
        "",
    ]
    assert answers[4]["result"] == {}
    assert (root / "new" / "b.txt").read_text() == "é\n"
    errors = [(answer["error"]["code"], answer["error"]["data"]["code"]) for answer in answers[5:]]
    assert errors == [
        (-32002, "not-found"),
        (-32602, "bad-path"),
        (-32602, "outside-workspace"),
        (-32602, "bad-argument"),
        (-32602, "bad-argument"),
        (-32602, "outside-workspace"),
    ]


async def test_a_read_has_what_the_person_has_not_saved(stage):
    root = Path(stage.bench.root)
    (root / "a.txt").write_text("saved\n")
    opened = await stage.app.call("openspace.editor.open", {"path": "a.txt"})
    assert opened.success
    stage.bench.state.set_draft("a.txt", "unsaved\n", None)
    (answer,) = await stage.turn(["call", "fs/read_text_file", {"path": str(root / "a.txt")}])
    assert answer["result"] == {"content": "unsaved\n"}


async def test_another_spelling_of_the_workspace_is_inside_too(stage):
    root = Path(stage.bench.root)
    (root / "a.txt").write_text("here\n")
    link = root.parent / "link"
    link.symlink_to(root)
    answers = await stage.turn(
        ["call", "fs/read_text_file", {"path": str(link / "a.txt")}],
        ["call", "fs/write_text_file", {"path": str(link / "new" / "b.txt"), "content": "x"}],
        ["call", "fs/read_text_file", {"path": str(link / ".." / "state" / "journal.sqlite")}],
        ["call", "terminal/create", {"command": "pwd", "cwd": str(link)}],
    )
    assert answers[0]["result"] == {"content": "here\n"}
    assert (root / "new" / "b.txt").read_text() == "x"
    assert answers[2]["error"]["data"]["code"] == "outside-workspace"
    assert "terminalId" in answers[3]["result"]


async def test_for_gemini_a_missing_file_is_empty():
    async with open_stage(recipes()["gemini"]) as stage:
        path = str(Path(stage.bench.root, "new.txt"))
        answers = await stage.turn(
            ["call", "fs/read_text_file", {"path": path}],
            ["call", "fs/write_text_file", {"path": path, "content": "x"}],
        )
        assert [answer["result"] for answer in answers] == [{"content": ""}, {}]


# -- permissions -----------------------------------------------------------------------------------------------------

OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def permission(command="npm install x", options=None, **call):
    given = {"toolCallId": "c1", "title": "Run it", "kind": "execute", "rawInput": {"command": command}, **call}
    return [
        "call",
        "session/request_permission",
        {"toolCall": given, "options": OPTIONS if options is None else options},
    ]


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


# -- cancel, restart, end --------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("options", "method"),
    [
        ({}, "session/new"),
        ({"capabilities": {"loadSession": True}}, "session/load"),
        ({"capabilities": {"loadSession": True, "sessionCapabilities": {"resume": {}}}}, "session/resume"),
        ({"capabilities": {"loadSession": True}, "forgetful": True}, "session/new"),
    ],
)
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
        if method == "session/load":
            assert "old answer" in stage.said()
            assert "old question" in [data["text"] for data in stage.of("agent.asked")]
            assert len(stage.agent.session.results) == 1  # blocks of the past do not run again


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
    assert "nobody asked" in caplog.text
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


async def test_a_reset_begins_a_new_session_with_the_same_process(stage):
    await stage.agent.prompt("one")
    await stage.agent.idle()
    await stage.bench.reset_session(stage.agent.session.id)
    await stage.agent.prompt("two")
    await stage.agent.idle()
    methods = [message["method"] for message in stage.sent() if "method" in message]
    assert methods == ["initialize", "session/new", "session/prompt", "session/new", "session/prompt"]
    assert stage.sent()[-1]["params"]["prompt"][0]["text"] == "THE INSTRUCTIONS"


async def test_a_reset_closes_the_session_and_ends_what_runs_in_it():
    async with open_stage(capabilities={"sessionCapabilities": {"close": {}}}) as stage:
        await stage.turn(["call", "terminal/create", {"command": "sleep 1000"}])
        await stage.bench.reset_session(stage.agent.session.id)
        (answer,) = await stage.turn(["call", "terminal/output", {"terminalId": "$terminal"}])
        assert answer["error"]["code"] == -32002
        assert stage.bench.terminals.list() == []
        methods = [message["method"] for message in stage.sent() if "method" in message]
        assert methods[2:] == ["session/prompt", "session/close", "session/new", "session/prompt"]


async def test_the_end_of_the_session_ends_the_process(stage):
    await stage.agent.ready()
    life = stage.agent._life
    await stage.bench.end_session(stage.agent.session.id)
    async with asyncio.timeout(40):
        await asyncio.wait([life])
    assert stage.agent._peer is None
    assert stage.of("agent.exited") == []


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"version": 2}, Unavailable, "version 2"),
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
        stage.agent.begin()
        await stage.until("agent.failed")
        await stage.agent.prompt("hello")
        await stage.agent.idle()
        assert len(stage.of("agent.failed")) == 2


async def test_signing_in_by_the_recipe_s_method():
    async with open_stage(Recipe(name="fake", auth="key"), auth="key") as stage:
        await stage.agent.ready()
        assert [m["method"] for m in stage.sent()] == ["initialize", "session/new", "authenticate", "session/new"]
        await stage.agent.sign_in("key")


async def test_signing_in_by_a_command():
    async with open_stage(auth="browser") as stage:
        args = {"sessionId": stage.agent.session.id}
        found = await stage.app.call("openspace.agent.describe", args)
        assert [way["id"] for way in found.data["signIn"]] == ["browser"]  # though it cannot begin a session yet
        refused = await stage.app.call("openspace.agent.sign_in", {**args, "method": "magic"})
        assert (refused.code, refused.hint) == ("bad-argument", "ways: browser")
        assert (await stage.app.call("openspace.agent.sign_in", {**args, "method": "browser"})).success
        await stage.agent.prompt("in?")
        await stage.agent.idle()
        assert "heard: in?" in stage.said()


async def test_modes_options_and_older_chats_by_commands():
    capabilities = {"loadSession": True, "sessionCapabilities": {"list": {}, "resume": {}}}
    async with open_stage(capabilities=capabilities, modes=["ask", "code"]) as stage:

        async def call(verb, **args):
            command = f"openspace.agent.{verb}"
            return await stage.app.call(command, {"sessionId": stage.agent.session.id, **args})

        found = (await call("describe")).data
        assert (found["mode"], [mode["id"] for mode in found["modes"]]) == ("ask", ["ask", "code"])
        assert [(one["id"], one["kind"], one["value"]) for one in found["options"]] == [
            ("model", "select", "small"),
            ("fast", "boolean", False),
        ]
        assert [one["id"] for one in found["options"][0]["choices"]] == ["small", "big"]
        assert (await call("set_mode", mode="code")).success
        await stage.until("agent.switched", mode="code")
        assert (await call("describe")).data["mode"] == "code"
        assert (await call("set_option", option="model", value="big")).success
        assert (await call("set_option", option="fast", value="yes")).success
        options = [m["params"] for m in stage.sent() if m.get("method") == "session/set_config_option"]
        schema.SetSessionConfigOptionSelectRequest.model_validate(options[0])
        schema.SetSessionConfigOptionBooleanRequest.model_validate(options[1])
        for verb, args, hint in (
            ("set_mode", {"mode": "dance"}, "modes: ask, code"),
            ("set_option", {"option": "model", "value": "huge"}, "choices: small, big"),
            ("set_option", {"option": "fast", "value": "very"}, "choices: yes, no, true, false"),
            ("set_option", {"option": "x", "value": "y"}, "options: model, fast"),
            ("sign_in", {"method": "x"}, "ways: none"),
        ):
            result = await call(verb, **args)
            assert (result.code, result.hint) == ("bad-argument", hint)
        listed = (await call("list_chats")).data["chats"]
        assert [(one["id"], one["title"]) for one in listed] == [("a", "A chat"), ("b", "")]
        assert (await call("load_chat", chat="older")).success
        assert stage.agent.acp.id == "older"
        assert "old answer" in stage.said()  # its history comes in again
        assert stage.agent.session.results == type(stage.agent.session.results)()  # and does not run again
        result = await stage.app.call(
            "openspace.agent.set_mode", {"sessionId": "fake", "mode": "ask"}, actor=stage.agent.session.actor
        )
        assert result.code == "denied"  # an agent does not choose its own mode by us


async def test_what_the_agent_changes_itself_is_known():
    async with open_stage(modes=["ask", "code"]) as stage:
        await stage.turn(
            ["update", {"sessionUpdate": "current_mode_update", "currentModeId": "code"}],
            ["update", {"sessionUpdate": "config_option_update", "configOptions": [{"odd": 1}]}],
            ["update", {"sessionUpdate": "session_info_update", "title": "About tests"}],
        )
        found = await stage.agent.describe()
        assert (found.mode, found.options, found.title) == ("code", (), "About tests")


async def test_a_chat_is_not_loaded_into_a_turn():
    async with open_stage(capabilities={"loadSession": True}) as stage:
        await stage.prompt(["say", "begun"], ["hang"])
        await stage.until("agent.said", text="begun")
        with pytest.raises(Conflict):
            await stage.agent.load_chat("older")
        stage.agent.cancel()


async def test_a_chat_that_cannot_be_loaded_leaves_the_one_that_is():
    async with open_stage(capabilities={"loadSession": True}, forgetful=True) as stage:
        await stage.agent.ready()
        before = stage.agent.acp.id
        with pytest.raises(FourhandsError, match="no such session"):
            await stage.agent.load_chat("older")
        assert stage.agent.acp.id == before
        await stage.agent.prompt("still there?")
        await stage.agent.idle()
        assert "heard: still there?" in stage.said()


async def test_what_an_agent_cannot_do_is_said(stage):
    for attempt in (stage.agent.chats(), stage.agent.load_chat("x")):
        with pytest.raises(Unavailable):
            await attempt
    session = stage.bench.begin_session("plain", "test")
    result = await stage.app.call("openspace.agent.describe", {"sessionId": session.id})
    assert result.code == "unavailable"


async def test_nothing_of_the_server_is_in_the_agent_s_environment(stage):
    await stage.agent.ready()
    pid = stage.agent.acp.id.removeprefix("fake-")
    assert b"FOURHANDS_SECRET" not in Path(f"/proc/{pid}/environ").read_bytes()


# -- golden files ----------------------------------------------------------------------------------------------------


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
        )
        for action, choice in (
            (permission(), "once"),
            (["call", "terminal/create", {"command": "no-such-program-here"}], "once"),
            (["call", "terminal/create", {"command": "rm -rf /"}], "deny"),
        ):
            await stage.prompt(action)
            stage.person.answer(await stage.person.question(), choice)
            await stage.agent.idle()
        await stage.prompt(permission(), ["hang"])
        await stage.person.question()
        stage.agent.cancel()
        await stage.agent.idle()
        await stage.agent.load_chat("older")
        await stage.agent.stop_process()
        await stage.agent.prompt("go on")
        await stage.agent.idle()
        names = {root: "ROOT", **dict.fromkeys(re.findall(r"fake-\d+", Path(stage.log).read_text()), "SESSION")}
        same_as_golden("client", stage.sent(), names)


# -- the catalogue ---------------------------------------------------------------------------------------------------


def test_names_and_command_lines():
    assert {"opencode", "claude", "gemini"} <= set(recipes())
    assert parse("claude") == (recipes()["claude"], ("claude-code-acp",))
    assert parse("opencode acp --x 'a b'") == (recipes()["opencode"], ("opencode", "acp", "--x", "a b"))
    recipe, argv = parse("acp /opt/gemini --acp")
    assert (recipe.missing_file_is_empty, argv) == (True, ("/opt/gemini", "--acp"))
    for bad in ("acp", "nobody", "acp 'x", ""):
        with pytest.raises(FourhandsError):
            parse(bad)


async def test_connections_start_agents_by_name():
    async with open_app() as app:
        env = {"PATH": "/usr/bin:/bin", "FAKE_LOG": f"{app.places.state}/log"}
        wiring = Wiring(instructions=lambda id: "", issue_token=lambda session: "", url="", env=env)
        connections = Connections(app.bench, app.tasks, wiring)
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
