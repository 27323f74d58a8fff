"""One request of an agent to its model, and the answer: what is changed on the way, and what is passed on as it is.

Everything that can go wrong on our side becomes an error that is marked as ours; what goes wrong at the model's server
is passed on: its refusals as they are, its breaking off as a connection that breaks.
"""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

import httpx
import msgspec
from starlette.types import Scope, Send

from fourhands.agents.answer import Answer
from fourhands.agents.breaker import Resting, Trial
from fourhands.agents.dialects import DIALECTS, Dialect, Filter, Filtered
from fourhands.agents.dialects.framing import BodyFilter
from fourhands.agents.results import TurnMessage, turn_message
from fourhands.agents.upstream import Headers, Remote
from fourhands.core.errors import FourhandsError, LimitReached, NotFound
from fourhands.surfaces.proxyerror import ProxyError
from fourhands.workbench.session import Session

if TYPE_CHECKING:
    from fourhands.surfaces.proxy import Proxy

SETTLE_S = 3.0
"""How long a request waits for the commands of the answer before it, so that the model is told of them."""

OUTLET_BYTES = 64 * 1024
OUTLET_PARTS = 16

log = logging.getLogger(__name__)

_PLACES = {"/v1/chat/completions": "chat", "/v1/responses": "responses", "/v1/messages": "anthropic"}
_FAMILY = {"chat": "openai", "responses": "openai", "anthropic": "anthropic", "gemini": "gemini"}

_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding "
    b"upgrade content-length".split()
)
_NOT_SENT = _HOP | frozenset(
    b"host expect authorization x-api-key x-goog-api-key cookie origin referer x-fourhands-key".split()
)
# Valid for the other server, wrong for ours: a browser would take them as said by this origin.
_NOT_RETURNED = _HOP | frozenset(b"set-cookie strict-transport-security alt-svc content-security-policy".split())


@dataclass(frozen=True, slots=True)
class Asked:
    """What an agent asked for; `dialect` is None where nothing is changed."""

    family: str
    dialect: Dialect | None
    method: str
    path: bytes
    query: bytes
    headers: Headers

    @classmethod
    def of(cls, scope: Scope) -> "Asked":
        """Read a request's head."""
        path, method = scope["path"], scope["method"]
        name = _PLACES.get(path.rstrip("/"), "")
        if path.endswith((":generateContent", ":streamGenerateContent")):
            name = "gemini"
        headers: Headers = scope["headers"]
        dialect = DIALECTS[name] if name and method == "POST" else None
        family = _FAMILY.get(name) or _family(path, {key for key, _ in headers})
        raw = scope.get("raw_path") or path.encode()
        return cls(family, dialect, method, raw, _without_key(scope.get("query_string", b"")), headers)


