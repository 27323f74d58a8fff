"""Sees what programs outside do to open files, and says so as if a command had done it.

Only files that an editor shows are looked at, by their size and time: a few dozen looks need no kernel resource for
each directory, and work on every file system. Once a second while anything happens at the workbench; the longer nothing
does, the rarer, and never while no file is open: an idle workbench costs nothing. What is found is compared by content,
so what the workbench wrote itself, or a touch, is no news.
"""

import asyncio
from collections.abc import Callable

from fourhands.core.call import Actor
from fourhands.core.errors import FourhandsError
from fourhands.workbench.workbench import Workbench

EVERY_S = 1.0
"""How often it looks while something happens."""

RAREST = 10
"""So many times longer it waits at most while nothing does."""

SLOWER = 1.5

_Look = tuple[int, float] | None


class Watch:
    """Looks at the open files again and again, until it is cancelled; `tell` gets a path and its new version."""

    def __init__(self, bench: Workbench, tell: Callable[[str, str], None], *, every_s: float = EVERY_S) -> None:
        self._bench = bench
        self._tell = tell
        self._files = bench.files(Actor.person())
        self._every_s = every_s
        self.pause_s = every_s
        self._seen: dict[str, _Look] = {}

    async def run(self) -> None:
        """Look for ever."""
        heard = asyncio.Event()
        dispose = self._bench.events.published.subscribe(lambda _: heard.set())
        try:
            while True:
                heard.clear()
                await self.look()
                try:
                    async with asyncio.timeout(self.pause_s if self._bench.state.editors() else None):
                        await heard.wait()
                except TimeoutError:
                    self.pause_s = min(self.pause_s * SLOWER, RAREST * self._every_s)
                else:
                    self.pause_s = self._every_s
                    await asyncio.sleep(self.pause_s)
        finally:
            dispose()

    async def look(self) -> None:
        """Look once at each open file, and tell of those that have another content than their editor knows."""
        quiet = self._bench.writes.since()
        if quiet is None:
            return  # its end is told, and that is when to look
        paths = [editor.path for editor in self._bench.state.editors()]
        if not paths:
            self._seen.clear()
            return
        seen = await asyncio.to_thread(lambda: {path: self._glance(path) for path in paths})
        changed = [path for path in paths if path not in self._seen or seen[path] != self._seen[path]]
        self._seen = seen
        for path in changed:
            version = await asyncio.to_thread(self._version, path)
            if self._bench.writes.since() != quiet:  # what was read may be from before, or not yet told by its writer
                self._seen.pop(path, None)
                continue
            known = {editor.path: editor.version for editor in self._bench.state.editors()}
            if path in known and known[path] != version and version is not None:
                self._tell(path, version)

    def _glance(self, path: str) -> _Look:
        try:
            entry = self._files.stat(path)
            return entry.size, entry.modified
        except (FourhandsError, OSError):
            return None

    def _version(self, path: str) -> str | None:
        try:
            return self._files.version(path)
        except (FourhandsError, OSError):
            return None  # cannot be read just now: the next change of it is seen again
