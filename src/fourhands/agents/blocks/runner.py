"""Blocks on their way to the gate: one call each, in order, and a way to wait until all of them are done.

Connectors and the proxy hand over what the interceptor took out of an answer. The result of a block is not waited for;
it reaches the model with its next turn. What the interceptor had to drop is a failed result too: the model learns of
it and the person sees a failed step.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

from fourhands.agents.blocks.interceptor import Dropped
from fourhands.agents.blocks.parser import Block
from fourhands.core.call import Call, Result
from fourhands.core.call_events import CallFinished
from fourhands.core.ids import new_id
from fourhands.core.tasks import Tasks
from fourhands.workbench.sessions import CommandResult, Session
from fourhands.workbench.workbench import Workbench


class BlockRunner:
    """Runs the blocks of one agent session."""

    def __init__(self, bench: Workbench, session: Session, tasks: Tasks) -> None:
        self.bench = bench
        self.session = session
        self._tasks = tasks
        self._running: set[asyncio.Task[Any]] = set()

    def run(self, commands: Sequence[Mapping[str, Any]], answer_id: str) -> list[str]:
        """Start these commands, in order, and return the ids of their calls; `answer_id` names the model's answer."""
        calls: list[str] = []
        for command in commands:
            args = command.get("args", {})
            call = Call(
                command=command["cmd"],
                args=args,
                actor=self.session.actor,
                origin="block",
                answer_id=answer_id,
            )
            calls.append(call.id)
            text = command.text if isinstance(command, Block) else ""
            task = self._tasks.start(self.bench.gate.run(call, block=text), f"block {call.command}")
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        return calls

    def dropped(self, dropped: Sequence[Dropped]) -> list[str]:
        """Tell of blocks that could not be read; return ids for them, as calls have."""
        calls: list[str] = []
        for block in dropped:
            error = f"a block was dropped: {block.reason}"
            outcome = CommandResult(
                number=0,
                command_id="(unreadable block)",
                args={},
                success=False,
                error=error,
                timestamp=time.time(),
                call_id=new_id("call"),
            )
            calls.append(outcome.call_id)
            self.session.results.append(outcome)
            self.session.untold.append(outcome)
            told = CallFinished(
                session=self.session.id,
                command="",
                ok=False,
                code="bad-block",
                error=error,
                severity="warning",
                duration_ms=0.0,
            )
            self.bench.events.emit(told, actor=self.session.actor)
        return calls

    async def finished(self) -> list[Result]:
        """Return when everything started so far is done."""
        done: list[Result] = []
        while self._running:
            finished, _ = await asyncio.wait(set(self._running))
            done += [task.result() for task in finished if not task.cancelled()]
        return done

    @property
    def busy(self) -> bool:
        """True while something runs or waits."""
        return bool(self._running)
