"""Agent sessions as the workbench knows them: who they are, their settings, and what came of their commands.

Connectors live above; here is the state that commands and instructions need. A chat reset keeps the settings and
clears the rest. The last 20 results are kept for looking; what has not been told to the model yet is kept until it is.
"""

import contextlib
import os
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec
from msgspec import Struct

from fourhands.core.atomic_file import AtomicFile
from fourhands.core.call import Actor, Call, Result, Scope
from fourhands.core.consent import Arrival
from fourhands.core.errors import BadArgument, LimitReached, NotFound
from fourhands.core.ids import is_id, new_id
from fourhands.settings import AgentDefaults, BashSettings, PersistentSettings
from fourhands.settings.models import ToolMode

_T = TypeVar("_T")

PREFIX = "session"
KEPT_RESULTS = 20
UNTOLD_RESULTS = 200


class SessionSettings(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """An agent's own settings; None means the default. It survives a chat reset and can be stored."""

    provider: str | None = None
    crop_output: int | None = None
    timeout_s: float | None = msgspec.field(default=None, name="timeoutSeconds")
    min_interval: float | None = None
    settle_interval: float | None = None
    max_interval: float | None = None
    cwd: str | None = None  # where its programs start, relative to the workspace; None: its root
    mode: ToolMode | None = None  # of a chat model; None: as the settings say

    def over(self, defaults: AgentDefaults) -> AgentDefaults:
        """Merge these settings over the defaults."""
        bash, persistent = defaults.bash, defaults.persistent

        def pick(mine: _T | None, theirs: _T) -> _T:
            return theirs if mine is None else mine

        return msgspec.structs.replace(
            defaults,
            provider=pick(self.provider, defaults.provider),
            bash=BashSettings(
                crop_output=pick(self.crop_output, bash.crop_output), timeout_s=pick(self.timeout_s, bash.timeout_s)
            ),
            persistent=PersistentSettings(
                min_interval=pick(self.min_interval, persistent.min_interval),
                settle_interval=pick(self.settle_interval, persistent.settle_interval),
                max_interval=pick(self.max_interval, persistent.max_interval),
            ),
        )

    def check(self) -> None:
        """Refuse numbers that make no sense."""
        for name in ("crop_output", "timeout_s", "min_interval", "settle_interval", "max_interval"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 10_000_000:
                raise BadArgument(f"{name} must be between 0 and 10000000, not {value!r}")


class CommandResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """One command's outcome as an agent is told of it."""

    number: int
    command_id: str
    args: dict[str, object]
    success: bool
    output: str | None = None
    error: str | None = None
    data: dict[str, object] | None = None
    execution_time: float = 0.0  # milliseconds
    timestamp: float = 0.0
    call_id: str = ""

    @classmethod
    def of(cls, call: Call, result: Result) -> "CommandResult":
        """From what the gate says."""
        return cls(
            number=result.number,
            command_id=call.command,
            args=call.args,
            success=result.success,
            error=None if result.success else (f"{result.error} ({result.hint})" if result.hint else result.error),
            data=result.data or None,
            execution_time=round(result.duration_ms, 3),
            timestamp=time.time(),
            call_id=call.id,
        )


class SessionUsage(Struct, frozen=True, kw_only=True, rename="camel"):
    """The tokens, and the money, that a session's model has used so far, as far as its endpoint tells."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class AgentPlace:
    """The place of an agent's own process, which Fourhands has started.

    `url` is the address by which the process reaches this server, empty if it is the same as for everyone; `proxy` is
    the address of the proxy that leads there, where one is needed.
    """

    isolation: str
    rung: str
    url: str = ""
    proxy: str = ""


@dataclass(slots=True)
class Session:
    """One agent at work."""

    id: str
    name: str
    connector: str
    created: float
    state: SessionSettings = field(default_factory=SessionSettings)
    status: str = "idle"
    results: deque[CommandResult] = field(default_factory=lambda: deque(maxlen=KEPT_RESULTS))
    untold: deque[CommandResult] = field(default_factory=lambda: deque(maxlen=UNTOLD_RESULTS))
    positions: dict[str, int] = field(default_factory=dict)
    seen: dict[str, str] = field(default_factory=dict)
    attached: dict[str, int] = field(default_factory=dict)  # terminals, and up to where it was told of each
    told: dict[str, str] = field(default_factory=dict)  # the state of the workbench as it was last told, in parts
    briefed: frozenset[str] | None = None  # the commands that there were when it was briefed
    ended: bool = False
    named: bool = False  # by its client's configuration, not by the client itself
    kept: bool = False  # its terminals stay when it ends, for the next session of that name
    client: str = ""  # the name by which the client calls itself, where another is configured
    arrival: Arrival = field(default_factory=Arrival)
    place: AgentPlace | None = None
    title: str = ""  # the name that its program has for itself
    spec: str = ""  # the words behind --agent, where it was started here
    fresh: bool = False  # a chat of its own from the start: it does not go on with that of another session
    resumable: bool = False  # its agent goes, and may go on with the chat later
    servers: tuple[dict[str, object], ...] = ()  # further MCP servers, as an editor names them to its agent
    directories: tuple[str, ...] = ()  # further ones to work in, as an editor names them
    usage: SessionUsage | None = None

    @property
    def actor(self) -> Actor:
        """The actor of its calls."""
        return Actor.agent(self.id, self.name)

    def tell(self) -> list[CommandResult]:
        """Return results the model has not seen yet, failures first; each exactly once."""
        fresh = sorted(self.untold, key=lambda result: (result.success, result.number))
        self.untold.clear()
        return fresh

    def reset(self) -> None:
        """Forget results, positions and what was read, for a new chat; settings stay."""
        self.results.clear()
        self.untold.clear()
        self.positions.clear()
        self.seen.clear()
        self.told.clear()
        self.briefed = None


class AttachedTerminal(Struct, frozen=True, kw_only=True, rename="camel"):
    """A terminal that a person attached to a chat."""

    terminal_id: str
    title: str


class SessionInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """A session as others see it."""

    id: str
    name: str
    connector: str
    status: str
    created: float
    state: SessionSettings
    paused: bool = False
    pending: int = 0
    consent: str = "unasked"  # or granted, denied
    scopes: tuple[Scope, ...] = ()  # what it may do, where consent was given
    attached: tuple[AttachedTerminal, ...] = ()
    isolation: str = ""  # of its own process: none, sandbox or container; empty where Fourhands has started none
    rung: str = ""  # the kind of sandbox that this is
    title: str = ""  # what its program calls itself, for people; commands take the name
    client: str = ""  # the name by which its client calls itself, where another is configured
    allowed_by: str = ""  # the configuration that allows its scopes, where no person was asked
    ask_by: str = ""  # page, forms or never, where its questions go one way only
    kept: bool = False  # its terminals stay for the next session of its name
    usage: SessionUsage | None = None  # of a model that Fourhands itself asks


class SessionRecord(Struct, frozen=True, kw_only=True, rename="camel"):
    """The record of a living session, so that the end of the server is not its end."""

    id: str
    name: str
    connector: str
    created: float
    state: SessionSettings
    attached: dict[str, int] = {}
    named: bool = False
    kept: bool = False

    @classmethod
    def of(cls, session: Session) -> "SessionRecord":
        """Return the record of a session."""
        return cls(**{name: getattr(session, name) for name in cls.__struct_fields__})


class Sessions:
    """The agent sessions of a workbench.

    Those that a server left, however it ended, are absent until their agent is back: it shows its token, or comes by
    the same name through the same connector. A session that was ended is neither here nor absent, and never comes back.
    """

    def __init__(self, saved: AtomicFile | None = None, most: int = 1000) -> None:
        self.most = most
        self._sessions: dict[str, Session] = {}
        self._saved = saved
        self._absent = {known.id: known for known in _load(saved)}

    @property
    def absent(self) -> list[str]:
        """The ids of sessions that may still come back."""
        return list(self._absent)

    @property
    def kept(self) -> list[str]:
        """The ids of absent sessions whose terminals wait for the next session of their name."""
        return [known.id for known in self._absent.values() if known.kept]

    def add(self, name: str, connector: str, *, id: str | None = None, named: bool = False) -> Session:
        """Begin a session, or go on with the absent one of this id, else of this name and connector.

        `named` says that the name is one that its client's configuration gave: only such a one goes on with another.
        """
        if id is None:
            who = (name, connector, named)
            kin = (known.id for known in self._absent.values() if (known.name, known.connector, known.named) == who)
            id = next(kin, None) or new_id(PREFIX)
        if id in self._sessions:
            raise BadArgument(f"there is a session {id!r} already")
        if len(self._sessions) >= self.most:
            idle = [f"{one.name} ({one.id})" for one in self._sessions.values() if one.status == "idle"]
            raise LimitReached(
                f"there are {len(self._sessions)} agents' sessions, the limit is {self.most}",
                hint="the person ends one with openspace.agent.end, or raises server.maxSessions"
                + (f"; idle for longest: {', '.join(idle[:3])}" if idle else ""),
            )
        before = self._absent.pop(id, None)
        session = Session(id, name, connector, before.created if before else time.time(), named=named)
        if before is not None:
            session.named, session.kept = before.named, before.kept
            session.state = before.state
            session.attached = dict(before.attached)
        self._sessions[session.id] = session
        self.save()
        return session

    def back(self, id: str) -> tuple[str, str] | None:
        """Return the name and connector of an absent session."""
        known = self._absent.get(id)
        return (known.name, known.connector) if known is not None else None

    def give_up(self, id: str) -> None:
        """Forget an absent session, which will not come back."""
        if self._absent.pop(id, None) is not None:
            self.save()

    def leave(self, id: str) -> Session | None:
        """Let a session go that may come back: it is absent from now on."""
        session = self._sessions.pop(id, None)
        if session is not None:
            session.ended = True
            self._absent[id] = SessionRecord.of(session)
            self.save()
        return session

    def save(self) -> None:
        """Store the sessions that are here and those that may still come back, in a thread."""
        if self._saved is not None:
            here = [SessionRecord.of(session) for session in self]
            self._saved.write_soon(msgspec.json.encode([*here, *self._absent.values()]))

    async def close(self) -> None:
        """Return when everything is stored."""
        if self._saved is not None:
            await self._saved.close()

    def get(self, name: str, asker: str | None = None) -> Session:
        """Return a session by id or name. Of several with that name, the asker's own, else one that has not failed.

        Of these the newest: a person who has just started an agent means that one.
        """
        if name in self._sessions:
            return self._sessions[name]
        named = [] if is_id(name) else [session for session in self._sessions.values() if session.name == name]
        if not named:
            raise NotFound.of("session", name, [f"{session.name} ({session.id})" for session in self])
        return max(named, key=lambda one: (one.id == asker, one.status != "failed", one.created, one.id))

    def find(self, id: str | None) -> Session | None:
        """Return the session of that id, if there is one."""
        return self._sessions.get(id) if id is not None else None

    def arrival(self, id: str) -> Arrival:
        """Return the way by which an agent came; one that is not here came by none."""
        session = self._sessions.get(id)
        return session.arrival if session is not None else Arrival()

    def remove(self, id: str) -> Session | None:
        """Forget a session."""
        session = self._sessions.pop(id, None)
        if session is not None:
            session.ended = True
            self.save()
        return session

    def record(self, call: Call, result: Result) -> None:
        """Keep what came of an agent's call."""
        session = self.find(call.session)
        if session is not None:
            outcome = CommandResult.of(call, result)
            session.results.append(outcome)
            if call.origin == "block":  # through any other door the agent has the answer already
                session.untold.append(outcome)

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._sessions.values()))

    def __len__(self) -> int:
        return len(self._sessions)


FILE = "sessions.json"
"""The file of sessions, in the state directory."""


def end_all(state: str) -> None:
    """End the sessions that no server has: they never come back, and their tokens are no longer valid."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(state, FILE))


def _load(saved: AtomicFile | None) -> list[SessionRecord]:
    """Those of a server that has gone; a file that cannot be read says nothing."""
    try:
        return msgspec.json.decode(saved.path.read_bytes(), type=list[SessionRecord]) if saved is not None else []
    except (OSError, msgspec.DecodeError):
        return []
