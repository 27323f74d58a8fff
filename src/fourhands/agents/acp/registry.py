"""Agents in the format of the public ACP registry, as the user has put them into their configuration directory.

`agents/*.json` and `agents/*/agent.json` beside the settings: one agent each, or a list of them as the registry
publishes it. Nothing is downloaded: such an agent is started if its program is installed; otherwise the error says how
to install it, and the user decides. Where an agent of the catalogue has the same id, what is odd about it still holds.
"""

import json
import logging
import os
import platform
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from fourhands.agents.acp.recipe import Recipe
from fourhands.settings import user_file

DIRECTORY = "agents"
LARGEST_BYTES = 4 << 20

_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_TAKEN = frozenset(("tour", "http", "https", "anthropic", "acp", "opencode"))

log = logging.getLogger(__name__)


class Package(Struct, frozen=True):
    """A package of npm or PyPI."""

    package: str
    cmd: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}

    @property
    def name(self) -> str:
        """Its name without a version."""
        return re.split(r"(?<=.)@|[=<>~!]=|[<>]|\[", self.package, maxsplit=1)[0]


class Binary(Struct, frozen=True):
    """A program to download, for one platform."""

    archive: str
    cmd: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}


class Distribution(Struct, frozen=True):
    """The ways in which an agent can be had."""

    binary: dict[str, Binary] = {}
    npx: Package | None = None
    uvx: Package | None = None


class RegistryAgent(Struct, frozen=True):
    """One agent of the registry; members that say nothing about its start are not read."""

    id: str
    distribution: Distribution
    name: str = ""


def registered(own: Mapping[str, Recipe], env: Mapping[str, str]) -> dict[str, Recipe]:
    """Return the recipes of the user's files, by id; a file that cannot be used is logged and passed over."""
    place = Path(user_file(env)).parent / DIRECTORY
    found: dict[str, Recipe] = {}
    for path in sorted([*place.glob("*.json"), *place.glob("*/agent.json")]):
        for agent in _agents(path):
            recipe = _recipe(agent, own.get(agent.id), path.parent, env)
            if recipe is not None:
                found[agent.id] = recipe
    return found


def _agents(path: Path) -> Iterator[RegistryAgent]:
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise ValueError(f"it has more than {LARGEST_BYTES} bytes")
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        log.warning("cannot read agents from %s: %s", path, error)
        return
    listed: list[Any] = data["agents"] if isinstance(data, dict) and isinstance(data.get("agents"), list) else [data]
    for one in listed:
        try:
            agent = msgspec.convert(one, RegistryAgent)
            if agent.id in _TAKEN or not _ID.fullmatch(agent.id):
                raise ValueError(f"the id {agent.id!r:.100} cannot be the name of an agent")
        except (msgspec.ValidationError, ValueError) as error:
            log.warning("cannot use an agent of %s: %s", path, error)
        else:
            yield agent


def _recipe(agent: RegistryAgent, known: Recipe | None, place: Path, env: Mapping[str, str]) -> Recipe | None:
    """Return how it is started: by its program, under whatever name its package installs it."""
    ways = agent.distribution
    way: Package | Binary
    if (npx := ways.npx) is not None:
        program = npx.cmd or _npm_program(npx.name, env) or npx.name.rpartition("/")[2]
        way, install = npx, f"npm install -g {npx.package}"
    elif (uvx := ways.uvx) is not None:
        program, way, install = uvx.cmd or uvx.name, uvx, f"uv tool install {uvx.package}"
    elif (binary := ways.binary.get(_platform())) is not None:
        beside = place / agent.id / binary.cmd
        program = str(beside) if beside.is_file() else os.path.basename(binary.cmd)
        install = f"download {binary.archive} and unpack it in {place / agent.id}, or put {program} on your PATH"
        way = binary
    else:
        log.warning("agent %s of %s has no distribution for %s", agent.id, place, _platform())
        return None
    base = known or Recipe(name=agent.id)
    command = (program, *way.args)
    return msgspec.structs.replace(
        base, name=agent.id, command=command, older=(), install=install, env={**base.env, **way.env}
    )


def _npm_program(package: str, env: Mapping[str, str]) -> str:
    """Return the name of the program of a globally installed package; empty where it is not installed."""
    for directory in env.get("PATH", "").split(os.pathsep):
        for modules in (Path(directory, "../lib/node_modules"), Path(directory, "..")):
            try:
                programs = json.loads((modules / package / "package.json").read_bytes())["bin"]
            except (OSError, ValueError, KeyError, TypeError, RecursionError):
                continue
            names = list(programs) if isinstance(programs, dict) else [package.rpartition("/")[2]]
            plain = package.rpartition("/")[2]
            return plain if plain in names or not names else str(names[0])
    return ""


def _platform() -> str:
    machine = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    return f"{platform.system().lower()}-{machine}"
