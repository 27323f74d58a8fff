"""The registry as MCP tools: names, schemas, annotations, and results in MCP's form."""

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations

from fourhands.core.call import Result
from fourhands.core.errors import NotFound
from fourhands.core.registry import NAMESPACE, Command, Registry
from fourhands.surfaces.mcp.formats import blocks
from fourhands.surfaces.mcp.prompts import PREFIX as PROMPTS
from fourhands.surfaces.mcp.schemas import input_schema, output_schema
from fourhands.surfaces.mcp.words import json_text, plain

BARE = "openspace.tool."
"""Commands that models know by their last name alone, such as `bash`."""


def tool_name(id: str) -> str:
    """A command's name as a tool: models' interfaces refuse dots."""
    return id.removeprefix(BARE) if id.startswith(BARE) else id.replace(".", "_")


class Tools:
    """The tools that agents may use, kept until the registry changes."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._commands: dict[str, Command] = {}
        self._tools: list[Tool] | None = None
        self._dispose = registry.changed.subscribe(lambda _: self._forget())

    def close(self) -> None:
        """Listen no longer."""
        self._dispose()

    def list(self) -> list[Tool]:
        """Every tool, in the order of the commands' ids."""
        if self._tools is None:
            usable = (one for one in self._registry if "agent" in one.actors and not one.id.startswith(PROMPTS))
            self._commands = {tool_name(one.id): one for one in usable}
            self._tools = [_tool(name, command) for name, command in self._commands.items()]
        return self._tools

    def command_id(self, name: str) -> str:
        """The command behind a tool. An id is taken too, and a tool that is a person's: the gate has the last word."""
        self.list()
        if name.startswith(NAMESPACE):
            return name
        if name in self._commands:
            return self._commands[name].id
        for command in self._registry:
            if tool_name(command.id) == name:
                return command.id
        raise NotFound.of("tool", name[:200], self._commands)

    def input_schema(self, name: str) -> dict[str, object] | None:
        """A tool's arguments as JSON Schema, or None where there is no such tool."""
        self.list()
        command = self._commands.get(name)
        return None if command is None else input_schema(command)

    def _forget(self) -> None:
        self._tools = None


def _tool(name: str, command: Command) -> Tool:
    return Tool(
        name=name,
        title=command.label,
        description=command.description,
        input_schema=input_schema(command),
        output_schema=output_schema(command),
        annotations=ToolAnnotations(
            read_only_hint=command.read_only,
            # What is judged before it runs is judged because it can destroy.
            destructive_hint=command.destructive or (command.safety is not None and not command.read_only),
        ),
    )


def tool_result(result: Result, id: str = "") -> CallToolResult:
    """What came of a call: structured, and as text; a failure is a tool's error, which the model may read.

    The tools that models know have a text of their own, `text`: it is the text here, and not said once more beside it.
    """
    wire = plain(result.to_wire())
    if result.success:
        if (content := blocks(wire.get("content"))) is not None:
            return CallToolResult(content=content)
        own = wire.pop("text", None) if id.startswith(BARE) else None
        text = own if isinstance(own, str) and own else json_text(wire)
    else:
        hint = f"\nhint: {result.hint}" if result.hint else ""
        text = f"error: {result.error}\ncode: {result.code}{hint}"
    return CallToolResult(content=[TextContent(text=text)], structured_content=wire, is_error=not result.success)
