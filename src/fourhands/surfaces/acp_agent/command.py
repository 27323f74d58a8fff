"""`fourhands acp --agent NAME [DIR]` as a process of the editor's."""

import asyncio
import sys
from collections.abc import Callable

from fourhands.surfaces.acp_agent.door import StartAgent, serve_editor
from fourhands.surfaces.console import INTERRUPTED, told


@told
def serve_agent(directory: str | None, spec: str, check: Callable[[str], None], start: StartAgent) -> None:
    """Serve the editor until it closes its end; an agent that no one knows is refused at once."""
    check(spec)
    try:
        asyncio.run(serve_editor(directory, spec.strip(), start))
    except asyncio.CancelledError:  # SIGTERM
        sys.exit(INTERRUPTED)
