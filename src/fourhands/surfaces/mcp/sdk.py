"""The extra `mcp`: there, or an error that says how to get it."""

import importlib.util

from fourhands.core.errors import Unavailable


def has_sdk() -> bool:
    """Whether the MCP SDK is installed."""
    return importlib.util.find_spec("mcp") is not None and importlib.util.find_spec("mcp_types") is not None


def require_sdk() -> None:
    """Refuse what needs the MCP SDK where it is not installed."""
    if not has_sdk():
        raise Unavailable("the MCP SDK is not installed", hint="install it: pip install 'fourhands[mcp]'")
