"""MCP: the registry's commands as tools for programs that speak the Model Context Protocol.

Several clients at once are several agents. The SDK is an extra and heavy: the files of the command line (`command`,
`options`, `link`) and of the ways in (`routes`, `pipe`, `greeting`, `terms`, `kept_tasks`) import nothing of it until a
client comes; the others may.
"""

import importlib.util

from fourhands.core.errors import Unavailable


def has_sdk() -> bool:
    """Return True if the MCP SDK is installed."""
    return importlib.util.find_spec("mcp") is not None and importlib.util.find_spec("mcp_types") is not None


def require_sdk() -> None:
    """Raise `Unavailable` if the MCP SDK is not installed."""
    if not has_sdk():
        raise Unavailable("the MCP SDK is not installed", hint="install it: pip install 'fourhands[mcp]'")
