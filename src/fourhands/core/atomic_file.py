"""A small file of the server's own that is replaced as a whole: it is the old one or the new one, never a part."""

import asyncio
import itertools
import logging
import os
import threading
from pathlib import Path

log = logging.getLogger(__name__)


class AtomicFile:
    """Stores the newest contents of one file. Only the event loop uses it, but for the thread it starts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._order = itertools.count(1)
        self._last = 0
        self._pending: bytes | None = None  # the newest that was given to a thread
        self._lock = threading.Lock()

    def soon(self, data: bytes) -> None:
        """Store in a thread: on some file systems a rename over an old file waits for the disk."""
        self._pending = data
        asyncio.get_running_loop().run_in_executor(None, self._store, data, next(self._order))

    def now(self, data: bytes) -> None:
        """Store before anything else happens."""
        self._pending = None  # older, and too late now
        self._store(data, next(self._order))

    def settle(self) -> None:
        """Store now what a thread has not stored yet."""
        if (data := self._pending) is not None:
            self.now(data)

    def _store(self, data: bytes, number: int) -> None:
        fresh = self.path.with_suffix(".new")
        with self._lock:
            if number < self._last:
                return  # a thread that comes late
            self._last = number
            try:
                with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
                    file.write(data)
                os.replace(fresh, self.path)
                if self._pending is data:
                    self._pending = None
            except OSError as error:
                log.warning("%s could not be saved: %s", self.path.name, error)
