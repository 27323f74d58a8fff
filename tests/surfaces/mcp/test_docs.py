"""The configurations in docs/mcp.md are what clients read: valid JSON that starts this program or finds its address."""

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest

from fourhands.surfaces.mcp.command import mcp_command
from fourhands.surfaces.mcp.options import ClientOptions

PAGE = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text()
SNIPPETS: list[dict[str, Any]] = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]


def servers() -> list[dict[str, Any]]:
    """Each server's own entry, whatever the client calls the place where it stands."""
    return [server for snippet in SNIPPETS for place in snippet.values() for server in place.values()]


def test_there_is_one_for_each_kind_of_client() -> None:
    assert {key for snippet in SNIPPETS for key in snippet} == {"mcpServers", "servers", "mcp"}
    assert all(list(place) == ["fourhands"] for snippet in SNIPPETS for place in snippet.values())


@pytest.mark.parametrize("server", [one for one in servers() if "command" in one])
def test_each_command_is_one_that_this_program_takes(server: dict[str, Any], tmp_path: Path) -> None:
    command = server["command"]
    words = command if isinstance(command, list) else [command, *server["args"]]
    program, verb, directory = words
    assert (program, verb) == ("fourhands", "mcp")

    async def never(directory: str, options: ClientOptions) -> None:
        raise AssertionError

    context = mcp_command(never).make_context("mcp", [directory.replace("${workspaceFolder}", str(tmp_path))])
    assert isinstance(context, click.Context)


def test_the_address_is_the_one_that_is_served() -> None:
    [server] = [one for one in servers() if "url" in one]
    assert server["url"] == "http://127.0.0.1:4404/mcp"
    assert server["headers"]["Authorization"].startswith("Bearer ")


def test_shell_examples_name_the_same_program() -> None:
    shell = " ".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL))
    assert "claude mcp add fourhands -- fourhands mcp ." in shell
    assert "claude mcp add --transport http fourhands http://127.0.0.1:4404/mcp" in shell
