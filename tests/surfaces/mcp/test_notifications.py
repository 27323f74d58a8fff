"""What MCP clients watch, hear of, page through and complete, with the official client in both generations."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any, Literal

import jsonschema  # type: ignore[import-untyped]  # ships no types
import pytest
from mcp import Client, MCPError
from mcp_types import PromptReference, ResourceTemplateReference
from msgspec import Struct
from tests.kit.mcp_client import (
    QUICK,
    Form,
    Mode,
    both,
    chosen,
    connected,
    data,
    ended,
    holds,
    over_http,
    person_token,
    probes,
    until,
)

from fourhands.app import App
from fourhands.commands.toolset import toolset
from fourhands.core.call import Actor
from fourhands.core.event import Event
from fourhands.core.registry import Contribution
from fourhands.core.short_schema import arguments as input_schema
from fourhands.core.short_schema import results as output_schema
from fourhands.surfaces.mcp.clients import McpClient
from fourhands.surfaces.mcp.limits import McpLimits
from fourhands.surfaces.mcp.notifications import Notifications
from fourhands.surfaces.server import ServerLimits, serving
from fourhands.workbench.workbench import Workbench

# The newest revision has other ways to do these, and the client says so.
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")

FILE = "fourhands://file/{+path}{?startLine,endLine,offset,limit}"
TERMINAL = "fourhands://terminal/{terminalId}{?since,lines}"


class Heard:
    """Notifications of a client, by their method."""

    def __init__(self) -> None:
        self.all: list[tuple[str, Any]] = []
        self._more = asyncio.Event()

    async def __call__(self, notice: Any) -> None:
        self.all.append((getattr(notice, "method", ""), getattr(notice, "params", None)))
        self._more.set()

    async def until(self, method: str, **params: object) -> Any:
        """The parameters of the first one like this."""
        async with asyncio.timeout(40):
            while True:
                for heard, found in self.all:
                    if heard == method and all(getattr(found, name) == value for name, value in params.items()):
                        return found
                self._more.clear()
                await self._more.wait()


def watched(app: App) -> int:
    """Count the listeners to events: each watched resource has one."""
    return len(app.events.published)


# -- resources that are watched -------------------------------------------------------------------------------------


async def test_a_watched_terminal_is_told_when_it_prints(app: App) -> None:
    heard = Heard()
    terminal = await app.terminals.create(argv=["cat"])
    uri = f"fourhands://terminal/{terminal.id}"
    async with connected(app, message_handler=heard) as client:
        before = watched(app)
        await client.subscribe_resource(uri)
        await client.subscribe_resource(uri)  # twice is once
        assert watched(app) == before + 1
        await terminal.type("hello\n")
        await heard.until("notifications/resources/updated", uri=uri)
        await client.unsubscribe_resource(uri)
        await client.unsubscribe_resource(uri)
        assert watched(app) == before


async def test_watched_files_and_instructions_are_told_when_they_change(app: App) -> None:
    heard = Heard()
    async with connected(app, message_handler=heard) as client:
        await client.subscribe_resource("fourhands://file/a.txt")
        await client.subscribe_resource("fourhands://file/b.txt")
        await client.subscribe_resource("fourhands://instructions")
        await app.call("openspace.file.write", {"path": "a.txt", "content": "x"})
        await heard.until("notifications/resources/updated", uri="fourhands://file/a.txt")
        await app.call("openspace.editor.open", {"path": "a.txt"})
        await heard.until("notifications/resources/updated", uri="fourhands://instructions")
    assert not [params for _, params in heard.all if getattr(params, "uri", "") == "fourhands://file/b.txt"]


async def test_a_newer_client_hears_of_what_its_stream_watches(app: App) -> None:
    terminal = await app.terminals.create(argv=["cat"])
    uri = f"fourhands://terminal/{terminal.id}"
    before = watched(app)
    async with connected(app, "auto") as client:
        inside = watched(app)
        async with asyncio.timeout(40), client.listen(resource_subscriptions=[uri]) as news:
            assert watched(app) == inside + 1
            await terminal.type("hello\n")
            assert (await anext(aiter(news))).uri == uri  # type: ignore[union-attr]  # nothing else is asked for
        await until(lambda: watched(app) == inside, app)
    assert watched(app) == before


@both
async def test_over_http_clients_hear_of_what_they_watch(app: App, mode: Mode) -> None:
    terminal = await app.terminals.create(argv=["cat"])
    uri = f"fourhands://terminal/{terminal.id}"
    heard = Heard()
    async with contextlib.AsyncExitStack() as stack:
        running = await stack.enter_async_context(serving(app.bench, app.tasks, port=0, limits=ServerLimits(mcp=QUICK)))
        client = await stack.enter_async_context(over_http(running, person_token(running), mode, message_handler=heard))

        async def type_on() -> None:
            while True:  # what comes before the client's stream is open is not kept
                await terminal.type("hello\n")
                await asyncio.sleep(0.1)

        async with asyncio.timeout(40), asyncio.TaskGroup() as group:
            typing = group.create_task(type_on())
            if mode == "legacy":
                await client.subscribe_resource(uri)
                await heard.until("notifications/resources/updated", uri=uri)
            else:
                async with client.listen(resource_subscriptions=[uri]) as news:
                    assert (await anext(aiter(news))).uri == uri  # type: ignore[union-attr]  # nothing else
            typing.cancel()


async def test_a_client_that_goes_watches_nothing_any_more(app: App) -> None:
    terminal = await app.terminals.create(argv=["cat"])
    before = watched(app)
    async with connected(app) as client:
        await client.subscribe_resource(f"fourhands://terminal/{terminal.title}")
        await client.subscribe_resource("fourhands://instructions")
        assert watched(app) > before + 2
    assert watched(app) == before


async def test_what_does_not_exist_cannot_be_watched(app: App) -> None:
    few = McpLimits(watched=2)
    async with connected(app, limits=few) as client:
        for uri in ("fourhands://terminal/none", "http://example.com", ""):
            with pytest.raises(MCPError) as caught:
                await client.subscribe_resource(uri)
            assert caught.value.error.code == -32602
            assert caught.value.error.data["uri"] == uri
        for name in "ab":
            await client.subscribe_resource(f"fourhands://file/{name}")
        with pytest.raises(MCPError, match="2 resources are watched already"):
            await client.subscribe_resource("fourhands://file/c")
    async with connected(app, "auto", limits=few) as client:
        with pytest.raises(MCPError, match="the limit of one stream is 2"):
            async with client.listen(resource_subscriptions=[f"fourhands://file/{name}" for name in "abc"]):
                pass
        with pytest.raises(MCPError, match="no resource"):
            async with client.listen(resource_subscriptions=["nothing://"]):
                pass


# -- lists ----------------------------------------------------------------------------------------------------------


async def test_clients_hear_of_new_resources_and_prompts(app: App) -> None:
    heard = Heard()
    async with connected(app, message_handler=heard) as client:
        capabilities = client.server_capabilities
        assert capabilities.resources is not None
        assert capabilities.prompts is not None
        assert capabilities.resources.subscribe
        assert capabilities.resources.list_changed
        assert capabilities.prompts.list_changed
        await app.terminals.create(argv=["cat"], title="new")
        await heard.until("notifications/resources/list_changed")
        app.registry.include(probes)
        await heard.until("notifications/prompts/list_changed")


async def test_a_newer_client_hears_of_new_resources_where_it_listens(app: App) -> None:
    async with (
        connected(app, "auto") as client,
        asyncio.timeout(40),
        client.listen(resources_list_changed=True) as news,
    ):
        await app.terminals.create(argv=["cat"], title="new")
        assert "Resources" in type(await anext(aiter(news))).__name__


@both
async def test_long_lists_come_in_pages(app: App, mode: Mode) -> None:
    async with connected(app, mode) as client:
        whole = [tool.name for tool in (await client.list_tools()).tools]
    async with connected(app, mode, limits=McpLimits(page=7)) as client:
        names, cursor = [], None
        while True:
            part = await client.list_tools(cursor=cursor)
            assert len(part.tools) <= 7
            names += [tool.name for tool in part.tools]
            cursor = part.next_cursor
            if cursor is None:
                break
        assert names == whole
        for bad in ("x", "", "from-", "from--1", "from-x", "from-99999999999"):
            with pytest.raises(MCPError, match="not a cursor of this server"):
                await client.list_tools(cursor=bad)
        assert not (await client.list_tools(cursor="from-100000")).tools


@both
async def test_open_files_are_listed_but_not_what_is_kept_from_agents(app: App, mode: Mode) -> None:
    for name in ("a b.py", ".env"):
        Path(app.bench.root, name).write_text("x")
        await app.call("openspace.editor.open", {"path": name})
    async with connected(app, mode) as client:
        found = {one.uri: one for one in (await client.list_resources()).resources}
        always = {"fourhands://instructions", "fourhands://instructions/project"}
        assert set(found) == {*always, "fourhands://file/a%20b.py"}
        assert found["fourhands://file/a%20b.py"].size == 1
        read = (await client.read_resource("fourhands://file/a%20b.py")).contents[0]
        assert read.mime_type == "text/x-python"
        with pytest.raises(MCPError):
            await client.read_resource("fourhands://file/.env")


# -- what happens ---------------------------------------------------------------------------------------------------


async def test_a_client_that_asks_hears_what_happens(app: App) -> None:
    heard: list[tuple[str, Any]] = []
    news = asyncio.Event()

    async def log(params: Any) -> None:
        heard.append((params.level, params.data))
        news.set()

    async with connected(app, logging_callback=log) as client:
        await client.call_tool("bash", {"command": "true"})
        assert not heard  # nobody asked
        await client.set_logging_level("info")
        await client.call_tool("bash", {"command": "true"})
        kinds = [told["kind"] for _, told in heard]
        assert kinds[0] == "call.started"
        assert "call.finished" in kinds  # before the answer itself
        heard.clear()
        await app.call("openspace.file.read", {"path": "none"}, actor=Actor.person())  # not this agent's business
        await app.call("openspace.editor.list")
        await app.terminals.create(argv=["cat"], title="theirs")
        async with asyncio.timeout(40):
            while not heard:
                news.clear()
                await news.wait()
        assert {told["kind"] for _, told in heard} <= {"terminal.created", "terminal.changed"}
        await client.set_logging_level("error")
        await client.list_tools()  # by now what was on its way has come
        heard.clear()
        await client.call_tool("openspace_file_read", {"path": "none"})
        assert [(level, told["kind"]) for level, told in heard] == [("error", "call.finished")]


async def test_neither_the_layout_nor_what_is_not_saved_is_told(app: App) -> None:
    told: list[Any] = []

    async def log(params: Any) -> None:
        told.append(params.data)

    Path(app.bench.root, "a.txt").write_text("x")
    async with connected(app, logging_callback=log) as client:
        await client.set_logging_level("debug")
        await app.call("openspace.editor.open", {"path": "a.txt"})
        await app.call("openspace.editor.set_draft", {"path": "a.txt", "text": "only-in-the-draft"})
        await client.call_tool("openspace_editor_list")
    assert told
    assert "only-in-the-draft" not in str(told)
    assert not {event["kind"] for event in told} & {"editor.opened", "editor.changed", "workbench.published"}


async def test_a_call_under_way_is_told_nothing_of_another_clients_call(app: App) -> None:
    app.registry.include(probes)
    holds.clear()
    ended.clear()
    told: list[dict[str, Any]] = []

    async def log(params: Any) -> None:
        told.append(params.data)

    async with connected(app, logging_callback=log) as one, connected(app, name="other") as two:
        await one.set_logging_level("debug")
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(one.call_tool("openspace_probe_hold", {"name": "quiet"}))
            await until(lambda: ended.get("quiet") == "running", app)
            data(await two.call_tool("openspace_file_list", {"path": "."}))
            holds["quiet"].set()
            data(await waiting)
    assert "openspace.probe.hold" in str(told)
    assert "openspace.file.list" not in str(told)


async def test_a_client_that_does_not_read_has_a_bounded_backlog(app: App) -> None:
    class Stuck:
        protocol_version = "2025-06-18"

        def __init__(self) -> None:
            self.got: list[object] = []
            self.reads = asyncio.Event()

        async def send_notification(self, notification: Any) -> None:
            self.got.append(notification.params.data["number"])
            await self.reads.wait()

    def tell(number: int) -> None:
        app.events.publish(Event(kind="terminal.changed", data={"number": number}))

    peer, stuck = McpClient(app.bench.begin_session("stuck", "mcp"), owned=True, speaks=False), Stuck()
    peer.level, peer.channel = "debug", stuck  # type: ignore[assignment]  # all that is used of one
    news = Notifications(app.bench, app.tasks, [peer], McpLimits(backlog=5))
    try:
        tell(0)
        await until(lambda: stuck.got == [0], app)
        for number in range(1, 20):
            tell(number)
        stuck.reads.set()
        await until(lambda: len(stuck.got) == 6, app)
        tell(20)
        await until(lambda: 20 in stuck.got, app)
        assert stuck.got == [0, 1, 2, 3, 4, 5, 20]
    finally:
        news.close()


# -- completion and prompts -----------------------------------------------------------------------------------------


@both
async def test_arguments_are_completed(app: App, mode: Mode) -> None:
    for path in ("src/app.py", "src/apple/x", "README.md"):
        Path(app.bench.root, path).parent.mkdir(parents=True, exist_ok=True)
        Path(app.bench.root, path).write_text("x")
    terminal = await app.terminals.create(argv=["cat"], title="build")

    async def complete(client: Client, ref: Any, name: str, value: str) -> list[str]:
        return (await client.complete(ref, {"name": name, "value": value})).completion.values

    async with connected(app, mode) as client:
        prompt, by_id = PromptReference(name="terminal"), ResourceTemplateReference(uri=TERMINAL)
        files = ResourceTemplateReference(uri=FILE)
        assert await complete(client, prompt, "terminal", "BU") == ["build"]
        assert await complete(client, by_id, "terminalId", terminal.id[:6]) == [terminal.id]
        assert await complete(client, by_id, "lines", "1") == []
        assert await complete(client, files, "path", "") == ["src/", "README.md"]
        assert await complete(client, files, "path", "src/ap") == ["src/apple/", "src/app.py"]
        assert await complete(client, files, "path", "nowhere/") == []
        assert await complete(client, files, "path", "../") == []
        for wrong in (PromptReference(name="no"), ResourceTemplateReference(uri="no://")):
            with pytest.raises(MCPError, match="no "):
                await complete(client, wrong, "x", "")


async def test_paths_are_not_completed_without_consent(app: App) -> None:
    Path(app.bench.root, "README.md").write_text("x")
    async with connected(app, consent=False) as client:
        done = await client.complete(ResourceTemplateReference(uri=FILE), {"name": "path", "value": ""})
        assert done.completion.values == []


class Colour(Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of a plugin's prompt."""

    colour: Literal["red", "green"]


