"""What a model pays for the workbench, by a real tokenizer: tools, instructions and results, each with its limit."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tests.kit.agree import agreeable_person
from tests.kit.mcp_client import over_http
from tests.kit.server import Served, serve_app
from tests.kit.tokens import TYPICAL, counted, lay_out, standing, typical_texts

from fourhands import Toolset

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAGE = " ".join((Path(__file__).parents[2] / "docs" / "mcp.md").read_text().split())


def documented(pattern: str) -> int:
    """The number that the manual tells."""
    found = re.search(pattern, PAGE)
    assert found, f"docs/mcp.md does not tell {pattern}"
    return int(found[1].replace(",", ""))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served() -> AsyncIterator[Served]:
    async with serve_app() as served:
        lay_out(Path(served.places.workspace))
        yield served


async def test_the_core_tools_and_the_briefing_are_short_in_every_form(served: Served) -> None:
    async with (
        over_http(served.running, served.agent()[1], "legacy") as client,
        Toolset(served.places.workspace, places=served.places) as tools,
    ):
        told = await standing(client, served.app.registry, tools)
        assert [one["name"] for one in tools.anthropic()] == [one.name for one in (await client.list_tools()).tools]
    tokens = dict(zip([one.what for one in told], counted([one.text for one in told]), strict=True))
    assert {one.what: tokens[one.what] for one in told if not 0 < tokens[one.what] <= one.most} == {}
    large = ("tools, MCP", "tools, OpenAI", "tools, Anthropic", "instructions with blocks")
    assert all(tokens[what] > 1000 for what in large), tokens
    for name, number in ((name, tokens[f"tools, {name}"]) for name in ("MCP", "OpenAI", "Anthropic")):
        assert abs(documented(rf"about ([\d,]+) tokens for {name}") - number) <= 50, (name, number)


async def test_typical_results_cost_what_they_must(served: Served) -> None:
    _, token = served.agent()
    with agreeable_person(served.app):
        async with over_http(served.running, token, "legacy") as client:
            texts = await typical_texts(client)
    for one, number in zip(TYPICAL, counted(texts), strict=True):
        assert number <= one.most, (one.what, number)
        if one.what in ("echo hi", "seq 1 3000"):
            told = documented(rf"`{one.what}`[^`]{{1,60}} about ([\d,]+) tokens")
            assert abs(told - number) <= max(1, number // 100), (one.what, number)
    assert "test_of_three" in texts[1]
    assert texts[1].split("\n")[-1].startswith("exit 1")
    assert texts[3].endswith("\nlines 241–480 of 720 (more: read from 481)")


ONCE: list[tuple[str, dict[str, Any], list[str]]] = [
    ("bash", {"command": "echo fi''rst; echo sec''ond >&2; exit 3"}, ["first", "second", "exit 3"]),
    ("bash", {"command": "for n in {1000..4000}; do echo n$n; done"}, ["n1000", "n1007", "n3999", "4000", "of 3001"]),
    ("terminal_start", {"command": "echo thi''rd; read x; echo four''th $x; read y"}, ["third", "{id}"]),
    ("terminal_continue", {"sessionId": "{id}", "stdin": "fi''fth\n"}, ["fourth", "{id}"]),
    ("terminal_list", {}, ["{id}"]),
    ("terminal_stop", {"sessionId": "{id}"}, ["{id}"]),
    ("write", {"path": "once.txt", "content": "alpha\nbeta\n"}, ["once.txt"]),
    ("edit", {"path": "once.txt", "edits": [{"old": "beta", "new": "gamma"}]}, ["once.txt", "line 2"]),
    ("read", {"path": "once.txt"}, ["alpha", "gamma", "2 lines"]),
    ("search", {"query": "gamma"}, ["once.txt", "gamma"]),
    ("search", {"query": "once"}, ["once.txt"]),
    ("show", {"path": "once.txt", "line": 2, "highlight": True}, ["once.txt"]),
]
"""Calls of all the core tools, with what each result must have exactly once, wherever it is sent."""


async def test_no_result_tells_anything_twice(served: Served) -> None:
    _, token = served.agent()
    id = ""
    with agreeable_person(served.app):
        async with over_http(served.running, token, "legacy") as client:
            core = {tool.name for tool in (await client.list_tools()).tools}
            for tool, args, parts in ONCE:
                given = {
                    name: value.replace("{id}", id) if isinstance(value, str) else value for name, value in args.items()
                }
                done = await client.call_tool(tool, given)
                sent = done.model_dump_json(by_alias=True, exclude_none=True)
                assert not done.is_error, sent[:500]
                id = (re.findall("term_[0-9A-Z]{4}", sent) or [id])[0]
                for part in parts:
                    assert sent.count(part.replace("{id}", id)) == 1, (tool, part, sent[:500])
    assert core == {tool for tool, _, _ in ONCE}
