"""The traits of models' endpoints, learnt from their refusals, so that each lesson is learnt once.

They are kept in a file of the workspace's state, for a while: a server may learn tools with its next version.
"""

import logging
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fourhands.core.atomic_file import AtomicFile

KEEP_S = 7 * 86_400.0
MOST = 200

log = logging.getLogger(__name__)


class EndpointTraits(Struct, frozen=True, kw_only=True, rename="camel"):
    """The known traits of one endpoint; the defaults are those of an endpoint that has refused nothing."""

    tools: bool = True
    usage: bool = True  # it may be asked for the tokens it used
    newer_limit: bool = False
    context: int = 0  # tokens; 0: not known
    learnt: float = 0.0


class KnownEndpoints:
    """The traits of the endpoints of one workspace, by address and model."""

    def __init__(self, path: Path | None = None, now: Callable[[], float] = time.time) -> None:
        self._file = AtomicFile(path) if path is not None else None
        self._now = now
        self._known = self._load()

    def of(self, name: str) -> EndpointTraits:
        """Return what is known of an endpoint."""
        return self._known.get(name, EndpointTraits())

    def learn(self, name: str, **traits: bool | int) -> None:
        """Remember something of an endpoint. Event loop only."""
        changed = replace(self.of(name), **traits, learnt=self._now())
        self._known.pop(name, None)
        self._known[name] = changed
        while len(self._known) > MOST:
            del self._known[next(iter(self._known))]
        if self._file is not None:
            self._file.write_soon(msgspec.json.encode(self._known))

    async def close(self) -> None:
        """Return when everything is stored."""
        if self._file is not None:
            await self._file.close()

    def _load(self) -> dict[str, EndpointTraits]:
        if self._file is None:
            return {}
        try:
            found = msgspec.json.decode(self._file.path.read_bytes(), type=dict[str, EndpointTraits])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            log.warning("what is known of models in %s cannot be read: %s", self._file.path, error)
            return {}
        oldest = self._now() - KEEP_S
        return {name: traits for name, traits in found.items() if traits.learnt > oldest}
