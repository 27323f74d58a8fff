"""Tokens as a model's own tokenizer counts them (o200k_base): what tools, instructions and results cost in a request.

The vocabulary comes from npm, with its version locked in `tests/tokens-npm`; nothing is fetched when texts are counted.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client
from tests.kit.mcp_client import text
from tests.kit.npm_agents import installed

from fourhands import Toolset
from fourhands.agents.briefing.briefing import compose
from fourhands.agents.briefing.budget import BRIEFING_TOKENS
from fourhands.core.registry import Registry

HOME = Path(__file__).parent.parent / "tokens-npm"
COUNT_S = 60


def counted(texts: Sequence[str]) -> list[int]:
    """The number of tokens of each text, all by one run of the tokenizer."""
    installed(HOME / "node_modules" / "gpt-tokenizer" / "package.json", HOME)
    done = subprocess.run(
        [shutil.which("node") or "node", str(HOME / "count.mjs")],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        timeout=COUNT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-500:]
    numbers: list[int] = json.loads(done.stdout)
    return numbers


def compact(value: object) -> str:
    """JSON as it is sent to a model."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


async def tool_list(client: Client) -> tuple[int, str]:
    """How many tools a server lists, and what hosts put of them into each request: names, descriptions, schemas."""
    tools = (await client.list_tools()).tools
    told = [{"name": one.name, "description": one.description, "inputSchema": one.input_schema} for one in tools]
    return len(tools), compact(told)


@dataclass(frozen=True)
class Standing:
    """What stands in every request of a model, and the most tokens that it may be."""

    what: str
    text: str
    most: int


TOOLS_TOKENS = 2_500


async def standing(client: Client, registry: Registry, tools: Toolset) -> list[Standing]:
    """The core tools in each form in which a model gets them, and the instructions for each kind of agent."""
    listed = (await client.list_tools()).model_dump(mode="json", by_alias=True, exclude_none=True)["tools"]
    lists = {
        "tools, MCP": listed,
        "tools, OpenAI": tools.openai(),
        "tools, OpenAI's responses": tools.openai(responses=True),
        "tools, Anthropic": tools.anthropic(),
    }
    return [
        *(Standing(what, compact(one), TOOLS_TOKENS) for what, one in lists.items()),
        Standing("instructions with blocks", compose(registry, tools=False), BRIEFING_TOKENS),
        Standing("instructions beside tools", compose(registry, tools=True), 500),
        Standing("instructions, MCP", client.instructions or "", 100),
    ]


@dataclass(frozen=True)
class Typical:
    """A typical call of a tool, and the most tokens that a model reads of its result."""

    what: str
    tool: str
    args: dict[str, Any]
    most: int


TYPICAL = [
    Typical("echo hi", "bash", {"command": "echo hi"}, 7),
    Typical(
        "a failing pytest", "bash", {"command": f"{sys.executable} -m pytest -q -p no:cacheprovider -p no:asyncio"}, 170
    ),
    Typical("seq 1 3000", "bash", {"command": "seq 1 3000"}, 5724),
    Typical("240 lines of a file", "read", {"path": "src/area.py", "from": 241, "limit": 240}, 1040),
    Typical("a search", "search", {"query": "def area_17"}, 130),
]
"""What is measured everywhere; `lay_out` makes the files for it."""


def lay_out(root: Path) -> None:
    """Make the files of the typical calls."""
    (root / "src").mkdir()
    (root / "src" / "area.py").write_text(
        "".join(f"def area_{n}(a, b):\n    return a * b + {n}\n\n\n" for n in range(1, 181))
    )
    (root / "test_area.py").write_text(
        "from src.area import area_3\n\n\ndef test_of_three():\n    assert area_3(2, 4) == 12\n\n\n"
        "def test_of_none():\n    assert area_3(0, 0) == 3\n"
    )


async def typical_texts(client: Client) -> list[str]:
    """What a model reads of each typical call, through MCP."""
    texts: list[str] = []
    for one in TYPICAL:
        done = await client.call_tool(one.tool, one.args)
        assert not done.is_error, text(done)
        texts.append(text(done))
    return texts
