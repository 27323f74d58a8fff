"""Consent that outlives the server, in a file."""

import asyncio
import logging
from pathlib import Path

import msgspec

from fourhands.core.atomic_file import AtomicFile
from fourhands.core.call import Scope
from fourhands.core.errors import Unavailable

log = logging.getLogger(__name__)


class FileConsentStore:
    """Remembered consent by how an agent came. Read when it is made, written by a thread; belongs to the event loop.

    A change counts at once, and its call returns when it is stored. One that could not be stored is told of, since the
    file is what counts after a restart, and is stored with the next.
    """

    def __init__(self, path: Path) -> None:
        self._file = AtomicFile(path)
        self._agents: dict[str, frozenset[Scope]] = {}
        self._saved: bytes | None = None  # the contents of the file, where they are known
        self._saving = asyncio.Lock()
        try:
            self._agents = msgspec.json.decode(path.read_bytes(), type=dict[str, frozenset[Scope]])
            self._saved = self._encoded()
        except FileNotFoundError:
            self._saved = self._encoded()
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            log.warning("cannot read remembered consent, so it is asked for again: %s", error)

    def remembered(self, bond: str) -> frozenset[Scope]:
        """Return what this agent may do in every session; nothing if it is not known."""
        return self._agents.get(bond, frozenset())

    async def remember(self, bond: str, scopes: frozenset[Scope]) -> None:
        """Store what this agent may do in every session. Raises `Unavailable` if it cannot be stored."""
        self._agents[bond] = scopes
        await self._save()

    async def forget(self, bond: str) -> None:
        """Drop what is stored for this agent. Raises `Unavailable` if that cannot be stored."""
        self._agents.pop(bond, None)
        await self._save()

    async def _save(self) -> None:
        async with self._saving:
            data = self._encoded()
            if data == self._saved:
                return
            self._saved = None
            try:
                await self._file.save(data)
            except OSError as error:
                raise Unavailable(
                    f"cannot store remembered permissions: {error.strerror}",
                    hint="they hold until the server restarts, then the earlier ones are back; try again",
                ) from error
            self._saved = data

    def _encoded(self) -> bytes:
        return msgspec.json.encode(self._agents, order="deterministic")
