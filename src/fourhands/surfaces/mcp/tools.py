"""The registry as MCP tools: names, schemas, annotations, and results in MCP's form.

Some clients check schemas with the rules of draft 7, others with those of 2020-12: what these read differently is not
used.
"""

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations

from fourhands.core import schema
from fourhands.core.call import Result
from fourhands.core.errors import NotFound
from fourhands.core.registry import NAMESPACE, Command, Registry
from fourhands.core.schema import JsonSchema
from fourhands.surfaces.mcp.formats import blocks, json_text, plain
from fourhands.surfaces.mcp.prompts import PREFIX as PROMPTS

BARE = "openspace.tool."
"""Commands that models know by their last name alone, such as `bash`."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_FAILURE = ["error", "code", "hint"]
"""The members of every failure beside `success`: all texts. `data` may come with them."""


def tool_name(id: str) -> str:
    """Return a command's name as a tool; model APIs refuse dots."""
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
        """Return the command behind a tool. Ids and tools of the person are accepted too: the gate decides."""
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
        """Return a tool's arguments as JSON Schema; None if there is no such tool."""
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
    """Return a result as structured data and as text; a failure is a tool error, which the model may read.

    Tools that models know have a `text` of their own: it is the text here, and is not repeated in the data.
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


def input_schema(command: Command) -> JsonSchema:
    """Return the schema of a command's arguments; the command itself is described beside it."""
    shape = _short(schema.schema(command.args_type), out=False)
    shape.pop("description", None)
    # A word of this dialect alone; without it both drafts read the same.
    return {"$schema": DIALECT, **shape} if "$defs" in shape else shape


def output_schema(command: Command) -> JsonSchema | None:
    """Return the schema of a command's result, failures included; None if it is content rather than data."""
    shape = _short(schema.schema(command.result_type), out=True)
    members = _object(shape.get("properties", {}))
    if _object(members.get("content", {})).get("type") == "array":
        return None
    required = shape.get("required", [])
    whole: JsonSchema = {
        "type": "object",
        "properties": {"success": {"type": "boolean"}, **members},
        "required": ["success"],
    }
    if required:
        whole["anyOf"] = [{"required": required}, {"required": _FAILURE}]
    return {**whole, "$defs": shape["$defs"]} if "$defs" in shape else whole


def _object(value: object) -> JsonSchema:
    return value if isinstance(value, dict) else {}


def _short(shape: JsonSchema, *, out: bool) -> JsonSchema:
    """Return a shorter schema that both drafts read alike: a model pays for each word.

    `items: false` beside `prefixItems` forbids all in draft 7. What an argument is that may be left out is said
    without null; it is taken all the same. What comes out has no defaults.
    """
    short: JsonSchema = {}
    for word, value in shape.items():
        if word in ("properties", "$defs"):
            short[word] = {name: _short(_object(inner), out=out) for name, inner in _object(value).items()}
        elif word in ("anyOf", "prefixItems") and isinstance(value, list):
            short[word] = [_short(_object(inner), out=out) for inner in value]
        elif isinstance(value, dict) and word != "default":
            short[word] = _short(value, out=out)
        elif word == "description" and out and "properties" in shape:
            continue  # the names say what it is, and the tool's own description why
        elif word != "title" and value != [] and not (word == "default" and (out or value is None)):
            short[word] = value
    if isinstance(kinds := short.pop("prefixItems", None), list):
        short["items"] = kinds[0] if all(kind == kinds[0] for kind in kinds) else {"anyOf": kinds}
    optional = not out and "default" in shape and shape["default"] is None
    return _without_null(short, optional=optional)


def _without_null(short: JsonSchema, *, optional: bool) -> JsonSchema:
    """Write that a value may be null into its type, if it has one, or leave it out."""
    options = short.get("anyOf")
    if not isinstance(options, list) or {"type": "null"} not in options:
        return short
    others = [option for option in options if option != {"type": "null"}]
    rest = {word: value for word, value in short.items() if word != "anyOf"}
    if optional:
        return {**others[0], **rest} if len(others) == 1 else {"anyOf": others, **rest}
    if len(others) == 1 and isinstance(kind := others[0].get("type"), str) and "enum" not in others[0]:
        return {**others[0], "type": [kind, "null"], **rest}
    return short
