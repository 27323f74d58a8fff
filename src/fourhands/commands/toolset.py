"""The commands as tools of a model: their names, their schemas, and what a model reads of a result.

Every surface that shows tools to a model takes them from here: MCP, function calling, the toolset of Python. The core
set is small, since a model pays for each tool in each request; the others are there for those who ask for them.
"""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from fourhands.core import short_schema
from fourhands.core.call import Result
from fourhands.core.errors import NotFound
from fourhands.core.registry import NAMESPACE, Command, Registry
from fourhands.core.schema import JsonSchema

BARE = "openspace.tool."
"""Commands that models know by their last name alone, such as `bash`."""

PROMPTS = "openspace.prompt."
"""Commands that are prompts: a person picks them from a menu, a model never calls them."""

CORE = "core"
ALL = "all"


class ToolSpec(Struct, frozen=True, kw_only=True, rename="camel"):
    """One tool: what a model is told of it, and the command behind it. `parameters` is a JSON Schema, in short form."""

    name: str
    command: str
    description: str
    parameters: JsonSchema
    read_only: bool = False
    destructive: bool = False


def tool_name(id: str) -> str:
    """Return a command's name as a tool; model APIs refuse dots."""
    return id.removeprefix(BARE) if id.startswith(BARE) else id.replace(".", "_")


def is_tool(command: Command) -> bool:
    """Return True if a command may be a tool of a model."""
    return "agent" in command.actors and not command.id.startswith(PROMPTS)


def tools_of(registry: Registry, wanted: Sequence[str] = (CORE,)) -> list[Command]:
    """Return the commands of the wanted tools, each once: those of the core set first, then in the order of ids.

    `wanted` has "core", "all", and names of single tools. Raises `NotFound` with the nearest for any other.
    """
    usable = {tool_name(one.id): one for one in registry if is_tool(one)}
    chosen: set[str] = set()
    for name in wanted:
        if name in (CORE, ALL):
            chosen.update(key for key, one in usable.items() if one.core or name == ALL)
        else:
            chosen.add(_known(name, usable, also=(CORE, ALL)))
    return sorted((usable[name] for name in chosen), key=lambda one: (not one.core, one.id))


def toolset(registry: Registry, wanted: Sequence[str] = (CORE,)) -> list[ToolSpec]:
    """Return the wanted tools as a model is told of them; see `tools_of`."""
    return [spec(command) for command in tools_of(registry, wanted)]


def spec(command: Command) -> ToolSpec:
    """Return one command as a tool."""
    return ToolSpec(
        name=tool_name(command.id),
        command=command.id,
        description=command.description,
        parameters=short_schema.arguments(command, inlined=True),
        read_only=command.read_only,
        # What is judged before it runs is judged because it can destroy.
        destructive=command.destructive or (command.safety is not None and not command.read_only),
    )


def command_of(registry: Registry, name: str) -> str:
    """Return the id of the command behind a tool's name. Ids and tools of the person are taken too: the gate decides.

    Raises `NotFound` with the nearest tool for any other name.
    """
    if name.startswith(NAMESPACE):
        return name
    for command in registry:
        if tool_name(command.id) == name:
            return command.id
    raise NotFound.of("tool", name[:200], (tool_name(one.id) for one in registry if is_tool(one)))


def result_text(command: Command | None, result: Result) -> str:
    """Return the plain text that a model reads of a result, success or failure.

    A command may have words of its own for its data (`text=` where it is declared); other data is compact JSON.
    """
    if not result.success:
        hint = f"\nhint: {result.hint}" if result.hint else ""
        return f"error: {result.error}\ncode: {result.code}{hint}"
    if command is not None and command.text is not None:
        return command.text(result)
    own = result.data.get("text")
    if command is not None and command.id.startswith(BARE) and isinstance(own, str) and own:
        return own
    return msgspec.json.encode(result.to_wire(), enc_hook=repr).decode()


def _known(name: str, usable: Iterable[str], also: Sequence[str] = ()) -> str:
    names = list(usable)
    plain = tool_name(name)
    if plain not in names:
        raise NotFound.of("tool", name[:200], [*also, *names])
    return plain