class Said(Struct, frozen=True):
    """Messages."""

    messages: list[dict[str, Any]]


def plugin() -> Contribution:
    prompts = Contribution("openspace.prompt")

    @prompts.add("paint", read_only=True)
    async def paint(bench: Workbench, args: Colour) -> Said:
        """Paint it."""
        return Said([{"role": "user", "content": {"type": "text", "text": f"Paint it {args.colour}"}}])

    @prompts.add("broken", read_only=True)
    async def broken(bench: Workbench) -> Said:
        """Say nothing that is a message."""
        return Said([{"role": "nobody"}])

    return prompts


@both
async def test_a_plugins_prompt_is_a_prompt_and_no_tool(app: App, mode: Mode) -> None:
    app.registry.include(plugin())
    async with connected(app, mode) as client:
        found = {one.name: one for one in (await client.list_prompts()).prompts}
        [argument] = found["paint"].arguments or []
        assert (argument.name, argument.required) == ("colour", True)
        assert "paint" not in str([tool.name for tool in (await client.list_tools()).tools])
        ref = PromptReference(name="paint")
        assert (await client.complete(ref, {"name": "colour", "value": "g"})).completion.values == ["green"]
        assert "Paint it red" in str((await client.get_prompt("paint", {"colour": "red"})).messages)
        for name, args in (("paint", {"colour": "blue"}), ("paint", {}), ("broken", {})):
            with pytest.raises(MCPError):
                await client.get_prompt(name, args)


