"""The one function that every call passes, and the only place that decides permission.

In this order: structure, namespace, schema, who may, limits (the place in the line is taken here, so that a question
never changes the order); then, when its turn comes, consent, safety verdict, handler, journal (refusals too), feedback.
Consent, verdict and limits concern agents; a person's calls are not asked about and never wait behind an agent's.
What an agent is given has its block markers broken here, and its arguments have them mended (`quote.py`).

A command that makes further calls on an agent's behalf gives them the origin "python": a block that waits for a block
of its own session would wait for ever.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, get_args

import msgspec
from msgspec import field
from msgspec.structs import replace

from fourhands.core import schema
from fourhands.core.approval import Approval, Policy
from fourhands.core.call import ActorKind, Call, CallOrigin, JournalEntry, Result, Scope
from fourhands.core.call_events import (
    AgentConsented,
    AgentPaused,
    AgentResumed,
    CallsStopped,
    call_finished,
    call_started,
)
from fourhands.core.consent import AllowRules, Consent, ConsentState, ConsentStore, MemoryConsentStore
from fourhands.core.context import CallContext
from fourhands.core.effects import Effects, Undo
from fourhands.core.errors import BadArgument, Denied, FourhandsError
from fourhands.core.event import EventBus
from fourhands.core.question import Questions
from fourhands.core.queue import QueueLimits, SessionQueue, Sleep
from fourhands.core.quote import Given, broken, mended
from fourhands.core.registry import NAMESPACE, Registry

Results = Callable[[Call, Result], None]
UndoSink = Callable[[Call, Sequence[Undo]], None]
ResultSource = Callable[[Call], str]

log = logging.getLogger(__name__)
_ID_LENGTH = 200
_NESTING = 64
_BREADTH = 1_000_000

CONCEALED = "[not kept]"
"""What the journal and events have in place of an argument that may be a person's secret."""


class GateSettings(QueueLimits, frozen=True, kw_only=True, rename="camel"):
    """What the gate can be told: the limits, the time to answer about an unknown command, whether consent is asked."""

    unknown_s: float = field(default=10.0, name="unknownSeconds")
    consent: bool = True


class JournalSink(Protocol):
    """Where calls are kept; `workbench/records/journal.py` is the real one."""

    def note(self, entry: JournalEntry) -> None:
        """Store soon, without waiting."""

    async def record(self, entry: JournalEntry) -> None:
        """Store; returning means stored."""

    async def keep(self, call_id: str, path: str, content: bytes | None) -> None:
        """Store what a file held before the call changes it; returning means stored."""


