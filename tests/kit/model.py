"""A scripted model on loopback that speaks the four dialects, streaming and not, for tests and for real agents.

    async with Model([Answer("Hello"), Answer(tools=[Tool("bash", {"command": "ls"})])]) as model:
        client = openai.AsyncOpenAI(base_url=model.url + "/v1", api_key="none")

Each request to a model takes the next answer of the script; when it is used up, `default` answers. A function gets the
request and returns its answer. What was asked is in `model.requests`, in order.
"""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import parse_qs

import uvicorn
from tests.kit import dialects as wire
from tests.kit.dialects import Answer, Tool

__all__ = ["Answer", "Model", "Request", "Tool"]

Listing = Callable[[dict[str, list[str]], dict[str, str]], tuple[int, bytes]]
"""The answer to a request for the models, given its query and headers."""

Script = Sequence[Answer] | Callable[["Request"], Answer]


@dataclass
class Request:
    """One request that the model got."""

    dialect: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: dict[str, Any]
    stream: bool

    @property
    def last(self) -> str:
        """The text of the last message, whether it comes as a text or in parts."""
        return text_of(self.body["messages"][-1])

    @property
    def system(self) -> str:
        """The system text of a request in the dialects of chat completions and of Anthropic."""
        said = self.body.get("system")
        if said is None:
            said = self.body["messages"][0]["content"]
        return said if isinstance(said, str) else "".join(part["text"] for part in said)

    @property
    def turns(self) -> list[dict[str, Any]]:
        """The messages behind the system text, without the marks of a prompt cache."""
        messages = [message for message in self.body["messages"] if message["role"] != "system"]
        return [{**message, "content": _unmarked(message["content"])} for message in messages]

    @property
    def results(self) -> dict[str, str]:
        """The results of tool calls, by the id of the call; fails where a call has two."""
        found: dict[str, str] = {}
        for id, text in self._results():
            assert id not in found, f"call {id} has two results"
            found[id] = text
        return found

    def _results(self) -> Iterator[tuple[str, str]]:
        if self.dialect == "responses":
            for item in self.body["input"]:
                if item.get("type") == "function_call_output":
                    yield item["call_id"], text_of({"content": item["output"]})
        elif self.dialect == "gemini":
            for part in (part for message in self.body["contents"] for part in message["parts"]):
                if told := part.get("functionResponse"):
                    # Gemini's own programs put the tool's name before the id.
                    texts = map(str, told["response"].values())
                    yield told["id"].removeprefix(f"{told['name']}__"), "\n".join(texts)
        else:
            for message in self.body["messages"]:
                if message["role"] == "tool":
                    yield message["tool_call_id"], text_of(message)
                    continue
                parts = message["content"] if isinstance(message["content"], list) else []
                yield from ((part["tool_use_id"], text_of(part)) for part in parts if part["type"] == "tool_result")

    @property
    def offered(self) -> set[str]:
        """The names of the tools that the model may call; with `/` behind a namespace."""
        names: set[str] = set()
        for tool in self.body.get("tools") or ():
            if "functionDeclarations" in tool:
                names |= {one["name"] for one in tool["functionDeclarations"]}
            elif tool.get("type") == "namespace":
                names |= {f"{tool['name']}/{one['name']}" for one in tool["tools"]}
            else:
                names.add(tool.get("name") or tool.get("function", {}).get("name") or tool["type"])
        return names

    @property
    def unanswered(self) -> list[str]:
        """The ids of tool calls that are not followed by their result; servers refuse such a request."""
        open_calls: list[str] = []
        for message in self.body["messages"]:
            if open_calls:
                if message["role"] == "tool":
                    open_calls.remove(message["tool_call_id"])
                    continue
                parts = message["content"] if isinstance(message["content"], list) else []
                for part in parts:
                    if part["type"] == "tool_result":
                        open_calls.remove(part["tool_use_id"])
                if open_calls:
                    return open_calls
            open_calls += [call["id"] for call in message.get("tool_calls") or ()]
            if message["role"] == "assistant" and isinstance(message["content"], list):
                open_calls += [part["id"] for part in message["content"] if part["type"] == "tool_use"]
        return open_calls

    def says(self, text: str) -> bool:
        """Whether the text occurs anywhere in the request."""
        return text in json.dumps(self.body, ensure_ascii=False)


def text_of(message: dict[str, Any]) -> str:
    """The text of a message, whether it comes as a text or in parts."""
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())


