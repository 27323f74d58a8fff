"""Commands that a program outside has announced: each becomes one of the registry, whose handler asks that program.

A call of one is an event, `command.requested`, and waits for the answer that is posted for it. So it passes the gate
as any other does: consent, judgement, journal, results. Its effect is not known here, whatever was announced.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from fourhands.agents.briefing.external import ExternalOutcome, PostedCommand, PostedResult
from fourhands.agents.briefing.shape import struct_of
from fourhands.core.call import Call
from fourhands.core.errors import BadArgument, FourhandsError, LimitReached, NotFound, TimedOut
from fourhands.core.event import EventBus, EventData
from fourhands.core.registry import Announcement, Command
from fourhands.core.schema import JsonSchema

ANSWER_S = 30.0
"""Seconds that a call waits for its answer."""

MOST_WAITING = 100
MOST_ARGS_BYTES = 256 * 1024

_HOW = (
    'the program that announced it takes calls from the events "command.requested" of /ws, or from '
    "GET /openspace/command-requests, and answers by POST /openspace/command-results"
)


class FailedOutside(FourhandsError):
    """The program outside that runs this command says that it failed."""

    code = "failed-outside"


class AnnouncedAnswer(Struct, frozen=True, kw_only=True, rename="camel"):
    """The report of a program outside on a command that it ran."""

    output: str | None = None
    data: object = None
    execution_time: float | None = None  # in milliseconds, as it says


class CommandRequested(EventData, frozen=True, kw_only=True):
    """A call of an announced command waits for an answer from the program outside that runs it."""

    event = "command.requested"
    call_id: str
    command_id: str
    session_id: str  # of the caller: an agent's session, or the person
    args: dict[str, object]
    deadline: float  # seconds since the epoch
    timeout_seconds: float


class CommandWithdrawn(EventData, frozen=True, kw_only=True):
    """A call of an announced command no longer waits for an answer."""

    event = "command.withdrawn"
    call_id: str
    command_id: str
    session_id: str
    reason: str


@dataclass(slots=True)
class _Waiting:
    request: CommandRequested
    outcome: "asyncio.Future[ExternalOutcome]"


class OutsideRequests:
    """The calls of announced commands that wait for their answers, oldest first."""

    def __init__(self, events: EventBus, *, answer_s: float = ANSWER_S, now: Callable[[], float] = time.time) -> None:
        self._events = events
        self._answer_s = answer_s
        self._now = now
        self._waiting: dict[str, _Waiting] = {}
        self._arrived = asyncio.Event()
        self._leaving = False

    def command(self, posted: PostedCommand) -> Command:
        """Make the command of the registry for an announcement."""

        async def ask(bench: object, args: Struct, call: Call) -> AnnouncedAnswer:
            return await self._ask(call)

        try:
            args_type = struct_of("".join(map(str.capitalize, posted.id.split("."))), posted.arguments_schema)
        except BadArgument as error:
            raise BadArgument(f"arguments_schema of {posted.id}: {error.message}", hint=error.hint) from None
        shown: JsonSchema = {"type": "object", "properties": {}}
        return Command(
            id=posted.id,
            label=posted.title,
            description=posted.description,
            category=posted.category or posted.id.split(".")[1],
            handler=ask,
            args_type=args_type,
            result_type=AnnouncedAnswer,
            actors=posted.actors,
            destructive=posted.danger,
            extras=(Call,),
            announced=Announcement(arguments_schema=posted.arguments_schema or shown, handler=posted.handler or ""),
        )

    def leave(self) -> None:
        """End all waiting for calls: the server is being stopped."""
        self._leaving = True
        self._arrived.set()

    async def wait(self, within_s: float) -> list[CommandRequested]:
        """Return the waiting calls, oldest first. Where there are none, wait for one; empty after `within_s`."""
        try:
            async with asyncio.timeout(within_s):
                while not self._waiting and not self._leaving:
                    self._arrived.clear()
                    await self._arrived.wait()
        except TimeoutError:
            pass
        return [one.request for one in self._waiting.values()]

    def answer(self, posted: PostedResult) -> str:
        """Pass a posted result to the call that waits for it, and return that call's id; nothing if none waits.

        With a `callId` it is that call or an error; else the oldest of that session and command.
        """
        for call_id, one in self._waiting.items():
            request, named = one.request, posted.call_id is not None
            fits = request.command_id == posted.command_id and (named or request.session_id == posted.session_id)
            if fits and not one.outcome.done() and (not named or call_id == posted.call_id):
                one.outcome.set_result(posted.result)
                return call_id
        if posted.call_id is None:
            return ""
        waiting = [call_id for call_id, one in self._waiting.items() if one.request.command_id == posted.command_id]
        missing = NotFound.of("waiting call", posted.call_id, waiting)
        missing.message += f" of {posted.command_id}: it was answered, given up or never made"
        raise missing

    async def _ask(self, call: Call) -> AnnouncedAnswer:
        try:
            size = len(msgspec.json.encode(call.args))
        except (TypeError, ValueError, OverflowError, RecursionError) as error:  # half a surrogate pair, for one
            raise BadArgument(f"the arguments cannot be sent as JSON: {error}") from None
        if size > MOST_ARGS_BYTES:
            raise LimitReached(
                f"the arguments have {size} bytes", hint=f"at most {MOST_ARGS_BYTES} go to a program outside"
            )
        if len(self._waiting) >= MOST_WAITING:
            raise LimitReached(f"{MOST_WAITING} calls wait for programs outside already", hint="wait for some to end")
        request = CommandRequested(
            call_id=call.id,
            command_id=call.command,
            session_id=call.actor.id,
            args=call.args,
            deadline=self._now() + self._answer_s,
            timeout_seconds=self._answer_s,
        )
        outcome: asyncio.Future[ExternalOutcome] = asyncio.get_running_loop().create_future()
        self._waiting[call.id] = _Waiting(request, outcome)
        self._arrived.set()
        self._events.emit(request, actor=call.actor)
        reason = "cancelled"
        try:
            async with asyncio.timeout(self._answer_s):
                came = await outcome
            reason = ""
        except TimeoutError:
            reason = "timeout"
            raise TimedOut(
                f"no program answered {call.command} within {self._answer_s:g} s; it may have run all the same",
                hint=f"{_HOW}; ask the person whether it runs",
                callId=call.id,
            ) from None
        finally:
            self._waiting.pop(call.id, None)
            if reason:
                self._withdrawn(call, reason)
        if not came.success:
            why = came.error or came.output or "it gives no reason"
            raise FailedOutside(why, hint=f"said by the program outside that runs {call.command}", **_failed(came))
        return AnnouncedAnswer(output=came.output, data=came.data, execution_time=came.execution_time)

    def _withdrawn(self, call: Call, reason: str) -> None:
        told = CommandWithdrawn(call_id=call.id, command_id=call.command, session_id=call.actor.id, reason=reason)
        self._events.emit(told, actor=call.actor)


def _failed(came: ExternalOutcome) -> dict[str, object]:
    told = {"output": came.output if came.error else None, "data": came.data}
    return {name: value for name, value in told.items() if value is not None}