class Gate:
    """The gate of one workbench; `consent` and `rules` may be looked at and changed by the person's commands."""

    def __init__(
        self,
        registry: Registry,
        bench: object,
        questions: Questions,
        journal: JournalSink,
        judge: Policy,
        settings: GateSettings,
        events: EventBus,
        *,
        results: Results | None = None,
        undo_sink: UndoSink | None = None,
        store: ConsentStore | None = None,
        source: ResultSource = lambda call: f"what {call.command} returned",
        now: Callable[[], float] = time.time,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.settings = settings
        self.rules = AllowRules()
        self.given = Given()
        self.consent = Consent(questions, store or MemoryConsentStore(), self._consented)
        self._confirmation = Approval(judge, questions, self.rules)
        self._registry = registry
        self._bench = bench
        self._journal = journal
        self._events = events
        self._results = results
        self._undo_sink = undo_sink
        self._source = source
        self._now = now
        self._sleep = sleep
        self._lanes: dict[str, SessionQueue] = {}
        self._numbers: dict[str, int] = {}

    async def run(self, call: Call, *, block: str = "") -> Result:
        """Pass one call and return its result; nothing is raised but the cancellation of the caller itself.

        `block` is the text of the block that an agent's call came in.
        """
        passage = self._receive(call, block)
        task = asyncio.current_task()
        cancels = task.cancelling() if task else 0
        try:
            try:
                result = await self._pass(passage)
            except asyncio.CancelledError as error:
                if task is not None and task.cancelling() > cancels:
                    self._abandon(passage)
                    raise
                result = self._failure(passage, error)  # something inside was cancelled, not the caller
            except Exception as error:  # noqa: BLE001 - logged with the call in _failure
                result = self._failure(passage, error)
            return await self._conclude(passage, result)
        finally:
            if passage.lane is not None and passage.ticket is not None:
                passage.lane.leave(passage.ticket)
                self._sweep(passage.lane)

    def pause(self, session: str) -> None:
        """Let nothing of this session start until `resume`; what runs goes on, nothing is lost."""
        self._lane(session).pause()
        self._events.emit(AgentPaused(session=session))

    def resume(self, session: str) -> None:
        """Go on where `pause` held."""
        self._lane(session).resume()
        self._events.emit(AgentResumed(session=session))

    def paused(self, session: str) -> bool:
        """Say whether the session is paused."""
        return session in self._lanes and self._lanes[session].paused

    def pending(self, session: str) -> int:
        """Count the session's calls that wait or run."""
        return len(self._lanes[session]) if session in self._lanes else 0

    def stop(self, session: str, reason: str = "stopped by the person") -> int:
        """Drop what waits and cancel what runs, each with a result that says so; consent stays. Return how many."""
        count = self._lanes[session].stop(reason) if session in self._lanes else 0
        self._events.emit(CallsStopped(session=session, count=count))
        return count

    def end(self, session: str) -> None:
        """Stop a session for good and forget its consent, rules and numbers once its last call has left."""
        self.consent.end(session)
        self.rules.end(session)
        self.given.end(session)
        lane = self._lane(session)
        lane.closed = True
        lane.stop("the session has ended")
        self._sweep(lane)

    def restore(self, session: str, number: int) -> None:
        """Go on counting a session's calls behind `number`, after a restart."""
        self._numbers[session] = max(number, self._numbers.get(session, 0))

    def _consented(self, session: str, state: ConsentState, scopes: tuple[Scope, ...]) -> None:
        self._events.emit(AgentConsented(session=session, consent=state, scopes=list(scopes)))

    def _receive(self, call: Call, block: str) -> CallContext:
        async def keep(path: str, content: bytes | None) -> None:
            await self._journal.keep(call.id, path, content)

        line = call.session or ""  # people share one count
        number = self._numbers[line] = self._numbers.get(line, 0) + 1
        stood = self.given.where(line, block) if block else ""
        return CallContext(call=call, asked=self._now(), number=number, effects=Effects(keep), stood=stood)

    async def _pass(self, passage: CallContext) -> Result:
        self._check(passage)
        call = passage.call
        if call.actor.kind != "agent":
            return await self._handle(passage)
        passage.lane = lane = self._lane(call.actor.id)
        passage.ticket = ticket = lane.enter(call, self.settings)
        async with ticket.scope():
            await lane.turn(ticket, self.settings.gap_s)
            if self.settings.consent:
                assert passage.command is not None
                await self.consent.require(call, passage.command.scope)
            await self._confirmation.require(passage, self.settings.unknown_s)
            return await self._handle(passage)

    def _check(self, passage: CallContext) -> None:
        """Structure, namespace, schema, who may: all that can be said without waiting."""
        call = passage.call
        problem = _structure(call)
        if problem:
            # The journal and the feedback get a call of the right form, whatever was sent.
            passage.call = replace(call, command=ascii(call.command)[:_ID_LENGTH], args={})
            raise BadArgument(problem, hint='a call is {"cmd": "openspace.noun.verb", "args": {…}}')
        if call.actor.kind == "agent":
            args = mended(call.args)
            if args is not call.args:
                call = passage.call = replace(call, args=args)
        if not call.command.startswith(NAMESPACE):
            raise Denied(
                f"no command outside {NAMESPACE!r}: {call.command!r}", hint="ids look like openspace.file.read"
            )
        command = passage.command = self._registry.get(call.command, call.actor.kind)
        if command.args_type is not None:
            passage.args = schema.decode(call.args, command.args_type)
        elif call.args:
            raise schema.unknown("argument", next(iter(call.args)), ())
        if call.actor.kind not in command.actors and call.actor.kind != "system":
            who = " or ".join(command.actors)
            raise Denied(f"{command.id} is not for {call.actor.kind}s", hint=f"only a {who} may use it")

    async def _handle(self, passage: CallContext) -> Result:
        call, command, effects = passage.call, passage.command, passage.effects
        assert command is not None
        # So that a crash in mid-command leaves a trace of what was running. Not waited for, and not done at all for
        # a command that is over before anything else can happen, as most are.
        trace = None if command.read_only else asyncio.get_running_loop().call_soon(self._trace, passage)
        self._events.emit(call_started(_kept(passage), passage.number), actor=call.actor)
        start = time.perf_counter()
        try:
            value = await command.invoke(self._bench, passage.args, call, effects)
        finally:
            passage.duration_ms = (time.perf_counter() - start) * 1000
            if trace is not None:
                trace.cancel()
        data = {} if value is None else msgspec.to_builtins(value, enc_hook=repr)
        if not isinstance(data, dict):
            raise TypeError(f"{command.id} returned {type(value).__name__}, not a struct")
        return Result(success=True, data={**data, **passage.noted})

    def _trace(self, passage: CallContext) -> None:
        try:
            self._journal.note(
                JournalEntry(call=_kept(passage), verdict=passage.verdict, number=passage.number, asked=passage.asked)
            )
        except FourhandsError as error:  # the record at the call's end will fail too, and that one counts
            log.warning("call %s %s could not be noted: %s", passage.call.id, passage.call.command, error)

    def _failure(self, passage: CallContext, error: BaseException) -> Result:
        while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]  # a handler's task group wraps even what was raised on purpose
        if isinstance(error, FourhandsError):
            return Result.failure(error)
        call = passage.call
        log.error("call %s %s by %s failed", call.id, call.command, call.actor.id, exc_info=error)
        text = f"{call.command} failed unexpectedly"
        return Result(success=False, error=text, code="internal", hint=f"the log has the details under call {call.id}")

    def _abandon(self, passage: CallContext) -> None:
        """Keep and tell what is known of a call whose caller has gone; there is no time left to wait."""
        result = Result(success=False, error="the caller went away before the end", code="cancelled")
        result = self._stamp(passage, result)
        self._journal.note(self._entry(passage, result))
        self._tell(passage, result, self._quoted(passage, result))

    async def _conclude(self, passage: CallContext, result: Result) -> Result:
        result = self._stamp(passage, result)
        try:
            await self._journal.record(self._entry(passage, result))
        except Exception:
            log.exception("call %s %s could not be recorded", passage.call.id, passage.call.command)
            result = replace(result, recorded=False)
            if passage.call.actor.kind == "agent":
                # An agent's deed that leaves no trace is not acknowledged. A person must be able to work on, if only
                # to make room on a full disk.
                result = replace(result, success=False, code="unavailable", error="it ran, but could not be recorded")
                result = replace(result, hint="the journal cannot be written; the person must see to it")
        finally:
            quoted = self._quoted(passage, result)
            self._tell(passage, result, quoted)
        return quoted

    def _stamp(self, passage: CallContext, result: Result) -> Result:
        return replace(
            result,
            duration_ms=passage.duration_ms,
            call_id=passage.call.id,
            number=passage.number,
            isolation=passage.effects.isolation,
        )

    def _entry(self, passage: CallContext, result: Result) -> JournalEntry:
        return JournalEntry(
            call=_kept(passage),
            verdict=passage.verdict,
            number=passage.number,
            result=result,
            asked=passage.asked,
            finished=self._now(),
        )

    def _quoted(self, passage: CallContext, result: Result) -> Result:
        """The result as its caller may see it: an agent's has no marker of a block in it."""
        call, command = passage.call, passage.command
        if call.actor.kind != "agent" or (command is not None and command.instructs and result.success):
            return result
        texts = (result.data, result.error, result.hint)
        try:
            data, error, hint = self.given.quote(call.actor.id, texts, self._source(call))
        except RecursionError:
            return replace(
                result, success=False, data={}, code="internal", error="it ran, but its result is nested too deep"
            )
        return replace(result, data=data, error=error, hint=hint)

    def _tell(self, passage: CallContext, result: Result, quoted: Result) -> None:
        call, undos = passage.call, passage.effects.undos
        try:
            if undos and self._undo_sink is not None:
                self._undo_sink(call, undos)
            if call.actor.kind == "agent" and self._results is not None:
                self._results(replace(call, args=broken(call.args)), quoted)
        except Exception:
            log.exception("call %s %s: its result could not be passed on", call.id, call.command)
        # Not what it was called with: that may be a secret.
        outcome = "done" if result.success else f"{result.code}: {result.error}"
        log.debug("%s of %s (%s): %s, %.1f ms", call.command, call.actor.id, call.origin, outcome, result.duration_ms)
        self._events.emit(call_finished(_kept(passage), passage.number, result), actor=call.actor)

    def _lane(self, session: str) -> SessionQueue:
        if session not in self._lanes:
            self._lanes[session] = SessionQueue(session, self._sleep)
        return self._lanes[session]

    def _sweep(self, lane: SessionQueue) -> None:
        if lane.closed and not lane and self._lanes.get(lane.session) is lane:
            del self._lanes[lane.session]
            self._numbers.pop(lane.session, None)


