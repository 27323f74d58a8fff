"""What all connectors share: a person's messages one after the other, one turn at a time, and a way to stop it.

A connector says what an agent says by events: `agent.said` with the text so far of one message, `agent.thought`,
`agent.step` for what it does by tools of its own. Blocks never appear in them. Each turn ends with one
`agent.finished`, whatever came of it; it is told here and nowhere else.
"""

import asyncio
import logging
from collections import deque
from typing import TypedDict

import msgspec

from fourhands.agents.blocks.answer import ResponseBlocks
from fourhands.agents.blocks.interceptor import Intercepted, Interceptor
from fourhands.agents.blocks.runner import BlockRunner
from fourhands.agents.connectors.resume import HistoryMessage, ResumeFile
from fourhands.agents.connectors.transcript import GOES_ON
from fourhands.core.errors import FourhandsError, LimitReached
from fourhands.core.event import Event
from fourhands.core.ids import new_id
from fourhands.core.tasks import Tasks
from fourhands.workbench.sessions import Session
from fourhands.workbench.workbench import Workbench

log = logging.getLogger(__name__)

WAITING_MESSAGES = 20

MOST_SAID = 16 * 1024 * 1024
"""Characters of one answer."""

ROUNDS = 12
"""How often an agent goes on by itself to see what came of its commands, for one message of the person."""


END_TURN = "end_turn"
TOO_MANY_ROUNDS = "max_turn_requests"


class Recollection(TypedDict, total=False):
    """What a connector has kept of it."""

    history: list[HistoryMessage]
    remote: str


def tell_finished(bench: Workbench, session: Session, stop_reason: str, usage: object = None) -> None:
    """Tell that a turn is over: why, in ACP's words (or "failed"), and what it used as far as the agent says so."""
    data = {"session": session.id, "stopReason": stop_reason, "usage": usage}
    bench.events.emit("agent.finished", data, actor=session.actor)


