"""A JSON-RPC 2.0 peer on two byte streams, one message per line: both sides may ask, tell, answer and cancel.

Raw dictionaries go in and out; what they mean is the caller's. What must stay true:

- Notifications and answers are handled in the order of their lines, before the next line is looked at. A request is
  started in its place and runs as a task of its own, so that one that waits never holds up another.
- Whatever the other side writes, the peer lives on: noise, half messages, wrong types and answers without a
  question are logged, and a line beyond the limit is skipped without being kept.
- `$/cancel_request` works both ways: ours is sent when an `await request(…)` is cancelled, theirs cancels the handler,
  whose request is then answered with the error -32800.
- Batches are taken only once `narrow` says so: each entry is served like a message of its own, and the answers to its
  requests go back together, when the last of them is there.
"""

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec

from fourhands.core.bounded import BoundedDict
from fourhands.core.errors import FourhandsError, Unavailable
from fourhands.core.lines import LineSplitter, Overlong
from fourhands.core.tasks import Tasks

log = logging.getLogger(__name__)

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
CANCELLED: Final = -32800

LARGEST_LINE = 64 * 1024 * 1024
MOST_REQUESTS = 1000
"""Requests of the other side that may be under way at the same time."""

_CHUNK = 1 << 18
_REMEMBERED = 1000
_SHOWN = 200

Params = dict[str, Any]
RpcHandler = Callable[[Params], Awaitable[object]]
RpcListener = Callable[[Params], None]
RpcReply = Callable[[Mapping[str, object]], None]


class RpcError(Exception):
    """An error as it stands on the wire; raised by a handler it is the answer."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def to_wire(self) -> dict[str, object]:
        """Return the member `error` of an answer."""
        wire: dict[str, object] = {"code": self.code, "message": self.message}
        return wire if self.data is None else {**wire, "data": self.data}


class PeerFailed(FourhandsError):
    """The other side answered a request of ours with an error; `number` is JSON-RPC's."""

    code = "peer-failed"

    def __init__(self, method: str, error: object) -> None:
        members = error if isinstance(error, dict) else {}
        number, text = members.get("code"), members.get("message")
        self.number = number if isinstance(number, int) else INTERNAL_ERROR
        self.details = members.get("data")
        more = self.details.get("details") or self.details.get("message") if isinstance(self.details, dict) else None
        words = f"{text or error}: {more}" if isinstance(more, str) and more != text else str(text or error)
        super().__init__(f"{method} failed: {words[:2000]}", number=self.number)


class PeerGone(Unavailable):
    """The other side has closed the connection."""

    code = "peer-gone"


class _Batch:
    """The answers to the requests of one batch, sent as one array when the last of them is there."""

    def __init__(self, send: Callable[[list[Mapping[str, object]]], None]) -> None:
        self._send = send
        self._answers: list[Mapping[str, object]] = []
        self._missing = 1  # one for the batch itself, until all of its entries have been looked at

    def expect(self) -> RpcReply:
        """Wait for one more answer, which the returned function takes."""
        self._missing += 1
        return self._take

    def looked_through(self) -> None:
        """Note that no further answer will be expected."""
        self._arrived()

    def _take(self, answer: Mapping[str, object]) -> None:
        self._answers.append(answer)
        self._arrived()

    def _arrived(self) -> None:
        self._missing -= 1
        if not self._missing and self._answers:
            self._send(self._answers)


