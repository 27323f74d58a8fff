"""`/ws`: calls, results and events as JSON messages on one socket.

In: `{"id": 7, "command": "openspace.pane.list", "args": {}}`, or, signed by a browser's key, `{"signed": TEXT,
"signature": …}` (`signatures.py`). Out: first of all `{"hello": {…}}`, then
`{"id": 7, "result": {…}}` and `{"event": {…}}`. Calls run side by side and are answered when they are done, behind all
events until then: what a call did is known before its answer. A reader that is too slow finds one `events.missed` in
place of what it missed and asks for `openspace.workbench.snapshot`.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

import msgspec
from msgspec.structs import replace
from starlette.websockets import WebSocket, WebSocketDisconnect

from fourhands.core.call import Call, Result
from fourhands.core.errors import Denied
from fourhands.core.event import EventData, Subscription, for_agent
from fourhands.core.quote import broken
from fourhands.core.tasks import Tasks
from fourhands.surfaces.auth import Credential
from fourhands.surfaces.http.signatures import Signatures
from fourhands.workbench.workbench import Workbench

log = logging.getLogger(__name__)

MESSAGE_LIMIT = 1024 * 1024
"""Bytes of one message, which the server holds every socket to."""

PROTOCOL = "fourhands"


class PresenceChanged(EventData, frozen=True, kw_only=True):
    """A browser has come or gone; `browsers` counts those that are there."""

    event = "presence.changed"
    browsers: int


class SocketRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call as it comes over the socket."""

    id: int | str
    command: str
    args: dict[str, object] = {}


class SignedRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A call that a browser's key signed."""

    signed: str
    signature: str


class _Only(msgspec.Struct, frozen=True):
    id: int | str | None = None


_decoder = msgspec.json.Decoder(SocketRequest)
_signed = msgspec.json.Decoder(SignedRequest)
_only_id = msgspec.json.Decoder(_Only)


class _Line:
    """The outgoing messages of one socket: answers and events, in the order in which things happened."""

    def __init__(self, socket: WebSocket, principal: Credential, events: Subscription) -> None:
        self._socket = socket
        self._principal = principal
        self._events = events
        self._sending = asyncio.Lock()

    async def hello(self, message: dict[str, object]) -> None:
        """Send the first message, before any event."""
        async with self._sending:
            await self._socket.send_text(_encode({"hello": message}))

    async def send(self, message: dict[str, object]) -> None:
        """Send an answer after all events until now."""
        async with self._sending:
            await self._tell()
            await self._socket.send_text(_encode(message))

    async def follow(self) -> None:
        """Tell of events as they happen, until the socket is gone."""
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            while await self._events.ready():
                async with self._sending:
                    await self._tell()

    async def _tell(self) -> None:
        for event in self._events.take():
            if not self._principal.agent:
                await self._socket.send_text(_encode({"event": event}))
            elif for_agent(event, self._principal.actor.id):
                await self._socket.send_text(broken(_encode({"event": event})))


async def serve_socket(bench: Workbench, socket: WebSocket, calls_at_once: int) -> None:
    """One connection, from hello to goodbye."""
    principal: Credential = socket.state.principal
    await socket.accept(subprotocol=PROTOCOL if PROTOCOL in socket.scope.get("subprotocols", ()) else None)
    # Only a browser can answer. A program that looks on must not let a question appear that no person sees.
    attends = principal.browser is not None and socket.query_params.get("attend") == "1"
    leave = bench.questions.attend() if attends else None
    signatures = Signatures(bench, principal)
    if leave is not None:
        _tell_presence(bench)
    try:
        with bench.events.subscribe() as events:
            line = _Line(socket, principal, events)
            await line.hello(_hello(bench, principal, signatures.challenge))
            async with Tasks() as tasks:
                tasks.start(line.follow(), "the events of a socket")
                async for text in _messages(socket):
                    if len(tasks) > calls_at_once:
                        error = f"more than {calls_at_once} calls at once"
                        await line.send({"id": _id_of(text), "result": _failure("limit", error, "wait for answers")})
                        continue
                    tasks.start(_answer(bench, principal, text, line, signatures), "a call on a socket")
    except (WebSocketDisconnect, RuntimeError):
        pass  # gone: in mid-send starlette says so with a RuntimeError
    finally:
        if leave is not None:
            leave()
            _tell_presence(bench)


def _tell_presence(bench: Workbench) -> None:
    bench.events.emit(PresenceChanged(browsers=bench.questions.audience()))


def _hello(bench: Workbench, principal: Credential, challenge: str) -> dict[str, object]:
    return {
        "actor": msgspec.to_builtins(principal.actor),
        "workspace": "." if principal.agent else bench.root,
        "revision": bench.state.rev,
        "manifest": bench.registry.version,
        "browsers": bench.questions.audience(),
        "challenge": challenge,
    }


async def _messages(socket: WebSocket) -> AsyncIterator[str]:
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        text = message.get("text")
        if text is None:
            data = message.get("bytes") or b""
            text = data.decode("utf-8", "replace")
        yield text


async def _answer(bench: Workbench, principal: Credential, text: str, line: _Line, signatures: Signatures) -> None:
    try:
        if text.startswith('{"signed"'):
            await _answer_signed(bench, principal, _signed.decode(text), line, signatures)
            return
        request = _decoder.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        await line.send(
            {"id": _id_of(text), "result": _failure("bad-argument", f"the message cannot be read: {error}")}
        )
        return
    call = Call(
        command=request.command,
        args=request.args,
        actor=principal.actor,
        origin="socket",
    )
    result = await bench.gate.run(call)
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        await line.send({"id": request.id, "callId": call.id, "result": result.to_wire()})


async def _answer_signed(
    bench: Workbench, principal: Credential, message: SignedRequest, line: _Line, signatures: Signatures
) -> None:
    request = signatures.read(message.signed)
    call = Call(command=request.command, args=request.args, actor=principal.actor, origin="socket")
    try:
        by = signatures.check(request, message.signed, message.signature)
    except Denied as error:
        result = await bench.gate.record(call, Result.failure(error))
    else:
        result = await bench.gate.run(replace(call, signed=by))
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        await line.send({"id": request.id, "callId": call.id, "result": result.to_wire()})


def _id_of(text: str) -> int | str | None:
    """Return the id of a message that is otherwise invalid, so that its sender can tell which one it was."""
    try:
        return _only_id.decode(text).id
    except (msgspec.DecodeError, RecursionError):
        return None


_FORM = 'a message is {"id": 1, "command": "openspace.noun.verb", "args": {…}}'


def _failure(code: str, error: str, hint: str = _FORM) -> dict[str, object]:
    return {"success": False, "error": error, "code": code, "hint": hint}


def _encode(message: dict[str, object]) -> str:
    return msgspec.json.encode(message, enc_hook=repr).decode()
