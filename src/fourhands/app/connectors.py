"""All connectors, made known to a launcher."""

from fourhands.agents.acp import connector as acp
from fourhands.agents.acp.catalogue import recipes
from fourhands.agents.acp.session import McpServers
from fourhands.agents.connectors import chat_model, tour
from fourhands.agents.connectors.launcher import Launcher
from fourhands.agents.opencode import connector as opencode


def register_all(launcher: Launcher, *, mcp_servers: McpServers | None = None) -> None:
    """Let the launcher start every kind of agent. ACP comes last: it leaves names to connectors of their own."""
    tour.register(launcher)
    chat_model.register(launcher)
    opencode.register(launcher, recipes()["opencode"].sandbox)
    acp.register(launcher, mcp_servers=mcp_servers)
