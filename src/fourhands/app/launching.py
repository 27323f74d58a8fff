"""The launcher of a workbench that has its doors: with it agents are started there."""

import contextlib
import os
from collections.abc import Iterator

from fourhands.agents.acp.mcp_server import OwnServer
from fourhands.agents.connectors.launcher import LaunchContext, Launcher
from fourhands.app.connectors import register_all
from fourhands.app.wiring import App
from fourhands.surfaces.acp_agent.connection import AgentSource
from fourhands.surfaces.mcp import has_sdk
from fourhands.surfaces.server import Running


@contextlib.contextmanager
def launching(app: App, server: Running) -> Iterator[Launcher]:
    """Let agents of every kind be started in this workbench, for the length of the block."""
    wiring = LaunchContext(
        briefing=server.hub.briefing,
        issue_token=lambda session: server.tokens.issue(session.actor),
        url=server.address.url,
        env=os.environ,
    )
    with contextlib.closing(Launcher(app.bench, app.tasks, wiring)) as launcher:
        own = OwnServer(wiring.url, app.places.workspace, wiring.issue_token, os.environ)
        register_all(launcher, mcp_servers=own if has_sdk() else None)
        yield launcher


def agent_source(app: App, server: Running) -> AgentSource:
    """Return what editors need that talk to an agent of this workbench."""
    return AgentSource(app.bench, app.tasks, server.chats.of)
