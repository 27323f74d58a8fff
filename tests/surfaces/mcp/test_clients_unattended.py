"""The real MCP clients with nobody there, set up by the recipes of docs/mcp.md for CI: what their model reads."""

import pytest
from tests.kit.counterparts.mcp_clients import CLIENTS, McpClient, run

OWN = {
    "bash",
    "edit",
    "write",
    "Bash",
    "Edit",
    "Write",
    "exec_command",
    "apply_patch",
    "run_shell_command",
    "write_file",
}
"""Tools of the clients themselves by which a model would get round the sandbox."""


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
async def test_in_ci_all_errands_are_run_and_what_is_dangerous_is_refused_at_once_with_the_reason(
    client: McpClient,
) -> None:
    report = await run(client, attended=False)
    assert report.problems == {}
    ours = set() if client.programs else OWN  # the Python client has no others
    assert [request.offered & OWN - ours for request in report.errands.requests if request.offered & OWN - ours] == []
