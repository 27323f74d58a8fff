"""The watch over a project's knowledge, for those who want to hear of a change: MCP clients, the page.

It looks when something happens at the workbench, at most every few seconds, and the longer nothing does, the rarer.
As long as nobody has asked, it does nothing at all.
"""

import asyncio

from fourhands.core.event import EventBus
from fourhands.workbench.project.knowledge import ProjectKnowledge

EVERY_S = 2.0
"""The interval of looks while something happens."""

RAREST_S = 60.0
"""The longest interval while nothing does."""

SLOWER = 2.0


class ProjectWatch:
    """Looks again and again, until it is cancelled."""

    def __init__(self, project: ProjectKnowledge, events: EventBus, *, every_s: float = EVERY_S) -> None:
        self._project = project
        self._events = events
        self._every_s = every_s

    async def run(self) -> None:
        """Look until cancelled, from the moment on when somebody wants to know."""
        await self._project.wanted.wait()
        heard = asyncio.Event()
        dispose = self._events.published.subscribe(lambda _: heard.set())
        pause = self._every_s
        try:
            while True:
                heard.clear()
                await self._project.look()
                try:
                    async with asyncio.timeout(pause):
                        await heard.wait()
                except TimeoutError:
                    pause = min(pause * SLOWER, RAREST_S)
                else:
                    pause = self._every_s
                    await asyncio.sleep(pause)
        finally:
            dispose()
