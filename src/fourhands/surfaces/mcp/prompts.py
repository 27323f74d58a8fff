"""Prompts that a person picks from a client's menu: instructions, a terminal's output, plugins' prompts, skills.

A command `openspace.prompt.NAME` is a prompt and no tool: its arguments are the prompt's, its result has `messages`.
"""

from collections.abc import Mapping

from mcp_types import (
    EmbeddedResource,
    GetPromptResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
    TextResourceContents,
)

from fourhands.commands.toolset import PROMPTS
from fourhands.core import schema
from fourhands.core.call import Result
from fourhands.core.errors import BadArgument, NotFound
from fourhands.core.registry import Registry
from fourhands.surfaces.mcp import project
from fourhands.surfaces.mcp.formats import messages, plain
from fourhands.surfaces.mcp.resources import terminal_uri

LINES = 200
"""Lines of a terminal in its prompt."""

WORKBENCH = Prompt(
    name="workbench",
    title="Work with the shared workbench",
    description="How to work here, and what is open now: panes, editors, terminals, commands.",
)
TERMINAL = Prompt(
    name="terminal",
    title="Look at a terminal",
    description=f"The last {LINES} lines of a terminal, to explain them or to go on from there.",
    arguments=[
        PromptArgument(name="terminal", description="Its title or id.", required=True),
        PromptArgument(name="question", description="What you want to know; else: what happened, and what to do."),
    ],
)
_QUESTION = "What happened in this terminal? If something failed: why, and what should be done?"


def prompts(registry: Registry, *, instructions: bool = True) -> list[Prompt]:
    """Every prompt but those of skills; that of the project's instructions only if they are told at all."""
    own = [WORKBENCH, TERMINAL, *([project.PROJECT] if instructions else [])]
    taken = {one.name for one in own}
    added = [
        Prompt(
            name=command.id.removeprefix(PROMPTS),
            title=command.label,
            description=command.description,
            arguments=[
                PromptArgument(name=argument.name, description=argument.description or None, required=argument.required)
                for argument in schema.describe(command.args_type)
            ],
        )
        for command in registry
        if command.id.startswith(PROMPTS) and "agent" in command.actors
    ]
    return [*own, *(one for one in added if one.name not in taken)]


def call_of(
    registry: Registry, name: str, given: Mapping[str, str], skills: Mapping[str, Prompt] | None = None
) -> tuple[str, dict[str, object]]:
    """Return the command whose result makes a prompt, with its arguments; `workbench` has none.

    `skills` are those that are known, by name; where they are None, the command itself says which there are.
    """
    known = [prompt.name for prompt in prompts(registry)]
    if name not in known:
        skill = project.skill_of(name)
        if skill is None or (skills is not None and skill not in skills):
            raise NotFound.of("prompt", name[:200], [*known, *(one.name for one in (skills or {}).values())])
        project.only(given, ("request",))
        return project.READ_SKILL, {"name": skill}
    if name == project.PROJECT.name:
        project.only(given, ("directory",))
        return project.READ_INSTRUCTIONS, dict(given)
    if name != TERMINAL.name:
        return f"{PROMPTS}{name}", dict(given)
    project.only(given, ("terminal", "question"))
    if not given.get("terminal"):
        raise BadArgument("terminal is missing", hint="give a terminal's title or id")
    return "openspace.terminal.read_output", {"terminalId": given["terminal"], "lines": LINES}


def result_of(command: str, given: Mapping[str, str], result: Result) -> GetPromptResult:
    """Return a command's result as the prompt."""
    data = plain(result.data)
    if command == project.READ_SKILL:
        return _said(project.skill_text(data, given.get("request", "")))
    if command == project.READ_INSTRUCTIONS:
        return _said(project.instructions_text(data, given.get("directory", "")), project.PROJECT.description)
    if command.startswith(PROMPTS):
        return GetPromptResult(messages=messages(data.get("messages")))
    lines = data.get("output")
    text = "\n".join(map(str, lines)) if isinstance(lines, list) else ""
    shown = TextResourceContents(uri=terminal_uri(given["terminal"]), text=text, mime_type="text/plain")
    return GetPromptResult(
        description=TERMINAL.description,
        messages=[
            PromptMessage(role="user", content=EmbeddedResource(resource=shown)),
            PromptMessage(role="user", content=TextContent(text=given.get("question") or _QUESTION)),
        ],
    )


def workbench(instructions: str) -> GetPromptResult:
    """Return the instructions as a prompt."""
    return _said(instructions, WORKBENCH.description)


def _said(text: str, description: str | None = None) -> GetPromptResult:
    message = PromptMessage(role="user", content=TextContent(text=text))
    return GetPromptResult(description=description, messages=[message])
