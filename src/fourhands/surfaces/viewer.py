"""`/ws/terminals/{id}`: one terminal's output as binary frames with positions, and a person's keys the other way.

Out, binary: 8 bytes of position, big-endian, then output. Out, text: `{"type": "screen" | "gap" | "size" | "exit" |
"refused", …}`. In, binary: keys. In, text: `{"type": "ack" | "resize" | "reply", …}`.

This is a person's view: the bytes as they are, with whatever secrets were printed. An agent reads by commands, which
take those out, and types by commands, which are judged.

A reply is what a browser's terminal answers by itself to a program's question (where is the cursor, which colours): it
is nobody's typing. With several browsers only one may answer: the one that was typed in last, else the first.

A viewer is a position and a socket: no queue is kept for it. Whoever acknowledges what it has parsed is never sent more
than a window ahead; whoever has fallen too far behind gets the present screen instead of the backlog.
"""

import asyncio
import contextlib
import struct
from collections.abc import Callable
from weakref import WeakKeyDictionary

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from fourhands.core.call import Call
from fourhands.core.errors import BadArgument, Denied, FourhandsError
from fourhands.core.event import Event
from fourhands.core.tasks import Tasks
from fourhands.host.log import GRAIN, Chunk
from fourhands.surfaces.socket import PROTOCOL
from fourhands.surfaces.tokens import Principal
from fourhands.workbench.terminal import RESIZE_EVERY_S, Exit, Terminal
from fourhands.workbench.workbench import Workbench

WINDOW = 1024 * 1024
"""Bytes sent ahead of what a viewer has acknowledged."""

BACKLOG = 4 * 1024 * 1024
"""A viewer further behind than this gets the present screen instead."""

INPUT_LIMIT = 1024 * 1024
"""Typed bytes that wait for a program which does not read."""

REPLY_LIMIT = 4096
"""Characters of one reply; real ones are short."""

RESIZE = "openspace.terminal.resize"

_POSITION = struct.Struct("!Q")

_answering: "WeakKeyDictionary[Terminal, list[_Viewer]]" = WeakKeyDictionary()
"""The browsers that show a terminal; the first in the list answers for it."""


class Control(msgspec.Struct, frozen=True):
    """A viewer's word."""

    type: str
    position: int = 0
    cols: int = 0
    rows: int = 0
    data: str = ""


_decoder = msgspec.json.Decoder(Control)


async def serve_viewer(bench: Workbench, socket: WebSocket) -> None:
    """One viewer, from its first position to the end."""
    principal: Principal = socket.state.principal
    subprotocol = PROTOCOL if PROTOCOL in socket.scope.get("subprotocols", ()) else None
    await socket.accept(subprotocol=subprotocol)
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # gone: in mid-send starlette says so with the latter
        try:
            if not principal.person:
                raise Denied(
                    "only a person sees a terminal's bytes",
                    hint="use openspace.terminal.read_output, .screen and .send",
                )
            terminal = bench.terminal(socket.path_params["terminal"])
            start = _position(socket.query_params.get("from"))
        except FourhandsError as error:
            await _send(socket, {"type": "refused", "error": str(error), "code": error.code})
            await socket.close(1008)
            return
        await _Viewer(bench, socket, principal, terminal).run(start, acks=socket.query_params.get("ack") == "1")


def _position(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 19):
        raise BadArgument(f"from must be a position, not {text[:50]!r}")
    return int(text)


async def _send(socket: WebSocket, message: dict[str, object]) -> None:
    await socket.send_text(msgspec.json.encode(message).decode())


