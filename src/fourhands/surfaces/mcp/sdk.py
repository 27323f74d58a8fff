"""The extra `mcp`: there, or an error that says how to get it."""

import importlib.util

from fourhands.core.errors import Unavailable


def require_sdk() -> None:
    """Refuse what needs the MCP SDK where it is not installed."""
    if importlib.util.find_spec("mcp") is None or importlib.util.find_spec("mcp_types") is None:
        raise Unavailable("the MCP SDK is not installed", hint="install it: pip install 'fourhands[mcp]'")
