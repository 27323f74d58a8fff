"""Version 2 of ACP, a draft, as version 1: what the other side asks and answers, in the words that the rest knows.

Written to schema/v2 of the repository agentclientprotocol/agent-client-protocol, August 2026. Nothing here knows the
workbench. Gone in version 2, and so never offered: fs/*, terminal/* and modes, which are options now.
"""

import logging
from collections.abc import Mapping
from typing import Any, Final

from fourhands.agents.acp.version2_updates import UpdatesOfVersion2, option

log = logging.getLogger(__name__)

_RENAMED: Final = {"authenticate": "auth/login", "session/load": "session/resume"}
_OPENING: Final = ("session/new", "session/load", "session/resume")


class Version2:
    """One connection to an agent that speaks version 2."""

    def __init__(self, name: str) -> None:
        self.updates = UpdatesOfVersion2(name)
        self._name = name
        self._transports: frozenset[str] = frozenset()

    # -- the beginning ---------------------------------------------------------------------------------------------

    @staticmethod
    def introduced(params: Mapping[str, Any]) -> dict[str, object]:
        """Return the params of initialize in the words of both versions."""
        offered = params.get("clientCapabilities", {})
        kept = {name: offered[name] for name in ("elicitation",) if name in offered}
        return {**params, "info": params.get("clientInfo"), "capabilities": kept}

    def introduction(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Return an agent's answer to initialize in words of version 1."""
        found = _object(_object(answer.get("capabilities")).get("session"))
        mcp = _object(found.get("mcp"))
        self._transports = frozenset(name for name in ("stdio", "http") if mcp.get(name) is not None)
        session: dict[str, object] = {"list": {}, "resume": {}, "close": {}}
        session |= {name: found[name] for name in ("delete", "additionalDirectories") if found.get(name) is not None}
        methods = answer.get("authMethods")
        return {
            "protocolVersion": 1,
            "agentInfo": answer.get("info"),
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {
                    name: True for name, how in _object(found.get("prompt")).items() if how is not None
                },
                "mcpCapabilities": {"http": "http" in self._transports, "sse": False},
                "sessionCapabilities": session,
            },
            # Methods of other types are not begun by auth/login, or need a terminal, which is not offered.
            "authMethods": [
                {**one, "id": one.get("methodId")}
                for one in (methods if isinstance(methods, list) else [])
                if isinstance(one, dict) and one.get("type") == "agent"
            ],
        }

    # -- requests --------------------------------------------------------------------------------------------------

    def request(self, method: str, params: Mapping[str, Any]) -> tuple[str, dict[str, object]]:
        """Return one of our requests in words of version 2."""
        changed = dict(params)
        if method in _OPENING:
            changed["mcpServers"] = self._servers(params.get("mcpServers", ()))
        if method == "session/load":
            changed["replayFrom"] = {"type": "start"}
        elif method == "session/set_config_option":
            changed.setdefault("type", "id")
        return _RENAMED.get(method, method), changed

    def _servers(self, servers: Any) -> list[dict[str, Any]]:
        """Return the MCP servers that the agent can use, each with the type of its transport."""
        typed = [{"type": "stdio", **one} for one in servers]
        for one in typed:
            if one["type"] not in self._transports:
                log.info("%s cannot use the MCP server %.100r: %.20s", self._name, one.get("name"), one["type"])
        return [one for one in typed if one["type"] in self._transports]

    def answer(self, answer: Any) -> Any:
        """Return the answer to one of our requests in words of version 1."""
        if not isinstance(answer, dict) or not isinstance(answer.get("configOptions"), list):
            return answer
        return {**answer, "configOptions": [option(one) for one in answer["configOptions"]]}

    # -- permissions -----------------------------------------------------------------------------------------------

    @staticmethod
    def about_step(params: Mapping[str, Any]) -> bool:
        """Return True if a permission is asked for a tool call, of which the request then tells what is new."""
        return _object(params.get("subject")).get("type") == "tool_call"

    @staticmethod
    def permission(params: Mapping[str, Any]) -> dict[str, Any]:
        """Return a request for a permission in words of version 1; what has no subject is a tool call without one."""
        subject = _object(params.get("subject"))
        step: dict[str, Any] = {}
        if subject.get("type") == "tool_call":
            step = _object(subject.get("toolCall"))
        elif subject.get("type") == "command":
            line = {name: subject[name] for name in ("command", "cwd") if isinstance(subject.get(name), str)}
            step = {"kind": "execute", "rawInput": line}
            if isinstance(id := subject.get("toolCallId"), str):
                step["toolCallId"] = id
        return {**params, "toolCall": step}


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
