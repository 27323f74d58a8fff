"""A whole workbench with its doors on a free port, and the ways to knock at them."""

import asyncio
import contextlib
import json
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
from starlette.routing import Route, WebSocketRoute
from tests.kit.hand import Hand
from tests.kit.workbench import environment, quick
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from fourhands.app import App
from fourhands.host.paths import WorkspaceDirs
from fourhands.settings import Settings
from fourhands.surfaces.discovery import claimed
from fourhands.surfaces.server import Running, serving
from fourhands.workbench.terminals.host_terminals import HostTimings
from fourhands.workbench.terminals.terminal import Terminal

LIMIT_S = 40
Message = dict[str, Any]


@dataclass
class Served:
    """A server that runs, as a test uses it."""

    app: App
    running: Running
    places: WorkspaceDirs

    @property
    def url(self) -> str:
        return self.running.address.url

    @property
    def port(self) -> int:
        return self.running.address.port

    @property
    def token(self) -> str:
        return self.running.tokens.file.read_text()

    @property
    def env(self) -> dict[str, str]:
        """What a command line needs to find this server."""
        root = Path(self.places.runtime).parent.parent
        return {"XDG_RUNTIME_DIR": str(root), "XDG_STATE_HOME": str(root / "state"), "HOME": str(root / "home")}

    def agent(self, name: str = "Ada", *, consent: bool = True) -> tuple[str, str]:
        """An agent's session with its token."""
        session = self.app.bench.begin_session(name, "test")
        if consent:
            self.app.gate.consent.grant(session.id)
        return session.id, self.running.tokens.issue(session.actor)

    def client(self, token: str | None = None, **options: Any) -> httpx.AsyncClient:
        """An HTTP client, as a program of the person's unless another token is given ('' for none)."""
        token = self.token if token is None else token
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx.AsyncClient(
            base_url=self.url, headers=headers | options.pop("headers", {}), timeout=LIMIT_S, trust_env=False, **options
        )

    async def browser(self, hand: Hand | None = None) -> tuple[str, str]:
        """A cookie header and a key, as a browser that exchanged a code has them; it signs with the hand."""
        given = await self.running.tokens.browsers.sign_in("Chrome on Linux", hand.public if hand else "")
        return f"{self.running.tokens.cookie}={given.cookie}", given.key

    @contextlib.asynccontextmanager
    async def person(self, query: str = "?attend=1") -> AsyncIterator["Caller"]:
        """The person in a browser that is signed in: a socket for calls, with their hand."""
        hand = Hand()
        cookie, key = await self.browser(hand)
        headers = {"cookie": cookie, "origin": self.url}
        names = ["fourhands", f"fourhands.key.{key}"]
        async with self.dial("/ws" + query, token="", headers=headers, subprotocols=names) as socket:
            yield await Caller(socket, hand).begin()

    def dial(
        self, path: str, *, token: str | None = None, subprotocols: list[str] | None = None, **options: Any
    ) -> connect:
        """A WebSocket, as a program of the person's unless another token is given."""
        token = self.token if token is None else token
        headers = options.pop("headers", {}) | ({"authorization": f"Bearer {token}"} if token else {})
        names = [Subprotocol(name) for name in subprotocols] if subprotocols else None
        return connect(
            f"ws://127.0.0.1:{self.port}{path}",
            additional_headers=headers,
            subprotocols=names,
            compression=None,
            max_size=None,
            proxy=None,
            open_timeout=LIMIT_S,
            close_timeout=2,
            **options,
        )

    @contextlib.asynccontextmanager
    async def caller(self, **options: Any) -> AsyncIterator["Caller"]:
        """A socket for calls."""
        async with self.dial("/ws" + options.pop("query", ""), **options) as socket:
            yield await Caller(socket).begin()

    @contextlib.asynccontextmanager
    async def viewer(self, terminal: Terminal, query: str = "", **options: Any) -> AsyncIterator["Viewer"]:
        """A viewer of a terminal."""
        async with self.dial(f"/ws/terminals/{terminal.id}{query}", **options) as socket:
            yield Viewer(socket)

    def routes(self) -> Iterator[Route | WebSocketRoute]:
        """Every route behind the door, as the running server has them."""
        return _routes(self.running.server.config.app)

    async def by_hand(self, command: str, args: Message, answer: Message) -> Message:
        """What the person's hand does where a program was refused for want of it; else the answer as it is."""
        if answer.get("code") != "hand-needed":
            return answer
        asked = next((one for one in self.app.questions.open() if one.id == args.get("questionId")), None)
        async with self.person("") as person:
            return await person.sign(command, args, asked.seen if asked else "")

    async def terminal(self, *argv: str, **more: Any) -> Terminal:
        """A terminal with a program of the test's own."""
        return await self.app.terminals.create(argv=argv or None, **more)


def _routes(app: Any) -> Iterator[Route | WebSocketRoute]:
    while not hasattr(app, "routes"):  # the door, and what compresses
        app = getattr(app, "_app", None) or app.app
    for route in app.routes:
        if isinstance(route, Route | WebSocketRoute):
            yield route
        else:
            yield from _routes(route.app)


