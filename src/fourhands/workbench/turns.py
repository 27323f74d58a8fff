"""Turns: what an agent does for one message, between a checkpoint of the workspace before and one after it.

A connector's turn is one message of the person, from its arrival to the end of the answer. Agents that only call (MCP,
HTTP) have no messages: their turn begins with the first call that writes or runs something and ends when none has come
for a while and none runs. Taking a checkpoint never fails a turn: where there is none, the turn says why. A call that
may change something waits for the checkpoint before its turn, at most as long as that may take.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fourhands.core.atomic_file import AtomicFile
from fourhands.core.bounded import BoundedDict
from fourhands.core.call import Call, Decision
from fourhands.core.call_events import SessionEvent
from fourhands.core.errors import FourhandsError, NotFound
from fourhands.core.event import EventBus
from fourhands.core.ids import new_id
from fourhands.core.registry import Command
from fourhands.core.tasks import Tasks
from fourhands.core.text import one_line
from fourhands.host.paths import WorkspaceDirs
from fourhands.providers.egress.network_log import HostTraffic
from fourhands.settings import Settings
from fourhands.workbench.checkpoints.git import Budget
from fourhands.workbench.checkpoints.store import Checkpoint, CheckpointStore
from fourhands.workbench.records.journal import Journal

log = logging.getLogger(__name__)

QUIET_S = 20.0
"""Seconds without a call after which the turn of an agent that only calls is over."""

KEPT = 500
"""Turns that are remembered."""

_PRUNE_EVERY = 20
_SECURED = 100
_TITLE = 80


class Turn(Struct, frozen=True, kw_only=True, rename="camel"):
    """One turn of an agent; a checkpoint that is not taken has no id, and `missing` says why it never will have one.

    `hosts` are those that its programs spoke to, or were refused, until now or until its end.
    """

    id: str
    session: str
    agent: str
    title: str
    started: float
    finished: float | None = None
    before: str = ""
    after: str = ""
    missing: str = ""
    status: Literal["open", "undone", "kept"] = "open"
    conflicts: int = 0
    hosts: tuple[HostTraffic, ...] = ()


class TurnStarted(SessionEvent, frozen=True, kw_only=True):
    """An agent's turn has begun."""

    event = "turn.started"
    turn: str
    title: str


class TurnFinished(SessionEvent, frozen=True, kw_only=True):
    """An agent's turn is over; `missing` says why it cannot be undone, if it cannot."""

    event = "turn.finished"
    turn: str
    missing: str


class TurnChanged(SessionEvent, frozen=True, kw_only=True):
    """A turn was undone, redone or kept."""

    event = "turn.changed"
    turn: str
    status: str


@dataclass(slots=True)
class _Running:
    turn: Turn
    prompted: bool
    before: "asyncio.Task[None]"
    budget: Budget
    last: float = 0.0


