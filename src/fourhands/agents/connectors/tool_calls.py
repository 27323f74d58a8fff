"""The tool calls of a chat model's answer: each is a call of its session through the gate, one after the other.

Each gets one result, whatever becomes of it: what came of the command, why it could not be understood, or that it was
not run. What was not understood is a failed step for the person, as an unreadable block is.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fourhands.agents.models.dialects.calls import ToolCall
from fourhands.agents.models.history import ToolFunction
from fourhands.commands.toolset import CORE, command_of, result_text, toolset
from fourhands.core.call import Call, Result
from fourhands.core.call_events import CallFinished
from fourhands.core.errors import FourhandsError
from fourhands.core.queue import QueueLimits
from fourhands.core.quote import broken
from fourhands.core.tasks import Tasks
from fourhands.core.text import truncate_middle
from fourhands.workbench.sessions import CommandResult, Session
from fourhands.workbench.workbench import Workbench

MOST = QueueLimits().per_answer
"""Calls of one answer that run."""

MOST_RESULT = 60_000
"""Characters of one result; commands shorten theirs before."""

OVER = f"not run: limit of {MOST} calls in one answer; read the results, then call it again if it is still wanted"
CUT = "not run: your answer was cut off in the middle of this call; make it again, in smaller pieces"

_Running: TypeAlias = "tuple[ToolCall, asyncio.Task[Result]]"

log = logging.getLogger(__name__)


def functions(bench: Workbench, wanted: Sequence[str] = (CORE,)) -> tuple[ToolFunction, ...]:
    """Return the tools that a model is told of."""
    specs = toolset(bench.registry, wanted)
    return tuple(ToolFunction(one.name, one.description, dict(one.parameters)) for one in specs)


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcome of one call: the text that the model reads, and whether it succeeded or was stopped by the person."""

    call_id: str
    text: str
    ok: bool
    stopped: bool = False


class ToolRunner:
    """Runs the tool calls of one agent session."""

    def __init__(self, bench: Workbench, session: Session, tasks: Tasks) -> None:
        self._bench = bench
        self._session = session
        self._tasks = tasks

    async def run(self, calls: Sequence[ToolCall], answer_id: str) -> AsyncIterator[CallOutcome]:
        """Run calls, one after the other; yield the outcome of each, in their order."""
        # All wait in the session's queue at once, as blocks do, so that a person's stop drops those that wait.
        for outcome in [self._start(call, answer_id, number) for number, call in enumerate(calls)]:
            if isinstance(outcome, CallOutcome):
                yield outcome
            else:
                yield await self._outcome(*outcome)

    def _start(
        self, call: ToolCall, answer_id: str, number: int
    ) -> CallOutcome | tuple[ToolCall, "asyncio.Task[Result]"]:
        """Begin a call, or say why it does not run."""
        if call.problem:
            return self._refused(call, CUT if call.cut else f"not run: {call.problem}")
        if number > MOST:  # the first one too many goes to the gate, which refuses it and writes that down
            return CallOutcome(call.id, OVER, ok=False)
        try:
            command = command_of(self._bench.registry, call.name)
        except FourhandsError as error:
            return self._refused(call, f"not run: {error.message}" + (f"\nhint: {error.hint}" if error.hint else ""))
        made = Call(
            command=command, args=call.arguments, actor=self._session.actor, origin="model", answer_id=answer_id
        )
        # A task of its own: where the turn is cancelled, the gate's own stop ends the call, with the right reason.
        return call, self._tasks.start(self._bench.gate.run(made), f"tool {call.name}")

    async def _outcome(self, call: ToolCall, task: "asyncio.Task[Result]") -> CallOutcome:
        await asyncio.wait([task])
        done = task.result()
        registry = self._bench.registry
        id = command_of(registry, call.name)
        text = result_text(registry.get(id) if id in registry else None, done)
        if done.code == "limit" and not done.success:
            text = f"not run: {text}"
        return CallOutcome(call.id, truncate_middle(text, MOST_RESULT), ok=done.success, stopped=done.code == "stopped")

    def _refused(self, call: ToolCall, why: str) -> CallOutcome:
        self._tell(call, why)
        return CallOutcome(call.id, broken(why), ok=False)

    def _tell(self, call: ToolCall, error: str) -> None:
        """Tell the person of a call that could not be understood."""
        log.warning("%s: tool call %r: %s", self._session.id, call.name, error)
        outcome = CommandResult(
            number=0, command_id=call.name or "(no name)", args={}, success=False, error=error, timestamp=time.time()
        )
        self._session.results.append(outcome)
        told = CallFinished(
            session=self._session.id,
            command="",
            ok=False,
            code="bad-call",
            error=f"{call.name or 'a tool without a name'}: {error}",
            severity="warning",
            duration_ms=0.0,
        )
        self._bench.events.emit(told, actor=self._session.actor)
