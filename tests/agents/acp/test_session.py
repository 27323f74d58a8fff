"""An ACP agent's sessions: new ones, older ones, signing in, modes and options."""

import pytest
from acp import schema
from tests.kit.acp_stage import goes_on, open_stage

from fourhands.agents.acp.recipe import Recipe
from fourhands.agents.connectors.base import GOES_ON
from fourhands.agents.connectors.resume import ResumeFiles
from fourhands.core.errors import Conflict, FourhandsError, Unavailable
from fourhands.workbench.sessions import CommandResult

pytestmark = pytest.mark.timeout(60)  # each starts a host and an agent


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
        assert (refused.code, refused.hint) == ("bad-argument", "methods: browser")
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
            ("sign_in", {"method": "x"}, "methods: none"),
        ):
            result = await call(verb, **args)
            assert (result.code, result.hint) == ("bad-argument", hint)
        listed = (await call("list_chats")).data["chats"]
        assert [(one["id"], one["title"]) for one in listed] == [("a", "A chat"), ("b", "")]
        assert (await call("load_chat", chat="older")).success
        assert stage.agent.acp.id == "older"
        assert "old answer" in stage.said()  # its history comes in again
        await stage.turn(["say", "and now"])  # whatever the history began is over by then
        entries = await stage.app.journal.query(session=stage.agent.session.id)
        assert [entry.call.command for entry in entries] == []  # and does not run again
        result = await stage.app.call(
            "openspace.agent.set_mode", {"sessionId": "fake", "mode": "ask"}, actor=stage.agent.session.actor
        )
        assert result.code == "denied"  # an agent does not choose its own mode by us


async def test_a_chat_is_deleted_for_good_and_no_other_and_not_the_one_that_is_open():
    for listed in (True, False):
        can: dict[str, dict[str, str]] = {"delete": {}, **({"list": {}} if listed else {})}
        async with open_stage(capabilities={"sessionCapabilities": can}) as stage:

            async def delete(chat, stage=stage):
                args = {"sessionId": stage.agent.session.id, "chat": chat}
                return await stage.app.call("openspace.agent.delete_chat", args)

            await stage.agent.ready()
            assert (await delete(stage.agent.acp.id)).code == "conflict"
            assert (await delete("nope")).code == ("not-found" if listed else "")
            assert (await delete("b")).success
            sent = [m["params"]["sessionId"] for m in stage.sent() if m.get("method") == "session/delete"]
            assert sent == (["b"] if listed else ["nope", "b"])
            if listed:
                assert [one.id for one in await stage.agent.chats()] == ["a"]
                assert (await delete("b")).code == "not-found"
            args = {"sessionId": stage.agent.session.id, "chat": "a"}
            refused = await stage.app.call("openspace.agent.delete_chat", args, actor=stage.agent.session.actor)
            assert refused.code == "denied"


async def test_the_chat_before_is_closed_when_another_is_loaded():
    async with open_stage(capabilities={"loadSession": True, "sessionCapabilities": {"close": {}}}) as stage:
        await stage.agent.ready()
        before = stage.agent.acp.id
        for _ in range(2):  # the second time it is the same chat
            await stage.agent.load_chat("older")
        sent = [(m["method"], m["params"]["sessionId"]) for m in stage.sent() if "sessionId" in m.get("params", ())]
        assert sent == [("session/load", "older"), ("session/close", before), ("session/load", "older")]


async def test_an_agent_that_loses_what_it_loads_is_not_asked_to():
    recipe = Recipe(name="fake", loads_chats=False)
    async with open_stage(recipe, capabilities={"loadSession": True}) as stage:
        await stage.turn(["exit", 3])
        await stage.turn(["say", "back"])
        with pytest.raises(Unavailable, match="cannot resume past chats"):
            await stage.agent.load_chat("older")
        assert "session/load" not in [message.get("method") for message in stage.sent()]


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
    for attempt in (stage.agent.chats(), stage.agent.load_chat("x"), stage.agent.delete_chat("x")):
        with pytest.raises(Unavailable):
            await attempt
    session = stage.bench.begin_session("plain", "test")
    result = await stage.app.call("openspace.agent.describe", {"sessionId": session.id})
    assert result.code == "unsupported"


@goes_on
async def test_after_a_restart_of_the_server_an_agent_that_can_goes_on_with_its_session(options, method, tmp_path):
    untold = CommandResult(number=7, command_id="openspace.file.read", args={}, success=True)

    async def memory(session):
        first = ResumeFiles(tmp_path).of(session, "fake")
        first.keep(remote="sess-old", untold=[untold])
        await first.close()
        return ResumeFiles(tmp_path).of(session, "fake")

    async with open_stage(memory=memory, **options) as stage:
        await stage.agent.prompt("back?")
        await stage.agent.idle()
        opened = [m for m in stage.sent() if str(m.get("method", "")).startswith("session/")]
        assert opened[-2]["method"] == method
        assert opened[-2]["params"].get("sessionId") == (None if method == "session/new" else "sess-old")
        assert "old answer" not in stage.said()
        notes = [data["text"] for data in stage.of("agent.noted")]
        assert notes == ([] if method == "session/new" else [GOES_ON])
        told = [block["text"] for block in opened[-1]["params"]["prompt"]]
        assert ["#7 " in text for text in told].count(True) == 1
        await stage.agent.memory.close()
        left = ResumeFiles(tmp_path).of(stage.agent.session, "fake").before
        assert left is not None
        assert (left.remote, left.untold) == (stage.agent.acp.id, [])


@pytest.mark.parametrize("answer", [{}, {"sessionId": ""}, {"sessionId": 7}, None])
async def test_a_session_without_an_id_is_none(stage, answer):
    class Peer:
        async def request(self, method, params=None):
            return answer

    with pytest.raises(Unavailable, match="without an id"):
        await stage.agent.acp.begin(Peer())
    assert stage.agent.acp.id == ""


@pytest.mark.parametrize(
    ("info", "title"),
    [
        ({"name": "@x/fake", "title": "Fake \x1b[31mAgent"}, "Fake [31mAgent"),
        ({"name": "fake-agent", "version": "1"}, "fake-agent"),
        ({"title": 7, "name": " "}, ""),
        ("no object", ""),
    ],
)
async def test_an_agent_is_shown_by_the_name_of_its_program(info, title):
    async with open_stage(info=info) as stage:
        await stage.agent.ready()
        assert stage.bench.describe_session(stage.agent.session).title == title
        assert stage.agent.session.name == "fake"


async def test_what_the_person_chose_holds_for_the_next_process_and_the_next_chat():
    async with open_stage(capabilities={"sessionCapabilities": {"resume": {}}}, modes=["ask", "code", "plan"]) as stage:
        await stage.agent.set_mode("code")
        await stage.agent.set_option("fast", "true")
        await stage.turn(["update", {"sessionUpdate": "current_mode_update", "currentModeId": "plan"}])
        for end in ("process", "chat"):
            before = len(stage.sent())
            if end == "process":
                await stage.turn(["exit", 3])
            else:
                await stage.bench.reset_session(stage.agent.session.id)
            await stage.turn(["say", "hello"])
            told = [m for m in stage.sent()[before:] if m.get("method", "").startswith("session/set_")]
            chosen = [
                (m["params"].get("configId"), m["params"].get("value") or m["params"].get("modeId")) for m in told
            ]
            assert chosen == [("fast", True), (None, "plan")]  # what the agent changed by itself is what holds
            assert stage.agent.recollection()["chosen"] == {"mode": "plan", "fast": "yes"}
