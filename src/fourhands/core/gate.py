"""The gate: the one function that every call passes, and the only place that decides permission.

In this order: structure, namespace, schema, actor, limits (the slot in the queue is taken here, so that a question
never changes the order); then, when its turn comes, consent, approval, handler, journal (refusals too), feedback.
Consent, approval and limits concern agents; a person's calls need no approval and never wait behind an agent's.
Block markers are broken in an agent's results and mended in its arguments (`quote.py`).

A command that makes further calls on an agent's behalf gives them the origin "python": a block that waits for a block
of its own session would wait for ever.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import msgspec
from msgspec import field
from msgspec.structs import replace

from fourhands.core import schema
from fourhands.core.approval import PERMIT_S, PREVIEW_S, Approval, Policy
from fourhands.core.call import Call, Decision, JournalEntry, Result, Scope
from fourhands.core.call_events import (
    AgentConsented,
    AgentPaused,
    AgentResumed,
    CallsStopped,
    call_finished,
    call_started,
)
from fourhands.core.call_structure import ID_LENGTH, structure_problem
from fourhands.core.consent import AllowRules, Arrival, Consent, ConsentState, ConsentStore, MemoryConsentStore
from fourhands.core.context import CallContext
from fourhands.core.effects import Effects, Undo
from fourhands.core.errors import BadArgument, Denied, FourhandsError, HandNeeded
from fourhands.core.event import EventBus
from fourhands.core.question import Questions
from fourhands.core.queue import QueueLimits, SessionQueue, Sleep
from fourhands.core.quote import Given, broken, mended
from fourhands.core.registry import NAMESPACE, Command, Registry

Results = Callable[[Call, Result], None]
UndoSink = Callable[[Call, Sequence[Undo]], None]
ResultSource = Callable[[Call], str]
ResultNotes = Callable[[str], list[str]]
"""Returns what a session has not been told of its programs' network, each once."""
BeforeCall = Callable[[Call, Command, Decision], Awaitable[tuple[str, str]]]
"""Is waited for before an agent's call runs, and returns the call's turn and checkpoint."""
BeforeReview = Callable[[Call, Command], Awaitable[None]]
"""Is waited for before an agent's call is assessed: what the policy has to know without waiting."""

log = logging.getLogger(__name__)


class GateSettings(QueueLimits, frozen=True, kw_only=True, rename="camel"):
    """The gate's settings: queue limits, the time to answer about an unknown command, and if consent is required."""

    unknown_s: float = field(default=10.0, name="unknownSeconds")
    consent: bool = True


class JournalSink(Protocol):
    """Storage for calls; `workbench/records/journal.py` is the real one."""

    def note(self, entry: JournalEntry) -> None:
        """Queue an entry for storage without waiting."""

    async def record(self, entry: JournalEntry) -> None:
        """Store an entry; returning means stored."""

    async def keep(self, call_id: str, path: str, content: bytes | None) -> None:
        """Store the contents of a file before a call changes it; returning means stored."""


