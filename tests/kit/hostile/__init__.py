"""Every way in, for one hostile story: see `tests/surfaces/test_hostile.py`."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from tests.kit.hostile.acp import acp_client_door, acp_server_door
from tests.kit.hostile.mcp import mcp_door
from tests.kit.hostile.models import block_door, proxy_door
from tests.kit.hostile.network import http_door, socket_door
from tests.kit.hostile.stage import Door, Puppet, Stage, as_text, seen_by_person

__all__ = ["DOORS", "Door", "Puppet", "Stage", "as_text", "seen_by_person"]

Opened = AbstractAsyncContextManager[Door]
DOORS: dict[str, Callable[[Stage], Opened]] = {
    "HTTP": http_door,
    "WebSocket": socket_door,
    "MCP over HTTP": lambda stage: mcp_door(stage, "legacy", pipes=False),
    "MCP over HTTP, newer": lambda stage: mcp_door(stage, "auto", pipes=False),
    "MCP on pipes": lambda stage: mcp_door(stage, "legacy", pipes=True),
    "MCP on pipes, newer": lambda stage: mcp_door(stage, "auto", pipes=True),
    "ACP client": acp_client_door,
    "ACP server": acp_server_door,
    "blocks": block_door,
    "proxy": proxy_door,
}
