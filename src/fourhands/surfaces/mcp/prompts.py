"""Prompts that a person picks from a client's menu: instructions, a terminal's output, and those of plugins.

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


def prompts(registry: Registry) -> list[Prompt]:
    """Every prompt."""
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
    return [WORKBENCH, TERMINAL, *added]


def call_of(registry: Registry, name: str, given: Mapping[str, str]) -> tuple[str, dict[str, object]]:
    """Return the command whose result makes a prompt, with its arguments; `workbench` has none."""
    known = {prompt.name: prompt for prompt in prompts(registry)}
    if name not in known:
        raise NotFound.of("prompt", name[:200], known)
    if name != TERMINAL.name:
        return f"{PROMPTS}{name}", dict(given)
    unknown = sorted(set(given) - {"terminal", "question"})
    if unknown:
        raise BadArgument(f"no argument {unknown[0][:100]!r}", hint="arguments here: terminal, question")
    if not given.get("terminal"):
        raise BadArgument("terminal is missing", hint="give a terminal's title or id")
    return "openspace.terminal.read_output", {"terminalId": given["terminal"], "lines": LINES}


def result_of(name: str, given: Mapping[str, str], result: Result) -> GetPromptResult:
    """Return a command's result as the prompt."""
    data = plain(result.data)
    if name != TERMINAL.name:
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
    message = PromptMessage(role="user", content=TextContent(text=instructions))
    return GetPromptResult(description=WORKBENCH.description, messages=[message])
