"""The command that explains commands, and how a command is put into words for a model.

Everything comes from the command's own declaration, so that instructions, help and manual cannot disagree.
"""

import re
from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from fourhands.commands.base import Args
from fourhands.core import schema
from fourhands.core.call import Call
from fourhands.core.errors import BadArgument
from fourhands.core.registry import Command, Contribution
from fourhands.workbench.workbench import Workbench

commands = Contribution("openspace.agent")

HELP = "openspace.agent.help"
_RANGE = re.compile(r"(?:whole )?number (?:from|above|between|up to) (?P<edge>-?\d+)")


class ExplainCommand(Args, frozen=True, kw_only=True):
    """Arguments of `openspace.agent.help`."""

    command: Annotated[str | None, Meta(description="Id of a command; default: all of them, a line each.")] = None


class CommandHelp(Struct, frozen=True, kw_only=True, rename="camel"):
    """The explanation."""

    text: str


@commands.add(
    "help",
    label="Explain command",
    read_only=True,
    instructs=True,
    category="agent",
    example={"command": "openspace.terminal.wait"},
)
async def help_command(bench: Workbench, args: ExplainCommand, call: Call) -> CommandHelp:
    """Explain a command in full, or list all commands that you may use."""
    kind = call.actor.role
    if args.command is None:
        mine = [command for command in bench.registry if kind in command.actors or kind == "system"]
        return CommandHelp(text="\n".join(line(command) for command in mine))
    command = bench.registry.get(args.command, kind)
    text = explain(command)
    if kind not in command.actors and kind != "system":
        text += f"\nNot for you: only a {' or '.join(command.actors)} may use it."
    return CommandHelp(text=text)


def block(id: str, args: Mapping[str, object]) -> str:
    """Write a command as the block that a model puts into its answer."""
    return "%%OS" + msgspec.json.encode({"cmd": id, "args": args}).decode() + "%%"


def explain(command: Command) -> str:
    """Put a command into words: what it does, each argument, what comes back, an example."""
    parts = [f"#### {command.id}", command.description]
    parts += [argument_line(argument) for argument in schema.describe(command.args_type)]
    if command.result_type is not None:
        names = ", ".join(argument.name for argument in schema.describe(command.result_type))
        parts += [f"Returns: {names}"] if names else []
    example = example_of(command)
    if example is not None:
        parts.append(f"Example: {block(command.id, example)}")
    return "\n".join(parts)


def argument_line(argument: schema.Argument) -> str:
    """Describe an argument in one line, with its default."""
    if argument.required:
        need = ", required"
    elif argument.default is None:
        need = ", optional"
    else:
        need = f", default {schema.show(argument.default)}"
    return f"- {argument.name} ({argument.type}{need})" + (f": {argument.description}" if argument.description else "")


def line(command: Command) -> str:
    """Put a command into one line: its arguments by name, optional ones with `?`, and its first sentence."""
    names = ", ".join(f"{a.name}{'' if a.required else '?'}" for a in schema.describe(command.args_type))
    return f"- {command.id}({names}): {first_sentence(command.description)}"


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, on one line."""
    paragraph = " ".join(text.split("\n\n", 1)[0].split())
    return re.split(r"(?<=[.!?])\s+(?=[A-Z])", paragraph, maxsplit=1)[0]


def example_of(command: Command) -> Mapping[str, object] | None:
    """Return the command's example or, where it declares none, one of the required arguments, if it is valid."""
    if command.example is not None:
        return command.example
    if command.args_type is None:
        return {}
    made = {a.name: _sample(a.type) for a in schema.describe(command.args_type) if a.required}
    try:
        schema.decode(made, command.args_type)
    except BadArgument:
        return None
    return made


def _sample(words: str) -> object:
    """Return a value for an argument, from its type in words."""
    if found := _RANGE.match(words):
        return int(found["edge"])
    if words.startswith("one of "):
        return msgspec.json.decode(words.removeprefix("one of ").split(", ", 1)[0])
    simple: dict[str, object] = {"text": "…", "whole": 1, "number": 1, "true": True, "list": [], "object": {}}
    return simple.get(words.split(" ", 1)[0], "…")
