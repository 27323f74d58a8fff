"""`fourhands mcp` with options: consent by the owner of a client's configuration, and questions that go one way."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from click.testing import CliRunner
from mcp import Client
from mcp_types import Implementation
from tests.kit.mcp_client import WITH_FIELDS, Form, chosen, data, person_token, text, until
from tests.kit.workbench import environment, open_app, quick, temporary_places
from websockets.asyncio.server import serve

from fourhands.agents.briefing.hub import Hub
from fourhands.app import App
from fourhands.core.call import Actor, Scope
from fourhands.core.errors import BadArgument, Denied, FourhandsError, NotFound, Unavailable
from fourhands.core.question import Answer
from fourhands.settings import AgentDefaults, AgentSettings, ServerSettings, Settings
from fourhands.surfaces.mcp.command import TOKEN_VARIABLE, mcp_command
from fourhands.surfaces.mcp.link import WebSocketLink
from fourhands.surfaces.mcp.options import ClientOptions
from fourhands.surfaces.mcp.server import McpServer
from fourhands.surfaces.mcp.terms import Terms, settle, welcome
from fourhands.surfaces.server import serving
from fourhands.workbench.events import AgentNoted, SessionStarted
from fourhands.workbench.sessions import AgentPlace

ALL: tuple[Scope, ...] = ("see", "arrange", "write", "run")


@contextlib.asynccontextmanager
async def joined(app: App, options: ClientOptions, *, own: bool = True, **more: Any) -> AsyncIterator[Client]:
    """A client that calls itself probe, on the terms that these options have here."""
    terms = await settle(app.bench, options, own=own)
    hub = Hub(app.bench, app.registry)
    mcp = McpServer(app.bench, hub, app.tasks, pipe=True, terms=terms)
    try:
        info = Implementation(name="probe", version="1")
        async with Client(mcp.server, mode="legacy", client_info=info, cache=None, **more) as client:
            await client.list_tools()
            yield client
    finally:
        await mcp.close()
        await hub.close()


def agent(app: App) -> dict[str, Any]:
    [session] = app.bench.sessions
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(app.bench.describe_session(session)))
    return found


# -- the command line -------------------------------------------------------------------------------------------------


def test_each_option_is_taken_or_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    taken: list[ClientOptions] = []

    async def start(directory: str, options: ClientOptions) -> None:
        taken.append(options)

    def run(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(mcp_command(start, patience_s=0.0), [str(tmp_path), *words])
        return done.exit_code, done.output

    good = {
        (): ClientOptions(),
        ("--name", "ci"): ClientOptions(name="ci"),
        ("--allow", "see, run,see"): ClientOptions(allow=("see", "run")),
        ("--provider", "bubblewrap"): ClientOptions(provider="bubblewrap"),
        ("--ask-by", "never"): ClientOptions(ask_by="never"),
        ("--tools", "core,openspace_agent_list"): ClientOptions(tools=("core", "openspace_agent_list")),
        ("--name", "ci", "--keep"): ClientOptions(name="ci", keep=True),
    }
    for words, options in good.items():
        assert run(*words) == (0, ""), words
        assert taken.pop() == options
    bad = {
        ("--allow", "see,rum"): (2, "no scope 'rum'; did you mean 'run'? there are: see, arrange, write, run"),
        ("--allow", "see,,run"): (2, "is no list of scope"),
        ("--allow", ""): (2, "is no list of scope"),
        ("--allow", "x" * 100_000): (2, "no scope 'xxx"),
        ("--ask-by", "mail"): (2, "'mail' is not one of 'page', 'forms', 'never'"),
        ("--tools", ","): (2, "is no list of tool"),
        ("--name", ""): (1, "--name is empty"),
        ("--name", " a"): (1, "' a' is not a valid name"),
        ("--name", "a\x1b[2J"): (1, "is not a valid name"),
        ("--name", "x" * 61): (1, "is not a valid name"),
        ("--provider", " "): (1, "--provider is empty"),
        ("--keep",): (1, "--keep needs --name"),
        ("--unattended",): (2, "No such option"),
    }
    for words, (code, told) in bad.items():
        done, output = run(*words)
        assert (done, taken) == (code, []), (words, output)
        assert told in " ".join(output.split()), words
        assert len(output) < 2000
    monkeypatch.setenv(TOKEN_VARIABLE, "session_1.secret")
    for words in [*good][1:]:
        code, output = run(*words)
        tools = words[0] == "--tools"
        assert (code == 0 or "fourhands mcp" in output or "server of this agent" in output) if tools else code == 1
        assert tools or "an agent of Fourhands starts this" in output
    assert run("--help")[1].count("--") >= 7


# -- which options count ----------------------------------------------------------------------------------------------


@pytest.fixture
async def walled() -> AsyncIterator[App]:
    """A workbench whose agents run in a sandbox; none is built unless a test runs something."""
    async with open_app(Settings(agent_defaults=AgentDefaults(provider="bubblewrap"))) as app:
        yield app


async def test_what_joins_may_not_loosen_what_is_there(walled: App) -> None:
    bench = walled.bench
    for provider in ("local", "landlock"):
        options = ClientOptions(name="ci", provider=provider)
        with contextlib.suppress(Unavailable):  # a kernel without Landlock says so in its own words
            with pytest.raises(Denied, match="isolates less than 'bubblewrap'") as refusal:
                await settle(bench, options, own=False)
            assert "agents.ci.provider" in refusal.value.hint
            assert (await settle(bench, options, own=True)).provider == provider
            assert (await settle(bench, options, own=False)).provider == provider  # as the one that started it all
        bench.founder = ""
    with contextlib.suppress(Unavailable):
        same = ClientOptions(name="ci", provider="bubblewrap")
        assert (await settle(bench, same, own=False)).provider == "bubblewrap"
    with pytest.raises(NotFound, match="no provider 'bubblewrp'"):
        await settle(bench, ClientOptions(provider="bubblewrp"), own=True)


async def test_an_agents_own_token_brings_no_options_but_tools(walled: App) -> None:
    for options in (
        ClientOptions(name="ci"),
        ClientOptions(allow=("see",)),
        ClientOptions(provider="local"),
        ClientOptions(ask_by="never"),
        ClientOptions(name="ci", keep=True),
    ):
        with pytest.raises(Denied, match="an agent's own session takes no options but --tools"):
            await settle(walled.bench, options, own=False, agent=True)
    assert (await settle(walled.bench, ClientOptions(tools=("all",)), own=False, agent=True)).tools == ("all",)


async def test_no_agent_without_a_sandbox_gets_more_by_a_second_door(walled: App) -> None:
    bench, options = walled.bench, ClientOptions(name="ci", allow=ALL)
    inside = bench.begin_session("inside", "test")
    assert (await settle(bench, options, own=False)).allow == ALL  # its programs cannot read the token
    for state, place in ((msgspec.structs.replace(inside.state, provider="local"), None), (inside.state, "none")):
        loose = bench.begin_session("loose", "test")
        loose.state, loose.place = state, AgentPlace(place, "none") if place else None
        terms = await settle(bench, options, own=False)
        assert terms.allow == ()
        assert "loose may not do all of that" in terms.withheld
        walled.gate.consent.grant(loose.id, ("see", "run"))
        assert (await settle(bench, options, own=False)).allow == ("see", "run")
        assert (await settle(bench, ClientOptions(allow=("see",)), own=False)).withheld == ""
        assert (await settle(bench, options, own=True)).allow == ALL  # it started this workbench itself
        await bench.end_session(loose.id)
    assert (await settle(bench, options, own=False)).allow == ALL


async def test_settings_hold_for_a_configured_name_alone_and_flags_override_them() -> None:
    mine = AgentSettings(allow=("see", "run"), ask_by="never", tools=("core",))
    async with open_app(Settings(agents={"ci": mine, "probe": mine, "mcp": mine})) as app:
        async with joined(app, ClientOptions(name="ci")):
            found = agent(app)
            assert (found["name"], found["client"], found["scopes"]) == ("ci", "probe", ["see", "run"])
            assert found["allowedBy"] == "allowed by your settings file (agents.ci.allow see,run)"
            assert found["askBy"] == "never"
        async with joined(app, ClientOptions(name="ci", allow=("write",), ask_by="page", tools=("all",))):
            found = agent(app)
            assert (found["scopes"], found["askBy"]) == (["write"], "page")
            assert found["allowedBy"] == "allowed by the client's configuration (--allow write)"
        async with joined(app, ClientOptions()):  # it only calls itself probe, and comes by MCP
            found = agent(app)
            assert (found["name"], found["client"], found["consent"], found["askBy"]) == ("probe", "", "unasked", "")


# -- attended and unattended ------------------------------------------------------------------------------------------


async def refused(client: Client, tool: str, args: dict[str, Any]) -> str:
    """The text of a refusal, which came at once."""
    begun = time.monotonic()
    done = await client.call_tool(tool, args)
    assert done.is_error
    assert time.monotonic() - begun < 5  # unknown lines wait for 10 s where a person is asked
    return text(done)


async def test_with_never_what_would_be_asked_is_refused_with_a_reason(app: App) -> None:
    person = Form()
    leave = app.bench.questions.attend()  # a page is open, and is not asked either
    asked = app.events.published.subscribe(lambda event: seen.append(event.kind))
    seen: list[str] = []
    options = ClientOptions(name="ci", allow=("see", "run"), ask_by="never")
    async with joined(app, options, elicitation_callback=person) as client:
        assert data(await client.call_tool("bash", {"command": "echo hi"}, meta=WITH_FIELDS))["output"] == "hi\n"
        cases = {
            "rm -rf build": ("deletes", "do not try it in other words"),
            "sometool --frob": ("unknown", "--provider"),
        }
        for line, (reason, hint) in cases.items():
            told = await refused(client, "bash", {"command": line})
            assert "needs approval; no one is asked in this session (--ask-by never)" in told
            assert (reason in told, hint in told, "code: denied" in told) == (True, True, True), told
        told = await refused(client, "openspace_file_write", {"path": "a", "content": "b"})
        assert "ci may not write files" in told
        assert "add the scope to --allow" in told
    leave()
    asked()
    assert (person.asked, "question.asked" in seen) == ([], False)
    calls = await app.journal.query(limit=20)
    verdicts = {entry.call.args.get("command", entry.call.command): entry.verdict for entry in calls}
    assert (verdicts["rm -rf build"].choice, verdicts["rm -rf build"].by) == ("refused", "configuration")


async def test_consent_by_configuration_is_told_to_all_and_can_be_revoked(app: App) -> None:
    told: list[Any] = []
    app.events.published.subscribe(lambda event: told.append(event.payload))
    options = ClientOptions(name="ci", allow=("see",), ask_by="never")
    words = "allowed by the client's configuration (--allow see)"
    async with joined(app, options) as client:
        data(await client.call_tool("openspace_agent_list"))
        assert [event.text for event in told if isinstance(event, AgentNoted)] == [f"A{words[1:]}."]
        assert [event.session.allowed_by for event in told if isinstance(event, SessionStarted)] == [words]
        entries = await app.journal.query(limit=9)
        [entry] = [one for one in entries if one.call.command == "openspace.agent.consent"]
        assert (entry.verdict.choice, entry.verdict.by) == ("configured", words)
        assert entry.call.args["scopes"] == ["see"]
        await app.gate.consent.revoke_agent(agent(app)["id"], "ci")
        assert (agent(app)["consent"], agent(app)["allowedBy"]) == ("unasked", "")
        assert "ci may not look at files" in await refused(client, "openspace_agent_list", {})
    async with joined(app, options) as client:  # a new session of that name does not bring it back
        assert agent(app)["consent"] == "unasked"
        await refused(client, "openspace_agent_list", {})
        await app.gate.consent.grant_agent(agent(app)["id"], "ci", ("see",))
        data(await client.call_tool("openspace_agent_list"))
    async with joined(app, options) as client:  # until the person has given it by hand
        data(await client.call_tool("openspace_agent_list"))


async def test_a_scope_that_is_not_allowed_is_asked_about_once(app: App) -> None:
    person = Form(chosen("deny"), chosen("session"))
    for answer in ("deny", "session"):
        async with joined(app, ClientOptions(name="ci", allow=("see",)), elicitation_callback=person) as client:
            data(await client.call_tool("openspace_agent_list"))
            assert person.asked == [] or answer == "session"
            done = await client.call_tool("bash", {"command": "echo hi"})
            assert done.is_error is (answer == "deny")
            assert "look at files" not in person.asked[-1].partition("Allow it?")[0]
            assert "allowed by the client's configuration (--allow see)" in person.asked[-1]
            data(await client.call_tool("openspace_agent_list"))  # what was allowed before stays
            assert (await client.call_tool("bash", {"command": "echo hi"})).is_error is (answer == "deny")
    assert len(person.asked) == 2


async def test_questions_go_the_one_way_that_is_configured(app: App) -> None:
    seen: list[str] = []
    app.events.published.subscribe(lambda event: seen.append(event.kind))
    line = {"command": "rm -f nothing"}
    for way, forms, pages in (("forms", 1, 0), ("page", 0, 1), (None, 1, 1)):
        person, kinds = Form(), len(seen)
        leave = app.bench.questions.attend()
        options = ClientOptions(name="ci", allow=ALL, ask_by=way)  # type: ignore[arg-type]  # of the three
        async with joined(app, options, elicitation_callback=person) as client, asyncio.TaskGroup() as group:
            call = group.create_task(client.call_tool("bash", line, meta=WITH_FIELDS))
            await until(lambda: bool(app.bench.questions.open(private=True)), app)
            [question] = app.bench.questions.open(private=True)
            if forms:
                await asyncio.wait_for(person.shown.wait(), 40)
            assert len(person.asked) == forms
            assert seen[kinds:].count("question.asked") == pages
            assert len(app.bench.questions.open()) == pages
            app.bench.questions.answer(question.id, Answer(choice="once"), Actor.person())
            assert data(await call)["ok"]
        leave()
        assert ("question.answered" in seen[kinds:]) is bool(pages)
    async with joined(app, ClientOptions(name="ci", allow=ALL, ask_by="forms")) as client:
        leave = app.bench.questions.attend()
        assert "this client shows no forms" in await refused(client, "bash", line)
        leave()


async def test_a_new_host_of_the_network_is_refused_at_once_with_never(app: App) -> None:
    leave = app.bench.questions.attend()
    async with joined(app, ClientOptions(name="ci", allow=ALL, ask_by="never")):
        with pytest.raises(Denied, match="no one is asked in this session") as refusal:
            await app.bench.network.gatekeeper.require(agent(app)["id"], "example.org", 443)
        assert "sandbox.allowedHosts" in refusal.value.hint
    leave()


async def test_kept_terminals_outlast_the_sweep_after_a_restart() -> None:
    with temporary_places() as places:
        settings = quick(Settings(server=ServerSettings(return_s=0.3)), linger_s=30.0)
        async with App(places.workspace, settings, places=places, env=environment(places)) as first:
            for name, keep in (("kept", True), ("left", False)):
                session = welcome(first.bench, first.tasks, Terms(name=name, keep=keep), "probe")
                made = await first.call("openspace.terminal.create", {"title": name}, actor=session.actor)
                assert made.code == "no-answer"  # it has no consent yet
                first.gate.consent.grant(session.id)
                assert (await first.call("openspace.terminal.create", {"title": name}, actor=session.actor)).success
        async with open_app(settings, places) as second:
            titles = [terminal.title for terminal in second.terminals.list()]
            assert sorted(titles) == ["kept", "left"]
            await until(lambda: [terminal.title for terminal in second.terminals.list()] == ["kept"], second)
            assert second.bench.sessions.kept == [second.bench.terminal("kept").owner]
            # One that calls itself so is not the one that is named so.
            assert second.bench.begin_session("kept", "mcp").id != second.bench.terminal("kept").owner
            back = welcome(second.bench, second.tasks, Terms(name="kept"), "probe")
            assert back.id == second.bench.terminal("kept").owner
            assert second.bench.sessions.kept == []


async def test_a_workbench_of_an_older_version_is_told_apart() -> None:
    async with serve(lambda socket: socket.wait_closed(), "127.0.0.1", 0) as server:
        url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp/socket"
        await (await WebSocketLink.open(url, "token")).close()
        with pytest.raises(Unavailable, match="of an older version, which takes no options"):
            await WebSocketLink.open(url, "token", options=ClientOptions(ask_by="never"))


async def test_options_that_arrive_are_checked_again(app: App) -> None:
    async with serving(app.bench, app.tasks, port=0) as running:
        url, token = running.address.url.replace("http", "ws", 1) + "/mcp/socket", person_token(running)
        bad = {
            "{": "cannot be taken",
            '{"allow":["rum"]}': "cannot be taken",
            '{"frob":1}': "cannot be taken",
            '{"name":"a\\u0007"}': "is not a valid name",
            '{"keep":true}': "--keep needs --name",
            '{"provider":"bubblewrp"}': "no provider 'bubblewrp'",
            '{"tools":["bsh"]}': "no tool 'bsh'",
            '{"tools":[""]}': "empty name",
        }
        for body, told in bad.items():
            with pytest.raises(FourhandsError, match=told) as refusal:
                await WebSocketLink.open(f"{url}?options={quote(body)}", token)
            assert type(refusal.value) in (BadArgument, NotFound), body
        with pytest.raises(Unavailable, match="cannot connect to the workbench"):
            await WebSocketLink.open(url, "wrong", options=ClientOptions(name="ci"))
        theirs = running.tokens.issue(app.bench.begin_session("inside", "test").actor)
        with pytest.raises(Denied, match="takes no options but --tools"):
            await WebSocketLink.open(url, theirs, options=ClientOptions(allow=("run",)))
        await (await WebSocketLink.open(url, theirs, options=ClientOptions(tools=("all",)))).close()
