"""What an agent needs to go on after a restart of the server, whether that came as planned or as kill -9.

Each agent has a file of its own, written whole: a model's conversation, the results that it has not been told, the
session at an agent's own server. The next agent that is started with the same words takes it up; an agent that is
ended is forgotten.
"""

import contextlib
import json
import logging
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias

import msgspec
from msgspec import Struct

from fourhands.core.ids import ulid
from fourhands.workbench.sessions import CommandResult, Session

MOST = 40
"""How many agents are remembered; those that were heard of last."""

HistoryMessage: TypeAlias = dict[str, str]

log = logging.getLogger(__name__)


class ResumeState(Struct, kw_only=True, rename="camel"):
    """What is kept of one agent."""

    session: str
    spec: str
    history: list[HistoryMessage] = []
    untold: list[CommandResult] = []
    remote: str = ""  # the session at the agent's own server


class ResumeFile:
    """One agent's; `before` is what an earlier run of the server left of it."""

    def __init__(self, file: Path, session: Session, spec: str, before: ResumeState | None) -> None:
        self.before = before
        self._file = file
        self._session = session
        self._spec = spec

    def keep(
        self, *, history: Iterable[HistoryMessage] = (), untold: Iterable[CommandResult] = (), remote: str = ""
    ) -> None:
        """Write down how things are now."""
        made = ResumeState(
            session=self._session.id, spec=self._spec, history=list(history), untold=list(untold), remote=remote
        )
        fresh = self._file.with_suffix(".new")
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
                # The standard library's form of JSON has words for half a surrogate pair and for numbers of any size.
                file.write(json.dumps(msgspec.to_builtins(made, enc_hook=repr), default=repr).encode())
            os.replace(fresh, self._file)
        except (OSError, ValueError, RecursionError) as error:
            log.warning("what %s needs to go on cannot be written to %s: %s", self._session.name, self._file, error)
            with contextlib.suppress(OSError):
                fresh.unlink()

    def forget(self) -> None:
        """The agent is gone for good."""
        with contextlib.suppress(OSError):
            self._file.unlink()


class ResumeFiles:
    """Those of one workspace, in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._left = self._load()  # of an earlier run, the newest last

    def of(self, session: Session, spec: str) -> ResumeFile:
        """The memory of an agent that begins: its own from before, or that of one started with the same words."""
        kin = [file for file, left in self._left.items() if left.spec == spec]
        file = next((file for file in kin if self._left[file].session == session.id), kin[-1] if kin else None)
        if file is None:
            return ResumeFile(self._directory / f"{ulid()}.json", session, spec, None)
        return ResumeFile(file, session, spec, self._left.pop(file))

    def _load(self) -> dict[Path, ResumeState]:
        found: list[tuple[float, Path]] = []
        with contextlib.suppress(OSError):
            found = sorted((file.stat().st_mtime, file) for file in self._directory.glob("*.json"))
        for _, file in found[:-MOST]:
            with contextlib.suppress(OSError):
                file.unlink()
        loaded: dict[Path, ResumeState] = {}
        for _, file in found[-MOST:]:
            try:
                loaded[file] = msgspec.convert(json.loads(file.read_bytes()), ResumeState)
            except (OSError, ValueError, RecursionError) as error:  # what has the wrong form is a ValueError too
                log.warning("what an agent needs to go on cannot be read from %s: %s", file, error)
        return loaded
