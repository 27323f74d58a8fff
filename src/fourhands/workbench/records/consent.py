"""Consent that outlives the server: what agents may do here in every session."""

import logging
import os
from pathlib import Path

import msgspec

from fourhands.core.call import Scope

log = logging.getLogger(__name__)


class FileConsentStore:
    """A small file of agents' names and what each may do, 0600, written whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._agents: dict[str, frozenset[Scope]] = {}
        try:
            self._agents = msgspec.json.decode(path.read_bytes(), type=dict[str, frozenset[Scope]])
        except FileNotFoundError:
            pass
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            log.warning("remembered consent cannot be read, everybody is asked about again: %s", error)

    def remembered(self, agent: str) -> frozenset[Scope]:
        """Return what this agent may do in every session; nothing if it is not known."""
        return self._agents.get(agent, frozenset())

    def remember(self, agent: str, scopes: frozenset[Scope]) -> None:
        """Let it."""
        self._agents[agent] = scopes
        self._write()

    def forget(self, agent: str) -> None:
        """No longer."""
        if self._agents.pop(agent, None) is not None:
            self._write()

    def _write(self) -> None:
        fresh = self._path.with_suffix(".new")
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(msgspec.json.encode(self._agents, order="deterministic"))
        os.replace(fresh, self._path)
