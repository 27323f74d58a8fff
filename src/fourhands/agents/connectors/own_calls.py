"""Calls of our own MCP server that an agent asks about before it makes them.

An agent that has our server knows its tools by names such as `mcp__fourhands__bash`. Its request for permission and the
verdict of our gate are one question: the call is assessed here as the gate will assess it, and what the person allows
is not asked about again when the very same call arrives there. The agent's words about it decide nothing: a request
is taken for such a call only if its arguments are the tool's, and what runs is what arrives at the gate.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from fourhands.commands.toolset import command_of
from fourhands.core import schema
from fourhands.core.call import Call, CallOrigin, Decision
from fourhands.core.errors import FourhandsError
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench

_LONGEST = 1_000_000
# The names that Claude Code, Gemini CLI and OpenCode make of the server's name and the tool's; others join them by one
# of these signs. Gemini's stand in front of the id of the call.
_TOOL = re.compile(r"(?:mcp__fourhands__|mcp_fourhands_|fourhands[_./])([a-z][a-z0-9_]*)")
_CODEX = re.compile(r"mcp\.fourhands\.([a-z][a-z0-9_]*)")
_STEP = re.compile(r"mcp_fourhands_([a-z][a-z0-9]*(?:_[a-z0-9]+)*)__.*", re.DOTALL)


class OwnCalls:
    """Those of one session's agent."""

    def __init__(self, bench: Workbench, session: Session) -> None:
        self._bench = bench
        self._session = session

    def of_step(self, step: Mapping[str, Any], origin: CallOrigin = "acp") -> Call | None:
        """Return the call that a tool call of ACP stands for; None if it is another tool's."""
        if (told := _told_by_codex(step)) is not None:
            return self._call(*told, origin)
        if step.get("kind") not in (None, "other"):
            return None
        named = _TOOL.fullmatch(str(step.get("title"))) or _STEP.fullmatch(str(step.get("toolCallId")))
        return None if named is None else self._call(named[1], _arguments(step), origin)

    def of_tool(self, tool: str, args: object, origin: CallOrigin = "acp") -> Call | None:
        """Return the call that a tool of this name and these arguments stands for; None if it is another tool's."""
        named = _TOOL.fullmatch(tool)
        return None if named is None else self._call(named[1], args, origin)

    def _call(self, tool: str, args: object, origin: CallOrigin) -> Call | None:
        if not isinstance(args, dict):
            return None
        call = Call(command=_id(self._bench, tool), args=args, actor=self._session.actor, origin=origin)
        try:
            command = self._bench.registry.get(call.command, call.actor.role)
            if command.args_type is not None:
                schema.decode(args, command.args_type)
        except FourhandsError:
            return None  # another server's tool, or a call that the gate will refuse
        return call if command.args_type is not None or not args else None

    async def permit(self, call: Call) -> Decision:
        """Return when the call may be made; a person is asked where the gate would ask. Raises what the gate would."""
        try:
            return await self._bench.gate.permit(call)
        finally:
            self._bench.rehearsals.pending.forget(call.id)


def _id(bench: Workbench, tool: str) -> str:
    try:
        return command_of(bench.registry, tool)
    except FourhandsError:
        return tool


def _told_by_codex(step: Mapping[str, Any]) -> tuple[str, object] | None:
    """Return tool and arguments of a call of ours as Codex tells it: as something to run, beside the server's name."""
    given = step.get("rawInput")
    if step.get("kind") != "execute" or not isinstance(given, dict) or set(given) != {"server", "tool", "arguments"}:
        return None
    named = _CODEX.fullmatch(str(step.get("title")))
    if named is None or (given["server"], given["tool"]) != ("fourhands", named[1]):
        return None
    return named[1], given["arguments"]


def _arguments(step: Mapping[str, Any]) -> object:
    """Return the arguments of a tool call: its input or, of an agent that sends none, the object that it shows."""
    given = step.get("rawInput")
    if given is not None:
        return given
    content = step.get("content")
    if not isinstance(content, list) or len(content) != 1:
        return None
    inner = content[0].get("content") if isinstance(content[0], dict) else None
    text = inner.get("text") if isinstance(inner, dict) else None
    if not isinstance(text, str) or len(text) > _LONGEST:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
