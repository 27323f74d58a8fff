"""Consent that outlives the server, in a file."""

import logging
from pathlib import Path

import msgspec

from fourhands.core.atomic_file import AtomicFile
from fourhands.core.call import Scope

log = logging.getLogger(__name__)


class FileConsentStore:
    """Remembered consent by the agent's name. Read when it is made, written by a thread; belongs to the event loop."""

    def __init__(self, path: Path) -> None:
        self._file = AtomicFile(path)
        self._agents: dict[str, frozenset[Scope]] = {}
        try:
            self._agents = msgspec.json.decode(path.read_bytes(), type=dict[str, frozenset[Scope]])
        except FileNotFoundError:
            pass
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            log.warning("cannot read remembered consent, so it is asked for again: %s", error)

    def remembered(self, agent: str) -> frozenset[Scope]:
        """Return what this agent may do in every session; nothing if it is not known."""
        return self._agents.get(agent, frozenset())

    def remember(self, agent: str, scopes: frozenset[Scope]) -> None:
        """Store what this agent may do in every session."""
        self._agents[agent] = scopes
        self._write()

    def forget(self, agent: str) -> None:
        """Drop what is stored for this agent."""
        if self._agents.pop(agent, None) is not None:
            self._write()

    async def close(self) -> None:
        """Return when everything is stored."""
        await self._file.close()

    def _write(self) -> None:
        self._file.write_soon(msgspec.json.encode(self._agents, order="deterministic"))
