"""MCP with the official client in memory, in both generations: tools, long calls, sessions."""

import asyncio
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import MCPError
from tests.kit.mcp_client import (
    WITH_FIELDS,
    Mode,
    both,
    connected,
    data,
    ended,
    holds,
    probes,
    text,
    until,
)

from fourhands.app import App
from fourhands.commands.toolset import tool_name, toolset
from fourhands.core.ids import short_id
from fourhands.surfaces.mcp import clients as peers
from fourhands.surfaces.mcp.limits import McpLimits
from fourhands.surfaces.mcp.tools import Tools


@pytest.fixture(autouse=True)
def nothing_held() -> None:
    holds.clear()
    ended.clear()


@both
async def test_every_command_for_agents_is_a_tool(app: App, mode: Mode) -> None:
    async with connected(app, mode) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == {one.name for one in toolset(app.registry)}
    async with connected(app, mode, tools=["all"]) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert set(tools) == {tool_name(one.id) for one in app.registry if "agent" in one.actors}
    assert "openspace_terminal_send" in tools
    assert "bash" in tools
    assert "openspace_file_remove" not in tools  # a person's
    read, bash = tools["openspace_file_read"], tools["bash"]
    assert read.annotations is not None
    assert bash.annotations is not None
    assert (read.annotations.read_only_hint, read.annotations.destructive_hint) == (True, False)
    assert (bash.annotations.read_only_hint, bash.annotations.destructive_hint) == (False, True)
    assert "fresh shell" in (bash.description or "")
    for tool in tools.values():
        assert tool.input_schema["type"] == "object"


@both
async def test_tools_act_on_the_shared_workbench(app: App, mode: Mode) -> None:
    Path(app.bench.root, "a.py").write_text("one\ntwo\n")
    async with connected(app, mode) as client:
        await client.call_tool("openspace_editor_open", {"path": "a.py"})
        panes = data(await client.call_tool("openspace_pane_list"))
        assert "a.py" in str(panes)
        made = data(await client.call_tool("openspace_terminal_create", {"title": "build"}))
        assert app.bench.terminal("build").id == made["terminalId"]
        await client.call_tool("openspace_terminal_wait", {"terminalId": "build", "inputWanted": True})
        sent = data(
            await client.call_tool("openspace_terminal_send", {"terminalId": "build", "text": "echo $((6*7))\n"})
        )
        wait = {"terminalId": "build", "pattern": "42", "since": sent["position"], "deadlineSeconds": 40}
        assert data(await client.call_tool("openspace_terminal_wait", wait))["reason"] == "pattern"
        seen = data(await client.call_tool("openspace_terminal_read_output", {"terminalId": "build"}))
        assert "42" in seen["output"]
        ran = data(await client.call_tool("bash", {"command": "printf abc; exit 3"}, meta=WITH_FIELDS))
        assert (ran["output"], ran["exitCode"]) == ("abc", 3)
    entries = await app.journal.query(command="openspace.tool.bash")
    assert [(entry.call.origin, entry.call.actor.name) for entry in entries] == [("mcp", "probe")]


@both
async def test_a_tools_own_words_are_its_text_and_are_said_once(app: App, mode: Mode) -> None:
    async with connected(app, mode) as client:
        started = await client.call_tool("terminal_start", {"command": "echo hel''lo; exit 2"}, meta=WITH_FIELDS)
        told = started.structured_content
        assert told is not None
        id = short_id(told["id"])
        assert text(started).startswith(
            f"Terminal Session Started\nID: {id}\nCommand: echo hel''lo; exit 2\nPosition: "
        )
        assert text(started).endswith("\nComplete: true\nExit code: 2\n\nOutput:\nhello\n")
        assert (told["output"], "text" in told) == ("hello\n", False)
        assert text(await client.call_tool("terminal_list")).startswith("Active Terminal Sessions:\nID ")
        stopped = await client.call_tool("terminal_stop", {"sessionId": id})
        assert text(stopped) == f"Terminal session {id} terminated."
        # Many clients give a model only the data where there is any, and it would not see the text.
        for done in (stopped, await client.call_tool("bash", {"command": "exit 3"}), await client.call_tool("bahs")):
            assert (done.structured_content, "exitCode" in str(done.meta)) == (None, False)


@both
async def test_failures_are_tool_errors_with_code_and_hint(app: App, mode: Mode) -> None:
    async with connected(app, mode) as client:
        wrong = await client.call_tool("bash", {"comand": "ls"}, meta=WITH_FIELDS)
        assert wrong.is_error
        assert wrong.structured_content is not None
        assert wrong.structured_content["code"] == "bad-argument"
        assert "comand" in text(wrong)
        assert wrong.structured_content["hint"]
        missing = await client.call_tool("openspace_file_read", {"path": "none.txt"})
        assert missing.structured_content is not None
        assert (missing.is_error, missing.structured_content["code"]) == (True, "not-found")
        unknown = await client.call_tool("bahs", {})
        assert unknown.is_error
        assert "did you mean 'bash'?" in text(unknown)
        for name in ("openspace.file.remove", "openspace_file_remove"):
            persons = await client.call_tool(name, {"path": "x"})
            assert persons.is_error
            assert "code: denied" in text(persons)


