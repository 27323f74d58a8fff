"""An OpenCode server that is started for one session: with a password, and gone with its block.

With a gateway its configuration is private and its model is reached through our proxy with the session's token, so it
needs no keys of its own and takes no blocks from anywhere else. Without one it is the person's own OpenCode: their
configuration, their keys, their model. What it runs asks first in both. Nothing secret stands on its command line.
"""

import asyncio
import contextlib
import json
import logging
import re
import secrets
import shutil
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from fourhands.agents.connectors.process import AgentStarter, ChildStarter
from fourhands.agents.connectors.profile import AgentProfile
from fourhands.agents.connectors.sandbox import AgentOrder, AgentSandbox
from fourhands.core.child import into
from fourhands.core.errors import BadArgument, CommandNotFound, TimedOut, Unavailable
from fourhands.safety import environment

START_S = 60.0
"""It needs up to 18 s on two cores; more beside a build."""

GRACE_S = 3.0
ASK = {"bash": "ask", "edit": "ask", "webfetch": "ask", "external_directory": "ask"}

_PACKAGES = {"openai": "@ai-sdk/openai-compatible", "anthropic": "@ai-sdk/anthropic", "gemini": "@ai-sdk/google"}
_VERSIONS = {"openai": "/v1", "anthropic": "/v1", "gemini": "/v1beta"}
_LISTENING = re.compile(rb"listening on (http://[^\s]+)")
_PORTS = range(33_000, 60_000)
_INSIDE = "/tmp/opencode"  # of a sandbox, whose /tmp is its own
_SWITCHES = ("MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Gateway:
    """Our proxy as an agent is told of it: where it is, the session's token, and the model behind it."""

    url: str
    token: str
    model: str
    family: str = "openai"


@dataclass(frozen=True, slots=True)
class OpenCodeAddress:
    """The address of a running OpenCode, its password if it has one, and the socket that leads there, if one does."""

    url: str
    password: str = ""
    socket: str = ""


def config(gateway: Gateway) -> dict[str, object]:
    """OpenCode's configuration: one provider, our proxy."""
    if gateway.family not in _PACKAGES:
        raise BadArgument(f"no model interface {gateway.family!r}", hint=f"there are: {', '.join(_PACKAGES)}")
    model = f"fourhands/{gateway.model}"
    options = {"baseURL": gateway.url.rstrip("/") + _VERSIONS[gateway.family], "apiKey": gateway.token}
    return {
        "model": model,
        "small_model": model,
        "enabled_providers": ["fourhands"],
        "autoupdate": False,
        "share": "disabled",
        "provider": {
            "fourhands": {
                "npm": _PACKAGES[gateway.family],
                "options": options,
                "models": {gateway.model: {"tool_call": True, "limit": {"context": 128_000, "output": 16_000}}},
            }
        },
    }


@contextlib.asynccontextmanager
async def started(
    command: Sequence[str], gateway: Gateway | None, *, cwd: str, private: Path, base: Mapping[str, str]
) -> AsyncIterator[OpenCodeAddress]:
    """Run `command serve` for the length of the block; what we write for it lies below `private`, and goes again."""
    own = _guarded()
    with _private(gateway, private, base) if gateway else contextlib.nullcontext(_persons(base)) as env:
        argv = [*command, "serve", "--port", "0", "--hostname", "127.0.0.1"]
        async with running(ChildStarter(argv, cwd=cwd, env={**env, **own}, with_input=False)) as url:
            yield OpenCodeAddress(url, own["OPENCODE_SERVER_PASSWORD"])


@contextlib.asynccontextmanager
async def started_inside(
    command: Sequence[str],
    gateway: Gateway | None,
    *,
    sandbox: AgentSandbox,
    profile: AgentProfile,
    base: Mapping[str, str],
) -> AsyncIterator[OpenCodeAddress]:
    """Run `command serve` in the sandbox of a session for the length of the block, and lead a socket to its port.

    The port is not opened for the person: whoever reaches it commands the agent.
    """
    own, port = _guarded(), _PORTS.start + secrets.randbelow(len(_PORTS))
    if gateway is not None:
        inside = replace(gateway, url=await sandbox.url() or gateway.url)
        places = {f"XDG_{name}_HOME": f"{_INSIDE}/{name.lower()}" for name in ("DATA", "CONFIG", "STATE", "CACHE")}
        switches = {f"OPENCODE_DISABLE_{name}": "1" for name in _SWITCHES}
        own |= {**environment.AGENT_PAGERS, **places, **switches, "OPENCODE_CONFIG_CONTENT": json.dumps(config(inside))}
        profile = msgspec.structs.replace(profile, variables=(), hosts=(), directories=())
    argv = (*command, "serve", "--port", str(port), "--hostname", "127.0.0.1")
    order = AgentOrder(argv, base, {**own, "OPENCODE_DISABLE_AUTOUPDATE": "1"}, profile, with_input=False)
    starter = await sandbox.starter(order)
    async with sandbox.way_in(port) as socket, running(starter) as url:
        yield OpenCodeAddress(url, own["OPENCODE_SERVER_PASSWORD"], socket)


@contextlib.asynccontextmanager
async def running(starter: AgentStarter) -> AsyncIterator[str]:
    """Run a server for the length of the block, and return where it listens when it does."""
    reader = asyncio.StreamReader()
    try:
        child = await starter.start(into(reader), None)
    except CommandNotFound as error:
        raise CommandNotFound(error.message, hint=f"npm install -g opencode-ai; {error.hint}") from error
    reader.set_transport(child.out)
    try:
        last: deque[bytes] = deque(maxlen=20)
        url = await _listening(reader, last, lambda: child.reason)
        async with _drained(reader, last):
            yield url
    finally:
        try:
            await starter.end(child, GRACE_S)
        finally:
            child.close()


def _guarded() -> dict[str, str]:
    """Return the variables that let it ask first, and serve only those who know a password."""
    return {"OPENCODE_PERMISSION": json.dumps(ASK), "OPENCODE_SERVER_PASSWORD": secrets.token_urlsafe(24)}


@contextlib.contextmanager
def _private(gateway: Gateway, private: Path, base: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Make the environment of a private OpenCode, which knows our proxy and nothing else."""
    made = config(gateway)
    private.mkdir(parents=True, mode=0o700, exist_ok=True)  # of a server that was killed and could not clean up
    try:
        file = private / "opencode.json"
        file.touch(mode=0o600)
        file.write_text(json.dumps(made))
        places = {f"XDG_{name}_HOME": str(private / name.lower()) for name in ("DATA", "CONFIG", "STATE", "CACHE")}
        switches = {f"OPENCODE_DISABLE_{name}": "1" for name in _SWITCHES}
        given = {**environment.for_agent(base), **environment.AGENT_PAGERS}
        yield {**given, **places, **switches, "OPENCODE_CONFIG": str(file)}
    finally:
        shutil.rmtree(private, ignore_errors=True)


def _persons(base: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the person's own OpenCode: theirs, which may hold a key, without our variables."""
    theirs = {name: value for name, value in base.items() if not name.startswith("FOURHANDS_")}
    return {**theirs, "OPENCODE_DISABLE_AUTOUPDATE": "1"}


async def _listening(reader: asyncio.StreamReader, last: deque[bytes], reason: Callable[[], str]) -> str:
    try:
        async with asyncio.timeout(START_S):
            async for line in reader:
                last.append(line)
                if found := _LISTENING.search(line):
                    return found[1].decode()
    except TimeoutError:
        raise TimedOut(f"OpenCode is not ready after {START_S:g} s", hint=_said(last)) from None
    raise Unavailable(f"OpenCode ended before it was ready{f': {why}' if (why := reason()) else ''}", hint=_said(last))


@contextlib.asynccontextmanager
async def _drained(reader: asyncio.StreamReader, last: deque[bytes]) -> AsyncIterator[None]:
    """Read on what it prints, since a full pipe would stop it."""

    async def drain() -> None:
        while data := await reader.read(65536):
            log.debug("OpenCode: %s", data.decode("utf-8", "replace").rstrip())

    async with asyncio.TaskGroup() as group:
        task = group.create_task(drain())
        try:
            yield
        finally:
            task.cancel()


def _said(last: deque[bytes]) -> str:
    text = b"".join(last).decode("utf-8", "replace").strip()
    return f"it said: {text[-500:]}" if text else "it said nothing"
