"""The `Toolset`'s side of the WebSocket: calls that wait, and the questions that they meet."""

import asyncio
import contextlib
import inspect
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from fourhands.core.errors import BadArgument, Denied, FourhandsError, LimitReached, NotFound, Unavailable
from fourhands.core.question import Answer, Choice, Question
from fourhands.core.tasks import Tasks
from fourhands.surfaces.mcp.options import ClientOptions
from fourhands.surfaces.toolset.messages import (
    OWN,
    PATH,
    AnswerTool,
    CallTool,
    CancelTool,
    FromToolset,
    ToolAsks,
    ToolDone,
    ToolsReady,
    to_toolset,
)

OPEN_S = 60.0
"""The time in which a busy workbench must accept the connection."""

LARGEST = 1024 * 1024 - 1024
"""Bytes of a call's arguments as JSON: the workbench takes no larger message."""

Ask: TypeAlias = Callable[[Question], Choice | Answer | Awaitable[Choice | Answer]]
"""The embedding program's answer to a question: one of its `options`, such as "once" or "deny", or an `Answer`."""

_REFUSALS: dict[str, type[FourhandsError]] = {
    one.code: one for one in (BadArgument, Denied, FourhandsError, LimitReached, NotFound)
}


class _Refusal(msgspec.Struct):
    error: str
    code: str
    hint: str = ""


class ToolsetLink:
    """A connection to a workbench; `tasks` reads it."""

    def __init__(self, socket: ClientConnection, ready: ToolsReady, tasks: Tasks, ask: Ask | None) -> None:
        self.ready = ready
        self._socket = socket
        self._tasks = tasks
        self._ask = ask
        self._last = 0
        self._waiting: dict[int, asyncio.Future[ToolDone]] = {}
        self._asking: dict[int, set[asyncio.Task[None]]] = {}
        self._gone = False
        tasks.start(self._read(), "the connection of a toolset")

    @classmethod
    async def open(
        cls, url: str, token: str, own: str, options: ClientOptions, tasks: Tasks, ask: Ask | None
    ) -> "ToolsetLink":
        """Connect and begin a session. Raises `Unavailable`, or the workbench's own error about the options."""
        headers = {"Authorization": f"Bearer {token}"} | ({OWN: own} if own else {})
        where = f"{url.replace('http', 'ws', 1)}{PATH}"
        try:
            socket = await connect(
                f"{where}?{options.query()}",
                additional_headers=headers,
                max_size=None,
                compression=None,
                proxy=None,
                open_timeout=OPEN_S,
                ping_interval=None,  # A side that has gone closes its end; one that is busy must not be cut off.
            )
            try:
                ready = to_toolset.decode(await socket.recv())
                if isinstance(ready, ToolsReady):
                    return cls(socket, ready, tasks, ask)
            except BaseException:
                await socket.close()
                raise
        except InvalidStatus as error:
            raise _refused(error, url) from error
        except (OSError, WebSocketException, msgspec.MsgspecError) as error:
            raise Unavailable(f"cannot connect to the workbench at {url}: {error}") from error
        await socket.close()
        raise Unavailable(f"the workbench at {url} speaks another language", hint="start it again: fourhands stop")

    async def close(self) -> None:
        """End the session; what waits is told."""
        await self._socket.close()
        self._lost()

    async def call(self, tool: str, args: dict[str, object]) -> ToolDone:
        """Call a tool and return its answer; cancelled, the call is given up.

        Raises `BadArgument` for arguments that no JSON can be made of, `Unavailable` where there is no workbench.
        """
        if self._gone:
            raise _lost()
        self._last += 1
        number = self._last
        try:
            message = msgspec.json.encode(CallTool(number, tool, args))
        except (TypeError, NotImplementedError) as error:
            raise BadArgument(f"the arguments for {tool} are no JSON: {error}") from error
        except (ValueError, OverflowError, RecursionError) as error:
            return _wrong(number, f"the arguments cannot be sent: {error}", "leave out what is no text")
        if len(message) > LARGEST:
            many = f"the arguments have {len(message):,} bytes, and at most {LARGEST:,} can be sent"
            return _wrong(number, many, "send them in pieces")
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            with contextlib.suppress(ConnectionClosed):  # then the reader says so
                await self._socket.send(message.decode())
            done: ToolDone = await future
            return done
        except asyncio.CancelledError:
            await self._send(CancelTool(number))
            raise
        finally:
            self._waiting.pop(number, None)
            for asked in self._asking.pop(number, ()):
                asked.cancel()  # nobody waits for the answer any more

    async def _send(self, message: FromToolset) -> None:
        with contextlib.suppress(ConnectionClosed):
            await self._socket.send(msgspec.json.encode(message).decode())

    async def _read(self) -> None:
        try:
            async for text in self._socket:
                message = to_toolset.decode(text)
                if isinstance(message, ToolDone):
                    if (future := self._waiting.get(message.number)) is not None and not future.done():
                        future.set_result(message)
                elif isinstance(message, ToolAsks):
                    self._tasks.start(self._answer(message), "a question of a toolset")
        except (ConnectionClosed, msgspec.MsgspecError):
            pass
        finally:
            self._lost()
            await self._socket.close()

    def _lost(self) -> None:
        """Tell every call that waits that nothing will come; a model may read it."""
        self._gone = True
        for number, future in self._waiting.items():
            if not future.done():
                error = Unavailable(
                    "the workbench ended while this ran: how far it came is not known",
                    hint="look at what is there before you do it again",
                )
                future.set_result(told(number, error))

    async def _answer(self, message: ToolAsks) -> None:
        """Ask the embedding program. Its own mistakes are the caller's, and the model's call is refused."""
        question, task = message.question, asyncio.current_task()
        if message.number not in self._waiting:
            return
        assert self._ask is not None
        assert task is not None
        asking = self._asking.setdefault(message.number, set())
        asking.add(task)
        try:
            given = self._ask(question)
            answer = _checked(question, await given if inspect.isawaitable(given) else given)
        except Exception as error:  # noqa: BLE001 - it is raised where the tool was called
            answer = Answer(choice="deny", reason="the program that is asked failed")
            if (future := self._waiting.get(message.number)) is not None and not future.done():
                future.set_exception(error)
        finally:
            asking.discard(task)  # from here on it is told to the workbench, whatever becomes of the call
        await self._send(AnswerTool(message.number, question.id, answer))


