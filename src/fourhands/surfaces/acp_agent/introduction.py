"""The answer to an editor's `initialize`: what is served, whichever agent it will be."""

from typing import Any

import fourhands
from fourhands.agents.acp.jsonrpc import INVALID_PARAMS, RpcError

PROTOCOL_VERSION = 1

CAPABILITIES: dict[str, object] = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
    "mcpCapabilities": {"http": True, "sse": True},
    "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}, "additionalDirectories": {}},
}


def introduction(params: dict[str, Any], spec: str) -> dict[str, object]:
    """Return the answer to `initialize`, which needs no workbench yet."""
    version = params.get("protocolVersion")
    if isinstance(version, bool) or not isinstance(version, int):
        raise RpcError(INVALID_PARAMS, f"protocolVersion must be a whole number, not {version!r:.100}")
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentCapabilities": CAPABILITIES,
        "authMethods": [],  # those of the agent, which is not started yet: they come with the error -32000
        "agentInfo": {"name": "fourhands", "title": f"Fourhands: {spec}", "version": fourhands.__version__},
    }
