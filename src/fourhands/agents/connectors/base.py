"""The base of all connectors: a person's messages in order, one turn at a time, and an end that leaves nothing behind.

A connector is an `async with` block. Everything it starts, its agent's process too, runs in tasks of the block; when
the block is left, the turn is cancelled, the tasks have ended and the process is gone.

Events carry what the agent does: `agent.said` with text to append to one message, `agent.thought`, `agent.step` for its
own tools. Blocks never appear in them. Each turn ends with exactly one `agent.finished`, which is emitted only here.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import ClassVar, Self, TypedDict

import msgspec
from msgspec import UNSET

from fourhands.agents.blocks.answer import ResponseBlocks
from fourhands.agents.blocks.interceptor import Intercepted, Interceptor
from fourhands.agents.blocks.runner import BlockRunner
from fourhands.agents.connectors.events import AgentAsked, AgentFailed, AgentFinished, AgentSaid, AgentThought
from fourhands.agents.connectors.resume import ResumeFile
from fourhands.agents.models.history import HistoryMessage
from fourhands.core.call_events import AgentResumed, CallFinished, SessionEvent
from fourhands.core.errors import FourhandsError, LimitReached
from fourhands.core.event import Event, EventData
from fourhands.core.ids import new_id
from fourhands.core.queue import SessionStopped
from fourhands.core.tasks import Tasks
from fourhands.workbench.enclosures import Enclosed, in_words
from fourhands.workbench.events import AgentChanged, AgentNoted, AgentReset, AgentStopping
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench

log = logging.getLogger(__name__)

WAITING_MESSAGES = 20

MOST_SAID = 16 * 1024 * 1024
"""Characters of one answer."""

ROUNDS = 12
"""The most requests to an agent for one message of the person; each further one brings the results of its commands."""

END_TURN = "end_turn"
TOO_MANY_ROUNDS = "max_turn_requests"

GOES_ON = "Fourhands restarted. The agent resumes from here."
FORGOTTEN = "Fourhands restarted. The agent does not remember the messages above."


class Recollection(TypedDict, total=False):
    """The part of `ResumeState` that only the connector knows."""

    history: list[HistoryMessage]
    remote: str
    chosen: dict[str, str]


def tell_finished(
    bench: Workbench, session: Session, stop_reason: str, usage: object = None, message_id: str = ""
) -> None:
    """Emit `agent.finished`: the reason in ACP's words (or "failed"), and the usage as far as the agent reports it."""
    told = AgentFinished(session=session.id, stop_reason=stop_reason, usage=usage, message_id=message_id or UNSET)
    bench.events.emit(told, actor=session.actor)


@dataclass(frozen=True, slots=True)
class _Message:
    """A person's message that waits for its turn."""

    id: str
    text: str
    enclosed: tuple[Enclosed, ...]


