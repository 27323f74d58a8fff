"""Agents that are known by name: one data file each, with the command that starts it and what is odd about it.

Its part `sandbox` says what the agent needs of the person's environment, files and network where it runs in a sandbox;
`other.toml` has that of every agent that is not known. Further ones are the user's own: `registry` reads them.
"""

import functools
import os
import shlex
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

import msgspec

from fourhands.agents.acp.recipe import Recipe
from fourhands.agents.acp.registry import registered
from fourhands.core.errors import BadArgument

_OTHER = "other.toml"


def recipes(env: Mapping[str, str] | None = None) -> dict[str, Recipe]:
    """All agents that are known by name: those of the catalogue, and those that the user has put beside it."""
    return {**_own(), **registered(_own(), os.environ if env is None else env)}


@functools.cache
def _own() -> dict[str, Recipe]:
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
