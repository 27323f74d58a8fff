"""The real MCP clients beside a workbench with a person at its page, set up by the recipes of docs/mcp.md."""

import pytest
from tests.kit.counterparts.mcp_clients import CLIENTS, AtThePage, McpClient, python_recipe, run
from tests.kit.program import Server, new_home


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
async def test_all_errands_are_run_and_the_page_asks_once_for_consent_and_once_for_what_is_dangerous(
    client: McpClient,
) -> None:
    report = await run(client, attended=True)
    assert report.problems == {}


@pytest.mark.slow
@pytest.mark.timeout(120)
async def test_the_program_of_the_manual_prints_what_its_command_printed() -> None:
    async with new_home(own_state=False) as home, Server(home), AtThePage(home).there() as person:
        assert "No commits yet" in await python_recipe(home)
        assert person.asked == ["consent"]
