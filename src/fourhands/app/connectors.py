"""All connectors, made known to a launcher."""

from fourhands.agents.acp import connector as acp
from fourhands.agents.acp.catalogue import recipes
from fourhands.agents.acp.session import McpServers
from fourhands.agents.connectors import chat_model, tour
from fourhands.agents.connectors.launcher import Launcher, spec_kind
from fourhands.agents.opencode import connector as opencode
from fourhands.core.errors import NotFound

_NAMED_BY = ("tour", "http", "https", "anthropic", "opencode", "acp")


def check_spec(spec: str) -> None:
    """Raise `NotFound`, with the nearest, if no kind of agent has this name."""
    known = {*_NAMED_BY, *recipes()}
    if spec_kind(spec.strip()) not in known:
        raise NotFound.of("agent", spec[:200], known)


def register_all(launcher: Launcher, *, mcp_servers: McpServers | None = None) -> None:
    """Let the launcher start every kind of agent. ACP comes last: it leaves names to connectors of their own."""
    tour.register(launcher)
    chat_model.register(launcher)
    opencode.register(launcher, recipes()["opencode"].sandbox)
    acp.register(launcher, mcp_servers=mcp_servers)