@both
async def test_a_list_of_tools_is_a_limit(app: App, mode: Mode) -> None:
    wanted = ["search", "openspace_pane_list", "openspace_plugin_gone"]
    async with connected(app, mode, tools=wanted) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["search", "openspace_pane_list"]
        for name in ("openspace_pane_list", "openspace.pane.list", "search", "openspace.tool.search"):
            assert "code: not-found" not in text(await client.call_tool(name, {}))
        for name in ("bash", "openspace.tool.bash", "openspace_file_read", "openspace_file_remove", "nothing"):
            refused = text(await client.call_tool(name, {"command": "touch made", "path": "x"}))
            assert refused.startswith(f"error: no tool {name!r}\ncode: not-found\nhint: "), refused
            assert refused.endswith("tools here: openspace_pane_list, search"), refused
        assert not Path(app.bench.root, "made").exists()


def test_a_tool_is_found_by_its_commands_id_too() -> None:
    from fourhands.core.registry import Registry

    registry = Registry()
    tools = Tools(registry)
    registry.include(probes)
    assert tools.command_id("openspace_probe_hold") == tools.command_id("openspace.probe.hold")
    assert tools.input_schema("openspace_probe_hold") == tools.list(["all"])[0].input_schema
    assert tools.input_schema("nothing") is None
    tools.close()


async def test_an_older_client_hears_of_changed_tools(app: App) -> None:
    news: asyncio.Queue[str] = asyncio.Queue()

    async def told(notice: Any) -> None:
        news.put_nowait(getattr(notice, "method", ""))

    async with connected(app, message_handler=told, tools=["all"]) as client:
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.tools.list_changed
        dispose = app.registry.include(probes)
        async with asyncio.timeout(40):
            while await news.get() != "notifications/tools/list_changed":
                pass  # its prompts changed when it was let in
        assert "openspace_probe_hold" in [tool.name for tool in (await client.list_tools()).tools]
        dispose()


async def test_a_newer_client_hears_of_changed_tools_where_it_listens(app: App) -> None:
    async with connected(app, "auto") as client, asyncio.timeout(40), client.listen(tools_list_changed=True) as news:
        app.registry.include(probes)
        assert "Tools" in type(await anext(aiter(news))).__name__


# -- long calls -----------------------------------------------------------------------------------------------------


@both
async def test_a_long_call_reports_progress(app: App, mode: Mode) -> None:
    app.registry.include(probes)
    heard: list[tuple[float, str | None]] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message))
        if len(heard) == 2:
            holds["x"].set()

    async with connected(app, mode, limits=McpLimits(progress_s=0.05)) as client:
        await client.call_tool("openspace_probe_hold", {}, progress_callback=progress)
    assert heard[1][0] > heard[0][0]
    assert "running" in (heard[0][1] or "")


@both
async def test_cancelling_a_request_cancels_its_call(app: App, mode: Mode) -> None:
    app.registry.include(probes)
    async with connected(app, mode) as client:
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "openspace_probe_hold", {})
                await until(lambda: ended.get("x") == "running", app)
                scope.cancel()
        await until(lambda: ended.get("x") == "cancelled", app)
        assert (await client.list_tools()).tools  # the connection goes on


async def test_a_wait_does_not_hold_up_other_calls(app: App) -> None:
    app.registry.include(probes)
    async with connected(app) as client, asyncio.TaskGroup() as group:
        waiting = group.create_task(client.call_tool("openspace_probe_hold", {}))
        await until(lambda: ended.get("x") == "running", app)
        assert data(await client.call_tool("bash", {"command": "echo hi"}, meta=WITH_FIELDS))["output"] == "hi\n"
        assert not waiting.done()
        holds["x"].set()


# -- sessions -------------------------------------------------------------------------------------------------------


async def test_two_clients_are_two_agents(app: App) -> None:
    async with connected(app, name="one") as one:
        async with connected(app, "auto", name="two") as two:
            assert sorted(session.name for session in app.bench.sessions) == ["one", "two"]
            await two.call_tool("openspace_terminal_create", {"title": "of two"})
            await one.call_tool("openspace_terminal_create", {"title": "of one"})
        assert [session.name for session in app.bench.sessions] == ["one"]
        assert [terminal.title for terminal in app.terminals.list()] == ["of one"]
    assert len(app.bench.sessions) == 0


async def test_a_session_that_the_person_ended_stays_ended(app: App) -> None:
    async with connected(app) as client:
        [session] = app.bench.sessions
        await app.bench.end_session(session.id)
        with pytest.raises(MCPError, match="ended by the person"):
            await client.call_tool("bash", {"command": "ls"})


async def test_a_nameless_or_hostile_name_is_made_harmless(app: App) -> None:
    async with connected(app, name="\x1b[31m" + "x" * 500):
        [session] = app.bench.sessions
        assert session.name.isprintable()
        assert len(session.name) == peers.NAME_LENGTH