class _Viewer:
    def __init__(self, bench: Workbench, socket: WebSocket, principal: Principal, terminal: Terminal) -> None:
        self.bench = bench
        self.socket = socket
        self.principal = principal
        self.terminal = terminal
        self.position = 0
        self.acknowledged: int | None = None
        self.told_size: tuple[int, int] | None = None
        self._news = asyncio.Event()
        self._waiting = bytearray()
        self._typing = False
        self._typed = asyncio.Event()

    async def run(self, start: int | None, *, acks: bool) -> None:
        terminal = self.terminal
        stop: Callable[[], None] = terminal.listen(self._news.set)
        sizes = self.bench.events.published.subscribe(self._heard)
        viewers = _answering.setdefault(terminal, [])
        viewers.append(self)
        try:
            if start is None:
                await self._show_screen()
            else:
                self.position = min(start, terminal.log.head)
            if acks:
                self.acknowledged = self.position
            async with Tasks() as tasks:
                listener = tasks.start(self._listen(), "a viewer's keys")
                tasks.start(self._type(), "a viewer's typing")
                listener.add_done_callback(lambda _: self._news.set())
                await self._pump(listener)
        finally:
            stop()
            sizes()
            viewers.remove(self)

    def _heard(self, event: Event) -> None:
        """A size changes without output: now, or a moment later when many changes came at once."""
        if event.kind == "call.finished" and event.data.get("command") == RESIZE:
            self._news.set()
            asyncio.get_running_loop().call_later(2 * RESIZE_EVERY_S, self._news.set)

    async def _pump(self, listener: "asyncio.Task[None]") -> None:
        while not listener.done():
            self._news.clear()
            await self._tell_size()
            while self._may_send() and (chunk := self._next()).data:
                if self._too_far_behind():
                    await self._show_screen(self.position)
                    continue
                if chunk.start > self.position:
                    await _send(self.socket, {"type": "gap", "from": self.position, "to": chunk.start})
                await self.socket.send_bytes(_POSITION.pack(chunk.start) + chunk.data)
                self.position = chunk.end
            end = self.terminal.exit
            if end is not None and not self._next(1).data:
                await self._tell_exit(end)
                await listener
                return
            await self._news.wait()

    def _next(self, limit: int = GRAIN) -> Chunk:
        if self.terminal.log.fd < 0:  # closed, and forgotten: there is no more to see
            return Chunk(self.position, b"")
        return self.terminal.log.read(self.position, limit)

    def _too_far_behind(self) -> bool:
        return self.acknowledged is not None and self.terminal.log.head - self.position > BACKLOG

    def _may_send(self) -> bool:
        return self.acknowledged is None or self.position - self.acknowledged < WINDOW

    async def _show_screen(self, behind: int | None = None) -> None:
        """The present state for a newcomer or straggler: screen, modes, cursor, then the stream from an exact place."""
        data, self.position = self.terminal.restore()
        if self.acknowledged is not None:
            self.acknowledged = self.position
        if behind is not None:
            await _send(self.socket, {"type": "gap", "from": behind, "to": self.position})
        cols, rows = self.told_size = self.terminal.size
        message: dict[str, object] = {"type": "screen", "position": self.position, "cols": cols, "rows": rows}
        await _send(self.socket, {**message, "data": data.decode("utf-8", "replace")})

    async def _tell_size(self) -> None:
        size = self.terminal.size
        if size != self.told_size and size[0]:
            self.told_size = size
            await _send(self.socket, {"type": "size", "cols": size[0], "rows": size[1]})

    async def _tell_exit(self, end: Exit) -> None:
        message: dict[str, object] = {
            "type": "exit",
            "code": end.code,
            "signal": end.signal,
            "lost": end.lost,
            "position": end.position,
        }
        await _send(self.socket, message)

    async def _listen(self) -> None:
        while True:
            message = await self.socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            if (keys := message.get("bytes")) is not None:
                await self._take_keys(keys)
            elif (text := message.get("text")) is not None:
                await self._control(text)

    async def _control(self, text: str) -> None:
        try:
            control = _decoder.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            await self._refuse("bad-argument", f"the message cannot be read: {error}")
            return
        match control.type:
            case "ack" if self.acknowledged is not None:
                self.acknowledged = max(self.acknowledged, min(control.position, self.position))
                self._news.set()
            case "resize":
                args: dict[str, object] = {"terminalId": self.terminal.id, "cols": control.cols, "rows": control.rows}
                call = Call(command=RESIZE, args=args, actor=self.principal.actor, origin="socket")
                result = await self.bench.gate.run(call)
                if not result.success:
                    await self._refuse(result.code, result.error)
            case "reply" if self._answers() and len(control.data) <= REPLY_LIMIT:
                self._put(control.data.encode("utf-8", "replace"))
            case _:
                pass

    def _answers(self) -> bool:
        return _answering.get(self.terminal, [])[:1] == [self]

    async def _take_keys(self, keys: bytes) -> None:
        if not keys:
            return
        if len(self._waiting) + len(keys) > INPUT_LIMIT:
            await self._refuse("limit", "the program does not read what is typed; nothing more is taken")
            return
        viewers = _answering.get(self.terminal, [])
        if viewers[:1] != [self] and self in viewers:
            viewers.remove(self)
            viewers.insert(0, self)
        if not self.terminal.exited:  # else it has no keyboard, and typing says why
            self.bench.lease(self.terminal).person_typed(self.principal.actor.id, keys)
        self._put(keys)

    def _put(self, keys: bytes) -> None:
        """Type now what the kernel takes, the rest in turn."""
        if not self._typing:
            keys = keys[self.terminal.type_now(keys) :]
        if not keys:
            return
        if len(self._waiting) + len(keys) <= INPUT_LIMIT:
            self._typing = True
            self._waiting += keys
            self._typed.set()

    async def _type(self) -> None:
        """What could not be typed at once waits here, so that acknowledgements and the rest go on."""
        while True:
            await self._typed.wait()
            keys = bytes(self._waiting[:GRAIN])
            try:
                await self.terminal.type(keys)
                del self._waiting[: len(keys)]
            except FourhandsError as error:
                self._waiting.clear()
                await self._refuse(error.code, error.message)
            if not self._waiting:
                self._typing = False
                self._typed.clear()

    async def _refuse(self, code: str, error: str) -> None:
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # gone already: nobody to tell
            await _send(self.socket, {"type": "refused", "code": code, "error": error})
