"""The line in which one agent session's calls wait: the limits, the order of blocks, pause and stop.

Blocks run strictly one at a time, in the order they came, a gap apart, because nobody waits for their answers. Other
calls run side by side: a wait or an open question must never hold up a kill. Both count towards the same depth.
All of it belongs to the event loop; `enter` does not await, so the order of calling it is the order of the line.
"""

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from msgspec import Struct, field

from fourhands.core.call import Call
from fourhands.core.errors import Conflict, FourhandsError, LimitReached

log = logging.getLogger(__name__)

Sleep = Callable[[float], Awaitable[None]]
_ANSWERS = 64  # model responses whose commands are counted at the same time


class QueueLimits(Struct, frozen=True, kw_only=True, rename="camel"):
    """How much an agent may do at once."""

    per_answer: int = 10
    depth: int = 50
    gap_s: float = field(default=0.05, name="gapSeconds")


class SessionStopped(FourhandsError):
    """The person stopped the agent before or while this ran."""

    code = "stopped"


class QueueSlot:
    """A place in the line, from the limits to the end of the call."""

    def __init__(self, call: Call) -> None:
        self.block = call.origin == "block"
        self.first = asyncio.Event()  # set when it is the first of the blocks
        self._stop = ""
        self._scope: asyncio.Timeout | None = None

    @asynccontextmanager
    async def scope(self) -> AsyncIterator[None]:
        """Hold what `stop` may cancel; it then ends with `SessionStopped`, while the caller's task lives on."""
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
        """Cancel what is inside the scope; the second time, and after its end, nothing happens."""
        if not self._stop:
            self._stop = reason
            if self._scope is not None:
                self._scope.reschedule(asyncio.get_running_loop().time())


class SessionQueue:
    """One agent session's line."""

    def __init__(self, session: str, sleep: Sleep = asyncio.sleep) -> None:
        self.session = session
        self.closed = False
        self._sleep = sleep
        self._tickets: dict[QueueSlot, None] = {}
        self._blocks: deque[QueueSlot] = deque()
        self._answers: OrderedDict[str, int] = OrderedDict()
        self._running = asyncio.Event()
        self._running.set()
        self._free_at: float | None = None

    def __len__(self) -> int:
        return len(self._tickets)

    @property
    def paused(self) -> bool:
        """Whether nothing new may start."""
        return not self._running.is_set()

    def enter(self, call: Call, limits: QueueLimits) -> QueueSlot:
        """Take the next place, or raise `LimitReached`."""
        if self.closed:
            raise Conflict(f"session {self.session} has ended", hint="start a new one")
        if call.answer_id is not None:
            count = self._answers.get(call.answer_id, 0)
            if count >= limits.per_answer:
                hint = "see the results first, then go on in the next answer"
                log.warning("session %s: %s is ignored, its answer has too many", self.session, call.command)
                raise LimitReached(f"more than {limits.per_answer} commands in one answer", hint=hint)
        if len(self._tickets) >= limits.depth:
            hint = "wait for results before you send more"
            log.warning("session %s: %s is refused, %d commands wait", self.session, call.command, limits.depth)
            raise LimitReached(f"{limits.depth} commands are waiting already", hint=hint)
        if call.answer_id is not None:
            self._answers[call.answer_id] = count + 1
            self._answers.move_to_end(call.answer_id)
            if len(self._answers) > _ANSWERS:
                self._answers.popitem(last=False)
        ticket = QueueSlot(call)
        self._tickets[ticket] = None
        if ticket.block:
            self._blocks.append(ticket)
            self._blocks[0].first.set()
        return ticket

    async def turn(self, ticket: QueueSlot, gap_s: float) -> None:
        """Return when this ticket may start."""
        clock = asyncio.get_running_loop()
        while True:
            if self.paused:
                await self._running.wait()
            elif ticket.block and not ticket.first.is_set():
                await ticket.first.wait()
            elif ticket.block and self._free_at is not None:
                rest = self._free_at + gap_s - clock.time()
                if rest > 0:
                    await self._sleep(rest)
                self._free_at = None
            else:
                return

    def leave(self, ticket: QueueSlot) -> None:
        """Give the place up; if it was the running block's, the next one's turn comes."""
        del self._tickets[ticket]
        if ticket.block:
            if self._blocks[0] is ticket:
                self._free_at = asyncio.get_running_loop().time()
            self._blocks.remove(ticket)
            if self._blocks:
                self._blocks[0].first.set()

    def pause(self) -> None:
        """Let nothing new start; what runs goes on."""
        self._running.clear()

    def resume(self) -> None:
        """Go on where `pause` held."""
        self._running.set()

    def stop(self, reason: str) -> int:
        """Drop what waits and cancel what runs; return how many that were."""
        for ticket in self._tickets:
            ticket.stop(reason)
        return len(self._tickets)