def _unmarked(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    return [{name: value for name, value in part.items() if name != "cache_control"} for part in content]


class Model:
    """The scripted model; entering it starts the server on a free port."""

    def __init__(
        self,
        script: Script = (),
        *,
        default: Answer | None = None,
        port: int = 0,
        listing: Listing | None = None,
    ) -> None:
        self.requests: list[Request] = []
        self.others: list[str] = []  # method and path of requests that want no answer of the model
        self.arrived = asyncio.Event()  # set at each request; clear it to wait for the next
        self.url = ""
        self._script = script
        self._left = iter(script) if not callable(script) else iter(())
        self._default = default or Answer("ok")
        self._port = port
        self._listing = listing or _one_model
        self._running: AbstractAsyncContextManager[None] | None = None

    async def __aenter__(self) -> Self:
        self._running = self._serve()
        await self._running.__aenter__()
        return self

    async def __aexit__(self, *problem: Any) -> None:
        assert self._running
        await self._running.__aexit__(*problem)

    @asynccontextmanager
    async def _serve(self) -> AsyncIterator[None]:
        with socket.create_server(("127.0.0.1", self._port)) as listener:
            self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            config = uvicorn.Config(
                self.answer,
                interface="asgi3",
                log_config=None,
                lifespan="off",
                ws="none",
                timeout_graceful_shutdown=1,
                access_log=False,
            )
            server = _Server(config)
            problem: Exception | None = None
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(server.serve(sockets=[listener]))
                await server.ready.wait()
                try:
                    yield
                except Exception as caught:  # noqa: BLE001  # raised below, so that the group does not wrap it
                    problem = caught
                finally:
                    server.should_exit = True
            if problem is not None:
                raise problem

    async def answer(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request (an ASGI application)."""
        data = b""
        while True:
            message = await receive()
            data += message.get("body", b"")
            if not message.get("more_body"):
                break
        request = _parse(scope, data)
        if request is None:
            self.others.append(f"{scope['method']} {scope['path']}")
            if scope["path"].endswith("/models"):
                headers = {name.decode().lower(): value.decode("latin-1") for name, value in scope["headers"]}
                await _reply(send, *self._listing(parse_qs(scope["query_string"].decode()), headers))
            else:
                await _reply(send, *_other(scope))
            return
        self.requests.append(request)
        self.arrived.set()
        said = self._script(request) if callable(self._script) else next(self._left, self._default)
        if said.status != 200:
            problem = wire.error(request.dialect, said.status, said.error or "scripted error")
            await _reply(send, said.status, problem, headers=said.headers)
        elif said.raw is not None:
            await _start(send, 200, said.content_type, {**said.headers})
            await send({"type": "http.response.body", "body": said.raw})
        elif not request.stream or said.unstreamed:
            if said.before:
                await said.before(0)
            await _reply(send, 200, wire.body(request.dialect, said), headers=said.headers, cut=said.cut is not None)
        else:
            await _stream(send, request, said)


class _Server(uvicorn.Server):
    """Tells when it is ready, and leaves the signals of the test run alone."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _parse(scope: Any, data: bytes) -> Request | None:
    path: str = scope["path"]
    query = parse_qs(scope["query_string"].decode())
    ends = {"/chat/completions": "chat", "/responses": "responses", "/messages": "anthropic"}
    dialect = next((name for end, name in ends.items() if path.endswith(end)), "")
    if path.endswith((":generateContent", ":streamGenerateContent")):
        dialect = "gemini"
    try:
        body = json.loads(data) if data else {}
    except ValueError:
        return None
    if not dialect or scope["method"] != "POST" or not isinstance(body, dict):
        return None
    stream = path.endswith(":streamGenerateContent") if dialect == "gemini" else bool(body.get("stream"))
    headers = {name.decode().lower(): value.decode("latin-1") for name, value in scope["headers"]}
    return Request(dialect, path, query, headers, body, stream)


def _one_model(query: dict[str, list[str]], headers: dict[str, str]) -> tuple[int, bytes]:
    """The models of a server that has one."""
    entry = {"id": "fake", "object": "model", "created": 1, "owned_by": "tests", "name": "models/fake"}
    return 200, json.dumps({"object": "list", "data": [entry], "models": [entry]}).encode()


def _other(scope: Any) -> tuple[int, bytes]:
    """Answer what clients ask besides, such as how many tokens a text has."""
    path = scope["path"]
    if path.endswith("/count_tokens"):
        return 200, b'{"input_tokens": 11}'
    if path.endswith(":countTokens"):
        return 200, b'{"totalTokens": 11}'
    return 404, wire.error("chat", 404, f"nothing at {path}")


async def _reply(
    send: Any, status: int, data: bytes, *, headers: dict[str, str] | None = None, cut: bool = False
) -> None:
    await _start(send, status, "application/json", {"content-length": str(len(data)), **(headers or {})})
    await send({"type": "http.response.body", "body": data[: len(data) // 2] if cut else data, "more_body": cut})


async def _start(send: Any, status: int, kind: str, headers: dict[str, str]) -> None:
    lines = [(name.encode(), value.encode()) for name, value in {"content-type": kind, **headers}.items()]
    await send({"type": "http.response.start", "status": status, "headers": lines})


async def _stream(send: Any, request: Request, said: Answer) -> None:
    array = request.dialect == "gemini" and request.query.get("alt") != ["sse"]
    kind = "application/json" if array else "text/event-stream"
    await _start(send, 200, kind, {"cache-control": "no-cache", **said.headers})
    messages = wire.stream(request.dialect, said, request.body, array=array)
    for number, message in enumerate(messages):
        if number == said.cut:
            return  # without an end: the server then breaks the connection
        if said.before:
            await said.before(number)
        size = said.chunk or len(message)
        for start in range(0, len(message), size):
            await send({"type": "http.response.body", "body": message[start : start + size], "more_body": True})
    await send({"type": "http.response.body", "body": b""})
