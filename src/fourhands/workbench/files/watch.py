"""A watch over open files: reports what programs outside do to them as if a command had done it.

Only files that an editor shows are checked, by their size and time: a few dozen checks need no kernel resource for
each directory, and work on every file system. Once a second while anything happens at the workbench; the longer nothing
does, the rarer, and never while no file is open: an idle workbench costs nothing. Changes are confirmed by content, so
what the workbench wrote itself, or a touch, is not reported.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

from fourhands.core.errors import FourhandsError
from fourhands.core.event import EventBus
from fourhands.workbench.files.workspace import DirectoryEntry
from fourhands.workbench.files.writes import Writes

EVERY_S = 1.0
"""The interval of checks while something happens."""

RAREST = 10
"""The longest interval while nothing does, as a multiple."""

SLOWER = 1.5

_Look = tuple[int, float] | None


class WatchedFiles(Protocol):
    """The files that are watched; a `Workspace` has these methods. They block and are called in a thread."""

    def stat(self, path: str) -> DirectoryEntry:
        """Return what a path is."""

    def version(self, path: str) -> str:
        """Return the version of a file's content."""


class OpenFile(Protocol):
    """A file that an editor shows, with the version of its content that the editor knows."""

    @property
    def path(self) -> str:
        """Path from the workspace."""

    @property
    def version(self) -> str | None:
        """The version, or None while it is not known."""


class Watch:
    """Checks the open files again and again, until it is cancelled; `tell` gets a path and its new version."""

    def __init__(
        self,
        files: WatchedFiles,
        opened: Callable[[], Iterable[OpenFile]],
        writes: Writes,
        events: EventBus,
        tell: Callable[[str, str], None],
        *,
        every_s: float = EVERY_S,
    ) -> None:
        self._files = files
        self._opened = opened
        self._writes = writes
        self._events = events
        self._tell = tell
        self._every_s = every_s
        self.pause_s = every_s
        self._seen: dict[str, _Look] = {}

    async def run(self) -> None:
        """Check until cancelled."""
        heard = asyncio.Event()
        dispose = self._events.published.subscribe(lambda _: heard.set())
        try:
            while True:
                heard.clear()
                await self.look()
                try:
                    async with asyncio.timeout(self.pause_s if self._opened() else None):
                        await heard.wait()
                except TimeoutError:
                    self.pause_s = min(self.pause_s * SLOWER, RAREST * self._every_s)
                else:
                    self.pause_s = self._every_s
                    await asyncio.sleep(self.pause_s)
        finally:
            dispose()

    async def look(self) -> None:
        """Check each open file once, and report those with another content than their editor knows."""
        quiet = self._writes.since()
        if quiet is None:
            return  # a write is going on; its end is an event, after which this runs again
        paths = [editor.path for editor in self._opened()]
        if not paths:
            self._seen.clear()
            return
        seen = await asyncio.to_thread(lambda: {path: self._facts(path) for path in paths})
        changed = [path for path in paths if path not in self._seen or seen[path] != self._seen[path]]
        self._seen = seen
        for path in changed:
            version = await asyncio.to_thread(self._version, path)
            if self._writes.since() != quiet:  # what was read may be from before, or not yet told by its writer
                self._seen.pop(path, None)
                continue
            known = {editor.path: editor.version for editor in self._opened()}
            if path in known and known[path] != version and version is not None:
                self._tell(path, version)

    def _facts(self, path: str) -> _Look:
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