class Connector:
    """One agent's turns. A connector implements `turn`, which answers one message; `run_rounds` helps with it."""

    go_on = ""
    """The text of a round that only reports results."""

    takes_enclosures: ClassVar[bool] = False
    """True if `turn` hands `enclosed` on; otherwise it gets all of a message as text."""

    def __init__(self, bench: Workbench, session: Session, memory: ResumeFile | None = None) -> None:
        self.bench = bench
        self.session = session
        self.memory = memory
        self.before = memory.before if memory is not None else None
        """The state that an earlier run of the server stored for this agent."""
        if self.before is not None:
            session.untold.extend(self.before.untold)
            session.usage = session.usage or self.before.usage
            told = [turn["content"] for turn in self.before.history if turn["role"] != "assistant"]
            read = [*told, msgspec.to_builtins(self.before.untold)]
            bench.gate.given.note(session.id, read, "what it was told before the server was started anew")
        self.tasks = Tasks()
        self.runner = BlockRunner(bench, session, self.tasks)
        self.stop_reason = END_TURN
        """Why the turn ended; a connector with better knowledge overwrites it."""
        self.usage: object = None
        self.enclosed: tuple[Enclosed, ...] = ()
        """The enclosures of the message that is being answered."""
        self._waiting: deque[_Message] = deque()
        self._turn: asyncio.Task[None] | None = None
        self._resumed = asyncio.Event()
        self._unsubscribe: Callable[[], None] = lambda: None

    # -- the block -------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        self._unsubscribe = self.bench.events.published.subscribe(self._happened)
        self.bench.prompters[self.session.id] = self.prompt
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()
        self._unsubscribe()
        self.bench.prompters.pop(self.session.id, None)
        self.release()
        try:
            await self.tasks.__aexit__(kind, error, trace)
        finally:
            if self.memory is not None:
                await self.memory.close()

    async def open(self) -> None:
        """Prepare for the first message, inside the block. An exception means that the agent cannot be used."""

    def release(self) -> None:
        """Release what the connector holds besides tasks; called when the block is left."""

    # -- turns -----------------------------------------------------------------------------------------------------

    async def turn(self, text: str) -> None:
        """Answer one message."""
        raise NotImplementedError

    @property
    def rounds(self) -> int:
        """The most rounds of one message."""
        return ROUNDS

    async def run_rounds(self, text: str) -> None:
        """Ask the agent, run its commands, and ask again with their results, at most `rounds` times."""
        for number in range(1, self.rounds + 1):
            await self.round(text, last=1 < number == self.rounds)
            await self.settled()
            await self.unpaused()
            if not self.wants_more:
                return
            text = self.go_on
        self.stop_reason = TOO_MANY_ROUNDS
        self._note(f'stopped after {self.rounds} rounds; send "continue" to resume')

    async def round(self, text: str, *, last: bool) -> None:
        """Send `text` and what the agent has not been told; return at the end of its answer."""
        raise NotImplementedError

    async def settled(self) -> None:
        """Return when the commands of the answer have run."""
        await self.runner.finished()

    @property
    def wants_more(self) -> bool:
        """True if the agent has results to see."""
        return bool(self.session.untold)

    async def prompt(self, text: str, enclosed: Sequence[Enclosed] = ()) -> str:
        """Queue a person's message; it waits while an earlier one is being answered. Return its id."""
        if len(self._waiting) >= WAITING_MESSAGES:
            raise LimitReached(f"{WAITING_MESSAGES} messages wait for {self.session.name} already")
        id = new_id("message")
        if self.memory is not None:
            self.memory.name(text)
        self._emit(AgentAsked(session=self.session.id, text=text, message_id=id))
        self._waiting.append(_Message(id, text, tuple(enclosed)))
        if not self.working:
            self.bench.turns.begin(self.session.id, self.session.name, text)
            self._turn = self.tasks.start(self._answer_all(), f"the turns of {self.session.name}")
        return id

    @property
    def working(self) -> bool:
        """True while messages are being answered."""
        return self._turn is not None and not self._turn.done()

    async def _answer_all(self) -> None:
        while self._waiting:
            await self.unpaused()
            message = self._waiting.popleft()
            if not self.bench.turns.answering(self.session.id):
                self.bench.turns.begin(self.session.id, self.session.name, message.text)
            self._status("working")
            self.stop_reason, self.usage, self.enclosed = END_TURN, None, message.enclosed
            for one in message.enclosed:  # its author may be anyone: a block in it is a quotation
                self.bench.gate.given.note(self.session.id, one.text, f"attached {one.uri}")
            try:
                await self.turn(message.text if self.takes_enclosures else in_words(message.text, message.enclosed))
            except FourhandsError as error:
                self.stop_reason = "cancelled" if error.code == SessionStopped.code else "failed"
                self._failed(error.message, error.hint, error.code)
            except asyncio.CancelledError:
                self.stop_reason = "cancelled"
                self._failed("stopped", "", "stopped")
                raise
            except Exception as error:
                self.stop_reason = "failed"
                log.exception("a turn of %s failed", self.session.name)
                self._failed(f"the turn failed: {error}", "see the log", "internal")
            finally:
                self.bench.turns.end(self.session.id)
                tell_finished(self.bench, self.session, self.stop_reason, self.usage, message.id)
                self._status("idle")

    async def unpaused(self) -> None:
        """Return when the agent is not paused."""
        while self.bench.gate.paused(self.session.id):
            self._status("paused")
            self._resumed.clear()
            await self._resumed.wait()

    async def idle(self) -> None:
        """Return when all messages are answered."""
        if self._turn is not None:
            await asyncio.wait([self._turn])

    def cancel(self) -> None:
        """Cancel the current turn and drop the waiting messages."""
        dropped = list(self._waiting)
        self._waiting.clear()
        if self._turn is not None:
            self._turn.cancel()
        for message in dropped:  # also of a turn that has not begun: a task that is cancelled then runs nothing
            tell_finished(self.bench, self.session, "cancelled", None, message.id)
        if dropped:
            self.bench.turns.end(self.session.id)

    # -- what is remembered ----------------------------------------------------------------------------------------

    def recollection(self) -> Recollection:
        """Return what the connector needs to resume after a restart, besides untold results."""
        return {}

    def keep(self) -> None:
        """Store the state from which the agent resumes."""
        if self.memory is not None and not self.session.ended:
            self.memory.keep(untold=self.session.untold, **self.recollection())

    def goes_on(self) -> None:
        """Note in the chat that the agent remembers what an earlier run of the server shows of it."""
        self._note(GOES_ON)

    # -- events ----------------------------------------------------------------------------------------------------

    def _happened(self, event: Event) -> None:
        data = event.payload
        if not isinstance(data, SessionEvent | CallFinished) or data.session != self.session.id:
            return
        if isinstance(data, AgentStopping):
            self.cancel()
        elif isinstance(data, AgentResumed):
            self._resumed.set()
        elif isinstance(data, CallFinished | AgentReset):
            self.keep()

    def _status(self, status: str) -> None:
        if self.session.status != status:
            self.session.status = status
            self._emit(AgentChanged(session=self.session.id, status=status))

    def _emit(self, data: EventData) -> None:
        self.bench.events.emit(data, actor=self.session.actor)

    def _note(self, text: str) -> None:
        self._emit(AgentNoted(session=self.session.id, text=text))

    def _failed(self, error: str, hint: str, code: str) -> None:
        self._emit(AgentFailed(session=self.session.id, error=error, hint=hint, code=code))

    def say(self, text: str, message: str, *, done: bool = False) -> None:
        """Append text to a message of the agent."""
        if text or done:
            self._emit(AgentSaid(session=self.session.id, text=text, message_id=message, done=done))

    def think(self, text: str, message: str) -> None:
        """Append text to a thought of the agent."""
        if text:
            self._emit(AgentThought(session=self.session.id, text=text, message_id=message))


class StreamedMessage:
    """One message of an agent as it streams in: visible text is said, blocks are run."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector
        self._interceptor = Interceptor()
        self._answer = ResponseBlocks(connector.runner)
        self._parts: list[str] = []
        self._size = 0
        self.id = new_id("message")
        self.commands = 0
        self.ended = False

    @property
    def raw(self) -> str:
        """The whole text, with its blocks."""
        return "".join(self._parts)

    def hear(self, text: str) -> None:
        """Add text of the answer."""
        self._size += len(text)
        if self._size > MOST_SAID:
            raise LimitReached(f"an answer of the model is longer than {MOST_SAID} characters", hint="it was cut off")
        self._parts.append(text)
        self._take(self._interceptor.feed(text))

    def end(self) -> None:
        """End the message: the answer is complete."""
        self._take(self._interceptor.close())
        self._answer.close()
        self.ended = True
        self._connector.say("", self.id, done=True)

    def _take(self, piece: Intercepted) -> None:
        self._connector.say(piece.visible, self.id)
        if piece.commands:
            self.commands += len(piece.commands)
            self._answer.take(self.id, piece.commands)
        if piece.dropped:
            self._answer.drop(piece.dropped)
