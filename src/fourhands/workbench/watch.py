"""Sees what programs outside do to open files, and says so as if a command had done it.

Only files that an editor shows are looked at, by their size and time once a second: a few dozen looks cost nothing,
need no kernel resource for each directory, and work on every file system. What is found is compared by content, so
what the workbench wrote itself, or a touch, is no news.
"""

import asyncio
from collections.abc import Callable

from fourhands.core.call import Actor
from fourhands.core.errors import FourhandsError
from fourhands.workbench.workbench import Workbench

EVERY_S = 1.0

_Look = tuple[int, float] | None


class Watch:
    """Looks at the open files again and again, until it is cancelled; `tell` gets a path and its new version."""

    def __init__(self, bench: Workbench, tell: Callable[[str, str], None], *, every_s: float = EVERY_S) -> None:
        self._bench = bench
        self._tell = tell
        self._files = bench.files(Actor.person())
        self._every_s = every_s
        self._seen: dict[str, _Look] = {}

    async def run(self) -> None:
        """Look for ever."""
        while True:
            await self.look()
            await asyncio.sleep(self._every_s)

    async def look(self) -> None:
        """Look once at each open file, and tell of those that have another content than their editor knows."""
        quiet = self._bench.writes.since()
        if quiet is None:
            return  # in a second it is over
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
