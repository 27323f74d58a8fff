"""Checkpoints from which agents resume after a server restart or crash.

Each agent has a file of its own, replaced whole, never on the event loop: a model's conversation, the results that it
has not been told, the session at an agent's own server. The next agent that is started with the same words takes it up;
an agent that is ended is forgotten.
"""

import contextlib
import json
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec
from msgspec import Struct

from fourhands.agents.models.history import HistoryMessage
from fourhands.core.atomic_file import AtomicFile
from fourhands.core.ids import ulid
from fourhands.workbench.agent_options import LeftChat
from fourhands.workbench.sessions import CommandResult, Session, SessionUsage

MOST = 40
"""The number of agents that are remembered."""

_LONGEST_TITLE = 200

log = logging.getLogger(__name__)


class ResumeState(Struct, kw_only=True, rename="camel"):
    """The stored state of one agent."""

    session: str
    spec: str
    title: str = ""  # the beginning of the first message
    cwd: str = ""
    history: list[HistoryMessage] = []
    untold: list[CommandResult] = []
    remote: str = ""  # the session at the agent's own server
    chosen: dict[str, str] = {}  # of the agent's own modes and options
    usage: SessionUsage | None = None


class ResumeFile:
    """One agent's file; `before` is the state that an earlier run of the server left in it."""

    def __init__(self, path: Path, session: Session, spec: str, before: ResumeState | None) -> None:
        self.before = before
        self._file = AtomicFile(path)
        self._session = session
        self._spec = spec
        self._title = before.title if before is not None else ""

    def name(self, text: str) -> None:
        """Take the first message of the chat as its title."""
        self._title = self._title or " ".join(text[:_LONGEST_TITLE].split())

    def keep(
        self,
        *,
        history: Iterable[HistoryMessage] = (),
        untold: Iterable[CommandResult] = (),
        remote: str = "",
        chosen: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Store the state soon, in a thread. Event loop only."""
        made = ResumeState(
            session=self._session.id,
            spec=self._spec,
            title=self._title,
            cwd=self._session.state.cwd or "",
            history=list(history),
            untold=list(untold),
            remote=remote,
            chosen=dict(chosen),
            usage=self._session.usage,
        )
        try:
            # The standard library's form of JSON has words for half a surrogate pair and for numbers of any size.
            data = json.dumps(msgspec.to_builtins(made, enc_hook=repr), default=repr).encode()
        except (ValueError, RecursionError) as error:
            log.warning("cannot save the state of %s: %s", self._session.name, error)
        else:
            self._file.write_soon(data)

    def forget(self) -> None:
        """Delete the file soon, in a thread: the agent is gone for good. Event loop only."""
        self._file.remove_soon()

    @property
    def path(self) -> Path:
        """The place of the file."""
        return self._file.path

    async def close(self) -> None:
        """Return when everything asked for has been done."""
        await self._file.close()


class ResumeFiles:
    """The files of one workspace, in a directory; of `most` agents, those that were heard of last."""

    def __init__(self, directory: Path, *, most: int = MOST) -> None:
        self._directory = directory
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            log.warning("cannot make %s: %s", directory, error)
        self._left = self._load(most)  # of an earlier run, the newest last

    def of(self, session: Session, spec: str) -> ResumeFile:
        """Return the file of an agent that begins: its own from before, or that of one started with the same words."""
        kin = [file for file, left in self._left.items() if left.spec == spec]
        another = kin[-1] if kin and not session.fresh else None
        file = next((file for file in kin if self._left[file].session == session.id), another)
        if file is None:
            return ResumeFile(self._directory / f"{ulid()}.json", session, spec, None)
        return ResumeFile(file, session, spec, self._left.pop(file))

    def left(self, spec: str) -> list[LeftChat]:
        """Return the chats of agents that were started with these words and are not here, the newest first."""
        found = [
            LeftChat(session=state.session, title=state.title, cwd=state.cwd, updated=_time_of(file))
            for file, state in self._left.items()
            if state.spec == spec
        ]
        return sorted(found, key=lambda one: one.updated, reverse=True)

    def take_back(self, file: ResumeFile) -> None:
        """Remember an agent that has gone and may come back; its file is stored."""
        if (state := _read(file.path)) is not None:
            self._left[file.path] = state

    def drop(self, session: str) -> bool:
        """Forget an agent that is not here; False where it is not known."""
        found = [file for file, state in self._left.items() if state.session == session]
        for file in found:
            del self._left[file]
            with contextlib.suppress(OSError):
                file.unlink()
        return bool(found)

    def _load(self, most: int) -> dict[Path, ResumeState]:
        found: list[tuple[float, Path]] = []
        with contextlib.suppress(OSError):
            found = sorted((file.stat().st_mtime, file) for file in self._directory.glob("*.json"))
        for _, file in found[:-most]:
            with contextlib.suppress(OSError):
                file.unlink()
        loaded: dict[Path, ResumeState] = {}
        for _, file in found[-most:]:
            if (state := _read(file)) is not None:
                loaded[file] = state
        return loaded


def _read(file: Path) -> ResumeState | None:
    try:
        return msgspec.convert(json.loads(file.read_bytes()), ResumeState)
    except (OSError, ValueError, RecursionError) as error:  # what has the wrong form is a ValueError too
        log.warning("cannot read the state of an agent from %s: %s", file, error)
        return None


def _time_of(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0