class Gate:
    """The gate of one workbench; a person's commands read and change `consent` and `rules`."""

    def __init__(
        self,
        registry: Registry,
        bench: object,
        questions: Questions,
        journal: JournalSink,
        policy: Policy,
        settings: GateSettings,
        events: EventBus,
        *,
        results: Results | None = None,
        undo_sink: UndoSink | None = None,
        store: ConsentStore | None = None,
        before_call: BeforeCall | None = None,
        before_review: BeforeReview | None = None,
        arrival: Callable[[str, str], Arrival] = lambda session, agent: Arrival(agent),
        source: ResultSource = lambda call: f"what {call.command} returned",
        notes: ResultNotes = lambda session: [],
        now: Callable[[], float] = time.time,
        sleep: Sleep = asyncio.sleep,
        preview_s: float = PREVIEW_S,
        permit_s: float = PERMIT_S,
    ) -> None:
        self.settings = settings
        self.rules = AllowRules()
        self.given = Given()
        self.consent = Consent(questions, store or MemoryConsentStore(), self._consented, arrival)
        self.approval = Approval(policy, questions, self.rules, preview_s=preview_s, permit_s=permit_s)
        self._registry = registry
        self._bench = bench
        self._journal = journal
        self._events = events
        self._results = results
        self._undo_sink = undo_sink
        self._before_call = before_call
        self._before_review = before_review
        self._source = source
        self._notes = notes
        self._now = now
        self._sleep = sleep
        self._queues: dict[str, SessionQueue] = {}
        self._numbers: dict[str, int] = {}

    async def run(self, call: Call, *, block: str = "") -> Result:
        """Pass one call and return its result; nothing is raised but the cancellation of the caller itself.

        `block` is the text of the block that an agent's call came in.
        """
        context = self._receive(call, block)
        task = asyncio.current_task()
        cancels = task.cancelling() if task else 0
        try:
            try:
                result = await self._pass(context)
            except asyncio.CancelledError as error:
                if task is not None and task.cancelling() > cancels:
                    self._abandon(context)
                    raise
                result = self._failure(context, error)  # something inside was cancelled, not the caller
            except Exception as error:  # noqa: BLE001 - logged with the call in _failure
                result = self._failure(context, error)
            return await self._conclude(context, result)
        finally:
            if context.queue is not None and context.slot is not None:
                context.queue.leave(context.slot)
                self._sweep(context.queue)

    async def permit(self, call: Call) -> Decision:
        """Decide about a call that an agent's own door asks about before it comes; it comes to `run` later.

        Nothing runs and nothing is recorded. A person is asked as `run` would ask them, and what they allow is not
        asked about again if the very same call comes soon. Raises what `run` would return as a failure.
        """

        async def keep(path: str, content: bytes | None) -> None:
            raise TypeError("a call that has not come changes nothing")

        context = CallContext(call=call, asked=self._now(), number=0, effects=Effects(keep))
        self._check(context)
        command = context.command
        assert command is not None
        if self.settings.consent:
            await self.consent.require(context.call, command.scope)
        if self._before_review is not None:
            await self._before_review(context.call, command)
        await self.approval.permit(context)
        return context.verdict

    async def record(self, call: Call, result: Result, verdict: Decision | None = None) -> Result:
        """Store and report a call that was decided before the gate: refused at a door, or done by one."""
        context = self._receive(call, "")
        context.verdict = verdict or context.verdict
        context.command = self._registry.get(call.command) if call.command in self._registry else None
        return await self._conclude(context, result)

    def pause(self, session: str) -> None:
        """Start nothing of this session until `resume`. Calls that run continue, those that wait keep their slots."""
        self._queue(session).pause()
        self._events.emit(AgentPaused(session=session))

    def resume(self, session: str) -> None:
        """Start calls again after `pause`."""
        self._queue(session).resume()
        self._events.emit(AgentResumed(session=session))

    @property
    def queues(self) -> int:
        """The number of sessions that have a queue; one that has ended has none once its last call has left."""
        return len(self._queues)

    def paused(self, session: str) -> bool:
        """Return True if the session is paused."""
        return session in self._queues and self._queues[session].paused

    def pending(self, session: str) -> int:
        """Return the number of the session's calls that wait or run."""
        return len(self._queues[session]) if session in self._queues else 0

    def stop(self, session: str, reason: str = "stopped by the person") -> int:
        """Drop the calls that wait and cancel those that run, each with the result `stopped`; consent stays.

        Returns how many calls were stopped.
        """
        count = self._queues[session].stop(reason) if session in self._queues else 0
        self._events.emit(CallsStopped(session=session, count=count))
        return count

    def end(self, session: str) -> None:
        """Stop a session for good; drop its consent and rules, and its numbers once its last call has left."""
        self.consent.end(session)
        self.rules.end(session)
        self.given.end(session)
        queue = self._queue(session)
        queue.closed = True
        queue.stop("the session has ended")
        self._sweep(queue)

    def restore(self, session: str, number: int) -> None:
        """Continue a session's call numbers after `number`; used after a restart of the server."""
        self._numbers[session] = max(number, self._numbers.get(session, 0))

    def _consented(self, session: str, state: ConsentState, scopes: tuple[Scope, ...]) -> None:
        by = self.consent.configured(session)
        self._events.emit(AgentConsented(session=session, consent=state, scopes=list(scopes), allowed_by=by))

    def _receive(self, call: Call, block: str) -> CallContext:
        async def keep(path: str, content: bytes | None) -> None:
            await self._journal.keep(call.id, path, content)

        session = call.session or ""  # people share one count
        number = self._numbers[session] = self._numbers.get(session, 0) + 1
        stood = self.given.where(session, block) if block else ""
        verdict = Decision(choice="signed", by=call.signed) if call.signed else Decision()
        return CallContext(
            call=call, asked=self._now(), number=number, effects=Effects(keep), stood=stood, verdict=verdict
        )

    async def _pass(self, context: CallContext) -> Result:
        self._check(context)
        call = context.call
        if call.actor.kind != "agent":
            return await self._handle(context)
        context.queue = queue = self._queue(call.actor.id)
        context.slot = slot = queue.enter(call, self.settings)
        async with slot.scope():
            await queue.turn(slot, self.settings.gap_s)
            if self.settings.consent:
                assert context.command is not None
                await self.consent.require(call, context.command.scope)
            if self._before_review is not None and context.command is not None:
                await self._before_review(call, context.command)
            await self.approval.require(context, self.settings.unknown_s)
            if self._before_call is not None and context.command is not None:
                context.turn, context.checkpoint = await self._before_call(call, context.command, context.verdict)
            return await self._handle(context)

    def _check(self, context: CallContext) -> None:
        """Check structure, namespace, schema and actor: all that needs no waiting."""
        call = context.call
        problem = structure_problem(call)
        if problem:
            # The journal and the feedback need a call of the right structure, whatever was sent.
            context.call = replace(call, command=ascii(call.command)[:ID_LENGTH], args={})
            raise BadArgument(problem, hint='a call is {"cmd": "openspace.noun.verb", "args": {…}}')
        if call.actor.kind == "agent":
            args = mended(call.args)
            if args is not call.args:
                call = context.call = replace(call, args=args)
        if not call.command.startswith(NAMESPACE):
            raise Denied(
                f"no command outside {NAMESPACE!r}: {call.command!r}", hint="ids look like openspace.file.read"
            )
        command = context.command = self._registry.get(call.command, call.actor.role)
        if command.args_type is not None:
            context.args = schema.decode(call.args, command.args_type)
        elif call.args:
            raise schema.unknown("argument", next(iter(call.args)), ())
        role = call.actor.role
        if role not in command.actors and role != "system":
            who = " or ".join(command.actors)
            raise Denied(f"{command.id} is not for {call.actor.kind}s", hint=f"only a {who} may use it")
        if role == "person" and _needs_hand(command, call) and not _has_hand(call):
            raise HandNeeded.of(command.id, call.actor.kind)

    async def _handle(self, context: CallContext) -> Result:
        call, command, effects = context.call, context.command, context.effects
        assert command is not None
        # So that a crash in mid-command leaves a trace of what was running. Not waited for, and not done at all for
        # a command that is over before anything else can happen, as most are.
        trace = None if command.read_only else asyncio.get_running_loop().call_soon(self._trace, context)
        self._events.emit(call_started(context.recorded, context.number), actor=call.actor)
        start = time.perf_counter()
        try:
            value = await command.invoke(self._bench, context.args, call, effects)
        finally:
            context.duration_ms = (time.perf_counter() - start) * 1000
            if trace is not None:
                trace.cancel()
        data = {} if value is None else msgspec.to_builtins(value, enc_hook=repr)
        if not isinstance(data, dict):
            raise TypeError(f"{command.id} returned {type(value).__name__}, not a struct")
        return Result(success=True, data={**data, **context.noted})

    def _trace(self, context: CallContext) -> None:
        try:
            self._journal.note(
                JournalEntry(
                    call=context.recorded,
                    verdict=context.verdict,
                    number=context.number,
                    asked=context.asked,
                    turn=context.turn,
                    checkpoint_before=context.checkpoint,
                )
            )
        except FourhandsError as error:  # the record at the call's end will fail too, and that one counts
            log.warning("cannot note call %s %s: %s", context.call.id, context.call.command, error)

    def _failure(self, context: CallContext, error: BaseException) -> Result:
        while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]  # a handler's task group wraps even what was raised on purpose
        if isinstance(error, FourhandsError):
            return Result.failure(error)
        call = context.call
        log.error("call %s %s by %s failed", call.id, call.command, call.actor.id, exc_info=error)
        text = f"{call.command} failed unexpectedly"
        return Result(success=False, error=text, code="internal", hint=f"the log has the details under call {call.id}")

    def _abandon(self, context: CallContext) -> None:
        """Store and report a call whose caller has gone. There is no time left to wait."""
        result = Result(success=False, error="the client disconnected", code="cancelled")
        result = self._stamp(context, result)
        self._journal.note(self._entry(context, result))
        self._tell(context, result, self._quoted(context, result))

    async def _conclude(self, context: CallContext, result: Result) -> Result:
        result = self._stamp(context, result)
        try:
            await self._journal.record(self._entry(context, result))
        except Exception:
            log.exception("cannot record call %s %s", context.call.id, context.call.command)
            result = replace(result, recorded=False)
            if context.call.actor.kind == "agent":
                # An agent's action that leaves no trace is not acknowledged. A person must be able to work on, if only
                # to make room on a full disk.
                result = replace(result, success=False, code="unavailable", error="it ran, but could not be recorded")
                result = replace(result, hint="the journal cannot be written; the person must see to it")
        finally:
            quoted = self._quoted(context, result)
            self._tell(context, result, quoted)
        return quoted

    def _stamp(self, context: CallContext, result: Result) -> Result:
        session = context.call.session
        notes = self._notes(session) if session is not None else []
        return replace(
            result,
            data={**result.data, "network": notes} if notes else result.data,
            duration_ms=context.duration_ms,
            call_id=context.call.id,
            number=context.number,
            isolation=context.effects.isolation,
        )

    def _entry(self, context: CallContext, result: Result) -> JournalEntry:
        return JournalEntry(
            call=context.recorded,
            verdict=context.verdict,
            number=context.number,
            result=result,
            asked=context.asked,
            finished=self._now(),
            turn=context.turn,
            checkpoint_before=context.checkpoint,
        )

    def _quoted(self, context: CallContext, result: Result) -> Result:
        """Return the result as its caller may see it: an agent's has its block markers broken."""
        call, command = context.call, context.command
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

    def _tell(self, context: CallContext, result: Result, quoted: Result) -> None:
        call, undos = context.call, context.effects.undos
        try:
            if undos and call.actor.kind == "agent" and self._undo_sink is not None:
                self._undo_sink(call, undos)
            if call.actor.kind == "agent" and self._results is not None:
                self._results(replace(call, args=broken(call.args)), quoted)
        except Exception:
            log.exception("cannot pass on the result of call %s %s", call.id, call.command)
        # Arguments are left out: they may be secret.
        outcome = "done" if result.success else f"{result.code}: {result.error}"
        log.debug("%s of %s (%s): %s, %.1f ms", call.command, call.actor.id, call.origin, outcome, result.duration_ms)
        self._events.emit(
            call_finished(context.recorded, context.number, result, edge=context.effects.edge), actor=call.actor
        )

    def _queue(self, session: str) -> SessionQueue:
        if session not in self._queues:
            self._queues[session] = SessionQueue(session, self._sleep)
        return self._queues[session]

    def _sweep(self, queue: SessionQueue) -> None:
        if queue.closed and not queue and self._queues.get(queue.session) is queue:
            del self._queues[queue.session]
            self._numbers.pop(queue.session, None)


def _needs_hand(command: Command, call: Call) -> bool:
    if isinstance(command.hand, bool):
        return command.hand
    return any(call.args.get(name) is not None for name in command.hand)


def _has_hand(call: Call) -> bool:
    """Return True if a person's hand made this call: their browser's key signed it, or this very process made it."""
    return call.actor.kind == "person" and (bool(call.signed) or call.origin == "python")
