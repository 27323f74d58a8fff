"""The configurations in docs/mcp.md are what clients read: they start this program or find its address.

That the real clients work with them is tested beside: `test_clients_attended.py`, `test_clients_unattended.py`.
"""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest

from fourhands.surfaces.mcp.command import mcp_command
from fourhands.surfaces.mcp.options import ClientOptions

PAGE = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text()
PLACES = {"mcpServers", "servers", "mcp", "mcp_servers"}
SNIPPETS: list[dict[str, Any]] = [
    *(json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)),
    *(tomllib.loads(text) for text in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)),
]


def servers() -> list[dict[str, Any]]:
    """Each server's own entry, whatever the client calls the place where it stands."""
    return [snippet[place]["fourhands"] for snippet in SNIPPETS for place in PLACES & set(snippet)]


def test_there_is_one_for_each_kind_of_client() -> None:
    assert {key for snippet in SNIPPETS for key in snippet} == {*PLACES, "permission", "features"}
    assert len(servers()) == len(SNIPPETS)


@pytest.mark.parametrize("server", [one for one in servers() if "command" in one])
def test_each_command_is_one_that_this_program_takes(server: dict[str, Any], tmp_path: Path) -> None:
    command = server["command"]
    words = command if isinstance(command, list) else [command, *server["args"]]
    program, verb, directory, *options = words
    assert (program, verb) == ("fourhands", "mcp")

    async def never(directory: str, options: ClientOptions) -> None:
        raise AssertionError

    given = [directory.replace("${workspaceFolder}", str(tmp_path)), *options]
    assert isinstance(mcp_command(never).make_context("mcp", given), click.Context)


def test_the_address_is_the_one_that_is_served() -> None:
    [server] = [one for one in servers() if "url" in one]
    assert server["url"] == "http://127.0.0.1:4404/mcp"
    assert server["headers"]["Authorization"].startswith("Bearer ")


def test_shell_examples_name_the_same_program() -> None:
    shell = " ".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL))
    assert "claude mcp add fourhands -- fourhands mcp ." in shell
    assert "claude mcp add --transport http fourhands http://127.0.0.1:4404/mcp" in shell
