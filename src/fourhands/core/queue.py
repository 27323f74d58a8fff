"""A session's call queue: limits, block order, pause and stop.

Blocks run strictly one at a time, in the order they came, a gap apart, because no caller waits for their results; so do
a chat model's tool calls, which come several in one answer. Other calls run side by side: a wait or an open question
must never delay a kill. All count towards the same depth.
All of it belongs to the event loop; `enter` does not await, so the order of calling it is the order of the queue.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from msgspec import Struct, field

from fourhands.core.bounded import BoundedDict
from fourhands.core.call import Call
from fourhands.core.errors import Conflict, FourhandsError, LimitReached

log = logging.getLogger(__name__)

Sleep = Callable[[float], Awaitable[None]]
ANSWERS = 64
"""Model responses whose commands are counted at the same time."""


class QueueLimits(Struct, frozen=True, kw_only=True, rename="camel"):
    """Limits on what an agent may do at once."""

    per_answer: int = 10
    depth: int = 50
    gap_s: float = field(default=0.05, name="gapSeconds")


class SessionStopped(FourhandsError):
    """A call that a person stopped before or while it ran."""

    code = "stopped"


class QueueSlot:
    """A call's place in the queue, from the limits to the end of the call."""

    def __init__(self, call: Call) -> None:
        self.block = call.origin in ("block", "model")
        self.first = asyncio.Event()  # set when it is the first of the blocks
        self._stop = ""
        self._scope: asyncio.Timeout | None = None

    @asynccontextmanager
    async def scope(self) -> AsyncIterator[None]:
        """Mark what `stop` may cancel; it then ends with `SessionStopped`, while the caller's task lives on."""
        try:
            # A timeout without a time is asyncio's cancel scope: rescheduling it to now cancels what is inside, once.
            async with asyncio.timeout(None) as self._scope:
                yield
        except TimeoutError:
            if self._stop and self._scope is not None and self._scope.expired():
                raise SessionStopped(self._stop, hint="wait for the person") from None
            raise
        finally:
            self._scope = None

    def stop(self, reason: str) -> None:
        """Cancel what is inside the scope. The second time, and after its end, nothing happens."""
        if not self._stop:
            self._stop = reason
            if self._scope is not None:
                self._scope.reschedule(asyncio.get_running_loop().time())


class SessionQueue:
    """One agent session's queue."""

    def __init__(self, session: str, sleep: Sleep = asyncio.sleep) -> None:
        self.session = session
        self.closed = False
        self._sleep = sleep
        self._slots: dict[QueueSlot, None] = {}
        self._blocks: deque[QueueSlot] = deque()
        self._answers: BoundedDict[str, int] = BoundedDict(ANSWERS)  # commands so far, by response
        self._running = asyncio.Event()
        self._running.set()
        self._free_at: float | None = None

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def paused(self) -> bool:
        """True while nothing new may start."""
        return not self._running.is_set()

    def enter(self, call: Call, limits: QueueLimits) -> QueueSlot:
        """Take the next slot. Raises `LimitReached`, or `Conflict` after the end of the session."""
        if self.closed:
            raise Conflict(f"session {self.session} has ended", hint="start a new session")
        if call.answer_id is not None:
            count = self._answers.get(call.answer_id, 0)
            if count >= limits.per_answer:
                hint = "read the results first, then continue in the next answer"
                log.warning("session %s: %s is ignored, its answer has too many", self.session, call.command)
                raise LimitReached(f"more than {limits.per_answer} commands in one answer", hint=hint)
        if len(self._slots) >= limits.depth:
            hint = "wait for results before sending more"
            log.warning("session %s: %s is refused, %d commands wait", self.session, call.command, limits.depth)
            raise LimitReached(f"queue full: {limits.depth} commands pending", hint=hint)
        if call.answer_id is not None:
            self._answers[call.answer_id] = count + 1
        slot = QueueSlot(call)
        self._slots[slot] = None
        if slot.block:
            self._blocks.append(slot)
            self._blocks[0].first.set()
        return slot

    async def turn(self, slot: QueueSlot, gap_s: float) -> None:
        """Return when the call in this slot may start."""
        clock = asyncio.get_running_loop()
        while True:
            if self.paused:
                await self._running.wait()
            elif slot.block and not slot.first.is_set():
                await slot.first.wait()
            elif slot.block and self._free_at is not None:
                rest = self._free_at + gap_s - clock.time()
                if rest > 0:
                    await self._sleep(rest)
                self._free_at = None
            else:
                return

    def leave(self, slot: QueueSlot) -> None:
        """Free the slot; after the running block's, the next block may start."""
        del self._slots[slot]
        if slot.block:
            if self._blocks[0] is slot:
                self._free_at = asyncio.get_running_loop().time()
            self._blocks.remove(slot)
            if self._blocks:
                self._blocks[0].first.set()

    def pause(self) -> None:
        """Start nothing new; calls that run continue."""
        self._running.clear()

    def resume(self) -> None:
        """Start calls again after `pause`."""
        self._running.set()

    def stop(self, reason: str) -> int:
        """Drop the calls that wait and cancel those that run; return how many there were."""
        for slot in self._slots:
            slot.stop(reason)
        return len(self._slots)
