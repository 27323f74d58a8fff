"""Consent that outlives the server: which agents may act here in every session."""

import logging
import os
from pathlib import Path

import msgspec

log = logging.getLogger(__name__)


class StoredConsent:
    """A small file of agents' names, 0600, written whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._agents: set[str] = set()
        try:
            self._agents = set(msgspec.json.decode(path.read_bytes(), type=list[str]))
        except FileNotFoundError:
            pass
        except (OSError, msgspec.DecodeError) as error:
            log.warning("remembered consent cannot be read, everybody is asked about again: %s", error)

    def remembered(self, agent: str) -> bool:
        """Say whether this agent may act in every session."""
        return agent in self._agents

    def remember(self, agent: str) -> None:
        """Let it."""
        self._agents.add(agent)
        self._write()

    def forget(self, agent: str) -> None:
        """No longer."""
        if agent in self._agents:
            self._agents.discard(agent)
            self._write()

    def _write(self) -> None:
        fresh = self._path.with_suffix(".new")
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(msgspec.json.encode(sorted(self._agents)))
        os.replace(fresh, self._path)
