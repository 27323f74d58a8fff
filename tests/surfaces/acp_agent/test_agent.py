"""`fourhands acp --agent`: the official SDK's client on one side, chat models, the tour and ACP agents on the other."""

import asyncio
import base64
import contextlib
import json
import sys
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any

import acp
import pytest
import pytest_asyncio
from tests.kit.acp_stage import FAKE, permission
from tests.kit.dialects import Answer
from tests.kit.editor import Editor, open_editor
from tests.kit.model import Model, Request
from tests.kit.person import PERSON
from tests.kit.server import Served, serve_app

from fourhands.app.launching import agent_source, launching
from fourhands.core.event import Event
from fourhands.core.question import Answer as Chosen
from fourhands.core.tasks import Tasks
from fourhands.surfaces.acp_agent.connection import AgentSource

pytestmark = [pytest.mark.timeout(90), pytest.mark.asyncio(loop_scope="module")]

PNG = base64.b64encode(b"\x89PNG no more").decode()


class World:
    """One server for the file, the model behind its agents, and the log of the fake ACP agent."""

    def __init__(self, served: Served, source: AgentSource, model: Model) -> None:
        self.served, self.source, self.model = served, source, model
        self.bench, self.app = served.app.bench, served.app
        self.root = Path(self.bench.root)
        self.answers: list[Answer] = []

    @property
    def chat(self) -> str:
        return f"{self.model.url}/v1#scripted"

    @property
    def fake(self) -> str:
        return f"acp {sys.executable} {FAKE}"

    def script(self, request: Request) -> Answer:
        return self.answers.pop(0) if self.answers else Answer("ok")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    log = tmp_path_factory.mktemp("fake") / "log"
    worlds: list[World] = []
    capabilities = {
        "loadSession": True,
        "promptCapabilities": {"image": True},
        "sessionCapabilities": {"additionalDirectories": {}},
    }
    options = {"capabilities": capabilities, "modes": ["ask", "plan"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAKE_LOG", str(log))
        patch.setenv("FAKE_OPTIONS", json.dumps(options))
        async with Model(lambda request: worlds[0].script(request)) as model, serve_app() as served:
            with launching(served.app, served.running):
                worlds.append(World(served, agent_source(served.app, served.running), model))
                worlds[0].log = log  # type: ignore[attr-defined]
                yield worlds[0]


def block(command: str, /, **args: object) -> str:
    return "%%OS" + json.dumps({"cmd": f"openspace.{command}", "args": args}) + "%%"


async def test_a_chat_model_works_in_the_workbench_and_the_editor_sees_all_of_it(world: World) -> None:
    (world.root / "a.txt").write_text("one\n")
    world.answers = [
        Answer(
            "I write. " + block("file.write", path="a.txt", content="two\n") + block("tool.bash", command="echo hi")
        ),
        Answer("Done."),
    ]
    async with open_editor(world.source, world.chat, lambda options: options[0].option_id) as editor:
        hello = await editor.begin()
        assert (hello.agent_info and hello.agent_info.name) == "fourhands"
        assert hello.agent_capabilities is not None
        assert hello.agent_capabilities.load_session
        session = await editor.new(str(world.root))
        assert world.bench.sessions.get(session).name == "scripted"
        assert await editor.prompt(session, "please") == "end_turn"
        assert editor.text() == "I write. Done."
        assert len({one.message_id for one in editor.of("agent_message_chunk")}) == 2
        assert editor.of("user_message_chunk") == []  # it knows what it has said itself
        steps = {one.tool_call_id: one for one in editor.of("tool_call")}
        assert [one.kind for one in steps.values()] == ["edit", "execute"]
        ends = {one.tool_call_id: one for one in editor.of("tool_call_update")}
        assert [one.status for one in ends.values()] == ["completed", "completed"]
        edit, ran = ends.values()
        (diff,) = edit.content
        assert (diff.path, diff.old_text, diff.new_text) == (str(world.root / "a.txt"), "one\n", "two\n")
        assert next(iter(steps.values())).locations[0].path == str(world.root / "a.txt")
        assert "hi" in ran.content[0].content.text
        assert "work with you" in str(editor.asked[0].title)  # consent was asked for in the editor


async def test_a_question_goes_to_editor_and_page_and_the_first_answer_counts(world: World) -> None:
    """Refused on the page while the editor is being asked; then refused in the editor."""
    (world.root / "victim").mkdir()
    line = block("tool.bash", command="rm -rf victim")
    world.answers = [Answer(line), Answer("A pity."), Answer(line), Answer("Again.")]
    async with open_editor(world.source, world.chat, lambda options: options[-1].option_id) as editor:
        await editor.begin()
        session = await editor.new(str(world.root))
        world.app.gate.consent.grant(session)
        editor.hold = True
        async with asyncio.TaskGroup() as tasks:
            turn = tasks.create_task(editor.prompt(session, "remove it"))
            await editor.until(lambda one: one.asked)
            (question,) = world.app.questions.open(session)
            world.app.questions.answer(question.id, Chosen(choice="deny"), PERSON)
        assert turn.result() == "end_turn"
        editor.hold = False
        assert await editor.prompt(session, "remove it") == "end_turn"
        assert (world.root / "victim").exists()
        assert "rm -rf victim" in str(editor.asked[-1].raw_input)
        failed = [one for one in editor.of("tool_call") if one.status == "failed"]
        assert ["refused" in one.content[0].content.text for one in failed] == [True, True]


async def test_a_prompt_has_links_files_and_images(world: World) -> None:
    """In words for a chat model; as they are for an agent that takes them."""
    blocks = [
        "look at ",
        acp.resource_link_block("app.py", "file:///x/app.py"),
        " and",
        acp.resource_block(acp.embedded_text_resource("file:///x/b.py", "print('%%OS{}%%')")),
        acp.image_block(PNG, "image/png"),
    ]
    seen: list[dict[str, Any]] = []
    for spec in (world.chat, world.fake):
        async with open_editor(world.source, spec) as editor:
            await editor.begin()
            session = await editor.new(str(world.root))
            count = len(world.model.requests)
            assert await editor.prompt(session, *blocks) == "end_turn"
            if spec == world.chat:
                request = world.model.requests[count].body["messages"][-1]["content"]
                assert "look at [@app.py](file:///x/app.py) and [@b.py](file:///x/b.py) [image: image/png" in request
                assert "print(" in request
                assert "not passed on" in request
                assert PNG not in request
            else:
                lines = [json.loads(line) for line in world.log.read_text().splitlines()]  # type: ignore[attr-defined]
                seen = [one["params"]["prompt"] for one in lines if one.get("method") == "session/prompt"][-1]
    kinds = [one["type"] for one in seen]
    assert kinds[-3:] == ["text", "image", "text"]  # a file as text, since it takes no resources; an image as it is
    assert "print(" in seen[-3]["text"]
    assert seen[-2]["data"] == PNG
    assert "look at [@app.py]" in seen[-1]["text"]


async def test_bad_requests_are_refused_with_what_is_wrong(world: World) -> None:
    async with open_editor(world.source, "tour") as editor:
        await editor.begin()
        session = await editor.new(str(world.root))
        image = {"type": "image", "mimeType": "image/png"}

        def further(*paths: str) -> dict[str, Any]:
            return {"cwd": str(world.root), "mcpServers": [], "additionalDirectories": list(paths)}

        cases: list[tuple[str, dict[str, Any], int, str]] = [
            ("initialize", {"protocolVersion": "x"}, -32602, "whole number"),
            ("session/new", {"cwd": "/etc", "mcpServers": []}, -32602, "outside"),
            ("session/new", {"cwd": 3, "mcpServers": []}, -32602, "bad params"),
            ("session/new", further("/etc"), -32602, "directory '/etc' is not in the workspace"),
            ("session/new", further(str(world.root), "etc"), -32602, "absolute paths, not 'etc'"),
            ("session/new", further(""), -32602, "absolute paths"),
            ("session/new", further(str(world.root / "none")), -32602, "no directory"),
            ("session/new", {**further(), "additionalDirectories": None}, -32602, "bad params"),
            ("session/new", {**further(), "additionalDirectories": [1]}, -32602, "bad params"),
            ("session/load", {**further("/etc"), "sessionId": session}, -32602, "is not in the workspace"),
            ("session/load", {"cwd": str(world.root), "sessionId": "nope", "mcpServers": []}, -32002, "no session"),
            ("session/prompt", {"sessionId": "nope", "prompt": []}, -32002, "no session"),
            ("session/prompt", {"sessionId": session, "prompt": []}, -32602, "at least one"),
            ("session/prompt", {"sessionId": session, "prompt": "hi"}, -32602, "list of content blocks"),
            ("session/prompt", {"sessionId": session, "prompt": [{"type": "video"}]}, -32602, "'video'"),
            ("session/prompt", {"sessionId": session, "prompt": [{"type": "text"}]}, -32602, "no text"),
            ("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": " "}]}, -32602, "empty"),
            ("session/prompt", {"sessionId": session, "prompt": [{**image, "data": "%"}]}, -32602, "base64"),
            ("session/set_mode", {"sessionId": session, "modeId": "x"}, -32603, "nothing to choose"),
            ("session/close", {"sessionId": "nope"}, -32002, "no session"),
            ("terminal/create", {"sessionId": session, "command": "ls"}, -32601, "no method"),
        ]
        for method, params, code, words in cases:
            with pytest.raises(acp.RequestError, match=words) as caught:
                await editor.raw(method, params)
            assert caught.value.code == code, (method, params)


