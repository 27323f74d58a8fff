"""Atomic replacement of a small file: a reader finds the old contents or the new ones, never a part."""

import asyncio
import contextlib
import logging
import os
import threading
from pathlib import Path

log = logging.getLogger(__name__)


class AtomicFile:
    """One small file whose newest contents win, in whatever order threads get to run.

    `write` and `remove` block and raise `OSError`; call them before the event loop runs, or in a thread. The rest is
    for the event loop. `save` writes in a thread and raises `OSError`. `write_soon` and `remove_soon` return at once:
    one thread does the work, contents that are replaced before it starts are never written, and a failure is logged;
    `close` waits for that thread.
    """

    def __init__(self, path: Path, mode: int = 0o600) -> None:
        self.path = path
        self._mode = mode
        self._guard = threading.Lock()  # of the fields below; never held during I/O
        self._number = 0  # of the newest request
        self._waiting: tuple[int, bytes | None] | None = None
        self._working = False
        self._worker: asyncio.Future[None] | None = None
        self._disk = threading.Lock()  # of the file; held during I/O, so never taken on the event loop by `…_soon`
        self._stored = 0  # the number of what is in the file

    def write(self, data: bytes) -> None:
        """Replace the contents before returning. Raises `OSError`."""
        self._store_now(self._next(), data)

    async def save(self, data: bytes) -> None:
        """Replace the contents in a thread before returning. Raises `OSError`."""
        await asyncio.to_thread(self._store_now, self._next(), data)

    def remove(self) -> None:
        """Delete the file before returning; nothing happens where there is none. Raises `OSError`."""
        self._store_now(self._next(), None)

    def write_soon(self, data: bytes) -> None:
        """Replace the contents in a thread. Event loop only."""
        self._begin(data)

    def remove_soon(self) -> None:
        """Delete the file in a thread. Event loop only."""
        self._begin(None)

    async def close(self) -> None:
        """Return when everything asked for has been stored or has failed; the file may be used again afterwards."""
        while self._worker is not None and not self._worker.done():
            await asyncio.shield(self._worker)

    def _next(self) -> int:
        with self._guard:
            self._number += 1
            return self._number

    def _begin(self, data: bytes | None) -> None:
        number, loop = self._next(), asyncio.get_running_loop()
        with self._guard:
            self._waiting = number, data
            if not self._working:
                self._worker = loop.run_in_executor(None, self._work)
                self._working = True

    def _work(self) -> None:
        while True:
            while self._store_waiting():
                pass
            with self._guard:
                if self._waiting is None:
                    self._working = False
                    return

    def _store_waiting(self) -> bool:
        """Store the newest request; False where none waits and none is being stored."""
        with self._disk:
            with self._guard:
                waiting, self._waiting = self._waiting, None
            if waiting is None:
                return False
            try:
                self._store(*waiting)
            except OSError as error:
                log.warning("cannot save %s: %s", self.path, error)
        return True

    def _store_now(self, number: int, data: bytes | None) -> None:
        with self._disk:
            self._store(number, data)

    def _store(self, number: int, data: bytes | None) -> None:
        if number < self._stored:
            return  # something newer was quicker
        if data is None:
            self.path.unlink(missing_ok=True)
        else:
            self._replace(data)
        self._stored = number  # only now: where the newest fails, contents that come late are stored after all

    def _replace(self, data: bytes) -> None:
        fresh = self.path.with_suffix(".new")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
            with open(os.open(fresh, flags, self._mode), "wb") as file:
                file.write(data)
            os.replace(fresh, self.path)
        except OSError:
            with contextlib.suppress(OSError):
                fresh.unlink()
            raise
