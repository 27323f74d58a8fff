"""Calls that clients have as tasks: each goes on without its request, and its result is kept until somebody comes.

A task is of its agent's session, not of a connection: who comes back with the same token finds it, no other session
does, and it ends with the session. One keeper for all transports of a server; nothing of the SDK is needed here.

A task is never forgotten while it works, nor right after its end, so the time that its client named is the least of
what it is told. The number of those that work is bounded by the session's queue; of the ended ones those go first whose
result was fetched, then the oldest.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

import msgspec

from fourhands.core.bounded import BoundedDict
from fourhands.core.call import Result
from fourhands.core.errors import Conflict, NotFound
from fourhands.core.event import Signal
from fourhands.core.question import Question
from fourhands.core.quote import broken
from fourhands.core.text import one_line
from fourhands.surfaces.mcp.limits import DEFAULT, McpLimits
from fourhands.surfaces.mcp.pending_call import PendingCall
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench

TaskState: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]

Payload: TypeAlias = dict[str, object]
"""The result of a tool in MCP's form, as it is sent."""

UTILITY_VERSION = "2025-11-25"
"""The only revision of the older generation that has tasks."""

CANCELLED = "cancelled by its client"

_MOST_SAID = 300
_REMEMBERED = 256
_LEAST_POLL_S, _MOST_POLL_S = 0.1, 2.0
_POLL_PART = 0.1
"""The part of its age after which a task is worth asking about again."""


class KeptTask:
    """One task: its call while that runs, then its result."""

    def __init__(
        self, exchange: PendingCall, finish: Callable[[Result], Payload], ttl_s: float | None, limits: McpLimits
    ) -> None:
        self.id = exchange.task_id = secrets.token_urlsafe(18)
        self.session = exchange.call.actor.id
        self.exchange: PendingCall | None = exchange  # while it runs: its arguments may be large
        self.state: TaskState = "working"
        self.said = ""
        self.payload: Payload | None = None
        self.done = asyncio.Event()
        self.size = 0
        self.fetched = False
        self.created = self.updated = time.time()
        self.ended: Callable[[], None] | None = None
        """Called once, when it has ended or is forgotten."""
        self.timer: asyncio.TimerHandle | None = None
        self._limits = limits
        self._finish = finish
        self._ttl_s = min(limits.task_ttl_s if ttl_s is None else max(ttl_s, 0.0), limits.task_most_ttl_s)

    @property
    def over(self) -> bool:
        """True once it has ended."""
        return self.payload is not None

    @property
    def ttl_s(self) -> float:
        """The time from its creation for which it is kept, as far as is known now."""
        until = self.updated if self.over else time.time()
        return max(self._ttl_s, until - self.created + self._limits.task_after_end_s)

    @property
    def poll_s(self) -> float:
        """The time after which to ask about it again."""
        return min(max((time.time() - self.created) * _POLL_PART, _LEAST_POLL_S), _MOST_POLL_S)

    @property
    def final(self) -> bool:
        """True once its state cannot change any more; a cancelled call may still be about to end."""
        return self.over or self.state == "cancelled"

    def cancel(self) -> None:
        """Be cancelled, and end the call."""
        self._become("cancelled", CANCELLED)
        self.drop()

    def drop(self) -> None:
        """End the call, if it still runs."""
        if self.exchange is not None:
            self.exchange.cancel()

    @property
    def open(self) -> Mapping[str, Question]:
        """The questions that its client may answer, by id."""
        return self.exchange.open if self.exchange is not None else {}

    def refresh(self) -> bool:
        """Take over what has become of the call; return True if its state is another now."""
        if self.exchange is None:
            return False
        before, result = self.state, self.exchange.result
        if result is not None:
            self.payload = self._finish(result)
            self.size = len(msgspec.json.encode(self.payload))
            self.done.set()
            self.exchange.on_change = None
            self.exchange = None
            if before == "cancelled":
                pass  # and stays so, even if its end came first
            elif result.success:
                self._become("completed")
            else:
                self._become("failed", one_line(result.error or "", _MOST_SAID))
        elif before != "cancelled":
            waits = next(iter(self.exchange.asked.values()), None)
            if waits is None:
                self._become("working")
            else:
                self._become("input_required", one_line(f"waiting for the person: {waits.text}", _MOST_SAID))
        return self.state != before

    def _become(self, state: TaskState, said: str = "") -> None:
        if state != self.state:
            self.updated = time.time()
        self.state, self.said = state, broken(said)