class Caller:
    """`/ws` as a client uses it: calls by id, events kept in order."""

    def __init__(self, socket: ClientConnection, hand: Hand | None = None) -> None:
        self.socket = socket
        self.hand = hand
        self.hello: Message = {}
        self.events: list[Message] = []
        self.answers: dict[object, Message] = {}
        self._next = 0

    async def begin(self) -> "Caller":
        self.hello = (await self.receive())["hello"]
        return self

    async def receive(self) -> Message:
        async with asyncio.timeout(LIMIT_S):
            message: Message = json.loads(await self.socket.recv())
        return message

    async def send(self, command: str, args: Message | None = None) -> int:
        self._next += 1
        await self.socket.send(json.dumps({"id": self._next, "command": command, "args": args or {}}))
        return self._next

    async def answer(self, id: object) -> Message:
        while id not in self.answers:
            message = await self.receive()
            if "event" in message:
                self.events.append(message["event"])
            else:
                self.answers[message["id"]] = message["result"]
        return self.answers.pop(id)

    async def call(self, command: str, args: Message | None = None) -> Message:
        return await self.answer(await self.send(command, args))

    async def sign(self, command: str, args: Message | None = None, seen: str = "") -> Message:
        """Call a command as the page does that needs the person's hand."""
        assert self.hand is not None
        self._next += 1
        await self.socket.send(self.hand.message(self.hello["challenge"], self._next, command, args or {}, seen))
        return await self.answer(self._next)

    async def reply(self, question: Message, choice: str, **more: object) -> Message:
        """Answer a question that was asked, as it was shown."""
        args = {"questionId": question["id"], "choice": choice, **more}
        return await self.sign("openspace.workbench.answer", args, f"{question['text']}\n{question['shown']}")

    async def event(self, kind: str) -> Message:
        """The first event of a kind, kept or still to come."""
        while True:
            for event in self.events:
                if event["kind"] == kind:
                    self.events.remove(event)
                    return event
            message = await self.receive()
            if "event" in message:
                self.events.append(message["event"])
            else:
                self.answers[message["id"]] = message["result"]


class Viewer:
    """A terminal's socket as a client uses it: bytes with positions, and words."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.start: int | None = None
        self.data = bytearray()
        self.words: list[Message] = []

    @property
    def position(self) -> int:
        return (self.start or 0) + len(self.data)

    async def step(self) -> Message | bytes:
        """One frame: output must follow without a hole."""
        async with asyncio.timeout(LIMIT_S):
            frame = await self.socket.recv()
        if isinstance(frame, str):
            word: Message = json.loads(frame)
            self.words.append(word)
            if word["type"] in ("screen", "gap"):
                self.start, self.data = word["position" if word["type"] == "screen" else "to"], bytearray()
            return word
        position = int.from_bytes(frame[:8], "big")
        if self.start is None:
            self.start = position
        assert position == self.position, f"a frame at {position}, expected {self.position}"
        self.data += frame[8:]
        return frame[8:]

    async def until(self, text: bytes) -> None:
        while text not in self.data:
            await self.step()

    async def reach(self, position: int) -> None:
        while self.position < position:
            await self.step()

    async def word(self, kind: str) -> Message:
        while True:
            for word in self.words:
                if word["type"] == kind:
                    self.words.remove(word)
                    return word
            await self.step()

    async def tell(self, **message: object) -> None:
        await self.socket.send(json.dumps(message))


@contextlib.contextmanager
def short_places() -> Any:
    """A workspace whose places are those that the environment of `Served.env` names."""
    with tempfile.TemporaryDirectory(prefix="fh-", ignore_cleanup_errors=True) as root:
        for name in ("work", "home", "state"):
            Path(root, name).mkdir()
        work = os.path.realpath(Path(root, "work"))
        yield WorkspaceDirs.of(work, {"XDG_RUNTIME_DIR": root, "XDG_STATE_HOME": f"{root}/state"})


@contextlib.asynccontextmanager
async def serve_app(
    settings: Settings | None = None,
    *,
    host_timings: HostTimings = HostTimings(),  # noqa: B008 - it is frozen
    workbench: Mapping[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[Served]:
    """A workbench that is served; everything it runs ends with it. `workbench` is for the `App`."""
    with short_places() as places:
        places.prepare()
        with claimed(places.state, places.workspace):
            env = environment(places)
            Path(env["HOME"]).mkdir(exist_ok=True)
            made = App(
                places.workspace, quick(settings), places=places, env=env, host_timings=host_timings, **workbench or {}
            )
            async with made as app:
                async with serving(app.bench, app.tasks, **{"port": 0, **options}) as running:
                    yield Served(app, running, places)
                await app.terminals.stop()


class _Kept(asyncio.StreamReader):
    """What came before a connection was reset can be read all the same: asyncio's own would only tell of the reset."""

    def set_exception(self, exc: BaseException) -> None:
        self.feed_eof()


class Raw:
    """A bare connection, for requests that no client would send."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, port: int) -> "Raw":
        loop = asyncio.get_running_loop()
        reader = _Kept()
        made = asyncio.StreamReaderProtocol(reader)
        transport, protocol = await loop.create_connection(lambda: made, "127.0.0.1", port)
        return cls(reader, asyncio.StreamWriter(transport, protocol, reader, loop))

    async def __aenter__(self) -> "Raw":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        with contextlib.suppress(OSError):
            await self.writer.drain()

    async def rest(self) -> bytes:
        """Everything until the server closes."""
        parts = []
        async with asyncio.timeout(LIMIT_S):
            while part := await self.reader.read(65536):
                parts.append(part)
        return b"".join(parts)

    async def head(self) -> bytes:
        """The head of an answer."""
        async with asyncio.timeout(LIMIT_S):
            return await self.reader.readuntil(b"\r\n\r\n")


async def until(condition: Callable[[], object]) -> None:
    """Wait for something of the server that has no event, such as the end of a connection."""
    async with asyncio.timeout(LIMIT_S):
        while not condition():  # noqa: ASYNC110 - there is nothing to wait for
            await asyncio.sleep(0.005)