class RpcConnection:
    """One end of a connection. `run` reads until the other side closes; everything else may be called meanwhile."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        tasks: Tasks,
        *,
        methods: Mapping[str, RpcHandler] | None = None,
        notifications: Mapping[str, RpcListener] | None = None,
        translate: Callable[[FourhandsError], RpcError] | None = None,
        name: str = "peer",
        answer_noise: bool = False,
        largest_line: int = LARGEST_LINE,
        finish_s: float = 0.0,
    ) -> None:
        self.name = name
        self.closed = False
        self._reader = reader
        self._writer = writer
        self._tasks = tasks
        self._methods = dict(methods or {})
        self._notifications = dict(notifications or {})
        self._translate = translate or _translate
        self._answer_noise = answer_noise
        self._finish_s = finish_s  # how long requests may still be answered after the last line
        self._lines: LineSplitter[bytes] = LineSplitter(largest_line)
        self._numbers = itertools.count(1)
        self._asked: dict[int, tuple[str, asyncio.Future[Any]]] = {}
        self._abandoned: BoundedDict[int, None] = BoundedDict(_REMEMBERED)
        self._serving: dict[tuple[str, object], asyncio.Task[Any]] = {}
        self._drain = asyncio.Lock()
        self._batches = False

    # -- our side --------------------------------------------------------------------------------------------------

    async def request(self, method: str, params: Mapping[str, object] | None = None) -> Any:
        """Ask, and return the result; `PeerFailed` if it is an error, `PeerGone` if none can come any more.

        Cancelling this tells the other side, which may stop its work, and forgets the answer.
        """
        number, future = self._ask(method, params)
        try:
            await self._flush()
            return await future
        except asyncio.CancelledError:
            if self._asked.pop(number, None) is not None and not self.closed:
                self._abandoned[number] = None
                self.notify("$/cancel_request", {"requestId": number})
            raise
        finally:
            self._asked.pop(number, None)

    def _ask(self, method: str, params: Mapping[str, object] | None) -> tuple[int, "asyncio.Future[Any]"]:
        if self.closed:
            raise PeerGone(f"{self.name} has closed the connection: {method} was not sent")
        number = next(self._numbers)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked[number] = (method, future)
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}})
        return number, future

    def awaits(self, number: object) -> bool:
        """Return True if a request of ours with this id has no answer yet."""
        return isinstance(number, int) and not isinstance(number, bool) and number in self._asked

    def notify(self, method: str, params: Mapping[str, object] | None = None) -> None:
        """Tell something that needs no answer; of no effect after the end."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def _send(self, message: Mapping[str, object] | list[Mapping[str, object]]) -> None:
        if self.closed or self._writer.is_closing():
            return
        # Half characters (from file names, say) have no place in UTF-8; JSON can still name them.
        try:
            line = msgspec.json.encode(message, enc_hook=repr)
        except UnicodeEncodeError:
            line = msgspec.json.encode(_mended(message), enc_hook=repr)
        with contextlib.suppress(OSError, RuntimeError):
            self._writer.write(line + b"\n")

    async def _flush(self) -> None:
        """Wait while the other side does not read, so that a sender of much waits and no memory grows."""
        async with self._drain:
            with contextlib.suppress(OSError):
                await self._writer.drain()

    # -- their side ------------------------------------------------------------------------------------------------

    def narrow(self, methods: Mapping[str, RpcHandler], notifications: Mapping[str, RpcListener]) -> None:
        """Serve these and no others from now on, and take batches: both sides have agreed on that."""
        self._methods, self._notifications, self._batches = dict(methods), dict(notifications), True

    async def run(self) -> None:
        """Read and dispatch until the end of the stream; then everything that is open on either side is ended."""
        try:
            while data := await self._read():
                for line in self._lines.feed(data):
                    self._take(line)
            if self._lines.unfinished:
                log.warning("%s ended in the middle of a message of %d bytes", self.name, self._lines.unfinished)
            if self._serving and self._finish_s:
                await asyncio.wait(list(self._serving.values()), timeout=self._finish_s)
        finally:
            self.close()

    async def _read(self) -> bytes:
        try:
            return await self._reader.read(_CHUNK)
        except OSError as error:
            log.info("%s: %s", self.name, error)
            return b""

    def close(self) -> None:
        """End it: what we wait for fails with `PeerGone`, what runs for the other side is cancelled."""
        if self.closed:
            return
        self.closed = True
        for method, future in self._asked.values():
            if not future.done():
                future.set_exception(PeerGone(f"{self.name} closed the connection before it answered {method}"))
                future.exception()  # or it would be logged as never retrieved
        self._asked.clear()
        for task in list(self._serving.values()):
            task.cancel()
        self._writer.close()

    def _take(self, line: bytes | Overlong[bytes]) -> None:
        if isinstance(line, Overlong):
            log.warning("%s sent a line that is too long; it is skipped", self.name)
            self._complain(INVALID_REQUEST, "the message is too long")
            return
        line = line.strip()
        if not line:
            return
        try:
            message = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            log.warning("%s wrote something that is no message: %r", self.name, line[:_SHOWN])
            self._complain(PARSE_ERROR, "this is not JSON")
            return
        if isinstance(message, list) and self._batches:
            self._take_batch(message)
        elif not isinstance(message, dict):
            log.warning("%s wrote something that is no message: %r", self.name, line[:_SHOWN])
            self._complain(INVALID_REQUEST, "a message is one object; batches are not part of this protocol")
        elif not self._dispatch(message, lambda: self._send):
            log.warning("%s sent neither a call nor an answer: %r", self.name, line[:_SHOWN])
            self._complain(INVALID_REQUEST, "there is no method", message.get("id"))

    def _take_batch(self, messages: list[Any]) -> None:
        if not messages:
            self._reply_error(None, RpcError(INVALID_REQUEST, "a batch has at least one message"), self._send)
            return
        batch = _Batch(self._send)
        for message in messages:
            if not isinstance(message, dict) or not self._dispatch(message, batch.expect):
                log.warning("%s sent neither a call nor an answer in a batch: %.200r", self.name, message)
                self._reply_error(
                    None, RpcError(INVALID_REQUEST, "this is neither a call nor an answer"), batch.expect()
                )
        batch.looked_through()

    def _dispatch(self, message: Mapping[str, object], expect: Callable[[], RpcReply]) -> bool:
        """Handle a message, and return False if it is neither a call nor an answer; a request is replied to once."""
        method = message.get("method")
        if isinstance(method, str):
            self._called(method, message, expect)
        elif "result" in message or "error" in message:
            self._answered(message)
        else:
            return False
        return True

    def _complain(self, code: int, text: str, id: object = None) -> None:
        # To a program whose output is mixed with noise an answer would be noise too.
        if self._answer_noise:
            self._reply_error(id if isinstance(id, str | int) else None, RpcError(code, text), self._send)

    def _called(self, method: str, message: Mapping[str, object], expect: Callable[[], RpcReply]) -> None:
        params = message.get("params")
        if params is None:
            params = {}
        if "id" not in message:
            self._told(method, params)
            return
        id, reply = message["id"], expect()
        if isinstance(id, bool) or not isinstance(id, str | int | None):
            self._reply_error(
                None, RpcError(INVALID_REQUEST, f"an id is a text or a whole number, not {id!r:.100}"), reply
            )
            return
        handler = self._methods.get(method)
        if handler is None:
            error = RpcError(METHOD_NOT_FOUND, f"no method {method[:_SHOWN]!r}", {"method": method[:_SHOWN]})
            self._reply_error(id, error, reply)
        elif not isinstance(params, dict):
            self._reply_error(id, RpcError(INVALID_PARAMS, f"the params of {method} must be an object"), reply)
        elif len(self._serving) >= MOST_REQUESTS:
            self._reply_error(id, RpcError(INTERNAL_ERROR, f"{MOST_REQUESTS} requests are under way already"), reply)
        elif (key := (type(id).__name__, id)) in self._serving:
            self._reply_error(id, RpcError(INVALID_REQUEST, f"request {id!r} is under way already"), reply)
        else:
            task = self._tasks.start(self._serve(id, method, handler, params, reply), f"{self.name}: {method}")
            self._serving[key] = task
            task.add_done_callback(lambda _: self._serving.pop(key, None))

    async def _serve(
        self, id: str | int | None, method: str, handler: RpcHandler, params: Params, reply: RpcReply
    ) -> None:
        try:
            result = await handler(params)
        except RpcError as error:
            self._reply_error(id, error, reply)
        except FourhandsError as error:
            self._reply_error(id, self._translate(error), reply)
        except asyncio.CancelledError:
            self._reply_error(id, RpcError(CANCELLED, f"{method} was cancelled"), reply)
            raise
        except Exception:
            log.exception("%s: %s failed", self.name, method)
            unexpected = RpcError(INTERNAL_ERROR, f"{method} failed unexpectedly", {"code": "internal"})
            self._reply_error(id, unexpected, reply)
        else:
            reply({"jsonrpc": "2.0", "id": id, "result": result})
        await self._flush()

    def _reply_error(self, id: str | int | None, error: RpcError, reply: RpcReply) -> None:
        reply({"jsonrpc": "2.0", "id": id, "error": error.to_wire()})

    def _told(self, method: str, params: object) -> None:
        if not isinstance(params, dict):
            log.warning("%s: the params of %s are not an object", self.name, method)
        elif method == "$/cancel_request":
            id = params.get("requestId")
            task = self._serving.get((type(id).__name__, id)) if isinstance(id, str | int | None) else None
            if task is not None:
                # Not at once: a task that has not begun would end without having answered.
                asyncio.get_running_loop().call_soon(task.cancel)
        elif method in self._notifications:
            try:
                self._notifications[method](params)
            except Exception:
                log.exception("%s: %s could not be taken", self.name, method)
        elif not method.startswith(("$/", "_")):  # those may be ignored by definition
            log.info("%s: unknown notification %s", self.name, method[:_SHOWN])

    def _answered(self, message: Mapping[str, object]) -> None:
        id = message.get("id")
        known = self._asked.pop(id, None) if isinstance(id, int) and not isinstance(id, bool) else None
        if known is None:
            if not (isinstance(id, int) and id in self._abandoned):
                log.warning("%s answered %r, which was not asked", self.name, str(id)[:_SHOWN])
            return
        method, future = known
        if future.done():
            return
        if message.get("error") is not None:
            future.set_exception(PeerFailed(method, message["error"]))
        else:
            future.set_result(message.get("result"))


def _translate(error: FourhandsError) -> RpcError:
    return RpcError(INTERNAL_ERROR, str(error), {"code": error.code})


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mended(item) for item in value]
    return value
