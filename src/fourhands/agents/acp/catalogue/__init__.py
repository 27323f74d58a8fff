"""Agents that are known by name: one data file each, with the command that starts it and what is odd about it."""

import functools
import os
import shlex
import tomllib
from importlib.resources import files

import msgspec
from msgspec import Struct

from fourhands.core.errors import BadArgument


class Recipe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The way to start an agent that speaks ACP on its standard input and output."""

    name: str
    command: tuple[str, ...] = ()
    install: str = ""  # how to get it, for the error message
    env: dict[str, str] = msgspec.field(default_factory=dict)
    auth: str = ""  # the authentication method to choose when it asks for one
    start_seconds: float = 120.0  # how long it may take to begin a session, and to answer what is not a prompt
    missing_file_is_empty: bool = False  # it takes an error for a missing file as the end of its write


@functools.cache
def recipes() -> dict[str, Recipe]:
    """All agents of the catalogue, by name."""
    found = {}
    for file in files(__name__).iterdir():
        if file.name.endswith(".toml"):
            recipe = msgspec.convert(tomllib.loads(file.read_text("utf-8")), Recipe)
            found[recipe.name] = recipe
    return dict(sorted(found.items()))


def parse(spec: str) -> tuple[Recipe, tuple[str, ...]]:
    """`claude`: an agent of the catalogue; `opencode acp --x`: its own command line; `acp COMMAND …`: any other."""
    try:
        words = shlex.split(spec)
    except ValueError as error:
        raise BadArgument(f"the command line {spec!r:.200} cannot be read: {error}") from None
    if words[:1] == ["acp"]:
        words = words[1:]
        if not words:
            raise BadArgument("acp needs the command line of an agent", hint="such as: acp my-agent --acp")
        return recipes().get(os.path.basename(words[0]), Recipe(name=words[0])), tuple(words)
    if not words or words[0] not in recipes():
        raise BadArgument(f"no agent {spec!r:.200} in the catalogue", hint=f"agents: {', '.join(recipes())}")
    recipe = recipes()[words[0]]
    return recipe, tuple(words) if len(words) > 1 else recipe.command