class Turns:
    """The turns of a workbench; `async with`, so that what is being taken ends with it."""

    def __init__(
        self,
        places: WorkspaceDirs,
        env: Mapping[str, str],
        settings: Settings,
        journal: Journal,
        events: EventBus,
        pending: Callable[[str], int],
        *,
        quiet_s: float = QUIET_S,
    ) -> None:
        self.store = CheckpointStore.of(places, settings.checkpoints, env)
        self.quiet_s = quiet_s
        self.traffic: Callable[[str], tuple[HostTraffic, ...]] = lambda session: ()
        self._saved = saved = AtomicFile(Path(places.state) / "turns.json")
        self._closed = False
        self._journal = journal
        self._events = events
        self._pending = pending
        self._tasks = Tasks()
        self._turns = {turn.id: turn for turn in _load(saved)}
        self._running: dict[str, _Running] = {}
        self._ending: dict[str, asyncio.Task[None]] = {}
        self._secured: BoundedDict[str, str] = BoundedDict(_SECURED)  # checkpoints of calls that are to run
        self._taken = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        for running in self._running.values():
            running.budget.cancelled = True  # a thread cannot be cancelled, but what it waits for ends at once
        await self._tasks.__aexit__(kind, error, trace)
        await self._saved.close()

    def __len__(self) -> int:
        return len(self._turns)

    def list(self) -> list[Turn]:
        """Return the turns, oldest first; one that is not over with the hosts until now."""
        spoken = {running.turn.id: self.traffic(running.turn.session) for running in self._running.values()}
        return [replace(turn, hosts=spoken[turn.id]) if turn.id in spoken else turn for turn in self._turns.values()]

    def get(self, id: str) -> Turn:
        """Return a turn by its id."""
        if id not in self._turns:
            raise NotFound.of("turn", id, list(self._turns)[-5:])
        return self._turns[id]

    def running(self, id: str) -> bool:
        """Return True while a turn is not over."""
        return any(running.turn.id == id for running in self._running.values())

    def prompted(self, id: str) -> bool:
        """Return True while a turn answers a message."""
        return any(running.turn.id == id and running.prompted for running in self._running.values())

    def answering(self, session: str) -> bool:
        """Return True while a session answers a message."""
        return session in self._running and self._running[session].prompted

    def change(self, turn: Turn) -> None:
        """Remember a turn's new state, and tell of it."""
        self._put(turn)
        self._events.emit(TurnChanged(session=turn.session, turn=turn.id, status=turn.status))

    # -- beginning and end -----------------------------------------------------------------------------------------

    def begin(self, session: str, agent: str, text: str = "", *, prompted: bool = True) -> None:
        """Begin a turn and its checkpoint; one that goes on for this session ends first."""
        self.end(session)
        if self._closed:
            return
        title = one_line(text, _TITLE) if text else ""
        turn = Turn(id=new_id("turn"), session=session, agent=agent, title=title, started=time.time())
        budget = self.store.budget()
        waiting = self._ending.get(session)
        before = self._tasks.start(self._before(turn, budget, waiting), f"the checkpoint before {turn.id}")
        self._running[session] = _Running(turn, prompted, before, budget, time.monotonic())
        self._put(turn)
        self._events.emit(TurnStarted(session=session, turn=turn.id, title=title))
        if not prompted:
            self._tasks.start(self._quiet(session, turn.id), f"the end of {turn.id}")

    def end(self, session: str) -> None:
        """End the turn of a session, if there is one: its second checkpoint is taken now."""
        running = self._running.pop(session, None)
        if running is not None and not self._closed:
            self._put(replace(self._turns[running.turn.id], hosts=self.traffic(session)))
            self._ending[session] = self._tasks.start(self._after(running), f"the checkpoint after {running.turn.id}")

    async def ended(self, session: str) -> None:
        """Return when the last turn of a session that has ended has its checkpoint."""
        if (task := self._ending.get(session)) is not None:
            await asyncio.wait([task])

    async def secure(self, call: Call) -> Checkpoint | None:
        """Take the checkpoint that a dangerous call of an agent would have; None if there is none to be had."""
        if call.session is None:
            return None
        if call.session not in self._running:
            self.begin(call.session, call.actor.name, prompted=False)
        running = self._running.get(call.session)
        if running is None:
            return None
        await asyncio.wait([running.before])
        if not self._turns[running.turn.id].before:
            return None
        taken, _ = await self._take(self.store.budget())
        if taken is not None:
            self._secured[call.id] = taken.id
        return taken

    async def before_call(self, call: Call, command: Command, verdict: Decision) -> tuple[str, str]:
        """Return turn and checkpoint of an agent's call that may change something; empty for any other.

        A dangerous call has a checkpoint of its own, so that it can be taken back alone.
        """
        if call.session is None or command.read_only or command.scope not in ("write", "run"):
            return "", ""
        if call.session not in self._running:
            self.begin(call.session, call.actor.name, prompted=False)
        running = self._running.get(call.session)
        if running is None:  # the server is leaving
            return "", ""
        running.last = time.monotonic()
        await asyncio.wait([running.before])
        turn = self._turns[running.turn.id]
        if secured := self._secured.pop(call.id, ""):
            return turn.id, secured
        if verdict.level == "dangerous" and turn.before:
            taken, _ = await self._take(self.store.budget())
            if taken is not None:
                return turn.id, taken.id
        return turn.id, turn.before

    async def _before(self, turn: Turn, budget: Budget, waiting: "asyncio.Task[None] | None") -> None:
        if waiting is not None:
            await asyncio.wait([waiting])
        taken, missing = await self._take(budget)
        self._put(replace(self._turns[turn.id], before=taken.id if taken else "", missing=missing))

    async def _after(self, running: _Running) -> None:
        await asyncio.wait([running.before])
        turn = self._turns[running.turn.id]
        if turn.before:
            taken, missing = await self._take(self.store.budget())
            turn = replace(turn, after=taken.id if taken else "", missing=missing)
        self._put(replace(turn, finished=time.time()))
        if turn.after:
            self._journal.end_turn(turn.id, turn.after)
        self._events.emit(TurnFinished(session=turn.session, turn=turn.id, missing=turn.missing))
        self._taken += 1
        if self._taken % _PRUNE_EVERY == 1 and not self.store.unavailable:
            await asyncio.to_thread(self.store.prune)

    async def _quiet(self, session: str, id: str) -> None:
        while (running := self._running.get(session)) is not None and running.turn.id == id:
            left = self.quiet_s - (time.monotonic() - running.last)
            if left <= 0 and not self._pending(session):
                self.end(session)
                return
            await asyncio.sleep(max(left, min(1.0, self.quiet_s)))

    async def _take(self, budget: Budget) -> tuple[Checkpoint | None, str]:
        try:
            return await asyncio.to_thread(self.store.take, budget), ""
        except FourhandsError as error:
            return None, f"no checkpoint: {error.message}"
        except Exception as error:
            log.exception("no checkpoint")
            return None, f"no checkpoint: {error}"

    def _put(self, turn: Turn) -> None:
        self._turns[turn.id] = turn
        while len(self._turns) > KEPT:
            del self._turns[next(iter(self._turns))]
        self._saved.write_soon(msgspec.json.encode(list(self._turns.values())))


def _load(saved: AtomicFile) -> list[Turn]:
    """Return the turns of servers before; one that was not over then never will be."""
    try:
        turns = msgspec.json.decode(saved.path.read_bytes(), type=list[Turn])
    except (OSError, msgspec.MsgspecError):
        return []
    lost = "no checkpoint: the server ended during the turn"
    return [turn if turn.finished else replace(turn, finished=turn.started, missing=lost) for turn in turns]