class Exchange:
    """One request and its answer."""

    def __init__(self, proxy: "Proxy", asked: Asked, session: Session, send: Send) -> None:
        self._proxy = proxy
        self._asked = asked
        self._session = session
        self._send = send
        self.over = False  # nothing is left but to clean up, which a cancellation would break off
        self._started = False
        self._aside = False
        self._message: TurnMessage | None = None

    async def run(self, content: bytes) -> None:
        """Forward the request and pass the answer on; whatever goes wrong on our side is said as ours."""
        try:
            await self._forward(content)
        except ProxyError as error:
            await self._say(error)
        except Resting as error:
            await self._say(ProxyError(503, error.message, error.hint, wait_s=error.wait_s))
        except NotFound as error:
            await self._say(ProxyError(404, error.message, error.hint))
        except FourhandsError as error:
            await self._say(ProxyError(502, error.message, error.hint))
        except Exception:
            log.exception("a request of %s to its model failed", self._session.id)
            await self._say(ProxyError(500, "the proxy failed", "its log has the details"))

    async def _say(self, error: ProxyError) -> None:
        log.warning("%s: %s", self._session.id, error)
        if not self._started:  # later the only thing that can still be said is a broken connection
            self._started = True
            await refuse(self._send, self._asked.family, error)

    async def _forward(self, content: bytes) -> None:
        asked = self._asked
        remote = self._proxy.upstreams.find(asked.family, asked.dialect.name if asked.dialect else "")
        trial = remote.breaker.admit()
        try:
            if asked.dialect is not None:
                content = await self._instructed(asked.dialect, content)
            response = await self._ask(remote, trial, content)
            try:
                if response.is_success:
                    self._message = None  # the model has been told
                await self._return(response)
            finally:
                self.over = True
                await response.aclose()
        finally:
            trial.abandoned()
            if self._message is not None:
                self._message.restore()

    async def _instructed(self, dialect: Dialect, content: bytes) -> bytes:
        """The request with the instructions and the results of the last commands."""
        if any(key == b"content-encoding" for key, _ in self._asked.headers):
            raise ProxyError(415, "a compressed request cannot be given instructions", "send it uncompressed")
        body = _object(content)
        if body is None:
            return content  # the model's server has a better answer to nonsense than we do
        self._aside = self._proxy.aside(self._session, body)
        if self._aside:
            return _json(dialect.instruct(body, ""))
        runner = self._proxy.runner(self._session)
        if runner.busy:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SETTLE_S):
                    await runner.finished()
        text = self._proxy.hub.instructions(self._session.id)
        self._message = turn_message(self._session, self._proxy.bench.registry)
        if self._message is not None:
            text = f"{text}\n\n{self._message.text}"
        return _json(dialect.instruct(body, text))

    async def _ask(self, remote: Remote, trial: Trial, content: bytes) -> httpx.Response:
        asked = self._asked
        if any(part in (b"..", b".") for part in asked.path.lower().replace(b"%2e", b".").split(b"/")):
            raise ProxyError(400, "the path leads out of the interface")
        named = _named(asked.headers)
        unsent = _NOT_SENT | named | {remote.key_header.encode()}
        headers = [(key, value) for key, value in asked.headers if key not in unsent]
        if asked.dialect is not None:
            headers = [(key, value) for key, value in headers if key != b"accept-encoding"]
            headers.append((b"accept-encoding", b"identity"))
        try:
            response = await remote.send(asked.method, remote.target(asked.path, asked.query), headers, content)
        except httpx.TimeoutException as error:
            trial.failed("no answer in time")
            raise ProxyError(504, f"the model's server {remote.name!r} does not answer in time") from error
        except httpx.HTTPError as error:
            why = str(error) or type(error).__name__
            trial.failed(why)
            raise ProxyError(502, f"the model's server {remote.name!r} cannot be reached: {why}") from error
        if response.status_code >= 500:
            trial.failed(f"status {response.status_code}")
        else:
            trial.succeeded()
        return response

    async def _return(self, response: httpx.Response) -> None:
        dialect = self._asked.dialect
        if dialect is None or not response.is_success:
            await self._pass(response)
            return
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("identity", "gzip", "deflate", ""):
            raise ProxyError(
                502, f"the model's server answers in {encoding[:40]!r}, though nothing of it was asked for"
            )
        source = response.stream if encoding in ("identity", "") else response.aiter_bytes()
        assert isinstance(source, AsyncIterator | httpx.AsyncByteStream)
        answer_filter = dialect.filter(response.headers.get("content-type", ""), self._proxy.now)
        with self._proxy.answer(self._session) as answer:
            if isinstance(answer_filter, BodyFilter):
                await self._whole(response, source, answer_filter, answer)
            else:
                await self._stream(response, source, answer_filter, answer)

    async def _pass(self, response: httpx.Response) -> None:
        """An answer that is none of a model's, or an error: as it is."""
        length = [(b"content-length", value) for key, value in response.headers.raw if key.lower() == b"content-length"]
        await self._start(response, length)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        if await self._each(response.stream, self._body):
            await self._end()

    async def _whole(self, response: httpx.Response, source: Any, answer_filter: Filter, answer: Answer) -> None:
        async def keep(data: bytes) -> None:
            answer_filter.feed(data)

        if not await self._each(source, keep):
            raise ProxyError(502, "the model's server broke off in the middle of its answer")
        given = answer_filter.close()
        self._take(given, answer)
        await self._start(response, [(b"content-length", str(len(given.data)).encode())])
        await self._end(given.data)

    async def _stream(self, response: httpx.Response, source: Any, answer_filter: Filter, answer: Answer) -> None:
        await self._start(response, [])
        outlet = Outlet(self._body)

        async def give(step: Callable[[], Filtered]) -> None:
            given = step()
            self._take(given, answer)
            await outlet.put(given.data)

        async def tick() -> None:
            while True:
                await asyncio.sleep(self._proxy.tick_s)
                if answer_filter.waiting:
                    await give(answer_filter.tick)

        async with asyncio.TaskGroup() as group:
            group.create_task(outlet.run())
            ticking = group.create_task(tick())
            whole = await self._each(source, lambda data: give(lambda: answer_filter.feed(data)))
            await give(answer_filter.close)
            ticking.cancel()
            outlet.close()
        if whole:
            await self._end()

    async def _each(self, source: Any, take: Callable[[bytes], Any]) -> bool:
        """Hand over each piece as it comes; False if the server broke off, or went too far."""
        try:
            async for data in source:
                await take(data)
        except (httpx.HTTPError, httpx.StreamError) as error:
            log.warning("%s: the model's server broke off: %s", self._session.id, error or type(error).__name__)
            return False
        except LimitReached as error:
            log.warning("%s: %s", self._session.id, error)
            return False
        return True

    def _take(self, given: Filtered, answer: Answer) -> None:
        if self._aside:
            return
        if given.commands:
            answer.take(given.commands[0].message_id, [taken.command for taken in given.commands])
        if given.dropped:
            answer.drop(given.dropped)

    async def _start(self, response: httpx.Response, more: Headers) -> None:
        raw = [(key.lower(), value) for key, value in response.headers.raw]
        unreturned = _NOT_RETURNED | _named(raw)
        if self._asked.dialect is not None and response.is_success:
            unreturned |= {b"content-encoding"}
        kept = [(k, v) for k, v in raw if k not in unreturned and not k.startswith(b"access-control-")]
        self._started = True
        await self._send({"type": "http.response.start", "status": response.status_code, "headers": [*kept, *more]})

    async def _body(self, data: bytes) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def _end(self, data: bytes = b"") -> None:
        self.over = True  # after the last byte the server tells the watcher that it is all over
        await self._send({"type": "http.response.body", "body": data})


