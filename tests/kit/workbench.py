"""Terminals and whole workbenches in a temporary workspace; the host and all it runs are ended with the test."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec

from fourhands.app import App
from fourhands.host.paths import WorkspaceDirs
from fourhands.settings import AgentDefaults, Settings
from fourhands.workbench.terminals.host_terminals import HostTimings
from fourhands.workbench.terminals.terminals import Terminals

MINIMAL = {"PATH": os.environ["PATH"], "SHELL": "/bin/bash", "LANG": "C.UTF-8"}


@contextlib.contextmanager
def temporary_places() -> Iterator[WorkspaceDirs]:
    """A workspace with its own runtime and state directories, below a path short enough for a socket."""
    root = tempfile.mkdtemp(prefix="fh-")
    try:
        work = Path(root, "work")
        work.mkdir()
        Path(root, "home").mkdir()
        places = WorkspaceDirs(os.path.realpath(work), f"{root}/run", f"{root}/state")
        yield places
        for one in places.elsewhere():
            shutil.rmtree(one.runtime, ignore_errors=True)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def environment(places: WorkspaceDirs) -> dict[str, str]:
    """A person's environment with an empty home."""
    return {**MINIMAL, "HOME": str(Path(places.runtime).parent / "home")}


def quick(settings: Settings | None = None, **terminal: object) -> Settings:
    """Settings with a host that leaves soon, without a spare shell, and without a sandbox unless a test wants them."""
    settings = settings or Settings()
    options = {"linger_s": 1.0, "spare_shell": False, **terminal}
    defaults = settings.agent_defaults
    if defaults.provider == AgentDefaults().provider:
        defaults = msgspec.structs.replace(defaults, provider="local")
    return msgspec.structs.replace(
        settings, terminal=msgspec.structs.replace(settings.terminal, **options), agent_defaults=defaults
    )


@contextlib.asynccontextmanager
async def open_terminals(
    settings: Settings | None = None,
    places: WorkspaceDirs | None = None,
    timings: HostTimings = HostTimings(),  # noqa: B008 - it is frozen
) -> AsyncIterator[Terminals]:
    """Terminals on a host of their own."""
    with contextlib.ExitStack() as stack:
        places = places or stack.enter_context(temporary_places())
        async with Terminals(
            places.workspace,
            quick() if settings is None else settings,
            places=places,
            env=environment(places),
            timings=timings,
        ) as terminals:
            try:
                yield terminals
            finally:
                await terminals.stop()


@contextlib.asynccontextmanager
async def open_app(
    settings: Settings | None = None,
    places: WorkspaceDirs | None = None,
    timings: HostTimings = HostTimings(),  # noqa: B008 - it is frozen
    **more: Any,
) -> AsyncIterator[App]:
    """A whole workbench without doors; its terminals end with it. `more` is for the `App`."""
    with contextlib.ExitStack() as stack:
        places = places or stack.enter_context(temporary_places())
        env = {**environment(places), **more.pop("env", {})}
        async with App(places.workspace, quick(settings), places=places, env=env, host_timings=timings, **more) as app:
            try:
                yield app
            finally:
                await app.terminals.stop()
