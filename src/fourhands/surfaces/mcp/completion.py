"""Completion of arguments of prompts and resources: terminals, paths, skills, choices."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CompleteRequestParams, Completion, Prompt, PromptReference

from fourhands.commands.toolset import PROMPTS
from fourhands.core import schema
from fourhands.core.call import Result
from fourhands.core.registry import Command, Registry
from fourhands.surfaces.mcp.formats import plain
from fourhands.surfaces.mcp.project import READ_SKILL
from fourhands.workbench.workbench import Workbench

MOST = 100
"""The protocol's limit of values in one answer."""

Run = Callable[[str, dict[str, object]], Awaitable[Result]]
"""Makes a call of the client's."""


async def complete(
    bench: Workbench, params: CompleteRequestParams, run: Run, fixed: Sequence[Prompt], skills: Mapping[str, Prompt]
) -> Completion:
    """Return the values that begin with the given text, best first; `fixed` and `skills` are the client's prompts."""
    name, begun = params.argument.name, params.argument.value
    command = _command(bench.registry, params, [one.name for one in (*fixed, *skills.values())])
    if name in ("terminal", "terminalId"):
        values = [terminal.title for terminal in bench.terminals.list()]
        values += [terminal.id for terminal in bench.terminals.list()]
    elif command is not None and command.id == READ_SKILL:
        chosen = (params.context.arguments if params.context is not None else None) or {}
        values = list(skills) if name == "name" else await _files(chosen.get("name", ""), run)
    elif name == "path":
        values = await _paths(begun, run)
    elif name == "directory":
        values = [path.rstrip("/") for path in await _paths(begun, run) if path.endswith("/")]
    else:
        values = _choices(command, name)
    fitting = [value for value in dict.fromkeys(values) if value.lower().startswith(begun.lower())]
    return Completion(values=fitting[:MOST], total=len(fitting), has_more=len(fitting) > MOST)


def _command(registry: Registry, params: CompleteRequestParams, known: Collection[str]) -> Command | None:
    """Return the command that the argument belongs to; None for the built-in prompts and those of skills."""
    if isinstance(params.ref, PromptReference):
        name = params.ref.name
        if name not in known:
            raise MCPError(INVALID_PARAMS, f"no prompt {name[:200]!r}")
        id = PROMPTS + name
        return registry.get(id) if id in registry else None
    uri = params.ref.uri
    for command in registry:
        if command.uri == uri and "agent" in command.actors:
            return command
    raise MCPError(INVALID_PARAMS, f"no resource template {uri[:200]!r}")


async def _paths(begun: str, run: Run) -> list[str]:
    """Entries of the directory that is begun; where the call is refused, nothing is known."""
    directory = begun.rpartition("/")[0]
    result = await run("openspace.file.list", {"path": directory or "."})
    files = plain(result.data).get("files") if result.success else None
    prefix = f"{directory}/" if directory else ""
    return [
        f"{prefix}{entry['name']}{'/' if entry['kind'] == 'directory' else ''}"
        for entry in (files if isinstance(files, list) else ())
    ]


async def _files(skill: str, run: Run) -> list[str]:
    """Return the files of a skill; none where there is no such skill, or the call is refused."""
    result = await run(READ_SKILL, {"name": skill}) if skill else None
    files = plain(result.data).get("files") if result is not None and result.success else None
    return [str(one) for one in files] if isinstance(files, list) else []


def _choices(command: Command | None, name: str) -> list[str]:
    members = schema.schema(command.args_type).get("properties") if command is not None else None
    wanted = members.get(name) if isinstance(members, dict) else None
    choices = wanted.get("enum") if isinstance(wanted, dict) else None
    return [str(choice) for choice in choices] if isinstance(choices, list) else []
