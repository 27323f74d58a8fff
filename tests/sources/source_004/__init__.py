"""Source 004: ACP's terminal/create with all its parameters, and what follows from it.

The document has no ids of its own: these are made of its headings and of the names in its code.
"""

from typing import Any

from tests.sources.contract import Document

DOCUMENT = Document(
    "004",
    "ACP terminals",
    ids=(
        *("Signature", "Response"),
        *(f"Handler {number}" for number in range(1, 5)),
        *(f"Parameter {name}" for name in ("sessionId", "command", "args", "env", "cwd", "outputByteLimit")),
        *(f"Id {number}" for number in range(1, 5)),
        *(f"Process {number}" for number in range(1, 5)),
        *("TerminalCreateParams", "EnvVariable", "TerminalCreateResponse", "Notes", "apply_environment_variables"),
        *(f"Directory {number}" for number in range(1, 5)),
        *(f"Output {number}" for number in range(1, 5)),
        *(f"Error {number}" for number in range(1, 5)),
        *(f"Testing {number}" for number in range(1, 9)),
        *(f"Integration {number}" for number in range(1, 5)),
        *(f"Security {number}" for number in range(1, 5)),
        *(f"Acceptance {number}" for number in range(1, 11)),
        *("TerminalSession", "validate_session_id", "TerminalMethodHandler", "add_output", "Benefits", "Usage"),
    ),
)

PARAMS: dict[str, Any] = {
    "sessionId": "sess_abc123def456",
    "command": "npm",
    "args": ["test", "--coverage"],
    "env": [{"name": "NODE_ENV", "value": "test"}, {"name": "DEBUG", "value": "true"}],
    "cwd": "/home/user/project",
    "outputByteLimit": 1048576,
}
CREATE: dict[str, Any] = {"jsonrpc": "2.0", "id": 5, "method": "terminal/create", "params": PARAMS}

NPM = '#!/bin/sh\necho "npm $*" in "$(pwd)" with "$NODE_ENV" "$DEBUG"\n'
"""Stands in for the program that the document runs."""

ULID = "[0-9A-HJKMNP-TV-Z]{26}"