class Connector:
    """One agent's turns. A connector gives `turn`, which answers one message."""

    def __init__(self, bench: Workbench, session: Session, tasks: Tasks, memory: ResumeFile | None = None) -> None:
        self.bench = bench
        self.session = session
        self.memory = memory
        self.before = memory.before if memory is not None else None
        """What an earlier run of the server left of this agent."""
        if self.before is not None:
            session.untold.extend(self.before.untold)
            told = [turn["content"] for turn in self.before.history if turn["role"] == "user"]
            read = [*told, msgspec.to_builtins(self.before.untold)]
            bench.gate.given.note(session.id, read, "what it was told before the server was started anew")
        self.runner = BlockRunner(bench, session, tasks)
        self._tasks = tasks
        self._waiting: deque[str] = deque()
        self._turn: asyncio.Task[None] | None = None
        self._resumed = asyncio.Event()
        self.stop_reason = END_TURN
        """Why the turn ended; a connector that knows better says so."""
        self.usage: object = None
        self._forget = bench.events.published.subscribe(self._happened)
        bench.prompters[session.id] = self.prompt

    async def turn(self, text: str) -> None:
        """Answer one message."""
        raise NotImplementedError

    async def prompt(self, text: str) -> None:
        """Take a person's message; it waits while an earlier one is being answered."""
        if len(self._waiting) >= WAITING_MESSAGES:
            raise LimitReached(f"{WAITING_MESSAGES} messages wait for {self.session.name} already")
        self._emit("agent.asked", text=text, messageId=new_id("message"))
        self._waiting.append(text)
        if self._turn is None or self._turn.done():
            self._turn = self._tasks.start(self._answer_all(), f"the turns of {self.session.name}")

    async def _answer_all(self) -> None:
        while self._waiting:
            await self.unpaused()
            text = self._waiting.popleft()
            self._status("working")
            self.stop_reason, self.usage = END_TURN, None
            try:
                await self.turn(text)
            except FourhandsError as error:
                self.stop_reason = "failed"
                self._emit("agent.failed", error=error.message, hint=error.hint, code=error.code)
            except asyncio.CancelledError:
                self.stop_reason = "cancelled"
                self._emit("agent.failed", error="stopped", hint="", code="stopped")
                raise
            except Exception as error:
                self.stop_reason = "failed"
                log.exception("a turn of %s failed", self.session.name)
                self._emit("agent.failed", error=f"the turn failed: {error}", hint="see the log", code="internal")
            finally:
                tell_finished(self.bench, self.session, self.stop_reason, self.usage)
                self._status("idle")

    def stopped_going_on(self, rounds: int) -> None:
        """Say that the agent has gone on by itself as often as it may for one message."""
        self.stop_reason = TOO_MANY_ROUNDS
        self._emit("agent.noted", text=f"stopped after {rounds} rounds; say 'go on' to continue")

    def recollection(self) -> Recollection:
        """What a connector needs to go on after a restart of the server, besides results that were not told."""
        return {}

    def keep(self) -> None:
        """Have it written down."""
        if self.memory is not None and not self.session.ended:
            self.memory.keep(untold=self.session.untold, **self.recollection())

    def goes_on(self) -> None:
        """Say that the agent remembers what an earlier run of the server shows of it."""
        self._emit("agent.noted", text=GOES_ON)

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
        """Stop the turn that runs and forget what waits."""
        self._waiting.clear()
        if self._turn is not None:
            self._turn.cancel()

    def close(self) -> None:
        """The session has ended."""
        self.cancel()
        self._forget()
        self.bench.prompters.pop(self.session.id, None)

    def _happened(self, event: Event) -> None:
        if event.data.get("session") != self.session.id:
            return
        if event.kind == "agent.stopping":
            self.cancel()
        elif event.kind == "agent.resumed":
            self._resumed.set()
        elif event.kind in ("call.finished", "agent.reset"):
            self.keep()
        elif event.kind == "agent.ended":
            self.close()

    def _status(self, status: str) -> None:
        if self.session.status != status:
            self.session.status = status
            self._emit("agent.changed", status=status)

    def _emit(self, kind: str, **data: object) -> None:
        self.bench.events.emit(kind, {"session": self.session.id, **data}, actor=self.session.actor)

    def say(self, text: str, message: str, *, done: bool = False) -> None:
        """More of what the agent says to the person: text to append."""
        if text or done:
            self._emit("agent.said", text=text, messageId=message, done=done)

    def think(self, text: str, message: str) -> None:
        """More of what the agent thinks."""
        if text:
            self._emit("agent.thought", text=text, messageId=message)


class StreamedMessage:
    """One message of an agent as it streams in: what is visible is said, what is a block is run."""

    def __init__(self, conversation: Connector) -> None:
        self._conversation = conversation
        self._interceptor = Interceptor()
        self._answer = ResponseBlocks(conversation.runner)
        self._parts: list[str] = []
        self._size = 0
        self.id = new_id("message")
        self.commands = 0
        self.ended = False

    @property
    def raw(self) -> str:
        """All of it, blocks too."""
        return "".join(self._parts)

    def hear(self, text: str) -> None:
        """Take more of the answer."""
        self._size += len(text)
        if self._size > MOST_SAID:
            raise LimitReached(f"an answer of the model is longer than {MOST_SAID} characters", hint="it was cut off")
        self._parts.append(text)
        self._take(self._interceptor.feed(text))

    def end(self) -> None:
        """The answer is complete."""
        self._take(self._interceptor.close())
        self._answer.close()
        self.ended = True
        self._conversation.say("", self.id, done=True)

    def _take(self, piece: Intercepted) -> None:
        self._conversation.say(piece.visible, self.id)
        if piece.commands:
            self.commands += len(piece.commands)
            self._answer.take(self.id, piece.commands)
        if piece.dropped:
            self._answer.drop(piece.dropped)
