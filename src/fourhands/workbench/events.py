"""The events of the workbench itself: agents' sessions, their actions, and the host."""

from msgspec import UNSET, UnsetType

from fourhands.core.call_events import SessionEvent
from fourhands.core.event import EventData
from fourhands.workbench.sessions import SessionInfo, SessionSettings


class SessionStarted(EventData, frozen=True, kw_only=True):
    """An agent has connected, or is here again."""

    event = "agent.started"
    session: SessionInfo


class SessionEnded(SessionEvent, frozen=True, kw_only=True):
    """An agent's session has ended, and what it made is taken away; its chat may be `resumable`."""

    event = "agent.ended"
    name: str
    resumable: bool | UnsetType = UNSET


class AgentReset(SessionEvent, frozen=True, kw_only=True):
    """An agent's chat begins anew."""

    event = "agent.reset"


class AgentStopping(SessionEvent, frozen=True, kw_only=True):
    """A person stops an agent; with `kill`, its programs end and its consent is taken back."""

    event = "agent.stopping"
    kill: bool


class AgentChanged(SessionEvent, frozen=True, kw_only=True):
    """An agent works, is idle or has failed, its settings are others, or its own process has begun or said its name."""

    event = "agent.changed"
    status: str
    state: SessionSettings | UnsetType = UNSET
    title: str | UnsetType = UNSET
    isolation: str | UnsetType = UNSET
    rung: str | UnsetType = UNSET


class AgentNoted(SessionEvent, frozen=True, kw_only=True):
    """A notice for an agent's chat."""

    event = "agent.noted"
    text: str


class AgentAttached(SessionEvent, frozen=True, kw_only=True):
    """A terminal was attached to an agent's chat."""

    event = "agent.attached"
    terminal_id: str
    title: str


class AgentDetached(SessionEvent, frozen=True, kw_only=True):
    """A terminal is no longer attached to an agent's chat; `reason` is empty where a person detached it."""

    event = "agent.detached"
    terminal_id: str
    title: str
    reason: str


class ActionEvent(EventData, frozen=True, kw_only=True):
    """The base of events about what an agent did and a person can undo."""

    call_id: str
    description: str


class ActionDone(ActionEvent, frozen=True, kw_only=True):
    """An agent did something that can be undone."""

    event = "action.done"


class ActionUndone(ActionEvent, frozen=True, kw_only=True):
    """A person undid an agent's action."""

    event = "action.undone"


class ActionRedone(ActionEvent, frozen=True, kw_only=True):
    """A person redid an agent's action."""

    event = "action.redone"


class FileChanged(EventData, frozen=True, kw_only=True):
    """A command has written or removed a file; `version` is null where it is gone."""

    event = "file.changed"
    path: str
    version: str | None


class HostReplaced(EventData, frozen=True, kw_only=True):
    """The terminal host died with these terminals, and another has taken its place."""

    event = "host.replaced"
    text: str
    terminals: list[str]
