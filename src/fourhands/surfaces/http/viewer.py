"""`/ws/terminals/{id}`: one terminal's output as binary frames with positions, and a person's keys the other way.

`/ws/terminals` is the same for a terminal that the first message names or asks for (opening.py). Out, binary: 8 bytes
of position, big-endian, then output. Out, text: `{"type": "created" | "screen" | "gap" | "size" | "exit" | "refused" |
"typed", …}`. In, binary: keys. In, text: `{"type": "ack" | "resize" | "reply" | "cancel", …}`.

This is a person's view: the bytes as they are, with whatever secrets were printed. An agent reads by commands, which
take those out, and types by commands, which are judged.

A reply is what a browser's terminal answers by itself to a program's question (where is the cursor, which colours): it
is not typing. With several browsers only one may answer: the one that was typed in last, else the first.

A viewer is a position and a socket: no queue is kept for it, its next frame is asked for when it can be sent, by our
own frames on uvicorn's transport or by plain ASGI. A client that acknowledges what it has parsed is never sent more
than a window ahead; one that has fallen too far behind gets the present screen instead of the backlog.

Keys are typed as fast as the program reads, and never thrown away. While more of them wait than is reasonable, nothing
is read from that socket, which holds up its client only. A client that wants its other words heard meanwhile
(acknowledgements, `cancel`) sends little more than it is told was typed: `typed` counts the bytes of all its keys.
"""

import asyncio
import contextlib
import struct
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from fourhands.core.call import Call
from fourhands.core.errors import FourhandsError
from fourhands.core.event import Event
from fourhands.core.tasks import Tasks
from fourhands.surfaces.auth import Credential
from fourhands.surfaces.frames import EXTENSION, Carrier
from fourhands.surfaces.http.viewer_handshake import chosen
from fourhands.surfaces.http.websocket import PROTOCOL
from fourhands.workbench.terminals.handle import Exit, TerminalHandle
from fourhands.workbench.terminals.seat import GRAIN, Chunk
from fourhands.workbench.workbench import Workbench

INPUT_LIMIT = 1024 * 1024
"""Typed bytes that wait for a program which does not read; then nothing more is read of who typed them."""

TYPED_EVERY = 32 * 1024
"""Typed bytes after which a client is told how many were."""

PIECE = 16 * 1024
"""Bytes that are typed at once; others may type in between."""

WORDS_LIMIT = 64
"""Words that wait to be sent, before nothing more is heard of a viewer that does not read them."""

REPLY_LIMIT = 4096
"""Characters of one reply; real ones are short."""

RESIZE = "openspace.terminal.resize"

_POSITION = struct.Struct("!Q")


@dataclass(frozen=True, slots=True)
class ViewerLimits:
    """The bytes by which a viewer may be behind; tests pass other ones."""

    window: int = 1024 * 1024
    """Sent ahead of what a viewer has acknowledged."""

    backlog: int = 4 * 1024 * 1024
    """A viewer further behind than this gets the present screen instead."""


class Control(msgspec.Struct, frozen=True):
    """A viewer's word."""

    type: str
    position: int = 0
    cols: int = 0
    rows: int = 0
    data: str = ""


_decoder = msgspec.json.Decoder(Control)


class Viewers:
    """All viewers of one workbench, and which of them answers for its terminal."""

    def __init__(self, bench: Workbench, limits: ViewerLimits) -> None:
        self._bench = bench
        self.limits = limits
        self._of: dict[str, list[Viewer]] = {}  # by terminal; the first in the list answers for it

    async def serve(self, socket: WebSocket) -> None:
        """Serve one viewer, from its first position to the end."""
        principal: Credential = socket.state.principal
        subprotocol = PROTOCOL if PROTOCOL in socket.scope.get("subprotocols", ()) else None
        await socket.accept(subprotocol=subprotocol)
        # Gone: in mid-send starlette says so with a RuntimeError.
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            if (found := await chosen(self._bench, principal, socket)) is None:
                return
            terminal, start = found
            async with Tasks() as tasks:
                viewer = Viewer(self._bench, principal, terminal, tasks, self)
                with self._showing(viewer), viewer.watching(start, acks=socket.query_params.get("ack") == "1"):
                    frames: Carrier | None = socket.scope.get("extensions", {}).get(EXTENSION)
                    if frames is not None:
                        with frames.carrying(viewer):
                            await _hear(socket, viewer)
                    else:
                        await _carry(socket, viewer, tasks)

    @contextlib.contextmanager
    def _showing(self, viewer: "Viewer") -> Iterator[None]:
        viewers = self._of.setdefault(viewer.terminal.id, [])
        viewers.append(viewer)
        try:
            yield
        finally:
            viewers.remove(viewer)
            if not viewers:
                self._of.pop(viewer.terminal.id, None)

    def of(self, terminal_id: str) -> list["Viewer"]:
        """Return those of one terminal; the first answers for it."""
        return list(self._of.get(terminal_id, ()))

    def answers(self, viewer: "Viewer") -> bool:
        """Return True if a viewer's terminal answers the program's questions for all of them."""
        return self._of.get(viewer.terminal.id, [])[:1] == [viewer]

    def typed(self, viewer: "Viewer") -> None:
        """Note that a person typed in a viewer: from now on it is the one that answers."""
        viewers = self._of.get(viewer.terminal.id, [])
        if viewers[:1] != [viewer] and viewer in viewers:
            viewers.remove(viewer)
            viewers.insert(0, viewer)


