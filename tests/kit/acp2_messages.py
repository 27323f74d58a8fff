"""What we send to an agent of ACP's version 2, held to the draft's schema: a small check of our own, by hand.

Of each request the members that must be there, and those that may; of the answers what they consist of.
"""

from collections.abc import Mapping
from typing import Any

Message = dict[str, Any]

_Members = dict[str, type]
_LIFE: tuple[_Members, _Members] = {"cwd": str}, {"mcpServers": list, "additionalDirectories": list}
REQUESTS: dict[str, tuple[_Members, _Members]] = {
    # The members of version 1 are for an agent that answers with it.
    "initialize": (
        {"protocolVersion": int, "info": dict, "capabilities": dict},
        {"clientInfo": dict, "clientCapabilities": dict},
    ),
    "auth/login": ({"methodId": str}, {}),
    "session/new": _LIFE,
    "session/resume": ({**_LIFE[0], "sessionId": str}, {**_LIFE[1], "replayFrom": dict}),
    "session/list": ({}, {"cwd": str, "cursor": str}),
    "session/close": ({"sessionId": str}, {}),
    "session/delete": ({"sessionId": str}, {}),
    "session/prompt": ({"sessionId": str, "prompt": list}, {}),
    "session/cancel": ({"sessionId": str}, {}),
    "session/set_config_option": ({"sessionId": str, "configId": str, "type": str, "value": object}, {}),
    "$/cancel_request": ({"requestId": object}, {}),
}
_ERROR = {"code", "message", "data"}


def check2(message: Message, asked: Mapping[object, str]) -> None:
    """Hold a message that we sent to the draft; `asked` has the methods of the agent's requests, by id."""
    assert message["jsonrpc"] == "2.0"
    assert len({"method", "result", "error"} & set(message)) == 1, message
    if "method" in message:
        needed, further = REQUESTS[message["method"]]
        params = message["params"]
        for name, value in params.items():
            kind = {**needed, **further}[name]
            assert isinstance(value, kind), (message["method"], name, value)
        assert needed.keys() <= params.keys(), message
        for server in params.get("mcpServers", ()):
            assert server["type"] in ("stdio", "http"), server
        assert params.get("replayFrom", {"type": "start"}) == {"type": "start"}
        assert ("id" in message) is (message["method"] not in ("session/cancel", "$/cancel_request"))
    elif "error" in message:
        assert message["error"].keys() <= _ERROR, message
        assert isinstance(message["error"]["code"], int), message
    elif asked.get(message["id"]) == "session/request_permission":
        outcome = message["result"]["outcome"]
        assert outcome["outcome"] in ("selected", "cancelled"), message
        assert ("optionId" in outcome) is (outcome["outcome"] == "selected"), message
    elif asked.get(message["id"]) == "elicitation/create":
        assert message["result"]["action"] in ("accept", "decline", "cancel"), message
        assert message["result"].keys() <= {"action", "content"}, message
