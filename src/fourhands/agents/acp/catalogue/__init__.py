"""Agents that are known by name: one data file each, with the command that starts it and what is odd about it.

Its part `sandbox` says what the agent needs of the person's environment, files and network where it runs in a sandbox;
`other.toml` has that of every agent that is not known.
"""

import functools
import os
import shlex
import tomllib
from importlib.resources import files
from importlib.resources.abc import Traversable

import msgspec
from msgspec import Struct

from fourhands.agents.connectors.profile import AgentProfile
from fourhands.core.errors import BadArgument

_OTHER = "other.toml"


class Recipe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The way to start an agent that speaks ACP on its standard input and output."""

    name: str
    command: tuple[str, ...] = ()
    install: str = ""  # how to get it, for the error message
    env: dict[str, str] = msgspec.field(default_factory=dict)
    auth: str = ""  # the authentication method to choose when it asks for one
    start_seconds: float = 120.0  # how long it may take to begin a session, and to answer what is not a prompt
    missing_file_is_empty: bool = False  # it takes an error for a missing file as the end of its write
    sandbox: AgentProfile = msgspec.field(default_factory=AgentProfile)


@functools.cache
def recipes() -> dict[str, Recipe]:
    """All agents of the catalogue, by name."""
    found = [_read(file) for file in files(__name__).iterdir() if file.name.endswith(".toml") and file.name != _OTHER]
    return {recipe.name: recipe for recipe in sorted(found, key=lambda one: one.name)}


def other(name: str) -> Recipe:
    """Return the recipe of an agent that is not in the catalogue."""
    return msgspec.structs.replace(_read(files(__name__) / _OTHER), name=name)


def _read(file: Traversable) -> Recipe:
    return msgspec.convert(tomllib.loads(file.read_text("utf-8")), Recipe)


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
        return recipes().get(os.path.basename(words[0])) or other(words[0]), tuple(words)
    if not words or words[0] not in recipes():
        raise BadArgument(f"no agent {spec!r:.200} in the catalogue", hint=f"agents: {', '.join(recipes())}")
    recipe = recipes()[words[0]]
    return recipe, tuple(words) if len(words) > 1 else recipe.command