def _checked(question: Question, given: object) -> Answer:
    answer = given if isinstance(given, Answer) else Answer(choice=given) if isinstance(given, str) else None  # type: ignore[arg-type]
    if answer is None or answer.choice not in question.options:
        said = given if answer is None else answer.choice
        raise BadArgument(f"ask() answered {said!r}", hint=f"this question takes: {', '.join(question.options)}")
    if answer.choice == "edit" and answer.text is None and answer.args is None:
        raise BadArgument("ask() answered 'edit' alone", hint='give the new line: Answer(choice="edit", text="…")')
    return answer


def _wrong(number: int, error: str, hint: str) -> ToolDone:
    return told(number, BadArgument(error, hint=hint))


def told(number: int, error: FourhandsError) -> ToolDone:
    """Return an error as a model reads it."""
    hint = f"\nhint: {error.hint}" if error.hint else ""
    text = f"error: {error.message}\ncode: {error.code}{hint}"
    return ToolDone(number, False, text, {"error": error.message, "code": error.code, "hint": error.hint})


def _lost() -> Unavailable:
    return Unavailable("the workbench of this Toolset has ended", hint="make a new one: it joins or starts another")


def _refused(error: InvalidStatus, url: str) -> FourhandsError:
    """Return the workbench's own error, if it is one."""
    try:
        told = msgspec.json.decode(error.response.body or b"", type=_Refusal)
    except msgspec.MsgspecError:
        return Unavailable(
            f"the workbench at {url} takes no Toolset: {error}",
            hint="where it is of an older version, start it again: fourhands stop",
        )
    return _REFUSALS.get(told.code, Unavailable)(told.error, hint=told.hint)