async def test_an_agent_that_is_not_there_says_how_to_get_it(world: World) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "/nowhere")
        async with open_editor(world.source, "qwen") as editor:
            await editor.begin()
            with pytest.raises(acp.RequestError, match="install it: npm"):
                await editor.new(str(world.root))
    async with open_editor(world.source, "claud") as editor:
        await editor.begin()
        with pytest.raises(acp.RequestError, match="did you mean 'claude'"):
            await editor.new(str(world.root))


async def acting(editor: Editor, session: str, *actions: list[Any]) -> str:
    return await editor.prompt(session, json.dumps(actions))


async def test_an_acp_agent_s_steps_plan_modes_and_terminals_are_passed_on(world: World) -> None:
    (world.root / "notes.txt").write_text("saved\n")
    async with open_editor(world.source, world.fake) as editor:
        await editor.begin()
        answer = await editor.connection.new_session(cwd=str(world.root), mcp_servers=[])
        session = answer.session_id
        world.app.gate.consent.grant(session)
        assert answer.modes is not None
        assert (answer.modes.current_mode_id, [one.id for one in answer.modes.available_modes]) == (
            "ask",
            ["ask", "plan"],
        )
        assert [one.id for one in answer.config_options or ()] == ["model", "fast"]
        await editor.connection.set_session_mode(session_id=session, mode_id="plan")
        await editor.connection.set_config_option(session_id=session, config_id="fast", value=True)
        await editor.until(lambda one: one.of("current_mode_update"))
        editor.buffers[str(world.root / "notes.txt")] = "typed in the editor\n"
        step = {"sessionUpdate": "tool_call", "toolCallId": "c9", "title": "Run it", "kind": "execute"}
        terminal = {"type": "terminal", "terminalId": "$terminal"}
        diff = {"type": "diff", "path": "/x", "oldText": None, "newText": "y"}
        reason = await acting(
            editor,
            session,
            [
                "update",
                {"sessionUpdate": "plan", "entries": [{"content": "a", "priority": "odd", "status": "pending"}]},
            ],
            ["update", {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}}],
            ["update", {"sessionUpdate": "usage_update", "used": 5, "size": 100}],
            ["update", {"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "web"}]}],
            permission(command="echo wild | sh"),
            ["call", "fs/read_text_file", {"path": str(world.root / "notes.txt")}],
            ["call", "terminal/create", {"command": "echo printed"}],
            ["update", {**step, "status": "in_progress", "content": [terminal, diff]}],
            ["call", "terminal/wait_for_exit", {"terminalId": "$terminal"}],
            ["update", {"sessionUpdate": "tool_call_update", "toolCallId": "c9", "status": "completed"}],
            ["stop", "max_tokens"],
        )
        assert reason == "max_tokens"
        assert "typed in the editor" in editor.text()
        assert editor.text("agent_thought_chunk") == "hm"
        (plan,) = editor.of("plan")
        assert plan.entries[0].priority == "medium"
        assert editor.of("usage_update")[-1].size == 100
        assert editor.of("available_commands_update")[-1].available_commands[0].name == "web"
        assert editor.asked[-1].tool_call_id == "c1"  # the agent's own step: the editor shows the question there
        told = [one for one in editor.updates if getattr(one, "tool_call_id", "") == "c9"]
        assert [one.status for one in told if one.status] == ["in_progress", "completed"]
        shown = [part for one in told for part in one.content or ()]
        assert {part.type for part in shown} == {"content", "diff"}
        assert any("printed" in part.content.text for part in shown if part.type == "content")


async def test_directories_of_the_workspace_are_passed_on_to_an_agent_that_takes_them(world: World) -> None:
    (world.root / "part").mkdir()
    parts = [str(world.root / "part"), str(world.root)]
    async with open_editor(world.source, world.fake) as editor:
        hello = await editor.begin()
        assert hello.agent_capabilities is not None
        assert hello.agent_capabilities.session_capabilities is not None
        assert hello.agent_capabilities.session_capabilities.additional_directories is not None
        before = len(world.bench.sessions)
        with pytest.raises(acp.RequestError, match="allow it by additionalDirectories under"):
            await editor.connection.new_session(str(world.root), additional_directories=["/etc"], mcp_servers=[])
        assert len(world.bench.sessions) == before  # nothing was started with less
        await editor.connection.new_session(str(world.root), additional_directories=parts, mcp_servers=[])
        lines = [json.loads(line) for line in world.log.read_text().splitlines()]  # type: ignore[attr-defined]
        begun = [one["params"] for one in lines if one.get("method") == "session/new"][-1]
        assert begun["additionalDirectories"] == parts[:1]


async def test_a_cancelled_turn_ends_as_cancelled_and_the_next_one_works(world: World) -> None:
    async with open_editor(world.source, world.fake) as editor:
        await editor.begin()
        session = await editor.new(str(world.root))
        async with asyncio.TaskGroup() as tasks:
            turn = tasks.create_task(acting(editor, session, ["say", "begun"], ["hang"]))
            await editor.until(lambda one: "begun" in one.text())
            waiting = tasks.create_task(editor.prompt(session, "and then"))
            await asyncio.sleep(0)
            await editor.connection.cancel(session_id=session)
        assert (turn.result(), waiting.result()) == ("cancelled", "cancelled")
        assert await editor.prompt(session, "hello") == "end_turn"
        assert "heard: hello" in editor.text()


async def test_an_agent_that_dies_is_an_error_and_is_started_again(world: World) -> None:
    async with open_editor(world.source, world.fake) as editor:
        await editor.begin()
        session = await editor.new(str(world.root))
        with pytest.raises(acp.RequestError, match="closed the connection"):
            await acting(editor, session, ["exit", 3])
        assert await editor.prompt(session, "hello") == "end_turn"
        assert "heard: hello" in editor.text()


async def test_a_session_outlives_its_editor_and_is_loaded_with_its_history(world: World) -> None:
    """The first editor goes; the second one finds the session, and closes it; the third loads it once more."""
    world.answers = [
        Answer("First. " + block("file.list", path=".")),
        Answer("Listed."),
        Answer("Second."),
    ]
    async with open_editor(world.source, world.chat) as editor:
        await editor.begin()
        session = await editor.new(str(world.root))
        world.app.gate.consent.grant(session)
        await editor.prompt(session, "hello you")
    assert world.bench.sessions.find(session) is not None
    for round_ in range(2):
        async with open_editor(world.source, world.chat) as editor:
            await editor.begin()
            listed = (await editor.connection.list_sessions(cwd=str(world.root))).sessions
            (found,) = [one for one in listed if one.session_id == session]
            assert found.title == "hello you"
            await editor.connection.load_session(cwd=str(world.root), session_id=session, mcp_servers=[])
            assert editor.text("user_message_chunk").startswith("hello you")
            assert editor.text().startswith("First. Listed.")
            assert len(editor.of("tool_call")) == 1
            assert await editor.prompt(session, f"again {round_}") == "end_turn"
            asked = world.model.requests[-1].body["messages"]
            assert "hello you" in json.dumps(asked)  # the model is told what was said before
            await editor.connection.close_session(session_id=session)
            assert world.bench.sessions.find(session) is None
    async with open_editor(world.source, world.chat) as editor:
        await editor.begin()
        await editor.raw("session/delete", {"sessionId": session})
        listed = (await editor.connection.list_sessions()).sessions
        assert session not in [one.session_id for one in listed]
        with pytest.raises(acp.RequestError, match="no session"):
            await editor.connection.resume_session(cwd=str(world.root), session_id=session, mcp_servers=[])


async def test_two_editors_share_a_session_and_have_their_own(world: World) -> None:
    world.answers = [Answer("Hello both.")]
    async with open_editor(world.source, world.chat) as one, open_editor(world.source, world.chat) as two:
        await one.begin()
        await two.begin()
        session, other = await one.new(str(world.root)), await two.new(str(world.root))
        assert session != other
        await two.connection.resume_session(cwd=str(world.root), session_id=session, mcp_servers=[])
        assert await one.prompt(session, "hi") == "end_turn"
        await two.until(lambda editor: "Hello both." in editor.text())
        assert two.text("user_message_chunk") == "hi"
        await one.connection.close_session(session_id=session)  # the other one still shows it
        assert world.bench.sessions.find(session) is not None
        assert await two.prompt(session, "still?") == "end_turn"


async def _lost(prompt: Awaitable[str]) -> None:
    with contextlib.suppress(ConnectionError, acp.RequestError):
        await prompt


async def test_the_tour_plays_and_an_editor_that_vanishes_stops_it(world: World) -> None:
    async with open_editor(world.source, "tour") as editor:
        await editor.begin(reads=False)
        session = await editor.new(str(world.root))
        world.app.gate.consent.grant(session)
        ended: asyncio.Future[object] = asyncio.get_running_loop().create_future()

        def happened(event: Event) -> None:
            if event.kind == "agent.finished" and event.data["session"] == session:
                ended.set_result(event.data["stopReason"])

        world.app.events.published.subscribe(happened)
        async with Tasks() as tasks:
            tasks.start(_lost(editor.prompt(session, "go")), "a prompt that gets no answer")
            await editor.until(lambda one: "I am the tour" in one.text())
            await editor.connection.close()
    async with asyncio.timeout(40):
        await ended
    assert ended.result() == "cancelled"
    assert world.bench.sessions.find(session) is not None


async def test_an_editor_gets_no_session_of_another_agent(world: World) -> None:
    """The command that the editor was started with decides: neither the page's agents nor those of other editors."""
    page = world.bench.begin_session("claude", "test")
    async with open_editor(world.source, "tour") as editor, open_editor(world.source, world.chat) as other:
        await editor.begin()
        await other.begin()
        theirs = await other.new(str(world.root))
        for id in (page.id, theirs):
            with pytest.raises(acp.RequestError, match="not of 'tour'"):
                await editor.connection.load_session(cwd=str(world.root), session_id=id, mcp_servers=[])
            await editor.raw("session/delete", {"sessionId": id})
            assert world.bench.sessions.find(id) is not None
        assert theirs not in [one.session_id for one in (await editor.connection.list_sessions()).sessions]
