"""What MCP clients read: files, terminals, the instructions, prompts."""

import base64
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp_types import (
    BlobResourceContents,
)
from tests.kit.mcp_client import (
    Form,
    Hold,
    Mode,
    both,
    chosen,
    connected,
    data,
)

from fourhands.app import App
from fourhands.core.errors import NotFound
from fourhands.core.registry import Contribution, Registry
from fourhands.surfaces.mcp.resources import reading, templates
from fourhands.workbench.workbench import Workbench


@both
async def test_resources_are_files_terminals_and_the_instructions(app: App, mode: Mode) -> None:
    Path(app.bench.root, "dir").mkdir()
    Path(app.bench.root, "dir", "a b.txt").write_text("hello\n")
    async with connected(app, mode) as client:
        await client.call_tool("openspace_terminal_create", {"title": "build"})
        await client.call_tool("openspace_terminal_wait", {"terminalId": "build", "inputWanted": True})
        sent = data(
            await client.call_tool("openspace_terminal_send", {"terminalId": "build", "text": "echo $((6*7))\n"})
        )
        wait = {"terminalId": "build", "pattern": "42", "since": sent["position"]}
        await client.call_tool("openspace_terminal_wait", wait)
        listed = {one.name: one.uri for one in (await client.list_resources()).resources}
        assert set(listed) == {"instructions", "project", "build"}
        templates = [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
        assert templates == [
            "fourhands://file/{+path}{?startLine,endLine,offset,limit}",
            "fourhands://instructions/project{?directory}",
            "skill://{name}/{+path}",
            "fourhands://terminal/{terminalId}{?since,lines}",
            "fourhands://output/{outputId}{?offset,limit}",
        ]

        async def read(uri: str) -> Any:
            return (await client.read_resource(uri)).contents[0]

        assert "build" in (await read("fourhands://instructions")).text
        assert (await read("fourhands://file/dir/a%20b.txt")).text == "hello\n"
        part = await read(f"{listed['build']}?since={sent['position']}")
        assert "42" in part.text
        later = await read(f"{listed['build']}?since={part.meta['fourhands/position']}")
        assert "42" not in later.text
        assert len((await read(f"{listed['build']}?lines=1")).text.splitlines()) <= 1


@both
async def test_a_file_that_is_no_text_is_a_blob(app: App, mode: Mode) -> None:
    picture = b"\x89PNG\r\n\x1a\n\0\0\1"
    for name, size in (("a.png", 1), ("unknown", 1), ("large.png", 100_000)):
        Path(app.bench.root, name).write_bytes(picture * size)
    async with connected(app, mode) as client:
        for name, kind in (("a.png", "image/png"), ("unknown", "application/octet-stream")):
            [found] = (await client.read_resource(f"fourhands://file/{name}")).contents
            assert isinstance(found, BlobResourceContents)
            assert (base64.b64decode(found.blob), found.mime_type) == (picture, kind)
        with pytest.raises(MCPError, match="1100000 bytes, and at most 1048576"):
            await client.read_resource("fourhands://file/large.png")
        refused = await client.call_tool("openspace_file_read", {"path": "a.png"})
        assert refused.structured_content["code"] == "bad-argument"


@both
async def test_a_bad_resource_is_a_clear_error(app: App, mode: Mode) -> None:
    async with connected(app, mode) as client:
        for uri in BAD:
            with pytest.raises(MCPError) as caught:
                await client.read_resource(uri)
            assert caught.value.error.code == -32602, uri


BAD = (
    "fourhands://file/none.txt",
    "fourhands://file/../outside",
    "fourhands://file/",
    "fourhands://terminal/none",
    "fourhands://terminal/x?since=-1",
    "fourhands://terminal/x?since=",
    "file:///etc/passwd",
    "http://[",
    "",
)


@both
async def test_reading_a_resource_asks_for_consent_too(app: App, mode: Mode) -> None:
    Path(app.bench.root, "a.txt").write_text("hello\n")
    person = Form(chosen("session"))
    async with connected(app, mode, consent=False, elicitation_callback=person) as client:
        assert "hello" in str(await client.read_resource("fourhands://file/a.txt"))
    assert len(person.asked) == 1


async def test_a_terminal_is_read_from_a_position(app: App) -> None:
    assert reading(app.registry, "fourhands://terminal/t%201?since=7&lines=3") == (
        "openspace.terminal.read_output",
        {"terminalId": "t 1", "since": 7, "lines": 3},
    )


@both
async def test_the_prompt_is_the_instructions(app: App, mode: Mode) -> None:
    async with connected(app, mode) as client:
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["workbench", "terminal", "project"]
        got = await client.get_prompt("workbench")
        assert "openspace" in str(got.messages[0].content)
        with pytest.raises(MCPError, match="prompts here: project, terminal, workbench"):
            await client.get_prompt("other")


def test_what_only_the_person_may_read_is_no_resource() -> None:
    private = Contribution("openspace.private")

    @private.add("diary", read_only=True, actors=("person",), uri="fourhands://diary")
    async def diary(bench: Workbench, args: Hold) -> None:
        """Read the person's diary."""

    registry = Registry()
    registry.include(private)
    with pytest.raises(NotFound):
        reading(registry, "fourhands://diary")
    assert templates(registry) == []