class KeptTasks:
    """The tasks of every session; `changed` is told of each whose state is another."""

    def __init__(self, bench: Workbench, limits: McpLimits = DEFAULT) -> None:
        self.changed: Signal[KeptTask] = Signal()
        self._bench = bench
        self._limits = limits
        self._tasks: dict[str, dict[str, KeptTask]] = {}
        self._gone: BoundedDict[tuple[str, str], str] = BoundedDict(_REMEMBERED)
        self._listener: Callable[[Session], None] = lambda session: self._forget_all(session.id)
        bench.on_session_end.append(self._listener)

    def close(self) -> None:
        """Forget all tasks; those that work are cancelled."""
        self._bench.on_session_end.remove(self._listener)
        for session in list(self._tasks):
            self._forget_all(session)

    def add(self, exchange: PendingCall, finish: Callable[[Result], Payload], ttl_s: float | None = None) -> KeptTask:
        """Keep a call that runs; `finish` puts its result into MCP's form."""
        task = KeptTask(exchange, finish, ttl_s, self._limits)
        self._tasks.setdefault(task.session, {})[task.id] = task
        exchange.on_change = lambda: self._happened(task)
        self._happened(task)
        return task

    def list(self, session: str) -> list[KeptTask]:
        """Return the tasks of a session, oldest first."""
        return list(self._tasks.get(session, {}).values())

    def get(self, session: str, id: str) -> KeptTask:
        """Return a task of a session. Raises `NotFound`, whether it never was, has gone, or is another session's."""
        task = self._tasks.get(session, {}).get(id)
        if task is None:
            raise NotFound(self._gone.get((session, id), "Task not found"))
        return task

    def cancel(self, task: KeptTask) -> None:
        """Cancel a task. Raises `Conflict` if it has ended, or was cancelled before."""
        if task.final:
            raise Conflict(f"already in terminal status '{task.state}'")
        task.cancel()
        self.changed.fire(task)

    def fetch(self, task: KeptTask) -> Payload:
        """Return the result of a task that has ended; when room is short, it goes before those nobody has seen."""
        self._happened(task)
        assert task.payload is not None
        task.fetched = True
        return task.payload

    def _happened(self, task: KeptTask) -> None:
        ended_before = task.over
        if task.refresh():
            self.changed.fire(task)
        if task.over and not ended_before:
            self._ended(task)

    def _ended(self, task: KeptTask) -> None:
        if task.ended is not None:
            task.ended()
        if self._tasks.get(task.session, {}).get(task.id) is not task:
            return
        left_s = max(task.created + task.ttl_s - time.time(), 0.0)
        task.timer = asyncio.get_running_loop().call_later(left_s, lambda: self._forget(task, "Task has expired"))
        others = (one for one in self.list(task.session) if one.over and one is not task)
        oldest = sorted(others, key=lambda one: (not one.fetched, one.updated))
        total, count = sum(one.size for one in oldest) + task.size, len(oldest) + 1
        for one in oldest:
            if total <= self._limits.task_bytes and count <= self._limits.tasks:
                break
            self._forget(one, "Task was dropped to make room for newer results")
            total, count = total - one.size, count - 1

    def _forget(self, task: KeptTask, why: str) -> None:
        tasks = self._tasks[task.session]
        del tasks[task.id]
        if not tasks:
            del self._tasks[task.session]
        if task.timer is not None:
            task.timer.cancel()
        self._gone[task.session, task.id] = why

    def _forget_all(self, session: str) -> None:
        for task in self._tasks.pop(session, {}).values():
            if task.timer is not None:
                task.timer.cancel()
            task.drop()
