"""The tools of MCP clients: which each is given, and results in MCP's form.

The result of a core tool is text alone. Claude Code, Codex, OpenCode and VS Code give a model only the structured data
where there is any, others give it both, and some also what stands in `_meta`: so the fields go only to a program that
asks for them, by `fourhands/fields` in the `_meta` of its call.
"""

from collections.abc import Mapping, Sequence

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations, ToolExecution

from fourhands.commands.toolset import (
    ALL,
    BARE,
    CORE,
    command_of,
    is_tool,
    result_text,
    spec,
    tool_name,
    tools_of,
)
from fourhands.core import short_schema
from fourhands.core.call import Result
from fourhands.core.errors import NotFound
from fourhands.core.registry import Command, Registry
from fourhands.surfaces.mcp.formats import blocks, plain

FIELDS = "fourhands/fields"
"""The member of a call's `_meta` by which a program asks for the fields of a result, beside its text."""

WantedTools = Sequence[str] | None
"""The tools that a client may use: "core", "all", names. None: it is told of the core set, and may use all."""


class Tools:
    """The tools that agents may use, kept until the registry changes."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._lists: dict[tuple[WantedTools, bool], list[Tool]] = {}
        self._dispose = registry.changed.subscribe(lambda _: self._lists.clear())

    def close(self) -> None:
        """Listen no longer."""
        self._dispose()

    def list(self, wanted: WantedTools = None, *, tasks: bool = False) -> list[Tool]:
        """Every tool that is wanted, those of the core set first; one that has gone meanwhile is left out.

        `tasks` says of each that may take long that it can run as a task.
        """
        key = (None if wanted is None else tuple(wanted), tasks)
        if key not in self._lists:
            self._lists[key] = [_tool(command, tasks=tasks) for command in self._commands(key[0])]
        return self._lists[key]

    def command_id(self, name: str, wanted: WantedTools = None) -> str:
        """Return the command behind a tool: one of the wanted, if a list of them was made.

        Without a list, ids and tools of the person are accepted too: the gate decides.
        """
        return command_of(self._registry, name) if wanted is None else _among(name, self._commands(wanted))

    def result(self, id: str, result: Result, *, fields: bool = False) -> CallToolResult:
        """Return the result of a command in MCP's form, with its fields if they are asked for."""
        return tool_result(result, self._registry.get(id) if id in self._registry else None, fields=fields)

    def input_schema(self, name: str) -> dict[str, object] | None:
        """Return a tool's arguments as JSON Schema; None if there is no such tool."""
        for command in self._registry:
            if tool_name(command.id) == name and is_tool(command):
                return _input(command)
        return None

    def _commands(self, wanted: WantedTools) -> Sequence[Command]:
        if wanted is None:
            return tools_of(self._registry)
        there = {tool_name(one.id) for one in self._registry}
        return tools_of(self._registry, [name for name in wanted if name in (CORE, ALL) or tool_name(name) in there])


def named(query: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the tools that an address names, as in `/mcp?tools=core,openspace_pane_list`; None if it names none."""
    words = query.get("tools")
    return None if words is None else tuple(word for word in (part.strip() for part in words.split(",")) if word)


def asks_fields(meta: Mapping[str, object] | None) -> bool:
    """Return True if a call asks for the fields of its result."""
    return bool(meta) and meta is not None and meta.get(FIELDS) is True


def _among(name: str, commands: Sequence[Command]) -> str:
    known = {tool_name(one.id): one.id for one in commands}
    if (id := known.get(tool_name(name))) is None:
        raise NotFound.of("tool", name[:200], known)
    return id


def _input(command: Command) -> dict[str, object]:
    return spec(command).parameters if command.core else short_schema.arguments(command)


def _tool(command: Command, *, tasks: bool) -> Tool:
    told = spec(command)
    return Tool(
        name=told.name,
        title=command.label,
        description=told.description,
        input_schema=_input(command),
        output_schema=None if command.core else short_schema.results(command),
        annotations=ToolAnnotations(read_only_hint=told.read_only, destructive_hint=told.destructive),
        execution=ToolExecution(task_support="optional") if tasks and command.lasting else None,
    )


def tool_result(result: Result, command: Command | None = None, *, fields: bool = False) -> CallToolResult:
    """Return a result as text and, but for the core tools, as data; a failure is a tool error, which a model may read.

    `fields`: the data is sent of a core tool, too.
    """
    wire = plain(result.to_wire())
    if result.success:
        if (content := blocks(wire.get("content"))) is not None:
            return CallToolResult(content=content)
        if command is not None and command.id.startswith(BARE):
            wire.pop("text", None)
    text = TextContent(text=result_text(command, result))
    data = wire if fields or (command is not None and not command.core) else None
    return CallToolResult(content=[text], structured_content=data, is_error=not result.success)
