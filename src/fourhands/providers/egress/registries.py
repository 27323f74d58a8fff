"""Hosts of package registries, as the person's own tools are set up for them. No registry is named in this project.

The tools are asked in an empty directory, with the person's environment: a workspace's own `.npmrc` or `pip.conf` comes
with code of others and must not extend the list.
"""

import asyncio
import os
import re
import shutil
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from fourhands.core import child
from fourhands.core.errors import BadArgument
from fourhands.providers.egress.hosts import HostPattern
from fourhands.providers.visibility import within

TOOL_S = 10.0
_LONGEST = 1 << 16
_PIP_KEYS = re.compile(r"(?:^|\n)[\w:-]*\.(?:extra-)?index-url=(.*)")
_PIP_VARIABLES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX_URL")
_OWN_PIP = "from pip._internal.models.index import PyPI; print(PyPI.file_storage_domain, PyPI.simple_url)"


async def find_registries(env: Mapping[str, str], workspace: str) -> tuple[HostPattern, ...]:
    """Return the hosts of the registries that are configured on this machine; a tool that fails has none.

    Programs of the workspace are not run: its agents may have written them.
    """
    places = [place for place in env.get("PATH", "").split(":") if os.path.isabs(place)]
    outside = [place for place in places if not within(os.path.realpath(place), os.path.realpath(workspace))]
    env = {**env, "PATH": ":".join(outside)}
    directory = await asyncio.to_thread(tempfile.mkdtemp, prefix="fourhands-")
    try:
        answers = await asyncio.gather(
            _run(["python3", "-m", "pip", "config", "list"], env, directory),
            _run(["python3", "-c", _OWN_PIP], env, directory),
            _run(["npm", "config", "get", "registry", "--logs-max=0"], env, directory),
            _run(["go", "env", "GOPROXY", "GOSUMDB"], env, directory),
            asyncio.to_thread(_cargo, env),
        )
    finally:
        await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)
    configured, own, npm, go, cargo = answers
    pip = " ".join(_PIP_KEYS.findall(configured)).replace("'", " ").replace("\\n", " ")
    pip += " " + " ".join(env.get(name, "") for name in _PIP_VARIABLES)
    if "://" not in pip:
        pip = own  # as it is without any configuration
    words = [*pip.split(), *npm.split(), *re.split(r"[,|\s]+", go), *cargo]
    return tuple(dict.fromkeys(pattern for word in words if (pattern := host_of(word)) is not None))


def host_of(word: str) -> HostPattern | None:
    """Return the host of an address or a bare host name; None for everything else, addresses of machines included."""
    try:
        parts = urlsplit(word.removeprefix("sparse+") if "://" in word else f"https://{word}")
        if parts.scheme not in ("http", "https") or not parts.hostname or "." not in parts.hostname:
            return None
        return HostPattern.parse(f"{parts.hostname}:{parts.port or (80 if parts.scheme == 'http' else 443)}")
    except (BadArgument, ValueError):
        return None


def _cargo(env: Mapping[str, str]) -> Iterable[str]:
    """Return the addresses of cargo's registries, as its own files of the person's home name them."""
    home = env.get("CARGO_HOME") or os.path.join(env.get("HOME", ""), ".cargo")
    for name in ("config.toml", "config"):
        try:
            with open(os.path.join(home, name), "rb") as file:
                found = tomllib.loads(file.read(_LONGEST).decode())
        except (OSError, ValueError):
            continue
        tables = [table for key in ("source", "registries") for table in found.get(key, {}).values()]
        values = [table.get(key) for table in tables if isinstance(table, dict) for key in ("registry", "index")]
        return [value for value in values if isinstance(value, str)]
    return []


async def _run(command: list[str], env: Mapping[str, str], directory: str) -> str:
    """Return what a tool prints; nothing where it is missing, fails or takes too long."""
    program = shutil.which(command[0], path=env.get("PATH", ""))
    if program is None:
        return ""
    try:
        ended = await child.run([program, *command[1:]], env=dict(env), cwd=directory, timeout_s=TOOL_S)
    except (OSError, TimeoutError):
        return ""
    return ended.out[:_LONGEST] if ended.code == 0 else ""