def _encode(message: dict[str, object]) -> str:
    return msgspec.json.encode(message).decode()


async def _hear(socket: WebSocket, viewer: "Viewer") -> None:
    """Hand over what comes until the client has gone; while it is carried by frames of ours, only that it has."""
    while (message := await socket.receive())["type"] != "websocket.disconnect":
        heard = message.get("bytes")
        viewer.hear(message.get("text", "") if heard is None else heard)
        await viewer.uncrowded()


async def _carry(socket: WebSocket, viewer: "Viewer", tasks: Tasks) -> None:
    """Serve a viewer by plain ASGI: two tasks, with starlette between them and the connection."""
    news = asyncio.Event()
    viewer.wake = news.set

    async def send() -> None:
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            while True:
                news.clear()
                while (frame := viewer.next()) is not None:
                    if isinstance(frame, str):
                        await socket.send_text(frame)
                    else:
                        await socket.send_bytes(_POSITION.pack(frame.start) + frame.data)
                await news.wait()

    sender = tasks.start(send(), "a viewer's frames")
    hearer = tasks.start(_hear(socket, viewer), "a viewer's keys")
    await asyncio.wait([sender, hearer], return_when=asyncio.FIRST_COMPLETED)


class Viewer:
    """The view that one client has of a terminal, and its keys.

    Its carrier takes frames by `next`: when `wake` was called, and when the client has taken what was sent.
    """

    def __init__(
        self, bench: Workbench, principal: Credential, terminal: TerminalHandle, tasks: Tasks, viewers: Viewers
    ) -> None:
        self.bench = bench
        self.principal = principal
        self.terminal = terminal
        self._seat = bench.person_seat(principal.actor, terminal)
        self._viewers = viewers
        self._window, self._backlog = viewers.limits.window, viewers.limits.backlog
        self.wake: Callable[[], None] = lambda: None
        self.position = 0
        self.acknowledged: int | None = None
        self._tasks = tasks
        self._told_size: tuple[int, int] | None = None
        self._told_exit = False
        self._words: deque[str] = deque()
        self._room = asyncio.Event()
        self._wanted_size: tuple[int, int] | None = None
        self._resizing = False
        self._waiting = bytearray()
        self._typing: asyncio.Task[None] | None = None
        self._heard_keys = self._told_keys = 0

    @contextlib.contextmanager
    def watching(self, start: int | None, *, acks: bool) -> Iterator[None]:
        """Follow the terminal from a position, or from its present screen, for the length of the block."""
        stop = self._seat.listen(self._news)
        sizes = self.bench.events.published.subscribe(self._heard)
        try:
            if start is None:
                self._show_screen()
            else:
                self.position = min(start, self._seat.head)
            if acks:
                self.acknowledged = self.position
            yield
        finally:
            stop()
            sizes()

    def _news(self) -> None:
        self.wake()

    def _heard(self, event: Event) -> None:
        """Wake the carrier when the size has changed, which comes without output."""
        if event.kind == "terminal.resized":
            self.wake()

    # -- out -------------------------------------------------------------------------------------------------------

    def next(self) -> str | Chunk | None:
        """Return the next frame: a control message, some output, or None for now."""
        if self._words:
            self._room.set()
            return self._words.popleft()
        if self._told_exit:
            return None
        if (size := self._seat.size) != self._told_size and size[0]:
            self._told_size = size
            return _encode({"type": "size", "cols": size[0], "rows": size[1]})
        if self._may_send() and (chunk := self._read()).data:
            if self._too_far_behind():
                self._show_screen(self.position)
                return self._words.popleft()
            if chunk.start > self.position:
                gap, self.position = (self.position, chunk.start), chunk.start
                return _encode({"type": "gap", "from": gap[0], "to": gap[1]})
            self.position = chunk.end
            return chunk
        end = self.terminal.exit
        if end is not None and not self._read(1).data:
            self._told_exit = True
            return _exit_word(end)
        return None

    @property
    def ending(self) -> bool:
        """True while the message of the exit is still to be sent, after the last output."""
        return self.terminal.exit is not None and not self._told_exit

    @property
    def crowded(self) -> bool:
        """True while so much waits, to be sent or to be typed, that nothing more should be received."""
        return len(self._words) > WORDS_LIMIT or self._stalled

    @property
    def waiting(self) -> tuple[int, int]:
        """The number of messages that wait to be sent, and of bytes that wait to be typed."""
        return len(self._words), len(self._waiting)

    @property
    def _stalled(self) -> bool:
        return len(self._waiting) >= INPUT_LIMIT

    async def uncrowded(self) -> None:
        """Return when the client has read enough of what it is told, and the program of what was typed."""
        while self.crowded:
            self._room.clear()
            await self._room.wait()

    def _read(self, limit: int = GRAIN) -> Chunk:
        return self._seat.read(self.position, limit)

    def _too_far_behind(self) -> bool:
        return self.acknowledged is not None and self._seat.head - self.position > self._backlog

    def _may_send(self) -> bool:
        # Acknowledgements are not heard while input is stalled: then only the connection itself holds back output.
        return self.acknowledged is None or self._stalled or self.position - self.acknowledged < self._window

    def _show_screen(self, behind: int | None = None) -> None:
        """Queue the present state for a new or late client: screen, modes, cursor, and the position that follows."""
        data, self.position = self._seat.restore()
        if self.acknowledged is not None:
            self.acknowledged = self.position
        if behind is not None:
            self._words.append(_encode({"type": "gap", "from": behind, "to": self.position}))
        cols, rows = self._told_size = self._seat.size
        message: dict[str, object] = {"type": "screen", "position": self.position, "cols": cols, "rows": rows}
        self._words.append(_encode({**message, "data": data.decode("utf-8", "replace")}))

    def _refuse(self, code: str, error: str) -> None:
        self._words.append(_encode({"type": "refused", "code": code, "error": error}))
        self.wake()

    # -- in --------------------------------------------------------------------------------------------------------

    def hear(self, message: str | bytes) -> None:
        """Take a message of the client: keys as bytes, control messages as text."""
        if isinstance(message, bytes):
            self._take_keys(message)
        else:
            self._control(message)

    def _control(self, text: str) -> None:
        try:
            control = _decoder.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            self._refuse("bad-argument", f"the message cannot be read: {error}")
            return
        match control.type:
            case "ack" if self.acknowledged is not None:
                self.acknowledged = max(self.acknowledged, min(control.position, self.position))
                self.wake()
            case "resize":
                self._wanted_size = control.cols, control.rows
                if not self._resizing:
                    self._resizing = True
                    self._tasks.start(self._resize(), "a viewer's size")
            case "cancel":
                self._cancel_keys()
            case "reply" if self._viewers.answers(self) and len(control.data) <= REPLY_LIMIT:
                self._put(control.data.encode("utf-8", "replace"))
            case _:
                pass

    async def _resize(self) -> None:
        """Ask for the wanted size; of those that come while one is being asked for, the last."""
        try:
            while (size := self._wanted_size) is not None:
                self._wanted_size = None
                args: dict[str, object] = {"terminalId": self.terminal.id, "cols": size[0], "rows": size[1]}
                result = await self.bench.gate.run(
                    Call(command=RESIZE, args=args, actor=self.principal.actor, origin="socket")
                )
                if not result.success:
                    self._refuse(result.code, result.error)
        finally:
            self._resizing = False

    def _take_keys(self, keys: bytes) -> None:
        if not keys:
            return
        self._viewers.typed(self)
        self._seat.take(keys)
        self._heard_keys += len(keys)
        self._put(keys)

    def _put(self, keys: bytes) -> None:
        """Type now what the kernel takes, the rest in turn."""
        if self._waiting:
            self._waiting += keys
        elif rest := keys[self._seat.put_now(keys) :]:
            self._waiting += rest
            self._typing = self._tasks.start(self._type(), "a viewer's typing")
        else:
            self._tell_typed()

    async def _type(self) -> None:
        """Type the keys that had to wait. A task of its own, so that other messages of the client are still taken."""
        while self._waiting:
            keys = bytes(self._waiting[:PIECE])
            stalled = self.crowded
            try:
                await self._seat.put(keys)
                del self._waiting[: len(keys)]
                self._tell_typed(at_once=not self._waiting)
            except FourhandsError as error:
                self._waiting.clear()
                self._refuse(error.code, error.message)
            if stalled and not self.crowded:
                self._room.set()
                self.wake()
        self._typing = None

    def _cancel_keys(self) -> None:
        """Forget the keys that the program has not taken; what comes behind this word is typed."""
        if self._typing is not None:
            self._typing.cancel()
            self._typing = None
        dropped = len(self._waiting)
        self._waiting.clear()
        self._room.set()
        self._told_keys = self._heard_keys
        self._words.append(_encode({"type": "typed", "bytes": self._heard_keys, "dropped": dropped}))
        self.wake()

    def _tell_typed(self, *, at_once: bool = False) -> None:
        typed = self._heard_keys - len(self._waiting)
        if at_once or typed - self._told_keys >= TYPED_EVERY:
            self._told_keys = typed
            self._words.append(_encode({"type": "typed", "bytes": typed}))
            self.wake()


def _exit_word(end: Exit) -> str:
    return _encode({"type": "exit", "code": end.code, "signal": end.signal, "lost": end.lost, "position": end.position})