def _kept(passage: CallContext) -> Call:
    """The call as it may be kept and told: without what a person typed where that may be a secret."""
    call, command = passage.call, passage.command
    if command is None or not command.conceals or call.actor.kind == "agent":
        return call
    # A name that is misspelt is concealed too: nobody knows what was meant.
    plain = set(command.args_type.__struct_encode_fields__ if command.args_type else ()) - set(command.conceals)
    args = {name: value if name in plain else CONCEALED for name, value in call.args.items()}
    return replace(call, args=args)


def _structure(call: Call) -> str:
    """Return what is wrong with a call's form, or nothing."""
    if not isinstance(call.command, str) or not call.command.strip():
        return f"the command must be a non-empty text, not {schema.show(call.command)}"
    if len(call.command) > _ID_LENGTH or not call.command.isascii() or not call.command.isprintable():
        return f"the command must be up to {_ID_LENGTH} printable ASCII characters, not {schema.show(call.command)}"
    if not isinstance(call.args, Mapping) or not all(isinstance(name, str) for name in call.args):
        return f"the arguments must be an object, not {schema.show(call.args)}"
    if call.actor.kind not in get_args(ActorKind) or not call.actor.id:
        return f"the actor must be a person, an agent or the system, with an id, not {call.actor}"
    if call.origin not in get_args(CallOrigin):
        return f"the origin must be one of {', '.join(get_args(CallOrigin))}, not {schema.show(call.origin)}"
    level: list[object] = list(call.args.values())
    for _ in range(_NESTING):
        if len(level) > _BREADTH:
            return f"the arguments hold more than {_BREADTH} values on one level"
        level = [inner for value in level for inner in _inside(value)]
        if not level:
            return ""
    return f"the arguments are nested deeper than {_NESTING} levels"


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()
