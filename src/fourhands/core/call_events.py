"""The events of the gate: calls that start and finish, and sessions that are paused, stopped or given consent."""

from collections.abc import Mapping

import msgspec
from msgspec import UNSET, UnsetType

from fourhands.core import schema
from fourhands.core.call import Call, CallOrigin, Result, Scope, Severity
from fourhands.core.consent import ConsentState
from fourhands.core.event import EventData
from fourhands.core.text import truncate

_TOLD_ARGS = 8192  # bytes of arguments that an event carries whole
_TOLD_TEXT = 200


class SessionEvent(EventData, frozen=True, kw_only=True):
    """The base of events about one agent's session."""

    session: str


class AgentPaused(SessionEvent, frozen=True, kw_only=True):
    """An agent's calls wait until it is resumed."""

    event = "agent.paused"


class AgentResumed(SessionEvent, frozen=True, kw_only=True):
    """An agent's calls run again."""

    event = "agent.resumed"


class CallsStopped(SessionEvent, frozen=True, kw_only=True):
    """An agent's calls were dropped or cancelled."""

    event = "agent.stopped"
    count: int


class AgentConsented(SessionEvent, frozen=True, kw_only=True):
    """The consent of an agent is another: a person has given or revoked it, or its client's configuration gives it."""

    event = "agent.consented"
    consent: ConsentState
    scopes: list[Scope]
    allowed_by: str = ""  # the configuration that gives it, in words


class CallStarted(EventData, frozen=True, kw_only=True):
    """A command has started; `argsCut` is set where its arguments were shortened."""

    event = "call.started"
    call_id: str
    command: str
    session: str | None
    origin: CallOrigin
    number: int
    args: dict[str, object]
    args_cut: bool | UnsetType = UNSET


class CallFinished(EventData, frozen=True, kw_only=True):
    """A command has finished. A block that could not be read never was a call: it has no id and no arguments."""

    event = "call.finished"
    command: str
    session: str | None
    ok: bool
    code: str
    error: str
    severity: Severity
    duration_ms: float
    call_id: str | UnsetType = UNSET
    origin: CallOrigin | UnsetType = UNSET
    number: int | UnsetType = UNSET
    args: dict[str, object] | UnsetType = UNSET
    args_cut: bool | UnsetType = UNSET
    recorded: bool | UnsetType = UNSET
    edge: bool | UnsetType = UNSET  # it may have failed because something lies outside the sandbox


def call_started(call: Call, number: int) -> CallStarted:
    """Return the event of a call that starts."""
    args, cut = _arguments(call)
    return CallStarted(
        call_id=call.id,
        command=call.command,
        session=call.session,
        origin=call.origin,
        number=number,
        args=args,
        args_cut=cut,
    )


def call_finished(call: Call, number: int, result: Result, *, edge: bool = False) -> CallFinished:
    """Return the event of a call that has this result."""
    args, cut = _arguments(call)
    return CallFinished(
        call_id=call.id,
        command=call.command,
        session=call.session,
        origin=call.origin,
        number=number,
        args=args,
        args_cut=cut,
        ok=result.success,
        code=result.code,
        error=result.error,
        severity=result.severity,
        duration_ms=result.duration_ms,
        recorded=result.recorded,
        edge=edge or UNSET,
    )


def _arguments(call: Call) -> tuple[dict[str, object], bool | UnsetType]:
    """Return a call's arguments and True if they were shortened.

    Whole files must not crowd other events out of a subscriber's backlog; the journal has them.
    """
    if _tellable(call.args):
        return dict(call.args), UNSET
    return {name: _short(value) for name, value in call.args.items()}, True


def _tellable(args: Mapping[str, object]) -> bool:
    try:
        return len(msgspec.json.encode(args, enc_hook=repr)) <= _TOLD_ARGS
    except (TypeError, ValueError, OverflowError, RecursionError):  # lone surrogates, huge numbers
        return False


def _short(value: object) -> object:
    if isinstance(value, str):
        return truncate(value.encode("utf-8", "replace").decode(), _TOLD_TEXT)
    return value if isinstance(value, bool | float | None) else schema.show(value)
