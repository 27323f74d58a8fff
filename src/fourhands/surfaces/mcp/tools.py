"""The tools of one client in MCP's form: names, schemas, annotations, and results."""

from collections.abc import Sequence

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations

from fourhands.commands.toolset import ALL, command_of, result_text, spec, tools_of
from fourhands.core import short_schema
from fourhands.core.call import Result
from fourhands.core.registry import Command, Registry
from fourhands.surfaces.mcp.formats import blocks, plain


class Tools:
    """The tools that agents may use, kept until the registry changes."""

    def __init__(self, registry: Registry, wanted: Sequence[str] = (ALL,)) -> None:
        self._registry = registry
        self._wanted = tuple(wanted)
        self._tools: dict[str, Tool] | None = None
        self._dispose = registry.changed.subscribe(lambda _: self._forget())

    def close(self) -> None:
        """Listen no longer."""
        self._dispose()

    def list(self) -> list[Tool]:
        """Every tool that was wanted, those of the core set first."""
        return list(self._known().values())

    def command_id(self, name: str) -> str:
        """Return the command behind a tool. Ids and tools of the person are accepted too: the gate decides."""
        return command_of(self._registry, name)

    def result(self, id: str, result: Result) -> CallToolResult:
        """Return the result of a command in MCP's form."""
        return tool_result(result, self._registry.get(id) if id in self._registry else None)

    def input_schema(self, name: str) -> dict[str, object] | None:
        """Return a tool's arguments as JSON Schema; None if there is no such tool."""
        tool = self._known().get(name)
        return None if tool is None else tool.input_schema

    def _known(self) -> dict[str, Tool]:
        if self._tools is None:
            self._tools = {tool.name: tool for tool in map(_tool, tools_of(self._registry, self._wanted))}
        return self._tools

    def _forget(self) -> None:
        self._tools = None


def _tool(command: Command) -> Tool:
    told = spec(command)
    return Tool(
        name=told.name,
        title=command.label,
        description=told.description,
        input_schema=told.parameters if command.core else short_schema.arguments(command),
        output_schema=short_schema.results(command),
        annotations=ToolAnnotations(read_only_hint=told.read_only, destructive_hint=told.destructive),
    )


def tool_result(result: Result, command: Command | None = None) -> CallToolResult:
    """Return a result as structured data and as text; a failure is a tool error, which the model may read."""
    wire = plain(result.to_wire())
    if result.success:
        if (content := blocks(wire.get("content"))) is not None:
            return CallToolResult(content=content)
        if command is not None and command.id.startswith("openspace.tool."):
            wire.pop("text", None)
    text = result_text(command, result)
    return CallToolResult(content=[TextContent(text=text)], structured_content=wire, is_error=not result.success)