@both
async def test_a_terminal_as_a_prompt(app: App, mode: Mode) -> None:
    terminal = await app.terminals.create(argv=["echo", "it broke"], title="build")
    await terminal.wait(exit=True, deadline_s=40)
    person = Form(chosen("session"))
    async with connected(app, mode, consent=False, elicitation_callback=person) as client:
        got = await client.get_prompt("terminal", {"terminal": "build", "question": "Why?"})
        assert "it broke" in str(got.messages[0].content)
        assert "Why?" in str(got.messages[1].content)
        assert len(person.asked) == 1  # reading is a call
        for bad in ({}, {"terminal": "none"}, {"terminal": "build", "x": "y"}):
            with pytest.raises(MCPError) as caught:
                await client.get_prompt("terminal", bad)
            assert caught.value.error.code == -32602


@both
async def test_results_fit_the_schemas_that_were_promised(app: App, mode: Mode) -> None:
    """The official client checks each result against the tool's schema."""
    async with connected(app, mode, tools=["all"]) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        core = {tool.name for tool in toolset(app.registry)}
        assert {name for name, tool in tools.items() if not tool.output_schema} == core  # they return text
        assert "prefixItems" not in str([tool.output_schema for tool in tools.values()])
        made = data(await client.call_tool("openspace_terminal_create", {"title": "t"}))
        for name in ("openspace_pane_list", "openspace_terminal_list", "openspace_agent_list", "openspace_file_list"):
            data(await client.call_tool(name))
        gap = {"terminalId": made["terminalId"], "since": 0}
        data(await client.call_tool("openspace_terminal_read_output", gap))
        assert (await client.call_tool("openspace_file_read", {"path": "none"})).is_error


