"""Terminals of a running server, for the command line: what is typed, read and ended there passes the gate.

A person at a command line is one more person at the workbench: their half-typed line holds agents back, their calls are
in the journal, and what they do is seen by everyone else.
"""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from fourhands.core.errors import FourhandsError, NotFound, Unavailable
from fourhands.host.paths import WorkspaceDirs
from fourhands.surfaces.cli.base import ServerClient
from fourhands.surfaces.discovery import find_server

R = TypeVar("R")

START_S = 60.0
"""Seconds that a server may take to start before it is given up."""


class ServedTerminals:
    """The terminals of a workspace, by calls to its server."""

    def __init__(self, workspace: str) -> None:
        self.client = ServerClient(workspace)

    async def call(self, command: str, **args: object) -> dict[str, Any]:
        """Make a call and return its result; a failed one is raised."""
        result = await beside(lambda: self.client.call(f"openspace.terminal.{command}", args))
        if not result.get("success"):
            raise FourhandsError(str(result.get("error")), hint=str(result.get("hint", "")))
        return result

    async def list(self) -> list[dict[str, Any]]:
        """Return all terminals, oldest first."""
        found: list[dict[str, Any]] = (await self.call("list"))["terminals"]
        return found

    async def find(self, *names: str) -> Sequence[dict[str, Any]]:
        """Return terminals by their ids or titles, each once; as `Terminals.get` chooses them for a person."""
        listed = await self.list()
        found = [_named(listed, name) for name in names]
        return list({one["id"]: one for one in found}.values())


def _named(listed: Sequence[dict[str, Any]], name: str) -> dict[str, Any]:
    titled = [one for one in listed if one["id"] == name] or [one for one in listed if one["title"] == name]
    if not titled:
        raise NotFound.of("terminal", name, [f"{one['title']} ({one['id']})" for one in listed])
    return max(titled, key=lambda one: (not one["owner"], one["status"] == "running", one["created"], one["id"]))


async def beside(function: Callable[[], R]) -> R:
    """Run a function that waits in a thread of its own, which is left alone if the caller is cancelled."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[R] = loop.create_future()

    def settle(set_to: Callable[[Any], None], value: object) -> None:
        if not future.done():
            set_to(value)

    def run() -> None:
        try:
            value = function()
        except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
            loop.call_soon_threadsafe(settle, future.set_exception, error)
        else:
            loop.call_soon_threadsafe(settle, future.set_result, value)

    threading.Thread(target=run, daemon=True).start()
    return await future


def is_served(workspace: str) -> bool:
    """Return True if a server runs for a workspace."""
    return find_server(WorkspaceDirs.of(workspace).state) is not None


async def ensure_server(workspace: str) -> None:
    """Start the workspace's server if none runs. It stays, as one started by hand does, until `fourhands stop`."""
    if not is_served(workspace):
        await beside(lambda: _start(WorkspaceDirs.of(workspace)))


def _start(places: WorkspaceDirs) -> None:
    places.prepare()
    path = f"{places.state}/server.log"
    words = [sys.executable, "-P", "-m", "fourhands", "serve", places.workspace, "--no-open", "--json"]
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        # A session of its own: it must not end with the terminal that it was started from.
        server = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=descriptor, start_new_session=True
        )
    finally:
        os.close(descriptor)
    assert server.stdout is not None
    slow = threading.Timer(START_S, server.terminate)
    slow.start()
    with server.stdout:
        line = server.stdout.readline()  # says where it listens, and that it does
    slow.cancel()
    if not line:
        with open(path, errors="replace") as log:
            said = log.read(2000).strip()
        raise Unavailable(f"cannot start the server: {said or f'it ended with {server.wait()}'}", hint=f"see {path}")