class Outlet:
    """Makes one write of what comes in one burst: a model's server may send a hundred small pieces at once.

    The first piece goes at once, and nothing waits for more to come. Whoever puts waits while too much is unsent.
    """

    def __init__(self, write: Callable[[bytes], Awaitable[None]]) -> None:
        self._write = write
        self._parts: list[bytes] = []
        self._size = 0
        self._filled = asyncio.Event()
        self._taken = asyncio.Event()
        self._begun = False
        self._closed = False

    async def put(self, data: bytes) -> None:
        """Send this soon, behind what was put before."""
        if data and not self._begun:
            self._begun = True
            await self._write(data)
        elif data:
            self._parts.append(data)
            self._size += len(data)
            self._filled.set()
            if len(self._parts) >= OUTLET_PARTS:
                await asyncio.sleep(0)  # the turn of whoever writes
        while self._size > OUTLET_BYTES:
            self._taken.clear()
            await self._taken.wait()

    def close(self) -> None:
        """End when everything is sent."""
        self._closed = True
        self._filled.set()

    async def run(self) -> None:
        """Send until the end."""
        while self._parts or not self._closed:
            await self._filled.wait()
            self._filled.clear()
            data = b"".join(self._parts)
            self._parts, self._size = [], 0
            self._taken.set()
            if data:
                await self._write(data)


def _family(path: str, headers: set[bytes]) -> str:
    """Whose interface a request that we do not know speaks."""
    if path.startswith("/v1beta/") or b"x-goog-api-key" in headers:
        return "gemini"
    if path.startswith("/v1/messages") or not headers.isdisjoint((b"anthropic-version", b"x-api-key")):
        return "anthropic"
    return "openai"


def _without_key(query: bytes) -> bytes:
    """A query without the API key that Gemini's clients may put there."""
    parts = query.split(b"&") if query else []
    return b"&".join(p for p in parts if unquote_plus(p.partition(b"=")[0].decode("latin-1")) != "key")


def _named(headers: Headers) -> frozenset[bytes]:
    """Headers that concern one connection only, because its `Connection` header says so."""
    lists = [value for key, value in headers if key == b"connection"]
    return frozenset(name.strip().lower() for value in lists for name in value.split(b","))


async def refuse(send: Send, family: str, error: ProxyError) -> None:
    """Answer with an error of ours."""
    body = error.body(family)
    headers = [*error.headers(), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _object(content: bytes) -> dict[str, Any] | None:
    try:
        body = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            body = json.loads(content)  # half a surrogate pair, or NaN, which some clients send
        except (ValueError, RecursionError):
            return None
    return body if isinstance(body, dict) else None


def _json(body: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        return json.dumps(body).encode()