async def test_schemas_say_nothing_twice(app: App) -> None:
    waiting = input_schema(app.registry.get("openspace.terminal.wait"))
    assert waiting["properties"]["pattern"] == {  # type: ignore[index]  # a schema is an object of objects
        "type": "string",
        "description": "Until a line matches this regular expression (RE2 syntax; ^ and $ are a line's ends).",
    }
    assert {"$schema", "title", "description"}.isdisjoint(waiting)
    answered = output_schema(app.registry.get("openspace.terminal.wait"))
    assert answered is not None
    assert answered["properties"]["exitCode"] == {"type": ["integer", "null"]}  # type: ignore[index]  # the same


async def test_a_failure_fits_every_schema_and_so_does_every_example(app: App) -> None:
    failed = {"success": False, "error": "e", "code": "c", "hint": "", "data": {"accepted": []}}
    for command in app.registry:
        for draft in (jsonschema.Draft7Validator, jsonschema.Draft202012Validator):
            assert draft(output_schema(command)).is_valid(failed), command.id
            assert command.example is None or draft(input_schema(command)).is_valid(command.example), command.id


async def test_schemas_are_valid_in_both_drafts(app: App) -> None:
    for command in app.registry:
        for schema in (input_schema(command), output_schema(command)):
            assert schema is not None
            jsonschema.Draft202012Validator.check_schema(schema)
            jsonschema.Draft7Validator.check_schema({**schema, "$schema": ""})
    output = output_schema(app.registry.get("openspace.terminal.read_output"))
    good = {"success": True, "output": ["a"], "position": 3, "gap": [1, 2], "truncated": False, "blind": False}
    bad = {**good, "gap": ["x", 2]}
    for draft in (jsonschema.Draft7Validator, jsonschema.Draft202012Validator):
        assert draft(output).is_valid(good)
        assert draft(output).is_valid({"success": False, "error": "e", "code": "c", "hint": ""})
        assert not draft(output).is_valid(bad)
        assert not draft(output).is_valid({"success": True})
